from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn._runtime.hash_tables import index_rows
from exactlearn.bayesnet.network import BayesianNetwork, normalised
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, TooLargeError
from exactlearn.formats.bif import read_bif
from exactlearn.graphs.dag import moral_graph
from exactlearn.pdg.compile.compile import (
    compile_and_check,
    compile_network,
    max_error,
)
from exactlearn.pdg.compile.residuals import equal_values
from exactlearn.pdg.inference.flows import (
    expected_counts,
    log_likelihood_rows,
    node_probabilities,
    posteriors,
)
from exactlearn.pdg.learn import hybrid
from exactlearn.pdg.learn.hybrid import collapse_unreached
from exactlearn.pdg.model.forest import components, variable_forest
from tests.network_oracle import joint, random_network
from tests.pdg_oracle import (
    coarse_network,
    distribution_below,
    fewest_nodes,
    graph_joint,
    random_graph,
)


@pytest.fixture(scope="module")
def alarm(data_dir) -> BayesianNetwork:
    return read_bif(data_dir / "bif" / "alarm.bif.gz")


@given(
    st.integers(0, 10_000),
    st.integers(1, 6),
    st.sampled_from([random_network, coarse_network]),
)
@settings(max_examples=60)
def test_the_graph_has_the_networks_joint_and_the_fewest_nodes(seed, n, make):
    network = make(np.random.default_rng(seed), n)
    graph = compile_network(network, steps=30)
    graph.check()
    full = joint(network)
    np.testing.assert_allclose(graph_joint(graph), full, rtol=1e-12, atol=0)
    assert graph.node_counts.tolist() == fewest_nodes(graph, full)


@pytest.mark.parametrize("name", ["asia", "cancer", "earthquake", "survey"])
def test_all_configurations_of_small_networks(data_dir, name):
    network = normalised(read_bif(data_dir / "bif" / f"{name}.bif.gz"))
    graph = compile_network(network)
    full = joint(network)
    codes = np.array(list(np.ndindex(full.shape)))
    found = np.exp(log_likelihood_rows(graph, codes))
    np.testing.assert_allclose(found, full.ravel(), rtol=1e-12, atol=0)


def test_alarm_on_sampled_and_uniform_rows(alarm):
    compiled = compile_and_check(alarm, seed=1)
    compiled.graph.check()
    assert compiled.max_error < 1e-12
    assert compiled.graph.effective_size <= 1115  # a prototype's longest search
    assert compiled.graph.effective_size < compiled.expanded_size
    assert "merging" in compiled.message


def test_the_same_network_gives_the_same_graph(alarm):
    first, second = compile_network(alarm), compile_network(alarm)
    assert first.parameters.tobytes() == second.parameters.tobytes()
    assert first.successors.tobytes() == second.successors.tobytes()


def test_parts_without_connection_become_trees():
    network = BayesianNetwork(
        ("a", "b", "c"),
        (("0", "1"),) * 3,
        ((), (), (0,)),
        (
            np.array([0.2, 0.8]),
            np.array([0.4, 0.6]),
            np.array([[0.1, 0.9], [0.7, 0.3]]),
        ),
    )
    graph = compile_network(network)
    graph.check()
    assert (graph.forest < 0).sum() == 2
    np.testing.assert_allclose(graph_joint(graph), joint(network), rtol=1e-14)


def test_a_network_that_is_too_large_is_refused_at_once(data_dir):
    network = read_bif(data_dir / "bif" / "munin1.bif.gz")
    with pytest.raises(
        TooLargeError, match=r"more than 10,000 cells .* clique tree .* [\d,]+\."
    ):
        compile_network(network, max_size=10_000)


def test_a_network_without_variables_is_refused():
    with pytest.raises(DataError, match="no variables"):
        compile_network(BayesianNetwork((), (), (), ()))


