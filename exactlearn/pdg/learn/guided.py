r"""Direct search for a decision graph, guided by rows drawn from a network.

By its rows alone a decision graph that is large enough to predict as well as a network has many
nodes of few rows each, and its search chooses among so many splits that some gain by chance. Rows
drawn from a network that was learnt from the table say for each node what the network would. They
stand beside the table's rows, with as much weight in all, and the parameters of the graph that is
found are shrunk to what they say. Where a network cannot express the table, as a logical relation
of many variables, they mislead: so graphs are learnt from the table's rows alone as well, and
cross-validation chooses, together with the weight of the size and the strength of the smoothing
(:func:`~exactlearn.pdg.learn.smoothing.cross_validated`).
"""

from collections.abc import Callable, Sequence
from math import log

import numpy as np

from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.data.trade_off import size_weight_of
from exactlearn.pdg.learn.forest_population import LearntGraphs
from exactlearn.pdg.learn.smoothing import cross_validated, estimated, node_counts
from exactlearn.pdg.model.decision_graph import DecisionGraph

RATES, GUIDED_RATES = (1.0, 2.0), (0.5, 1.0, 2.0)
"""What a cell of size must gain in nats, of which validation chooses one, or BIC's; in the second
case with drawn rows, which let smaller graphs predict well."""

NETWORK_SHARE, FOLDS = 0.5, 4
"""Share of the drawn rows in the weight of all; and parts of the rows, of which one validates."""

DRAWS, MOST_DRAWS, PARAMETER_DRAWS = 8, 20_000, 100_000
"""Rows drawn for each row of the table, at most so many, and rows drawn for parameters."""

Kind = tuple[bool, float]
"""Whether drawn rows guide the search, and the weight of the size."""


def with_draws(dataset: Dataset, network: BayesianNetwork, seed: int = 0) -> Dataset:
    """Return a table with rows drawn from a network beside its own, of the same total weight.

    Parameters
    ----------
    dataset
        Complete data; its variables and states are the network's.
    network
        What rows are drawn from.
    seed
        Of the draws.
    """
    own = dataset.row_weights
    n = max(dataset.n_rows, min(DRAWS * dataset.n_rows, MOST_DRAWS))
    drawn = network.sample(n, np.random.default_rng(seed)).codes
    weights = np.concatenate([(1 - NETWORK_SHARE) * own, np.full(n, NETWORK_SHARE * own.sum() / n)])
    codes = np.concatenate([dataset.codes.astype(np.int16), drawn.astype(np.int16)])
    return Dataset(codes, dataset.names, dataset.states, weights)


def with_network_parameters(graph: DecisionGraph, drawn: Dataset) -> DecisionGraph:
    """Return a graph with the relative counts of rows drawn from a network.

    Each node gets one row more, distributed as the variable is in all drawn rows, so that no
    parameter is zero.
    """
    counts = node_counts(graph, drawn)
    for v, first in enumerate(graph.first_parameters.tolist()):
        own = counts[first : first + graph.node_counts[v] * graph.cardinalities[v]]
        table = own.reshape(-1, graph.cardinalities[v])
        marginal = table.sum(axis=0) + 1
        table += marginal / marginal.sum()
    return graph.with_counts(counts)


def learn_guided(
    dataset: Dataset,
    relearn: Callable[[Dataset], BayesianNetwork],
    search: Callable[[Dataset, BayesianNetwork | None, Sequence[float]], LearntGraphs],
    *,
    size_weights: Sequence[float] | None = None,
    seed: int = 0,
) -> tuple[list[tuple[float, DecisionGraph]], bool]:
    """Learn decision graphs with or without rows drawn from a network, as validation chooses.

    Parameters
    ----------
    dataset
        Complete data.
    relearn
        Learns a network from rows.
    search
        Learns graphs from rows, and perhaps a network to start from, with some weights of the size:
        :func:`~exactlearn.pdg.learn.forest_population.learn_direct`.
    size_weights
        Weights of the size, for each of which there is a graph; left out, validation chooses one.
    seed
        Of the draws and the folds.

    Returns
    -------
    The weight of the size and the graph of each model, in falling order, and whether neither limit
    nor interrupt cut the search short. After one there is one model at least.
    """
    bic = log(max(1.0, dataset.row_weights.sum())) / 2
    kinds: list[Kind] = []
    for guided, rates in ((False, RATES), (True, GUIDED_RATES)):
        own = size_weights or [size_weight_of(rate) for rate in {*rates, bic}]
        kinds += [(guided, x) for x in sorted(set(own), reverse=True)]
    with SearchControl.within().running() as control:

        def learn(rows: Dataset, wanted: Sequence[Kind]) -> list[DecisionGraph]:
            network = relearn(rows)
            found: list[DecisionGraph] = []
            n = 0 if control.is_over else PARAMETER_DRAWS
            drawn = network.sample(n, np.random.default_rng(seed))
            for guided in sorted({kind[0] for kind in wanted}):
                if found and control.is_over:
                    break
                own = [x for kind, x in wanted if kind == guided]
                more = with_draws(rows, network, seed) if guided else rows
                for model in search(more, network if guided else None, own).models:
                    if not control.is_over:
                        found.append(with_network_parameters(model.graph, drawn))
                    elif not found:
                        found.append(model.graph)
            return found

        chosen = cross_validated(
            lambda rows: learn(rows, kinds),
            dataset,
            len(kinds),
            seed=seed,
            folds=FOLDS,
            used=1,
            control=control,
        )
        best: dict[float, int] = {}
        for k, (_, x) in enumerate(kinds):
            key = 0.0 if size_weights is None else x
            if key not in best or chosen.log_likelihoods[k] > chosen.log_likelihoods[best[key]]:
                best[key] = k
        wanted = sorted(best.values())
        graphs = learn(dataset, [kinds[k] for k in wanted])
        strengths = [None if control.is_over else strength for strength in chosen.strengths]
        models = [
            (kinds[k][1], estimated(graph, dataset, strengths[k], seed))
            for k, graph in zip(wanted, graphs, strict=False)
        ]
        return sorted(models, key=lambda m: -m[0]), not control.is_over
