"""The public names, each with the module that it lives in; they are loaded on first use."""

from exactlearn.graphs.boundary import inclusion_boundary as inclusion_boundary
from exactlearn.graphs.comparison import compare_structures as compare_structures
from exactlearn.graphs.comparison import (
    structural_hamming_distance as structural_hamming_distance,
)
from exactlearn.graphs.dag import d_separated as d_separated
from exactlearn.graphs.dag import markov_blanket as markov_blanket
from exactlearn.graphs.equivalence import completed_pattern as completed_pattern
from exactlearn.graphs.equivalence import consistent_extension as consistent_extension
from exactlearn.graphs.equivalence import covered_edges as covered_edges
from exactlearn.graphs.equivalence import cpdag as cpdag
from exactlearn.graphs.equivalence import pattern as pattern
from exactlearn.graphs.partially_directed import (
    PartiallyDirectedGraph as PartiallyDirectedGraph,
)