def test_the_message_says_when_nothing_merges(data_dir):
    compiled = compile_and_check(read_bif(data_dir / "bif" / "sachs.bif.gz"))
    assert "no nodes are equivalent" in compiled.message
    assert "clique tree" in compiled.message


def test_an_error_is_found():
    network = random_network(np.random.default_rng(9), 4)
    graph = compile_network(network)
    shifted = graph.parameters.copy()
    shifted[:2] = 0.25, 0.75
    wrong = graph.with_parameters(shifted)
    assert max_error(network, wrong, np.random.default_rng(0), 100) > 1e-3
    impossible = graph.with_parameters(
        np.where(graph.parameters < 0.4, 0.0, graph.parameters)
    )
    assert max_error(network, impossible, np.random.default_rng(0), 100) == np.inf


def test_equal_values_have_equal_numbers():
    values = np.array([[0.0, 0.5, 0.5 * (1 + 1e-15)], [0.3, 1e-300, 0.5 + 1e-9]])
    assert equal_values(values).tolist() == [[0, 3, 3], [2, 1, 4]]
    drifting = 0.5 * (1 + 4e-14) ** np.arange(6)
    assert equal_values(drifting).tolist() == [0, 0, 0, 1, 1, 1]
    rng = np.random.default_rng(0)
    exact = rng.exponential(size=500)
    near = exact * (1 + rng.uniform(-4e-14, 4e-14, 500))
    assert (equal_values(np.array([exact, near])) == exact.argsort().argsort()).all()


@given(st.lists(st.lists(st.integers(-1, 2), min_size=3, max_size=3), max_size=40))
@settings(max_examples=50)
def test_rows_are_grouped_by_first_appearance(rows):
    keys = np.array(rows, np.int32).reshape(-1, 3)
    labels, first = index_rows(keys)
    seen = list(dict.fromkeys(map(tuple, rows)))
    assert labels.tolist() == [seen.index(tuple(row)) for row in rows]
    assert first.tolist() == [rows.index(list(row)) for row in seen]


def test_contexts_are_the_separating_ancestors():
    # a -> b -> c, a -> c, c -> d: below c only d, which c separates from the rest
    adjacency = moral_graph(((), (0,), (0, 1), (2,)))
    forest = variable_forest(adjacency, (0, 1, 2, 3))
    assert forest.contexts == ((), (0,), (0, 1), (2,))
    assert forest.parents == (-1, 0, 1, 2)
    assert forest.expanded_size((2, 2, 2, 2)) == 2 + 4 + 8 + 4
    assert components(moral_graph(((), (), (0,)))) == [(0, 2), (1,)]


