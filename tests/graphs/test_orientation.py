"""Arcs that follow from known ones, against all members of a class that have these."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from exactlearn.graphs.equivalence import cpdag
from exactlearn.graphs.orientation import (
    known_directions,
    maximally_oriented,
    reversible_arcs,
)
from tests.graph_oracle import Parents, arcs_of, dags, every_dag


def check(parents: Parents, known: set[tuple[int, int]]) -> None:
    class_ = cpdag(parents)
    shared = set.intersection(
        *(arcs for member in class_.members() if known <= (arcs := arcs_of(member)))
    )
    found = maximally_oriented(class_, known)
    assert found.directed == shared
    assert found.skeleton == class_.skeleton
    assert reversible_arcs(parents, known) == arcs_of(parents) - shared


def test_all_dags_of_four_variables_with_up_to_two_known_arcs() -> None:
    for parents in every_dag(4):
        for k in range(3):
            for known in combinations(sorted(arcs_of(parents)), k):
                check(parents, set(known))


@given(dags(6), st.data())
def test_any_known_arcs(parents: Parents, data: st.DataObject) -> None:
    arcs = sorted(arcs_of(parents))
    check(parents, data.draw(st.sets(st.sampled_from(arcs))) if arcs else set())


def test_each_of_the_four_rules_directs_an_arc() -> None:
    diamond = [(), (0,), (0,), (0, 1, 2)]  # 1 and 2 are not adjacent
    assert maximally_oriented(cpdag(diamond), {(0, 1)}).directed == {
        (0, 1),
        (0, 3),
        (1, 3),
        (2, 3),
    }
    kite = [(), (0,), (0, 1), (0, 2)]
    assert (0, 3) in maximally_oriented(cpdag(kite), {(1, 2), (2, 3)}).directed


def test_forbidden_arcs_direct_only_adjacent_pairs() -> None:
    """The pair of a forbidden arc is directed the other way."""
    known = known_directions(required=[(2, 1)], forbidden=[(0, 1), (0, 3)])
    assert known == {(2, 1), (1, 0), (3, 0)}
    assert reversible_arcs([(1,), (2,), (), ()], known) == frozenset()
    assert reversible_arcs([(1,), (2,), (), ()], {(0, 1)}) == {(1, 0), (2, 1)}
