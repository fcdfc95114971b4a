"""Every solver against brute force, against each other and against published optima."""

import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from itertools import combinations
from math import inf
from pathlib import Path
from time import sleep

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn._runtime.control import Event
from exactlearn.errors import CheckError, OptionError, TooLargeError
from exactlearn.formats.scores import read_jkl
from exactlearn.solvers import Problem, solve
from exactlearn.solvers.components import Component, split
from tests.brute_force import best_selection

PLAIN = ("scip", "order-graph", "dynamic", "auto")
LARGEST = "pathfinder-5000.jkl.gz"
OPTIMA = {
    "survey-5000.jkl.gz": -19710.916,
    "asia_10000_bdeu-1-3.jkl.gz": -22466.396546,
    "abalone_BIC.txt.gz": -16171.192325,
    "wine.BIC.3.jkl.gz": -1258.445909,
    "zoo_BIC.txt.gz": -773.486072,
    "child-5000.jkl.gz": -62059.5035,
    "insurance-5000.jkl.gz": -68053.1412,
    "alarm_1000_bic.jkl.gz": -11783.052412,
    "hailfinder_100_bdeu-1-4.jkl.gz": -5802.373903,
    LARGEST: -149209.6744,
}


def random_problem(
    rng: np.random.Generator,
    n: int,
    *,
    most_parents: int = 2,
    kept: float = 0.6,
    ties: bool = False,
    empty_sets: float = 1.0,
    constraints: int = 0,
) -> Problem:
    """Draw candidates for n variables; each variable lists at least one."""
    tables = []
    for child in range(n):
        others = [v for v in range(n) if v != child]
        sets = [s for k in range(most_parents + 1) for s in combinations(others, k)]
        keep = [
            s
            for s in sets
            if rng.random() < (kept if s else empty_sets) or len(s) == len(sets)
        ] or [sets[int(rng.integers(len(sets)))]]
        score = (
            (lambda: -float(rng.integers(3)))
            if ties
            else (lambda: -10 * float(rng.random()))
        )
        tables.append({s: score() for s in keep})
    arcs = [(p, c) for p in range(n) for c in range(n) if p != c]
    picked = (
        [arcs[int(rng.integers(len(arcs)))] for _ in range(constraints)] if arcs else []
    )
    half = len(picked) // 2
    return Problem.from_candidates(
        [f"X{i}" for i in range(n)],
        tables,
        required=picked[:half],
        forbidden=picked[half:],
    )


def assert_optimal(problem: Problem, best: float, solver: str) -> None:
    result = solve(problem, solver=solver)
    result.check(problem)
    if best == -inf:
        assert result.status == "infeasible"
        assert result.message
    else:
        assert result.status == "optimal"
        assert result.score == pytest.approx(best, abs=1e-9)
        assert result.bound == pytest.approx(best, abs=1e-6)


KINDS = {
    "plain": {},
    "few candidates": {"kept": 0.2},
    "ties": {"ties": True},
    "missing empty sets": {"empty_sets": 0.3},
    "constraints": {"constraints": 3, "kept": 0.8},
    "many constraints": {"constraints": 6, "empty_sets": 0.7},
}


@pytest.mark.parametrize("kind", KINDS)
def test_same_optimum_as_brute_force(kind: str) -> None:
    rng = np.random.default_rng(7)
    infeasible = 0
    for round_ in range(40):
        n = 1 + round_ % 5
        problem = random_problem(rng, n, most_parents=3 if n < 5 else 1, **KINDS[kind])
        best = best_selection(problem)
        infeasible += best == -inf
        for solver in PLAIN:
            assert_optimal(problem, best, solver)
    assert infeasible < 40


