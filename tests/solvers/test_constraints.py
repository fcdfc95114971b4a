"""Declared constraints, honoured by every solver, against all networks of tiny problems."""

from dataclasses import replace
from itertools import combinations, product
from operator import ne

import numpy as np
import pytest

from exactlearn.errors import CheckError, OptionError
from exactlearn.graphs.dag import active_trail
from exactlearn.solvers import Problem, solve
from exactlearn.solvers import constrained as constrained_module
from exactlearn.solvers.candidate_table import (
    CandidateTable,
    neighbours,
    repaired,
    simple_network,
    with_implied_arcs,
)
from exactlearn.solvers.constrained import is_satisfiable
from exactlearn.solvers.constraints import (
    Clause,
    Condition,
    Constraint,
    ForbiddenAncestor,
    Independence,
    MaxParents,
    RequiredAdjacency,
    RequiredAncestor,
    Tiers,
    minimal_conflict,
)
from exactlearn.solvers.select import SOLVERS
from exactlearn.solvers.strategy import COMPONENT_SOLVERS
from tests.constraint_oracle import (
    Parents,
    condition_holds,
    holds,
    networks,
    random_constraint,
    separated,
)
from tests.interrupts import press_ctrl_c
from tests.solvers.test_solvers import random_problem

EXACT = [name for name in SOLVERS if name == "auto" or COMPONENT_SOLVERS[name].is_exact]
KINDS = (
    "required adjacency", "forbidden adjacency", "tiers", "max parents", "required ancestor",
    "forbidden ancestor", "independence",
)  # fmt: skip


def constrained(
    rng: np.random.Generator, n: int, kinds: list[int], **drawn: float
) -> Problem:
    problem = random_problem(rng, n, most_parents=2, **drawn)
    return replace(
        problem, constraints=tuple(random_constraint(rng, n, kind) for kind in kinds)
    )


def assert_best(problem: Problem, solver: str) -> None:
    every = networks(problem)
    result = solve(problem, solver=solver)
    if not every:
        assert result.status == "infeasible"
        return
    assert result.status == "optimal"
    assert result.score == pytest.approx(every[0][0], abs=1e-9)
    assert result.bound == pytest.approx(every[0][0], abs=1e-6)
    bounds = [bound for _, _, bound in result.trace]
    assert bounds == sorted(bounds, reverse=True)
    assert all(holds(c, result.parents) for c in problem.constraints)


@pytest.mark.parametrize("kind", range(7), ids=KINDS)
def test_each_kind_has_the_optimum_of_brute_force(kind: int) -> None:
    rng = np.random.default_rng(kind)
    for round_ in range(6):
        problem = constrained(rng, 3 + round_ % 2, [kind] * (1 + round_ % 3), kept=0.8)
        for solver in EXACT:
            assert_best(problem, solver)


def test_mixtures_have_the_optimum_of_brute_force() -> None:
    rng = np.random.default_rng(20)
    infeasible = 0
    for round_ in range(16):
        kinds = rng.integers(0, 7, int(rng.integers(2, 6))).tolist()
        problem = constrained(
            rng, 4, kinds, kept=0.7, constraints=round_ % 3, ties=round_ % 4 == 0
        )
        infeasible += not networks(problem)
        for solver in EXACT:
            assert_best(problem, solver)
    assert 0 < infeasible < 12


def test_a_heuristic_honours_constraints_and_bounds() -> None:
    problem = constrained(np.random.default_rng(30), 3, [4], kept=0.9)
    every = networks(problem)
    result = solve(problem, solver="ordering")
    assert result.parents in [parents for _, parents in every]
    assert result.score <= every[0][0] + 1e-9
    assert result.bound >= every[0][0] - 1e-9


def test_repairs_lead_to_networks_that_satisfy() -> None:
    rng = np.random.default_rng(31)
    repairs = 0
    for _ in range(60):
        problem = constrained(rng, 4, rng.integers(0, 7, 2).tolist(), kept=0.9)
        table = CandidateTable.by_score(problem)
        free = table.problem
        start = networks(free)[0][1]

        def clause_of(parents: Parents, problem: Problem = problem) -> Clause | None:
            clauses = [c.clause(parents) for c in problem.overall_constraints]
            return next((clause for clause in clauses if clause is not None), None)

        found = repaired(table, start, clause_of, 50)
        if found is not None:
            repairs += 1
            scores = {parents: score for score, parents in networks(problem)}
            assert table.problem.total(found) == pytest.approx(scores[found])
            near = neighbours(table, found, -np.inf, 1000)
            every = {parents: score for score, parents in networks(free)}
            changed = {p: s for p, s in every.items() if sum(map(ne, p, found)) == 1}
            assert dict(near) == pytest.approx(changed)
    assert repairs > 30


