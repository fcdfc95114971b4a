"""The node of a variable as a function of other variables: its contexts, and a network of nodes.

As a function of the states of its ancestors it is a reduced decision diagram, made from the
variable up to the root of its tree. Over the ancestors that matter it is a table of nodes, -1 where
no row of positive probability leads. A context is a set of configurations given by the states that
some ancestors may have.

As a function of the node and the state of the forest parent it makes the graph a Bayesian network
with variables for the nodes that a row reaches (THESIS, Theorem 3.5; Jaeger 2004, Theorem 5.3): a
variable depends on its node alone. The network has a clique tree of at most the square of the
graph's effective size (theorem *Networks with auxiliary variables*,
docs/theory/decision_graphs.md).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.hash_tables import index_rows
from exactlearn.bayesnet.network import LARGEST_TABLE, BayesianNetwork
from exactlearn.errors import TooLargeError
from exactlearn.pdg.model.decision_graph import DecisionGraph

Cube = dict[int, tuple[int, ...]]
"""A context: axes of a table of configurations, and the states that each may have."""


class NodeFunction:
    """The node of a variable as a function of its ancestors' states: a reduced decision diagram.

    The first functions are the constant ones, one for each node of the variable. Each other one
    belongs to an ancestor and is given by what follows for its states, -1 where impossible.
    """

    def __init__(self, graph: DecisionGraph, v: int, path: Sequence[int]) -> None:
        # The function of each node of the ancestor at hand.
        functions = np.arange(graph.node_counts[v])
        n_functions = len(functions)
        child = v
        self._levels: list[tuple[int, int, NDArray[np.int64]]] = []
        for ancestor in path:
            after = functions[graph.edges_into(child)]
            after = np.where(graph.parameters_of(ancestor) > 0, after, -1)
            varies = _varies(after, 1)
            # A node whose states all lead to one function has that function itself.
            functions = after.max(axis=1)
            if varies.any():
                groups, first = index_rows(after[varies].astype(np.int32))
                functions[varies] = n_functions + groups
                self._levels.insert(0, (ancestor, n_functions, after[varies][first]))
                n_functions += len(first)
            child = ancestor
        self._root = int(functions[0])

    @property
    def needed(self) -> list[int]:
        """Ancestors that the function depends on, from the root on."""
        reached = np.array([self._root])
        needed = []
        for ancestor, first, after in self._levels:
            is_here = _is_within(reached, first, after)
            if is_here.any():
                needed.append(ancestor)
                below = after[reached[is_here] - first]
                reached = np.unique(np.append(reached[~is_here], below))
        return needed

    def table(self) -> NDArray[np.int64]:
        """Return the node for each configuration of the needed ancestors, -1 where impossible."""
        table = np.array(self._root)
        needed = self.needed
        for ancestor, first, after in self._levels:
            if ancestor in needed:
                is_here = _is_within(table, first, after)
                below = after[np.where(is_here, table - first, 0)]
                table = np.where(is_here[..., None], below, table[..., None])
        return table


def _is_within(
    functions: NDArray[np.int64],
    first: int,
    after: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return the mask of the functions of the level that begins at ``first``."""
    return (functions >= first) & (functions < first + len(after))


def without_redundant(
    above: Sequence[int], table: NDArray[np.int64]
) -> tuple[list[int], NDArray[np.int64]]:
    """Remove ancestors that the others determine as far as it matters, nearest first.

    Parameters
    ----------
    above
        The variable of each axis.
    table
        Node of each configuration, -1 where impossible.
    """
    above = list(above)
    for axis in reversed(range(table.ndim)):
        if not _varies(table, axis).any():
            table = table.max(axis=axis)
            del above[axis]
    return above, table


def _varies(table: NDArray[np.int64], axis: int) -> NDArray[np.bool_]:
    """Return where possible configurations that differ in one axis reach different nodes."""
    largest = table.max(axis=axis, keepdims=True)
    varies: NDArray[np.bool_] = ((table >= 0) & (table < largest)).any(axis=axis)
    return varies


def node_contexts(
    table: NDArray[np.int64], max_contexts: int
) -> tuple[dict[int, list[Cube]], bool]:
    """Return contexts of each node, by a decision tree, and whether they are all.

    Each step asks for the axis after which the fewest nodes remain, its states with the same
    function together.
    """
    contexts: dict[int, list[Cube]] = {}
    queue: list[tuple[Cube, NDArray[np.int64], list[int]]]
    queue = [({}, table, list(range(table.ndim)))]
    is_complete = True
    # Breadth first, so that a limit leaves out the longest contexts; the queue grows
    # while it is read.
    for cube, whole, all_axes in queue:
        axes, part = without_redundant(all_axes, whole)
        if part.ndim == 0:
            contexts.setdefault(int(part), []).append(cube)
        elif len(queue) > max_contexts:
            is_complete = False
        else:
            # Split by the axis that separates the nodes best.
            splits = [_grouped(part, place) for place in range(part.ndim)]
            place = min(range(part.ndim), key=lambda k: _total_nodes(splits[k]))
            axis = axes.pop(place)
            for states, part_of_states in splits[place].items():
                queue.append((cube | {axis: states}, part_of_states, axes))
    return {node: _joined(cubes) for node, cubes in contexts.items()}, is_complete


