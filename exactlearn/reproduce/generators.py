"""Known distributions that rows are drawn from: random models, grids, and logical relations."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.pdg.inference.complete_rows import sample_rows
from exactlearn.pdg.model.decision_graph import DecisionGraph, assemble
from exactlearn.pdg.model.forest import forest_children, forest_order

MOST_CHILDREN, MOST_NODES = 3, 6
"""Moderate branching: most children of a variable in the tree, most nodes of a variable."""

TRUE_FOREST = (-1, 0, 1, 1, 3, 4, 2, 5, 7, 7)
"""Of Logic1: the thesis shows it in a figure only; this one has its effective size, 46."""


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


@dataclass(frozen=True)
class Truth:
    """A known distribution that rows are drawn from.

    Parameters
    ----------
    forest
        The true one.
    rows
        All rows of a relation, equally probable; or
    graph
        a decision graph.
    """

    forest: Sequence[int]
    rows: NDArray[Any] | None = None
    graph: DecisionGraph | None = None

    def drawn(self, size: int, rng: np.random.Generator) -> Dataset:
        """Draw rows."""
        if self.graph is not None:
            return drawn_rows(self.graph, size, rng)
        assert self.rows is not None
        n = self.rows.shape[1]
        names = tuple(f"X{v}" for v in range(n))
        return Dataset(self.rows[rng.integers(0, len(self.rows), size)], names, (("0", "1"),) * n)


def relation(name: str) -> Truth:
    """Return a relation (THESIS, Table 4.2, Example 3.11 and 4.53)."""
    if name == "Logic1":
        rows = []
        for a, b, e, h in product((0, 1), repeat=4):
            c, d = a | b, a & b
            f = d ^ e
            rows.append((a, b, c, d, e, f, 1 - c, h, 1 - (f | h), 1 - (f & h)))
        return Truth(TRUE_FOREST, np.array(rows))
    if name == "Logic2":
        parity = [(*x, sum(x) % 2) for x in product((0, 1), repeat=4)]
        return Truth(range(-1, 4), np.array(parity))
    pairs = [(*x, int(any(x[i] & x[i + 1] for i in range(6)))) for x in product((0, 1), repeat=7)]
    return Truth(range(-1, 7), np.array(pairs))


def random_model(name: str, seed: int) -> Truth:
    """Return a random decision graph like Rnd15 or Rnd20: variables with two or three states."""
    n = int(name.removeprefix("Rnd"))
    graph = random_decision_graph(n, np.random.default_rng([seed, n]), most_states=3)
    return Truth(graph.forest.tolist(), graph=graph)


def random_naive_bayes(components: int, rng: np.random.Generator) -> NaiveBayes:
    """Return a naive Bayes model of 15 variables with two to five states (THESIS, 5.2.2)."""
    sizes = rng.integers(2, 6, 15)
    states = tuple(tuple(str(k) for k in range(r)) for r in sizes)
    parameters = np.vstack([rng.dirichlet(np.ones(r), components).T for r in sizes])
    names = tuple(f"X{v}" for v in range(15))
    return NaiveBayes(names, states, rng.dirichlet(np.ones(components)), parameters)


def ratio_grid(side: int, ratio: float, seed: int) -> BayesianNetwork:
    """Return a square of binary variables, most of which are functions of their parents.

    Parents are the neighbours above and to the left. The ratio grids of Sang, Beame and Kautz
    (2005, "Performing Bayesian inference by weighted model counting"): ``90-20-1`` is the first
    one with ratio .9 and 20 variables a side. Functions and other parameters are uniform.

    Parameters
    ----------
    side
        Variables of a side.
    ratio
        Share of the variables with parents that are functions of these.
    seed
        Number of the instance.
    """
    rng = np.random.default_rng(seed)
    n = side * side
    functions = rng.permutation(n - 1) < round(ratio * (n - 1))
    families, tables = [], []
    for v in range(n):
        above, left = ((v - side,) if v >= side else ()), ((v - 1,) if v % side else ())
        families.append((*above, *left))
        shape = (2,) * len(families[-1])
        true = rng.random(shape)
        if v and functions[v - 1]:
            true = np.rint(true)
        tables.append(np.stack([1.0 - true, true], axis=-1))
    names = tuple(f"X{v // side}_{v % side}" for v in range(n))
    return BayesianNetwork(names, (("no", "yes"),) * n, tuple(families), tuple(tables))


def fire_alarm() -> BayesianNetwork:
    """Return the fire alarm network of six variables.

    Its parameters are those of Poole and Mackworth, "Artificial Intelligence: Foundations of
    Computational Agents", section 8.3.
    """
    families = {
        "Tampering": (),
        "Fire": (),
        "Alarm": ("Tampering", "Fire"),
        "Smoke": ("Fire",),
        "Leaving": ("Alarm",),
        "Report": ("Leaving",),
    }
    true: dict[str, Any] = {
        "Tampering": 0.02,
        "Fire": 0.01,
        "Alarm": [[0.0001, 0.99], [0.85, 0.5]],
        "Smoke": [0.01, 0.9],
        "Leaving": [0.001, 0.88],
        "Report": [0.01, 0.75],
    }
    names = tuple(families)
    tables = [np.stack([1.0 - np.array(true[name]), np.array(true[name])], -1) for name in names]
    parents = tuple(tuple(names.index(p) for p in family) for family in families.values())
    return BayesianNetwork(names, (("no", "yes"),) * len(names), parents, tuple(tables))
