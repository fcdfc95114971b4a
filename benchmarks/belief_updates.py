"""One belief update, all posteriors given some evidence, beside pyAgrum's faster engine."""

import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import least_seconds
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.pdg.inference.flows import posteriors
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.posteriors import query
from tests.peer_networks import to_pyagrum

LONG = 0.05
"""Seconds of an update from which on it is timed once, not several times."""


class Updates(NamedTuple):
    """Mean processor seconds of one update.

    Attributes
    ----------
    query
        By names, on the model.
    update
        By numbers, on the decision graph; the same as ``query`` on a network.
    peer
        Of pyAgrum's faster engine on each query.
    ratio, least
        How many times slower the peer is than ``query`` on average, and where it does best.
    difference
        Largest difference of a probability.
    """

    query: float
    update: float
    peer: float
    ratio: float
    least: float
    difference: float


def updates(
    network: BayesianNetwork, model: BayesianNetwork | DecisionGraph, n: int
) -> Updates:
    """Time ``n`` queries with an eighth of the variables observed, in rows drawn from the network.

    The peer is given the parameters themselves: its reader of BIF files rounds them to single
    precision (posteriors then differ by 1e-8), and stops at some files.
    """
    pyagrum: Any = import_module("pyagrum")
    pyagrum.setNumberOfThreads(1)
    given = to_pyagrum(network)
    engines = [pyagrum.LazyPropagation(given), pyagrum.ShaferShenoyInference(given)]
    seconds, worst = [], 0.0
    for k, (row, seen) in enumerate(_cases(network, n)):
        evidence = {network.names[v]: network.states[v][row[v]] for v in seen}
        told = {network.names[v]: int(row[v]) for v in seen}
        codes = np.full((1, network.n_variables), -1, np.int16)
        codes[0, seen] = row[seen]
        if k == 0:
            query(model, evidence, network.names)
        ours = repeated_seconds(lambda e=evidence: query(model, e, network.names))  # type: ignore[misc]
        update = ours
        if isinstance(model, DecisionGraph):
            update = repeated_seconds(lambda c=codes: posteriors(model, c))  # type: ignore[misc]
        peers = [repeated_seconds(lambda e=e, t=told: ask(e, t)) for e in engines]  # type: ignore[misc]
        seconds.append((ours, update, min(peers)))
        found = query(model, evidence, network.names).posterior.values()
        pairs = zip(found, ask(engines[0], told), strict=True)
        worst = max(
            worst, *(abs(np.array(list(a.values())) - b).max() for a, b in pairs)
        )
    times = np.array(seconds)
    mean = times.mean(axis=0)
    least = float((times[:, 2] / times[:, 0]).min())
    return Updates(*mean.tolist(), float(mean[2] / mean[0]), least, worst)


def ask(engine: Any, evidence: dict[str, int]) -> list[NDArray[np.float64]]:
    """Return all posteriors by an engine of pyAgrum."""
    engine.setEvidence(evidence)
    engine.makeInference()
    return [engine.posterior(v).toarray() for v in range(engine.BN().size())]


def repeated_seconds(call: Callable[[], object]) -> float:
    """Return the least processor time of a call, several together if it is short."""
    clock = time.process_time
    once = least_seconds(call, 1, clock)
    if once > LONG:
        return once
    times = max(1, min(20, int(LONG / max(once, 1e-6))))
    return least_seconds(lambda: [call() for _ in range(times)], 4, clock) / times


def _cases(network: BayesianNetwork, n: int) -> Iterator[tuple[NDArray[np.int16], Any]]:
    """Yield complete rows and the variables observed in each."""
    rng = np.random.default_rng(1)
    for row in network.sample(n, rng).codes:
        yield (
            row,
            rng.choice(
                network.n_variables, network.n_variables // 8 + 1, replace=False
            ),
        )
