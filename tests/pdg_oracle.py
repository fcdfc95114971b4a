"""Decision graphs by brute force: every row followed node by node (PDG-SEM, equation 1)."""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.pdg.model.decision_graph import DecisionGraph, assemble
from exactlearn.pdg.model.forest import forest_children

BINARY = ("0", "1")


def paper_example() -> DecisionGraph:
    """PDG-SEM, Example 4.1: X0 with children X1 and X2, X1 with child X3."""
    return assemble(
        ("X0", "X1", "X2", "X3"),
        (BINARY,) * 4,
        np.array([-1, 0, 0, 1]),
        [
            np.array([[0.2, 0.8]]),
            np.array([[0.7, 0.3], [0.4, 0.6]]),
            np.array([[0.1, 0.9], [0.8, 0.2]]),
            np.array([[0.6, 0.4], [0.3, 0.7], [0.5, 0.5]]),
        ],
        [
            np.array([[[0, 0], [1, 1]]]),
            np.array([[[1], [0]], [[1], [2]]]),
            np.empty((2, 2, 0)),
            np.empty((3, 2, 0)),
        ],
    )


def reached(graph: DecisionGraph, row: tuple[int, ...]) -> dict[int, int]:
    """Return the node of each variable that a complete row reaches."""
    nodes = {}
    for variable in graph.order.tolist():
        if graph.forest[variable] < 0:
            nodes[variable] = int(graph.first_nodes[variable])
        node = nodes[variable] - graph.first_nodes[variable]
        for place, child in enumerate(graph.children[variable]):
            nodes[child] = int(
                graph.successors_of(variable)[node, row[variable], place]
            )
    return nodes


def graph_joint(graph: DecisionGraph) -> NDArray[np.float64]:
    """Return the full joint distribution, one axis per variable."""
    full = np.empty(tuple(graph.cardinalities))
    for row in np.ndindex(full.shape):
        nodes = reached(graph, row)
        offsets = [
            graph.parameter_offsets[nodes[v]] + state for v, state in enumerate(row)
        ]
        full[row] = np.prod(graph.parameters[offsets])
    return full


def distribution_below(graph: DecisionGraph, node: int) -> dict[tuple[int, ...], float]:
    """Return the probabilities of the states from a node on, of its variable and all below it."""
    v = int(graph.variable[node])
    place, found = node - int(graph.first_nodes[v]), {}
    for x, share in enumerate(graph.parameters_of(v)[place]):
        heads = graph.successors_of(v)[place, x]
        parts = [distribution_below(graph, int(head)).items() for head in heads]
        for below in product(*parts):
            states = (x, *(y for part, _ in below for y in part))
            found[states] = share * np.prod([p for _, p in below])
    return found


def completions(row, cardinalities) -> list[tuple[int, ...]]:
    """Return all complete rows that agree with a row's observed cells."""
    allowed = [
        [x] if x >= 0 else range(r) for x, r in zip(row, cardinalities, strict=True)
    ]
    return list(product(*allowed))


def counts_by_joint(graph: DecisionGraph, codes, weights) -> NDArray[np.float64]:
    """Return expected counts by going over all completions of each row (equation 22)."""
    full = graph_joint(graph)
    counts = np.zeros(len(graph.parameters))
    for row, weight in zip(codes, weights, strict=True):
        filled = completions(row, graph.cardinalities)
        total = sum(full[x] for x in filled)
        for x in filled:
            for variable, node in reached(graph, x).items():
                place = graph.parameter_offsets[node] + x[variable]
                counts[place] += weight * full[x] / total
    return counts


def random_graph(
    rng: np.random.Generator, n: int, *, zeros: float = 0.2, most: int = 3
) -> DecisionGraph:
    """Return a decision graph over a random forest with random successors; some zeros.

    Variables have 2 to ``most`` states.
    """
    order = rng.permutation(n)
    forest = np.full(n, -1, np.int32)
    for k in range(1, n):
        if rng.random() < 0.85:
            forest[order[k]] = order[rng.integers(0, k)]
    r = rng.integers(2, most + 1, n)
    children = forest_children(forest)
    parameters, successors = [None] * n, [None] * n
    counts = np.ones(n, np.int64)
    for v in order:
        theta = rng.exponential(size=(counts[v], r[v])) * (
            rng.random((counts[v], r[v])) > zeros
        )
        theta[theta.sum(axis=1) == 0, 0] = 1
        parameters[v] = theta / theta.sum(axis=1, keepdims=True)
        successors[v] = np.empty((counts[v], r[v], len(children[v])), np.int32)
        for place, child in enumerate(children[v]):
            counts[child] = rng.integers(1, min(4, counts[v] * r[v]) + 1)
            edges = np.arange(counts[v] * r[v]) % counts[child]
            successors[v][:, :, place] = rng.permutation(edges).reshape(counts[v], r[v])
    names = tuple(f"x{v}" for v in range(n))
    states = tuple(tuple(f"s{k}" for k in range(size)) for size in r)
    return assemble(names, states, forest, parameters, successors)


def coarse_network(rng: np.random.Generator, n: int) -> BayesianNetwork:
    """Return a network whose tables have few different rows, many of them deterministic."""
    parents = [
        tuple(np.flatnonzero(rng.random(v) < 0.5)[:3].tolist()) for v in range(n)
    ]
    r = rng.integers(2, 4, n)
    tables = []
    for v in range(n):
        rows = np.array(
            [np.roll([1.0] + [0.0] * (r[v] - 1), 1), np.full(r[v], 1 / r[v])]
        )
        chosen = rng.integers(0, 2, [r[p] for p in parents[v]])
        tables.append(rows[chosen])
    return BayesianNetwork(
        tuple(f"x{v}" for v in range(n)),
        tuple(tuple(f"s{k}" for k in range(size)) for size in r),
        tuple(parents),
        tuple(tables),
    )


def fewest_nodes(graph: DecisionGraph, full: NDArray[np.float64]) -> list[int]:
    """Return for each variable how many distributions of its subtree its ancestors tell apart.

    No decision graph of this distribution over this forest has fewer nodes.
    """
    n = graph.n_variables
    ancestors: list[list[int]] = [[] for _ in range(n)]
    for v in graph.order.tolist():
        if graph.forest[v] >= 0:
            ancestors[v] = [*ancestors[graph.forest[v]], int(graph.forest[v])]
    fewest = []
    for v in range(n):
        subtree = [u for u in range(n) if u == v or v in ancestors[u]]
        keep = [*ancestors[v], *subtree]
        rest = tuple(u for u in range(n) if u not in keep)
        table = full.sum(axis=rest)
        table = table.transpose(np.argsort(np.argsort(keep)))
        rows = int(np.prod([graph.cardinalities[u] for u in ancestors[v]], dtype=int))
        table = table.reshape(rows, -1)
        table = table[table.sum(axis=1) > 0]
        table /= table.sum(axis=1, keepdims=True)
        distinct: list[NDArray[np.float64]] = []
        for row in table:
            if not any(
                np.allclose(row, other, rtol=1e-9, atol=0) for other in distinct
            ):
                distinct.append(row)
        fewest.append(len(distinct))
    return fewest
