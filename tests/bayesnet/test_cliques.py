from itertools import combinations
from math import prod

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.cliques import CliqueTree, clique_tree
from exactlearn.bayesnet.triangulation import (
    RULES,
    best_elimination_order,
    elimination_clusters,
    elimination_order,
    maximal_cliques,
)
from exactlearn.errors import CheckError, OptionError
from exactlearn.formats.bif import read_bif
from exactlearn.graphs.dag import moral_graph
from exactlearn.instances import path
from tests.network_oracle import random_network

SEEDS = st.integers(0, 10**6)


def undirected(adjacency) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(len(adjacency)))
    graph.add_edges_from(
        (v, u) for v, neighbours in enumerate(adjacency) for u in neighbours
    )
    return graph


def random_graph(rng: np.random.Generator, n: int) -> list[set[int]]:
    graph = [set() for _ in range(n)]
    for a, b in combinations(range(n), 2):
        if rng.random() < 0.35:
            graph[a].add(b)
            graph[b].add(a)
    return graph


def greedy_twin(adjacency, sizes, rule: str) -> tuple[int, ...]:
    """Recompute every cost at every step."""
    graph = [set(neighbours) for neighbours in adjacency]
    order = []

    def cost(v):
        joined = [
            (a, b) for a, b in combinations(sorted(graph[v]), 2) if b not in graph[a]
        ]
        return {
            "weighted-min-fill": sum(sizes[a] * sizes[b] for a, b in joined),
            "min-fill": len(joined),
            "min-weight": sizes[v] * prod(sizes[u] for u in graph[v]),
            "min-boundary": prod(sizes[u] for u in graph[v]),
        }[rule]

    while len(order) < len(graph):
        v = min(
            (v for v in range(len(graph)) if v not in order), key=lambda v: (cost(v), v)
        )
        order.append(v)
        for u in graph[v]:
            graph[u] = (graph[u] | graph[v]) - {u, v}
    return tuple(order)


@given(SEEDS, st.integers(1, 10), st.sampled_from(RULES))
@settings(max_examples=100)
def test_rules_choose_as_their_plain_twin(seed, n, rule):
    rng = np.random.default_rng(seed)
    graph, sizes = random_graph(rng, n), rng.integers(2, 5, n).tolist()
    assert elimination_order(graph, sizes, rule=rule) == greedy_twin(graph, sizes, rule)


@given(SEEDS, st.integers(1, 10))
@settings(max_examples=100)
def test_any_order_gives_a_chordal_graph_and_its_maximal_cliques(seed, n):
    rng = np.random.default_rng(seed)
    graph, order = random_graph(rng, n), rng.permutation(n).tolist()
    filled = undirected(graph)
    for cluster in elimination_clusters(graph, order):
        filled.add_edges_from(combinations(cluster, 2))
    assert nx.is_chordal(filled) if n > 1 else True
    assert set(undirected(graph).edges) <= set(filled.edges)
    cliques = maximal_cliques(graph, order)
    assert list(cliques) == sorted(tuple(sorted(c)) for c in nx.find_cliques(filled))


@given(SEEDS, st.integers(1, 10))
@settings(max_examples=60)
def test_trees_have_running_intersection_and_cover_families(seed, n):
    network = random_network(np.random.default_rng(seed), n, most_parents=2)
    tree = clique_tree(network)
    tree.check(network)
    joined = nx.Graph()
    joined.add_nodes_from(range(len(tree.cliques)))
    joined.add_edges_from((c, p) for c, p in enumerate(tree.parent) if p >= 0)
    assert nx.is_forest(joined)
    for a, b in combinations(range(len(tree.cliques)), 2):
        shared = set(tree.cliques[a]) & set(tree.cliques[b])
        if shared:
            between = nx.shortest_path(joined, a, b)
            assert all(shared <= set(tree.cliques[c]) for c in between)
    moral = undirected(moral_graph(network.parents))
    assert len(tree.roots) == nx.number_connected_components(moral)
    for v, family in enumerate(network.parents):
        assert any({v, *family} <= set(clique) for clique in tree.cliques)


