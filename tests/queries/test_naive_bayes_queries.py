"""Queries of naive Bayes models, against the full joint distribution."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exactlearn as el
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, TooLargeError
from exactlearn.evaluation.metrics import divergence
from exactlearn.queries import explanations
from exactlearn.queries.model_graphs import as_graph
from tests.naive_bayes_oracle import full_joint, random_naive_bayes
from tests.network_oracle import joint, random_network


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(1, 4))
@settings(max_examples=25)
def test_answers_agree_with_the_full_joint(seed, n, components):
    rng = np.random.default_rng(seed)
    model = random_naive_bayes(rng, n, components)
    row = model.sample(1, rng).codes[0].tolist()
    evidence, weighted = {}, full_joint(model)
    for v, name in enumerate(model.names):
        weights = np.ones(len(model.states[v]))
        if rng.random() < 0.4:
            evidence[name], weights = (
                model.states[v][row[v]],
                np.eye(len(weights))[row[v]],
            )
        weighted = weighted * weights.reshape(-1, *[1] * (n - 1 - v))
    answer = el.query(model, evidence, model.names)
    assert answer.probability_of_evidence == pytest.approx(weighted.sum())
    given_evidence = weighted / weighted.sum()
    for v, name in enumerate(model.names):
        expected = given_evidence.sum(axis=tuple(u for u in range(n) if u != v))
        assert list(answer.posterior[name].values()) == pytest.approx(
            expected.tolist(), abs=1e-12
        )
    some = rng.permutation(n)[: rng.integers(1, n + 1)].tolist()
    expected = given_evidence.sum(axis=tuple(u for u in range(n) if u not in some))
    expected = expected.transpose([sorted(some).index(v) for v in some])
    names = [model.names[v] for v in some]
    assert el.queries.joint_posterior(model, evidence, names) == pytest.approx(
        expected, abs=1e-12
    )


@given(st.integers(0, 10_000))
@settings(max_examples=20)
def test_explanations_sum_the_component_out(seed):
    model = random_naive_bayes(np.random.default_rng(seed), 4, 3)
    table = full_joint(model)
    two = el.queries.most_probable_states(model, None, ["X1", "X3"])
    assert two.probability == pytest.approx(table.sum(axis=(0, 2)).max())
    three = [e.probability for e in el.most_probable_explanations(model, k=3)]
    assert three == pytest.approx(
        np.sort(table, axis=None)[: -len(three) - 1 : -1].tolist()
    )


@given(st.integers(2, 4), st.integers(1, 3), st.integers(0, 10_000))
@settings(max_examples=15)
def test_equally_probable_configurations_come_by_their_states(n, components, seed):
    """Coins of probabilities 1/4, 1/2, 3/4: many configurations are exactly as probable."""
    heads = np.random.default_rng(seed).integers(1, 4, (n, components)) / 4
    parameters = np.stack([heads, 1 - heads], axis=1).reshape(2 * n, components)
    names = tuple(f"X{v}" for v in range(n))
    prior = np.full(components, 1 / components)
    model = NaiveBayes(names, (("head", "tail"),) * n, prior, parameters)
    table = full_joint(model)
    rows = sorted(
        np.ndindex(table.shape), key=lambda row: (-round(np.log(table[row]), 12), row)
    )
    expected = [
        dict(zip(names, (("head", "tail")[x] for x in row), strict=True))
        for row in rows
    ]
    explanations = el.most_probable_explanations(model, k=2**n)
    assert [each.states for each in explanations] == expected
    best = el.queries.most_probable_states(model, None, names)
    assert best.states == expected[0]
    assert best.probability == pytest.approx(table.max())


@pytest.mark.parametrize("kind", ["naive Bayes", "network", "decision graph"])
def test_a_fair_coin_has_a_most_probable_state(kind):
    coin = NaiveBayes(("coin",), (("head", "tail"),), np.ones(1), np.full((2, 1), 0.5))
    network = el.BayesianNetwork(coin.names, coin.states, ((),), (np.full(2, 0.5),))
    graph = el.compile_network(network)
    model = {"naive Bayes": coin, "network": network, "decision graph": graph}[kind]
    best = el.queries.most_probable_states(model, None, ["coin"])
    assert (best.states, best.probability) == ({"coin": "head"}, pytest.approx(0.5))
    both = el.most_probable_explanations(model, k=2)
    assert [each.states["coin"] for each in both] == ["head", "tail"]


def test_what_is_too_large_is_refused(monkeypatch):
    model = random_naive_bayes(np.random.default_rng(0), 21, 2, zeros=0.0)
    monkeypatch.setattr(explanations, "NODE_LIMIT", 30)
    with pytest.raises(TooLargeError, match="of the 99 most probable configurations"):
        el.most_probable_explanations(model, k=99)
    with pytest.raises(TooLargeError, match="the limit is 1,000,000"):
        el.queries.joint_posterior(model, None, model.names)
    with pytest.raises(DataError, match="probability zero"):
        el.queries.joint_posterior(
            random_naive_bayes(np.random.default_rng(3), 2, 1, 1.0), {"X0": "a"}, "X1"
        )


@given(st.integers(0, 10_000))
@settings(max_examples=20)
def test_rows_agree_with_single_queries(seed):
    rng = np.random.default_rng(seed)
    model = random_naive_bayes(rng, 4, 3)
    codes = model.sample(20, rng).codes.copy()
    codes[rng.random(codes.shape) < 0.4] = -1
    rows = Dataset(codes, model.names, model.states)
    answer = el.query_rows(model, rows)
    for i, row in enumerate(codes.tolist()):
        evidence = {
            model.names[v]: model.states[v][s] for v, s in enumerate(row) if s >= 0
        }
        one = el.query(model, evidence, model.names)
        assert answer.log_probability_of_evidence[i] == pytest.approx(
            one.log_probability_of_evidence
        )
        for v, name in enumerate(model.names):
            assert answer.posteriors[v][i] == pytest.approx(
                [*one.posterior[name].values()]
            )


@given(st.integers(0, 10_000))
@settings(max_examples=20)
def test_divergences_are_those_of_the_full_joints(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, 4)
    names, states = network.names, network.states
    parameters = np.vstack([rng.dirichlet(np.ones(len(s)), 3).T for s in states])
    model = NaiveBayes(names, states, rng.dirichlet(np.ones(3)), parameters)
    p, q = joint(network), full_joint(model)
    expected = float((p * np.log(np.where(p > 0, p / q, 1.0))).sum())
    assert el.kl_divergence(network, model) == pytest.approx(expected, abs=1e-9)
    turned = model.reordered(network.reordered(model))
    assert el.kl_divergence(turned, model) == pytest.approx(0.0, abs=1e-12)


def test_the_order_of_variables_and_states_does_not_matter():
    rng = np.random.default_rng(2)
    model = random_naive_bayes(rng, 3, 2)
    other = random_naive_bayes(rng, 3, 2)
    other = type(other)(
        model.names[::-1],
        tuple(s[::-1] for s in model.states[::-1]),
        model.prior,
        model.parameters[::-1].copy(),
    )
    assert (other.reordered(model).parameters == model.parameters).all()
    assert el.kl_divergence(model, other) == pytest.approx(0.0, abs=1e-12)


def test_large_models_are_compared_on_drawn_rows():
    rng = np.random.default_rng(0)
    p, q = (random_naive_bayes(rng, 24, 2, zeros=0.0) for _ in range(2))
    q = type(q)(
        p.names,
        p.states,
        p.prior,
        0.9 * p.parameters + 0.1 * p.parameters.mean(axis=1, keepdims=True),
    )
    found = divergence(p, q)
    assert found.method == "sampled"
    assert found.value > 0


def test_the_graph_has_the_component_as_its_root():
    model = random_naive_bayes(np.random.default_rng(4), 3, 2)
    taken = type(model)(
        ("component", *model.names[1:]), model.states, model.prior, model.parameters
    )
    graph = as_graph(taken)
    graph.check()
    assert graph.names == ("component", "X1", "X2", "component_")
    assert el.queries.joint_posterior(graph, None, taken.names) == pytest.approx(
        full_joint(model)
    )
