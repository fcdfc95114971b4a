"""Cells hidden on purpose, completed by many methods: AUG, and our comparison of imputers.

AUG is Adel and de Campos, "Learning Bayesian networks with incomplete data by augmentation", Tables
1, 2, 3 and 5. All hidden cells of a repetition hold one value, each value in turn; at most three
parents, t = 1. ``branching`` proves the optimum of the paper's exact method in less time. Table 4
(smoking cessation) is left out: its data are not public. The networks of Table 1 for breast and
prostate cancer are not public either; LUCAS, CANCER, EARTHQUAKE and SURVEY stand in.

The imputers are compared on the sets of `sources`: what `exactlearn.impute` does with no options,
and its baselines. Methods and settings are chosen on the half ``development``, and the half
``test`` is looked at once a release.
"""

from functools import lru_cache
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import t as student

import exactlearn as el
from exactlearn import BDeu, Dataset, Imputer, Learning, impute
from experiments.mechanisms import hide_cells
from experiments.report import Tables
from experiments.runner import Grid
from experiments.sources import BUNDLED, SETS, network, public_set, table

GENERATING = "generating-network"
"""The method that completes by the network a table is drawn from, an upper reference."""

LEVEL = 0.05
"""Level of significance."""

LEAST = float(np.finfo(np.float64).eps)
"""What the logarithmic loss counts a smaller probability as."""


def augmentation(
    *, method: str, seed: int, data: str, source: str, hidden: str, rows: int = 100
) -> dict[str, Any]:
    """Complete the hidden cells of a table; judge them.

    Parameters
    ----------
    method, seed, data
        As for all runs: the method, the repetition, and the folder of public data.
    source
        Rows of a bundled network, ``lucas``' own 2,000, or a public table.
    hidden
        As for :func:`~experiments.mechanisms.hide_cells`, or ``labels:VARIABLE:K`` or
        ``labels:VARIABLE:K:STATE``: K cells of one variable, of one state.
    rows
        Of a network; 0 takes the table of that name in place of its network.
    """
    full, incomplete = _drawn(source, hidden, rows, seed, data)
    how = Learning(
        learner="t-local",
        score=BDeu(1.0),
        max_parents=3,
        starts=10,
        smoothing=1.0,
        seed=seed,
    )
    if method == GENERATING:
        model = network(source, data)
        model = type(model)(model.names, full.states, model.parents, model.tables)
        found = Imputer("posterior", how, model).imputed(incomplete)
    elif method == "svm-rbf":
        return judged(incomplete, full, _by_svm(incomplete))
    else:
        found = impute(incomplete, method, how)
    row = judged(incomplete, full, found.values, found.probabilities)
    if source in BUNDLED and rows and found.parents is not None:
        truth = network(source, data).parents
        row["shd"] = el.graphs.compare_structures(found.parents, truth).cpdag_shd
    return row


def imputers(
    *, method: str, seed: int, data: str, table: str, hidden: str, rows: int = 500
) -> dict[str, Any]:
    """Complete the hidden cells of a public set; the rows of a seed are the same for all."""
    full = public_set(
        table, data, np.random.default_rng((seed, crc32(table.encode()))), rows
    )
    rng = np.random.default_rng((seed, crc32(f"{table} {hidden}".encode())))
    incomplete = hide_cells(full, hidden, rng)[0]
    found = impute(incomplete, method, Learning(seed=seed))
    # A row of a table is one unit of the test in whichever repetition it is drawn.
    units: list[Any] = [f"{seed}: {row}" for row in range(full.n_rows)]
    if table in SETS and full.row_index is not None:
        units = full.row_index.tolist()
    return judged(incomplete, full, found.values, found.probabilities) | {
        "units": units
    }


def judged(
    incomplete: Dataset,
    full: Dataset,
    values: NDArray[np.int64] | None,
    probabilities: NDArray[np.float64] | None = None,
) -> dict[str, Any]:
    """Return the share of the hidden cells given their true state, and the logarithmic loss."""
    assert values is not None  # there is no time limit
    cells = incomplete.missing_cells
    states = full.codes[tuple(cells.T)].astype(np.int64)
    known = states >= 0  # what the full table misses as well is not judged
    row: dict[str, Any] = {"accuracy": 100 * float((values == states)[known].mean())}
    row["cells"] = int(known.sum())
    if probabilities is not None:
        given = probabilities[known, states[known]]
        losses = -np.log(np.maximum(given, LEAST))
        row["log_loss"] = float(losses.mean())
        by_row = np.bincount(cells[known, 0], losses, minlength=full.n_rows)
        row["losses"] = by_row.round(4).tolist()
    return row


