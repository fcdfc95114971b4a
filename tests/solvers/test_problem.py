"""The problem of parent-set selection: its table, its constraints, its pieces."""

from itertools import combinations, product

import numpy as np
import pytest

from exactlearn.errors import InfeasibleError, OptionError
from exactlearn.solvers import Problem
from exactlearn.solvers.clusters import Counted, Support, violations
from exactlearn.solvers.components import Component, split
from exactlearn.solvers.relaxation import cluster_rows
from exactlearn.solvers.satisfied_clusters import satisfied
from exactlearn.solvers.separation import short_circuits
from tests.brute_force import best_selection, is_acyclic
from tests.solvers.test_solvers import random_problem


def chain(**constraints: list[tuple[int, int]]) -> Problem:
    return Problem.from_candidates(
        ["a", "b", "c"],
        [
            {(): -3.0, (1,): -1.0},
            {(): -2.0, (0, 2): -1.0, (0,): -1.5},
            {(): -4.0, (0,): -3.0},
        ],
        **constraints,
    )


def test_table_of_candidates() -> None:
    problem = chain()
    assert (problem.n_variables, problem.n_candidates) == (3, 7)
    assert problem.child.tolist() == [0, 0, 1, 1, 1, 2, 2]
    assert dict(problem.candidates(1)) == {(): -2.0, (0, 2): -1.0, (0,): -1.5}


def test_allowed_follows_required_and_forbidden_arcs() -> None:
    problem = chain(required=[(0, 1)], forbidden=[(2, 1), (0, 2)])
    rows = range(problem.n_candidates)
    expected = [
        (problem.child[c] != 1 or 0 in problem.parent_set(c))
        and (problem.child[c] != 1 or 2 not in problem.parent_set(c))
        and (problem.child[c] != 2 or 0 not in problem.parent_set(c))
        for c in rows
    ]
    assert problem.allowed.tolist() == expected


def test_select_keeps_candidates() -> None:
    problem = Problem(
        names=("a", "b"),
        first=np.array([0, 2, 3]),
        scores=np.array([-1.0, -2.0, -3.0]),
        member_first=np.array([0, 1, 1, 2]),
        members=np.array([1, 0], np.int32),
    )
    kept = problem.select(np.array([True, False, True]))
    assert [kept.parent_set(c) for c in range(2)] == [(1,), (0,)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"names": ("a", "a", "c")}, "different"),
        ({"scores": np.zeros(3)}, "do not fit"),
        ({"scores": np.array([np.nan] * 7)}, "finite"),
        ({"members": np.array([7, 0, 2, 0, 0], np.int32)}, "not a variable"),
        ({"members": np.array([0, 0, 2, 0, 0], np.int32)}, "itself as a parent"),
        ({"required": frozenset({(1, 1)})}, "names no arc"),
        ({"forbidden": frozenset({(0, 9)})}, "names no arc"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    change: dict[str, object], message: str
) -> None:
    good = chain()
    arrays = {
        k: getattr(good, k)
        for k in ("names", "first", "scores", "member_first", "members")
    }
    with pytest.raises(OptionError, match=message):
        Problem(**(arrays | change))
    with pytest.raises(OptionError, match="'a' has a parent set twice"):
        Problem.from_candidates(
            "abc", [{(1, 2): 0.0, (2, 1): 0.0}, {(): 0.0}, {(): 0.0}]
        )


def test_conflicting_constraints_are_named_and_no_others() -> None:
    with pytest.raises(InfeasibleError) as error:
        chain(required=[(0, 1)], forbidden=[(2, 1), (0, 1), (0, 2)]).require_feasible()
    assert "required a -> b, forbidden a -> b;" in str(error.value)
    with pytest.raises(InfeasibleError, match=r"required arcs: .* cycle a -> b -> a"):
        chain(required=[(0, 1), (1, 0)], forbidden=[(0, 2)]).require_feasible()
    with pytest.raises(InfeasibleError, match="even without constraints"):
        Problem.from_candidates(
            ["a", "b"], [{(1,): 0.0}, {(0,): 0.0}]
        ).require_feasible()


