"""At most one parent each: an arborescence, beside dynamic programming and all selections."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.solvers import Problem, solve
from exactlearn.solvers.arborescence import best_selection
from exactlearn.solvers.components import split
from exactlearn.solvers.strategy import choose


def one_parent_problem(rng, n, density=1.0, with_ties=False, with_empty=True):
    """Return a problem whose candidates have at most one parent."""
    tables = []
    for v in range(n):
        parents = [(p,) for p in range(n) if p != v and rng.random() < density]
        sets = [()] * with_empty + parents or [()]
        scores = (
            rng.integers(-9, 0, len(sets)) if with_ties else rng.normal(size=len(sets))
        )
        tables.append(dict(zip(sets, scores.astype(float).tolist(), strict=True)))
    return Problem.from_candidates([f"v{v}" for v in range(n)], tables)


@given(st.integers(0, 10_000), st.integers(2, 9), st.booleans(), st.booleans())
@settings(max_examples=80)
def test_it_finds_what_dynamic_programming_finds(seed, n, with_ties, with_empty):
    rng = np.random.default_rng(seed)
    problem = one_parent_problem(rng, n, rng.uniform(0.3, 1.0), with_ties, with_empty)
    expected = solve(problem, solver="dynamic")
    for component in split(problem):
        selection = best_selection(component)
        if selection is None:
            assert expected.status == "infeasible"
            return
    found = sum(c.total(best_selection(c)) for c in split(problem))
    assert found == pytest.approx(expected.score, abs=1e-9)


def test_many_variables_with_one_parent_need_no_branch_and_cut():
    """A thousand variables took ten seconds of branch and cut."""
    problem = one_parent_problem(np.random.default_rng(1), 60, with_ties=True)
    (component,) = split(problem)
    assert choose(component).name == "arborescence"
    result = solve(problem)
    assert result.status == "optimal"
    assert result.score == result.bound
    assert result.score == pytest.approx(solve(problem, solver="scip").score, abs=1e-6)
    assert "no parent set has two members" in result.message


def test_a_problem_without_an_acyclic_selection_is_infeasible():
    names = [f"v{v}" for v in range(30)]
    ring = Problem.from_candidates(names, [{((v + 1) % 30,): -1.0} for v in range(30)])
    assert solve(ring).status == "infeasible"
