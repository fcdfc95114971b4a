"""THESIS: decision graphs beside networks and naive Bayes, on known models and public tables.

- ``logic`` (Table 4.3): logical relations, and rows of random decision graphs, recovered with and
  without the true forest.
- ``smoothing`` (Figure 4.3): the pseudo-count that cross-validation chooses.
- ``models`` (5.1 to 5.3) and ``counted`` (5.5): what rows are drawn from, and the public tables.
- ``languages`` (5.4, 5.6 to 5.9 and the SL-curves): each language gives a sequence of models, for
  several weights of the size or with more and more components.
- ``hybrid`` (5.10, 5.11 and A.1 to A.13): decision graphs merged from networks for as long as the
  rows learned from stay as probable as under the network; to be smaller than its clique tree.
"""

from functools import lru_cache, partial
from math import log
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from exactlearn import (
    BayesianNetwork,
    Dataset,
    DecisionGraph,
    ExactlearnError,
    PenalisedLikelihood,
    effective_size,
    fit_complete,
    learn,
    learn_direct,
    learn_on_forest,
    refine,
    sl_curves,
    smallest_as_likely,
)
from experiments import generators
from experiments.record import NOTHING_KEPT, Parts, Row
from experiments.report import Tables, summary
from experiments.runner import Grid
from experiments.sources import THESIS, Split, network, thesis_split

TRAIN_ROWS = 10_000
TEST_ROWS = 5_000
"""Of logical relations and other known models."""

SIGNIFICANCE = 0.05
"""Of the tests of independence that grow a forest beside those of networks and the chain."""

PSEUDO_COUNTS = tuple(np.geomspace(1e-3, 30.0, 20).tolist())
"""Among which cross-validation chooses."""

FOLDS = 5
"""Of this cross-validation."""

MAX_CELLS = 20_000_000
"""Of a clique tree whose network is made a graph."""

MAX_EXACT = 18
"""Most variables of a table whose network dynamic programming finds."""

N_QUERIES = 1000
"""Random queries that the models of a public table answer."""

CHOSEN_BY = {"test": "test", "BIC": "bic", "AIC": "aic", "queries": "query_accuracy"}
"""What a model of a sequence is chosen by, and the column."""


def logic(*, method: str, seed: int, data: str, table: str) -> dict[str, Any]:
    """Recover a model with a given or a learned forest (Table 4.3)."""
    rng = np.random.default_rng(seed)
    is_relation = table.startswith("Logic")
    truth: Any = (
        generators.relation(table)
        if is_relation
        else generators.random_graph(table, seed)
    )
    split = Split(
        generators.drawn(truth, TRAIN_ROWS, rng),
        generators.drawn(truth, TEST_ROWS, rng),
    )
    if method == "true model":
        return judged(truth, split)
    if method == "given forest":
        graph = learn_on_forest(split.train, truth.forest).graph
        return judged(smoothed(graph, split.train, seed), split)
    significance = SIGNIFICANCE if method == "with tests" else None
    graph = (
        learn_direct(split.train, significance=significance, seed=seed).models[0].graph
    )
    return judged(graph, split)


def judged(model: Any, split: Split) -> dict[str, Any]:
    """Return the size and the mean log-likelihoods of a model."""
    train, test = (float(model.log_likelihood_rows(rows).mean()) for rows in split)
    return {"size": effective_size(model), "train": train, "test": test}


def smoothed(graph: DecisionGraph, train: Dataset, seed: int) -> DecisionGraph:
    """Return a graph with the pseudo-count that cross-validation chooses."""
    curve = _validated(graph, train, seed)
    best = PSEUDO_COUNTS[int(curve.argmax())]
    return refine(graph, train, smoothing=best, prior="uniform", iterations=1).model


def _validated(graph: DecisionGraph, train: Dataset, seed: int) -> NDArray[np.float64]:
    """Return for each pseudo-count the log-likelihood per row, under the other rows' parameters."""
    fold = np.random.default_rng(seed).permutation(train.n_rows) % FOLDS
    totals = np.zeros(len(PSEUDO_COUNTS))
    for k in range(FOLDS):
        rows = train.part(fold != k)
        held_out = train.part(fold == k)
        for j, smoothing in enumerate(PSEUDO_COUNTS):
            how: dict[str, Any] = {
                "smoothing": smoothing,
                "prior": "uniform",
                "iterations": 1,
            }
            totals[j] += (
                refine(graph, rows, **how).model.log_likelihood_rows(held_out).sum()
            )
    return totals / train.n_rows


