"""Random decision graphs and rows drawn from decision graphs (PDG-SEM, section 6)."""

import numpy as np

from exactlearn.data.dataset import Dataset
from exactlearn.pdg.inference.sample import sample_rows
from exactlearn.pdg.model.decision_graph import DecisionGraph, assemble
from exactlearn.pdg.model.forest import forest_children, forest_order

MOST_CHILDREN, MOST_NODES = 3, 6
"""Moderate branching: most children of a variable in the tree, most nodes of a variable."""


def random_decision_graph(n: int, rng: np.random.Generator, most_states: int = 5) -> DecisionGraph:
    """Return a random graph over one tree of variables with 2 states or more.

    Parameters are drawn uniformly from the simplex (Caprile 2001). The paper gives neither the
    shape of its trees nor the numbers of nodes.

    Parameters
    ----------
    n
        Number of variables.
    rng
        Draws the tree, the edges and the parameters.
    most_states
        Most states of a variable.
    """
    forest = np.full(n, -1, np.int32)
    for v in range(1, n):
        free = [u for u in range(v) if (forest[:v] == u).sum() < MOST_CHILDREN]
        # Late variables first: trees are deep, with few branches.
        forest[v] = free[-1] if rng.random() < 0.6 else free[int(rng.integers(len(free)))]
    r = rng.integers(2, most_states + 1, n)
    children = forest_children(forest)
    nodes = np.ones(n, np.int64)
    parameters, successors = {}, {}
    for v in forest_order(forest):
        parameters[v] = rng.dirichlet(np.ones(r[v]), nodes[v])
        edges = int(nodes[v] * r[v])
        successors[v] = np.empty((nodes[v], r[v], len(children[v])), np.int32)
        for place, child in enumerate(children[v]):
            nodes[child] = rng.integers(2, min(edges, MOST_NODES) + 1)
            heads = rng.permutation(np.arange(edges) % nodes[child])
            successors[v][:, :, place] = heads.reshape(nodes[v], r[v])
    names = tuple(f"X{v}" for v in range(n))
    states = tuple(tuple(str(k) for k in range(size)) for size in r)
    return assemble(names, states, forest, parameters, successors)


def drawn_rows(graph: DecisionGraph, size: int, rng: np.random.Generator) -> Dataset:
    """Draw complete rows from a decision graph."""
    return Dataset(sample_rows(graph, size, rng), graph.names, graph.states)