def test_feasibility_agrees_with_brute_force() -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        problem = random_problem(rng, 4, kept=0.3, empty_sets=0.4, constraints=2)
        try:
            problem.require_feasible()
        except InfeasibleError:
            assert best_selection(problem) == -np.inf
        else:
            assert best_selection(problem) > -np.inf


def test_pieces_add_up() -> None:
    """Two pairs that can form cycles, and a variable that only receives arcs."""
    tables = [
        {(): -2.0, (1,): -1.0},
        {(): -2.0, (0,): -1.5},
        {(): -2.0, (3,): -1.0, (0,): -0.5},
        {(): -2.0, (2,): -1.0, (0, 2): -1.5},
        {(): -9.0, (0, 3): -1.0},
    ]
    problem = Problem.from_candidates("abcde", tables)
    components = split(problem)
    assert [c.variables.tolist() for c in components] == [[0, 1], [2, 3], [4]]
    assert components[1].n_candidates == 3, (
        "an outer parent is granted, so {0} beats {} and {3}"
    )
    assert problem.parent_set(int(components[2].candidate[0])) == (0, 3)


def test_pieces_number_candidates_by_the_whole_problem() -> None:
    problem = chain(forbidden=[(1, 0)], required=[(0, 2)])
    chosen = [int(c.candidate[0]) for c in split(problem)]
    assert all(problem.allowed[chosen])


def test_wide_bit_sets() -> None:
    """More variables than bits in a word."""
    n = 150
    sets = [((v + 1) % n, (v + 70) % n, (v + 90) % n) for v in range(n)]
    tables = [{(): -2.0, s[:1]: -1.0, s[1:]: -1.5} for s in sets]
    problem = Problem.from_candidates([str(v) for v in range(n)], tables)
    (component,) = split(problem)
    assert component.parents.shape[1] == 3
    for c in range(component.n_candidates):
        parents = component.members[
            component.member_first[c] : component.member_first[c + 1]
        ]
        assert tuple(parents.tolist()) == problem.parent_set(
            int(component.candidate[c])
        )


def all_clusters(n: int) -> np.ndarray:
    return np.array(
        [c for c in product([False, True], repeat=n) if sum(c) > 1], np.bool_
    )


def fractional(
    component: Component, rng: np.random.Generator
) -> tuple[np.ndarray, Support]:
    """Draw a fractional selection: for each variable some candidates, with values adding to one."""
    x = np.zeros(component.n_candidates)
    for a, b in zip(component.first[:-1], component.first[1:], strict=True):
        picked = rng.choice(np.arange(a, b), min(3, b - a), replace=False)
        x[picked] = rng.dirichlet(np.ones(len(picked)))
    return x, Support.of(component, x)


def test_violations_are_those_of_the_inequality() -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        component = max(
            split(random_problem(rng, 6, kept=0.8)), key=lambda c: c.n_variables
        )
        x, support = fractional(component, rng)
        clusters = all_clusters(component.n_variables)
        counted = Counted.of(clusters)
        few = satisfied(component, clusters, counted.counts)
        uses, forms = cluster_rows(clusters[:, component.child], few)
        violation = violations(support, clusters, counted.counts)
        for k, cluster in enumerate(clusters):
            total = x[uses[k]].sum()
            lacking = total - (cluster.sum() - 1) if forms[k] else 1 - total
            assert lacking == pytest.approx(violation[k], abs=1e-9)


def test_circuits_of_a_selection_tell_whether_it_is_acyclic() -> None:
    rng = np.random.default_rng(3)
    sets = [s for k in range(3) for s in combinations(range(5), k)]
    for _ in range(100):
        parents = tuple(
            tuple(p for p in sets[int(rng.integers(len(sets)))] if p != child)
            for child in range(5)
        )
        support = Support(
            np.arange(5),
            np.ones(5),
            np.concatenate([[0], np.cumsum([len(p) for p in parents])]).astype(
                np.int64
            ),
            np.array([p for ps in parents for p in ps], np.int64),
        )
        assert (len(short_circuits(support, 5, 1)) == 0) == is_acyclic(parents)
