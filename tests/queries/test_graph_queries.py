from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError, TooLargeError
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.inference.flows import best_rows, sample_rows
from exactlearn.queries import explanations, information
from exactlearn.queries.explanations import (
    most_probable_explanations,
    most_probable_states,
)
from exactlearn.queries.information import kl_divergence
from exactlearn.queries.posteriors import (
    classify,
    conditional,
    joint_posterior,
    query,
    query_rows,
)
from tests.network_oracle import joint, random_network
from tests.pdg_oracle import graph_joint, paper_example, random_graph

SEEDS = st.integers(0, 10_000)


def conditioned_joint(full, model, evidence):
    """Return the joint where it has the evidence's states, and its sum."""
    full = full.copy()
    for name, state in evidence.items():
        v = model.index(name)
        weights = [float(state == s) for s in model.states[v]]
        full = np.moveaxis(np.moveaxis(full, v, -1) * weights, -1, v)
    return full, full.sum()


def random_evidence(rng, model, row):
    """Return evidence that a row has."""
    return {
        x: model.states[v][row[v]]
        for v, x in enumerate(model.names)
        if rng.random() < 0.4
    }


def case(seed, n):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n)
    evidence = random_evidence(rng, graph, sample_rows(graph, 1, rng)[0])
    full, total = conditioned_joint(graph_joint(graph), graph, evidence)
    return rng, graph, evidence, full / total, total


@given(SEEDS, st.integers(1, 5))
@settings(max_examples=25)
def test_answers_and_joints_agree_with_the_full_joint(seed, n):
    rng, graph, evidence, full, total = case(seed, n)
    answer = query(graph, evidence, graph.names)
    assert answer.probability_of_evidence == pytest.approx(total, rel=1e-12)
    for v, name in enumerate(graph.names):
        expected = full.sum(axis=tuple(u for u in range(n) if u != v))
        np.testing.assert_allclose(
            list(answer.posterior[name].values()), expected, atol=1e-13
        )
    chosen = rng.permutation(n)[: rng.integers(1, n + 1)].tolist()
    rest = tuple(v for v in range(n) if v not in chosen)
    expected = full.sum(axis=rest).transpose(np.argsort(np.argsort(chosen)))
    found = joint_posterior(graph, evidence, [graph.names[v] for v in chosen])
    np.testing.assert_allclose(found, expected, atol=1e-13)


@given(SEEDS, st.integers(1, 5), st.sampled_from([1, 2, 7, 1000]))
@settings(max_examples=25)
def test_the_best_rows_are_those_of_the_sorted_joint(seed, n, k):
    _, graph, evidence, full, _ = case(seed, n)
    found = most_probable_explanations(graph, evidence, k)
    expected = np.sort(full[full > 0])[::-1][:k]
    np.testing.assert_allclose([e.probability for e in found], expected, rtol=1e-11)
    rows, _ = best_rows(conditional(graph, evidence), k)
    assert len(set(map(tuple, rows.tolist()))) == len(rows)
    np.testing.assert_allclose(full[tuple(rows.T)], expected, rtol=1e-11)
    assert set(found[0].states) == {*graph.names} - {*evidence}


@given(SEEDS, st.integers(1, 6))
@settings(max_examples=25)
def test_the_most_probable_states_are_the_joints_maximum(seed, n):
    rng, graph, evidence, full, _ = case(seed, n)
    chosen = rng.permutation(n)[: rng.integers(1, n + 1)].tolist()
    found = most_probable_states(graph, evidence, [graph.names[v] for v in chosen])
    marginal = full.sum(axis=tuple(v for v in range(n) if v not in chosen))
    assert found.probability == pytest.approx(marginal.max(), rel=1e-11)
    where = tuple(
        graph.state_index(v, found.states[graph.names[v]]) for v in sorted(chosen)
    )
    assert marginal[where] == pytest.approx(marginal.max(), rel=1e-11)


@given(SEEDS, st.integers(1, 5), st.sampled_from([1, 2, 7, 1000]))
@settings(max_examples=25)
def test_best_target_states_follow_the_sorted_marginal(seed, n, k):
    rng, graph, evidence, full, _ = case(seed, n)
    chosen = rng.permutation(n)[: rng.integers(1, n + 1)].tolist()
    targets = [graph.names[v] for v in chosen]
    best = most_probable_explanations(graph, evidence, k, targets=targets)
    marginal = full.sum(axis=tuple(v for v in range(n) if v not in chosen))
    expected = np.sort(marginal[marginal > 0])[::-1][:k]
    np.testing.assert_allclose(
        [each.probability for each in best], expected, rtol=1e-11
    )
    assert all(list(each.states) == targets for each in best)