@pytest.mark.parametrize("n", [6, 8, 11, 15])
def test_solvers_agree(n: int) -> None:
    rng = np.random.default_rng(n)
    for constraints in (0, 4):
        problem = random_problem(rng, n, kept=0.4, constraints=constraints)
        found = [solve(problem, solver=solver) for solver in PLAIN]
        assert len({r.status for r in found}) == 1
        if found[0].status == "optimal":
            assert max(r.score for r in found) - min(r.score for r in found) < 1e-9


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), solver=st.sampled_from(PLAIN))
def test_renaming_variables_changes_nothing(seed: int, solver: str) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, 6)
    new = rng.permutation(6)
    tables: list[dict[tuple[int, ...], float]] = [{} for _ in new]
    for child in range(6):
        tables[new[child]] = {
            tuple(int(new[p]) for p in parents): score
            for parents, score in problem.candidates(child)
        }
    renamed = Problem.from_candidates(problem.names, tables)
    assert solve(renamed, solver=solver).score == pytest.approx(
        solve(problem, solver=solver).score
    )


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), solver=st.sampled_from(PLAIN))
def test_a_constraint_never_helps_and_a_candidate_never_hurts(
    seed: int, solver: str
) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, 6, constraints=2)
    free = solve(
        replace(problem, required=frozenset(), forbidden=frozenset()), solver=solver
    )
    bound = solve(problem, solver=solver)
    fewer = problem.select(rng.random(problem.n_candidates) < 0.8)
    assert bound.score <= free.score + 1e-9
    assert solve(fewer, solver=solver).score <= bound.score + 1e-9


@pytest.mark.parametrize(
    ("solver", "name"),
    [(s, n) for s in PLAIN for n in OPTIMA if s == "auto" or n != LARGEST],
)
def test_published_optima(solver: str, name: str, data_dir: Path) -> None:
    problem = read_jkl(data_dir / "bnsl" / name)
    if solver == "dynamic" and problem.n_variables > 20:
        with pytest.raises(
            TooLargeError, match=r"2\^.*its limit is 22 variables.*scip"
        ):
            solve(problem, solver=solver)
        return
    result = solve(problem, solver=solver)
    assert result.status == "optimal"
    assert result.score == pytest.approx(OPTIMA[name], abs=1e-5)


def big_problem() -> Problem:
    """Draw a problem whose proof takes long."""
    return random_problem(np.random.default_rng(1), 130, kept=0.6)


def test_time_limit_keeps_incumbent_and_bound() -> None:
    problem = big_problem()
    result = solve(problem, solver="scip", time_limit=1.0)
    assert result.status == "feasible"
    assert -inf < result.score < result.bound
    assert result.gap > 0
    assert "the time limit was reached" in result.message
    longer = solve(problem, solver="scip", time_limit=2.0, start=result)
    assert longer.score >= result.score - 1e-9
    assert longer.bound >= result.score - 1e-9
    assert result.bound >= longer.score - 1e-9


def test_no_time_at_all_still_gives_a_selection() -> None:
    for solver in PLAIN:
        result = solve(
            random_problem(np.random.default_rng(1), 19), solver=solver, time_limit=0
        )
        assert result.status in ("feasible", "optimal")
        assert -inf < result.score <= result.bound < inf


def test_a_time_limit_counts_taking_the_problem_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def split_slowly(problem: Problem) -> tuple[Component, ...]:
        sleep(0.2)
        return split(problem)

    monkeypatch.setattr("exactlearn.solvers.select.split", split_slowly)
    assert solve(big_problem(), time_limit=0.1).seconds >= 0.2


def test_gap_is_honoured() -> None:
    problem = random_problem(np.random.default_rng(5), 25, kept=0.3)
    result = solve(problem, solver="scip", gap=0.2)
    assert result.status == "optimal"
    assert result.gap <= 0.2
    assert result.gap_limit == 0.2


def test_events_improve_and_end_with_the_answer() -> None:
    events: list[Event] = []
    problem = random_problem(np.random.default_rng(3), 22, kept=0.3)
    result = solve(problem, solver="scip", on_event=events.append)
    scores, bounds = [e.score for e in events], [e.bound for e in events]
    assert scores == sorted(scores)
    assert bounds == sorted(bounds, reverse=True)
    assert (events[-1].score, events[-1].bound) == (result.score, result.bound)
    assert events[-1].parents == result.parents
    assert result.trace[-1][1:] == (result.score, result.bound)
    assert [t for t, _, _ in result.trace] == sorted(t for t, _, _ in result.trace)


@pytest.mark.parametrize("solver", PLAIN)
def test_an_error_of_the_listener_reaches_the_caller(solver: str) -> None:
    def listener(event: Event) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        solve(
            random_problem(np.random.default_rng(3), 22),
            solver=solver,
            on_event=listener,
        )


def test_same_seed_same_answer() -> None:
    problem = random_problem(np.random.default_rng(4), 20, kept=0.3, ties=True)
    first, second = (solve(problem, solver="scip", seed=3) for _ in range(2))
    assert first.parents == second.parents


