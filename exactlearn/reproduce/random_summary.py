"""PDG-SEM, sections 6.1 and 6.2.1: tests and means of structural EM on random tables.

Of each graph: one-sided Wilcoxon tests of the means of all settings, as the paper makes them
against available cases and between trees; and for the first model, with all tables of a setting,
in how many settings a two-sided test at 5 % tells the two apart.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from exactlearn.reproduce.signed_ranks import Tally, signed_rank, tally
from exactlearn.reproduce.study import Row

PUBLISHED_P: Mapping[tuple[str, int], float] = {
    ("available", 10): 0.2257,
    ("available", 20): 0.2759,
    ("available", 40): 0.1693,
    ("true tree", 10): 1.0,
    ("true tree", 20): 1.0,
    ("true tree", 40): 6.45e-6,
}
"""That structural EM is better than available cases; that the true tree is better than that of Chow
and Liu, of which two are told as close to 1."""

PUBLISHED_TALLY: Mapping[int, Tally] = {
    10: Tally(20, 2, 2),
    20: Tally(22, 2, 0),
    40: Tally(23, 1, 0),
}
"""Structural EM against its first model."""

SHOWN = ("em", "available", "first model", "BN")
"""Methods of which each setting is told, as in the paper's figures 2 to 4."""

Settings = Mapping[tuple[int, float], Sequence[Mapping[str, Any]]]
"""Rows and share of cells missing, to what each method gave on each table."""


def summarised(
    n: int, settings: Settings, methods: Sequence[str], truth: float, truth_size: int
) -> Iterator[Row]:
    """Return the rows of a graph: means and tests of each method, then means of each setting.

    Parameters
    ----------
    n
        Variables of the graph.
    settings
        What was found.
    methods
        The one under test, then the others.
    truth, truth_size
        Log-likelihood per row of the validation rows under the generating graph, and its size.
    """
    for method in methods:
        yield _row(n, method, methods[0], settings)
    yield Row(
        table="random",
        experiment=f"rnd{n}",
        method="generating model",
        repetitions=1,
        log_likelihood=truth,
        size=truth_size,
        seconds=0.0,
    )
    for (size, share), runs in settings.items():
        for method in SHOWN:
            yield _setting(n, size, share, method, runs)


def _row(n: int, method: str, first: str, settings: Settings) -> Row:
    pairs = list(_pairs(settings, first, method))
    p, verdict = None, ""
    if method != first and pairs:
        means = [[float(np.mean(side)) for side in pair] for pair in pairs]
        ours, theirs = zip(*means, strict=True)
        # The paper tests whether the true tree is better, the others whether they are worse.
        sides = (theirs, ours) if method == "true tree" else (ours, theirs)
        p = signed_rank(*sides, "greater")
        found = tally(pairs)
        verdict = f"{found.better} / {found.level} / {found.worse}"
        if method == "first model":
            theirs_told = PUBLISHED_TALLY[n]
            verdict += f" (paper: {' / '.join(map(str, theirs_told))})"
    own = [run[method] for runs in settings.values() for run in runs]
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
        published_p=PUBLISHED_P.get((method, n)),
        verdict=verdict,
    )


def _setting(
    n: int, size: int, share: float, method: str, runs: Sequence[Mapping[str, Any]]
) -> Row:
    """Return the mean and deviation of a setting, as in the paper's figures."""
    known = [run[method] for run in runs if run[method]["test"] is not None]
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
    """Return for each setting what two methods gave on the tables on which both gave something."""
    for runs in settings.values():
        both = [
            (run[first]["test"], run[method]["test"])
            for run in runs
            if run[method]["test"] is not None
        ]
        if both:
            ours, theirs = zip(*both, strict=True)
            yield list(ours), list(theirs)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")
