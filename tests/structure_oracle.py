"""All structures over a forest by brute force, and their scores from equation 1 alone."""

from itertools import product

import numpy as np

from exactlearn.pdg.model.decision_graph import assemble
from exactlearn.pdg.model.forest import forest_children, forest_order
from tests.pdg_oracle import reached


def counts_by_rows(graph, codes, weights):
    """Follow each complete row node by node and count where it goes."""
    counts = np.zeros(len(graph.parameters))
    for row, weight in zip(codes.tolist(), weights, strict=True):
        for variable, node in reached(graph, row).items():
            counts[graph.parameter_offsets[node] + row[variable]] += weight
    return counts


def score_by_rows(graph, codes, weights, score):
    """Return S(lambda) of the structure's maximum-likelihood parameters."""
    counts = counts_by_rows(graph, codes, weights)
    total = 0.0
    for start, end in zip(
        graph.parameter_offsets, graph.parameter_offsets[1:], strict=False
    ):
        n = counts[start:end]
        total += sum(x * np.log(x / n.sum()) for x in n if x > 0)
    return score.of(graph, total)


def all_structures(names, states, forest):
    """Yield every graph over a forest: each partition of the edges into each variable."""
    order, children = forest_order(forest), forest_children(forest)
    r = [len(s) for s in states]

    def extend(k, nodes, successors):
        if k == len(order):
            parameters = {v: np.full((nodes[v], r[v]), 1 / r[v]) for v in order}
            yield assemble(names, states, forest, parameters, successors)
            return
        v = order[k]
        edges = nodes[v] * r[v]
        for chosen in product(partitions(edges), repeat=len(children[v])):
            heads = np.array(chosen, np.int32).T.reshape(
                nodes[v], r[v], len(children[v])
            )
            below = {c: max(p) + 1 for c, p in zip(children[v], chosen, strict=True)}
            yield from extend(k + 1, {**nodes, **below}, {**successors, v: heads})

    yield from extend(0, {v: 1 for v in order if forest[v] < 0}, {})


def partitions(n, used=0):
    """Return all partitions of n things, each by the number of each thing's class."""
    if n == 0:
        return [()]
    return [
        (first, *rest)
        for first in range(used + 1)
        for rest in partitions(n - 1, max(used, first + 1))
    ]
