"""Directed acyclic graphs: orders, separation, equivalence classes, triangulation.

Functions of a graph take whatever has one: parents by name or by index, a model, a result, or a
graph by :func:`exactlearn.read_graph`.
"""

from exactlearn.graphs.boundary import inclusion_boundary, inclusion_boundary_size
from exactlearn.graphs.comparison import compare_structures
from exactlearn.graphs.d_separation import d_separated
from exactlearn.graphs.dag import markov_blanket
from exactlearn.graphs.equivalence import (
    PartiallyDirectedGraph,
    covered_edges,
    cpdag,
    pattern,
    structural_hamming_distance,
)
from exactlearn.graphs.extension import completed_pattern, consistent_extension

__all__ = [
    "PartiallyDirectedGraph",
    "compare_structures",
    "completed_pattern",
    "consistent_extension",
    "covered_edges",
    "cpdag",
    "d_separated",
    "inclusion_boundary",
    "inclusion_boundary_size",
    "markov_blanket",
    "pattern",
    "structural_hamming_distance",
]
