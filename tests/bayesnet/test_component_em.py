"""EM of naive Bayes models against the definition, row by row and component by component."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.bayesnet.naive_bayes import (
    ComponentEM,
    NaiveBayes,
    component_posteriors,
    fit_naive_bayes,
)
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError
from tests.interrupts import Looks
from tests.naive_bayes_oracle import full_joint, random_naive_bayes


def rows_of(model: NaiveBayes, rng, size: int, hidden: float = 0.3) -> Dataset:
    """Return weighted rows with missing cells."""
    codes = model.sample(size, rng).codes.copy()
    codes[rng.random(codes.shape) < hidden] = -1
    return Dataset(codes, model.names, model.states, rng.random(size) + 0.1)


def expected_counts(model: NaiveBayes, data: Dataset):
    """THESIS (4.31) and (4.32) as corrected: sums over rows of the posterior of a component."""
    counts = np.zeros((1 + len(model.parameters), model.n_components))
    logs = []
    for row, weight in zip(data.codes.tolist(), data.row_weights, strict=True):
        products = model.prior.copy()
        places = [int(model.starts[v]) + s for v, s in enumerate(row) if s >= 0]
        for place in places:
            products = products * model.parameters[place]
        logs.append(np.log(products.sum()))
        counts[0] += weight * products / products.sum()
        for place in places:
            counts[1 + place] += weight * products / products.sum()
    return counts, np.array(logs)


def maximised(model: NaiveBayes, counts, smoothing: float):
    """THESIS (4.33) and (4.34), with pseudo-counts."""
    raised = counts + smoothing
    table = [raised[0] / raised[0].sum()]
    for v, states in enumerate(model.states):
        first = 1 + int(model.starts[v])
        part = raised[first : first + len(states)]
        table.extend(part / part.sum(axis=0))
    return np.array(table)


@given(st.integers(0, 10_000), st.integers(1, 4), st.floats(0.01, 2))
@settings(max_examples=25)
def test_a_step_is_that_of_the_definition(seed, components, smoothing):
    rng = np.random.default_rng(seed)
    model = random_naive_bayes(rng, 4, components, zeros=0.0)
    data = rows_of(model, rng, 30)
    problem = ComponentEM(data, smoothing)
    state = problem.e_step(0, model.table.ravel())
    counts, logs = expected_counts(model, data)
    assert problem.table(state.counts) == pytest.approx(counts)
    assert state.log_likelihood == pytest.approx(float(data.row_weights @ logs))
    assert problem.table(problem.m_step(state)) == pytest.approx(
        maximised(model, counts, smoothing)
    )
    assert model.log_likelihood_rows(data) == pytest.approx(logs)


@given(st.integers(0, 10_000), st.integers(1, 5), st.sampled_from([0.0, 0.1, 2.0]))
@settings(max_examples=25)
def test_em_never_decreases_and_returns_a_distribution(seed, components, smoothing):
    rng = np.random.default_rng(seed)
    truth = random_naive_bayes(rng, 4, 3)
    data = rows_of(truth, rng, 40)
    start = random_naive_bayes(rng, 4, components, zeros=0.0)
    start = NaiveBayes(
        truth.names,
        truth.states,
        start.prior,
        np.vstack([rng.dirichlet(np.ones(len(s)), components).T for s in truth.states]),
    )
    found = fit_naive_bayes(start, data, smoothing=smoothing, iterations=60)
    assert (np.diff(found.objectives) >= -1e-9 * abs(found.objectives[0])).all()
    found.model.check()
    assert full_joint(found.model).sum() == pytest.approx(1)
    total = data.total(found.model.log_likelihood_rows(data))
    assert found.log_likelihood == pytest.approx(total)


def test_equal_rows_are_merged_and_rows_of_no_weight_left_out():
    codes = np.array([[0, 1], [0, 1], [1, -1], [0, 0]])
    data = Dataset(codes, ("a", "b"), (("n", "y"),) * 2, np.array([1.0, 2.0, 1.0, 0.0]))
    problem = ComponentEM(data, 0.1)
    assert problem.codes.tolist() == [[0, 1], [1, -1]]
    assert problem.weights.tolist() == [3.0, 1.0]


def test_many_rows_are_counted_in_pieces():
    rng = np.random.default_rng(2)
    model = random_naive_bayes(rng, 3, 2)
    data = rows_of(model, rng, 3000)
    state = ComponentEM(data, 0.1).e_step(0, model.table.ravel())
    counts, logs = expected_counts(model, data)
    assert state.counts == pytest.approx(counts.ravel())
    assert state.log_likelihood == pytest.approx(data.row_weights @ logs)


def test_rows_of_underflowing_probability_use_logarithms():
    n = 400
    tiny, rest = 1e-3, 1 - 1e-3
    parameters = np.array([[tiny, rest]] * n + [[rest, tiny]] * n)
    parameters = np.stack([parameters[:n], parameters[n:]], axis=1).reshape(2 * n, 2)
    names, states = tuple(map(str, range(n))), (("a", "b"),) * n
    model = NaiveBayes(names, states, np.array([0.3, 0.7]), parameters)
    model.check()
    half = np.array([[0] * (n // 2) + [1] * (n // 2)])
    expected = (n // 2) * (np.log(tiny) + np.log(rest))
    assert model.log_likelihood_rows(Dataset(half, names, states)) == pytest.approx(
        [expected]
    )
    # The component that leads by far is impossible at the end: only logarithms know the other.
    steep = NaiveBayes(
        names[:20],
        states[:20],
        np.array([0.5, 0.5]),
        np.array([[1.0, 1e-20], [0.0, 1 - 1e-20]] * 19 + [[0.0, 1.0], [1.0, 0.0]]),
    )
    row = np.zeros((1, 20), np.int16)
    expected = np.log(0.5) + 19 * np.log(1e-20)
    assert steep.log_likelihood_rows(Dataset(row, names[:20], states[:20])) == (
        pytest.approx([expected])
    )
    shares, logs = component_posteriors(steep.table, steep.starts, row)
    assert shares.tolist() == [[0.0, pytest.approx(1.0)]]
    assert logs == pytest.approx([expected])


def test_impossible_rows_are_refused_without_smoothing():
    names, states = ("a", "b"), (("n", "y"),) * 2
    model = NaiveBayes(
        names, states, np.ones(1), np.array([[1.0], [0.0], [0.5], [0.5]])
    )
    data = Dataset(np.array([[0, 1], [1, -1]]), names, states)
    assert model.log_likelihood_rows(data).tolist() == [np.log(0.5), -np.inf]
    posteriors, _ = model.row_posteriors(data.codes.astype(np.int16))
    assert posteriors[1].tolist() == [0.0, 1.0, 0.0, 0.0]
    with pytest.raises(DataError, match=r"\): the row has probability zero"):
        fit_naive_bayes(model, data, smoothing=0.0)
    assert fit_naive_bayes(model, data).model.parameters.min() > 0
    with pytest.raises(OptionError, match="smoothing"):
        fit_naive_bayes(model, data, smoothing=-1.0)


def test_a_control_ends_em_with_the_parameters_so_far():
    rng = np.random.default_rng(3)
    truth = random_naive_bayes(rng, 4, 3)
    data = rows_of(truth, rng, 3000)
    start = random_naive_bayes(rng, 4, 3, zeros=0.0)
    start = NaiveBayes(
        truth.names,
        truth.states,
        start.prior,
        np.vstack([rng.dirichlet(np.ones(len(s)), 3).T for s in truth.states]),
    )
    problem = ComponentEM(data, 0.1, Looks(0))
    assert np.isnan(problem.e_step(1, start.table.ravel()).objective)
    assert np.isfinite(problem.e_step(0, start.table.ravel()).objective)
    found = fit_naive_bayes(start, data, time_limit=0.0)
    assert found.iterations == 0
    assert not found.is_complete
