"""The decision graph of a clique tree without merging, beside the network and the compiled one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exactlearn as el
from exactlearn.bayesnet.cliques import CliqueTree, clique_tree
from exactlearn.errors import CheckError, OptionError, TooLargeError
from tests.network_oracle import joint, random_network


@given(st.integers(0, 10_000), st.integers(1, 6))
@settings(max_examples=40)
def test_unmerged_graph_has_a_node_for_each_configuration(seed, n):
    """Its joint distribution is that of the network."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, n)
    root = network.names[int(rng.integers(n))]
    graph = el.unmerged_graph(network, root=root)
    rows = np.indices(network.cardinalities).reshape(n, -1).T
    table = el.Dataset(rows.astype(np.int16), network.names, network.states)
    probabilities = np.exp(graph.log_likelihood_rows(table))
    assert probabilities == pytest.approx(joint(network).ravel(), abs=1e-12)
    assert graph.forest[network.index(root)] == -1
    # As many free parameters as cells of the cliques: a chain of new variables for each clique.
    tree = clique_tree(network)
    assert graph.n_nodes >= len(tree.cliques)
    assert el.compile_network(network).effective_size <= graph.effective_size


def test_the_clique_tree_of_example_4_2():
    """X1, X2, X3 on top; X4 hangs from X1's clique, X5 and X6 from X3's: Figures 4.20 and 4.21."""
    yes_no = ("0", "1")
    rng = np.random.default_rng(1)
    parents = ((), (0,), (0, 1), (0,), (2,), (2, 4))
    tables = tuple(rng.dirichlet([1, 1], size=[2] * len(ps)) for ps in parents)
    names = tuple(f"X{k}" for k in range(1, 7))
    network = el.BayesianNetwork(names, (yes_no,) * 6, parents, tables)
    tree = CliqueTree(((0, 1, 2), (0, 3), (2, 4, 5)), (-1, 0, 0))
    graph = el.unmerged_graph(network, tree=tree)
    assert graph.forest.tolist() == [-1, 0, 1, 2, 2, 4]
    nodes = graph.node_counts.tolist()
    assert nodes == [1, 2, 4, 2, 2, 4]
    with pytest.raises(CheckError, match="no clique holds the family"):
        el.unmerged_graph(
            network, tree=CliqueTree(((0, 1), (0, 3), (2, 4, 5)), (-1, 0, 0))
        )


def test_what_it_refuses():
    asia = el.read_network("asia")
    with pytest.raises(OptionError, match="no variable 'smoker'; did you mean 'smoke'"):
        el.unmerged_graph(asia, root="smoker")
    with pytest.raises(TooLargeError, match="would have 62 cells, the limit is 10"):
        el.unmerged_graph(asia, max_size=10)