INTERRUPTED = """
    import os, signal, sys, threading
    sys.path[:0] = {path!r}
    from tests.solvers.test_solvers import big_problem
    from exactlearn.solvers import solve
    problem = big_problem()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell ignores it
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    result = solve(problem, solver="scip", on_event=lambda e: timer.ident or timer.start())
    result.check(problem)
    print(result.status, result.score, result.bound)
"""


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_keeps_incumbent_and_bound() -> None:
    path = [str(Path.cwd()), *sys.path]
    code = textwrap.dedent(INTERRUPTED).format(path=path)
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    status, score, bound = done.stdout.split()
    assert status == "interrupted"
    assert -inf < float(score) <= float(bound) < inf


def test_start_is_kept_unless_beaten() -> None:
    problem = random_problem(np.random.default_rng(9), 30, kept=0.3)
    first = solve(problem, solver="scip", time_limit=1)
    assert first.parents is not None
    again = solve(problem, solver="scip", time_limit=0, start=first.parents)
    assert again.score >= first.score - 1e-9


def test_start_must_be_a_network() -> None:
    problem = random_problem(np.random.default_rng(9), 3)
    with pytest.raises(OptionError, match="cycle"):
        solve(problem, start=((1,), (0,), ()))
    with pytest.raises(OptionError, match="parents of 3 variables"):
        solve(problem, start=((), ()))


def test_wrong_options_are_refused() -> None:
    problem = random_problem(np.random.default_rng(9), 3)
    with pytest.raises(OptionError, match="did you mean 'dynamic'"):
        solve(problem, solver="dynamo")
    with pytest.raises(OptionError, match="time_limit"):
        solve(problem, time_limit=-1)
    with pytest.raises(OptionError, match="gap"):
        solve(problem, gap=inf)
    with pytest.raises(OptionError, match="seed"):
        solve(problem, seed=-1)


def test_infeasible_constraints_are_named() -> None:
    problem = Problem.from_candidates(
        ["a", "b", "c"],
        [{(): 0.0, (1,): 1.0}, {(): 0.0, (0,): 1.0, (2,): 0.0}, {(): 0.0}],
        required=[(0, 1)],
        forbidden=[(2, 1), (0, 1)],
    )
    for solver in PLAIN:
        result = solve(problem, solver=solver)
        assert result.status == "infeasible"
        assert "required a -> b" in result.message
        assert "forbidden a -> b" in result.message
        assert "c -> b" not in result.message


def test_large_penalties_do_not_blur_small_scores() -> None:
    """Two artificial variables in a ring, as in the augmentation gadget: one pays the penalty."""
    for penalty in (1e3, 1e5, 1e6):
        problem = Problem.from_candidates(
            ["a", "b", "z0", "z1"],
            [
                {(2,): -10.001, (3,): -10.0},
                {(0, 2): -5.0, (0, 3): -5.0015, (): -7.0},
                {(0, 1, 3): 0.0, (): -penalty},
                {(0, 1, 2): 0.0, (): -penalty},
            ],
        )
        for solver in PLAIN:
            result = solve(problem, solver=solver)
            assert result.score == pytest.approx(-15.001 - penalty, abs=1e-9)
            assert result.parents == ((2,), (0, 2), (), (0, 1, 2))


def test_check_catches_every_lie() -> None:
    problem = random_problem(np.random.default_rng(11), 5, kept=0.9)
    result = solve(problem)
    assert result.parents is not None
    lies = [
        replace(result, score=result.score + 1e-3, bound=result.bound + 1),
        replace(result, bound=result.score - 1e-3),
        replace(result, bound=result.score + 1e-1),
        replace(result, parents=None),
        replace(result, parents=result.parents[:-1]),
        replace(result, parents=((0,), *result.parents[1:])),
        replace(result, status="infeasible"),
        replace(result, parents=((1,), (0,), (), (), ())),
    ]
    for lie in lies:
        with pytest.raises(CheckError):
            lie.check(problem)


def test_nothing_to_solve() -> None:
    result = solve(Problem())
    assert (result.status, result.score, result.parents) == ("optimal", 0.0, ())


def test_a_process_with_its_own_highs_threads_solves():
    """The solver of the relaxation had refused: HiGHS keeps the number of threads of the first."""
    code = (
        "import highspy, exactlearn as el; from exactlearn.solvers import solve\n"
        "other = highspy.Highs(); other.addVar(0, 1); other.run()\n"
        "problem = el.candidate_parent_sets(el.read_dataset('asia-mnar-complete'), 'bic')\n"
        "print(solve(problem, solver='scip', certify=True).status)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("optimal\n")
