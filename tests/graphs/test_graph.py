from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.errors import OptionError
from exactlearn.graphs.dag import children, moral_graph, topological_order
from tests.network_oracle import random_network


def digraph(parents) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(parents)))
    graph.add_edges_from((p, v) for v, family in enumerate(parents) for p in family)
    return graph


@given(st.integers(0, 10**6), st.integers(1, 12))
@settings(max_examples=60)
def test_order_is_the_lexicographic_topological_sort(seed, n):
    parents = random_network(np.random.default_rng(seed), n).parents
    assert list(topological_order(parents)) == list(
        nx.lexicographical_topological_sort(digraph(parents))
    )


@given(st.lists(st.sets(st.integers(0, 5)), min_size=6, max_size=6))
@settings(max_examples=200)
def test_a_cycle_is_named_exactly_when_there_is_one(sets):
    parents = [family - {v} for v, family in enumerate(sets)]
    graph = digraph(parents)
    if nx.is_directed_acyclic_graph(graph):
        assert sorted(topological_order(parents)) == list(range(6))
        return
    with pytest.raises(OptionError, match="directed cycle") as caught:
        topological_order(parents)
    cycle = [
        int(v) for v in str(caught.value).split("cycle ")[1].split(",")[0].split(" -> ")
    ]
    assert cycle[0] == cycle[-1]
    assert all(graph.has_edge(a, b) for a, b in pairwise(cycle))


def test_a_cycle_is_named_by_variable_names():
    with pytest.raises(OptionError, match=r"b -> c -> b|c -> b -> c"):
        topological_order([(), (0, 2), (1,)], ["a", "b", "c"])


@given(st.integers(0, 10**6), st.integers(1, 12))
@settings(max_examples=60)
def test_moral_graph_is_that_of_networkx(seed, n):
    parents = random_network(np.random.default_rng(seed), n).parents
    moral = nx.moral_graph(digraph(parents))
    assert [set(moral[v]) for v in range(n)] == [set(s) for s in moral_graph(parents)]


def test_children_reverse_the_parents():
    assert children([(), (0,), (0, 1)]) == ((1, 2), (2,), ())
