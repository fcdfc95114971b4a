from contextlib import suppress
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.cliques import clique_tree
from exactlearn.bayesnet.network import BayesianNetwork, without_irrelevant_parents
from exactlearn.errors import CheckError, DataError, OptionError, TooLargeError
from exactlearn.formats.bif import read_bif
from exactlearn.graphs.dag import moral_graph
from exactlearn.pdg.compile import forest_search
from exactlearn.pdg.compile.annealing import Annealing, SetTables
from exactlearn.pdg.compile.compile import compile_and_check, compile_network, max_error
from exactlearn.pdg.compile.expansion import Expansion, least_cells
from exactlearn.pdg.compile.forest_search import first_forests
from exactlearn.pdg.compile.residuals import Residuals, mask_of
from exactlearn.pdg.model.forest import components, forest_over, variable_forest
from tests.interrupts import press_ctrl_c
from tests.network_oracle import joint, random_network
from tests.pdg_oracle import coarse_network, fewest_nodes, graph_joint


@pytest.fixture(scope="module")
def alarm(data_dir) -> BayesianNetwork:
    return read_bif(data_dir / "bif" / "alarm.bif.gz")


def chain(network, rng, steps):
    """Anneal the largest part from a random order; return the chain and the moral graph."""
    adjacency = moral_graph(network.parents)
    part = max(components(adjacency), key=len)
    forest = variable_forest(adjacency, rng.permutation(part).tolist())
    found = Annealing(SetTables(Residuals(network)), adjacency, forest)
    found.run(rng, steps, (0.5, 0.01), lambda made: False)
    return found, adjacency


@given(
    st.integers(0, 10_000),
    st.integers(2, 6),
    st.sampled_from([random_network, coarse_network]),
)
@settings(max_examples=40)
def test_a_chain_knows_the_size_of_the_graph_that_is_built(seed, n, make):
    rng = np.random.default_rng(seed)
    network = make(rng, n)
    found, adjacency = chain(network, rng, 40)
    forest = forest_over(adjacency, found.tree.parents, found._variables)
    assert Expansion(found.tables.residuals, forest).effective_size == found.size


@given(st.integers(0, 10_000), st.integers(2, 6))
@settings(max_examples=25)
def test_any_forest_gives_the_joint_with_the_fewest_nodes(seed, n):
    rng = np.random.default_rng(seed)
    network = coarse_network(rng, n)
    assume(len(components(moral_graph(network.parents))) == 1)
    found, _ = chain(network, rng, 20)
    parents = np.array(found.tree.parents)
    graph = compile_network(network, forest=parents)
    graph.check()
    assert (graph.forest == parents).all()
    full = joint(network)
    np.testing.assert_allclose(graph_joint(graph), full, rtol=1e-12, atol=0)
    assert graph.node_counts.tolist() == fewest_nodes(graph, full)


def test_no_two_nodes_of_a_variable_are_the_same_function(data_dir):
    """Random weights of all states tell different functions apart by their out-flows."""
    for name in ("asia", "child", "win95pts"):
        graph = compile_network(read_bif(data_dir / "bif" / f"{name}.bif.gz"), steps=0)
        rng = np.random.default_rng(3)
        flows = {
            v: np.empty((graph.node_counts[v], 12)) for v in range(graph.n_variables)
        }
        weights = {
            v: rng.exponential(size=(graph.cardinalities[v], 12)) ** 3 for v in flows
        }
        for v in graph.order[::-1].tolist():
            terms = graph.parameters_of(v)[:, :, None] * weights[v]
            for place, child in enumerate(graph.children[v]):
                below = graph.successors_of(v)[:, :, place] - graph.first_nodes[child]
                terms = terms * flows[child][below]
            flows[v] = terms.sum(axis=1)
            apart = np.abs(flows[v][:, None] / flows[v][None] - 1).max(axis=2)
            np.fill_diagonal(apart, 1)
            assert apart.min() > 1e-9


