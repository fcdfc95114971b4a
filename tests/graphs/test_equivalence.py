"""Completed patterns and equivalence classes against all graphs of few variables."""

from collections import defaultdict
from itertools import combinations, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactlearn.errors import OptionError
from exactlearn.graphs.equivalence import (
    PartiallyDirectedGraph,
    cpdag,
    skeleton,
    structural_hamming_distance,
    v_structures,
)
from tests.brute_force import is_acyclic


def every_dag(n: int) -> list[tuple[tuple[int, ...], ...]]:
    sets = [
        [s for k in range(n) for s in combinations([u for u in range(n) if u != v], k)]
        for v in range(n)
    ]
    return [parents for parents in product(*sets) if is_acyclic(parents)]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4])
def test_patterns_are_what_the_members_of_a_class_share(n: int) -> None:
    classes = defaultdict(list)
    for parents in every_dag(n):
        classes[skeleton(parents), v_structures(parents)].append(parents)
    patterns = set()
    for (links, _), members in classes.items():
        arcs = [{(p, v) for v, family in enumerate(m) for p in family} for m in members]
        shared = frozenset.intersection(*map(frozenset, arcs))
        (found,) = {cpdag(member) for member in members}
        assert found.directed == shared
        assert found.undirected == links - {(min(a), max(a)) for a in shared}
        assert sorted(found.members()) == sorted(members)
        assert found.size == len(members)
        patterns.add(found)
    assert len(patterns) == len(classes)


@st.composite
def dags(draw) -> tuple[tuple[int, ...], ...]:
    n = draw(st.integers(1, 7))
    order = draw(st.permutations(range(n)))
    parents = [()] * n
    for k, v in enumerate(order):
        parents[v] = tuple(sorted(draw(st.sets(st.sampled_from(order[:k]))) if k else ()))
    return tuple(parents)


@given(dags())
def test_members_of_a_class_have_its_pattern(parents) -> None:
    found = cpdag(parents)
    members = list(found.members()) if found.size <= 200 else [parents]
    assert parents in members
    assert found.size == len(set(members)) or found.size > 200
    assert {cpdag(member) for member in members} == {found}


@given(dags(), st.randoms(use_true_random=False))
def test_renaming_variables_renames_the_pattern(parents, random) -> None:
    new = list(range(len(parents)))
    random.shuffle(new)
    renamed = [()] * len(parents)
    for v, family in enumerate(parents):
        renamed[new[v]] = tuple(sorted(new[p] for p in family))
    directed = {(new[a], new[b]) for a, b in cpdag(parents).directed}
    assert cpdag(renamed).directed == directed


def test_sizes_of_known_classes() -> None:
    complete = [tuple(range(v)) for v in range(12)]
    assert cpdag(complete).size == 479001600
    assert cpdag([(), *((v,) for v in range(30))]).size == 31
    assert len(set(permutations(range(4)))) == cpdag(complete[:4]).size


def test_a_cycle_is_refused() -> None:
    with pytest.raises(OptionError, match="directed cycle"):
        cpdag([(1,), (0,)])


def edge(found: PartiallyDirectedGraph, a: int, b: int) -> str:
    """Return the edge of two variables in a pattern."""
    if (a, b) in found.undirected:
        return "a - b"
    return "a -> b" if (a, b) in found.directed else "a <- b" if (b, a) in found.directed else ""


def test_the_structural_hamming_distance_counts_the_pairs_that_differ() -> None:
    graphs = every_dag(3)
    for one, other in product(graphs, graphs):
        directed = [
            PartiallyDirectedGraph(3, frozenset(arcs_of(g)), frozenset()) for g in (one, other)
        ]
        classes = [cpdag(g) for g in (one, other)]
        for first, second in (directed, classes):
            expected = sum(
                edge(first, *ab) != edge(second, *ab) for ab in combinations(range(3), 2)
            )
            assert structural_hamming_distance(first, second) == expected
            assert structural_hamming_distance(second, first) == expected
        assert structural_hamming_distance(one, other) == structural_hamming_distance(*directed)
        equivalent = skeleton(one) == skeleton(other) and v_structures(one) == v_structures(other)
        assert (structural_hamming_distance(*classes) == 0) == equivalent


def test_the_distance_of_graphs_of_other_variables_is_refused() -> None:
    with pytest.raises(OptionError, match="found 2 and 1"):
        structural_hamming_distance([(), (0,)], cpdag([()]))


def arcs_of(parents: tuple[tuple[int, ...], ...]) -> set[tuple[int, int]]:
    return {(p, child) for child, family in enumerate(parents) for p in family}
