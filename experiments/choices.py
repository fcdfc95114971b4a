"""Choices by cross-validation and bootstrap strengths, judged by unseen rows.

- ``sample_size``: the equivalent sample size of BDeu chosen by held-out rows, beside fixed ones.
- ``smoothing``: the pseudo-count chosen by cross-validation, beside fixed ones, for the structure
  that rows are drawn from.
- ``strengths``: how many arcs of a bootstrap strength the true CPDAG has.
"""

from typing import Any

import numpy as np
import pandas as pd

from exactlearn import (
    BIC,
    BayesianNetwork,
    BDeu,
    Dataset,
    Score,
    bootstrap,
    candidate_parent_sets,
    choose_ess,
    choose_smoothing,
    fit_complete,
    impute,
    solve,
)
from exactlearn.graphs import cpdag
from experiments.mechanisms import hide_cells
from experiments.report import Tables
from experiments.runner import Grid
from experiments.sources import SETS, network, public_set

SECONDS = 30.0
"""Limit of each search for a network."""

MAX_SHARE = 2 / 3
MAX_TEST_ROWS = 5_000
"""Largest share of a public set that is learned from, and most rows to judge by."""

BINS = (0.0, 0.05, 0.2, 0.5, 0.8, 0.9, 0.95, 1.0)
"""Ends of the bins of strengths."""


def sample_size(
    *, method: str, seed: int, data: str, table: str, rows: int
) -> dict[str, Any]:
    """Learn a network by BDeu with the sample size ``auto`` or a number, or by ``BIC``."""
    train, test = _divided(table, data, rows, seed)
    ess = choose_ess(train, seed=seed).ess if method == "auto" else 0.0
    score: Score = BIC() if method == "BIC" else BDeu(ess or float(method))
    found = solve(
        candidate_parent_sets(train, score), solver="ordering", time_limit=SECONDS
    )
    return _judged(fit_complete(train, found.parents or ()), test) | {"chosen": ess}


def smoothing(
    *, method: str, seed: int, data: str, table: str, rows: int
) -> dict[str, Any]:
    """Estimate the parameters of a network with the pseudo-count ``auto``, or a number."""
    truth = network(table, data)
    rng = np.random.default_rng(seed)
    train = truth.sample(rows, rng)
    test = truth.sample(4 * MAX_TEST_ROWS, rng)
    chosen = (
        choose_smoothing(train, truth.parents, seed=seed).smoothing
        if method == "auto"
        else 0
    )
    model = fit_complete(train, truth.parents, smoothing=chosen or float(method))
    return _judged(model, test) | {"chosen": chosen}


def _judged(model: BayesianNetwork, test: Dataset) -> dict[str, Any]:
    return {"log_likelihood": model.log_likelihood(test) / test.n_rows}


def _divided(name: str, data: str, rows: int, seed: int) -> tuple[Dataset, Dataset]:
    """Return complete rows to learn from and to judge by; of missing cells the commonest state."""
    rng = np.random.default_rng(seed)
    if name not in SETS:
        model = network(name, data)
        return model.sample(rows, rng), model.sample(MAX_TEST_ROWS, rng)
    full = public_set(name, data, rng, rows + MAX_TEST_ROWS)
    if not full.is_complete:
        full = full.complete(np.asarray(impute(full, "mode").values))
    chosen = rng.permutation(full.n_rows) < min(rows, int(MAX_SHARE * full.n_rows))
    return full.part(chosen), full.part(~chosen)


def losses(grid: Grid, frame: pd.DataFrame) -> Tables:
    """Return how far each method is behind the best of the grid's ``fixed`` ones.

    Means are over the cases and repetitions that all methods have.
    """
    wide = frame.pivot_table(
        "log_likelihood", ["case", "seed"], "method", sort=False
    ).dropna()
    behind = -wide.sub(
        wide[wide.columns.intersection(grid.content["fixed"])].max(axis=1), axis=0
    )
    found = {
        "mean loss": behind.mean(),
        "largest": behind.max(),
        "below .01": (behind < 0.01).mean(),
    }
    return {"losses": pd.DataFrame(found)}


def strengths(
    *,
    method: str,
    seed: int,
    data: str,
    table: str,
    rows: int,
    samples: int,
    hidden: str = "",
) -> list[dict[str, Any]]:
    """Bootstrap a table drawn from a network; return the counts of each bin of strengths.

    The method is the equivalent sample size, ``auto`` or a number.
    """
    truth = network(table, data)
    drawn = truth.sample(rows, np.random.default_rng(seed))
    own = cpdag(truth.parents)
    if hidden:
        drawn = hide_cells(drawn, hidden, np.random.default_rng((seed, 1)))[0]
    true = np.zeros((truth.n_variables, truth.n_variables))
    for a, b in own.directed:
        true[a, b] = 1.0
    for a, b in own.undirected:
        true[a, b] = true[b, a] = 0.5
    ess = "auto" if method == "auto" else float(method)
    found = bootstrap(drawn, samples, seed=seed, ess=ess)
    off = ~np.eye(len(true), dtype=np.bool_)
    pairs = np.triu_indices(len(true), 1)
    counted = {
        "arcs": (found.strengths[off], true[off]),
        "edges": (found.edges[pairs], (true + true.T)[pairs]),
    }
    rows_of = []
    for kind, (values, truths) in counted.items():
        place = np.clip(
            np.searchsorted(BINS, values, side="right") - 1, 0, len(BINS) - 2
        )
        for k in np.unique(place):
            numbers = {
                "number": int((place == k).sum()),
                "true": float(truths[place == k].sum()),
            }
            rows_of.append(
                {"label": f"{kind}, {BINS[k]:g} to {BINS[k + 1]:g}", **numbers}
            )
    return rows_of


def calibration(grid: Grid, frame: pd.DataFrame) -> Tables:
    """Return the share of the arcs and edges of each strength that are true, over all tables."""
    found = frame.groupby(["case", "method"])[["number", "true"]].sum()
    return {"calibration": found.assign(share=found["true"] / found["number"])}