def smoothing(*, method: str, seed: int, data: str, table: str) -> list[dict[str, Any]]:
    """Return validated and test log-likelihoods of a graph by pseudo-count (Figure 4.3)."""
    split = thesis_split(table, data, seed)
    graph = learn_direct(split.train, smoothing=0.0, seed=seed).models[0].graph
    rows = []
    for alpha, value in zip(
        PSEUDO_COUNTS, _validated(graph, split.train, seed), strict=True
    ):
        model = refine(
            graph, split.train, smoothing=alpha, prior="uniform", iterations=1
        ).model
        test = float(model.log_likelihood_rows(split.test).mean())
        for curve, height in (("cross-validation", value), ("other rows", test)):
            rows.append(
                {"pseudo_count": alpha, "log_likelihood": float(height), "curve": curve}
            )
    return rows


def smoothing_choices(grid: Grid, frame: pd.DataFrame) -> Tables:
    """Return the pseudo-counts that cross-validation and the other rows choose."""
    best = frame.loc[frame.groupby("curve")["log_likelihood"].idxmax()]
    return {"choices": best.set_index("curve")[["pseudo_count", "log_likelihood"]]}


def models(*, method: str, seed: int, data: str, table: str) -> dict[str, Any]:
    """Describe a model that rows are drawn from, and judge it by these (Tables 5.1 to 5.3)."""
    model, split = _known(table, data, seed)
    arcs = (
        f"{sum(map(len, model.parents))} arcs, "
        if isinstance(model, BayesianNetwork)
        else ""
    )
    r = split.train.cardinalities
    what = (
        f"{len(r)} variables, {arcs}{min(r)} to {max(r)} states, mean {np.mean(r):.1f}"
    )
    return {"what": what, **judged(model, split)}


def counted(*, method: str, seed: int, data: str, table: str) -> dict[str, Any]:
    """Count rows and states of a public table, and its entropy in nats (Table 5.5)."""
    split = thesis_split(table, data, seed)
    r = split.train.cardinalities
    codes = np.concatenate([split.train.codes, split.test.codes])
    shares = np.unique(codes, axis=0, return_counts=True)[1] / len(codes)
    return {
        "what": f"{len(r)} variables, {min(r)} to {max(r)} states",
        "train_rows": split.train.n_rows,
        "test_rows": split.test.n_rows,
        "entropy": -float(shares @ np.log(shares)),
    }


@lru_cache(1)
def _known(name: str, data: str, seed: int) -> tuple[Any, Split]:
    """Return a model and rows of it: a public network, or one like the thesis's.

    The graph of a logical relation is that of the thesis's forest, which all rows fit.
    """
    rng = np.random.default_rng([seed, len(name), TRAIN_ROWS])
    model: Any
    if name.startswith("Logic"):
        model = generators.relation(name)
    elif name.startswith("Rnd"):
        model = generators.random_graph(name, seed)
    elif name.startswith("NB"):
        model = generators.random_naive_bayes(int(name.removeprefix("NB")), rng)
    else:
        model = network(name.lower(), data)
    split = Split(
        generators.drawn(model, TRAIN_ROWS, rng),
        generators.drawn(model, TEST_ROWS, rng),
    )
    if name.startswith("Logic"):
        model = learn_on_forest(split.train, model.forest).graph
    return model, split


def _split(name: str, data: str, seed: int) -> Split:
    return (
        thesis_split(name, data, seed)
        if name in THESIS
        else _known(name, data, seed)[1]
    )


def languages(
    *, method: str, seed: int, data: str, table: str, parts: Parts = NOTHING_KEPT
) -> list[Row]:
    """Return a row for each model of a language's sequence, or for the generating model.

    The networks of the weights are parts, as they are learned one by one.
    """
    if method == "true model":
        model, split = _known(table, data, seed)
        return [{**judged(model, split), "parameters": model.representational_size}]
    split = _split(table, data, seed)
    rates = (
        8.0,
        4.0,
        2.0,
        1.0,
        log(split.train.n_rows) / 2,
    )  # AIC's is 1, the last one BIC's
    weights = [rate / (1 + rate) for rate in rates]

    def sequence(size_weights: list[float]) -> list[Row]:
        """Return the rows of the models of some weights."""
        curves = sl_curves(
            *split,
            languages=[method.lower()],
            size_weights=size_weights,
            queries=N_QUERIES * (table in THESIS),
            seed=seed,
        )
        curves = curves.drop(columns=["model", "language", "size_weight"])
        curves["microseconds"] = 1e6 * curves.pop("query_seconds")
        curves = curves.rename(columns={"effective_size": "size"})
        records = curves.to_dict("records")
        return [
            {str(name): value for name, value in record.items()} for record in records
        ]

    groups = [[weight] for weight in weights] if method == "BN" else [weights]
    rows = [
        row
        for group in groups
        for row in parts(f"weights {group}", partial(sequence, group))
    ]
    different = (
        pd.DataFrame(rows)
        .drop_duplicates(["size", "parameters", "train", "test"])
        .index
    )
    return [rows[k] for k in different]


