"""Tests of indicators: against SciPy, by brute force, calibrated, and with power."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import chi2, chi2_contingency, false_discovery_control, kstest

from exactlearn.data.counts import missingness_patterns
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness import simulate_missingness
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.imputation import missingness_diagnosis
from exactlearn.imputation.missingness_diagnosis import indicator_tests
from tests.strategies import datasets


@pytest.fixture
def asymptotic(monkeypatch):
    """Take the p-values of the chi-squared distribution whatever the counts."""
    monkeypatch.setattr(missingness_diagnosis, "LEAST_EXPECTED", 0.0)


def random_table(rows, variables=5, states=3, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, states, (rows, variables))
    codes[:, 1] = np.where(rng.random(rows) < 0.7, codes[:, 0], codes[:, 1])
    names = tuple("abcdefgh"[:variables])
    return Dataset(codes, names, (tuple("xyz"[:states]),) * variables)


@settings(max_examples=50)
@given(datasets(rows=(1, 30), missing=True))
def test_patterns_are_those_that_rows_have(table):
    missing, weights = missingness_patterns(table)
    counts = Counter(tuple(row) for row in (table.codes == -1).tolist())
    assert (
        dict(zip(map(tuple, missing.tolist()), weights.tolist(), strict=True)) == counts
    )
    assert (np.diff(weights) <= 0).all()


def test_patterns_count_rows_by_weight():
    table = random_table(40)
    codes = table.codes.copy()
    codes[:10, 0] = codes[5:20, 1] = -1
    weights = np.arange(40.0)
    missing, totals = missingness_patterns(
        Dataset(codes, table.names, table.states, weights)
    )
    assert totals.sum() == weights.sum()
    assert (totals @ missing)[:2].tolist() == [weights[:10].sum(), weights[5:20].sum()]


def counts_by_rows(table, name, variable):
    """Count in Python the indicator of a variable by the states of another."""
    column = {n: j for j, n in enumerate(table.names)}
    cells = np.zeros((2, 3))
    for row in table.codes.tolist():
        if row[column[variable]] != -1:
            cells[int(row[column[name]] == -1), row[column[variable]]] += 1
    return cells[:, cells.sum(axis=0) > 0]


@pytest.mark.usefixtures("asymptotic")
def test_statistics_are_those_of_scipy():
    rng = np.random.default_rng(4)
    simulated = MissingnessGraph.parse("a <- b; c <-; d <- missing(a)")
    table = simulate_missingness(random_table(600), simulated, rng).dataset
    tests = indicator_tests(table, rng)
    assert tests
    for test in tests:
        counts = counts_by_rows(table, test.indicator, test.variable)
        expected = chi2_contingency(counts, correction=False, lambda_="log-likelihood")
        assert test.statistic == pytest.approx(expected.statistic)
        assert test.degrees == expected.dof
        assert test.p_value == pytest.approx(chi2.sf(expected.statistic, expected.dof))
    adjusted = false_discovery_control([test.p_value for test in tests])
    assert [test.adjusted for test in tests] == pytest.approx(adjusted.tolist())
    assert [test.p_value for test in tests] == sorted(test.p_value for test in tests)


def test_permutations_agree_with_all_permutations(monkeypatch):
    codes = np.array([[0, 0]] * 3 + [[1, 0]] * 1 + [[0, -1]] * 1 + [[1, -1]] * 3)
    table = Dataset(codes, ("a", "b"), (("x", "y"),) * 2)
    # 4 of 8 rows are missing; 4 rows have a = x, of which k are missing with hypergeometric
    # probability C(4, k) C(4, 4 - k) / C(8, 4); the observed k = 1 is as far from 2 as k = 3.
    exact = (1 + 16 + 16 + 1) / 70
    monkeypatch.setattr(missingness_diagnosis, "DRAWS", 20_000)
    (test,) = indicator_tests(table, np.random.default_rng(0))
    assert test.permuted
    assert test.p_value == pytest.approx(exact, abs=0.015)


@pytest.mark.parametrize(("rows", "share"), [(2000, 0.3), (60, 0.15)])
def test_p_values_are_uniform_under_mcar(rows, share):
    p_values, found = [], 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        table = simulate_missingness(
            random_table(rows, seed=seed), f"mcar:{share}", rng
        ).dataset
        tests = indicator_tests(table, rng)
        p_values += [test.p_value for test in tests]
        found += any(test.adjusted < 0.05 for test in tests)
    # Permutation p-values of small counts are discrete, at least uniform.
    assert np.mean(np.array(p_values) < 0.05) < 0.07
    assert found <= 6
    if rows == 2000:
        assert kstest(p_values, "uniform").pvalue > 1e-3


@pytest.mark.usefixtures("asymptotic")
def test_weights_count_as_rows():
    table = simulate_missingness(
        random_table(300), "mar:0.2", np.random.default_rng(0)
    ).dataset
    twice = Dataset(table.codes, table.names, table.states, np.full(300, 2.0))
    doubled = Dataset(np.tile(table.codes, (2, 1)), table.names, table.states)
    a, b = (
        {
            t[:2]: (t.statistic, t.p_value)
            for t in indicator_tests(d, np.random.default_rng(0))
        }
        for d in (twice, doubled)
    )
    assert a.keys() == b.keys()
    for key in a:
        assert a[key] == pytest.approx(b[key])


def test_nothing_missing_is_nothing_to_test():
    assert indicator_tests(random_table(20), np.random.default_rng(0)) == ()
