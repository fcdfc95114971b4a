"""Comparison of learnt graphs with references, against counts over pairs of variables."""

from itertools import permutations, product
from math import isnan

import pytest

from exactlearn.graphs.comparison import compare_structures
from exactlearn.graphs.equivalence import cpdag
from exactlearn.graphs.partially_directed import PartiallyDirectedGraph
from tests.graph_oracle import every_dag


def links(graph: PartiallyDirectedGraph, a: int, b: int) -> tuple[bool, bool]:
    """Return whether there is an arc from a to b, and any edge between them."""
    arc = (a, b) in graph.directed
    return arc, arc or (b, a) in graph.directed or (
        min(a, b),
        max(a, b),
    ) in graph.undirected


def check(found: tuple[float, ...], learnt: list[bool], true: list[bool]) -> None:
    both = sum(a and b for a, b in zip(learnt, true, strict=True))
    precision, recall, f1 = found
    assert isnan(precision) if not any(learnt) else precision == both / sum(learnt)
    assert isnan(recall) if not any(true) else recall == both / sum(true)
    if both:
        assert f1 == pytest.approx(2 * precision * recall / (precision + recall))
    else:
        assert isnan(f1) if not any(learnt + true) else f1 == 0


def test_agreement_of_all_small_graphs() -> None:
    graphs = every_dag(3)
    mixed = [*map(PartiallyDirectedGraph.of, graphs), *map(cpdag, graphs)]
    for one, other in product(mixed, mixed):
        found = compare_structures(one, other)
        pairs = list(permutations(range(3), 2))
        arcs, edges = (
            [[links(graph, *pair)[kind] for pair in pairs] for graph in (one, other)]
            for kind in (0, 1)
        )
        check((found.arc_precision, found.arc_recall, found.arc_f1), *arcs)
        check((found.edge_precision, found.edge_recall, found.edge_f1), *edges)
    assert compare_structures(graphs[5], graphs[5]).shd == 0


def test_equivalent_graphs_differ_in_arcs_only() -> None:
    found = compare_structures([(), (0,), (1,)], [(1,), (2,), ()])
    assert (found.shd, found.cpdag_shd, found.arc_f1, found.edge_f1) == (2, 0, 0, 1)