def _joined(cubes: list[Cube]) -> list[Cube]:
    """Join disjoint contexts that differ in the states of one axis, as long as there are such."""
    before = len(cubes) + 1
    while len(cubes) < before:
        before = len(cubes)
        for axis in sorted({axis for cube in cubes for axis in cube}):
            # By what the contexts say of the other axes: the states of this one.
            groups: dict[frozenset[tuple[int, tuple[int, ...]]], tuple[int, ...]] = {}
            for cube in cubes:
                states = cube.get(axis, ())
                key = frozenset(cube.items() - {(axis, states)})
                groups[key] = groups.get(key, ()) + states
            cubes = []
            for key, states in groups.items():
                axis_states = {axis: tuple(sorted(states))} if states else {}
                cubes.append(dict(key) | axis_states)
    return cubes


def _grouped(
    table: NDArray[np.int64], axis: int
) -> dict[tuple[int, ...], NDArray[np.int64]]:
    """Return the possible states of an axis that have the same table, with that table."""
    groups: dict[bytes, list[int]] = {}
    slices = np.moveaxis(table, axis, 0)
    for x, part in enumerate(slices):
        if (part >= 0).any():
            groups.setdefault(part.tobytes(), []).append(x)
    return {tuple(group): slices[group[0]] for group in groups.values()}


def _total_nodes(parts: dict[tuple[int, ...], NDArray[np.int64]]) -> int:
    """Return the number of different nodes in each table, added up."""
    return sum(len(np.unique(part[part >= 0])) for part in parts.values())


@checked_arguments()
def to_network(graph: DecisionGraph) -> BayesianNetwork:
    """Return a network whose marginal distribution of the graph's variables is the graph's.

    Parameters
    ----------
    graph
        Decision graph.

    Returns
    -------
    BayesianNetwork
        The graph's variables in its order, and behind them an auxiliary variable ``node_of_X`` for
        each variable X with several nodes, whose states are the numbers of these nodes; none where
        the state of another variable says which node is reached.

    Raises
    ------
    TooLargeError
        If the table of an auxiliary variable would be too large.

    Examples
    --------
    >>> from exactlearn import BayesianNetwork, compile_network
    >>> rows = np.array([0.5, 0.5]), np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.2, 0.8], [0.9, 0.1]]])
    >>> xor = BayesianNetwork(
    ...     ("a", "b", "c"), (("n", "y"),) * 3, ((), (), (0, 1)), (rows[0], rows[0], rows[1])
    ... )
    >>> to_network(compile_network(xor)).names
    ('a', 'b', 'c', 'node_of_c')
    """
    names = list(graph.names)
    states = list(graph.states)
    parents: list[Sequence[int]] = [()] * graph.n_variables
    tables: list[NDArray[np.float64]] = [np.empty(0)] * graph.n_variables
    # Variables of the network, and the node of each of their states: none for a single node.
    node_given: dict[int, tuple[Sequence[int], NDArray[np.int64]]]
    node_given = {-1: ((), np.zeros((), np.int64))}
    for v in graph.order.tolist():
        parent = int(graph.forest[v])
        above, nodes = node_given[parent]
        if parent >= 0:
            successors = graph.edges_into(v)[nodes].astype(np.int64)
            above, nodes = without_redundant([*above, parent], successors)
        n = int(graph.node_counts[v])
        if len(above) > 1 or np.bincount(nodes.ravel(), minlength=n).max() > 1:
            # No state of one variable says which node is reached: an auxiliary variable does.
            if nodes.size * n > LARGEST_TABLE:
                raise TooLargeError(
                    f"the auxiliary variable of {graph.names[v]!r} would have a table of"
                    f" {nodes.size * n:,} cells, the limit is {LARGEST_TABLE:,}: query the"
                    " decision graph itself"
                )
            parents.append(above)
            tables.append(np.eye(n)[nodes])
            first = int(graph.first_nodes[v])
            states.append(tuple(str(first + k) for k in range(n)))
            above = (len(names),)
            nodes = np.arange(n)
            names.append(_unused(f"node_of_{graph.names[v]}", names))
        node_given[v] = above, nodes
        parents[v] = above
        tables[v] = graph.parameters_of(v)[nodes]
    families = tuple(map(tuple, parents))
    return BayesianNetwork(tuple(names), tuple(states), families, tuple(tables))


def _unused(name: str, names: list[str]) -> str:
    """Return the name, with underscores where others have it."""
    while name in names:
        name += "_"
    return name
