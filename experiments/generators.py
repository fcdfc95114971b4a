"""Known distributions that rows are drawn from: random models, grids, and logical relations."""

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn import BayesianNetwork, Dataset, DecisionGraph, NaiveBayes, draw_rows

MAX_CHILDREN = 3
MAX_NODES = 6
"""Moderate branching: most children of a variable in the tree, most nodes of a variable."""

TRUE_FOREST = (-1, 0, 1, 1, 3, 4, 2, 5, 7, 7)
"""Of Logic1: the thesis shows it in a figure only; this one has its effective size, 46."""


def random_decision_graph(
    n: int, rng: np.random.Generator, max_states: int = 5
) -> DecisionGraph:
    """Return a random graph over one tree of variables with 2 states or more.

    Parameters are drawn uniformly from the simplex (Caprile 2001). The paper gives neither the
    shape of its trees nor the numbers of nodes. Nodes are numbered depth first.
    """
    forest = np.full(n, -1, np.int32)
    for v in range(1, n):
        free = [u for u in range(v) if (forest[:v] == u).sum() < MAX_CHILDREN]
        # Late variables first: trees are deep, with few branches.
        forest[v] = (
            free[-1] if rng.random() < 0.6 else free[int(rng.integers(len(free)))]
        )
    r = rng.integers(2, max_states + 1, n)
    children = [np.flatnonzero(forest == v).tolist() for v in range(n)]
    order: list[int] = []
    stack = [0]
    while stack:
        order.append(stack.pop())
        stack += reversed(children[order[-1]])
    nodes = np.ones(n, np.int64)
    parameters = []
    heads: dict[tuple[int, int], NDArray[np.int64]] = {}
    for v in order:
        parameters.append(rng.dirichlet(np.ones(r[v]), nodes[v]).ravel())
        edges = int(nodes[v] * r[v])
        for child in children[v]:
            nodes[child] = rng.integers(2, min(edges, MAX_NODES) + 1)
            heads[v, child] = rng.permutation(np.arange(edges) % nodes[child])
    first = dict(zip(order, np.cumsum([0, *nodes[order]]).tolist(), strict=False))
    successors = [
        np.stack(
            [heads[v, child] + first[child] for child in children[v]], axis=1
        ).ravel()
        for v in order
        if children[v]
    ]
    return DecisionGraph(
        _names(n),
        _states(r),
        forest,
        np.repeat(np.array(order, np.int32), nodes[order]),
        np.concatenate(parameters),
        np.concatenate(successors).astype(np.int32),
    )


class Relation(NamedTuple):
    """Equally probable rows, and the forest of the decision graph that they have."""

    forest: Sequence[int]
    rows: NDArray[np.int64]

    def sample(self, size: int, rng: np.random.Generator) -> Dataset:
        """Draw rows."""
        n = self.rows.shape[1]
        codes = self.rows[rng.integers(0, len(self.rows), size)]
        return Dataset(codes.astype(np.int8), _names(n), _states([2] * n))


def relation(name: str) -> Relation:
    """Return a relation (THESIS, Table 4.2, Example 3.11 and 4.53)."""
    if name == "Logic1":
        rows = []
        for a, b, e, h in product((0, 1), repeat=4):
            c = a | b
            d = a & b
            f = d ^ e
            rows.append((a, b, c, d, e, f, 1 - c, h, 1 - (f | h), 1 - (f & h)))
        return Relation(TRUE_FOREST, np.array(rows))
    if name == "Logic2":
        parity = [(*x, sum(x) % 2) for x in product((0, 1), repeat=4)]
        return Relation(range(-1, 4), np.array(parity))
    pairs = [
        (*x, int(any(x[i] & x[i + 1] for i in range(6))))
        for x in product((0, 1), repeat=7)
    ]
    return Relation(range(-1, 7), np.array(pairs))


def drawn(model: Any, size: int, rng: np.random.Generator) -> Dataset:
    """Draw complete rows from a relation or a model."""
    return (
        model.sample(size, rng)
        if isinstance(model, Relation)
        else draw_rows(model, size, rng)
    )


def random_graph(name: str, seed: int) -> DecisionGraph:
    """Return a random decision graph like Rnd15 or Rnd20: variables with two or three states."""
    n = int(name.removeprefix("Rnd"))
    return random_decision_graph(n, np.random.default_rng([seed, n]), max_states=3)


def random_naive_bayes(components: int, rng: np.random.Generator) -> NaiveBayes:
    """Return a naive Bayes model of 15 variables with two to five states (THESIS, 5.2.2)."""
    sizes = rng.integers(2, 6, 15)
    parameters = np.vstack([rng.dirichlet(np.ones(r), components).T for r in sizes])
    return NaiveBayes(
        _names(15), _states(sizes), rng.dirichlet(np.ones(components)), parameters
    )


def ratio_grid(side: int, ratio: float, seed: int) -> BayesianNetwork:
    """Return a square of binary variables, most of which are functions of their parents.

    Parents are the neighbours above and to the left. The ratio grids of Sang, Beame and Kautz
    (2005, "Performing Bayesian inference by weighted model counting"): ``90-20-1`` is the first
    one with ratio .9 and 20 variables a side. Functions and other parameters are uniform.
    """
    rng = np.random.default_rng(seed)
    n = side * side
    functions = rng.permutation(n - 1) < round(ratio * (n - 1))
    families = []
    tables = []
    for v in range(n):
        above = (v - side,) if v >= side else ()
        left = (v - 1,) if v % side else ()
        families.append((*above, *left))
        true = rng.random((2,) * len(families[-1]))
        if v and functions[v - 1]:
            true = np.rint(true)
        tables.append(np.stack([1.0 - true, true], axis=-1))
    names = tuple(f"X{v // side}_{v % side}" for v in range(n))
    return BayesianNetwork(names, (("no", "yes"),) * n, tuple(families), tuple(tables))


def dense_network(n: int, max_parents: int, seed: int) -> BayesianNetwork:
    """Return a random network of binary variables; parameters are uniform on the simplex."""
    rng = np.random.default_rng([seed, n])
    families = tuple(
        tuple(sorted(rng.choice(v, min(v, max_parents), replace=False).tolist()))
        for v in range(n)
    )
    tables = tuple(rng.dirichlet(np.ones(2), (2,) * len(family)) for family in families)
    return BayesianNetwork(_names(n), _states([2] * n), families, tables)


def fire_alarm() -> BayesianNetwork:
    """Return the fire alarm network of six variables.

    Its parameters are those of Poole and Mackworth, "Artificial Intelligence: Foundations of
    Computational Agents", section 8.3.
    """
    names = ("Tampering", "Fire", "Alarm", "Smoke", "Leaving", "Report")
    parents = ((), (), (0, 1), (1,), (2,), (4,))
    true: list[Any] = [
        0.02,
        0.01,
        [[0.0001, 0.99], [0.85, 0.5]],
        [0.01, 0.9],
        [0.001, 0.88],
        [0.01, 0.75],
    ]
    tables = tuple(np.stack([1.0 - np.array(p), np.array(p)], -1) for p in true)
    return BayesianNetwork(names, (("no", "yes"),) * 6, parents, tables)


def _names(n: int) -> tuple[str, ...]:
    return tuple(f"X{v}" for v in range(n))


def _states(sizes: Any) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(str(k) for k in range(size)) for size in sizes)
