"""PDG-SEM: structural EM of decision graphs on incomplete tables, beside networks and naive Bayes.

Table 1 learns from two public tables and judges by rows left out: the paper leaves out one row at a
time, we tenths of the rows. Figure 5 learns from rows of a dense network. Sections 6.1 and 6.2.1
learn from rows of random graphs with cells missing: against the first model of structural EM, that
of the tree of Chow and Liu; against available and complete cases for the parameters only (line 5 of
Algorithm 1); against the same search over the tree of the generating graph; and against networks
and naive Bayes models learned from the same rows. As in the paper one table of each size is drawn
from each graph, and cells of it are hidden again and again.
"""

from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import wilcoxon

from exactlearn import (
    BIC,
    Dataset,
    compile_network,
    fit_em,
    hide,
    learn_naive_bayes,
    learn_pdg,
    structural_em,
    structural_em_graph,
)
from experiments import generators, sources
from experiments.record import NOTHING_KEPT, Parts, Row
from experiments.report import Tables, paired
from experiments.runner import Grid

FOLDS = 10
"""Parts of the rows of Table 1."""

ROWS = 5000
"""Rows of the dense network that are learned from, and as many that are judged by."""

TEST_ROWS = 10_000
"""Rows of a random graph that models are judged by."""

MAX_EXACT = 18
"""Most variables of a table whose network dynamic programming finds."""

SIGNIFICANCE = 0.05
"""Of the tests that are counted (PDG-SEM, section 6.1)."""


def learned(method: str, rows: Dataset, seed: int, forest: Any = "tree") -> Any:
    """Learn a model by a method's name.

    ``PDG`` is the paper's method, over one tree; ``PDG, default`` that of `learn_pdg`.
    """
    how: dict[str, Any] = {"size": "representational"}
    if method == "NB":
        return learn_naive_bayes(rows).model
    if method in ("BN", "PDG, from BN"):
        solver = "dynamic" if rows.n_variables <= MAX_EXACT else "ordering"
        parents = structural_em(rows, BIC(), solver=solver, seed=seed).parents
        network = fit_em(rows, parents or ((),) * rows.n_variables).model
        if method == "BN":
            return network
        return structural_em_graph(rows, start=compile_network(network), **how).graph
    if method == "PDG, default":
        return learn_pdg(rows, method="em", seed=seed, **how).graph
    if method == "PDG, forest":
        forest = "forest"
    how["parameters"] = method if method in ("available", "complete") else "em"
    how["iterations"] = 0 if method == "first model" else 100
    return structural_em_graph(rows, forest=forest, **how).graph


def left_out(
    *, method: str, seed: int, data: str, table: str, parts: Parts = NOTHING_KEPT
) -> list[Row]:
    """Learn from all rows but a tenth, for each tenth; judge by these (Table 1)."""
    rows = sources.table(table, data)
    fold_of_row = np.random.default_rng(seed).permutation(rows.n_rows) % FOLDS

    def held_out(fold: int) -> list[float]:
        """Return the log-likelihoods of the rows of a fold, learned from the others."""
        model = learned(method, rows.part(fold_of_row != fold), seed)
        logs: NDArray[np.float64] = model.log_likelihood_rows(
            rows.part(fold_of_row == fold)
        )
        return list(map(float, logs))

    logs = np.concatenate(
        [parts(f"fold {k}", partial(held_out, k)) for k in range(FOLDS)]
    )
    size = parts("size", lambda: int(learned(method, rows, seed).representational_size))
    return [
        {
            "log_likelihood": float(logs.mean()),
            "deviation": float(logs.std()),
            "size": size,
        }
    ]


def dense(*, method: str, seed: int, data: str, share: float) -> dict[str, Any]:
    """Learn from rows of a dense network with some share of the cells missing (Figure 5)."""
    network = generators.dense_network(14, 3, seed=0)
    rng = np.random.default_rng([0, ROWS])
    train = network.sample(ROWS, rng)
    test = network.sample(ROWS, rng)
    hidden = hide(train, f"mcar:{share:g}", np.random.default_rng([0, seed]))
    return _judged(learned(method, hidden, seed), test)


def random_graph(
    *, method: str, seed: int, data: str, variables: int, rows: int, share: float
) -> list[dict[str, Any]]:
    """Learn from rows of a random graph with some share of the cells missing (section 6)."""
    graph, tables = _random_tables(variables)
    rng = np.random.default_rng([0, variables, rows, round(100 * share), seed])
    hidden = hide(tables[rows], f"mcar:{share:g}", rng)
    if method == "complete" and not hidden.complete_rows.any():
        return []
    forest = graph.forest if method == "true tree" else "tree"
    model = (
        graph if method == "generating model" else learned(method, hidden, seed, forest)
    )
    return [_judged(model, tables[TEST_ROWS])]


def _judged(model: Any, test: Dataset) -> dict[str, Any]:
    logs = model.log_likelihood_rows(test)
    return {"log_likelihood": float(logs.mean()), "size": model.representational_size}


@lru_cache(1)
def _random_tables(n: int) -> tuple[Any, dict[int, Dataset]]:
    """Return a random graph, and a table of each size."""
    graph = generators.random_decision_graph(n, np.random.default_rng([0, n]))
    sizes = (250, 500, 1000, 2000, TEST_ROWS)
    return graph, {
        size: generators.drawn(graph, size, np.random.default_rng([0, n, size]))
        for size in sizes
    }


def tests(grid: Grid, frame: pd.DataFrame) -> Tables:
    """Return Wilcoxon's signed-rank tests of structural EM against each other method.

    ``p`` is one-sided, of the means of all settings, as the paper has it: that structural EM is
    better; for ``true tree``, that this is. The counts are of settings in which a two-sided test
    over their tables finds structural EM better, not distinguished, or worse.
    """
    found = []
    keys = ["variables", "method", "rows", "share", "seed"]
    values = frame.set_index(keys)["log_likelihood"]
    published = grid.content["tests"]
    for n, own in values.groupby(level="variables", sort=False):
        wide = own.droplevel("variables").unstack("method", sort=False)
        for method in wide.columns.drop("PDG", errors="ignore"):
            both = wide[["PDG", method]].dropna()
            means = both.groupby(level=["rows", "share"]).mean()
            better = "less" if method == "true tree" else "greater"
            ahead, p = paired(means["PDG"], means[method], better, wilcoxon)
            count = [0, 0, 0]
            for _, setting in both.groupby(level=["rows", "share"]):
                difference, q = paired(
                    setting["PDG"], setting[method], "two-sided", wilcoxon
                )
                count[int(1 - np.sign(difference)) if q < SIGNIFICANCE else 1] += 1
            row = {"graph": f"rnd{n}", "method": method, "PDG ahead": ahead, "p": p}
            row |= dict(zip(("better", "level", "worse"), count, strict=True))
            row |= {
                f"paper {k}": v
                for k, v in published.get(method, {}).get(str(n), {}).items()
            }
            found.append(row)
    return (
        {"tests": pd.DataFrame(found).set_index(["graph", "method"])} if found else {}
    )
