r"""Exact redirections: a smaller graph over the forest of a reference distribution.

A reference is a weighted set of distributions over the subtrees of a forest, its configurations:
the nodes of a decision graph, the subrows of a table, or both. A graph over the same forest is
populated with it: the mass of every edge with every configuration, by a dynamic program over pairs
(configuration, node) from the roots down, gives the expected counts of all nodes. Another one from
the leaves up gives the expected log-probability :math:`E(c, \nu)` of what a configuration has in
the subtree under a node:

.. math:: E(c, \nu) = \sum_x p^c_x (\ln p^\nu_x + \sum_Y E(succ(c, Y, x), succ(\nu, Y, x))).

Their product says what every redirection of an edge gains and what it costs to remove a node. The
score never falls (theorem *Exact redirections*, docs/theory/decision_graphs.md).

========  ==========================================  ======================
Symbol    Meaning                                     Shape, of each variable
========  ==========================================  ======================
c         configuration of the reference              (configurations,)
E         `Reference.expected_logs`                   (configurations, nodes)
mass      `PopulatedGraph.edge_masses`                (edges, configurations)
========  ==========================================  ======================
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.hash_tables import index_rows, weight_by
from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn.bayesnet.ascent import ascend
from exactlearn.data.codes import NamedVariables
from exactlearn.data.dataset import Dataset
from exactlearn.pdg.compile.approximation import MergeSequence, information
from exactlearn.pdg.learn.edge_counts import (
    StructureScore,
    Successors,
    occupied,
    structure_of,
)
from exactlearn.pdg.model.decision_graph import DecisionGraph, assemble
from exactlearn.pdg.model.forest import forest_children, forest_order
from exactlearn.scoring.scores import score_tolerance

Floats = NDArray[np.float64]

SWEEPS = 100
"""Most rounds of changes and redirections from one start."""

MIN_GAIN_PER_ROW = 1e-4
"""Nats per row that a round of merges and redirections gains at least, or it is the last one."""

TINY = float(np.finfo(float).tiny)
"""Probability of an impossible state, in gains alone: no edge that needs it leads there."""


@dataclass(frozen=True, eq=False)
class Reference:
    """Weighted distributions over the subtrees of a forest.

    Parameters
    ----------
    variables
        The names and states.
    forest
        Parent of each variable, -1 for a root.
    parameters, successors
        For each variable, the distribution of its state in each configuration, shape
        (configurations, states), and the configuration of each child, shape (configurations,
        states, children).
    masses
        Weight of each configuration of each root, shape (configurations,).
    """

    variables: NamedVariables
    forest: NDArray[np.int32]
    parameters: Mapping[int, Floats]
    successors: Mapping[int, NDArray[np.int64]]
    masses: Mapping[int, Floats]

    @property
    def weight(self) -> float:
        """Weight of all configurations of the roots, for each root."""
        return max(float(mass.sum()) for mass in self.masses.values())

    @classmethod
    def of_graph(cls, graph: DecisionGraph, weight: float) -> "Reference":
        """Return a graph's distribution, with the weight of so many rows."""
        structure = structure_of(graph)
        parameters = {v: graph.parameters_of(v) for v in structure}
        successors = {v: heads.astype(np.int64) for v, heads in structure.items()}
        roots = np.flatnonzero(graph.forest < 0).tolist()
        masses = {v: np.array([weight]) for v in roots}
        return cls(graph, graph.forest, parameters, successors, masses)

    @classmethod
    def of_rows(
        cls, rows: Dataset, forest: NDArray[np.int32], weight: float = 1.0
    ) -> "Reference":
        """Return the distinct subrows of complete rows, their weights times a factor."""
        children = forest_children(forest)
        labels = np.empty(rows.codes.shape[::-1], np.int64)
        parameters = {}
        successors = {}
        masses = {}
        for v in reversed(forest_order(forest)):
            r = len(rows.states[v])
            below = labels[list(children[v])]
            keys = np.column_stack((rows.codes[:, v], *below)).astype(np.int32)
            labels[v], first = index_rows(keys)
            parameters[v] = np.eye(r)[rows.codes[first, v]]
            successors[v] = np.repeat(below[:, first].T[:, None], r, axis=1)
            if forest[v] < 0:
                weights = weight * rows.row_weights
                masses[v] = weight_by(labels[v], weights, len(first))
        return cls(rows, forest, parameters, successors, masses)

    def joined(self, second: "Reference") -> "Reference":
        """Return the configurations of two references over one forest."""
        parameters = {}
        successors = {}
        for v, first in self.successors.items():
            children = np.flatnonzero(self.forest == v).tolist()
            shifts = np.array([len(self.parameters[c]) for c in children], np.int64)
            parts = (self.parameters[v], second.parameters[v])
            parameters[v] = np.concatenate(parts)
            successors[v] = np.concatenate((first, second.successors[v] + shifts))
        masses = {
            v: np.concatenate((mass, second.masses[v]))
            for v, mass in self.masses.items()
        }
        return replace(
            self, parameters=parameters, successors=successors, masses=masses
        )

    def expected_logs(
        self,
        variable: int,
        parameters: Floats,
        successors: NDArray[np.int32],
        children: Sequence[Floats],
    ) -> Floats:
        """Return the expected log-probability of each configuration under each node.

        Parameters
        ----------
        variable
            The top of the subtree.
        parameters, successors
            Of its nodes, shapes (nodes, states) and (nodes, states, children).
        children
            The same table for each child.

        Returns
        -------
        Natural logarithms, shape (configurations, nodes).
        """
        probabilities = self.parameters[variable]
        # Sparse, as a subrow has one state.
        logs = np.asarray(csr_array(probabilities) @ np.log(parameters + TINY).T)
        heads = self.successors[variable]
        for place, table in enumerate(children):
            add_expected(
                logs,
                probabilities,
                np.ascontiguousarray(heads[:, :, place]),
                np.ascontiguousarray(successors[:, :, place].T),
                table,
            )
        return logs


