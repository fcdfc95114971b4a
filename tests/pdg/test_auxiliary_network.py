"""THESIS, Theorem 3.5: a decision graph as a network with auxiliary variables."""

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.__main__ import main
from exactlearn.bayesnet.cliques import clique_tree
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.errors import TooLargeError
from exactlearn.formats.bif import read_bif
from exactlearn.formats.model_json import write_pdg
from exactlearn.instances import locate
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.model import node_functions
from exactlearn.pdg.model.node_functions import to_network
from exactlearn.queries.posteriors import query
from tests.command_line import fails
from tests.pdg_oracle import graph_joint, paper_example, random_graph


def full_joint(network):
    """The joint distribution, one axis a variable."""
    n = network.n_variables
    operands = []
    for v, (family, table) in enumerate(
        zip(network.parents, network.tables, strict=True)
    ):
        operands += [table, [*family, v]]
    return np.einsum(*operands, list(range(n)), optimize=True)


@given(st.integers(0, 10_000), st.integers(1, 5))
@settings(max_examples=40)
def test_marginal_over_graph_variables_is_its_distribution(seed, n):
    graph = random_graph(np.random.default_rng(seed), n)
    network = to_network(graph)
    assert network.names[:n] == graph.names
    assert network.states[:n] == graph.states
    added = tuple(range(n, network.n_variables))
    np.testing.assert_allclose(
        full_joint(network).sum(axis=added), graph_joint(graph), atol=1e-15
    )
    # An auxiliary variable has a state a node; one node needs none.
    for k in added:
        v = graph.index(network.names[k].removeprefix("node_of_"))
        first = int(graph.first_nodes[v])
        nodes = range(first, first + int(graph.node_counts[v]))
        assert network.states[k] == tuple(map(str, nodes))
        assert len(nodes) > 1
        assert ((network.tables[k] == 0) | (network.tables[k] == 1)).all()
    assert clique_tree(network).size(network.cardinalities) <= graph.effective_size**2


def test_parity_needs_one_auxiliary_variable_per_prefix():
    """THESIS, Example 3.11 and Figure 3.8(c): 8(n-1)+4 parameters with our n variables."""
    n = 6
    rows = np.array([row for row in np.ndindex((2,) * n) if sum(row) % 2 == 0])
    table = np.zeros((2,) * n)
    table[tuple(rows.T)] = 1.0
    table[table.sum(axis=-1) == 0] = 0.5
    coin = np.array([0.5, 0.5])
    parity = BayesianNetwork(
        tuple(f"x{k}" for k in range(n)),
        (("0", "1"),) * n,
        (*[()] * (n - 1), tuple(range(n - 1))),
        (*[coin] * (n - 1), table),
    )
    network = to_network(compile_network(parity))
    assert max(len(family) for family in network.parents) == 2
    # The first parity is the first variable itself, and only the last one depends on any.
    assert network.n_variables == n + n - 2


def test_a_tree_needs_none():
    states = (("a", "b", "c"), ("a", "b"), ("a", "b", "c"))
    rng = np.random.default_rng(0)
    tables = [
        rng.dirichlet(np.ones(3)),
        rng.dirichlet(np.ones(2), 3),
        rng.dirichlet(np.ones(3), 2),
    ]
    tree = BayesianNetwork(("x", "y", "z"), states, ((), (0,), (1,)), tuple(tables))
    network = to_network(compile_network(tree, forest=[-1, 0, 1]))
    assert network.parents == tree.parents
    for found, table in zip(network.tables, tables, strict=True):
        np.testing.assert_allclose(found, table)


def test_names_that_are_taken_and_tables_that_are_too_large(monkeypatch):
    graph = paper_example()
    assert "node_of_X3" in to_network(graph).names
    taken = type(graph)(
        ("X0", "X1", "node_of_X3", "X3"), graph.states, graph.forest, graph.variable,
        graph.parameters, graph.successors,
    )  # fmt: skip
    assert "node_of_X3_" in to_network(taken).names
    monkeypatch.setattr(node_functions, "LARGEST_TABLE", 11)
    with pytest.raises(TooLargeError, match="'X3' would have a table of 12 cells"):
        to_network(graph)


def test_conversion_to_a_file(tmp_path):
    graph = compile_network(read_bif(locate("asia", ".bif")))
    write_pdg(graph, tmp_path / "asia.pdg.json")
    command = ["convert", tmp_path / "asia.pdg.json", "-o", tmp_path / "asia.bif"]
    done = CliRunner().invoke(main, list(map(str, command)))
    assert "Auxiliary variables, node_of_X, tell" in done.stderr
    network = read_bif(tmp_path / "asia.bif")
    assert set(graph.names) < set(network.names)
    known = {"smoke": "yes", "dysp": "yes"}
    expected = query(graph, known, ["lung"]).posterior["lung"]
    assert query(network, known, ["lung"]).posterior["lung"] == pytest.approx(expected)
    assert "expected a file name" in fails(
        "convert", tmp_path / "asia.bif", "-o", tmp_path / "x.csv"
    )