def test_more_steps_never_give_a_larger_graph(alarm):
    """Each gain is reported."""
    told = []
    sizes = [
        compile_network(alarm, steps=steps, seed=5, on_event=told.append).effective_size
        for steps in (0, 1000, 6000)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert told[-1] == sizes[-1] < sizes[0]


def test_a_time_limit_of_zero_keeps_the_first_forest(alarm):
    compiled = compile_and_check(alarm, time_limit=0)
    assert compiled.finished
    assert compiled.max_error < 1e-12


def test_an_interrupt_keeps_the_best_forest(alarm):
    def interrupt(size):
        told.append(size)
        press_ctrl_c()

    told: list[int] = []
    compiled = compile_and_check(alarm, steps=100_000, on_event=interrupt)
    assert not compiled.finished
    assert [compiled.graph.effective_size] == told
    assert compiled.max_error < 1e-12


def test_a_forest_must_hold_each_family_on_one_path():
    network = BayesianNetwork(
        ("a", "b", "c"),
        (("0", "1"),) * 3,
        ((), (), (0, 1)),
        (
            np.array([0.2, 0.8]),
            np.array([0.4, 0.6]),
            np.array([[[0.1, 0.9], [0.2, 0.8]], [[0.3, 0.7], [0.4, 0.6]]]),
        ),
    )
    with pytest.raises(CheckError, match="neither stands above"):
        compile_network(network, forest=[-1, -1, 0])
    with pytest.raises(DataError, match="one parent or -1 for each variable"):
        compile_network(network, forest=[-1, 0])
    with pytest.raises(CheckError, match="cycle"):
        compile_network(network, forest=[1, 0, 1])
    assert compile_network(network, forest=[-1, 0, 1]).n_nodes == 7


def test_limits_must_not_be_negative(alarm):
    with pytest.raises(OptionError, match="'time_limit': expected a number from 0"):
        compile_network(alarm, time_limit=-1)


@given(st.integers(0, 10_000), st.integers(2, 6))
@settings(max_examples=25)
def test_joined_forests_are_no_larger_than_any_visited_chain(seed, n):
    rng = np.random.default_rng(seed)
    network = coarse_network(rng, n)
    found, adjacency = chain(network, rng, 40)
    tables, part = found.tables, found._variables
    size, parents = tables.smallest(mask_of(part))
    forest = forest_over(adjacency, parents, part)
    assert Expansion(tables.residuals, forest).effective_size == size <= found.size


def smallest_size(network, full, part):
    """Return the smallest size of all trees over a part, nodes counted in the joint."""
    forest, r, sizes = (
        compile_network(network, steps=0).forest.copy(),
        network.cardinalities,
        [],
    )
    for above in product([-1, *part], repeat=len(part)):
        forest[list(part)] = above
        with suppress(CheckError):
            graph = compile_network(network, forest=forest)
            nodes = fewest_nodes(graph, full)
            sizes.append(
                sum(r[v] * nodes[v] * max(1, len(graph.children[v])) for v in part)
            )
    return min(sizes)


@given(
    st.integers(0, 10_000),
    st.integers(1, 4),
    st.sampled_from([random_network, coarse_network]),
)
@settings(max_examples=25, deadline=None)
def test_no_forest_of_a_small_network_has_a_smaller_graph(seed, n, make):
    network = without_irrelevant_parents(make(np.random.default_rng(seed), n))
    full, parts = joint(network), components(moral_graph(network.parents))
    compiled = compile_and_check(network)
    assert compiled.graph.effective_size == sum(
        smallest_size(network, full, part) for part in parts
    )
    assert compiled.status == "optimal"


def test_a_larger_network_is_not_proven(alarm):
    assert compile_and_check(alarm, steps=10).status == "feasible"


def test_an_interrupt_of_the_first_build_keeps_what_there_is(monkeypatch):
    calls = []

    def interrupted(*given, **options):
        calls.append(given)
        if len(calls) == 1:
            press_ctrl_c()
        return Expansion(*given, **options)

    network = random_network(np.random.default_rng(4), 5)
    monkeypatch.setattr(forest_search, "Expansion", interrupted)
    compiled = compile_and_check(network)
    assert not compiled.finished
    assert compiled.message.startswith("interrupted, this is one of the first forests")
    assert compiled.max_error < 1e-12
    calls.clear()
    with pytest.raises(
        KeyboardInterrupt
    ):  # a graph alone does not show an interrupted search
        compile_network(network)
    calls.clear()
    with SearchControl().running() as control:
        graph = compile_network(network)
    assert control.is_stopped
    assert max_error(network, graph, np.random.default_rng(0)) < 1e-12


@given(st.integers(0, 10_000), st.integers(2, 7))
@settings(max_examples=30)
def test_samples_never_claim_of_more_cells_than_there_are(seed, n):
    network = coarse_network(np.random.default_rng(seed), n)
    forest, residuals = (
        first_forests(network, clique_tree(network))[0],
        Residuals(network),
    )
    told = list(least_cells(residuals, forest, np.random.default_rng(seed), 200))
    assert len(told) == len(forest.order)
    assert told[-1] <= Expansion(residuals, forest).cells


def test_a_far_too_large_graph_is_refused_before_construction(monkeypatch):
    rng, n = np.random.default_rng(0), 24
    names, states = tuple(f"x{i}" for i in range(n)), (("0", "1"),) * n
    parents = tuple(tuple(range(max(0, i - 12), i)) for i in range(n))
    tables = tuple(rng.dirichlet((1, 1), (2,) * len(p)) for p in parents)
    network = BayesianNetwork(names, states, parents, tables)
    monkeypatch.setattr(
        forest_search, "Expansion", lambda *_: pytest.fail("written out")
    )
    with pytest.raises(
        TooLargeError, match=r"more than 10,000 cells .* up to 1\d\d,\d\d\d cells if"
    ):
        compile_network(network, max_size=10_000)
