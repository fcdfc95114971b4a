import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.bayesnet.network import BayesianNetwork, without_irrelevant_parents
from exactlearn.formats.bif import read_bif
from exactlearn.pdg.compile.compile import compile_and_check
from exactlearn.queries.posteriors import query
from tests.network_oracle import joint, random_network
from tests.pdg_oracle import graph_joint


def with_idle_parents(
    rng: np.random.Generator, network: BayesianNetwork
) -> BayesianNetwork:
    """Give variables further parents on which their rows do not depend."""
    parents, tables = list(network.parents), list(network.tables)
    place = {v: i for i, v in enumerate(network.order)}
    for v in range(network.n_variables):
        for u in range(network.n_variables):
            if place[u] < place[v] and u not in parents[v] and rng.random() < 0.5:
                axis = int(rng.integers(len(parents[v]) + 1))
                parents[v] = (*parents[v][:axis], u, *parents[v][axis:])
                copies = [tables[v]] * int(network.cardinalities[u])
                tables[v] = np.stack(copies, axis)
    return BayesianNetwork(network.names, network.states, tuple(parents), tuple(tables))


@given(st.integers(0, 10_000), st.integers(1, 5))
@settings(max_examples=30)
def test_idle_parents_go_and_the_joint_stays(seed, n):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n)
    wider = with_idle_parents(rng, network)
    reduced = without_irrelevant_parents(wider)
    assert all(
        set(few) <= set(many)
        for few, many in zip(reduced.parents, network.parents, strict=True)
    )
    np.testing.assert_allclose(joint(reduced), joint(wider), rtol=1e-13)
    compiled = compile_and_check(wider, steps=0)
    np.testing.assert_allclose(graph_joint(compiled.graph), joint(wider), rtol=1e-12)
    assert compiled.max_error < 1e-12


def test_a_parent_that_matters_in_one_row_only_stays():
    table = np.array([[[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5 + 1e-9]]])
    root = np.array([0.5, 0.5])
    states = (("0", "1"),) * 3
    network = BayesianNetwork(
        ("a", "b", "c"), states, ((), (), (0, 1)), (root, root, table)
    )
    assert without_irrelevant_parents(network).parents == ((), (), (0, 1))


@pytest.mark.parametrize(("name", "dropped"), [("insurance", 2), ("barley", 7)])
def test_known_networks_have_idle_parents(data_dir, name, dropped):
    network = read_bif(data_dir / "bif" / f"{name}.bif.gz")
    assert len(network.arcs) - len(without_irrelevant_parents(network).arcs) == dropped


def test_queries_do_not_feel_the_difference():
    rng = np.random.default_rng(3)
    network = random_network(rng, 6)
    wider = with_idle_parents(rng, network)
    evidence = {network.names[2]: network.states[2][0]}
    first, second = query(network, evidence), query(wider, evidence)
    for name, states in first.posterior.items():
        assert second.posterior[name] == pytest.approx(states, rel=1e-12)
