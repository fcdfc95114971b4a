"""PDG-SEM, section 6.1: structural EM on rows of random decision graphs with cells missing.

Against its first model, that of the tree of Chow and Liu, and against available and complete
cases. As in the paper one table of each size is drawn from each graph, and cells of it are hidden
again and again.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product
from time import process_time
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from exactlearn.missingness import hide
from exactlearn.pdg.flows import log_likelihood_rows
from exactlearn.pdg.structural_em import CASES, structural_em_graph
from exactlearn.reproduce.random_graphs import drawn_rows, random_decision_graph
from exactlearn.reproduce.study import Row, Setup

VARIABLES, SIZES, SHARES = (10, 20, 40), (250, 500, 1000, 2000), (0.05, 0.15, 0.3)
"""Of the graphs; rows learnt from; and shares of cells hidden, of the paper's six."""

VALIDATION_ROWS = 10_000

FIRST = "first model"
METHODS = (*CASES, FIRST)

PUBLISHED = {10: 0.2257, 20: 0.2759, 40: 0.1693}
"""The paper's p-values that structural EM is better than available cases."""


def random(setup: Setup) -> Iterator[Row]:
    """Repeat PDG-SEM's comparison on random graphs of 10, 20 and 40 variables."""
    for n in VARIABLES:
        if setup.only in f"rnd{n}":
            runs = _runs(setup, n)
            for method in METHODS:
                yield _row(n, method, runs, setup.repetitions)


Runs = dict[tuple[int, float, str], list[dict[str, Any]]]
"""What was found for each number of rows, share of cells hidden, and method."""


def _runs(setup: Setup, n: int) -> Runs:
    runs: Runs = {}
    for repetition in range(setup.repetitions):
        for size, share, method in product(SIZES, SHARES, METHODS):
            key = f"random: rnd{n}, {size} rows, {100 * share:g} % missing"
            run = partial(_run, n, size, share, setup.seed, repetition, method)
            found = setup.record.once(key, str(setup.seed + repetition), method, run)
            runs.setdefault((size, share, method), []).append(found)
    return runs


def _run(
    n: int, size: int, share: float, seed: int, repetition: int, method: str
) -> dict[str, Any]:
    """Learn once, and tell the log-likelihood per row of other rows."""
    truth = random_decision_graph(n, np.random.default_rng([seed, n]))
    full = drawn_rows(truth, size, np.random.default_rng([seed, n, size]))
    rng = np.random.default_rng([seed, n, size, round(100 * share), repetition])
    holed = hide(full, f"mcar:{share:g}", rng)
    if method == "complete" and not (holed.codes >= 0).all(axis=1).any():
        return {"test": None, "size": None, "seconds": 0.0}
    begun = process_time()
    graph = structural_em_graph(
        holed,
        cases=next((c for c in CASES if c == method), "em"),
        forest="tree",
        size="representational",
        iterations=0 if method == FIRST else 100,
    ).graph
    seconds = process_time() - begun
    test = drawn_rows(truth, VALIDATION_ROWS, np.random.default_rng([seed, n, VALIDATION_ROWS]))
    return {
        "test": float(log_likelihood_rows(graph, test.codes).mean()),
        "size": graph.representational_size,
        "seconds": seconds,
    }


def _row(n: int, method: str, runs: Runs, repetitions: int) -> Row:
    """Return means, and the test of the means of all settings against those of structural EM."""
    own = [run for key, found in runs.items() if key[2] == method for run in found]
    known = [run for run in own if run["test"] is not None]
    ours, theirs = [], []
    for size, share in product(SIZES, SHARES):
        pair = [[run["test"] for run in runs[size, share, m]] for m in (METHODS[0], method)]
        if None not in pair[1]:
            ours.append(float(np.mean(pair[0])))
            theirs.append(float(np.mean(pair[1])))
    p, verdict = None, ""
    if method != METHODS[0] and len(ours) > 1:
        p = float(wilcoxon(ours, theirs, alternative="greater").pvalue)
        ahead = sum(a > b for a, b in zip(ours, theirs, strict=True))
        verdict = f"em is ahead in {ahead} of {len(ours)} settings"
        verdict += f"; paper's p {PUBLISHED[n]}" if method == "available" else ""
    tests = np.array([run["test"] for run in known])
    return Row(
        table="random",
        experiment=f"rnd{n}",
        method=method,
        repetitions=len(known),
        log_likelihood=float(tests.mean()) if len(known) else float("nan"),
        deviation=float(tests.std()) if len(known) else float("nan"),
        size=float(np.mean([run["size"] for run in known])) if known else float("nan"),
        seconds=sum(run["seconds"] for run in own),
        p_value=p,
        verdict=verdict,
    )
