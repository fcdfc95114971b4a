"""Log-linear conditional distributions against a general minimiser and numerical integration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import dblquad
from scipy.optimize import minimize
from scipy.special import log_softmax

from exactlearn.bayesnet.log_linear import WeightPrior, _derivatives, fit_log_linear
from exactlearn.errors import DataError


def drawn(seed, r, sizes, weighted):
    """Return counts by configuration and state, and the configurations that have any."""
    rng = np.random.default_rng(seed)
    shape = (*sizes, r)
    counts = rng.poisson(rng.choice([0.3, 2.0, 20.0]), shape).astype(float)
    if weighted:
        counts *= rng.random(shape) * 3
    counts.flat[0] += 1  # some row there must be
    seen = counts.sum(axis=-1) > 0
    configurations = np.argwhere(seen).reshape(int(seen.sum()), len(sizes))
    return counts[tuple(configurations.T)].reshape(-1, r), configurations


def objective(weights, counts, configurations, sizes, prior):
    """Return the log-likelihood and the logarithm of the prior, less its constant."""
    indicators = [
        np.eye(size)[column] for column, size in zip(configurations.T, sizes, strict=True)
    ]
    design = np.hstack([np.ones((len(counts), 1)), *indicators])
    likelihood = (counts * log_softmax(design @ weights.T, axis=1)).sum()
    precision = np.append(prior.intercept, np.full(sum(sizes), prior.precision))
    return likelihood, -(precision * weights**2).sum() / 2


def families(test):
    """Run a test on families of up to four states and three parents."""
    drawn_from = given(
        st.integers(0, 2**32 - 1),
        st.integers(1, 4),
        st.lists(st.integers(1, 3), max_size=3),
        st.booleans(),
        st.sampled_from([0.01, 1.0, 5.0]),
    )
    return settings(deadline=None, max_examples=25)(drawn_from(test))


@families
def test_weights_maximise_likelihood_times_prior(seed, r, sizes, weighted, precision):
    counts, configurations = drawn(seed, r, sizes, weighted)
    prior = WeightPrior(precision=precision)
    found = fit_log_linear(counts, configurations, sizes, prior)
    likelihood, logged = objective(found.weights, counts, configurations, sizes, prior)
    assert found.log_likelihood == pytest.approx(likelihood, abs=1e-8)

    def negative(flat):
        return -sum(objective(flat.reshape(r, -1), counts, configurations, sizes, prior))

    twin = minimize(negative, np.zeros(found.weights.size), method="BFGS")
    assert likelihood + logged >= -twin.fun - 1e-6


@families
def test_evidence_is_the_normal_integral_with_the_curvature_at_the_maximum(
    seed, r, sizes, weighted, precision
):
    counts, configurations = drawn(seed, r, sizes, weighted)
    prior = WeightPrior(precision=precision)
    found = fit_log_linear(counts, configurations, sizes, prior)
    likelihood, logged = objective(found.weights, counts, configurations, sizes, prior)
    width = found.weights.shape[1]
    diagonal = np.tile(np.append(prior.intercept, np.full(width - 1, precision)), r)
    hessian = np.diag(diagonal)
    for n, states in zip(counts.sum(axis=1), configurations, strict=True):
        row = np.zeros(width)
        row[np.append(0, np.cumsum([1, *sizes])[: len(sizes)] + states).astype(int)] = 1
        p = np.exp(log_softmax(found.weights @ row))
        hessian += n * np.kron(np.diag(p) - np.outer(p, p), np.outer(row, row))
    log_determinants = np.log(diagonal).sum() - np.linalg.slogdet(hessian)[1]
    assert found.log_evidence == pytest.approx(likelihood + logged + log_determinants / 2, abs=1e-6)


def test_evidence_is_near_the_integral_over_all_weights():
    counts, prior = np.array([[30.0, 12.0]]), WeightPrior(intercept=0.1)
    found = fit_log_linear(counts, np.zeros((1, 0), int), [], prior)

    def density(a, b):
        likelihood, logged = objective(
            np.array([[a], [b]]), counts, np.zeros((1, 0), int), [], prior
        )
        return np.exp(likelihood + logged + 30) * prior.intercept / (2 * np.pi)

    integral = np.log(dblquad(density, -15, 15, -15, 15, epsabs=1e-10)[0]) - 30
    assert found.log_evidence == pytest.approx(integral, abs=0.02)


@families
def test_table_holds_the_distribution_of_each_configuration(seed, r, sizes, weighted, precision):
    counts, configurations = drawn(seed, r, sizes, weighted)
    found = fit_log_linear(counts, configurations, sizes, WeightPrior(precision=precision))
    table = found.table(sizes)
    assert table.shape == (*sizes, r)
    assert np.allclose(table.sum(axis=-1), 1)
    fitted = np.log(table[tuple(configurations.T)].reshape(-1, r))
    assert (counts * fitted).sum() == pytest.approx(found.log_likelihood, abs=1e-7)


def test_weights_do_not_depend_on_the_order_of_states_and_parents():
    counts, configurations = drawn(3, 3, [2, 3], True)
    found = fit_log_linear(counts, configurations, [2, 3])
    turned = fit_log_linear(counts[:, ::-1], configurations[:, ::-1], [3, 2])
    assert turned.log_evidence == pytest.approx(found.log_evidence, abs=1e-7)
    expected = np.swapaxes(found.table([2, 3]), 0, 1)[..., ::-1]
    assert np.allclose(turned.table([3, 2]), expected, atol=1e-6)


def test_nearly_separated_states_are_fitted_without_overflow():
    counts = np.array([[1e6, 0.0], [0.0, 1e6]])
    found = fit_log_linear(counts, np.array([[0], [1]]), [2], WeightPrior(precision=1e-6))
    assert np.isfinite(found.log_evidence)
    assert found.table([2])[0, 0] > 1 - 1e-5


def test_counts_beyond_floating_point_are_refused():
    counts, configurations = drawn(3, 3, [2, 3], True)
    with pytest.raises(DataError, match="divide them by a number"):
        fit_log_linear(counts * 1e18, configurations, [2, 3])


@families
def test_compiled_derivatives_are_those_of_the_plain_function(seed, r, sizes, weighted, precision):
    counts, configurations = drawn(seed, r, sizes, weighted)
    columns = np.zeros((len(counts), 1 + len(sizes)), np.int64)
    columns[:, 1:] = configurations + np.cumsum([1, *sizes])[:-1]
    width = 1 + sum(sizes)
    weights = np.random.default_rng(seed).normal(0, 1 / precision, (r, width))
    outcomes = []
    for function in (_derivatives, _derivatives.py_func):
        gradient, hessian = np.zeros(r * width), np.zeros((r * width, r * width))
        value = function(columns, counts, weights, np.empty(r), gradient, hessian)
        outcomes.append((value, gradient, hessian))
    for one, other in zip(*outcomes, strict=True):
        assert np.allclose(one, other, rtol=1e-9, atol=1e-9)
