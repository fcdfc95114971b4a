from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.errors import CheckError, OptionError
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.pdg.model.forest import forest_order
from tests.pdg_oracle import graph_joint, paper_example, random_graph


def test_sizes_of_the_papers_example():
    graph = paper_example()
    graph.check()
    # 2 states x (1 node x 2 children + 2 nodes + 2 nodes + 3 nodes), and one free parameter a node
    assert graph.effective_size == 2 * (1 * 2 + 2 + 2 + 3)
    assert graph.representational_size == 8
    assert graph.n_nodes == 8


def test_nodes_stand_variable_by_variable():
    graph = paper_example()
    assert graph.order.tolist() == [0, 1, 3, 2]
    assert graph.variable.tolist() == [0, 1, 1, 3, 3, 3, 2, 2]
    assert graph.successors_of(0).tolist() == [[[1, 6], [2, 7]]]
    assert graph.parameters_of(3)[1].tolist() == [0.3, 0.7]
    assert graph.parameter_offsets[5] == 10
    assert graph.successor_offsets.tolist() == [0, 4, 6, 8, 8, 8, 8, 8, 8]


@given(st.integers(0, 10_000), st.integers(1, 5))
@settings(max_examples=30)
def test_random_graphs_are_distributions(seed, n):
    graph = random_graph(np.random.default_rng(seed), n)
    graph.check()
    assert graph_joint(graph).sum() == pytest.approx(1)
    difference = sum(
        m * (1 + r * (k - 1)) if k else m
        for m, r, k in zip(
            graph.node_counts, graph.cardinalities, graph.child_counts, strict=True
        )
    )
    # THESIS (3.54), where a leaf counts one child
    assert graph.effective_size - graph.representational_size == difference


def broken(**changes) -> DecisionGraph:
    return replace(paper_example(), **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"forest": np.array([-1, 2, 1, 1])}, "cycle"),
        ({"forest": np.array([-1, 7, 0, 1])}, "variable 1: forest parent 7"),
        ({"variable": np.array([0, 1, 1, 3, 3, 3, 3, 3])}, "'X2' has no node"),
        ({"variable": np.array([0, 1, 2, 3, 3, 3, 1, 2])}, "do not stand together"),
        ({"variable": np.array([0, 3, 3, 1, 1, 1, 2, 2])}, "'X3' stand before"),
        (
            {"variable": np.array([0, 0, 1, 3, 3, 3, 2, 2])},
            "root variable 'X0' has 2 nodes",
        ),
        ({"parameters": np.full(15, 0.5)}, "15 parameters"),
        ({"parameters": np.full(16, 0.4)}, r"node 0 \('X0'\) sum to"),
        ({"parameters": np.array([1.5, -0.5] * 8)}, "negative"),
        ({"parameters": np.full(16, np.nan)}, "not a number"),
        ({"successors": np.array([1, 6, 2, 7, 4, 3, 4])}, "7 successors"),
        ({"successors": np.array([1, 6, 2, 5, 4, 3, 4, 5])}, "another variable"),
        ({"successors": np.array([1, 6, 2, 8, 4, 3, 4, 5])}, "another variable"),
        (
            {"successors": np.array([1, 6, 2, 7, 4, 3, 4, 3])},
            r"node 5 \('X3'\) is no successor",
        ),
    ],
)
def test_what_is_no_decision_graph_is_refused(changes, message):
    with pytest.raises(CheckError, match=message):
        broken(**changes).check()


def test_unknown_names_get_suggestions():
    with pytest.raises(OptionError, match=r"no variable 'X9'.* expected one of 'X0'"):
        paper_example().index("X9")
    with pytest.raises(OptionError, match="has no state 'yes'"):
        paper_example().state_index(0, "yes")


def test_forest_order_is_depth_first_by_variable():
    assert forest_order(np.array([2, -1, 1, 1, -1])) == (1, 2, 0, 3, 4)
