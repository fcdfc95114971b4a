"""Inclusion boundaries against single arcs of all members of all classes."""

from itertools import combinations

import pytest
from hypothesis import given, settings

from exactlearn.errors import OptionError
from exactlearn.graphs.boundary import (
    ClassLinks,
    inclusion_boundary,
    operators,
)
from exactlearn.graphs.dag import d_separated
from exactlearn.graphs.equivalence import cpdag
from exactlearn.graphs.partially_directed import PartiallyDirectedGraph
from tests.graph_oracle import arcs_of, boundaries, dags, every_dag, without


def check_boundaries(n: int) -> None:
    for own, (upper, lower) in boundaries(n).items():
        found = [cpdag(parents) for parents in inclusion_boundary(own)]
        assert set(found[: len(upper)]) == upper
        assert set(found[len(upper) :]) == lower
        assert len(found) == len(upper) + len(lower)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4])
def test_boundaries_of_all_classes(n: int) -> None:
    check_boundaries(n)


@pytest.mark.slow
def test_boundaries_of_all_classes_of_five_variables() -> None:
    check_boundaries(5)


@settings(max_examples=60)
@given(dags(most=6))
def test_the_boundary_is_that_of_the_members(parents) -> None:
    own = cpdag(parents)
    n, upper, lower = len(parents), set(), set()
    for member in own.members() if own.size <= 200 else ():
        for a in range(n):
            for b in range(n):
                if (a, b) in arcs_of(member):
                    lower.add(cpdag(without(member, (a, b))))
                elif a != b:
                    grown = [
                        (*f, a) if child == b else f for child, f in enumerate(member)
                    ]
                    try:
                        grown_class = cpdag(grown)
                    except OptionError:
                        continue
                    if len(arcs_of(grown)) > len(arcs_of(member)):
                        upper.add(grown_class)
    if own.size <= 200:
        found = [cpdag(q) for q in inclusion_boundary(parents)]
        assert {*found} == upper | lower
        assert len({*found}) == len(found)


def test_the_example_of_the_thesis() -> None:
    """Example 3.4: X -> Y and Z alone have four models above and one below."""
    upper = {cpdag(q) for q in list(inclusion_boundary([(), (0,), ()]))[:4]}
    assert len(list(inclusion_boundary([(), (0,), ()]))) == 5
    assert cpdag([(), (0, 2), ()]) in upper


def test_each_operator_keeps_all_but_one_adjacency() -> None:
    own = cpdag([(), (0,), (0, 1), (2,), (2,)])
    links = ClassLinks(own)
    for operator in operators(links):
        after = links.after(operator)
        assert len(after.skeleton) == (6 if operator.inserts else 4)
        joined = operator.tail in after.adjacencies[operator.head]
        assert joined == operator.inserts


def test_a_graph_that_is_no_cpdag_is_refused() -> None:
    with pytest.raises(OptionError, match="expected a CPDAG"):
        next(inclusion_boundary(PartiallyDirectedGraph.of([(), (0,)])))


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_boundary_is_what_its_definition_says(n: int) -> None:
    """No model lies between: models as sets of statements, which classes are compared by."""
    models = {}
    for parents in every_dag(n):
        if (own := cpdag(parents)) not in models:
            models[own] = frozenset(
                (a, b, given_)
                for a in range(n)
                for k in range(n)
                for given_ in combinations([v for v in range(n) if v != a], k)
                for b in d_separated(parents, [a], given_)
            )
    assert len(set(models.values())) == len(models)
    for own, statements in list(models.items())[::4]:
        above = {c for c, other in models.items() if other < statements}
        below = {c for c, other in models.items() if other > statements}
        nearest = {c for c in above if not any(models[c] < models[d] for d in above)}
        nearest |= {c for c in below if not any(models[c] > models[d] for d in below)}
        assert {cpdag(parents) for parents in inclusion_boundary(own)} == nearest
