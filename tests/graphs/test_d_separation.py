"""d-separated sets and Markov blankets, against networkx and all sets."""

from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactlearn.errors import OptionError
from exactlearn.graphs.dag import active_trail, d_separated, markov_blanket
from tests.graph_oracle import arcs_of, dags, every_dag


def as_networkx(parents) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(parents)))
    graph.add_edges_from(arcs_of(parents))
    return graph


def test_separated_sets_of_all_small_graphs() -> None:
    for parents in every_dag(4)[::3]:
        graph = as_networkx(parents)
        for a in range(4):
            others = [v for v in range(4) if v != a]
            for given_ in (c for k in range(4) for c in combinations(others, k)):
                expected = {
                    b
                    for b in others
                    if b not in given_
                    and nx.is_d_separator(graph, {a}, {b}, set(given_))
                }
                assert d_separated(parents, [a], given_) == expected


@given(dags(), st.data())
def test_separation_agrees_with_active_trails_and_networkx(parents, data) -> None:
    variables = data.draw(st.permutations(range(len(parents))))
    first, second = sorted(data.draw(st.tuples(*[st.integers(0, len(parents))] * 2)))
    left, given_ = variables[:first], variables[first:second]
    separated = d_separated(parents, left, given_)
    assert not separated & {*left, *given_}
    graph = as_networkx(parents)
    for v in variables[second:]:
        assert (v in separated) == (active_trail(parents, left, [v], given_) is None)
        if left:
            assert (v in separated) == nx.is_d_separator(
                graph, set(left), {v}, set(given_)
            )
    if left:
        assert active_trail(parents, left, sorted(separated), given_) is None


def test_sets_that_share_a_variable_are_refused() -> None:
    with pytest.raises(
        OptionError, match="variable 1 is among 'variables' and 'given'"
    ):
        d_separated([(), ()], [0, 1], [1])


def test_a_markov_blanket_is_the_smallest_separating_set() -> None:
    """It separates a variable from all others."""
    for parents in every_dag(4)[::5]:
        for v in range(4):
            rest = set(range(4)) - {v}
            separating = [
                set(s)
                for k in range(4)
                for s in combinations(sorted(rest), k)
                if d_separated(parents, [v], s) == rest - set(s)
            ]
            assert markov_blanket(parents, v) == separating[0]
            assert all(separating[0] <= other for other in separating)
