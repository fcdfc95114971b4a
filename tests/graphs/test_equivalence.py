"""Completed patterns and equivalence classes against all graphs of few variables."""

from collections import defaultdict
from itertools import combinations, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactlearn.errors import OptionError
from exactlearn.graphs.comparison import structural_hamming_distance
from exactlearn.graphs.equivalence import covered_edges, cpdag, pattern
from exactlearn.graphs.partially_directed import (
    PartiallyDirectedGraph,
    skeleton,
    v_structures,
)
from tests.brute_force import is_acyclic
from tests.graph_oracle import arcs_of, dags, every_dag, without


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
    return (
        "a -> b"
        if (a, b) in found.directed
        else "a <- b"
        if (b, a) in found.directed
        else ""
    )


def test_structural_hamming_distance_counts_differing_pairs() -> None:
    graphs = every_dag(3)
    for one, other in product(graphs, graphs):
        directed = [
            PartiallyDirectedGraph(3, frozenset(arcs_of(g)), frozenset())
            for g in (one, other)
        ]
        classes = [cpdag(g) for g in (one, other)]
        for first, second in (directed, classes):
            expected = sum(
                edge(first, *ab) != edge(second, *ab)
                for ab in combinations(range(3), 2)
            )
            assert structural_hamming_distance(first, second) == expected
            assert structural_hamming_distance(second, first) == expected
        assert structural_hamming_distance(one, other) == structural_hamming_distance(
            *directed
        )
        equivalent = skeleton(one) == skeleton(other) and v_structures(
            one
        ) == v_structures(other)
        assert (structural_hamming_distance(*classes) == 0) == equivalent


def test_the_distance_of_graphs_of_other_variables_is_refused() -> None:
    with pytest.raises(OptionError, match="found 2 and 1"):
        structural_hamming_distance([(), (0,)], cpdag([()]))


def test_covered_edges_are_those_reversible_within_the_class() -> None:
    for parents in every_dag(4):
        own = cpdag(parents)
        expected = []
        for a, b in sorted(arcs_of(parents)):
            changed = [set(family) for family in without(parents, (a, b))]
            changed[a].add(b)
            other = tuple(tuple(sorted(family)) for family in changed)
            if is_acyclic(other) and cpdag(other) == own:
                expected.append((a, b))
        assert covered_edges(parents) == tuple(expected)


def test_a_pattern_directs_the_v_structures_only() -> None:
    for parents in every_dag(4):
        found = pattern(parents)
        assert found.directed == {
            (p, child) for a, child, b in v_structures(parents) for p in (a, b)
        }
        assert found.directed <= cpdag(parents).directed
        adjacent = found.undirected | {(min(a), max(a)) for a in found.directed}
        assert adjacent == skeleton(parents)
    # THESIS Example 3.3: X3 -> X5 follows, and is in no v-structure
    chain = [(), (), (0, 1), (2,)]
    assert pattern(chain).directed == {(0, 2), (1, 2)}
    assert cpdag(chain).directed == {(0, 2), (1, 2), (2, 3)}


def test_a_cycle_has_no_pattern() -> None:
    with pytest.raises(OptionError, match="directed cycle"):
        pattern([(1,), (0,)])


@given(dags(most=5))
def test_the_cpdag_is_that_of_pyagrum(parents) -> None:
    """pyAgrum refuses some graphs with a clique of six variables."""
    pyagrum = pytest.importorskip("pyagrum")
    network = pyagrum.BayesNet()
    for v in range(len(parents)):
        network.add(pyagrum.RangeVariable(f"v{v}", "", 0, 1))
    for arc in arcs_of(parents):
        network.addArc(*arc)
    found = pyagrum.EssentialGraph(network)
    own = cpdag(parents)
    assert own.directed == set(found.arcs())
    assert own.undirected == {(min(e), max(e)) for e in found.edges()}


def test_a_graph_orders_its_edges_and_refuses_what_is_none() -> None:
    assert PartiallyDirectedGraph(3, {(0, 1)}, {(2, 1)}).undirected == frozenset(
        {(1, 2)}
    )
    with pytest.raises(
        OptionError, match="variables 1 and 3: expected two different ones from 0"
    ):
        PartiallyDirectedGraph(3, {(1, 3)}, set())
    with pytest.raises(OptionError, match="variables 1 and 1"):
        PartiallyDirectedGraph(3, set(), {(1, 1)})
    for arcs, edges in (({(0, 1), (1, 0)}, set()), ({(0, 1)}, {(1, 0)})):
        with pytest.raises(OptionError, match="joined twice"):
            PartiallyDirectedGraph(3, arcs, edges)
