"""Decision graphs populated with rows: which node each row reaches, and what is counted there.

A structure is a set of successors for each variable over a given forest. Populating it with
complete rows gives every node its counts and maximum-likelihood parameters (THESIS, 4.38). Nodes
that no row reaches are left out: an edge without rows leads to where most rows with the same state
of the variable go.

PDG-SEM, equation 23, needs for each edge into a node the expected weight of the rows that take
the edge and have a state at the node. These are the expected counts (equation 22) of a graph with
one copy of each node for each of its incoming edges (theorem *Counts along edges*,
docs/theory/decision_graphs.md). Summed over the edges they are those of the nodes.

A row is an available case at a node when its variable is observed and the row reaches this node of
the variable whatever its missing cells are (PDG-SEM, section 3).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn.data.counts import distinct_rows, require_complete
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError
from exactlearn.pdg.inference.block_flows import Layout, block_space, enter_evidence, reach
from exactlearn.pdg.inference.flows import expect_counts, refuse_impossible
from exactlearn.pdg.model.decision_graph import DecisionGraph, assemble
from exactlearn.pdg.model.forest import forest_children, forest_order
from exactlearn.pdg.model.structure_score import information

Successors = Mapping[int, NDArray[np.int32]]
"""For each variable, shape (nodes, states, children); a node by its place within its variable."""


@dataclass(frozen=True, eq=False)
class CompleteRows:
    """The distinct rows of complete data.

    Parameters
    ----------
    names, states
        Of the variables.
    columns
        State numbers, shape (variables, rows).
    weights
        Weight of each row, positive, shape (rows,).
    """

    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    columns: NDArray[np.int64]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, dataset: Dataset) -> "CompleteRows":
        """Merge equal rows of a table.

        Raises
        ------
        DataError
            If a cell is missing, or the table has no rows.
        """
        require_complete(
            dataset,
            "a direct search for a decision graph needs",
            "structural EM learns one from missing cells: `structural_em_graph`, or the method em "
            "of 'exactlearn learn-pdg'",
        )
        columns, weights = distinct_rows(dataset)
        if len(weights) == 0:
            raise DataError("the table has no rows of positive weight: nothing to learn from")
        return cls(dataset.names, dataset.states, columns.astype(np.int64), weights)

    @cached_property
    def total_weight(self) -> float:
        """The weight of all rows."""
        return float(self.weights.sum())

    @cached_property
    def codes(self) -> NDArray[np.int16]:
        """State numbers, shape (rows, variables)."""
        return np.ascontiguousarray(self.columns.T, np.int16)


@dataclass(frozen=True, eq=False)
class PopulatedGraph:
    """A decision graph populated with rows.

    Parameters
    ----------
    graph
        With maximum-likelihood parameters; some row reaches each of its nodes.
    reached
        The node of each variable that each row reaches, by its place within the variable, shape
        (variables, rows).
    counts
        Weight of the rows at each node and state, laid out as the graph's parameters.
    log_likelihood
        Total over rows, natural logarithm.
    """

    graph: DecisionGraph
    reached: NDArray[np.int32]
    counts: NDArray[np.float64]
    log_likelihood: float


def populate(
    rows: CompleteRows, forest: NDArray[np.int32], successors: Successors
) -> PopulatedGraph:
    """Send rows through a structure, and leave out what none of them reaches.

    Parameters
    ----------
    rows
        Complete rows.
    forest
        Parent of each variable, -1 for a root.
    successors
        The structure; the first node of a root is the one that counts.
    """
    order, children = forest_order(forest), forest_children(forest)
    reached = np.zeros((len(forest), len(rows.weights)), np.int32)
    kept: dict[int, NDArray[np.int32]] = {v: successors[v][:1].copy() for v in order}
    counts: dict[int, NDArray[np.float64]] = {}
    for v in order:
        r = len(rows.states[v])
        cells = reached[v].astype(np.int64) * r + rows.columns[v]
        n_nodes = len(kept[v])
        masses = np.bincount(cells, rows.weights, n_nodes * r).astype(np.float64)
        counts[v] = masses.reshape(n_nodes, r)
        for place, child in enumerate(children[v]):
            heads, origin = occupied(kept[v][:, :, place], counts[v])
            kept[v][:, :, place] = heads
            reached[child] = heads.ravel()[cells]
            kept[child] = successors[child][origin]
    parameters = {v: c / c.sum(axis=1, keepdims=True) for v, c in counts.items()}
    likelihood = sum(float(information(c).sum()) for c in counts.values())
    graph = assemble(rows.names, rows.states, forest, parameters, kept)
    flat = np.concatenate([counts[v].ravel() for v in order])
    return PopulatedGraph(graph, reached, flat, likelihood)


def occupied(
    heads: NDArray[np.int32], masses: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Leave out the nodes of a variable that no edge with rows leads to.

    Parameters
    ----------
    heads, masses
        Where each edge leads, and the weight of its rows, not zero for all, shape (nodes of the
        parent, its states).

    Returns
    -------
    Where each edge leads now, and the old number of each node that is left; an edge without rows
    leads where most rows with its state go, and where none has it, to the heaviest node.
    """
    weight = np.bincount(heads.ravel(), masses.ravel())
    origin = np.flatnonzero(weight > 0)
    numbers = np.zeros(len(weight), np.int64)
    numbers[origin] = np.arange(len(origin))
    r = masses.shape[1]
    cells = (np.arange(r) * len(origin) + numbers[heads]).ravel()
    by_state = np.bincount(cells, masses.ravel(), r * len(origin)).reshape(r, len(origin))
    by_state[by_state.sum(axis=1) == 0] = weight[origin]
    moved = np.where(masses > 0, numbers[heads], by_state.argmax(axis=1))
    return moved.astype(np.int32), origin


