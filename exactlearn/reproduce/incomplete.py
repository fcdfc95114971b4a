"""PDG-SEM, Table 1: structural EM on two incomplete tables, judged by rows left out.

Decision graphs, networks, and naive Bayes with a latent component. The paper leaves out one row at
a time; so does this with ``--full``, and tenths of the rows otherwise.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import nan
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.component_growth import learn_naive_bayes
from exactlearn.data.dataset import Dataset
from exactlearn.formats.table import read_dataset
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.inference.flows import log_likelihood_rows
from exactlearn.pdg.learn.network_starts import learnt_network, structural_em_rounds
from exactlearn.pdg.learn.structural_em import structural_em_graph
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.reproduce.rows import Row, published
from exactlearn.reproduce.runner import Setup
from exactlearn.reproduce.sources import public_data

FOLDS = 10
"""Parts of the rows."""

ALL = "all rows"
"""In place of a part's number where none is left out."""

Judged = tuple[NDArray[np.float64], int]
"""Log-likelihoods of rows left out, and the free parameters of the model."""


def judged(graph: DecisionGraph, test: Dataset) -> Judged:
    """Judge a decision graph by rows left out."""
    return log_likelihood_rows(graph, test.codes), graph.representational_size


def _tree(train: Dataset, test: Dataset) -> Judged:
    found = structural_em_graph(train, forest="tree", size="representational")
    return judged(found.graph, test)


def _forest(train: Dataset, test: Dataset) -> Judged:
    return judged(structural_em_graph(train, size="representational").graph, test)


def _from_network(train: Dataset, test: Dataset) -> Judged:
    start = compile_network(learnt_network(train))
    found = structural_em_graph(train, start=start, size="representational")
    return judged(found.graph, test)


def _default(train: Dataset, test: Dataset) -> Judged:
    return judged(structural_em_rounds(train, size="representational").graph, test)


def _network(train: Dataset, test: Dataset) -> Judged:
    network = learnt_network(train)
    # A network's decision graph knows the likelihood of rows with missing cells.
    return judged(compile_network(network), test)[0], network.representational_size


def _naive_bayes(train: Dataset, test: Dataset) -> Judged:
    model = learn_naive_bayes(train).model
    return model.log_likelihood_rows(test), model.representational_size


METHODS: Mapping[str, Callable[[Dataset, Dataset], Judged]] = {
    "PDG": _tree,
    "PDG, forest": _forest,
    "PDG, from BN": _from_network,
    "PDG, default": _default,
    "BN": _network,
    "NB": _naive_bayes,
}
"""The paper's are the first and the last two; the default is that of `learn-pdg`."""


def table1(setup: Setup) -> Iterator[Row]:
    """Repeat PDG-SEM, Table 1, on parts of the rows, or row by row."""
    for name, figures in published("pdg_sem")["table1"].items():
        if setup.only not in name:
            continue
        data = read_dataset(public_data(setup.data, "uci") / f"{name}.data", header=False)
        folds = data.n_rows if setup.full else FOLDS
        parts = np.random.default_rng(setup.seed).permutation(data.n_rows) % folds
        for method in METHODS:
            yield from _rows(setup, name, method, data, parts, figures.get(method))


def _rows(
    setup: Setup,
    name: str,
    method: str,
    data: Dataset,
    parts: NDArray[np.integer],
    figures: Sequence[float] | None,
) -> Iterator[Row]:
    """Return a method's row; after an interrupt that of the parts done, of unknown size."""
    folds = int(parts.max()) + 1
    key = f"table 1: {name}, {folds} parts, seed {setup.seed}"
    nothing = np.zeros(data.n_rows, np.bool_)
    tasks = {str(k): parts == k for k in range(folds)} | {ALL: nothing}
    runs: dict[str, dict[str, Any]] = {}
    for task, out in tasks.items():
        run = setup.record.once(key, task, method, partial(_left_out, method, data, out))
        if run is not None:
            runs[task] = run
    logs = [log for run in runs.values() for log in run["log_likelihoods"]]
    if logs:
        yield Row(
            table="table1",
            experiment=name,
            method=method,
            repetitions=len(logs),
            log_likelihood=float(np.mean(logs)),
            deviation=float(np.std(logs, ddof=1)) if len(logs) > 1 else None,
            size=runs[ALL]["size"] if ALL in runs else nan,
            seconds=sum(run["seconds"] for run in runs.values()),
            published=None if figures is None else figures[0],
            published_size=None if figures is None else figures[1],
        )


def _left_out(method: str, data: Dataset, out: NDArray[np.bool_]) -> dict[str, Any]:
    """Learn from all rows but some; return the log-likelihoods of those."""
    begun = process_time()
    logs, size = METHODS[method](data.part(~out), data.part(out))
    return {"log_likelihoods": logs, "size": size, "seconds": process_time() - begun}