@in_place_kernel
def add_expected(
    logs: Floats,
    probabilities: Floats,
    configurations: NDArray[np.int64],
    heads: NDArray[np.int32],
    table: Floats,
) -> None:
    """Add the expected log-probabilities below a child to those of a subtree.

    Parameters
    ----------
    logs
        Of each configuration under each node, shape (configurations, nodes).
    probabilities, configurations
        Of each configuration, its states and the configurations of the child to which they lead,
        shape (configurations, states).
    heads
        Where the states of each node lead, shape (states, nodes).
    table
        Of the child, shape (its configurations, its nodes).
    """
    for i in range(len(logs)):
        for x in range(probabilities.shape[1]):
            probability = probabilities[i, x]
            if probability > 0.0:
                below = configurations[i, x]
                for j in range(logs.shape[1]):
                    logs[i, j] += probability * table[below, heads[x, j]]


@dataclass(frozen=True, eq=False)
class PopulatedGraph:
    """A decision graph populated with a reference.

    Parameters
    ----------
    graph
        With relative masses as its parameters; each of its nodes has some mass.
    masses
        Of each node and state, laid out as the graph's parameters.
    edge_masses
        Of each edge into each variable with each configuration, shape (edges, configurations).
    log_likelihood
        Expected log-probability of the reference, times its weight.
    """

    graph: DecisionGraph
    masses: Floats
    edge_masses: Mapping[int, csr_array]
    log_likelihood: float


def populate(reference: Reference, structure: Successors) -> PopulatedGraph:
    """Send a reference through a structure, and leave out what has no mass.

    Parameters
    ----------
    reference
        The distribution.
    structure
        Over its forest; the first node of a root is the one that counts.
    """
    forest = reference.forest
    order = forest_order(forest)
    children = forest_children(forest)
    kept = {v: structure[v][:1].copy() for v in order}
    edge_masses = {v: csr_array(mass[None]) for v, mass in reference.masses.items()}
    heads_into = {v: np.zeros(1, np.int32) for v in reference.masses}
    counts: dict[int, Floats] = {}
    for v in order:
        # The mass of each node with each configuration, of each state, and of each edge.
        distributions = reference.parameters[v]
        edges = edge_masses[v].tocoo()
        pairs = (heads_into[v][edges.row], edges.col)
        shape = (len(kept[v]), len(distributions))
        nodes = csr_array(coo_array((edges.data, pairs), shape=shape)).tocoo()
        counts[v] = np.asarray(nodes.tocsr() @ distributions)
        flow = nodes.data[:, None] * distributions[nodes.col]
        pair, state = np.nonzero(flow)
        origins = nodes.row[pair] * distributions.shape[1] + state
        for place, child in enumerate(children[v]):
            heads, origin = occupied(kept[v][:, :, place], counts[v])
            kept[v][:, :, place] = heads
            kept[child] = structure[child][origin]
            heads_into[child] = heads.ravel()
            below = reference.successors[v][nodes.col[pair], state, place]
            shape = (heads.size, len(reference.parameters[child]))
            entries = (flow[pair, state], (origins, below))
            edge_masses[child] = csr_array(coo_array(entries, shape=shape))
    parameters = {v: c / c.sum(axis=1, keepdims=True) for v, c in counts.items()}
    names = reference.variables.names
    states = reference.variables.states
    return PopulatedGraph(
        graph=assemble(names, states, forest, parameters, kept),
        masses=np.concatenate([counts[v].ravel() for v in order]),
        edge_masses=edge_masses,
        log_likelihood=sum(float(information(c).sum()) for c in counts.values()),
    )


