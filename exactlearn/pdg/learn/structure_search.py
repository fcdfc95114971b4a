"""Search for a decision graph's structure over a given forest, from complete data.

THESIS, Algorithm 4.7: from a first structure, split nodes, merge nodes and redirect edges for as
long as the score S(lambda) rises. No single split gains in relations such as parity, where the
variables are independent pair by pair; so the search starts from the smallest structure and from
some in which every edge that enough rows take has a node of its own, and keeps the best optimum.

A structure populated with rows has counts and maximum-likelihood parameters at every node (THESIS,
4.38). Nodes that no row reaches are left out: an edge without rows leads to where most rows with
the same state of the variable go.

Edges are redirected to the nodes under which the rows below them are most probable: for each
variable, from the leaves up, the log-probability of what the rows have in its subtree is tabulated
under each of its nodes (THESIS, 4.49), which are the out-flows of the distinct subrows. Summed over
the rows of each edge they say what any redirection gains, and what it costs to redirect all edges
of a node elsewhere and to remove it. Parameters are estimated anew afterwards. The score never
falls (theorem *Redirections*, docs/theory/decision_graphs.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.hash_tables import index_rows, weight_by
from exactlearn.bayesnet.ascent import ascend
from exactlearn.data.counts import bic_size_weight
from exactlearn.data.dataset import (
    Dataset,
    DatasetLike,
    require_complete,
    require_weight,
)
from exactlearn.errors import as_written
from exactlearn.pdg.compile.approximation import information
from exactlearn.pdg.learn.edge_counts import (
    LearnedGraph,
    Size,
    StructureScore,
    Successors,
    expected_edge_counts,
    improved_by_counts,
    merged_rows,
    occupied,
    structure_of,
)
from exactlearn.pdg.learn.parameters import tuned_smoothing
from exactlearn.pdg.model.decision_graph import DecisionGraph, assemble
from exactlearn.pdg.model.forest import checked_forest, forest_children, forest_order
from exactlearn.scoring.scores import score_tolerance, total_weight

SWEEPS = 100
"""Most rounds of splits, merges and redirections from one start."""

SUPPORTS = (inf, 10.0, 100.0)
MOST_NODES = 256
"""Least rows of an edge with a node of its own in the first structures, the smallest one first
(THESIS, Algorithm 4.7), and most such nodes. On CHILD, 1,000 rows, the score is 3.0 nats higher
than from the smallest one alone; parity needs the others."""


def complete_rows(dataset: Dataset) -> Dataset:
    """Return the distinct rows of complete data, weighted.

    Raises
    ------
    DataError
        If a cell is missing, or the table has no rows.
    """
    require_complete(
        dataset,
        "a direct search for a decision graph needs",
        f"structural EM learns one from missing cells ({as_written('method', 'em')})",
    )
    require_weight(dataset)
    return merged_rows(dataset)


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
    log_likelihood
        Total over rows, natural logarithm.
    """

    graph: DecisionGraph
    reached: NDArray[np.int32]
    log_likelihood: float


