"""THESIS, Tables 4.3, 5.7, 5.10 and 5.11: learning of decision graphs.

- ``logic`` (4.3): logical relations, and rows of random decision graphs.
- ``languages`` (5.7): decision graphs, networks and naive Bayes of seven public tables. Each
  language gives a sequence of models: graphs and networks for several weights of the size, naive
  Bayes with more and more components. Of each sequence the model most likely on other rows, the
  best by BIC and the best by AIC are printed.
- ``hybrid`` and ``synthetic`` (5.10 and 5.11): decision graphs merged from networks, at equal
  likelihood. For each table three networks are learnt, with the weight of the size of BIC, of AIC,
  and one between. Each becomes a decision graph that is collapsed and merged for as long as the
  rows learnt from stay as probable as under the network. The graph is to be smaller than the
  network's clique tree.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import log, nan
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.cliques import clique_tree
from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.data.dataset import Dataset
from exactlearn.data.trade_off import lambda_of
from exactlearn.errors import TooLargeError
from exactlearn.evaluation.languages import LANGUAGES, lambdas
from exactlearn.evaluation.models import log_likelihoods
from exactlearn.formats.models import read_network
from exactlearn.pdg.inference.flows import log_likelihood_rows
from exactlearn.pdg.learn.forest_population import learn_pdg
from exactlearn.pdg.learn.hybrid import smallest_as_likely
from exactlearn.pdg.learn.network_starts import learnt_network
from exactlearn.pdg.learn.smoothing import tuned_smoothing
from exactlearn.pdg.learn.structure_search import learn_on_forest
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.reproduce.generators import (
    random_model,
    random_naive_bayes,
    relation,
)
from exactlearn.reproduce.rows import Row, published
from exactlearn.reproduce.runner import Setup
from exactlearn.reproduce.sources import UCI, Split, public_data, uci_split
from exactlearn.scoring.scores import PenalisedLikelihood

Published = Sequence[float]
"""A published model: size, and log-likelihoods in bits per row of the data learnt from and of other
rows."""

GIVEN, LEARNT, TRUE = "given forest", "learnt forest", "true model"

SMOOTHED = "smoothed by cross-validation"

NETWORKS = ("BIC", "middle", "AIC")
"""By what a parameter must gain: half the logarithm of the number of rows; its root; 1."""

MOST_CELLS = 20_000_000
"""Of a clique tree whose network is made a graph."""

TRAIN_ROWS, TEST_ROWS = 10_000, 5_000
"""Of logical relations and synthetic tables."""

SELECTIONS = ("best on other rows", "BIC", "AIC")

Point = dict[str, float]
"""Size, and mean log-likelihoods per row of the data learnt from and of other rows, of a model."""

Points = list[Point]
"""The models of a sequence."""


def logic(setup: Setup) -> Iterator[Row]:
    """Repeat THESIS, Table 4.3: models recovered with and without the true forest."""
    for name, figures in published("thesis")["relations"].items():
        if setup.only not in name:
            continue
        for method, point in figures.items():
            run = setup.record.once(
                f"table logic: {name}",
                str(setup.seed),
                method,
                partial(_run_relation, name, method, setup.seed),
                SMOOTHED,
            )
            if run is not None:
                yield _row(("logic", name, method), run, point)


def _run_relation(name: str, method: str, seed: int) -> dict[str, Any]:
    """Learn once; return likelihoods and size."""
    truth = relation(name) if name.startswith("Logic") else random_model(name, seed)
    rng = np.random.default_rng(seed)
    split = Split(truth.drawn(TRAIN_ROWS, rng), truth.drawn(TEST_ROWS, rng))
    train = split.train
    begun = process_time()
    if method == TRUE and truth.graph is not None:
        graph = truth.graph
    elif method == GIVEN:
        graph = learn_on_forest(train, truth.forest).graph
    else:
        graph = learn_pdg(train, alpha=0.0, seed=seed).models[0].graph
    if method != TRUE:
        graph = tuned_smoothing(graph, train, seed=seed).graph
    return {**_graph_point(split, graph), "seconds": process_time() - begun}


def languages(setup: Setup) -> Iterator[Row]:
    """Repeat THESIS, Table 5.7."""
    for name, points in published("thesis")["languages"].items():
        if setup.only not in name:
            continue
        for label in points:
            run = partial(_timed, label.lower(), setup, name)
            key = f"table languages: {name}"
            found = setup.record.once(key, str(setup.seed), label, run)
            if found is None:
                continue
            for selection, point in zip(SELECTIONS, points[label], strict=True):
                best = selected(found["points"], selection, found["rows"])
                where = ("languages", f"{name}, {selection}", label)
                yield _row(where, {**best, "seconds": found["seconds"]}, point)


def selected(points: Points, selection: str, n_rows: int) -> dict[str, float]:
    """Return the model of a sequence that is best by a criterion, the first one at a tie.

    Parameters
    ----------
    points
        The models.
    selection
        One of `SELECTIONS`; BIC and AIC are of the effective size, as in the thesis.
    n_rows
        Rows learnt from.
    """
    if selection == SELECTIONS[0]:
        return max(points, key=lambda p: p["test"])
    rate = log(n_rows) / 2 if selection == "BIC" else 1.0
    return max(points, key=lambda p: n_rows * p["train"] - rate * p["size"])


def _timed(language: str, setup: Setup, name: str) -> dict[str, Any]:
    split = uci_split(setup.data, name, setup.seed)
    begun = process_time()
    points = _sequence(language, split, setup.seed)
    seconds = process_time() - begun
    return {"points": points, "rows": split.train.n_rows, "seconds": seconds}


def _point(split: Split, size: float, logs: Callable[[Dataset], NDArray[np.float64]]) -> Point:
    """Return the size and the mean log-likelihoods of a model, by those of rows under it."""
    return {
        "size": float(size),
        "train": float(logs(split.train).mean()),
        "test": float(logs(split.test).mean()),
    }


def _graph_point(split: Split, graph: DecisionGraph) -> Point:
    return _point(split, graph.effective_size, lambda rows: log_likelihood_rows(graph, rows.codes))


def _sequence(language: str, split: Split, seed: int) -> Points:
    found = LANGUAGES[language](split.train, lambdas(split.train.n_rows), seed)
    return [_point(split, m.effective_size, partial(log_likelihoods, m.model)) for m in found]


def hybrid(setup: Setup) -> Iterator[Row]:
    """Repeat THESIS, Table 5.10, on public tables."""
    return _hybrid_rows(setup, "hybrid", partial(uci_split, setup.data, seed=setup.seed))


def synthetic(setup: Setup) -> Iterator[Row]:
    """Repeat THESIS, Table 5.11, on rows of known models."""
    return _hybrid_rows(setup, "synthetic", partial(drawn_split, setup))


def _hybrid_rows(setup: Setup, table: str, split: Callable[[str], Split]) -> Iterator[Row]:
    for name, figures in published("thesis")["hybrid"].items():
        if setup.only not in name or (name in UCI) != (table == "hybrid"):
            continue
        for kind, points in zip(NETWORKS, figures, strict=True):
            run = partial(_run_hybrid, split, name, kind, setup.seed)
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
    for k, method in enumerate(("BN", "PDG")):
        row = _row((table, experiment, method), found[method], points[k])
        if method == "PDG":
            row = replace(row, verdict=f"{_yes(found['smaller'])} (thesis: {theirs})")
        yield row


def _yes(dominates: bool) -> str:
    return "yes" if dominates else "no"


def _run_hybrid(source: Callable[[str], Split], name: str, kind: str, seed: int) -> dict[str, Any]:
    """Learn a network and compile it to a graph; return sizes and likelihoods of both."""
    split, begun = source(name), process_time()
    train = split.train
    rate = {"BIC": 1.0, "middle": 0.5, "AIC": 0.0}[kind]
    rate = (log(train.n_rows) / 2) ** rate
    network = learnt_network(train, seed, score=PenalisedLikelihood(lambda_of(rate)))
    size = clique_tree(network).size(network.cardinalities)
    # Likelihoods of the data learnt from are those of the most probable parameters of both.
    plain = fit_complete(train, network.parents, alpha=0.0)
    least = float(plain.log_likelihood_rows(train).sum())
    bn = _point(split, size, network.log_likelihood_rows) | {"train": least / train.n_rows}
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
    pdg = _graph_point(split, smoothed) | {
        "train": found.log_likelihood / train.n_rows,
        "compiled": found.compiled_size,
        "collapsed": found.collapsed_size,
        "seconds": process_time() - begun,
    }
    equal = found.log_likelihood >= least - 1e-6 * abs(least)
    return {"BN": bn, "PDG": pdg, "smaller": bool(equal and pdg["size"] <= size)}


def drawn_split(setup: Setup, name: str) -> Split:
    """Draw rows of a model: of a public network, or of a random one like the thesis's."""
    rng = np.random.default_rng([setup.seed, len(name), TRAIN_ROWS])
    if name.startswith("NB"):
        model = random_naive_bayes(int(name.removeprefix("NB")), rng)
        return Split(
            model.sample(TRAIN_ROWS, rng),
            model.sample(TEST_ROWS, rng),
        )
    if name.startswith("Rnd"):
        truth = random_model(name, setup.seed)
        return Split(truth.drawn(TRAIN_ROWS, rng), truth.drawn(TEST_ROWS, rng))
    network = read_network(public_data(setup.data, "bif") / f"{name.lower()}.bif.gz")
    return Split(network.sample(TRAIN_ROWS, rng), network.sample(TEST_ROWS, rng))


def _row(where: tuple[str, str, str], found: Mapping[str, float | None], point: Published) -> Row:
    """Return a row with the published point in nats.

    Parameters
    ----------
    where
        Table, experiment and method.
    found
        ``train`` and ``test``, the log-likelihoods per row in nats, ``size`` and ``seconds``, as
        they are recorded: nothing for what is not known.
    point
        The thesis's point.
    """
    table, experiment, method = where
    size, train, test = point
    return Row(
        table=table,
        experiment=experiment,
        method=method,
        repetitions=1,
        train_log_likelihood=found["train"],
        log_likelihood=_number(found["test"]),
        size=_number(found["size"]),
        seconds=_number(found["seconds"]),
        published_train=train * log(2),
        published=test * log(2),
        published_size=size,
    )


def _number(value: float | None) -> float:
    """Return a number, NaN where none is known."""
    return nan if value is None else value
