"""THESIS, Tables 4.3, 5.1 to 5.3 and 5.5: logical relations, and what models are learnt from.

- ``logic`` (4.3): logical relations, and rows of random decision graphs.
- ``models`` (5.1 to 5.3): the models that rows are drawn from.
- ``data`` (5.5): the public tables.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import log, nan
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.evaluation.models import effective_size, log_likelihoods
from exactlearn.evaluation.sl_curves import empirical_log_likelihood
from exactlearn.formats.models import read_network
from exactlearn.pdg.inference.flows import log_likelihood_rows
from exactlearn.pdg.learn.forest_population import learn_pdg
from exactlearn.pdg.learn.smoothing import tuned_smoothing
from exactlearn.pdg.learn.structure_search import learn_on_forest
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.evidence import Model
from exactlearn.reproduce.generators import random_model, random_naive_bayes, relation
from exactlearn.reproduce.rows import Row, published
from exactlearn.reproduce.runner import Setup
from exactlearn.reproduce.sources import Split, public_data, uci_split

Published = Sequence[float]
"""A published model: size, and log-likelihoods in bits per row of the data learnt from and of other
rows."""

GIVEN, LEARNT, TRUE = "given forest", "learnt forest", "true model"

SMOOTHED = "smoothed by cross-validation"

TRAIN_ROWS, TEST_ROWS = 10_000, 5_000
"""Of logical relations and synthetic tables."""

Point = dict[str, float]
"""Size, and mean log-likelihoods per row of the data learnt from and of other rows, of a model."""


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
                yield beside(("logic", name, method), run, point)


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
        graph = learn_pdg(train, smoothing=0.0, seed=seed).models[0].graph
    if method != TRUE:
        graph = tuned_smoothing(graph, train, seed=seed).graph
    return {**graph_point(split, graph), "seconds": process_time() - begun}


def models(setup: Setup) -> Iterator[Row]:
    """Repeat THESIS, Tables 5.1 to 5.3: the models that rows are drawn from, and their rows."""
    for name, known in published("thesis")["models"].items():
        if setup.only in name:
            run = partial(_described, setup, name)
            found = setup.record.once(f"table models: {name}", str(setup.seed), "model", run)
            if found is not None:
                where = ("models", name, found["what"])
                yield beside(where, found, known["point"], verdict=f"(thesis: {known['what']})")


def _described(setup: Setup, name: str) -> dict[str, Any]:
    model, split = drawn(setup, name)
    arcs = f"{sum(map(len, model.parents))} arcs, " if isinstance(model, BayesianNetwork) else ""
    size = effective_size(model)
    r = split.train.cardinalities
    what = f"{len(r)} variables, {arcs}{min(r)} to {max(r)} states, mean {np.mean(r):.1f}"
    logs = partial(log_likelihoods, model)
    return point_of(split, size, logs) | {"what": what, "seconds": None}


def data(setup: Setup) -> Iterator[Row]:
    """Repeat THESIS, Table 5.5: rows, states and entropy of the public tables."""
    for name, known in published("thesis")["data"].items():
        if setup.only in name:
            run = partial(_counted, setup, name)
            found = setup.record.once(f"table data: {name}", str(setup.seed), "table", run)
            if found is not None:
                where = ("data", name, found["what"])
                point = (known["train"] + known["test"], nan, -known["entropy"])
                yield beside(where, found, point, verdict=f"(thesis: {known['what']})")


def _counted(setup: Setup, name: str) -> dict[str, Any]:
    split = uci_split(setup.data, name, setup.seed)
    r, n_rows = split.train.cardinalities, (split.train.n_rows, split.test.n_rows)
    whole = Dataset(
        np.concatenate([split.train.codes, split.test.codes]), split.train.names, split.train.states
    )
    return {
        "what": f"{len(r)} variables, {min(r)} to {max(r)} states, {n_rows[0]} + {n_rows[1]} rows",
        "size": whole.n_rows,
        "train": None,
        "test": empirical_log_likelihood(whole),
        "seconds": None,
    }


def point_of(split: Split, size: float, logs: Callable[[Dataset], NDArray[np.float64]]) -> Point:
    """Return the size and the mean log-likelihoods of a model, by those of rows under it."""
    return {
        "size": float(size),
        "train": float(logs(split.train).mean()),
        "test": float(logs(split.test).mean()),
    }


def graph_point(split: Split, graph: DecisionGraph) -> Point:
    """Return the effective size and the mean log-likelihoods of a decision graph."""
    return point_of(
        split, graph.effective_size, lambda rows: log_likelihood_rows(graph, rows.codes)
    )


def drawn(setup: Setup, name: str) -> tuple[Model, Split]:
    """Return a model and rows of it: a public network, or one like the thesis's.

    The graph of a logical relation is that of the thesis's forest, which all rows fit.
    """
    rng = np.random.default_rng([setup.seed, len(name), TRAIN_ROWS])
    if name.startswith(("Rnd", "Logic")):
        truth = relation(name) if name.startswith("Logic") else random_model(name, setup.seed)
        split = Split(truth.drawn(TRAIN_ROWS, rng), truth.drawn(TEST_ROWS, rng))
        return truth.graph or learn_on_forest(split.train, truth.forest).graph, split
    model: Model
    if name.startswith("NB"):
        model = random_naive_bayes(int(name.removeprefix("NB")), rng)
    else:
        model = read_network(public_data(setup.data, "bif") / f"{name.lower()}.bif.gz")
    return model, Split(model.sample(TRAIN_ROWS, rng), model.sample(TEST_ROWS, rng))


def beside(
    where: tuple[str, str, str], found: Mapping[str, Any], point: Published, **also: Any
) -> Row:
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
    also
        Further fields of the row.
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
        **also,
    )


def _number(value: float | None) -> float:
    """Return a number, NaN where none is known."""
    return nan if value is None else value
