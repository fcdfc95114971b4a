"""Comparison of a learnt graph with a reference: distances, precision and recall.

Arcs are compared with their direction, edges without: an edge is a pair of adjacent variables,
whether an arc or an undirected edge joins them.
"""

from dataclasses import dataclass
from math import nan

from exactlearn._runtime.arguments import checked_arguments, named
from exactlearn._runtime.display import Displayed
from exactlearn._runtime.variable_arguments import ParentsLike
from exactlearn.errors import OptionError
from exactlearn.graphs.equivalence import as_structure, completed_pattern
from exactlearn.graphs.partially_directed import (
    Arc,
    PartiallyDirectedGraph,
    as_partially_directed,
    both_ways,
    unordered,
)


@dataclass(frozen=True, repr=False)
class StructureComparison(
    Displayed,
    shown="shd cpdag_shd arc_precision arc_recall arc_f1 edge_precision edge_recall edge_f1",
):
    """Distances, precision and recall of a learnt graph beside a reference.

    Precision is the part of the learnt arcs (edges) that the reference has, recall the part of
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


@checked_arguments(first=named(as_structure), second=named(as_structure))
def structural_hamming_distance(
    first: ParentsLike | PartiallyDirectedGraph,
    second: ParentsLike | PartiallyDirectedGraph,
) -> int:
    """Return the number of pairs of variables whose edge differs between two graphs.

    A missing, a surplus, a reversed and an edge directed in one graph only count one each. Between
    patterns this is the distance of Tsamardinos, Brown and Aliferis (2006, "The max-min
    hill-climbing Bayesian network structure learning algorithm"), which is 0 exactly for Markov
    equivalent graphs; between directed acyclic graphs, that of Acid and de Campos (2003,
    "Searching for Bayesian network structures in the space of restricted acyclic partially
    directed graphs").

    Parameters
    ----------
    first, second
        Graphs over the same variables, each by the parents of each variable, or as a CPDAG.

    Raises
    ------
    OptionError
        When the graphs have different numbers of variables.

    Examples
    --------
    >>> chain, reversed_chain = [(), (0,), (1,)], [(1,), (2,), ()]
    >>> structural_hamming_distance(chain, reversed_chain)
    2
    >>> from exactlearn.graphs import cpdag
    >>> structural_hamming_distance(cpdag(chain), cpdag(reversed_chain))
    0
    """
    first = as_partially_directed(first)
    second = as_partially_directed(second)
    if first.n_variables != second.n_variables:
        raise OptionError(
            f"the distance of two graphs needs the same variables, found {first.n_variables} and "
            f"{second.n_variables}"
        )
    return len(unordered(both_ways(first) ^ both_ways(second)))


def _agreement(
    learnt: frozenset[Arc], true: frozenset[Arc]
) -> tuple[float, float, float]:
    """Return precision, recall and F1."""
    both = len(learnt & true)
    f1 = 2 * _ratio(both, len(learnt) + len(true))
    return _ratio(both, len(learnt)), _ratio(both, len(true)), f1


def _ratio(number: int, total: int) -> float:
    """Return a ratio, NaN where it would divide by zero."""
    return number / total if total else nan
