"""Search for a decision graph's structure over a given forest, from complete data.

THESIS, Algorithm 4.7: from a first structure, split nodes, merge nodes and redirect edges for as
long as the score S(lambda) rises. No single split gains in relations such as parity, where the
variables are independent pair by pair; so the search starts from the smallest structure and from
some in which every edge that enough rows take has a node of its own, and keeps the best optimum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.display import ByValue
from exactlearn.data.counts import bic_size_weight
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import CheckError
from exactlearn.pdg.learn.populated_graph import (
    CompleteRows,
    PopulatedGraph,
    Successors,
    expanded_structure,
    expected_edge_counts,
    populate,
    structure_of,
)
from exactlearn.pdg.learn.redirecting import SubtreeRows, redirect_edges
from exactlearn.pdg.learn.splits_and_merges import improved_by_counts
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.pdg.model.forest import checked_forest
from exactlearn.pdg.model.structure_score import Size, StructureScore

LEAST_GAIN = 1e-9
"""Smaller relative gains of the score are rounding."""


SWEEPS = 100
"""Most rounds of splits, merges and redirections from one start."""

SUPPORTS, MOST_NODES = (inf, 10.0, 100.0), 256
"""Least rows of an edge with a node of its own in the first structures, the smallest one first
(THESIS, Algorithm 4.7), and most such nodes. On CHILD, 1,000 rows, the score is 3.0 nats higher
than from the smallest one alone; parity needs the others."""


@dataclass(frozen=True, eq=False, repr=False)
class LearntGraph(ByValue, shown="graph size_weight size score log_likelihood"):
    """A decision graph learnt from data.

    Parameters
    ----------
    graph
        The model, some row reaching each node.
    size_weight, size
        The score that it was learnt by.
    score
        S(lambda) of the maximum-likelihood parameters.
    log_likelihood
        Of the rows under those, total, natural logarithm.
    """

    graph: DecisionGraph
    size_weight: float
    size: Size
    score: float
    log_likelihood: float

    def check(self, dataset: Dataset) -> None:
        """Recompute likelihood and score from the table.

        Raises
        ------
        CheckError
            If they differ from those stored.
        """
        self.graph.check()
        rows = CompleteRows.of(dataset)
        score = StructureScore(self.size_weight, self.size)
        again = populate(rows, self.graph.forest, structure_of(self.graph))
        stored = (self.log_likelihood, self.score, self.graph.n_nodes)
        found = (
            again.log_likelihood,
            score.of(again.graph, again.log_likelihood),
            again.graph.n_nodes,
        )
        if not np.allclose(stored, found, rtol=1e-9, atol=1e-6):
            raise CheckError(
                f"log-likelihood, score and nodes {stored} are {found} by recomputation"
            )


@checked_arguments()
def learn_on_forest(
    dataset: DatasetLike,
    forest: ArrayLike,
    *,
    size_weight: float | None = None,
    size: Size = "effective",
    smoothing: float = 0.0,
) -> LearntGraph:
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
        Pseudo-count of every parameter of the result; the structure is learnt without.

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
    >>> learnt = learn_on_forest(Dataset(rows, ("a", "b"), (("n", "y"),) * 2), [-1, 0])
    >>> learnt.graph.node_counts.tolist(), learnt.graph.effective_size
    ([1, 2], 6)
    """
    rows = CompleteRows.of(dataset)
    given = checked_forest(forest, dataset)
    score = StructureScore(
        bic_size_weight(rows.total_weight) if size_weight is None else size_weight, size
    )
    best = best_improved(rows, given, score, first_structures(rows, given))
    return learnt_graph(best, score, smoothing)


def learnt_graph(
    populated: PopulatedGraph, score: StructureScore, smoothing: float = 0.0
) -> LearntGraph:
    """Return a populated graph as a result, smoothed by pseudo-counts."""
    likelihood = populated.log_likelihood
    value = score.of(populated.graph, likelihood)
    graph = populated.graph.with_counts(populated.counts + smoothing)
    return LearntGraph(graph, score.size_weight, score.size, value, likelihood)


def first_structures(rows: CompleteRows, forest: NDArray[np.int32]) -> list[Successors]:
    """Return the smallest structure over a forest, and those with a node for each edge."""
    return [expanded_structure(rows, forest, support, MOST_NODES) for support in SUPPORTS]


def best_improved(
    rows: CompleteRows,
    forest: NDArray[np.int32],
    score: StructureScore,
    structures: Sequence[Successors],
    control: SearchControl = UNLIMITED,
) -> PopulatedGraph:
    """Return the best local optimum from some structures, the first one at a tie."""
    subtrees = SubtreeRows(rows, forest)
    ends = (
        improve(populate(rows, forest, structure), rows, score, subtrees, control)
        for structure in structures
    )
    return max(ends, key=lambda p: score.of(p.graph, p.log_likelihood))


def improve(
    populated: PopulatedGraph,
    rows: CompleteRows,
    score: StructureScore,
    subtrees: SubtreeRows,
    control: SearchControl = UNLIMITED,
) -> PopulatedGraph:
    """Split, merge and redirect until the score rises no more, or the search is over.

    Raises
    ------
    CheckError
        If a step lets the score fall by more than rounding.
    """
    value = score.of(populated.graph, populated.log_likelihood)
    for _ in range(SWEEPS):
        if control.is_over:
            break
        before = value
        populated = split_and_merge(populated, rows, score)
        value = _risen(value, populated, score)
        if control.is_over:
            break
        populated = redirect_edges(populated, rows, score, subtrees)
        value = _risen(value, populated, score)
        if value <= before + LEAST_GAIN * max(1.0, abs(before)):
            break
    return populated


def _risen(before: float, populated: PopulatedGraph, score: StructureScore) -> float:
    """Return the score after a step, which must not have fallen."""
    after = score.of(populated.graph, populated.log_likelihood)
    if after < before - LEAST_GAIN * max(1.0, abs(before)):
        raise CheckError(f"a step of the search let the score fall from {before} to {after}")
    return after


def split_and_merge(
    populated: PopulatedGraph, rows: CompleteRows, score: StructureScore
) -> PopulatedGraph:
    """Split and merge nodes while the score does not fall (THESIS, Algorithms 4.8 and 4.9)."""
    counts = expected_edge_counts(populated.graph, rows.codes, rows.weights)
    found = improved_by_counts(populated.graph, counts.tables, score)
    return populate(rows, populated.graph.forest, structure_of(found.graph))