def test_five_variables() -> None:
    rng = np.random.default_rng(21)
    for _ in range(4):
        problem = constrained(rng, 5, rng.integers(0, 7, 4).tolist(), kept=0.4)
        assert_best(problem, "dynamic")


def test_clauses_exclude_exactly_the_violating_networks() -> None:
    rng = np.random.default_rng(23)
    every = networks(random_problem(rng, 4, most_parents=3, kept=0.5))
    for kind in list(range(7)) * 4:
        constraint = random_constraint(rng, 4, kind)
        satisfying = [parents for _, parents in every if holds(constraint, parents)]
        for _, parents in every[::17]:
            clause = constraint.clause(parents)
            assert (clause is None) == holds(constraint, parents)
            if clause is None:
                continue
            assert not any(
                condition_holds(condition, parents[condition.variable])
                for condition in clause
            )
            for other in satisfying[::5]:
                assert any(
                    condition_holds(condition, other[condition.variable])
                    for condition in clause
                )


def test_arcs_ruled_out_are_in_no_satisfying_network() -> None:
    rng = np.random.default_rng(24)
    every = networks(random_problem(rng, 4, most_parents=3, kept=0.4))
    for kind in list(range(7)) * 3:
        constraint = random_constraint(rng, 4, kind)
        for _, parents in every:
            if holds(constraint, parents):
                assert not any(p in parents[c] for p, c in constraint.forbidden_arcs)


def test_active_trails_are_missing_exactly_when_separated() -> None:
    rng = np.random.default_rng(25)
    for _, parents in networks(random_problem(rng, 5, most_parents=2, kept=0.3))[:300]:
        a, b, *others = (int(v) for v in rng.permutation(5))
        given = frozenset(others[: int(rng.integers(4))])
        trail = active_trail(parents, [a], [b], given)
        assert (trail is None) == separated(
            parents, frozenset({a}), frozenset({b}), given
        )
        if trail is not None:
            assert all(p in parents[c] for p, c in trail)
            only = tuple(tuple(p for p, c in trail if c == v) for v in range(5))
            assert not separated(only, frozenset({a}), frozenset({b}), given)


def test_conditions_select_candidates() -> None:
    problem = random_problem(np.random.default_rng(26), 5, most_parents=3)
    table = CandidateTable(problem)
    for variable, kind, members in product(
        range(5), ("all", "any", "same"), [(), (0,), (1, 2), (0, 3, 4)]
    ):
        condition = Condition(variable, kind, frozenset(members))
        families = [family for family, _ in problem.candidates(variable)]
        expected = [condition_holds(condition, family) for family in families]
        assert table.holds(condition).tolist() == expected
        assert table.holds(condition.opposite).tolist() == [not e for e in expected]
        assert condition.opposite.opposite == condition


def test_conflicts_are_minimal() -> None:
    rng = np.random.default_rng(27)
    explained = 0
    while explained < 12:
        kinds = rng.integers(0, 7, 5).tolist()
        problem = constrained(rng, 3, kinds, kept=0.8, constraints=4)
        if networks(problem) or not networks(problem.constrained_by(())):
            continue
        result = solve(problem)
        assert result.status == "infeasible"
        if "directed cycle" in result.message:
            continue
        explained += 1
        told = {r: problem.describe_conflict([r]) for r in problem.requirements}
        words = {
            r: t.partition(": ")[2].rpartition("; drop")[0] for r, t in told.items()
        }
        named = [r for r, word in words.items() if word in result.message]
        assert problem.describe_conflict(named) == result.message
        assert not networks(problem.constrained_by(named))
        for spared in named:
            assert networks(problem.constrained_by([r for r in named if r != spared]))


def test_satisfiability_agrees_with_brute_force() -> None:
    rng = np.random.default_rng(28)
    for _ in range(40):
        problem = constrained(
            rng, 4, rng.integers(0, 7, 4).tolist(), kept=0.4, empty_sets=0.6
        )
        assert is_satisfiable(problem) == bool(networks(problem))


def test_minimal_conflict_of_many() -> None:
    bad = {7, 30, 31, 90}
    tests = []

    def is_feasible(some: list[int]) -> bool:
        tests.append(some)
        return not bad <= set(some)

    assert set(minimal_conflict(range(100), is_feasible)) == bad
    assert len(tests) < 60


def test_implied_arcs_are_in_no_satisfying_network() -> None:
    rng = np.random.default_rng(31)
    contradictory = implied = simple = 0
    for _ in range(150):
        problem = constrained(
            rng, 4, rng.integers(0, 7, 3).tolist(), kept=0.6, constraints=3
        )
        every = [parents for _, parents in networks(problem)]
        found = with_implied_arcs(problem)
        if found is None:
            contradictory += 1
            assert not every
            continue
        for parent, child in found.forbidden - problem.forbidden:
            implied += 1
            assert not any(parent in parents[child] for parents in every)
        network = simple_network(problem)
        if network is not None:
            simple += 1
            assert network in every
    assert min(contradictory, implied, simple) > 10


