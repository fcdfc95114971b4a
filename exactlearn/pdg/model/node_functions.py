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
        functions = np.arange(
            graph.node_counts[v]
        )  # of the nodes of the ancestor at hand
        count = len(functions)
        child = v
        self._levels: list[tuple[int, int, NDArray[np.int64]]] = []
        for u in path:
            place = graph.children[u].index(child)
            after = functions[
                graph.successors_of(u)[:, :, place] - graph.first_nodes[child]
            ]
            after = np.where(graph.parameters_of(u) > 0, after, -1)
            functions = after.max(axis=1)
            varies = (
                np.where(after < 0, functions[:, None], after).min(axis=1) < functions
            )
            if varies.any():
                groups, first = index_rows(after[varies].astype(np.int32))
                functions[varies] = count + groups
                self._levels.append((u, count, after[varies][first]))
                count += len(first)
            child = u
        self._root, self._levels = int(functions[0]), self._levels[::-1]

    @property
    def needed(self) -> list[int]:
        """Ancestors that the function depends on, from the root on."""
        reached = np.array([self._root])
        needed = []
        for u, first, after in self._levels:
            here = (reached >= first) & (reached < first + len(after))
            if here.any():
                needed.append(u)
                reached = np.unique(
                    np.append(reached[~here], after[reached[here] - first])
                )
        return needed

    def table(self) -> NDArray[np.int64]:
        """Return the node for each configuration of the needed ancestors, -1 where impossible."""
        table = np.array(self._root)
        needed = self.needed
        for u, first, after in self._levels:
            if u in needed:
                here = (table >= first) & (table < first + len(after))
                following = after[np.where(here, table - first, 0)]
                table = np.where(here[..., None], following, table[..., None])
        return table


def without_redundant(
    above: list[int], table: NDArray[np.int64]
) -> tuple[list[int], NDArray[np.int64]]:
    """Remove ancestors that the others determine as far as it matters, nearest first."""
    for axis in reversed(range(table.ndim)):
        if not _varies(table, axis).any():
            table = table.max(axis=axis)
            above = [*above[:axis], *above[axis + 1 :]]
    return above, table


def _varies(table: NDArray[np.int64], axis: int) -> NDArray[np.bool_]:
    """Return where possible configurations that differ in one axis reach different nodes."""
    most = table.max(axis=axis, keepdims=True)
    varies: NDArray[np.bool_] = (np.where(table < 0, most, table) < most).any(axis=axis)
    return varies


def node_contexts(
    table: NDArray[np.int64], most: int
) -> tuple[dict[int, list[Cube]], bool]:
    """Return contexts of each node, by a decision tree, and whether they are all.

    Each step asks for the axis after which the fewest nodes remain, its states with the same
    function together.
    """
    contexts: dict[int, list[Cube]] = {}
    queue: list[tuple[Cube, NDArray[np.int64], list[int]]]
    queue = [({}, table, list(range(table.ndim)))]
    complete = True
    for cube, whole, all_axes in queue:
        axes, part = without_redundant(all_axes, whole)
        if part.ndim == 0:
            contexts.setdefault(int(part), []).append(cube)
        elif len(queue) > most:
            complete = False
        else:
            split = [_grouped(part, k) for k in range(part.ndim)]
            chosen = min(
                range(part.ndim),
                key=lambda k: sum(_n_nodes(s) for s in split[k].values()),
            )
            rest = [*axes[:chosen], *axes[chosen + 1 :]]
            for group, part_of_states in split[chosen].items():
                queue.append((cube | {axes[chosen]: group}, part_of_states, rest))
    return {node: _joined(cubes) for node, cubes in contexts.items()}, complete


def _joined(cubes: list[Cube]) -> list[Cube]:
    """Join contexts that differ in the states of one axis, as long as there are such."""
    before = len(cubes) + 1
    while len(cubes) < before:
        before = len(cubes)
        for axis in sorted({axis for cube in cubes for axis in cube}):
            groups: dict[
                tuple[bool, frozenset[tuple[int, tuple[int, ...]]]], tuple[int, ...]
            ] = {}
            for cube in cubes:
                key = (
                    axis in cube,
                    frozenset((a, x) for a, x in cube.items() if a != axis),
                )
                groups[key] = groups.get(key, ()) + cube.get(axis, ())
            cubes = [
                dict(rest) | ({axis: tuple(sorted(own))} if there else {})
                for (there, rest), own in groups.items()
            ]
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


def _n_nodes(table: NDArray[np.int64]) -> int:
    return len(np.unique(table[table >= 0]))


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
    parents: list[tuple[int, ...]] = [()] * graph.n_variables
    tables: list[NDArray[np.float64]] = [np.empty(0)] * graph.n_variables
    # Variables of the network, and the node of each of their states: none for a single node.
    node_given: dict[int, tuple[tuple[int, ...], NDArray[np.int64]]] = {}
    for v in graph.order.tolist():
        above, successors = _successors(graph, v, node_given)
        n = int(graph.node_counts[v])
        if len(above) > 1 or np.bincount(successors.ravel(), minlength=n).max() > 1:
            if successors.size * n > LARGEST_TABLE:
                raise TooLargeError(
                    f"the auxiliary variable of {graph.names[v]!r} would have a table of"
                    f" {successors.size * n:,} cells, the limit is {LARGEST_TABLE:,}: query the"
                    " decision graph itself"
                )
            parents.append(above)
            tables.append(np.eye(n)[successors])
            first = int(graph.first_nodes[v])
            states.append(tuple(str(first + k) for k in range(n)))
            above = (len(names),)
            successors = np.arange(n)
            names.append(_unused(f"node_of_{graph.names[v]}", names))
        node_given[v] = above, successors
        parents[v], tables[v] = above, graph.parameters_of(v)[successors]
    return BayesianNetwork(tuple(names), tuple(states), tuple(parents), tuple(tables))


def _successors(
    graph: DecisionGraph,
    v: int,
    node_given: dict[int, tuple[tuple[int, ...], NDArray[np.int64]]],
) -> tuple[tuple[int, ...], NDArray[np.int64]]:
    """Return the variables that a variable's node depends on, and the node of their states."""
    parent = int(graph.forest[v])
    if parent < 0:
        return (), np.zeros((), np.int64)
    place = graph.children[parent].index(v)
    column = graph.successors_of(parent)[:, :, place] - graph.first_nodes[v]
    above, nodes = node_given[parent]
    node = column[nodes].astype(np.int64)
    given = (*above, parent)
    varying = [
        axis for axis in range(node.ndim) if (np.diff(node, axis=axis) != 0).any()
    ]
    fixed = tuple(slice(None) if axis in varying else 0 for axis in range(node.ndim))
    return tuple(given[axis] for axis in varying), node[fixed]


def _unused(name: str, names: list[str]) -> str:
    while name in names:
        name += "_"
    return name
