"""PDG-SEM, sections 6.1 and 6.2.1: structural EM on rows of random graphs with cells missing.

Against its first model, that of the tree of Chow and Liu; against available and complete cases;
against the same search over the tree of the generating graph; and against networks, and naive
Bayes, learnt from the same incomplete rows. As in the paper one table of
each size is drawn from each graph, and cells of it are hidden again and again.

Of each graph: one-sided Wilcoxon tests of the means of all settings, as the paper makes them
against available cases and between trees; and for the first model, with all tables of a setting,
in how many settings a two-sided test at 5 % distinguishes the two.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from time import process_time
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.stats import wilcoxon

from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness import hide
from exactlearn.pdg.learn.structural_em import CASES, structural_em_graph
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.reproduce import incomplete
from exactlearn.reproduce.generators import drawn_rows, random_decision_graph
from exactlearn.reproduce.rows import Row, published
from exactlearn.reproduce.runner import Setup

VARIABLES, SIZES = (10, 20, 40), (250, 500, 1000, 2000)
"""Of the graphs, and rows learnt from."""

SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
"""Of the cells hidden."""

VALIDATION_ROWS = 10_000

LINE_5 = "available and complete cases for the parameters only"
"""As in section 6.1.2: they replace EM in line 5 of Algorithm 1, not in the choice of splits."""

FIRST, TRUE_TREE = "first model", "true tree"
LANGUAGES = ("NB", "BN")
METHODS = (*CASES, FIRST, TRUE_TREE, *LANGUAGES)
"""The first one is the one under test, the last one takes by far the most time."""


SHOWN = ("em", "available", FIRST, "BN")
"""Methods of which each setting is printed, as in the paper's figures 2 to 4."""

Setting = tuple[int, float]

Settings = Mapping[Setting, Sequence[Mapping[str, Any]]]
"""For each number of rows and share of missing cells, the figures of each method on each table."""

SIGNIFICANCE = 0.05
"""Of the tests that are counted (PDG-SEM, section 6.1)."""


def random(setup: Setup) -> Iterator[Row]:
    """Repeat PDG-SEM's comparison on random graphs of 10, 20 and 40 variables.

    Networks, which take most of the time, are learnt once all others are.
    """
    chosen = [n for n in VARIABLES if setup.only in f"rnd{n}"]
    found: dict[int, dict[Setting, dict[int, Any]]] = {n: {} for n in chosen}
    for methods in (METHODS[:-1], METHODS[-1:]):
        for repetition, n, size, share in product(range(setup.repetitions), chosen, SIZES, SHARES):
            hidden = cache(partial(_hidden, n, size, share, setup.seed, repetition))
            key = f"random: rnd{n}, {size} rows, {100 * share:g} % missing, seed {setup.seed}"
            for method in methods:
                run = partial(_run, method, n, setup.seed, hidden)
                done = setup.record.once(key, str(repetition), method, run, LINE_5)
                if done is not None:
                    runs = found[n].setdefault((size, share), {})
                    runs.setdefault(repetition, {})[method] = done
    for n in chosen:
        if found[n]:
            settings = {setting: list(runs.values()) for setting, runs in found[n].items()}
            yield from _summary(n, settings, METHODS, _drawn(setup.seed, n))


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


def _hidden(n: int, size: int, share: float, seed: int, repetition: int) -> Dataset:
    """Hide cells of a table."""
    rng = np.random.default_rng([seed, n, size, round(100 * share), repetition])
    return hide(_drawn(seed, n).tables[size], f"mcar:{share:g}", rng)


def _run(method: str, n: int, seed: int, hidden: Callable[[], Dataset]) -> dict[str, Any]:
    """Learn a model by a method, and judge it by other rows."""
    return _learnt(method, hidden(), _drawn(seed, n))


def _learnt(method: str, hidden: Dataset, drawn: _Drawn) -> dict[str, Any]:
    """Learn once; return the log-likelihood per row of other rows, and the free parameters."""
    if method == "complete" and not hidden.complete_rows.any():
        return {"test": None, "size": None, "seconds": 0.0}
    begun = process_time()
    if method in LANGUAGES:
        logs, size = incomplete.METHODS[method](hidden, drawn.test)
    else:
        found = structural_em_graph(
            hidden,
            parameters=next((case for case in CASES if case == method), "em"),
            forest=drawn.truth.forest if method == TRUE_TREE else "tree",
            size="representational",
            iterations=0 if method == FIRST else 100,
        )
        logs, size = incomplete.judged(found.graph, drawn.test)
    return {"test": float(logs.mean()), "size": size, "seconds": process_time() - begun}


