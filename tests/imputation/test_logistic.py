"""Chained logistic regressions against scikit-learn, a general optimiser and plain loops."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness import hide
from exactlearn.imputation.imputed import first_states
from exactlearn.imputation.logistic import (
    LogisticParameters,
    _chosen_penalties,
    _design_without,
    _Regressions,
    fit_logistic,
)
from exactlearn.imputation.turns import mean_shares, with_shares
from tests.strategies import datasets

EXACT = LogisticParameters(
    penalties=(2.0,), adaptivity=0.0, pseudo_count=0.0, iterations=1000, gradient=1e-10
)


def dependent(rows: int, sizes: tuple[int, ...], seed: int) -> Dataset:
    """Return random rows in which the last variable depends on all others."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(r, size=rows) for r in sizes])
    noise = rng.random(rows) < 0.3
    codes[:, -1] = np.where(noise, codes[:, -1], codes[:, :-1].sum(axis=1) % sizes[-1])
    names = tuple(f"X{k}" for k in range(len(sizes)))
    return Dataset(codes, names, tuple(tuple(map(str, range(r))) for r in sizes))


def without(table: Dataset, rows: np.ndarray, variable: int) -> Dataset:
    codes = table.codes.copy()
    codes[rows, variable] = -1
    return replace(table, codes=codes)


def objective(flat, problem, v, penalty):
    """Return the penalised negative log-likelihood of one variable, by its definition."""
    own = slice(problem.starts[v], problem.starts[v] + problem.sizes[v])
    weights = flat.reshape(problem.own[own].shape) * problem.own[own]
    logs = log_softmax(problem.design @ weights.T, axis=1)
    return -(problem.seen[own].T * logs).sum() + (penalty[own] * weights**2).sum() / 2


@pytest.mark.parametrize("sizes", [(3, 4, 2, 3), (2, 3, 2), (4, 2, 6)])
def test_agrees_with_scikit_learn(sizes):
    from sklearn.linear_model import LogisticRegression

    table = without(dependent(200, sizes, 1), np.arange(60), len(sizes) - 1)
    found = fit_logistic(table, parameters=EXACT).posterior(table)
    # Of two states the library regresses one, whose weight counts twice as much.
    strength = 0.5 if sizes[-1] > 2 else 1.0
    known = np.eye(max(sizes))[table.codes[:, :-1]].reshape(len(table.codes), -1)
    model = LogisticRegression(C=strength, tol=1e-10, max_iter=10000)
    model.fit(known[60:], table.codes[60:, -1])
    expected = model.predict_proba(known[:60])
    assert found[:, : sizes[-1]] == pytest.approx(expected, abs=1e-4)


@settings(max_examples=30)
@given(datasets(rows=(2, 12), variables=(2, 4), missing=True), st.integers(0, 2**32 - 1))
def test_minimum_is_that_of_a_general_optimiser(table, seed):
    rng = np.random.default_rng(seed)
    table = replace(table, weights=rng.uniform(0, 2, table.n_rows))
    how = replace(EXACT, pseudo_count=0.3)
    problem = _Regressions.of(table, mean_shares(table), how)
    penalty = rng.uniform(0.3, 5, problem.own.shape)
    penalty[:, -1] = 0.0
    weights = problem.minimise(problem.start(), penalty, UNLIMITED, how)
    assert (weights * (1 - problem.own) == 0).all()
    for v, (begin, size) in enumerate(zip(problem.starts, problem.sizes, strict=True)):
        own = weights[begin : begin + size]
        best = minimize(objective, np.zeros(own.size), (problem, v, penalty))
        assert objective(own.ravel(), problem, v, penalty) <= best.fun + 1e-5


