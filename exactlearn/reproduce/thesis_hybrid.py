"""THESIS, Tables 5.10 and 5.11, Appendix A.4 and Figures 4.3, 5.10 and 5.11: graphs of networks.

- ``hybrid`` and ``synthetic`` (5.10 and 5.11): decision graphs merged from networks, at equal
  likelihood. For each table three networks are learnt, with the weight of the size of BIC, of AIC,
  and one between. Each becomes a decision graph that is collapsed and merged for as long as the
  rows learnt from stay as probable as under the network. The graph is to be smaller than the
  network's clique tree.
- ``sweeps`` (A.1 to A.13): the same for more networks, and of two of them all graphs of the path.
- ``smoothing`` (4.3): the pseudo-count that cross-validation chooses.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import log
from time import process_time
from typing import Any

import numpy as np

from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.trade_off import size_weight_of
from exactlearn.errors import TooLargeError
from exactlearn.evaluation.models import effective_size
from exactlearn.pdg.inference.flows import log_likelihood_rows
from exactlearn.pdg.learn.forest_population import learn_pdg
from exactlearn.pdg.learn.hybrid import learn_hybrid, smallest_as_likely
from exactlearn.pdg.learn.network_starts import learnt_network
from exactlearn.pdg.learn.smoothing import tuned_smoothing, validation_curve
from exactlearn.reporting.curves import CurvesFigure
from exactlearn.reproduce.rows import NamedFigure, Row, published
from exactlearn.reproduce.runner import Setup
from exactlearn.reproduce.sources import UCI, Split, uci_split
from exactlearn.reproduce.thesis import Published, beside, drawn, graph_point, point_of
from exactlearn.scoring.scores import PenalisedLikelihood

NETWORKS = {"BIC": 1.0, "middle": 0.5, "AIC": 0.0}
"""By what a parameter must gain: powers of half the logarithm of the number of rows."""

SWEEP = (1.5, 1.25, 1.0, 0.75, 0.5, 0.25, 0.0)
"""The powers of the networks of Appendix A.4."""

PATH = tuple(float(rate) for rate in np.geomspace(0.01, 300.0, 24))
"""What a cell must gain along a path of merges (THESIS, Algorithm 4.18)."""

ALPHAS = tuple(float(smoothing) for smoothing in np.geomspace(1e-3, 30.0, 40))
"""Pseudo-counts of Figure 4.3."""

MOST_CELLS = 20_000_000
"""Of a clique tree whose network is made a graph."""


def hybrid(setup: Setup) -> Iterator[Row]:
    """Repeat THESIS, Table 5.10, on public tables."""
    return _hybrid_rows(setup, "hybrid", partial(uci_split, setup.data, seed=setup.seed))


def synthetic(setup: Setup) -> Iterator[Row]:
    """Repeat THESIS, Table 5.11, on rows of known models."""
    return _hybrid_rows(setup, "synthetic", partial(_drawn, setup))


def _hybrid_rows(setup: Setup, table: str, source: Callable[[str], Split]) -> Iterator[Row]:
    for name, figures in published("thesis")["hybrid"].items():
        if setup.only not in name or (name in UCI) != (table == "hybrid"):
            continue
        for (kind, power), points in zip(NETWORKS.items(), figures, strict=True):
            run = partial(_run_hybrid, source, name, power, setup.seed)
            key = f"table {table}: {name}, {kind} network"
            found = setup.record.once(key, str(setup.seed), "hybrid", run)
            if found is not None:
                yield from _pair(table, f"{name}, {kind}", found, points)


def _pair(
    table: str, experiment: str, found: dict[str, Any], points: Sequence[Published]
) -> Iterator[Row]:
    """Return the rows of a network and of its graph."""
    (size, train, _), (graph_size, graph_train, _) = points
    theirs = _yes(graph_size <= size and graph_train >= train)
    dominates = f"{_yes(found['smaller'])} (thesis: {theirs})"
    yield beside((table, experiment, "BN"), found["BN"], points[0])
    yield beside((table, experiment, "PDG"), found["PDG"], points[1], verdict=dominates)


def _yes(dominates: bool) -> str:
    return "yes" if dominates else "no"


def _network(split: Split, power: float, seed: int) -> BayesianNetwork:
    rate = (log(split.train.n_rows) / 2) ** power
    return learnt_network(split.train, seed, score=PenalisedLikelihood(size_weight_of(rate)))


def _run_hybrid(
    source: Callable[[str], Split], name: str, power: float, seed: int
) -> dict[str, Any]:
    """Learn a network and compile it to a graph; return sizes and likelihoods of both."""
    split, begun = source(name), process_time()
    train, network = split.train, _network(split, power, seed)
    size = effective_size(network)
    # Likelihoods of the data learnt from are those of the most probable parameters of both.
    plain = fit_complete(train, network.parents, smoothing=0.0)
    least = float(plain.log_likelihood_rows(train).sum())
    bn = point_of(split, size, network.log_likelihood_rows) | {"train": least / train.n_rows}
    bn["seconds"] = process_time() - begun
    begun = process_time()
    try:
        if size > MOST_CELLS:
            raise TooLargeError(f"{size:,} cells")
        found = smallest_as_likely(network, train, least, seed=seed)
    except TooLargeError:
        none = {"size": None, "train": None, "test": None, "seconds": process_time() - begun}
        return {"BN": bn, "PDG": none, "smaller": False}
    smoothed = tuned_smoothing(found.graph, train, seed=seed).graph
    pdg = graph_point(split, smoothed) | {
        "train": found.log_likelihood / train.n_rows,
        "compiled": found.compiled_size,
        "collapsed": found.collapsed_size,
        "seconds": process_time() - begun,
    }
    equal = found.log_likelihood >= least - 1e-6 * abs(least)
    return {"BN": bn, "PDG": pdg, "smaller": bool(equal and pdg["size"] <= size)}


def sweeps(setup: Setup) -> Iterator[Row | NamedFigure]:
    """Repeat THESIS, Tables A.1 to A.13 and Figures 5.10 and 5.11.

    Each network stands beside the thesis's of the nearest size.
    """
    paths = published("thesis_sweeps")["paths"]
    for k, (name, points) in enumerate(published("thesis_sweeps")["sweeps"].items()):
        if setup.only not in name:
            continue
        source = (
            partial(uci_split, setup.data, seed=setup.seed)
            if name in UCI
            else partial(_drawn, setup)
        )
        ours = []
        for power in SWEEP:
            run = partial(_run_hybrid, source, name, power, setup.seed)
            key = f"table sweeps: {name}, rate {power:g}"
            found = setup.record.once(key, str(setup.seed), "hybrid", run)
            if found is not None:
                near = min(points, key=lambda p: abs(log(p[0] / found["BN"]["size"])))
                experiment = f"{name}, {power:g}"
                yield from _pair("sweeps", experiment, found, (near[:3], near[3:]))
                ours.append((found["BN"]["size"], found["PDG"]["size"]))
        if ours:
            curves = {
                "exactlearn": [pair for pair in ours if pair[1] is not None],
                "thesis": [(point[0], point[3]) for point in points],
            }
            figure = CurvesFigure(
                curves=curves, across="size of the network", up="size of the graph"
            )
            yield NamedFigure(f"table-a.{k + 1}", figure)
        if name in paths:
            yield from _path_figures(setup, name, source, paths[name])


def _drawn(setup: Setup, name: str) -> Split:
    return drawn(setup, name)[1]


def _path_figures(
    setup: Setup, name: str, source: Callable[[str], Split], number: str
) -> Iterator[NamedFigure]:
    run = partial(_run_path, source, name, setup.seed)
    found = setup.record.once(f"figure {number}: {name}", str(setup.seed), "path", run)
    if found is not None:
        for letter, rows in (("a", "train"), ("b", "test")):
            up = "train" if rows == "train" else "log_likelihood"
            figure = CurvesFigure(
                curves={"merged graphs": [(p["size"], p[rows]) for p in found["path"]]},
                marks={"network": (found["BN"]["size"], found["BN"][rows])},
                across="size",
                up=up,
            )
            yield NamedFigure(f"figure-{number}{letter}", figure)


def _run_path(source: Callable[[str], Split], name: str, seed: int) -> dict[str, Any]:
    """Return the points of a network and of the graphs that it is merged to."""
    split = source(name)
    network = _network(split, NETWORKS["middle"], seed)
    size = effective_size(network)
    weights = [size_weight_of(rate) for rate in PATH]
    found = learn_hybrid(network, split.train, size_weights=weights, seed=seed)
    return {
        "BN": point_of(split, size, network.log_likelihood_rows),
        "path": [graph_point(split, model.graph) for model in found.models],
    }


def smoothing(setup: Setup) -> Iterator[Row | NamedFigure]:
    """Repeat THESIS, Figure 4.3, on Abalone."""
    name = "Abalone"
    if setup.only not in name:
        return
    key = f"figure 4.3: {name}"
    found = setup.record.once(
        key, str(setup.seed), "smoothing", partial(_run_smoothing, setup, name)
    )
    if found is None:
        return
    for k, method in enumerate(("chosen by cross-validation", "best on other rows", "smoothing 1")):
        smoothing, train, test = found["choices"][k]
        yield Row(
            table="smoothing",
            experiment=name,
            method=method,
            repetitions=1,
            train_log_likelihood=train,
            log_likelihood=test,
            size=found["size"],
            seconds=found["seconds"],
            verdict=f"pseudo-count {smoothing:.3g}",
        )
    curves = {"cross-validation": found["validated"], "other rows": found["test"]}
    mark = {"chosen": tuple(found["choices"][0][::2])}
    figure = CurvesFigure(curves=curves, marks=mark, across="smoothing", up="log_likelihood")
    yield NamedFigure("figure-4.3", figure)


def _run_smoothing(setup: Setup, name: str) -> dict[str, Any]:
    """Learn a graph; return validated and test log-likelihoods per row by pseudo-count."""
    split = uci_split(setup.data, name, setup.seed)
    begun = process_time()
    graph = learn_pdg(split.train, smoothing=0.0, seed=setup.seed).models[0].graph
    chosen = tuned_smoothing(graph, split.train, seed=setup.seed).smoothing

    def judged(smoothing: float) -> tuple[float, float, float]:
        smoothed = tuned_smoothing(graph, split.train, smoothing=smoothing).graph
        logs = (log_likelihood_rows(smoothed, rows.codes) for rows in (split.train, split.test))
        train, test = (float(part.mean()) for part in logs)
        return smoothing, train, test

    points = [judged(smoothing) for smoothing in ALPHAS]
    validated = validation_curve(graph, split.train, np.array(ALPHAS), seed=setup.seed)
    return {
        "size": graph.effective_size,
        "validated": list(zip(ALPHAS, (validated / split.train.n_rows).tolist(), strict=True)),
        "test": [(smoothing, test) for smoothing, _, test in points],
        "choices": [judged(chosen), max(points, key=lambda p: p[2]), judged(1.0)],
        "seconds": process_time() - begun,
    }
