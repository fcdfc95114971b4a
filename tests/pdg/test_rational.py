from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.errors import CheckError, TooLargeError
from exactlearn.formats.bif import read_bif
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.compile.rational import compile_exactly, exact_tables
from tests.network_oracle import random_network
from tests.pdg_oracle import coarse_network, reached


@given(st.integers(0, 10_000), st.integers(1, 5), st.sampled_from([random_network, coarse_network]))
@settings(max_examples=30, deadline=None)
def test_every_row_has_exactly_the_networks_probability(seed, n, make):
    network = make(np.random.default_rng(seed), n)
    rounded = compile_network(network, steps=0)
    exact = compile_exactly(network, rounded.forest)
    exact.graph.check()
    tables = exact_tables(network)
    for row in np.ndindex(*network.cardinalities):
        families = zip(network.parents, tables, row, strict=True)
        expected = prod(table[tuple(row[p] for p in parents)][x] for parents, table, x in families)
        nodes = reached(exact.graph, row)
        offsets = exact.graph.parameter_offsets
        assert prod(exact.parameters[offsets[nodes[v]] + row[v]] for v in nodes) == expected
    assert exact.graph.node_counts.tolist() == rounded.node_counts.tolist()


def test_asia_in_fractions(data_dir):
    network = read_bif(data_dir / "bif" / "asia.bif.gz")
    graph = compile_network(network)
    exact = compile_exactly(network, graph.forest)
    assert exact.graph.effective_size == graph.effective_size == 40
    assert Fraction(49, 50) in exact.parameters
    np.testing.assert_allclose(exact.graph.parameters, [float(x) for x in exact.parameters])


def test_large_networks_are_refused(data_dir):
    network = read_bif(data_dir / "bif" / "pathfinder.bif.gz")
    with pytest.raises(TooLargeError, match="exact arithmetic over"):
        compile_exactly(network, compile_network(network, steps=0).forest)


def test_rows_that_differ_by_rounding_only_are_reported():
    root, table = np.array([0.5, 0.5]), np.array([[0.3, 0.7], [0.3 + 1e-15, 0.7]])
    network = BayesianNetwork(("a", "b"), (("0", "1"),) * 2, ((), (0,)), (root, table))
    with pytest.raises(CheckError, match="differ by rounding only"):
        compile_exactly(network, np.array([-1, -1]))