def redirect_edges(
    populated: PopulatedGraph,
    reference: Reference,
    score: StructureScore,
) -> PopulatedGraph:
    """Redirect edges, and remove nodes that cost more than they gain, children first."""
    graph = populated.graph
    structure = structure_of(graph)
    tables: dict[int, Floats] = {}
    for v in graph.order[::-1].tolist():
        below = [tables.pop(child) for child in graph.children[v]]
        parameters = graph.parameters_of(v)
        tables[v] = reference.expected_logs(v, parameters, structure[v], below)
        parent = int(graph.forest[v])
        if parent < 0 or graph.node_counts[v] < 2:
            continue
        heads = graph.edges_into(v)
        gains = np.ascontiguousarray(populated.edge_masses[v] @ tables[v])
        cells = int(score.cells(graph)[v])
        cost = score.rate * cells if cells > 0 else 0.0
        moved = choose_heads(gains, heads.ravel(), cost)
        place = graph.children[parent].index(v)
        structure[parent][:, :, place] = moved.reshape(heads.shape)
    return populate(reference, structure)


@kernel
def choose_heads(
    flows: NDArray[np.float64],
    heads: NDArray[np.int32],
    cost: float,
) -> NDArray[np.int32]:
    """Return the best head of each edge, after removing nodes that gain less than they cost.

    Parameters
    ----------
    flows
        Log-likelihood of each edge's rows under each node, shape (edges, nodes).
    heads
        Where the edges lead now; an edge stays there unless another node is better.
    cost
        What a node costs, in nats.
    """
    n_edges, n_nodes = flows.shape
    best = heads.copy()
    is_used = np.zeros(n_nodes, np.bool_)
    for edge in range(n_edges):
        head = np.argmax(flows[edge])
        if flows[edge, head] > flows[edge, heads[edge]] + 1e-9:
            best[edge] = head
        is_used[best[edge]] = True
    # The best node that is left to each edge without its best one.
    second = np.full(n_edges, -1, np.int32)
    losses = np.empty(n_nodes)
    for _ in range(is_used.sum() - 1):
        losses[:] = np.where(is_used, 0.0, np.inf)
        for edge in range(n_edges):
            if second[edge] < 0 or not is_used[second[edge]]:
                second[edge] = best_other(flows[edge], is_used, best[edge])
            losses[best[edge]] += flows[edge, best[edge]] - flows[edge, second[edge]]
        # Remove the node that loses least, while it loses less than it costs.
        cheapest = np.argmin(losses)
        if losses[cheapest] >= cost:
            break
        is_used[cheapest] = False
        for edge in range(n_edges):
            if best[edge] == cheapest:
                best[edge] = second[edge]
                second[edge] = -1
    return best


@in_place_kernel
def best_other(
    flows: NDArray[np.float64],
    is_used: NDArray[np.bool_],
    excluded: int,
) -> int:
    """Return the used node of the largest flow, the first one at a tie, but not the excluded."""
    best = -1
    for node in range(len(flows)):
        is_larger = best < 0 or flows[node] > flows[best]
        if is_used[node] and node != excluded and is_larger:
            best = node
    return best


class SearchState(NamedTuple):
    """A populated structure after so many rounds of the search, and its score."""

    iteration: int
    populated: PopulatedGraph
    objective: float


def improved(
    populated: PopulatedGraph,
    change: Callable[[PopulatedGraph], PopulatedGraph],
    reference: Reference,
    score: StructureScore,
    control: SearchControl = UNLIMITED,
    min_gain: float = 0.0,
) -> SearchState:
    """Change and redirect until the score rises no more, or the search is over.

    Parameters
    ----------
    populated
        The first structure.
    change
        Another change of the structure by which the score does not fall, such as merges.
    reference
        What the graph is to predict.
    score
        S(lambda) of the expected log-likelihood.
    control
        Once it is over, no other step begins.
    min_gain
        A step that gains less is the last one; at least what may be rounding.

    Raises
    ------
    CheckError
        If a round lets the score fall by more than rounding.
    """

    def state(iteration: int, populated: PopulatedGraph) -> SearchState:
        value = score.of(populated.graph, populated.log_likelihood)
        return SearchState(iteration, populated, value)

    def step(before: SearchState) -> SearchState:
        changed = change(before.populated)
        if not control.is_over:
            changed = redirect_edges(changed, reference, score)
        return state(before.iteration + 1, changed)

    first = state(0, populated)
    rounding = score_tolerance(len(reference.forest), reference.weight)
    return ascend(
        first,
        step,
        iterations=SWEEPS,
        least_gain=max(min_gain, rounding),
        control=control,
    )[0]


def compacted(
    populated: PopulatedGraph,
    reference: Reference,
    score: StructureScore,
    control: SearchControl = UNLIMITED,
) -> PopulatedGraph:
    """Merge nodes with equal successors and redirect edges until the score rises no more.

    Parameters
    ----------
    populated, reference, score, control
        As for `improved`.
    """

    def merge(before: PopulatedGraph) -> PopulatedGraph:
        merges = MergeSequence(before.graph, before.masses)
        merges.merge_until(rate=score.rate, control=control)
        return populate(reference, structure_of(merges.merged()))

    min_gain = MIN_GAIN_PER_ROW * (1 - score.size_weight) * reference.weight
    end = improved(populated, merge, reference, score, control, min_gain)
    return end.populated