def structure_of(graph: DecisionGraph) -> dict[int, NDArray[np.int32]]:
    """Return a graph's successors, each node by its place within its variable."""
    structure = {}
    for v in range(graph.n_variables):
        shifts = graph.first_nodes[list(graph.children[v])]
        structure[v] = (graph.successors_of(v) - shifts).astype(np.int32)
    return structure


def expanded_structure(
    rows: CompleteRows, forest: NDArray[np.int32], support: float, most_nodes: int
) -> dict[int, NDArray[np.int32]]:
    """Return a structure with a node for each edge that enough rows take.

    Parameters
    ----------
    support
        Least weight of the rows of an edge with a node of its own; all others share one. Infinite,
        it gives the structure of one node per variable.
    most_nodes
        Most nodes of a variable; the edges with most rows get them.
    """
    order, children = forest_order(forest), forest_children(forest)
    reached = np.zeros((len(order), len(rows.weights)), np.int64)
    structure = {}
    for v in order:
        r, nodes = len(rows.states[v]), int(reached[v].max()) + 1
        edges = reached[v] * r + rows.columns[v]
        mass = np.bincount(edges, rows.weights, nodes * r)
        heads = np.zeros(nodes * r, np.int32)
        own = np.argsort(-mass, kind="stable")[: most_nodes - 1]
        own = own[mass[own] >= support]
        heads[own] = np.arange(1, len(own) + 1)
        heads = np.unique(heads, return_inverse=True)[1].astype(np.int32)
        structure[v] = np.repeat(heads.reshape(nodes, r, 1), len(children[v]), axis=2)
        for child in children[v]:
            reached[child] = heads[edges]
    return structure


EdgeTables = dict[int, NDArray[np.float64]]
"""For each variable, the weight of its states along each edge into it, shape (edges, states).

The edges of a variable go by the node, then by the state of the parent that they leave; a root
has one edge, of all rows.
"""


class EdgeCounts(NamedTuple):
    """Counts along all edges.

    Attributes
    ----------
    tables
        Counts along the edges.
    log_likelihood
        Of the observed cells, or of the available cases, total, natural logarithm.
    """

    tables: EdgeTables
    log_likelihood: float


