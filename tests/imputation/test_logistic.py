"""Chained logistic regressions against scikit-learn, a general optimiser and plain loops."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.offsets import offsets
from exactlearn.data.dataset import Dataset
from exactlearn.data.indicators import mean_proportions, with_proportions
from exactlearn.imputation import logistic
from exactlearn.imputation.logistic import Regressions, fit_logistic
from tests.strategies import datasets


@pytest.fixture
def exact(monkeypatch):
    """Minimise with one penalty, the same for all, until nothing changes."""
    monkeypatch.setattr(logistic, "PENALTIES", np.array([2.0]))
    monkeypatch.setattr(logistic, "ADAPTIVITY", 0.0)
    monkeypatch.setattr(logistic, "PSEUDO_COUNT", 1e-9)
    monkeypatch.setattr(logistic, "ITERATIONS", 1000)


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
    start = problem.sizes[:v].sum()
    own = slice(start, start + problem.sizes[v])
    weights = flat.reshape(problem.free[own].shape) * problem.free[own]
    logs = log_softmax(problem.design @ weights.T, axis=1)
    return -(problem.seen[own].T * logs).sum() + (penalty[own] * weights**2).sum() / 2


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("sizes", [(3, 4, 2, 3), (2, 3, 2), (4, 2, 6)])
def test_agrees_with_scikit_learn(sizes):
    from sklearn.linear_model import LogisticRegression

    table = without(dependent(200, sizes, 1), np.arange(60), len(sizes) - 1)
    found = fit_logistic(table).posterior(table)
    # Of two states the library regresses one, whose weight counts twice as much.
    strength = 0.5 if sizes[-1] > 2 else 1.0
    known = np.eye(max(sizes))[table.codes[:, :-1]].reshape(len(table.codes), -1)
    model = LogisticRegression(C=strength, tol=1e-10, max_iter=10000)
    model.fit(known[60:], table.codes[60:, -1])
    expected = model.predict_proba(known[:60])
    assert found[:, : sizes[-1]] == pytest.approx(expected, abs=1e-4)


@settings(max_examples=30)
@given(
    datasets(rows=(2, 12), variables=(2, 4), missing=True), st.integers(0, 2**32 - 1)
)
def test_minimum_is_that_of_a_general_optimiser(table, seed):
    rng = np.random.default_rng(seed)
    table = replace(table, weights=rng.uniform(0, 2, table.n_rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logistic, "ITERATIONS", 1000)
        problem = Regressions.of(table, mean_proportions(table))
        penalty = rng.uniform(0.3, 5, problem.free.shape)
        penalty[:, -1] = 0.0
        weights = problem.minimise(problem.start(), penalty, UNLIMITED)
    assert (weights * (1 - problem.free) == 0).all()
    begin = 0
    for v, size in enumerate(problem.sizes):
        own = weights[begin : begin + size]
        best = minimize(objective, np.zeros(own.size), (problem, v, penalty))
        assert objective(own.ravel(), problem, v, penalty) <= best.fun + 1e-4
        begin += size


@settings(max_examples=30)
@given(datasets(rows=(1, 12), variables=(1, 4), states=(1, 4), missing=True))
def test_posterior_is_a_distribution_and_the_loop_by_hand(table):
    model = fit_logistic(table)
    found = model.posterior(table)
    assert found.sum(axis=1) == pytest.approx(1.0)
    first, missing = offsets(table.cardinalities), table.codes < 0
    shares = with_proportions(table, mean_proportions(table))
    for _ in range(logistic.ROUNDS):
        before = shares.copy()
        for v in np.argsort(missing.sum(axis=0), kind="stable"):
            for row in np.flatnonzero(missing[:, v]):
                own = model.weights[first[v] : first[v + 1]]
                shares[row, first[v] : first[v + 1]] = softmax(
                    own @ np.append(shares[row], 1.0)
                )
        if abs(shares - before).max() < logistic.TOLERANCE:
            break
    for (row, v), told in zip(table.missing_cells, found, strict=True):
        assert told[: table.cardinalities[v]] == pytest.approx(
            shares[row, first[v] : first[v + 1]]
        )
        assert (told[table.cardinalities[v] :] == 0).all()


@pytest.mark.usefixtures("exact")
def test_a_row_of_weight_two_is_two_rows():
    table = without(dependent(40, (3, 2, 3), 2), np.arange(10), 2)
    weighted = replace(table, weights=np.repeat([1.0, 2.0], 20))
    twice = replace(table, codes=np.concatenate([table.codes, table.codes[20:]]))
    a = fit_logistic(weighted).posterior(table)
    assert a == pytest.approx(fit_logistic(twice).posterior(table), abs=1e-4)


def test_other_tables_of_the_same_variables():
    table = dependent(150, (3, 2, 3), 3)
    model = fit_logistic(table)
    hidden = without(table, np.arange(150), 2)
    right = model.posterior(hidden).argmax(axis=1) == table.codes[:, 2]
    assert right.mean() > 0.5


def test_penalties_are_weak_for_dependent_variables_only(monkeypatch):
    rng = np.random.default_rng(4)
    codes = rng.integers(2, size=(300, 6))
    codes[:, 1] = np.where(rng.random(300) < 0.02, 1 - codes[:, 0], codes[:, 0])
    table = Dataset(codes, tuple("abcdef"), (("0", "1"),) * 6)
    monkeypatch.setattr(logistic, "PENALTIES", np.array([64.0, 8.0, 1.0]))
    chosen = Regressions.of(table, mean_proportions(table)).chosen_penalties(
        0, SearchControl()
    )
    assert chosen[:2].tolist() == [1.0, 1.0]
    assert np.mean(chosen[2:] == 64.0) > 0.5


def test_a_control_that_is_over_leaves_the_shares():
    table = without(dependent(50, (3, 2, 3), 6), np.arange(10), 2)
    control = SearchControl()
    control.stop()
    found = fit_logistic(table, control=control).posterior(table)
    assert found[0] == pytest.approx(mean_proportions(table)[-3:], abs=0.02)


def test_a_fit_ends_in_the_middle_of_its_iterations(monkeypatch):
    table = without(dependent(50, (3, 2, 3), 6), np.arange(10), 2)
    control, losses = SearchControl(), []
    real = Regressions.loss

    def loss(self, weights):
        losses.append(len(weights))
        if len(losses) == 5:
            control.stop()
        return real(self, weights)

    monkeypatch.setattr(Regressions, "loss", loss)
    found = fit_logistic(table, control=control).posterior(table)
    assert len(losses) < 10
    assert found[0].sum() == pytest.approx(1.0)
