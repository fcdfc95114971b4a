"""Decision graphs in exact rational arithmetic, for small networks.

Every entry of a network's tables counts as the decimal number that it is written as; rows are
divided by their exact sums. Over a given forest, each configuration of a variable's context gets
its distribution by sums and products of fractions, and two nodes are one if all their parameters
and successors are equal, without any tolerance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.network import BayesianNetwork, without_irrelevant_parents
from exactlearn.errors import CheckError, TooLargeError
from exactlearn.graphs.dag import moral_graph
from exactlearn.pdg.compile.merge import prune_unreached
from exactlearn.pdg.compile.variable_forest import VariableForest, components, forest_over
from exactlearn.pdg.model.decision_graph import DecisionGraph, assemble
from exactlearn.pdg.model.forest import forest_children, forest_order

MAX_EXPANDED = 200_000
"""Most cells of context configurations and states that are computed in fractions."""

Table = dict[tuple[int, ...], tuple[Fraction, ...]]
"""Distributions of a variable, by the configuration of its parents."""

State = tuple[Fraction, tuple[int, ...]]
"""Weight or parameter of a node's state, and its successors."""


@dataclass(frozen=True)
class RationalGraph:
    """A decision graph with exact parameters.

    Parameters
    ----------
    graph
        The graph, its parameters rounded to the nearest floats.
    parameters
        The exact ones, laid out in the same way.
    """

    graph: DecisionGraph
    parameters: tuple[Fraction, ...]


def exact_tables(network: BayesianNetwork) -> list[Table]:
    """Return each variable's table in fractions, rows divided by their exact sums."""
    tables = []
    for values in network.tables:
        table: Table = {}
        for configuration in np.ndindex(values.shape[:-1]):
            row = [Fraction(repr(x)) for x in values[configuration].tolist()]
            table[configuration] = tuple(x / sum(row) for x in row)
        tables.append(table)
    return tables


def compile_exactly(network: BayesianNetwork, forest: NDArray[np.int32]) -> RationalGraph:
    """Return the smallest decision graph over a forest, in fractions.

    Parameters
    ----------
    forest
        Parent of each variable, -1 for a root, as `DecisionGraph.forest`.

    Raises
    ------
    TooLargeError
        If there are too many configurations for exact arithmetic.
    CheckError
        If the forest leaves the variables of some family on different branches, or rows of a
        table that count as equal in floating-point numbers are not.
    """
    joined = moral_graph([() if p < 0 else (int(p),) for p in forest])
    reduced = without_irrelevant_parents(network)
    adjacency = moral_graph(reduced.parents)
    trees = [forest_over(adjacency, forest.tolist(), part) for part in components(joined)]
    cells = sum(tree.expanded_size(network.cardinalities.tolist()) for tree in trees)
    if cells > MAX_EXPANDED:
        raise TooLargeError(
            f"exact arithmetic over {cells:,} cells, the limit is {MAX_EXPANDED:,}: compile in"
            " floating-point numbers, whose error is measured"
        )
    _check_reduction(network, reduced)
    parameters: dict[int, NDArray[np.object_]] = {}
    successors: dict[int, NDArray[np.int32]] = {}
    for tree in trees:
        _expand(reduced, tree, parameters, successors)
    order = forest_order(forest)
    exact, below = prune_unreached(order, forest_children(forest), parameters, successors)
    floats = {v: exact[v].astype(np.float64) for v in order}
    graph = assemble(network.names, network.states, forest, floats, below)
    return RationalGraph(graph, tuple(x for v in order for x in exact[v].ravel()))


def _check_reduction(network: BayesianNetwork, reduced: BayesianNetwork) -> None:
    """Check that the parents left out do not matter in exact arithmetic either."""
    tables = zip(exact_tables(network), exact_tables(reduced), strict=True)
    for v, (table, smaller) in enumerate(tables):
        places = [network.parents[v].index(p) for p in reduced.parents[v]]
        for configuration, row in table.items():
            if row != smaller[tuple(configuration[i] for i in places)]:
                raise CheckError(
                    f"variable {network.names[v]!r}: rows of its table differ by rounding only, so"
                    " that its parents matter in exact arithmetic and not beyond: make them equal,"
                    " or compile in floating-point numbers"
                )


def _expand(
    network: BayesianNetwork,
    tree: VariableForest,
    parameters: dict[int, NDArray[np.object_]],
    successors: dict[int, NDArray[np.int32]],
) -> None:
    """Add the nodes of the variables of one tree, from its leaves to its root."""
    tables, place = exact_tables(network), {v: i for i, v in enumerate(tree.order)}
    homes: dict[int, list[int]] = {v: [] for v in tree.order}
    for v in tree.order:
        homes[max((*network.parents[v], v), key=place.__getitem__)].append(v)
    found: dict[int, dict[tuple[int, ...], tuple[Fraction, int]]] = {}
    for v in reversed(tree.order):
        context, known = tree.contexts[v], {}
        nodes: dict[tuple[State, ...], int] = {}
        for configuration in product(*(range(network.cardinalities[u]) for u in context)):
            at = dict(zip(context, configuration, strict=True))
            cells = []
            for x in range(int(network.cardinalities[v])):
                at[v] = x
                cells.append(_cell(network, tree, v, at, tables, homes[v], found))
            total = sum((cell[0] for cell in cells), start=Fraction(0))
            if total:
                key = tuple((weight / total, below) for weight, below in cells)
                known[configuration] = total, nodes.setdefault(key, len(nodes))
        found[v] = known
        parameters[v] = np.array([[state[0] for state in node] for node in nodes], np.object_)
        below = [[state[1] for state in node] for node in nodes]
        shape = (len(nodes), int(network.cardinalities[v]), len(tree.children[v]))
        successors[v] = np.array(below, np.int32).reshape(shape)


def _cell(
    network: BayesianNetwork,
    tree: VariableForest,
    variable: int,
    at: Mapping[int, int],
    tables: Sequence[Table],
    home: Sequence[int],
    found: Mapping[int, Mapping[tuple[int, ...], tuple[Fraction, int]]],
) -> State:
    """Return the weight of one state with all below, and its successors (0 if it is zero)."""
    weight, below = Fraction(1), []
    for family in home:
        weight *= tables[family][tuple(at[p] for p in network.parents[family])][at[family]]
    for child in tree.children[variable]:
        configuration = tuple(at[u] for u in tree.contexts[child])
        value, node = found[child].get(configuration, (Fraction(0), 0))
        weight *= value
        below.append(node)
    return weight, tuple(below) if weight else (0,) * len(below)
