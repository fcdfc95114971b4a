"""Tolerances are absolute: what all scores of a variable have in common changes no answer.

Nor does a search return less than it was given.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.errors import CheckError, OptionError
from exactlearn.solvers import Problem, solve
from exactlearn.solvers.constraints import Constraint, RequiredAdjacency
from exactlearn.solvers.enumeration import enumerate_networks
from exactlearn.solvers.strategy import COMPONENT_SOLVERS
from tests.constraint_oracle import networks, random_constraint, subsets

EXACT = [name for name, solver in COMPONENT_SOLVERS.items() if solver.is_exact]

SHIFT = 10**8
"""Largest number that is added to all scores of a variable."""


def problem_of(seed: int, n: int, n_constraints: int) -> Problem:
    """Return a random problem; scores are multiples of 1/1024, so that sums are exact."""
    rng = np.random.default_rng(seed)
    tables: list[dict[tuple[int, ...], float]] = []
    for v in range(n):
        others = [u for u in range(n) if u != v]
        sets = [s for s in subsets(others) if not s or rng.random() < 0.6]
        tables.append({s: float(rng.integers(-4096, 1)) / 1024 for s in sets})
    constraints: list[Constraint] = [
        random_constraint(rng, n, int(rng.integers(7))) for _ in range(n_constraints)
    ]
    names = [f"x{v}" for v in range(n)]
    return Problem.from_candidates(names, tables, constraints=constraints)


def shifted(problem: Problem, shifts: list[int]) -> Problem:
    """Return the problem with a number added to all scores of each variable."""
    return replace(
        problem, scores=problem.scores + np.array(shifts, float)[problem.child]
    )


def adjacency_problem(shift: float) -> Problem:
    """Return the case of the issue: three variables, of which two are to be adjacent."""
    candidates = [
        {(): -0.2, (1,): -0.1, (2,): -4.0},
        {(): -0.3, (0,): -0.2},
        {(): -0.1, (0,): -4.8, (1,): -0.4},
    ]
    tables = [{s: score + shift for s, score in table.items()} for table in candidates]
    return Problem.from_candidates("abc", tables, constraints=[RequiredAdjacency(0, 2)])


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(3, 4),
    st.integers(0, 2),
    st.sampled_from(["auto", *EXACT]),
    st.lists(st.integers(-SHIFT, SHIFT), min_size=4, max_size=4),
)
def test_shifts_change_no_answer(seed, n, n_constraints, solver, shifts):
    problem = problem_of(seed, n, n_constraints)
    other = shifted(problem, shifts[:n])
    listed = networks(other)
    expected = solve(problem, solver=solver)
    result = solve(other, solver=solver)
    assert (result.status, result.parents) == (expected.status, expected.parents)
    if not listed:
        assert result.status == "infeasible"
        return
    total = sum(shifts[:n])
    assert result.status == "optimal"
    assert result.score == listed[0][0] == expected.score + total
    assert result.bound - total == pytest.approx(expected.bound, abs=1e-6)
    assert result.gap == expected.gap == 0.0


@settings(max_examples=10, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 1),
    st.booleans(),
    st.lists(st.integers(-SHIFT, SHIFT), min_size=3, max_size=3),
)
def test_shifts_change_no_list(seed, n_constraints, classes, shifts):
    problem = problem_of(seed, 3, n_constraints)
    other = shifted(problem, shifts)
    for options in ({"k": 4}, {"factor": 1.0}, {"factor": 3.0}):
        expected = enumerate_networks(problem, classes=classes, **options)
        found = enumerate_networks(other, classes=classes, **options)
        assert found.status == expected.status
        assert [network.parents for network in found.networks] == [
            network.parents for network in expected.networks
        ]
        assert [network.score - sum(shifts) for network in found.networks] == [
            network.score for network in expected.networks
        ]
        if found.networks:
            assert found.ties == expected.ties


@pytest.mark.parametrize("shift", [0.0, -1e7, 1e8])
@pytest.mark.parametrize("solver", ["auto", "scip"])
def test_nothing_far_from_the_optimum_is_optimal(shift, solver):
    problem = adjacency_problem(shift)
    best, parents = networks(problem)[0]
    result = solve(problem, solver=solver)
    assert result.score == pytest.approx(best, abs=1e-6)
    assert (result.status, result.parents) == ("optimal", parents)


def test_a_check_is_absolute():
    problem = adjacency_problem(-1e8)
    result = solve(problem)
    for bound in (result.score + 0.01, result.score - 0.01):
        with pytest.raises(CheckError, match="bound"):
            replace(result, bound=bound).check(problem)
    with pytest.raises(CheckError, match="the score is"):
        replace(result, score=result.score - 0.01, bound=result.bound).check(problem)


def test_nothing_worse_is_listed_within_a_factor_of_one():
    table = [{(): 1e8, (1,): 1e8 - 0.05}, {(): 0.0, (0,): -0.25}]
    problem = Problem.from_candidates("ab", table)
    found = enumerate_networks(problem, factor=1.0)
    assert [network.parents for network in found.networks] == [((), ())]
    assert found.ties == enumerate_networks(problem, k=2).ties == 1


def test_a_gap_is_a_difference_in_nats():
    problem = replace(problem_of(5, 4, 0), constraints=(RequiredAdjacency(0, 1),))
    other = shifted(problem, [SHIFT] * 4)
    best = networks(other)[0][0]
    for gap in (0.0, 0.5, 100.0):
        result = solve(other, gap=gap)
        assert result.status == "optimal"
        assert best <= result.bound <= result.score + gap + 1e-6
        assert result.gap <= gap + 1e-6


def test_one_network_with_a_gap_claims_the_gap_only():
    rng = np.random.default_rng(1)
    tables = [
        {(u,): -float(rng.random()) for u in range(20) if u != v} for v in range(20)
    ]
    tables = [table | {(): -1.5} for table in tables]
    problem = Problem.from_candidates([f"x{v}" for v in range(20)], tables)
    best = solve(problem)
    found = enumerate_networks(problem, k=1, gap=1.5, solver="scip")
    assert found.bound == found.best.bound
    assert found.bound >= best.score
    assert (found.status == "optimal") == (found.best.gap == 0.0)
    listed = enumerate_networks(problem, k=2, gap=1.5)
    assert listed.status == "optimal"
    assert listed.networks[0].score == pytest.approx(best.score, abs=1e-6)


@pytest.mark.parametrize("size", [1e308, -1e308])
def test_scores_that_overflow_are_refused(size):
    with pytest.raises(
        OptionError, match="variable 'a' has scores of the size 1e\\+308"
    ):
        Problem.from_candidates("ab", [{(): size, (1,): size / 2}, {(): size}])


@pytest.mark.parametrize("shift", [0, -SHIFT, SHIFT])
def test_certificates_agree_with_results(shift):
    problem = shifted(problem_of(7, 4, 0), [shift] * 4)
    result = solve(problem, certify=True)
    certificate = result.certificate
    assert certificate is not None
    assert result.is_certified
    assert Fraction(certificate.score) == Fraction(result.score)
    assert Fraction(certificate.gap) <= Fraction(1, 10**6)
    assert not replace(
        result, certificate=replace(certificate, gap="0.01")
    ).is_certified
    assert replace(
        result, certificate=replace(certificate, gap="0.01"), gap_limit=0.02
    ).is_certified


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 3), st.sampled_from([0.0, 0.001]))
def test_no_search_returns_less_than_it_was_given(seed, n_constraints, time_limit):
    problem = problem_of(seed, 4, n_constraints)
    listed = networks(problem)
    for score, start in listed[:1] + listed[-1:]:
        result = solve(problem, start=start, time_limit=time_limit)
        assert result.score >= score
        best = enumerate_networks(problem, k=2, start=start, time_limit=time_limit)
        assert best.networks[0].score >= score
