"""Redirections measured against a reference, by sums over the joint distribution."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.data.dataset import Dataset
from exactlearn.pdg.learn.edge_counts import StructureScore, merged_rows, structure_of
from exactlearn.pdg.learn.redirections import (
    Reference,
    compacted,
    populate,
    redirect_edges,
)
from exactlearn.pdg.model.decision_graph import assemble
from exactlearn.pdg.model.forest import forest_children
from tests.pdg_oracle import graph_joint, random_graph, reached

SEEDS = st.integers(0, 10_000)
SHARES = st.sampled_from((0.0, 0.5, 1.0))
SCORES = st.builds(StructureScore, st.sampled_from((0.0, 0.3, 0.7, 0.9)))


def over_the_forest(rng, graph):
    """A graph over the forest of another one, with other nodes."""
    parameters, successors = {}, {}
    counts = np.ones(graph.n_variables, np.int64)
    children = forest_children(graph.forest)
    for v in graph.order.tolist():
        r = int(graph.cardinalities[v])
        parameters[v] = rng.dirichlet(np.ones(r), counts[v])
        edges = int(counts[v]) * r
        successors[v] = np.empty((counts[v], r, len(children[v])), np.int32)
        for place, child in enumerate(children[v]):
            counts[child] = rng.integers(1, min(4, edges) + 1)
            heads = rng.permutation(np.arange(edges) % counts[child])
            successors[v][:, :, place] = heads.reshape(counts[v], r)
    return assemble(graph.names, graph.states, graph.forest, parameters, successors)


def drawn(seed, share):
    """Return a reference, its weights of all rows of states, and a graph over its forest."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, int(rng.integers(1, 5)))
    codes = rng.integers(0, graph.cardinalities, (6, graph.n_variables))
    weights = rng.uniform(0.5, 3.0, 6)
    rows = merged_rows(Dataset(codes, graph.names, graph.states, weights))
    total = weights.sum()
    reference = Reference.of_graph(graph, share * total)
    reference = reference.joined(Reference.of_rows(rows, graph.forest, 1 - share))
    joint = share * total * graph_joint(graph)
    np.add.at(joint, tuple(codes.T), (1 - share) * weights)
    return reference, joint, over_the_forest(rng, graph)


def expected_log(joint, graph):
    """Return the expected log-probability of a graph, row by row."""
    some = joint > 0
    return float(joint[some] @ np.log(graph_joint(graph)[some]))


@given(SEEDS, SHARES)
@settings(max_examples=30)
def test_masses_are_those_of_the_joint(seed, share):
    reference, joint, start = drawn(seed, share)
    populated = populate(reference, structure_of(start))
    graph = populated.graph
    graph.check()
    masses = np.zeros(len(graph.parameters))
    for row in np.ndindex(joint.shape):
        for v, node in reached(graph, row).items():
            masses[graph.parameter_offsets[node] + row[v]] += joint[row]
    np.testing.assert_allclose(populated.masses, masses, atol=1e-9)
    assert populated.log_likelihood == pytest.approx(expected_log(joint, graph))


@given(SEEDS, SHARES)
@settings(max_examples=30)
def test_the_gain_of_each_redirection_is_that_of_the_joint(seed, share):
    """Every edge into every variable, led to every other node of it."""
    reference, joint, start = drawn(seed, share)
    populated = populate(reference, structure_of(start))
    graph = populated.graph
    n_states = graph.cardinalities[graph.variable]
    uniform = np.repeat(1 / n_states, n_states)
    graph = graph.with_parameters(0.9 * graph.parameters + 0.1 * uniform)
    structure, tables = structure_of(graph), {}
    for v in graph.order[::-1].tolist():
        below = [tables[child] for child in graph.children[v]]
        parameters = graph.parameters_of(v)
        tables[v] = reference.expected_logs(v, parameters, structure[v], below)
    before = expected_log(joint, graph)
    for v in np.flatnonzero(graph.forest >= 0).tolist():
        gains = populated.edge_masses[v] @ tables[v]
        heads = graph.edges_into(v)
        parent = int(graph.forest[v])
        place = graph.children[parent].index(v)
        for edge, head in np.ndindex(gains.shape):
            node, state = divmod(edge, heads.shape[1])
            moved = graph.successors_of(parent).copy()
            moved[node, state, place] = graph.first_nodes[v] + head
            successors = graph.successors.copy()
            first = graph.first_nodes[parent]
            begin = graph.successor_offsets[first]
            successors[begin : begin + moved.size] = moved.ravel()
            after = expected_log(joint, replace(graph, successors=successors))
            gain = gains[edge, head] - gains[edge, heads.ravel()[edge]]
            assert gain == pytest.approx(after - before, abs=1e-9)


@given(SEEDS, SHARES, SCORES)
@settings(max_examples=40)
def test_no_round_lets_the_score_fall(seed, share, score):
    reference, joint, start = drawn(seed, share)
    first = populate(reference, structure_of(start))
    rounds = [
        first,
        redirect_edges(first, reference, score),
        compacted(first, reference, score),
    ]
    scores = [score.of(each.graph, each.log_likelihood) for each in rounds]
    assert min(scores[1:]) >= scores[0] - 1e-9
    for each in rounds:
        each.graph.check()
        assert each.log_likelihood == pytest.approx(expected_log(joint, each.graph))
