"""Consistent extensions against all directed acyclic graphs of few variables."""

from collections import defaultdict
from itertools import combinations, product

import pytest
from hypothesis import given

from exactlearn.errors import OptionError
from exactlearn.graphs.equivalence import (
    check_cpdag,
    completed_pattern,
    consistent_extension,
    cpdag,
    pattern,
)
from exactlearn.graphs.partially_directed import (
    PartiallyDirectedGraph,
    skeleton,
    v_structures,
)
from tests.graph_oracle import arcs_of, dags, every_dag


def every_partially_directed_graph(n: int) -> list[PartiallyDirectedGraph]:
    """Return all graphs with no link, an arc either way or an edge between two variables."""
    pairs = list(combinations(range(n), 2))
    return [
        PartiallyDirectedGraph(
            n,
            frozenset(
                pair if mark == "->" else pair[::-1]
                for pair, mark in zip(pairs, marks, strict=True)
                if mark in ("->", "<-")
            ),
            frozenset(
                pair for pair, mark in zip(pairs, marks, strict=True) if mark == "--"
            ),
        )
        for marks in product(("", "->", "<-", "--"), repeat=len(pairs))
    ]


def v_structures_of(graph: PartiallyDirectedGraph) -> set[tuple[int, int, int]]:
    return {
        (a, child, b)
        for child, family in enumerate(graph.parents)
        for a, b in combinations(sorted(family), 2)
        if b not in graph.adjacencies[a]
    }


@pytest.mark.parametrize("n", [2, 3, 4])
def test_an_extension_is_found_exactly_where_there_is_one(n: int) -> None:
    by_class = defaultdict(list)
    for parents in every_dag(n):
        by_class[skeleton(parents), v_structures(parents)].append(parents)
    extensible = 0
    for graph in every_partially_directed_graph(n):
        edges = frozenset((min(a), max(a)) for a in graph.directed) | graph.undirected
        members = by_class.get((edges, frozenset(v_structures_of(graph))), [])
        expected = [m for m in members if graph.directed <= arcs_of(m)]
        if expected:
            extensible += 1
            assert consistent_extension(graph) in expected
            assert completed_pattern(graph) == cpdag(expected[0])
        else:
            with pytest.raises(OptionError, match="no directed acyclic graph"):
                consistent_extension(graph)
    assert extensible > len(by_class)


@given(dags())
def test_pattern_and_cpdag_extend_to_the_class(parents) -> None:
    own = cpdag(parents)
    for graph in (own, pattern(parents), PartiallyDirectedGraph.of(parents)):
        assert cpdag(consistent_extension(graph)) == completed_pattern(graph) == own
    assert consistent_extension(PartiallyDirectedGraph.of(parents)) == parents
    check_cpdag(own)


def test_variables_that_no_order_holds_are_named() -> None:
    square = PartiallyDirectedGraph(
        5, frozenset(), frozenset({(0, 1), (1, 2), (2, 3), (0, 3)})
    )
    with pytest.raises(
        OptionError, match="no order of the variables 'a', 'b', 'c', 'd' directs"
    ):
        consistent_extension(square, "abcde")
    cycle = PartiallyDirectedGraph(4, frozenset({(0, 1), (1, 2), (2, 0)}), frozenset())
    with pytest.raises(OptionError, match="no order of the variables 0, 1, 2 directs"):
        consistent_extension(cycle)


def test_what_is_no_cpdag_is_refused_with_an_edge_of_it() -> None:
    with pytest.raises(
        OptionError, match="found the arc 'a' -> 'b', which some members"
    ):
        check_cpdag(PartiallyDirectedGraph.of([(), (0,)]), "ab")
    with pytest.raises(
        OptionError, match="found the undirected edge 2 -- 3, which all members"
    ):
        check_cpdag(pattern([(), (), (0, 1), (2,)]))