@settings(max_examples=30)
@given(datasets(rows=(1, 12), variables=(1, 4), states=(1, 4), missing=True))
def test_posterior_is_a_distribution_and_the_loop_by_hand(table):
    model = fit_logistic(table)
    found = model.posterior(table)
    assert found.sum(axis=1) == pytest.approx(1.0)
    first, missing = first_states(table.cardinalities), table.codes < 0
    shares = with_shares(table, mean_shares(table))
    for _ in range(model.parameters.rounds):
        before = shares.copy()
        for v in np.argsort(missing.sum(axis=0), kind="stable"):
            for row in np.flatnonzero(missing[:, v]):
                own = model.weights[first[v] : first[v + 1]]
                shares[row, first[v] : first[v + 1]] = softmax(own @ np.append(shares[row], 1.0))
        if abs(shares - before).max() < model.parameters.tolerance:
            break
    for (row, v), told in zip(table.missing_cells, found, strict=True):
        assert told[: table.cardinalities[v]] == pytest.approx(shares[row, first[v] : first[v + 1]])
        assert (told[table.cardinalities[v] :] == 0).all()


def test_a_row_of_weight_two_is_two_rows():
    table = without(dependent(40, (3, 2, 3), 2), np.arange(10), 2)
    weighted = replace(table, weights=np.repeat([1.0, 2.0], 20))
    twice = replace(table, codes=np.concatenate([table.codes, table.codes[20:]]))
    exact = replace(EXACT, pseudo_count=0.3)
    a = fit_logistic(weighted, parameters=exact).posterior(table)
    assert a == pytest.approx(fit_logistic(twice, parameters=exact).posterior(table), abs=1e-6)


def test_other_tables_of_the_same_variables():
    table = dependent(150, (3, 2, 3), 3)
    model = fit_logistic(table)
    hidden = without(table, np.arange(150), 2)
    right = model.posterior(hidden).argmax(axis=1) == table.codes[:, 2]
    assert right.mean() > 0.5


def test_penalties_are_weak_where_variables_depend_and_strong_where_not():
    rng = np.random.default_rng(4)
    codes = rng.integers(2, size=(300, 6))
    codes[:, 1] = np.where(rng.random(300) < 0.02, 1 - codes[:, 0], codes[:, 0])
    table = Dataset(codes, tuple("abcdef"), (("0", "1"),) * 6)
    how = LogisticParameters(penalties=(64.0, 8.0, 1.0))
    problem = _Regressions.of(table, mean_shares(table), how)
    chosen = _chosen_penalties(problem, 0, SearchControl(), how)
    assert chosen[:2].tolist() == [1.0, 1.0]
    assert np.mean(chosen[2:] == 64.0) > 0.5


def test_own_value_does_not_come_back_through_missing_neighbours():
    table = hide(dependent(60, (3, 2, 3), 5), "mcar:0.3", np.random.default_rng(5))
    seen = table.codes[:, 2] >= 0
    other = replace(table, codes=np.where([False, False, True] & seen[:, None], 0, table.codes))
    means, missing = mean_shares(table), (table.codes < 0).repeat(table.cardinalities, axis=1)
    weights = fit_logistic(table).weights
    a, b = (
        _design_without(_Regressions.of(t, means, EXACT), weights, missing, slice(5, 8))
        for t in (table, other)
    )
    assert np.array_equal(a, b)
    told = np.flatnonzero(table.codes[:, 0] < 0)
    free = np.append(means, 1.0)[:, None].repeat(len(told), axis=1)
    free[3:5] = with_shares(table, means)[told, 3:5].T
    assert a[told, :3] == pytest.approx(softmax(weights[:3] @ free, axis=0).T)


def test_a_control_that_is_over_leaves_the_shares():
    table = without(dependent(50, (3, 2, 3), 6), np.arange(10), 2)
    control = SearchControl()
    control.stop()
    found = fit_logistic(table, control=control).posterior(table)
    assert found[0] == pytest.approx(mean_shares(table)[-3:], abs=0.02)


def test_a_fit_ends_in_the_middle_of_its_iterations(monkeypatch):
    table = without(dependent(50, (3, 2, 3), 6), np.arange(10), 2)
    control, losses = SearchControl(), []
    real = _Regressions.loss

    def loss(self, scores):
        losses.append(len(scores))
        if len(losses) == 5:
            control.stop()
        return real(self, scores)

    monkeypatch.setattr(_Regressions, "loss", loss)
    found = fit_logistic(table, control=control).posterior(table)
    assert len(losses) < 10
    assert found[0].sum() == pytest.approx(1.0)