def populate(
    rows: Dataset,
    forest: NDArray[np.int32],
    successors: Successors,
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
    order = forest_order(forest)
    children = forest_children(forest)
    reached = np.zeros((len(forest), len(rows.row_weights)), np.int32)
    # The nodes that are left of each variable, and the weight of the rows with each state there.
    kept: dict[int, NDArray[np.int32]] = {v: successors[v][:1].copy() for v in order}
    counts: dict[int, NDArray[np.float64]] = {}
    for v in order:
        r = len(rows.states[v])
        cells = reached[v].astype(np.int64) * r + rows.codes[:, v]
        n_nodes = len(kept[v])
        masses = weight_by(cells, rows.row_weights, n_nodes * r)
        counts[v] = masses.reshape(n_nodes, r)
        # Each edge leads to a node that rows reach; those are the child's.
        for place, child in enumerate(children[v]):
            heads, origin = occupied(kept[v][:, :, place], counts[v])
            kept[v][:, :, place] = heads
            reached[child] = heads.ravel()[cells]
            kept[child] = successors[child][origin]
    parameters = {v: c / c.sum(axis=1, keepdims=True) for v, c in counts.items()}
    likelihood = sum(float(information(c).sum()) for c in counts.values())
    graph = assemble(rows.names, rows.states, forest, parameters, kept)
    return PopulatedGraph(graph, reached, likelihood)


def expanded_structure(
    rows: Dataset,
    forest: NDArray[np.int32],
    support: float,
    most_nodes: int,
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
    order = forest_order(forest)
    children = forest_children(forest)
    reached = np.zeros((len(order), len(rows.row_weights)), np.int64)
    structure = {}
    for v in order:
        r = len(rows.states[v])
        nodes = int(reached[v].max()) + 1
        edges = reached[v] * r + rows.codes[:, v]
        mass = np.bincount(edges, rows.row_weights, nodes * r)
        # The edges with most rows get nodes of their own, the others share the first one.
        heads = np.zeros(nodes * r, np.int32)
        kept = np.argsort(-mass, kind="stable")[: most_nodes - 1]
        kept = kept[mass[kept] >= support]
        heads[kept] = np.arange(1, len(kept) + 1)
        heads = np.unique(heads, return_inverse=True)[1].astype(np.int32)
        structure[v] = np.repeat(heads.reshape(nodes, r, 1), len(children[v]), axis=2)
        for child in children[v]:
            reached[child] = heads[edges]
    return structure


class SubtreeRows:
    """The distinct subrows in the subtree of each variable of a forest.

    Parameters
    ----------
    rows
        Complete rows.
    forest
        Parent of each variable, -1 for a root.

    Attributes
    ----------
    labels
        Number of each row's configuration of each variable's subtree, shape (variables, rows).
    """

    def __init__(self, rows: Dataset, forest: NDArray[np.int32]) -> None:
        children = forest_children(forest)
        self.labels = np.empty(rows.codes.shape[::-1], np.int64)
        self._state: dict[int, NDArray[np.integer]] = {}
        self._below: dict[int, NDArray[np.int64]] = {}
        for v in reversed(forest_order(forest)):
            below = self.labels[list(children[v])]
            keys = np.column_stack((rows.codes[:, v], *below)).astype(np.int32)
            self.labels[v], first = index_rows(keys)
            self._state[v] = rows.codes[first, v]
            self._below[v] = below[:, first]

    def out_flows(
        self,
        variable: int,
        parameters: NDArray[np.float64],
        successors: NDArray[np.int32],
        children: Sequence[NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """Return log-probabilities of a subtree's configurations, shape (configurations, nodes).

        Parameters
        ----------
        variable
            The top of the subtree.
        parameters, successors
            Of its nodes, shapes (nodes, states) and (nodes, states, children).
        children
            The same table for each child.
        """
        state = self._state[variable]
        with np.errstate(divide="ignore"):
            flows: NDArray[np.float64] = np.log(parameters).T[state]
        for place, (below, table) in enumerate(
            zip(self._below[variable], children, strict=True)
        ):
            flows += table[below[:, None], successors[:, :, place].T[state]]
        return flows


def redirect_edges(
    populated: PopulatedGraph,
    rows: Dataset,
    score: StructureScore,
    subtrees: SubtreeRows,
) -> PopulatedGraph:
    """Redirect edges, and remove nodes that cost more than they gain, children first.

    The score never falls: what the parameters that stand lose or gain is known exactly, and those
    estimated afterwards are at least as good.
    """
    graph = populated.graph
    structure = structure_of(graph)
    flows: dict[int, NDArray[np.float64]] = {}
    for v in graph.order[::-1].tolist():
        below = [flows.pop(child) for child in graph.children[v]]
        flows[v] = subtrees.out_flows(v, graph.parameters_of(v), structure[v], below)
        parent = int(graph.forest[v])
        if parent < 0 or graph.node_counts[v] < 2:
            continue
        # The weight of the rows of each edge with each configuration of the subtree, and from it
        # the log-likelihood of the edge's rows under each node.
        heads = graph.edges_into(v)
        edges = populated.reached[parent].astype(np.int64) * heads.shape[1]
        edges += rows.codes[:, parent]
        masses = csr_array(
            (rows.row_weights, (edges, subtrees.labels[v])),
            shape=(heads.size, len(flows[v])),
        )
        gains = np.ascontiguousarray(masses @ flows[v])
        cells = int(score.cells(graph)[v])
        cost = score.rate * cells if cells > 0 else 0.0
        moved = choose_heads(gains, heads.ravel(), cost)
        place = graph.children[parent].index(v)
        structure[parent][:, :, place] = moved.reshape(heads.shape)
    return populate(rows, graph.forest, structure)


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
    edges = np.arange(len(flows))
    n = flows.shape[1]
    best = flows.argmax(axis=1)
    best = np.where(flows[edges, best] > flows[edges, heads] + 1e-9, best, heads)
    is_used = np.bincount(best, minlength=n) > 0
    # Remove the node that loses least, while it loses less than it costs.
    while is_used.sum() > 1:
        without_best = np.where(is_used, flows, -np.inf)
        without_best[edges, best] = -np.inf
        second = without_best.argmax(axis=1)
        edge_losses = flows[edges, best] - without_best[edges, second]
        losses = np.where(is_used, np.bincount(best, edge_losses, n), np.inf)
        cheapest = int(losses.argmin())
        if losses[cheapest] >= cost:
            break
        is_used[cheapest] = False
        best = np.where(best == cheapest, second, best)
    return best.astype(np.int32)


@checked_arguments()
def learn_on_forest(
    dataset: DatasetLike,
    forest: ArrayLike,
    *,
    size_weight: float | None = None,
    size: Size = "effective",
    smoothing: float = 0.0,
) -> LearnedGraph:
    """Learn a decision graph over a given forest of variables (THESIS, Algorithm 4.7).

    Parameters
    ----------
    dataset
        Complete data, possibly weighted.
    forest
        Parent of each variable, -1 for a root, shape (variables,).
    size_weight
        Weight of the size in the score, from 0 to 1; left out, that of BIC.
    size
        ``effective`` (THESIS, 3.52) or ``representational``, the number of free parameters.
    smoothing
        Pseudo-count of every parameter of the result; the structure is learned without.

    Raises
    ------
    DataError
        If a cell is missing, there are no rows, or the forest does not fit the table.
    OptionError
        If lambda or the size is wrong.
    CheckError
        If the forest has a cycle.

    Examples
    --------
    >>> rows = np.array([[0, 0], [1, 1]] * 20)
    >>> learned = learn_on_forest(Dataset(rows, ("a", "b"), (("n", "y"),) * 2), [-1, 0])
    >>> learned.graph.node_counts.tolist(), learned.graph.effective_size
    ([1, 2], 6)
    """
    rows = complete_rows(dataset)
    given = checked_forest(forest, dataset.n_variables)
    if size_weight is None:
        size_weight = bic_size_weight(total_weight(rows))
    score = StructureScore(size_weight, size)
    best = best_improved(rows, given, score, first_structures(rows, given))
    graph = tuned_smoothing(best.graph, dataset, smoothing=smoothing)
    return score.learned(best.graph, best.log_likelihood, graph)


def first_structures(rows: Dataset, forest: NDArray[np.int32]) -> list[Successors]:
    """Return the smallest structure over a forest, and those with a node for each edge."""
    return [
        expanded_structure(rows, forest, support, MOST_NODES) for support in SUPPORTS
    ]


def best_improved(
    rows: Dataset,
    forest: NDArray[np.int32],
    score: StructureScore,
    structures: Sequence[Successors],
    control: SearchControl = UNLIMITED,
) -> PopulatedGraph:
    """Return the best local optimum from some structures, the first one at a tie."""
    subtrees = SubtreeRows(rows, forest)
    starts = (populate(rows, forest, structure) for structure in structures)
    ends = [improved(start, rows, score, subtrees, control) for start in starts]
    return max(ends, key=lambda state: state.objective).populated


class SearchState(NamedTuple):
    """A populated structure after so many rounds of the search, and its score."""

    iteration: int
    populated: PopulatedGraph
    objective: float


def improved(
    populated: PopulatedGraph,
    rows: Dataset,
    score: StructureScore,
    subtrees: SubtreeRows,
    control: SearchControl = UNLIMITED,
) -> SearchState:
    """Split, merge and redirect until the score rises no more, or the search is over.

    Raises
    ------
    CheckError
        If a round lets the score fall by more than rounding.
    """

    def state(iteration: int, populated: PopulatedGraph) -> SearchState:
        value = score.of(populated.graph, populated.log_likelihood)
        return SearchState(iteration, populated, value)

    def step(before: SearchState) -> SearchState:
        changed = split_and_merge(before.populated, rows, score)
        if not control.is_over:
            changed = redirect_edges(changed, rows, score, subtrees)
        return state(before.iteration + 1, changed)

    first = state(0, populated)
    least_gain = score_tolerance(rows.n_variables, total_weight(rows))
    return ascend(
        first,
        step,
        iterations=SWEEPS,
        least_gain=least_gain,
        control=control,
    )[0]


def split_and_merge(
    populated: PopulatedGraph,
    rows: Dataset,
    score: StructureScore,
) -> PopulatedGraph:
    """Split and merge nodes while the score does not fall (THESIS, Algorithms 4.8 and 4.9)."""
    tables, _ = expected_edge_counts(populated.graph, rows)
    changed = improved_by_counts(populated.graph, tables, score)
    if changed is None:
        return populated
    return populate(rows, populated.graph.forest, structure_of(changed[0]))
