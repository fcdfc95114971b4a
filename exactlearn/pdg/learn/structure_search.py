"""Search for a decision graph's structure over a given forest, from complete data.

THESIS, Algorithm 4.7: from a first structure, split nodes, merge nodes and redirect edges for as
long as the score S(lambda) rises. No single split gains in relations such as parity, where the
variables are independent pair by pair; so the search starts from the smallest structure and from
some in which every edge that enough rows take has a node of its own, and keeps the best optimum.

A structure populated with rows has counts and maximum-likelihood parameters at every node (THESIS,
4.38). Nodes that no row reaches are left out: an edge without rows leads to where most rows with
the same state of the variable go.

Edges are redirected to the nodes under which the rows below them are most probable (THESIS, 4.49;
:mod:`exactlearn.pdg.learn.redirections`).
"""

from collections.abc import Sequence
from functools import partial
from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn.data.counts import bic_size_weight
from exactlearn.data.dataset import (
    Dataset,
    DatasetLike,
    require_complete,
    require_weight,
)
from exactlearn.errors import as_written
from exactlearn.pdg.learn.edge_counts import (
    LearnedGraph,
    Size,
    StructureScore,
    Successors,
    expected_edge_counts,
    improved_by_counts,
    merged_rows,
    structure_of,
)
from exactlearn.pdg.learn.parameters import tuned_smoothing
from exactlearn.pdg.learn.redirections import (
    PopulatedGraph,
    Reference,
    improved,
    populate,
)
from exactlearn.pdg.model.forest import checked_forest, forest_children, forest_order
from exactlearn.scoring.scores import total_weight

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
    reference = Reference.of_rows(rows, forest)
    change = partial(split_and_merge, reference=reference, rows=rows, score=score)
    starts = (populate(reference, structure) for structure in structures)
    ends = [improved(start, change, reference, score, control) for start in starts]
    return max(ends, key=lambda state: state.objective).populated


def split_and_merge(
    populated: PopulatedGraph,
    reference: Reference,
    rows: Dataset,
    score: StructureScore,
) -> PopulatedGraph:
    """Split and merge nodes while the score does not fall (THESIS, Algorithms 4.8 and 4.9)."""
    tables, _ = expected_edge_counts(populated.graph, rows)
    changed = improved_by_counts(populated.graph, tables, score)
    if changed is None:
        return populated
    return populate(reference, structure_of(changed[0]))
