"""All directed acyclic graphs of few variables, and random larger ones."""

from collections import defaultdict
from functools import cache
from itertools import combinations, product

from hypothesis import strategies as st

from exactlearn.graphs.equivalence import cpdag
from exactlearn.graphs.partially_directed import PartiallyDirectedGraph
from tests.brute_force import is_acyclic

Parents = tuple[tuple[int, ...], ...]


@cache
def every_dag(n: int) -> list[Parents]:
    sets = [
        [s for k in range(n) for s in combinations([u for u in range(n) if u != v], k)]
        for v in range(n)
    ]
    return [parents for parents in product(*sets) if is_acyclic(parents)]


def arcs_of(parents: Parents) -> set[tuple[int, int]]:
    return {(p, child) for child, family in enumerate(parents) for p in family}


def without(parents: Parents, arc: tuple[int, int]) -> Parents:
    return tuple(
        tuple(p for p in family if (p, child) != arc)
        for child, family in enumerate(parents)
    )


def boundaries(
    n: int,
) -> dict[
    PartiallyDirectedGraph,
    tuple[set[PartiallyDirectedGraph], set[PartiallyDirectedGraph]],
]:
    """Return the upper and the lower inclusion boundary of each class, from all its members."""
    found: dict = defaultdict(lambda: (set(), set()))
    classes = {parents: cpdag(parents) for parents in every_dag(n)}
    for parents, own in classes.items():
        found[own]
        for arc in arcs_of(parents):
            below = classes[without(parents, arc)]
            found[own][1].add(below)
            found[below][0].add(own)
    return dict(found)


@st.composite
def dags(draw, most: int = 7, least: int = 1) -> Parents:
    n = draw(st.integers(least, most))
    order = draw(st.permutations(range(n)))
    parents: list[tuple[int, ...]] = [()] * n
    for k, v in enumerate(order):
        parents[v] = tuple(
            sorted(draw(st.sets(st.sampled_from(order[:k]))) if k else ())
        )
    return tuple(parents)
