from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.bayesnet.component_growth import (
    learn_naive_bayes,
    merged,
    naive_bayes_models,
    split,
)
from exactlearn.bayesnet.naive_bayes import ComponentEM, NaiveBayes
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError
from tests.naive_bayes_oracle import full_joint, random_naive_bayes


def table(rng, rows=60):
    """Rows of two clusters, with holes."""
    cluster = rng.integers(0, 2, rows)
    codes = np.array(
        [np.where(rng.random(rows) < 0.85, cluster, 1 - cluster) for _ in range(5)]
    ).T
    codes[:, 4] += rng.random(rows) < 0.2
    codes[rng.random(codes.shape) < 0.1] = -1
    states = (("0", "1"),) * 4 + (("0", "1", "2"),)
    return Dataset(codes, tuple("abcde"), states, rng.random(rows) + 0.5)


def joint(model: NaiveBayes, row):
    """Sum over components of the products, one factor after the other."""
    total = 0.0
    for c in range(model.n_components):
        value, start = model.prior[c], 0
        for v, states in enumerate(model.states):
            if row[v] >= 0:
                value *= model.parameters[start + row[v], c]
            start += len(states)
        total += value
    return total


def test_likelihoods_are_sums_over_components():
    rng = np.random.default_rng(0)
    data = table(rng)
    for model in naive_bayes_models(data, seed=1):
        if model.n_components > 3:
            break
        rows = [joint(model, row) for row in data.codes.tolist()]
        assert np.allclose(model.log_likelihood_rows(data), np.log(rows))
        everything = product(*(range(len(s)) for s in model.states))
        assert sum(joint(model, row) for row in everything) == pytest.approx(1)
        assert model.effective_size == 6 * model.n_components
        assert model.representational_size == 7 * model.n_components - 1


def test_clusters_are_found_and_counted():
    data = table(np.random.default_rng(3), rows=400)
    model = learn_naive_bayes(data).model
    assert model.n_components == 2
    again = learn_naive_bayes(data).model
    assert (again.parameters == model.parameters).all()
    assert learn_naive_bayes(data, size_weight=1.0).model.n_components == 1
    assert learn_naive_bayes(data, size_weight=0.0).model.n_components > 2


def test_one_component_has_the_relative_counts():
    data = Dataset(np.array([[0, 1], [0, -1], [1, 1]]), ("a", "b"), (("n", "y"),) * 2)
    model = next(naive_bayes_models(data, smoothing=0.0))
    assert model.parameters[:, 0].tolist() == pytest.approx(
        [2 / 3, 1 / 3, 0, 1], abs=1e-8
    )
    assert model.log_likelihood_rows(data).sum() == pytest.approx(
        2 * np.log(2 / 3) + np.log(1 / 3)
    )


def test_mistakes_are_reported():
    data = table(np.random.default_rng(0))
    with pytest.raises(OptionError, match="smoothing"):
        learn_naive_bayes(data, smoothing=-1)
    with pytest.raises(OptionError, match="size_weight"):
        learn_naive_bayes(data, size_weight=2)
    empty = Dataset(np.empty((0, 5), np.int8), data.names, data.states)
    with pytest.raises(DataError, match="no rows"):
        learn_naive_bayes(empty)


def test_a_number_of_components_is_met():
    data = table(np.random.default_rng(1), rows=200)
    for components in (1, 2, 5):
        assert (
            learn_naive_bayes(data, components=components).model.n_components
            == components
        )
    with pytest.raises(
        OptionError, match="'components': expected a whole number from 1, found 0"
    ):
        learn_naive_bayes(data, components=0)


@given(st.integers(0, 10_000))
@settings(max_examples=15)
def test_splits_and_merges_keep_distributions(seed):
    data = table(np.random.default_rng(seed), rows=50)
    seen = []
    for model in naive_bayes_models(data, seed=seed, components=7):
        model.check()
        assert model.parameters.min() > 0
        assert full_joint(model).sum() == pytest.approx(1)
        seen.append(model.n_components)
    assert seen == [1, 2, 3, 4, 6, 7]
    smaller = merged(model.table, 50.0, np.inf)
    assert smaller.shape[1] == 4  # three disjoint pairs
    NaiveBayes(model.names, model.states, smaller[0], smaller[1:]).check()


@given(st.integers(0, 10_000), st.integers(2, 5))
@settings(max_examples=25)
def test_a_merge_loses_no_more_than_its_bound(seed, components):
    """In the model's own distribution; with equal components nothing."""
    rng = np.random.default_rng(seed)
    model = random_naive_bayes(rng, 4, components)
    probabilities = full_joint(model)
    rows = np.argwhere(probabilities > 0)
    data = Dataset(rows, model.names, model.states, probabilities[tuple(rows.T)])
    before = data.total(model.log_likelihood_rows(data))
    for limit in (0.01, 0.1, 1.0):
        smaller = merged(model.table, 1.0, limit)
        less = NaiveBayes(model.names, model.states, smaller[0], smaller[1:])
        most = limit * (components - less.n_components)
        assert before - data.total(less.log_likelihood_rows(data)) <= most + 1e-9
    twice = np.hstack((model.table, model.table)) * (
        [[0.5]] + [[1.0]] * len(model.parameters)
    )
    once = merged(twice, 1.0, 1e-12)
    assert once.shape == model.table.shape
    assert sorted(once[0]) == pytest.approx(sorted(model.prior))


def test_the_most_spread_component_is_split():
    """THESIS, section 4.4.2, as corrected: not the component of low entropy."""
    rng = np.random.default_rng(0)
    clusters = np.array([[0, 0, 0, 0]] * 60 + [[1, 1, 0, 1]] * 20 + [[1, 0, 1, 0]] * 20)
    data = Dataset(clusters, tuple("abcd"), (("n", "y"),) * 4)
    problem = ComponentEM(data, 0.1)
    narrow, wide = clusters[:60].mean(axis=0), clusters[60:].mean(axis=0)
    columns = [np.stack([1 - p, p], axis=1).ravel() for p in (narrow, wide)]
    before = np.vstack(([0.6, 0.4], np.array(columns).T))
    after = split(problem, before, 1, rng)
    assert after[0].tolist() == pytest.approx([0.6, 0.2, 0.2])
    assert after[1:, 1].tolist() == pytest.approx(before[1:, 1].tolist())
    assert (after[1:, 2] != before[1:, 1]).any()


def test_the_best_model_shrinks_as_long_as_its_score_rises():
    data = table(np.random.default_rng(3), rows=400)
    found = learn_naive_bayes(data, size_weight=0.05)
    scores = [row.score for row in found.rows]
    assert scores[found.best] == max(scores)
    heavy = learn_naive_bayes(data)
    size = heavy.model.representational_size
    assert heavy.rows[heavy.best].score == pytest.approx(
        (1 - heavy.size_weight) * data.total(heavy.model.log_likelihood_rows(data))
        - heavy.size_weight * size
    )


def test_a_time_limit_keeps_the_best_so_far():
    data = table(np.random.default_rng(4), rows=300)
    found = learn_naive_bayes(data, size_weight=0.0, time_limit=0.0)
    assert found.model.n_components == 1
    assert not found.is_complete
