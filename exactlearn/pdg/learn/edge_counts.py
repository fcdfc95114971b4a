"""Counts along the edges of a decision graph, and better structures by these counts alone.

The score of a structure is the penalised log-likelihood

    S(lambda) = (1-lambda) L - lambda size        (THESIS, 4.8 and 4.40; PDG-SEM, equation 2)

L is the total log-likelihood at its maximum, a sum over nodes. The size is the effective one
(THESIS, 3.52) or the number of free parameters.

PDG-SEM, equation 23, needs for each edge into a node the expected weight of the rows that take
the edge and have a state at the node. These are the expected counts (equation 22) of a graph with
one copy of each node for each of its incoming edges (theorem *Counts along edges*,
docs/theory/decision_graphs.md). Summed over the edges they are those of the nodes.

Splitting a node gives each incoming edge a copy of it (PDG-SEM, equation 15; THESIS, 4.41). Copies
have the same successors, so they can merge at once (PDG-SEM, equation 13; THESIS, 4.47): the pair
that loses least first, while what it loses is no more than a node costs. Then all nodes may merge,
from the leaves up. The counts of a child's states along each edge give the gain of
any such grouping exactly, for all variables at once, and that of the merges that follow (equations
12 and 13): theorem *Splits and merges by counts*, docs/theory/decision_graphs.md. The thesis's
split into single edges is the finest grouping.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.argument_kinds import one_of
from exactlearn._runtime.arguments import check_fields
from exactlearn._runtime.display import ByValue
from exactlearn.bayesnet.complete_data import smoothed
from exactlearn.data.counts import distinct_weighted, rate_of
from exactlearn.data.dataset import Dataset, require_complete
from exactlearn.errors import CheckError
from exactlearn.pdg.compile.approximation import MergeSequence, information
from exactlearn.pdg.inference.flows import expect_counts, refuse_impossible
from exactlearn.pdg.learn.parameters import node_counts
from exactlearn.pdg.model.decision_graph import DecisionGraph, assemble
from exactlearn.scoring.scores import score_tolerance, total_weight

Size = Literal["effective", "representational"]
SIZES: tuple[Size, ...] = ("effective", "representational")
"""What a node costs: states times max(1, children), or states less one."""


@dataclass(frozen=True)
class StructureScore:
    """S(lambda) for one lambda and one kind of size.

    Parameters
    ----------
    size_weight
        Weight of the size, from 0 to 1.
    size
        ``effective`` or ``representational``.

    Raises
    ------
    OptionError
        If lambda is out of range or the size is of no known kind.
    """

    size_weight: float
    size: Size = "effective"

    def __post_init__(self) -> None:
        """Check the options."""
        check_fields(self, size=one_of(SIZES))

    @property
    def rate(self) -> float:
        """The log-likelihood that one cell of size must gain, in nats; infinite for lambda 1."""
        return rate_of(self.size_weight)

    def cells(self, graph: DecisionGraph) -> NDArray[np.int64]:
        """Return the size of one node of each variable, shape (variables,)."""
        if self.size == "effective":
            return graph.cardinalities * np.maximum(1, graph.child_counts)
        return graph.cardinalities - 1

    def of(self, graph: DecisionGraph, log_likelihood: float) -> float:
        """Return S(lambda) of a graph with this total log-likelihood."""
        size = int(self.cells(graph) @ graph.node_counts)
        return (1 - self.size_weight) * log_likelihood - self.size_weight * size

    def learned(
        self,
        graph: DecisionGraph,
        log_likelihood: float,
        smoothed: DecisionGraph | None = None,
    ) -> "LearnedGraph":
        """Return a graph, perhaps with smoothed parameters, as a result with its score."""
        value = self.of(graph, log_likelihood)
        return LearnedGraph(
            smoothed or graph,
            self.size_weight,
            self.size,
            value,
            log_likelihood,
        )


@dataclass(frozen=True, eq=False, repr=False)
class LearnedGraph(ByValue, shown="graph size_weight size score log_likelihood"):
    """A decision graph learned from data.

    Parameters
    ----------
    graph
        The model.
    size_weight, size
        The score that it was learned by.
    score
        S(lambda) with this log-likelihood.
    log_likelihood
        Of the observed cells, total, natural logarithm: of a search for structures under the
        parameters of the search, before those of ``graph`` were smoothed.
    """

    graph: DecisionGraph
    size_weight: float
    size: Size
    score: float
    log_likelihood: float

    def check(self, dataset: Dataset) -> None:
        """Check the graph, and its log-likelihood and score against a complete table.

        Raises
        ------
        DataError
            If a cell is missing.
        CheckError
            If it is no decision graph, its log-likelihood is below that of the graph's parameters
            or above the largest of the structure, or the score is another one.
        """
        require_complete(dataset, "a check of the score needs", "check the graph alone")
        self.graph.check()
        counts = self.graph.with_parameters(node_counts(self.graph, dataset))
        tables = map(counts.parameters_of, range(counts.n_variables))
        largest = sum(float(information(table).sum()) for table in tables)
        bounds = dataset.total(self.graph.log_likelihood_rows(dataset)), largest
        value = StructureScore(self.size_weight, self.size).of(
            self.graph, self.log_likelihood
        )
        rounding = score_tolerance(dataset.n_variables, total_weight(dataset))
        is_between = bounds[0] - rounding <= self.log_likelihood <= bounds[1] + rounding
        if not (is_between and abs(self.score - value) <= rounding):
            raise CheckError(
                f"log-likelihood {self.log_likelihood}, expected {bounds[0]} to {bounds[1]}; "
                f"score {self.score}, by recomputation {value}"
            )


@dataclass(frozen=True, eq=False, repr=False)
class LearnedGraphs(ByValue, shown="models finished"):
    """Decision graphs learned for several weights of the size.

    Parameters
    ----------
    models
        One for each weight, at least one.
    finished
        Whether neither limit nor interrupt cut the search short.
    """

    models: tuple[LearnedGraph, ...]
    finished: bool

    @property
    def graph(self) -> DecisionGraph:
        """The last model."""
        return self.models[-1].graph


OnModel = Callable[[LearnedGraph, Callable[[], DecisionGraph]], None]
"""Takes a model of a search, and what returns its graph with smoothed parameters."""

Successors = Mapping[int, NDArray[np.int32]]
"""For each variable, shape (nodes, states, children); a node by its place within its variable."""


def merged_rows(dataset: Dataset) -> Dataset:
    """Merge equal rows, once for all passes."""
    codes, weights, _ = distinct_weighted(
        dataset.codes.astype(np.int16), dataset.weights
    )
    return Dataset(codes, dataset.names, dataset.states, weights)


def structure_of(graph: DecisionGraph) -> dict[int, NDArray[np.int32]]:
    """Return a graph's successors, each node by its place within its variable."""
    structure = {}
    for v, children in enumerate(graph.children):
        nodes = graph.successors_of(v) - graph.first_nodes[list(children)]
        structure[v] = nodes.astype(np.int32)
    return structure