@given(st.integers(0, 10_000), st.integers(1, 5), st.sampled_from([0.1, 1.0, np.inf]))
@settings(max_examples=60)
def test_unreached_nodes_give_way_to_the_most_similar_ones(seed, n, least):
    """By the divergence of all that is below two nodes, state by state."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, zeros=0)
    codes = rng.integers(0, graph.cardinalities, (3, n)).astype(np.int16)
    codes[rng.random(codes.shape) < 0.2] = -1
    dataset = Dataset(codes, graph.names, graph.states)
    small = collapse_unreached(graph, dataset, least)
    small.check()
    before, after = log_likelihood_rows(graph, codes), log_likelihood_rows(small, codes)
    np.testing.assert_allclose(before, after, rtol=1e-12)
    met = (
        np.add.reduceat(expected_counts(graph, codes), graph.parameter_offsets[:-1]) > 0
    )
    reach = np.add.reduceat(node_probabilities(graph), graph.parameter_offsets[:-1])
    assert (
        small.node_counts <= np.bincount(graph.variable[met | (3 * reach >= least)])
    ).all()
    assert (small.node_counts >= np.bincount(graph.variable[met])).all()
    if least == np.inf:
        _check_successors(graph, small, met)


def _check_successors(graph, small, met):
    """Each edge into a node that no row reaches leads to the node of least divergence."""
    nodes = np.flatnonzero(met)
    for new, old in enumerate(nodes.tolist()):
        v = int(graph.variable[old])
        at, place = old - graph.first_nodes[v], new - small.first_nodes[v]
        for x, k in np.ndindex(graph.successors_of(v).shape[1:]):
            head, child = int(graph.successors_of(v)[at, x, k]), graph.children[v][k]
            led = int(small.successors_of(v)[place, x, k])
            if met[head]:
                assert nodes[led] == head
                continue
            p = distribution_below(graph, head)
            divergences = {}
            for other in np.flatnonzero(small.variable == child).tolist():
                q = distribution_below(small, other)
                divergences[other] = sum(p[s] * np.log(p[s] / q[s]) for s in p)
            assert divergences[led] == pytest.approx(
                min(divergences.values()), abs=1e-9
            )


def test_too_many_pairs_of_nodes_are_refused(monkeypatch):
    network = random_network(np.random.default_rng(12), 5)
    row = network.sample(1, np.random.default_rng(0))
    monkeypatch.setattr(hybrid, "MOST_DIVERGENCES", 1)
    with pytest.raises(TooLargeError, match="pairs of a variable's nodes"):
        collapse_unreached(compile_network(network), row)


def test_collapsing_needs_possible_rows():
    network = coarse_network(np.random.default_rng(3), 4)
    graph = compile_network(network)
    impossible = np.argwhere(graph_joint(graph) == 0)[:1].astype(np.int16)
    with pytest.raises(DataError, match="probability zero"):
        collapse_unreached(graph, Dataset(impossible, graph.names, graph.states))


def test_marginals_survive_renaming_and_reordering(alarm):
    order = np.random.default_rng(2).permutation(alarm.n_variables)
    place = np.argsort(order)
    shuffled = replace(
        alarm,
        names=tuple(alarm.names[v] for v in order),
        states=tuple(alarm.states[v] for v in order),
        parents=tuple(tuple(int(place[p]) for p in alarm.parents[v]) for v in order),
        tables=tuple(alarm.tables[v] for v in order),
    )
    evidence = {"HRBP": "LOW", "CO": "HIGH"}
    answers = []
    for network in (alarm, shuffled):
        row = np.full((1, network.n_variables), -1, np.int16)
        for name, state in evidence.items():
            row[0, network.index(name)] = network.state_index(
                network.index(name), state
            )
        graph = compile_network(network)
        ends = np.cumsum(graph.cardinalities)
        posterior = np.split(posteriors(graph, row)[0], ends[:-1])
        answers.append(dict(zip(network.names, posterior, strict=True)))
    for name in alarm.names:
        np.testing.assert_allclose(answers[0][name], answers[1][name], rtol=1e-10)


def test_a_clique_of_two_to_the_thirty_cells_is_not_expanded():
    """All pairs of 30 roots have a child, but most of the tables tell nothing of the parents."""
    n, rng = 30, np.random.default_rng(0)
    pairs = [(i, j) for j in range(n) for i in range(j)]
    tables = [np.array([p, 1 - p]) for p in rng.uniform(0.1, 0.9, n)]
    for i, j in pairs:
        told = rng.uniform(0.1, 0.9, 2) if j == i + 1 else np.full(2, 0.3)
        tables.append(np.stack([np.stack([told, 1 - told], axis=-1)] * 2))
    total = n + len(pairs)
    network = BayesianNetwork(
        tuple(f"x{v}" for v in range(total)),
        (("0", "1"),) * total,
        (*(() for _ in range(n)), *pairs),
        tuple(tables),
    )
    forest = [*range(-1, n - 1), *(j for _, j in pairs)]
    graph = compile_network(network, forest=forest)
    graph.check()
    assert (
        graph.n_nodes == n + len(pairs) + n - 1
    )  # two for each child that tells a parent apart
    assert (
        max_error(network, graph, np.random.default_rng(1), 50) < 1e-11
    )  # sums of 465 logarithms