@lru_cache(4)
def _drawn(
    source: str, hidden: str, rows: int, seed: int, data: str
) -> tuple[Dataset, Dataset]:
    """Return a table, and the same with cells hidden."""
    rng = np.random.default_rng(seed)
    drawn = source in BUNDLED and rows
    full = network(source, data).sample(rows, rng) if drawn else table(source, data)
    kind, _, what = hidden.partition(":")
    if kind != "labels":
        return full, hide_cells(full, hidden, rng)[0]
    name, count, *state = what.split(":")
    column = full.names.index(name)
    codes = full.codes.copy()
    candidates = np.arange(full.n_rows)
    if state:
        candidates = np.flatnonzero(
            codes[:, column] == full.states[column].index(state[0])
        )
    codes[rng.choice(candidates, int(count), replace=False), column] = -1
    return full, Dataset(codes, full.names, full.states)


def _by_svm(dataset: Dataset) -> NDArray[np.int64]:
    """Classify the rows whose class is missing by a support vector machine, by other columns."""
    from sklearn.svm import SVC

    target = int(dataset.missing_cells[0, 1])
    others = [v for v in range(dataset.n_variables) if v != target]
    features = np.hstack(
        [np.eye(dataset.cardinalities[v])[dataset.codes[:, v]] for v in others]
    )
    labels = dataset.codes[:, target].astype(np.int64)
    machine = SVC(kernel="rbf").fit(features[labels >= 0], labels[labels >= 0])
    return np.asarray(machine.predict(features[labels < 0]), np.int64)


def verdicts(grid: Grid, frame: pd.DataFrame) -> Tables:
    """Return how the first method stands against the others.

    Of each case: the best other method by the logarithmic loss, how far the first one is ahead of
    it, and which others are significantly better, with Holm's adjustment. ``means`` are those over
    all cases and repetitions that all methods have, with the median ratio of the CPU times to those
    of ``logistic``.
    """
    wide = frame.pivot_table(
        ["accuracy", "log_loss", "seconds"], ["case", "seed"], "method"
    )
    wide = wide.dropna()
    means = wide.mean().unstack(0)
    if "logistic" in means.index:
        means["by logistic"] = (
            wide["seconds"].div(wide["seconds"]["logistic"], axis=0).median()
        )
    first = frame["method"].iloc[0]
    rows = []
    for case, known in frame.dropna(subset="losses").groupby("case", sort=False):
        is_whole = (
            known.groupby("seed")["method"].nunique() == known["method"].nunique()
        )
        own = known[known["seed"].map(is_whole)]  # repetitions that no method failed in
        sums = {
            method: _by_unit(runs) for method, runs in own.groupby("method", sort=False)
        }
        cells = own[own["method"] == first]["cells"].sum()
        others = [method for method in sums if method != first]
        gaps = {method: np.asarray(sums[method] - sums[first]) for method in others}
        if first in sums and gaps:
            best = min(others, key=lambda method: gaps[method].sum())
            p_values = dict(
                zip(others, holm([sign_test(gaps[m]) for m in others]), strict=True)
            )
            better = [m for m in others if gaps[m].sum() < 0 and p_values[m] < LEVEL]
            rows.append(
                [case, best, gaps[best].sum() / cells, ", ".join(map(str, better))]
            )
    columns = ["case", "best other", "ahead", "significantly better"]
    return {
        "means": means,
        "verdicts": pd.DataFrame(rows, columns=columns).set_index("case"),
    }


def _by_unit(runs: pd.DataFrame) -> "pd.Series[float]":
    """Return the losses of each row that was drawn, over all repetitions."""
    parts = [
        pd.Series(own, units)
        for own, units in zip(runs["losses"], runs["units"], strict=True)
    ]
    return pd.concat(parts).groupby(level=0).sum()


def sign_test(sums: NDArray[np.float64]) -> float:
    """Return the p-value of a test whose units are the rows of a table.

    Cells of a row that are hidden in whichever repetition count together. The hypothesis is that
    exchanging the two methods in any row changes nothing, so that each sum of differences may have
    either sign; by Student's t of the total divided by the root of the sum of squares.
    """
    sums = sums[abs(sums) > 1e-12]
    if len(sums) < 2:
        return 1.0
    return float(2 * student.sf(abs(sums.sum()) / np.sqrt(sums @ sums), len(sums) - 1))


def holm(p_values: list[float]) -> list[float]:
    """Return p-values adjusted for their number (Holm 1979).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values)
    scaled = np.array(p_values)[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return [float(p) for p in adjusted]