def _summary(n: int, settings: Settings, methods: Sequence[str], drawn: _Drawn) -> Iterator[Row]:
    """Return the rows of a graph: means and tests of each method, then means of each setting.

    Parameters
    ----------
    n
        Variables of the graph.
    settings
        The runs of each setting.
    methods
        The one under test, then the others.
    drawn
        The generating graph, and the validation rows.
    """
    for method in methods:
        yield _graph_row(n, method, methods[0], settings)
    logs, truth_size = incomplete.judged(drawn.truth, drawn.test)
    yield Row(
        table="random",
        experiment=f"rnd{n}",
        method="generating model",
        repetitions=1,
        log_likelihood=float(logs.mean()),
        size=truth_size,
        seconds=0.0,
    )
    for (size, share), runs in settings.items():
        for method in SHOWN:
            yield _setting_row(n, size, share, method, runs)


def _graph_row(n: int, method: str, first: str, settings: Settings) -> Row:
    pairs = list(_pairs(settings, first, method))
    p, verdict = None, ""
    if method != first and pairs:
        means = [[float(np.mean(side)) for side in pair] for pair in pairs]
        ours, theirs = zip(*means, strict=True)
        # The paper tests whether the true tree is better, the others whether they are worse.
        sides = (theirs, ours) if method == TRUE_TREE else (ours, theirs)
        p = signed_rank(*sides, "greater")
        found = tally(pairs)
        verdict = f"{found.better} / {found.level} / {found.worse}"
        if method == FIRST:
            paper = published("pdg_sem")["tally"][str(n)]
            verdict += f" (paper: {' / '.join(map(str, paper))})"
    own = [run[method] for runs in settings.values() for run in runs if method in run]
    known = [run for run in own if run["test"] is not None]
    return Row(
        table="random",
        experiment=f"rnd{n}",
        method=method,
        repetitions=len(known),
        log_likelihood=_mean([run["test"] for run in known]),
        size=_mean([run["size"] for run in known]),
        seconds=sum(run["seconds"] for run in own),
        p_value=p,
        published_p=published("pdg_sem")["p_values"].get(method, {}).get(str(n)),
        verdict=verdict,
    )


def _setting_row(
    n: int, size: int, share: float, method: str, runs: Sequence[Mapping[str, Any]]
) -> Row:
    """Return the mean and deviation of a setting, as in the paper's figures."""
    known = [run[method] for run in runs if _judged(run, method)]
    tests = [run["test"] for run in known]
    return Row(
        table="random settings",
        experiment=f"rnd{n}, {size} rows",
        method=method,
        column=f"{100 * share:g} %",
        repetitions=len(known),
        log_likelihood=_mean(tests),
        deviation=float(np.std(tests, ddof=1)) if len(tests) > 1 else None,
        size=_mean([run["size"] for run in known]),
        seconds=sum(run["seconds"] for run in known),
    )


def _pairs(
    settings: Settings, first: str, method: str
) -> Iterator[tuple[list[float], list[float]]]:
    """Yield for each setting the figures of two methods on the tables that both have models of."""
    for runs in settings.values():
        both = [
            (run[first]["test"], run[method]["test"])
            for run in runs
            if _judged(run, first) and _judged(run, method)
        ]
        if both:
            ours, theirs = zip(*both, strict=True)
            yield list(ours), list(theirs)


def _judged(run: Mapping[str, Any], method: str) -> bool:
    """Return whether a method was run on a table, and has a model of it."""
    return method in run and run[method]["test"] is not None


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


def signed_rank(
    ours: Sequence[float],
    theirs: Sequence[float],
    alternative: Literal["two-sided", "greater"] = "two-sided",
) -> float:
    """Return the p-value of Wilcoxon's signed-rank test of paired samples; 1 for equal samples.

    Parameters
    ----------
    ours, theirs
        Paired samples.
    alternative
        That they differ, or that ours are greater.

    Examples
    --------
    >>> signed_rank([2.0, 3.0, 4.0, 6.0], [1.0, 1.0, 1.0, 1.0], "greater")
    0.0625
    """
    difference = np.subtract(ours, theirs)
    difference = difference[difference != 0]
    return float(wilcoxon(difference, alternative=alternative).pvalue) if len(difference) else 1.0


class Tally(NamedTuple):
    """In how many settings the method under test is better, not distinguished, and worse."""

    better: int
    level: int
    worse: int


def tally(pairs: Iterable[tuple[Sequence[float], Sequence[float]]]) -> Tally:
    """Count the settings in which a two-sided test distinguishes ours from theirs."""
    found = [0, 0, 0]
    for ours, theirs in pairs:
        differ = signed_rank(ours, theirs) < SIGNIFICANCE
        found[(2 if np.mean(ours) < np.mean(theirs) else 0) if differ else 1] += 1
    return Tally(*found)