def test_a_search_that_ends_unproven_says_so(monkeypatch):
    graph = random_graph(np.random.default_rng(6), 9, zeros=0)
    monkeypatch.setattr(explanations, "NODE_LIMIT", 1)
    with pytest.raises(TooLargeError, match="0 of the 1 most probable configurations"):
        most_probable_states(graph, None, [graph.names[v] for v in graph.order[-5:]])


@given(SEEDS, st.integers(1, 5), st.booleans(), st.sampled_from([0.0, 0.2]))
@settings(max_examples=25)
def test_divergence_agrees_with_the_full_joints(seed, n, same_forest, zeros):
    rng = np.random.default_rng(seed)
    p = random_graph(rng, n)
    for attempt in range(200):
        q = random_graph(np.random.default_rng(attempt), n, zeros=zeros)
        if q.states == p.states:
            break
    if same_forest or q.states != p.states:
        mixed = rng.random(len(p.parameters)) + (0.01 if zeros == 0 else -0.3)
        mixed = np.maximum(mixed, 0) + (p.parameters == p.parameters.max()) * 0.1
        sums = np.add.reduceat(mixed, p.parameter_offsets[:-1])
        mixed += np.repeat(sums == 0, np.diff(p.parameter_offsets))
        sums = np.add.reduceat(mixed, p.parameter_offsets[:-1])
        q = p.with_parameters(mixed / np.repeat(sums, np.diff(p.parameter_offsets)))
    one, other = graph_joint(p), graph_joint(q)
    possible = one > 0
    with np.errstate(divide="ignore"):
        expected = (one[possible] * np.log(one[possible] / other[possible])).sum()
    assert kl_divergence(p, q) == pytest.approx(max(0, expected), abs=1e-12)


def shuffled(model, rng):
    """Return a model with its variables and states in another order, and how to undo that."""
    places = rng.permutation(model.n_variables)
    states = tuple(tuple(rng.permutation(model.states[v]).tolist()) for v in places)
    like = BayesianNetwork(
        tuple(model.names[v] for v in places),
        states,
        ((),) * len(places),
        tuple(np.full(len(own), 1 / len(own)) for own in states),
    )
    codes = [
        [model.states[v].index(s) for s in own]
        for v, own in zip(places, states, strict=True)
    ]
    return model.reordered(like), places, codes


@given(SEEDS, st.integers(1, 5), st.booleans(), st.booleans())
@settings(max_examples=25)
def test_divergence_of_networks_agrees_with_the_full_joints(seed, n, p_zeros, q_zeros):
    rng = np.random.default_rng(seed)
    p = random_network(rng, n, most_states=2)
    q = random_network(rng, n, most_states=2)
    p, q = (with_zeros(m) if z else m for m, z in ((p, p_zeros), (q, q_zeros)))
    one, other = joint(p), joint(q)
    possible = one > 0
    with np.errstate(divide="ignore"):
        expected = (one[possible] * np.log(one[possible] / other[possible])).sum()
    again = shuffled(q, rng)[0]
    for model in (q, again, compile_network(again, steps=0)):
        for reference in (p, compile_network(p, steps=0)):
            found = kl_divergence(reference, model)
            assert found == pytest.approx(max(0, expected), rel=1e-9, abs=1e-12)


def test_divergence_between_network_and_graph_compiles_neither(monkeypatch):
    p = random_network(np.random.default_rng(3), 5)
    graph = compile_network(random_network(np.random.default_rng(3), 5), steps=0)

    def refuse(model):
        raise AssertionError("compiled")

    monkeypatch.setattr(information, "as_graph", refuse)
    assert kl_divergence(p, graph) == pytest.approx(0, abs=1e-12)
    assert kl_divergence(graph, p) == pytest.approx(0, abs=1e-12)


def with_zeros(network):
    """Return a network whose tiny probabilities are zero."""
    tables = (np.where(t < 1e-9, 0, t) for t in network.tables)
    return replace(
        network, tables=tuple(t / t.sum(axis=-1, keepdims=True) for t in tables)
    )


