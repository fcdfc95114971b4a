"""Comparison of a learnt graph with a reference: distances, precision and recall.

Arcs are compared with their direction, edges without: an edge is a pair of adjacent variables,
whether an arc or an undirected edge joins them.
"""

from dataclasses import dataclass
from math import nan

from exactlearn._runtime.arguments import ParentsLike, checked_arguments, named
from exactlearn._runtime.display import Displayed
from exactlearn.graphs.equivalence import (
    Arc,
    PartiallyDirectedGraph,
    as_partially_directed,
    as_structure,
    structural_hamming_distance,
)
from exactlearn.graphs.extension import completed_pattern


@dataclass(frozen=True, repr=False)
class StructureComparison(
    Displayed,
    shown="shd cpdag_shd arc_precision arc_recall arc_f1 edge_precision edge_recall edge_f1",
):
    """How near a learnt graph is to a reference.

    Precision is the share of the learnt arcs (edges) that the reference has, recall the share of
    the reference's that were learnt, F1 their harmonic mean; each is NaN where it would divide by
    zero.

    Parameters
    ----------
    shd
        Structural Hamming distance of the two graphs.
    cpdag_shd
        The same of their equivalence classes, 0 exactly for Markov equivalent graphs.
    arc_precision, arc_recall, arc_f1
        Of arcs with their direction; an undirected edge is none.
    edge_precision, edge_recall, edge_f1
        Of adjacencies.

    Examples
    --------
    >>> import exactlearn as el
    >>> learnt = el.learn(el.read_dataset("asia-mnar-complete"))
    >>> found = el.graphs.compare_structures(learnt.parents, el.read_network("asia").parents)
    >>> found.shd, found.edge_recall
    (8, 0.625)
    """

    shd: int
    cpdag_shd: int
    arc_precision: float
    arc_recall: float
    arc_f1: float
    edge_precision: float
    edge_recall: float
    edge_f1: float


@checked_arguments(learnt=named(as_structure), reference=named(as_structure))
def compare_structures(
    learnt: ParentsLike | PartiallyDirectedGraph,
    reference: ParentsLike | PartiallyDirectedGraph,
) -> StructureComparison:
    """Compare two graphs over the same variables.

    Parameters
    ----------
    learnt, reference
        Graphs, each by the parents of each variable, or as a pattern or CPDAG.

    Raises
    ------
    OptionError
        When the graphs have different numbers of variables, or one has no consistent extension.

    Examples
    --------
    >>> found = compare_structures([(), (0,), (0, 1)], [(1,), (), (1,)])
    >>> found.shd, found.arc_precision, found.edge_recall, found.edge_f1
    (2, 0.3333333333333333, 1.0, 0.8)
    """
    graphs = as_partially_directed(learnt), as_partially_directed(reference)
    return StructureComparison(
        structural_hamming_distance(*graphs),
        structural_hamming_distance(*map(completed_pattern, graphs)),
        *_agreement(*(graph.directed for graph in graphs)),
        *_agreement(*(graph.skeleton for graph in graphs)),
    )


def _agreement(learnt: frozenset[Arc], true: frozenset[Arc]) -> tuple[float, float, float]:
    """Return precision, recall and F1."""
    both, sizes = len(learnt & true), (len(learnt), len(true), len(learnt) + len(true))
    precision, recall, half_f1 = (both / size if size else nan for size in sizes)
    return precision, recall, 2 * half_f1