EdgeTables = dict[int, NDArray[np.float64]]
"""For each variable, the weight of its states along each edge into it, shape (edges, states).

The edges of a variable go by the node, then by the state of the parent that they leave; a root
has one edge, of all rows.
"""


def copied_by_edges(graph: DecisionGraph) -> DecisionGraph:
    """Return a graph of the same distribution in which one edge leads to each node."""
    parameters = {}
    successors = {}
    for v in range(graph.n_variables):
        heads = graph.edges_into(v).ravel()
        parameters[v] = graph.parameters_of(v)[heads]
        # The edges into each child go by the node, then by the state.
        r = parameters[v].shape[1]
        successors[v] = (heads[:, None] * r + np.arange(r))[:, :, None]
    return assemble(graph.names, graph.states, graph.forest, parameters, successors)


def expected_edge_counts(
    graph: DecisionGraph, rows: Dataset
) -> tuple[EdgeTables, float]:
    """Return the expected counts of all edges (PDG-SEM, 20 to 23), and the log-likelihood.

    Parameters
    ----------
    graph
        The distribution.
    rows
        Table of the graph's variables, in its order.

    Raises
    ------
    DataError
        If a row is impossible under the graph.
    """
    copied = copied_by_edges(graph)
    weights = rows.row_weights
    counts, logs = expect_counts(copied.layout, copied.parameters, rows.codes, weights)
    refuse_impossible(logs)
    edges = copied.with_parameters(counts)
    tables = {v: edges.parameters_of(v) for v in range(graph.n_variables)}
    return tables, float(weights @ logs)


def occupied(
    heads: NDArray[np.integer], masses: NDArray[np.float64]
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
    by_state = np.bincount(cells, masses.ravel(), r * len(origin)).reshape(
        r, len(origin)
    )
    by_state[by_state.sum(axis=1) == 0] = weight[origin]
    moved = np.where(masses > 0, numbers[heads], by_state.argmax(axis=1))
    return moved.astype(np.int32), origin


def improved_by_counts(
    graph: DecisionGraph,
    tables: EdgeTables,
    score: StructureScore,
) -> tuple[DecisionGraph, float] | None:
    """Return the structure after one sweep of splits and one of merges; ``None`` where none gains.

    Its parameters are the relative counts. With it comes by how much its expected score is larger
    than that of the old structure, with relative counts as its parameters, too.

    Parameters
    ----------
    graph
        The old structure.
    tables
        Counts along its edges.
    score
        S(lambda), of which the log-likelihood is that of the counts.
    """
    # For each variable, the edges into it that rows take; all rows take that of a root.
    taken = {v: np.zeros(1, np.int64) for v in range(graph.n_variables)}
    labels = []
    masses = []
    parameters = {}
    successors = {}
    likelihood = 0.0
    old_likelihood = 0.0
    for v in graph.order.tolist():
        table = tables[v]
        heads = graph.edges_into(v).ravel()
        counts = np.zeros((int(graph.node_counts[v]), table.shape[1]))
        np.add.at(counts, heads, table)
        likelihood += float(information(table).sum())
        old_likelihood += float(information(counts).sum())
        # Split: each edge that rows take gets a node, whose label is the node that it led to.
        edges = np.arange(counts.size).reshape(counts.shape)
        edge_numbers, edges_below = occupied(edges, counts)
        taken |= dict.fromkeys(graph.children[v], edges_below)
        labels.append(heads[taken[v]])
        masses.append(table[taken[v]].ravel())
        parameters[v] = smoothed(table[taken[v]], 0.0)
        successors[v] = edge_numbers[labels[-1]][:, :, None]
    split = assemble(graph.names, graph.states, graph.forest, parameters, successors)
    # Merge: first the nodes of one label, then all, while a node costs more than a merge loses.
    cells = np.maximum(1, score.cells(split))
    merges = MergeSequence(
        split,
        np.concatenate(masses),
        cells,
        labels=np.concatenate(labels),
    )
    merges.merge_until(rate=score.rate)
    merges.join_labels(score.rate)
    merges.merge_until(rate=score.rate)
    merged = merges.merged()
    value = score.of(merged, likelihood - merges.loss)
    gain = value - score.of(graph, old_likelihood)
    root = int(graph.order[0])
    total = float(tables[root].sum())
    if gain <= score_tolerance(graph.n_variables, total):
        return None
    return merged, gain
