"""Structures from incomplete rows: structural EM, augmentation and deletion, and what they miss.

``node-average`` repeats the experiment of Bodewes and Scutari (2021, "Learning Bayesian networks
from incomplete data with the node-average likelihood") on ALARM: cells missing completely at
random, and the structural Hamming distance of the CPDAGs for each arc of the network. The other
grids compare the same methods on more networks, also where cells are missing by observed ones or by
themselves, and on the public sets of the two halves (`sources`), judged by unseen rows; the
defaults are chosen on ``development`` alone. Of a set, rows with missing cells are left out, so
that the unseen rows are complete. The parameters of each structure are fitted by EM to the same
rows. ``complete`` learns from the rows before cells were hidden: what is left to gain.
"""

from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd

from exactlearn import (
    BIC,
    BayesianNetwork,
    BDeu,
    Dataset,
    Learning,
    Score,
    augment,
    candidate_parent_sets,
    choose_ess,
    fit_em,
    impute,
    learned_counts,
    solve,
    structural_em,
)
from exactlearn.graphs import cpdag, structural_hamming_distance
from experiments.mechanisms import hide_cells
from experiments.record import NOTHING_KEPT, Parts, Row
from experiments.report import Tables, comparable
from experiments.runner import Grid
from experiments.sources import SETS, network, public_set

LIMIT = 600.0
"""Seconds of a run; the best structure so far is taken then."""

COUNTED_PARENTS = 2
"""Most parents by counts that deletion estimates, for time."""

TEST_ROWS = 10_000
MAX_TEST_ROWS = 1_000
"""Rows that a network and a public set are judged by."""

MAX_VARIABLES = 25
"""Most variables of a table judged by BDeu in which a variable may have three parents."""

CLOSE = 0.05
"""Nats per test row that a method may be behind the best one."""

Parents = tuple[tuple[int, ...], ...]


def structures(
    *,
    method: str,
    seed: int,
    data: str,
    network: str,
    rows: int,
    hidden: str,
    ess: float = 0.0,
    max_parents: int = 3,
    parts: Parts = NOTHING_KEPT,
) -> Row:
    """Learn a structure; judge it by the network, if there is one, and by unseen rows.

    Parameters
    ----------
    method, seed, data
        As for all runs; a method ``counts X`` takes the counts that deletion estimates.
    network, rows, hidden
        A network or public set, rows learnt from, and how cells are hidden.
    ess
        BDeu's equivalent sample size; 0 for BIC.
    max_parents
        Of a variable.
    parts
        Keeps the structure.
    """
    truth, complete, table, test = _drawn(network, rows, hidden, seed, data)
    score: Score = BDeu(ess) if ess else BIC()
    most = 2 if ess and table.n_variables > MAX_VARIABLES else max_parents
    learned = partial(_learned, method, table, complete, score, most, seed)
    parents = parts("structure", learned)
    model = fit_em(table, parents, seed=seed).model
    found = model.log_likelihood_rows(test)
    if truth is None:
        return {"log_likelihood": float(found.mean())}
    distance = structural_hamming_distance(cpdag(parents), cpdag(truth.parents))
    return {
        "shd": structural_hamming_distance(parents, truth.parents),
        "cpdag_shd": distance,
        "per_arc": distance / sum(map(len, truth.parents)),
        "log_likelihood": float((found - truth.log_likelihood_rows(test)).mean()),
    }


def _learned(
    method: str, table: Dataset, complete: Dataset, score: Score, most: int, seed: int
) -> Parents:
    how: dict[str, Any] = {"max_parents": most, "time_limit": LIMIT, "seed": seed}
    if method in ("structural-em", "structural-em-hard"):
        return _some(
            structural_em(table, score, hard=method.endswith("hard"), **how).parents
        )
    if method == "t-local":
        return _some(augment(table, score, method="t-local", **how).parents)
    counts: Any = None
    if method.startswith("expected"):
        if method == "expected, ess auto":
            score = BDeu(choose_ess(table, **how).ess)
        counts = learned_counts(table, **how).counts
    elif method.startswith("counts "):
        counts = method.removeprefix("counts ")
        most = min(most, COUNTED_PARENTS)
    elif method == "complete":
        table = complete
    else:
        values = impute(table, method, Learning(seed=seed, time_limit=LIMIT)).values
        table = table.complete(np.asarray(values))
    return _best(table, score, most, counts, seed)


def _best(
    table: Dataset, score: Score, most: int, counts: Any = None, seed: int = 0
) -> Parents:
    problem = candidate_parent_sets(
        table, score, max_parents=most, counts=counts, time_limit=LIMIT
    )
    return _some(solve(problem, time_limit=LIMIT, seed=seed).parents)


def _some(parents: Parents | None) -> Parents:
    assert parents is not None  # without constraints there is always a network
    return parents


@lru_cache(1)
def _drawn(
    name: str, rows: int, hidden: str, seed: int, data: str
) -> tuple[BayesianNetwork | None, Dataset, Dataset, Dataset]:
    """Return the network, if there is one, rows before and after hiding, and rows to judge by."""
    rng = np.random.default_rng([seed, rows])
    if name not in SETS:
        truth = network(name.lower(), data)
        full = truth.sample(rows, rng)
        test = truth.sample(TEST_ROWS, rng)
        return truth, full, hide_cells(full, hidden, rng, truth.parents)[0], test
    table = public_set(name, data, rng, rows + MAX_TEST_ROWS)
    table = table.part(table.complete_rows)
    chosen = np.zeros(table.n_rows, np.bool_)
    chosen[rng.permutation(table.n_rows)[: min(rows, 4 * table.n_rows // 5)]] = True
    full = table.part(chosen)
    return None, full, hide_cells(full, hidden, rng)[0], table.part(~chosen)


def shortfalls(grid: Grid, frame: pd.DataFrame) -> Tables:
    """Return how far each method is behind the best one, over the tables of each kind.

    The best one is that of any score that learns from the incomplete rows. Means are over the
    tables that all methods and scores have.
    """
    kinds = ["rows", "hidden"]
    cell = ["rows", "hidden", "network"]
    scored = frame["method"] + frame["ess"].map(", ess {:g}".format)
    frame = comparable(
        frame.assign(scored=scored), kinds, ["network", "seed"], "scored"
    )
    each = frame.groupby([*cell, "ess", "method"], sort=False)["log_likelihood"].mean()
    best = each.drop("complete", level="method", errors="ignore").groupby(cell).max()
    behind = best - each
    groups = behind.groupby([*kinds, "ess", "method"], sort=False)
    found = {"n": groups.size(), "behind": groups.mean(), "most": groups.max()}
    return {
        "shortfalls": pd.DataFrame(
            {
                **found,
                "close": (behind <= CLOSE)
                .groupby(level=[0, 1, 3, 4], sort=False)
                .sum(),
            }
        )
    }
