"""The choice of smoothing against cross-validation with real refits, and against Algorithm 4.2."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.bayesnet.complete_data import full_counts
from exactlearn.bayesnet.deletion import fit_deletion
from exactlearn.bayesnet.smoothing_choice import (
    choose_smoothing,
    divided,
    maximised,
    validation_terms,
)
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError
from tests.network_oracle import random_network

SEEDS = st.integers(0, 10**6)
ALPHAS = np.geomspace(0.01, 1e4, 25)


def refitted(data, parents, smoothing, folds):
    """Algorithm 4.1 as printed, but for the division by n: one network for each fold."""
    total = 0.0
    for k in range(folds.n):
        held_out = np.zeros(data.n_rows)
        held_out[folds.rows[folds.fold == k]] = folds.weights[folds.fold == k]
        train = replace(data, weights=data.row_weights - held_out)
        network = fit_deletion(train, parents, method="aca", smoothing=smoothing).model
        for child, family in enumerate(parents):
            counts = full_counts(replace(data, weights=held_out), child, family)
            total += (counts * np.log(network.tables[child])).sum()
    return total


def narrowed(score, largest, step):
    """Algorithm 4.2 with the test in line 7 at u - epsilon; returns smoothing."""
    lower, upper = 0, round(largest / step)
    while upper > lower:
        before = lower, upper
        if score((lower + 1) * step) > score(lower * step):
            lower += 1
        if score((upper - 1) * step) > score(upper * step):
            upper -= 1
        if (lower, upper) == before:
            break
    return max(lower, upper, key=lambda k: score(k * step)) * step


@given(
    SEEDS, st.integers(1, 4), st.sampled_from(["complete", "missing", "whole", "real"])
)
@settings(max_examples=40)
def test_the_choice_is_the_best_of_real_refits(seed, n, kind):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n)
    data = network.sample(int(rng.integers(2, 40)), rng)
    if kind == "missing":
        hidden = rng.random(data.codes.shape) < 0.2
        hidden[0] = False
        data = replace(data, codes=np.where(hidden, -1, data.codes))
    if kind == "whole":
        data = replace(data, weights=rng.integers(1, 5, data.n_rows).astype(float))
    if kind == "real":
        data = replace(data, weights=rng.random(data.n_rows) + 0.1)
    parents = network.parents
    folds = divided(data.row_weights, 5, seed)
    assert np.bincount(folds.rows, folds.weights) == pytest.approx(data.row_weights)
    found = choose_smoothing(data, parents, seed=seed)
    assert found.folds == folds.n
    assert found.log_likelihood == pytest.approx(
        refitted(data, parents, found.smoothing, folds)
    )
    others = [refitted(data, parents, smoothing, folds) for smoothing in ALPHAS]
    assert found.log_likelihood >= max(others) - 1e-9 * abs(max(others))


def test_folds_are_random_equal_and_seeded():
    one, again, other = (divided(np.ones(103), 5, seed) for seed in (1, 1, 2))
    assert sorted(np.bincount(one.fold)) == [20, 20, 21, 21, 21]
    assert (one.fold == again.fold).all()
    assert (one.fold != other.fold).any()


def test_a_heavy_row_is_divided_as_its_copies_would_be():
    """Twenty copies and a row of weight twenty: a copy is held out while others are counted."""
    data = Dataset(
        np.array([[0], [1]]), ("a",), (("n", "y"),), np.array([400.0, 100.0])
    )
    folds = divided(data.row_weights, 5, 0)
    assert len(folds.rows) == 10
    assert folds.weights.sum() == 500
    copies = Dataset(np.repeat(data.codes, [400, 100], axis=0), data.names, data.states)
    smoothings = [choose_smoothing(d, [()]).log_likelihood for d in (data, copies)]
    assert smoothings[0] == pytest.approx(smoothings[1], abs=2)


def test_the_line_search_of_the_thesis_agrees_at_one_maximum():
    rng = np.random.default_rng(5)
    network = random_network(rng, 5)
    data = network.sample(60, rng)
    folds = divided(data.row_weights, 5, 0)
    found = choose_smoothing(data, network.parents)
    assert 0.05 < found.smoothing < 3

    def score(smoothing):
        return refitted(data, network.parents, max(smoothing, 0.01), folds)

    assert narrowed(score, 4.0, 0.05) == pytest.approx(found.smoothing, abs=0.05)


def test_the_higher_of_two_maxima_is_found():
    """Certain distributions of few rows want small pseudo-counts, uniform ones of many large."""
    certain = np.tile([[1.0, 0.0], [3.0, 0.0]], (1, 5))
    uniform = np.tile([[13.0, 12.0], [12.0, 13.0]], (1, 100))
    counts, distribution = np.hstack((certain, uniform)), np.repeat(np.arange(105), 2)
    terms = validation_terms(counts, np.ones(210), distribution, np.full(105, 2.0))
    values = terms.at(ALPHAS)
    assert values.min() < min(values[0], values[-1]) - 1
    found = maximised(terms.at, 2)
    assert found.log_likelihood >= values.max()

    def score(smoothing):
        return float(terms.at(np.array([max(smoothing, 0.01)]))[0])

    assert score(narrowed(score, 1e4, 1.0)) == pytest.approx(
        found.log_likelihood, rel=1e-6
    )


@pytest.mark.parametrize(
    ("codes", "parents", "folds", "error", "message"),
    [
        ([[0, 0]], [(), ()], 5, DataError, "two rows.*fit_em.*smoothing=1"),
        (
            [[-1, 0], [-1, 1], [-1, -1]],
            [(), (0,)],
            5,
            DataError,
            "no row observes.*fit_em.*smoothing=1",
        ),
        ([[0, 0], [1, 1]], [(), ()], 1, OptionError, "folds"),
        ([[0, 0], [1, 1]], [()], 5, OptionError, "parent sets"),
    ],
)
def test_mistakes_are_reported(codes, parents, folds, error, message):
    data = Dataset(np.array(codes), ("a", "b"), (("n", "y"),) * 2)
    with pytest.raises(error, match=message):
        choose_smoothing(data, parents, folds=folds)