def test_ancestry_contradicts_marginal_independence() -> None:
    """No search is needed to see it."""
    rng = np.random.default_rng(32)
    contradictory = implied = 0
    for _ in range(60):
        problem = random_problem(rng, 4, most_parents=3, kept=0.8)
        a, b, c, d = rng.permutation(4).tolist()
        separate = Independence(frozenset({a}), frozenset({b, c}))
        ancestors = (
            RequiredAncestor(*rng.permutation(4)[:2].tolist()),
            RequiredAncestor(d, b),
        )
        problem = replace(problem, constraints=(separate, *ancestors))
        every = [parents for _, parents in networks(problem)]
        found = with_implied_arcs(problem)
        if found is None:
            contradictory += 1
            assert not every
            continue
        for parent, child in found.forbidden - problem.forbidden:
            implied += 1
            assert not any(parent in parents[child] for parents in every)
    assert min(contradictory, implied) > 10
    declared = (RequiredAncestor(0, 1), Independence(frozenset({0}), frozenset({1})))
    result = solve(large(declared))
    assert (result.status, result.nodes) == ("infeasible", 0)
    assert "required ancestor X0 of X1, X0 independent of X1; drop" in result.message


def test_a_cycle_of_arcs_and_ancestors_is_found_without_a_search() -> None:
    problem = random_problem(np.random.default_rng(30), 30, most_parents=2)
    arcs = frozenset({(0, 1), (1, 2), (2, 3)})
    declared = (RequiredAncestor(3, 0), MaxParents(9, 1))
    result = solve(replace(problem, required=arcs, constraints=declared))
    assert (result.status, result.nodes) == ("infeasible", 0)
    assert "required X0 -> X1" in result.message
    assert "required ancestor X3 of X0;" in result.message
    assert "at most" not in result.message


def test_a_conflict_that_takes_long_to_reduce_is_named_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    separate = Independence(frozenset({0}), frozenset({1}), frozenset({2}))
    paths = ForbiddenAncestor(0, 2), ForbiddenAncestor(2, 3)
    declared = (RequiredAncestor(0, 1), separate, *paths)
    problem = random_problem(np.random.default_rng(29), 4, most_parents=2)
    problem = replace(problem, constraints=declared)
    smallest = problem.describe_conflict([("constraint", c) for c in declared[:2]])
    assert solve(problem).message == smallest
    monkeypatch.setattr(constrained_module, "CONFLICT", 0.0)
    told = solve(problem).message
    assert "required ancestor X0 of X1, X0 independent of X1" in told
    assert told.endswith("(there was no time to name fewer)")


def large(constraints: tuple[Constraint, ...]) -> Problem:
    problem = random_problem(np.random.default_rng(29), 9, most_parents=2, kept=0.9)
    return replace(problem, constraints=constraints)


def test_a_limit_leaves_a_valid_bound() -> None:
    constraints = (RequiredAncestor(0, 8),)
    best = solve(large(constraints))
    assert best.status == "optimal"
    stopped = solve(large(constraints), time_limit=0)
    assert stopped.status == "feasible"
    assert stopped.bound >= best.score
    loose = solve(large(constraints), gap=0.2)
    assert loose.status == "optimal"
    assert loose.bound >= best.score >= loose.score
    assert loose.gap <= 0.2
    assert best.trace[-1][1] == pytest.approx(best.score)


def test_interruption_keeps_the_best_so_far() -> None:
    constraints = (RequiredAncestor(0, 8),)
    best = solve(large(constraints))

    def interrupt(event: object) -> None:
        if event.parents is not None:
            press_ctrl_c()

    result = solve(large(constraints), on_event=interrupt)
    assert result.status == "interrupted"
    assert result.parents is not None
    assert result.score <= best.score <= result.bound + 1e-9


def test_check_recomputes_the_constraints() -> None:
    problem = large(())
    result = solve(problem)
    linked = {
        frozenset((p, c)) for c, family in enumerate(result.parents) for p in family
    }
    a, b = next(
        pair for pair in combinations(range(9), 2) if frozenset(pair) not in linked
    )
    with pytest.raises(CheckError, match=f"violates: required adjacency X{a} - X{b}"):
        result.check(large((RequiredAdjacency(a, b),)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: large((RequiredAdjacency(0, 9),)), "does not have"),
        (lambda: large((RequiredAncestor(3, 3),)), "two different variables"),
        (lambda: Tiers(((0, 1), (1,))), "two tiers"),
        (lambda: MaxParents(0, -1), "'most': expected a whole number from 0, found -1"),
        (lambda: Independence(frozenset(), frozenset({1})), "both sides"),
        (lambda: Independence(frozenset({1}), frozenset({1})), "all different"),
    ],
)
def test_constraints_that_are_none_are_refused(make: object, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make()


"""All parent sets but the empty one, of each of three variables."""