@given(SEEDS, st.integers(1, 5), st.booleans())
@settings(max_examples=20)
def test_a_reordered_model_has_the_same_joint(seed, n, is_network):
    rng = np.random.default_rng(seed)
    model = random_network(rng, n) if is_network else random_graph(rng, n)
    full = (joint if is_network else graph_joint)(model)
    found, places, codes = shuffled(model, rng)
    if not is_network:
        found.check()
    expected = full.transpose(places)[np.ix_(*codes)]
    np.testing.assert_allclose(
        (joint if is_network else graph_joint)(found), expected, atol=1e-15
    )
    back = found.reordered(model)
    assert (back.names, back.states) == (model.names, model.states)
    np.testing.assert_allclose(
        (joint if is_network else graph_joint)(back), full, atol=1e-15
    )


def test_sampling_given_evidence_follows_the_posterior():
    graph = conditional(paper_example(), {"X3": "0", "X1": "1"})
    rows = sample_rows(graph, 20_000, np.random.default_rng(0))
    assert (rows[:, 3] == 0).all()
    expected = graph_joint(graph)
    seen = np.zeros_like(expected)
    np.add.at(seen, tuple(rows.T), 1 / len(rows))
    assert abs(seen - expected).max() < 0.02
    again = sample_rows(graph, 20_000, np.random.default_rng(0))
    assert np.array_equal(rows, again)


@given(SEEDS, st.integers(2, 5))
@settings(max_examples=15)
def test_tables_are_answered_row_by_row_on_any_number_of_threads(seed, n):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n)
    codes = network.sample(12, rng).codes.copy()
    codes[rng.random(codes.shape) < 0.4] = -1
    table = Dataset(codes, network.names, network.states)
    one, two = (query_rows(network, table, threads=t) for t in (1, 2))
    for a, b in zip(one.posteriors, two.posteriors, strict=True):
        assert np.array_equal(a, b)
    named = classify(network, table, network.names[0])
    for i, row in enumerate(codes):
        seen = {
            network.names[v]: network.states[v][row[v]] for v in range(n) if row[v] >= 0
        }
        answer = query(network, seen, network.names)
        for name, posterior in zip(one.names, one.posteriors, strict=True):
            np.testing.assert_allclose(
                posterior[i], list(answer.posterior[name].values()), atol=1e-12
            )
        seen.pop(network.names[0], None)
        expected = query(network, seen, [network.names[0]]).posterior[network.names[0]]
        np.testing.assert_allclose(
            named.posterior[i], list(expected.values()), atol=1e-12
        )
    assert np.array_equal(named.labels, codes[:, 0])


def test_mistakes_are_refused():
    graph = paper_example()
    with pytest.raises(
        OptionError, match="'k': expected a whole number from 1, found 0"
    ):
        most_probable_explanations(graph, {}, 0)
    with pytest.raises(OptionError, match="each once"):
        most_probable_states(graph, None, ["X1", "X1"])
    with pytest.raises(OptionError, match="name each variable once"):
        joint_posterior(graph, None, ["X1", "X1"])
    with pytest.raises(OptionError, match="same variables"):
        kl_divergence(graph, random_graph(np.random.default_rng(0), 4))
    with pytest.raises(OptionError, match="'rows': expected a whole number from 0"):
        sample_rows(graph, -1, np.random.default_rng(0))
    table = Dataset(np.zeros((1, 1), np.int16), ("Y",), (("0",),))
    with pytest.raises(DataError, match="no variables of the model"):
        query_rows(graph, table)


def test_too_large_questions_are_refused_with_their_size():
    graph = random_graph(np.random.default_rng(1), 30, zeros=0)
    with pytest.raises(TooLargeError, match="configurations, the limit is 1,000,000"):
        joint_posterior(graph, None, graph.names)


def test_divergence_across_forests_that_is_too_large_is_refused(monkeypatch):
    rng = np.random.default_rng(2)
    p = random_graph(rng, 4)
    q = next(
        q
        for q in (random_graph(np.random.default_rng(s), 4) for s in range(200))
        if q.states == p.states and not np.array_equal(q.forest, p.forest)
    )
    monkeypatch.setattr(information, "MAX_CELLS", 3)
    with pytest.raises(TooLargeError, match="compile both over the same forest"):
        kl_divergence(p, q)
