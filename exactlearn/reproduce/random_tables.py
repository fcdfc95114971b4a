"""PDG-SEM, sections 6.1 and 6.2.1: structural EM on rows of random graphs with cells missing.

Against its first model, that of the tree of Chow and Liu; against available and complete cases;
against the same search over the tree of the generating graph; and against networks, and naive
Bayes, learnt from the same incomplete rows. As in the paper one table of
each size is drawn from each graph, and cells of it are hidden again and again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from time import process_time
from typing import Any

import numpy as np

from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness import hide
from exactlearn.pdg.inference.flows import log_likelihood_rows
from exactlearn.pdg.learn.structural_em import CASES, structural_em_graph
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.reproduce import incomplete
from exactlearn.reproduce.random_graphs import drawn_rows, random_decision_graph
from exactlearn.reproduce.random_summary import summarised
from exactlearn.reproduce.record import finished
from exactlearn.reproduce.study import Row, Setup

VARIABLES, SIZES = (10, 20, 40), (250, 500, 1000, 2000)
"""Of the graphs, and rows learnt from."""

SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
"""Of the cells hidden."""

VALIDATION_ROWS = 10_000

FIRST, TRUE_TREE = "first model", "true tree"
LANGUAGES = ("BN", "NB")
METHODS = (*CASES, FIRST, TRUE_TREE, *LANGUAGES)
"""The first one is the one under test."""


def random(setup: Setup) -> Iterator[Row]:
    """Repeat PDG-SEM's comparison on random graphs of 10, 20 and 40 variables."""
    chosen = [n for n in VARIABLES if setup.only in f"rnd{n}"]
    found: dict[tuple[int, int, float], list[dict[str, Any]]] = {}
    stopped: KeyboardInterrupt | None = None
    try:
        for repetition, n in product(range(setup.repetitions), chosen):
            for size, share in product(SIZES, SHARES):
                key = f"random: rnd{n}, {size} rows, {100 * share:g} % missing, seed {setup.seed}"
                run = partial(_run, n, size, share, setup.seed, repetition)
                runs = setup.record.once(key, str(repetition), "all methods", run)
                run = partial(_others, n, size, share, setup.seed, repetition)
                others = setup.record.once(key, str(repetition), "other languages", run)
                methods = runs["methods"] | others["methods"]
                found.setdefault((n, size, share), []).append(methods)
    except KeyboardInterrupt as interrupt:
        stopped = interrupt
    for n in chosen:
        own = {key[1:]: runs for key, runs in found.items() if key[0] == n}
        if own:
            drawn = _drawn(setup.seed, n)
            truth = float(log_likelihood_rows(drawn.truth, drawn.test.codes).mean())
            yield from summarised(n, own, METHODS, truth, drawn.truth.representational_size)
    if stopped is not None:
        raise stopped


@dataclass(frozen=True, eq=False)
class _Drawn:
    """A random graph, a table of each size, and rows to judge by."""

    truth: DecisionGraph
    tables: dict[int, Dataset]
    test: Dataset


@cache
def _drawn(seed: int, n: int) -> _Drawn:
    truth = random_decision_graph(n, np.random.default_rng([seed, n]))
    tables = {
        size: drawn_rows(truth, size, np.random.default_rng([seed, n, size]))
        for size in (*SIZES, VALIDATION_ROWS)
    }
    return _Drawn(truth, tables, tables[VALIDATION_ROWS])


def _run(n: int, size: int, share: float, seed: int, repetition: int) -> dict[str, Any]:
    """Hide cells of a table, learn graphs by each method, and judge by other rows."""
    drawn, holed = _drawn(seed, n), _holed(n, size, share, seed, repetition)
    methods = [method for method in METHODS if method not in LANGUAGES]
    return {"methods": {method: _learnt(method, holed, drawn) for method in methods}}


def _others(n: int, size: int, share: float, seed: int, repetition: int) -> dict[str, Any]:
    """Learn models of the other languages from the same rows."""
    drawn, holed = _drawn(seed, n), _holed(n, size, share, seed, repetition)
    return {"methods": {language: _model(language, holed, drawn) for language in LANGUAGES}}


def _holed(n: int, size: int, share: float, seed: int, repetition: int) -> Dataset:
    rng = np.random.default_rng([seed, n, size, round(100 * share), repetition])
    return hide(_drawn(seed, n).tables[size], f"mcar:{share:g}", rng)


def _model(language: str, holed: Dataset, drawn: _Drawn) -> dict[str, Any]:
    begun = process_time()
    logs, size = incomplete.METHODS[language](holed, drawn.test)
    return {"test": float(logs.mean()), "size": size, "seconds": process_time() - begun}


def _learnt(method: str, holed: Dataset, drawn: _Drawn) -> dict[str, Any]:
    """Learn once; tell the log-likelihood per row of other rows, and the free parameters."""
    if method == "complete" and not (holed.codes >= 0).all(axis=1).any():
        return {"test": None, "size": None, "seconds": 0.0}
    begun = process_time()
    found = structural_em_graph(
        holed,
        cases=next((case for case in CASES if case == method), "em"),
        forest=drawn.truth.forest if method == TRUE_TREE else "tree",
        size="representational",
        iterations=0 if method == FIRST else 100,
    )
    graph = finished(found).graph
    seconds = process_time() - begun
    return {
        "test": float(log_likelihood_rows(graph, drawn.test.codes).mean()),
        "size": graph.representational_size,
        "seconds": seconds,
    }
