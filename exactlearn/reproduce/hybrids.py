"""THESIS, Tables 5.10 and 5.11: decision graphs merged from networks, at equal likelihood.

For each table three networks are learnt, with the weight of the size of BIC, of AIC, and one
between. Each becomes a decision graph that is collapsed and merged for as long as the rows learnt
from stay as probable as under the network. The graph is to be smaller than the network's clique
tree.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from math import log
from time import process_time
from typing import Any

import numpy as np

from exactlearn.bayesnet.cliques import clique_tree
from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import draw
from exactlearn.data.dataset import Dataset
from exactlearn.errors import TooLargeError
from exactlearn.formats.bif import read_bif
from exactlearn.pdg.inference.flows import log_likelihood_rows
from exactlearn.pdg.learn.hybrid import smallest_as_likely
from exactlearn.pdg.learn.network_starts import learnt_network
from exactlearn.pdg.learn.smoothing import tuned_smoothing
from exactlearn.reproduce.relations import random_model
from exactlearn.reproduce.sources import public_data
from exactlearn.reproduce.study import Row, Setup
from exactlearn.reproduce.thesis_figures import HYBRID, Pair
from exactlearn.reproduce.thesis_row import thesis_row
from exactlearn.reproduce.uci_tables import UCI, Split, uci_split
from exactlearn.scoring.scores import PenalisedLikelihood

NETWORKS = ("BIC", "middle", "AIC")
"""By what a parameter must gain: half the logarithm of the number of rows; its root; 1."""

MOST_CELLS = 20_000_000
"""Of a clique tree whose network is made a graph."""

TRAIN_ROWS, TEST_ROWS = 10_000, 5_000
"""Of the synthetic tables."""


def hybrid(setup: Setup) -> Iterator[Row]:
    """Repeat THESIS, Table 5.10, on public tables."""
    yield from _rows(setup, "hybrid", [name for name in HYBRID if name in UCI])


def synthetic(setup: Setup) -> Iterator[Row]:
    """Repeat THESIS, Table 5.11, on rows of known models."""
    yield from _rows(setup, "synthetic", [name for name in HYBRID if name not in UCI])


def _rows(setup: Setup, table: str, names: list[str]) -> Iterator[Row]:
    for name in names:
        if setup.only not in name:
            continue
        source = partial(uci_split, setup.data, name, setup.seed)
        if name not in UCI:
            source = partial(drawn_split, setup, name)
        for kind, published in zip(NETWORKS, HYBRID[name], strict=True):
            run = partial(_run, source, kind, setup.seed)
            key = f"table {table}: {name}, {kind} network"
            found = setup.record.once(key, str(setup.seed), "hybrid", run)
            yield from _pair(table, f"{name}, {kind}", found, published)


def _pair(table: str, experiment: str, found: dict[str, Any], published: Pair) -> Iterator[Row]:
    """Return the rows of a network and of its graph."""
    smaller = published[1].size <= published[0].size
    theirs = _told(smaller and published[1].train >= published[0].train)
    for k, method in enumerate(("BN", "PDG")):
        row = thesis_row((table, experiment, method), found[method], published[k])
        if method == "PDG":
            row = replace(row, verdict=f"{_told(found['smaller'])} (thesis: {theirs})")
        yield row


def _told(dominates: bool) -> str:
    return "yes" if dominates else "no"


def _run(source: Callable[[], Split], kind: str, seed: int) -> dict[str, Any]:
    """Learn a network and make it a graph; tell sizes and likelihoods of both."""
    split, begun = source(), process_time()
    train = split.train
    rate = {"BIC": 1.0, "middle": 0.5, "AIC": 0.0}[kind]
    rate = (log(train.n_rows) / 2) ** rate
    lambda_ = rate / (1 + rate)
    network = learnt_network(train, seed, score=PenalisedLikelihood(lambda_))
    size = clique_tree(network).size(network.cardinalities)
    # Likelihoods of the data learnt from are those of the most probable parameters of both.
    plain = fit_complete(train, network.parents, alpha=0.0)
    least = float(plain.log_likelihood_rows(train).sum())
    bn = {
        "size": size,
        "train": least / train.n_rows,
        "test": float(network.log_likelihood_rows(split.test).mean()),
        "seconds": process_time() - begun,
    }
    begun = process_time()
    try:
        if size > MOST_CELLS:
            raise TooLargeError(f"{size:,} cells")
        found = smallest_as_likely(network, train, least, seed=seed)
    except TooLargeError:
        none = {"size": None, "train": None, "test": None, "seconds": process_time() - begun}
        return {"BN": bn, "PDG": none, "smaller": False}
    smoothed = tuned_smoothing(found.graph, train, seed=seed).graph
    pdg = {
        "size": found.graph.effective_size,
        "train": found.log_likelihood / train.n_rows,
        "test": float(log_likelihood_rows(smoothed, split.test.codes).mean()),
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
            _components_rows(model, TRAIN_ROWS, rng), _components_rows(model, TEST_ROWS, rng)
        )
    if name.startswith("Rnd"):
        truth = random_model(name, setup.seed)
        return Split(truth.drawn(TRAIN_ROWS, rng), truth.drawn(TEST_ROWS, rng))
    network = read_bif(public_data(setup.data, "bif") / f"{name.lower()}.bif.gz")
    return Split(network.sample(TRAIN_ROWS, rng), network.sample(TEST_ROWS, rng))


def random_naive_bayes(components: int, rng: np.random.Generator) -> NaiveBayes:
    """Return a naive Bayes model of 15 variables with two to five states (THESIS, 5.2.2)."""
    sizes = rng.integers(2, 6, 15)
    states = tuple(tuple(str(k) for k in range(r)) for r in sizes)
    parameters = np.vstack([rng.dirichlet(np.ones(r), components).T for r in sizes])
    names = tuple(f"X{v}" for v in range(15))
    return NaiveBayes(names, states, rng.dirichlet(np.ones(components)), parameters)


def _components_rows(model: NaiveBayes, size: int, rng: np.random.Generator) -> Dataset:
    """Draw rows of a naive Bayes model."""
    component = rng.choice(model.n_components, size, p=model.prior)
    codes = np.empty((len(model.names), size), np.int16)
    start = 0
    for v, states in enumerate(model.states):
        cumulative = model.parameters[start : start + len(states)].cumsum(axis=0)
        draw(np.ascontiguousarray(cumulative.T), component, rng.random(size), codes[v])
        start += len(states)
    return Dataset(codes.T, model.names, model.states)