@given(SEEDS, st.integers(1, 9))
@settings(max_examples=40)
def test_rerooting_keeps_the_forest(seed, n):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n, most_parents=2)
    tree = clique_tree(network)
    clique = int(rng.integers(len(tree.cliques)))
    moved = tree.rooted_at(clique)
    assert clique in moved.roots
    assert len(moved.roots) == len(tree.roots)
    before, after = (
        {frozenset(arc) for arc in enumerate(t.parent)} for t in (tree, moved)
    )
    assert {arc for arc in before if -1 not in arc} == {
        arc for arc in after if -1 not in arc
    }
    moved.check(network)
    place = {c: k for k, c in enumerate(moved.top_down)}
    assert all(p < 0 or place[p] < place[c] for c, p in enumerate(moved.parent))


def test_the_search_never_loses_to_a_single_rule():
    rng = np.random.default_rng(3)
    for _ in range(10):
        network = random_network(rng, 15, most_states=4)
        graph, sizes = moral_graph(network.parents), network.cardinalities
        best = clique_tree(network).size(sizes)
        for rule in RULES:
            order = elimination_order(graph, sizes, rule=rule)
            assert best <= clique_tree(network, order).size(sizes)


def test_a_deadline_ends_with_the_best_elimination_order_so_far():
    network = random_network(np.random.default_rng(3), 9)
    graph = moral_graph(network.parents)
    order = best_elimination_order(
        graph, network.cardinalities, control=SearchControl(0.0)
    )
    assert order == elimination_order(graph, network.cardinalities, rule=RULES[0])
    assert clique_tree(network, control=SearchControl(0.0)) == clique_tree(
        network, order
    )


def test_the_search_repeats_itself():
    network = random_network(np.random.default_rng(5), 15)
    graph = moral_graph(network.parents)
    first, second = (
        best_elimination_order(graph, network.cardinalities) for _ in range(2)
    )
    assert first == second


def test_asia_by_hand():
    network = read_bif(path("asia.bif"))
    tree = clique_tree(network)
    assert tree.size(network.cardinalities) == 40
    assert tree.separators[tree.roots[0]] == ()
    assert sorted(len(c) for c in tree.cliques) == [2, 2, 3, 3, 3, 3]


# The smallest total clique sizes that a prototype's search over many heuristics found.
@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("asia", 40),
        ("child", 642),
        ("alarm", 996),
        ("insurance", 23880),
        ("hailfinder", 9406),
        ("win95pts", 2684),
        ("pathfinder", 182641),
        ("water", 3465948),
        ("andes", 274750),
    ],
)
def test_public_networks_have_trees_as_small_as_the_best_known(data_dir, name, size):
    network = read_bif(data_dir / "bif" / f"{name}.bif.gz")
    tree = clique_tree(network)
    tree.check(network)
    assert tree.size(network.cardinalities) <= size


def test_impossible_requests_are_refused():
    network = random_network(np.random.default_rng(0), 4)
    with pytest.raises(OptionError, match="did you mean 'weighted-min-fill'"):
        elimination_order([()], [2], rule="weighted-minfill")
    with pytest.raises(OptionError, match="each of 4 variables once, found 3 entries"):
        clique_tree(network, (0, 1, 2))


@pytest.mark.parametrize(
    ("cliques", "parent", "message"),
    [
        (((0, 1), (1, 2), (2, 3)), (-1, 0), "do not form a forest"),
        (((0, 1), (1, 2), (2, 3)), (1, 2, 0), "do not form a forest"),
        (((1, 0), (1, 2), (2, 3)), (-1, 0, 1), "not an increasing list"),
        (((0, 1), (1, 2), (2, 4)), (-1, 0, 1), "not an increasing list"),
        (((0, 1), (2,), (2, 3)), (-1, 0, 1), "holds the family x1, x2"),
        (((0, 1), (1, 2), (2, 3)), (-1, -1, 1), "hold 'x1' are not connected"),
        (((0, 1), (1, 2), (2, 3)), (-1, 0, 0), "hold 'x2' are not connected"),
        (((0, 1), (1, 2), (2, 3), (3,)), (-1, 0, 1, 2), "inside the other"),
    ],
)
def test_broken_trees_are_caught(cliques, parent, message):
    chain = random_network(np.random.default_rng(0), 4, most_parents=0)
    table = np.full((2, 2), 0.5)
    states = (("no", "yes"),) * 4
    network = type(chain)(
        chain.names, states, ((), (0,), (1,), (2,)), (table[0], *[table] * 3)
    )
    CliqueTree(((0, 1), (1, 2), (2, 3)), (-1, 0, 1)).check(network)
    with pytest.raises(CheckError, match=message):
        CliqueTree(cliques, parent).check(network)
