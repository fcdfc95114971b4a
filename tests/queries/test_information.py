"""Entropy and mutual information, against the full joint distribution and EM over rows."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exactlearn as el
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, TooLargeError
from exactlearn.queries import information
from tests.naive_bayes_oracle import full_joint, random_naive_bayes
from tests.network_oracle import joint, random_network
from tests.pdg_oracle import graph_joint, random_graph

SEEDS = st.integers(0, 10_000)


def summed_entropy(probabilities):
    """Return the entropy in nats of a distribution, state by state (THESIS, 4.4)."""
    positive = [p for p in np.ravel(probabilities).tolist() if p > 0]
    return -sum(p * np.log(p) for p in positive)


def network_with_joint(rng, n):
    model = random_network(rng, n)
    return model, joint(model)


def graph_with_joint(rng, n):
    graph = random_graph(rng, n)
    return graph, graph_joint(graph)


def naive_bayes_with_joint(rng, n):
    model = random_naive_bayes(rng, n, 3)
    return model, full_joint(model)


MODELS = (network_with_joint, graph_with_joint, naive_bayes_with_joint)


@given(SEEDS, st.integers(2, 4), st.sampled_from(MODELS), st.booleans(), st.booleans())
@settings(max_examples=40)
def test_the_entropy_is_that_of_the_full_joint(
    seed, n, model_with_joint, is_given, is_of_some
):
    rng = np.random.default_rng(seed)
    model, distribution = model_with_joint(rng, n)
    evidence, targets = None, None
    if is_given:
        row = model.sample(1, rng).codes[0] if hasattr(model, "sample") else None
        row = np.argwhere(distribution > 1e-3)[0] if row is None else row
        evidence = {model.names[0]: model.states[0][row[0]]}
        is_observed = np.arange(distribution.shape[0]) == row[0]
        distribution = np.where(
            is_observed.reshape(-1, *[1] * (n - 1)), distribution, 0.0
        )
        distribution = distribution / distribution.sum()
    if is_of_some:
        targets = [model.names[n - 1]]
        distribution = distribution.sum(axis=tuple(range(n - 1)))
    found = el.queries.entropy(model, evidence, targets)
    assert found == pytest.approx(summed_entropy(distribution), abs=1e-9)


def test_entropy_of_a_large_network_is_computed_by_its_graph(monkeypatch):
    network = random_network(np.random.default_rng(3), 4)
    expected = summed_entropy(joint(network))

    def refuse(*models):
        raise TooLargeError("too many cells")

    monkeypatch.setattr(information, "_expected_log_probability", refuse)
    assert el.queries.entropy(network) == pytest.approx(expected)


def test_impossible_evidence_has_no_entropy():
    network = el.read_network("asia")
    impossible = {"tub": "yes", "either": "no"}
    for targets in (None, "lung"):
        with pytest.raises(DataError, match="probability zero"):
            el.queries.entropy(network, impossible, targets)


@given(SEEDS, st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=15)
def test_component_entropies_condition_on_the_component(seed, n, components):
    model = random_naive_bayes(np.random.default_rng(seed), n, components)
    for component, found in enumerate(model.component_entropies):
        alone = replace(model, prior=np.eye(components)[component])
        assert found == pytest.approx(summed_entropy(full_joint(alone)))


def joint_by_em(x, y, r, s):
    """Return the joint distribution of two columns by EM, record by record (Algorithm 2)."""
    distribution = (
        np.full((r, s), 1 / (r * s)) + np.add.outer(np.arange(r), np.arange(s)) / 100
    )
    distribution /= distribution.sum()
    for _ in range(400):
        expected = np.zeros((r, s))
        for a, b in zip(x, y, strict=True):
            if a < 0 and b < 0:
                continue
            agreeing = (
                slice(None) if a < 0 else slice(a, a + 1),
                slice(None) if b < 0 else b,
            )
            expected[agreeing] += distribution[agreeing] / distribution[agreeing].sum()
        distribution = expected / expected.sum()
    return distribution


@given(SEEDS)
@settings(max_examples=3)
def test_mutual_information_of_a_pair_is_by_em_over_the_rows(seed):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(-1, 2, 25), rng.integers(-1, 3, 25)], axis=1)
    codes[:6] = [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    table = Dataset(codes.astype(np.int16), ("x", "y"), (("n", "y"), ("l", "m", "h")))
    distribution = joint_by_em(*codes.T, 2, 3)
    product = np.outer(distribution.sum(axis=1), distribution.sum(axis=0))
    expected = float((distribution * np.log(distribution / product)).sum())
    found = el.queries.mutual_information(table)
    assert (
        found.loc["x", "y"] == found.loc["y", "x"] == pytest.approx(expected, abs=1e-4)
    )


@given(SEEDS)
@settings(max_examples=10)
def test_mutual_information_is_that_of_weighted_proportions(seed):
    rng = np.random.default_rng(seed)
    codes, weights = rng.integers(0, 2, (12, 3)), rng.integers(1, 5, 12).astype(float)
    table = Dataset(codes.astype(np.int16), tuple("abc"), (("n", "y"),) * 3, weights)
    found = el.queries.mutual_information(table)
    shares = np.zeros((2, 2, 2))
    np.add.at(shares, tuple(codes.T), weights / weights.sum())
    for v in range(3):
        for u in range(3):
            others = tuple({0, 1, 2} - {u, v})
            of_each = [
                summed_entropy(shares.sum(axis=tuple({0, 1, 2} - {w}))) for w in (u, v)
            ]
            of_both = summed_entropy(shares.sum(axis=others))
            assert found.iloc[u, v] == pytest.approx(sum(of_each) - of_both, abs=1e-9)


def test_unobserved_pairs_and_columns_have_no_information():
    codes = np.array([[0, -1, -1], [1, -1, -1], [-1, 0, -1], [-1, 1, -1]], np.int16)
    found = el.queries.mutual_information(
        Dataset(codes, tuple("abc"), (("n", "y"),) * 3)
    )
    expected = np.diag([np.log(2), np.log(2), 0.0])
    np.testing.assert_allclose(found.to_numpy(), expected, atol=1e-12)
