"""PDG-SEM, section 6.2.1 and Figure 5: structural EM on rows of a dense network of 14 variables.

Graphs, learnt over the tree of Chow and Liu, beside networks: how likely 5,000 complete rows are,
and how many free parameters the models have.
"""

from collections.abc import Iterator
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.missingness import hide
from exactlearn.reporting.curves import CurvesFigure
from exactlearn.reproduce import incomplete
from exactlearn.reproduce.random_tables import SHARES
from exactlearn.reproduce.rows import NamedFigure, Row
from exactlearn.reproduce.runner import Setup

VARIABLES, PARENTS, ROWS = 14, 3, 5000
"""Of the network, with as many parents as there are before, up to the second; rows learnt from, and
as many to judge by."""

LANGUAGES = ("PDG", "PDG, default", "BN")
"""Graphs as in the paper, by `learn-pdg`, which starts from networks, too, and networks."""


def dense_network(seed: int) -> BayesianNetwork:
    """Return a random network of binary variables; parameters are uniform on the simplex."""
    rng = np.random.default_rng([seed, VARIABLES])
    families = [
        tuple(sorted(rng.choice(v, min(v, PARENTS), replace=False).tolist()))
        for v in range(VARIABLES)
    ]
    tables = tuple(rng.dirichlet(np.ones(2), (2,) * len(family)) for family in families)
    names = tuple(f"X{v}" for v in range(VARIABLES))
    return BayesianNetwork(names, (("0", "1"),) * VARIABLES, tuple(families), tables)


def dense(setup: Setup) -> Iterator[Row | NamedFigure]:
    """Repeat PDG-SEM, Figure 5."""
    if setup.only not in "rnd14":
        return
    points: dict[str, dict[str, list[tuple[float, float]]]] = {"a": {}, "b": {}}
    for share in SHARES:
        experiment = f"rnd14, {100 * share:g} % missing"
        for language in LANGUAGES:
            runs = []
            for repetition in range(setup.repetitions):
                run = partial(_run, language, share, setup.seed, repetition)
                key = f"dense: {experiment}, seed {setup.seed}"
                found = setup.record.once(key, str(repetition), language, run)
                runs += [] if found is None else [found]
            if runs:
                row = _row(experiment, language, runs)
                points["a"].setdefault(language, []).append((100 * share, row.log_likelihood))
                points["b"].setdefault(language, []).append((100 * share, row.size))
                yield row
    for letter, up in (("a", "log_likelihood"), ("b", "free parameters")):
        if points[letter]:
            figure = CurvesFigure(curves=points[letter], across="missing cells (%)", up=up)
            yield NamedFigure(f"figure-sem-5{letter}", figure)


def _run(language: str, share: float, seed: int, repetition: int) -> dict[str, Any]:
    rng = np.random.default_rng([seed, ROWS])
    network = dense_network(seed)
    train, test = network.sample(ROWS, rng), network.sample(ROWS, rng)
    hidden = hide(train, f"mcar:{share:g}", np.random.default_rng([seed, repetition]))
    begun = process_time()
    logs, size = incomplete.METHODS[language](hidden, test)
    return {"test": float(logs.mean()), "size": size, "seconds": process_time() - begun}


def _row(experiment: str, language: str, runs: list[dict[str, Any]]) -> Row:
    tests = [run["test"] for run in runs]
    return Row(
        table="dense",
        experiment=experiment,
        method=language,
        repetitions=len(runs),
        log_likelihood=float(np.mean(tests)),
        deviation=float(np.std(tests, ddof=1)) if len(tests) > 1 else None,
        size=float(np.mean([run["size"] for run in runs])),
        seconds=sum(run["seconds"] for run in runs),
    )