def choices(grid: Grid, frame: pd.DataFrame) -> Tables:
    """Return the models that each criterion chooses, which language dominates, and query times.

    ``best`` and ``worst``: the language whose best model of up to each size is the most likely one,
    and that whose is the least likely (Table 5.6). ``slope``: microseconds that a cell of size adds
    to a belief update (Table 5.8).
    """
    learned = frame[frame["method"] != "true model"]
    parts = [frame[frame["method"] == "true model"]]
    groups = learned.groupby(["case", "method", "seed"], sort=False)
    for _, own in groups:
        for label, column in CHOSEN_BY.items():
            if column in own and own[column].notna().any():
                row = own.loc[[own[column].idxmax()]]
                parts.append(row.assign(method=row["method"] + f", {label}"))
    tables = {"chosen": summary(grid, pd.concat(parts))}
    found = []
    first = learned[learned["seed"] == learned["seed"].min()]
    for name, own in first.groupby("case", sort=False):
        curves = dict(iter(own.groupby("method", sort=False)))
        for rows in ("train", "test"):
            paper = grid.content.get("dominance", {}).get(name, {}).get(rows, "")
            best, worst = (dominating(curves, rows, sign) for sign in (1, -1))
            found.append([name, rows, best, worst, paper])
    columns = ["case", "rows", "best", "worst", "paper best/worst"]
    tables["dominance"] = pd.DataFrame(found, columns=columns).set_index(
        ["case", "rows"]
    )
    slopes = {}
    for (name, method), own in first.groupby(["case", "method"], sort=False):
        known = own.dropna(subset="microseconds")
        if len(known) > 2:
            paper = grid.content.get("slopes", {}).get(name, {}).get(method, np.nan)
            slopes[name, method] = [
                np.polyfit(known["size"], known["microseconds"], 1)[0],
                paper,
            ]
    if slopes:
        columns = ["slope", "paper slope"]
        tables["times"] = pd.DataFrame.from_dict(slopes, "index", columns=columns)
    return tables


def dominating(curves: dict[Any, pd.DataFrame], rows: str, sign: int = 1) -> str:
    """Return the language that consistently dominates all others, or with -1 is dominated by all.

    At each size from which on two languages have a model, the best model of up to that size of one
    is compared with that of the other.
    """

    def is_over(one: pd.DataFrame, other: pd.DataFrame) -> bool:
        least = max(one["size"].min(), other["size"].min())
        sizes = {s for s in (*one["size"], *other["size"]) if s >= least}
        gaps = [
            sign
            * (
                one[rows][one["size"] <= s].max()
                - other[rows][other["size"] <= s].max()
            )
            for s in sizes
        ]
        return bool(max(gaps) > 0 and min(gaps) >= 0)

    others = {a: [c for b, c in curves.items() if b != a] for a in curves}
    over = [
        a
        for a, own in curves.items()
        if others[a] and all(is_over(own, o) for o in others[a])
    ]
    return str(over[0]) if over else ""


def hybrid(
    *,
    method: str,
    seed: int,
    data: str,
    table: str,
    kind: Any,
    parts: Parts = NOTHING_KEPT,
) -> list[Row]:
    """Learn a network and merge its graph; return a row for both.

    Parameters
    ----------
    method, seed, data, table
        As for all runs; the table or known model.
    kind
        The power of half the logarithm of the number of rows that a parameter must gain: a number,
        ``BIC`` (1), ``middle`` (.5) or ``AIC`` (0).
    parts
        Keeps the structure of the network.
    """
    split = _split(table, data, seed)
    train = split.train
    rate = (log(train.n_rows) / 2) ** {"BIC": 1.0, "middle": 0.5, "AIC": 0.0}.get(
        kind, kind
    )
    solver = "dynamic" if train.n_variables <= MAX_EXACT else "ordering"
    score = PenalisedLikelihood(rate / (1 + rate))
    parents = parts(
        "structure",
        lambda: learn(train, score=score, solver=solver, seed=seed).network.parents,
    )
    learned = fit_complete(train, parents)
    # Likelihoods of the data learned from are those of the most probable parameters of both.
    plain = fit_complete(train, parents, smoothing=0.0)
    least = float(plain.log_likelihood_rows(train).sum())
    bn = judged(learned, split) | {"train": least / train.n_rows, "label": "BN"}
    try:
        if bn["size"] > MAX_CELLS:
            return [bn]
        found = smallest_as_likely(learned, train, least, seed=seed)
    except ExactlearnError:  # too large
        return [bn]
    likeliest = refine(found, train, smoothing=0.0).model
    mean = float(likeliest.log_likelihood_rows(train).mean())
    pdg = judged(smoothed(found, train, seed), split) | {"train": mean, "label": "PDG"}
    is_as_likely = mean >= (least - 1e-6 * abs(least)) / train.n_rows
    return [bn, pdg | {"dominates": float(is_as_likely and pdg["size"] <= bn["size"])}]