def copied_by_edges(graph: DecisionGraph) -> DecisionGraph:
    """Return a graph of the same distribution in which one edge leads to each node."""
    structure = structure_of(graph)
    parameters, successors = {}, {}
    for v in range(graph.n_variables):
        origin = heads_into(graph, structure, v)
        r, n_children = int(graph.cardinalities[v]), len(graph.children[v])
        edges = origin[:, None].astype(np.int64) * r + np.arange(r)
        parameters[v] = graph.parameters_of(v)[origin]
        successors[v] = np.repeat(edges[:, :, None], n_children, axis=2).astype(np.int32)
    return assemble(graph.names, graph.states, graph.forest, parameters, successors)


def heads_into(
    graph: DecisionGraph, structure: dict[int, NDArray[np.int32]], variable: int
) -> NDArray[np.int32]:
    """Return the node that each edge into a variable leads to, shape (edges,)."""
    parent = int(graph.forest[variable])
    if parent < 0:
        return np.zeros(1, np.int32)
    place = graph.children[parent].index(variable)
    return np.ascontiguousarray(structure[parent][:, :, place].ravel())


def expected_edge_counts(
    graph: DecisionGraph,
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
    threads: int | None = None,
) -> EdgeCounts:
    """Return the expected counts of all edges (PDG-SEM, equations 20 to 23).

    Parameters
    ----------
    codes
        State numbers, shape (rows, variables); -1 for a missing cell.
    weights
        Of the rows, shape (rows,).
    threads
        How many share the rows where there are many; all cores when left out.

    Raises
    ------
    DataError
        If a row is impossible under the graph.
    """
    copied = copied_by_edges(graph)
    counts, rows = expect_counts(copied.layout, copied.parameters, codes, weights, threads)
    refuse_impossible(rows)
    return EdgeCounts(_by_variable(copied, counts), float(weights @ rows))


def available_edge_counts(
    graph: DecisionGraph, codes: NDArray[np.int16], weights: NDArray[np.float64]
) -> EdgeCounts:
    """Return the counts of available cases along all edges, and their log-likelihood."""
    copied = copied_by_edges(graph)
    counts = available_counts(copied.layout, codes, weights)
    own = available_counts(graph.layout, codes, weights)
    some = own > 0
    likelihood = float(own[some] @ np.log(graph.parameters[some]))
    return EdgeCounts(_by_variable(copied, counts), likelihood)


def _by_variable(graph: DecisionGraph, flat: NDArray[np.float64]) -> EdgeTables:
    """Return numbers laid out as a graph's parameters, variable by variable."""
    laid = graph.with_parameters(flat)
    return {v: laid.parameters_of(v) for v in range(graph.n_variables)}


@kernel
def available_counts(
    layout: Layout, codes: NDArray[np.int16], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weight of the rows that are certain to reach a node and have a state there.

    Parameters
    ----------
    layout
        The structure; parameters play no role.
    codes
        State numbers, shape (rows, variables); -1 for a missing cell.
    weights
        Of the rows, shape (rows,).

    Returns
    -------
    Counts laid out as the parameters.
    """
    counts = np.zeros(layout.parameter[-1])
    possible, block = np.ones(len(counts)), block_space(layout, 1)
    node_of, n_nodes = np.empty(len(layout.order), np.int64), np.empty(len(layout.order), np.int64)
    none = np.zeros(len(layout.order), np.bool_)
    for d in range(len(codes)):
        # The nodes that the row may reach, whatever its missing cells are.
        n_nodes[:] = 0
        enter_evidence(layout, codes, d, 1, None, none, block)
        for i in range(reach(layout, possible, d, True, block)):
            variable = np.int64(layout.variable[block.queue[i]])
            n_nodes[variable] += 1
            node_of[variable] = block.queue[i]
        # A row counts where it reaches one node for certain.
        for v in range(len(n_nodes)):
            if n_nodes[v] == 1 and codes[d, v] >= 0:
                counts[layout.parameter[node_of[v]] + codes[d, v]] += weights[d]
    return counts
