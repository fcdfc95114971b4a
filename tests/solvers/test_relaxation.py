"""The relaxation and its bounds against brute force, and against a plain program with all rows."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from exactlearn._runtime import control
from exactlearn._runtime.control import SearchControl
from exactlearn.formats.scores import read_jkl
from exactlearn.solvers import Problem, relaxation
from exactlearn.solvers.clusters import Counted
from exactlearn.solvers.components import split
from exactlearn.solvers.dual_bounds import greedy_multipliers, tighten_bound
from exactlearn.solvers.multipliers import Multipliers
from exactlearn.solvers.relaxation import LinearProgram, Relaxation
from exactlearn.solvers.root import CuttingPlanes, solve_root
from exactlearn.solvers.satisfied_clusters import satisfied
from tests.brute_force import best_selection
from tests.interrupts import Looks


@st.composite
def problems(draw, most=5):
    n = draw(st.integers(2, most))
    scores = st.integers(-40, 0).map(lambda s: s / 4)
    tables = []
    for child in range(n):
        others = [v for v in range(n) if v != child]
        sets = [s for k in range(1, 4) for s in combinations(others, k)]
        kept = draw(st.lists(st.sampled_from(sets), unique=True, max_size=7))
        tables.append({s: draw(scores) + len(s) for s in [(), *kept]})
    return Problem.from_candidates([f"x{i}" for i in range(n)], tables)


def every_cluster(n, counts=(1,)):
    """Return all clusters with all the counts that say something."""
    held = [
        (members, k) for k in counts for size in range(k + 1, n + 1)
        for members in combinations(range(n), size)
    ]  # fmt: skip
    clusters = np.zeros((len(held), n), np.bool_)
    for row, (members, _) in zip(clusters, held, strict=True):
        row[list(members)] = True
    return clusters, np.array([k for _, k in held], np.int64)


def plain_optimum(problem, clusters, counts, allowed=None):
    """Solve the relaxation with all columns and rows at once; -inf when it has no solution."""
    m, n = problem.n_candidates, problem.n_variables
    assign = np.zeros((n, m))
    assign[problem.child, np.arange(m)] = 1.0
    allowed = np.ones(m) if allowed is None else allowed
    rows = satisfied(problem, clusters, counts).astype(float)
    solved = linprog(
        -problem.scores, A_ub=-rows, b_ub=-counts, A_eq=assign, b_eq=np.ones(n), method="highs",
        bounds=[(0, float(a)) for a in allowed],
    )  # fmt: skip
    return -solved.fun if solved.success else -np.inf


def test_a_control_ends_the_simplex_method_in_good_order(monkeypatch):
    monkeypatch.setattr(relaxation, "PAUSE", 0.0)
    program = LinearProgram()
    program.add_rows(
        np.full(9, -np.inf), np.ones(9), np.zeros(10, np.int64), np.zeros(0, np.int64)
    )
    pairs = list(combinations(range(9), 2))
    starts = np.arange(0, 2 * len(pairs) + 1, 2)
    program.add_columns(np.arange(1.0, len(pairs) + 1), starts, np.array(pairs).ravel())
    assert program.solve(dual=False, control=Looks(0)) is None

    def fail(event):
        raise ZeroDivisionError

    monkeypatch.setattr(control, "STEADY", 0.0)
    with pytest.raises(ZeroDivisionError):
        program.solve(dual=False, control=SearchControl(on_event=fail))
    optimum, values, _ = program.solve(dual=False)
    assert values @ np.arange(1.0, len(pairs) + 1) == pytest.approx(optimum)
    assert optimum == pytest.approx(98.0)


@settings(max_examples=60)
@given(problems(), st.data())
def test_column_generation_gives_the_plain_optimum(problem, data):
    """In whichever form its rows are given."""
    clusters, counts = every_cluster(problem.n_variables, (1, 2, 3))
    chosen = (
        data.draw(st.lists(st.integers(0, len(counts) - 1), unique=True))
        if len(counts)
        else []
    )
    relaxation = Relaxation(problem, clusters=Counted(clusters, counts).take(chosen))
    relaxed = relaxation.solve()
    assert relaxed.feasible
    assert relaxed.objective == pytest.approx(
        plain_optimum(problem, clusters[chosen], counts[chosen]), abs=1e-6
    )
    assert relaxed.bound == pytest.approx(relaxed.objective, abs=1e-6)
    sums = np.add.reduceat(relaxed.x, problem.first[:-1])
    assert sums == pytest.approx(np.ones(problem.n_variables))
    rest = np.setdiff1d(np.arange(len(counts)), chosen)
    relaxation.keep(relaxed.multipliers.values > 1e-9)
    relaxation.add(Counted(clusters, counts).take(rest))
    tight = Relaxation(problem, clusters=relaxation.pool)
    assert relaxation.solve().objective == pytest.approx(
        tight.solve().objective, abs=1e-6
    )


@settings(max_examples=60)
@given(problems(4), st.data())
def test_barred_candidates_stay_out_until_they_are_allowed_again(problem, data):
    clusters, counts = every_cluster(problem.n_variables, (1, 2))
    flags = st.lists(
        st.booleans(), min_size=problem.n_candidates, max_size=problem.n_candidates
    )
    relaxation = Relaxation(problem, clusters=Counted(clusters, counts))
    for allowed in (
        *(np.array(data.draw(flags)) for _ in range(2)),
        np.ones(problem.n_candidates),
    ):
        allowed = allowed.astype(np.bool_)
        if not np.logical_or.reduceat(allowed, problem.first[:-1]).all():
            continue
        relaxation.allow(allowed)
        relaxed = relaxation.solve()
        best = plain_optimum(problem, clusters, counts, allowed)
        assert not relaxed.x[~allowed].any()
        assert relaxed.feasible == (best > -np.inf)
        assert relaxed.bound >= best - 1e-9
        if relaxed.feasible:
            assert relaxed.objective == pytest.approx(best, abs=1e-6)


@settings(max_examples=60)
@given(problems(), st.integers(0, 2**32 - 1))
def test_any_counted_multipliers_bound_every_network(problem, seed):
    rng = np.random.default_rng(seed)
    clusters, counts = every_cluster(problem.n_variables, (1, 2, 3))
    best = best_selection(problem)
    for _ in range(5):
        values = rng.exponential(1.0, len(counts)) * (rng.random(len(counts)) < 0.3)
        multipliers = Multipliers(clusters, values, counts)
        assert multipliers.bound(problem) >= best - 1e-9
        assert multipliers.positive().bound(problem) == pytest.approx(
            multipliers.bound(problem)
        )
        assert (
            tighten_bound(multipliers, problem, best)[0].bound(problem)
            <= multipliers.bound(problem) + 1e-9
        )
    assert greedy_multipliers(problem).bound(problem) >= best


@settings(max_examples=60)
@given(problems(), st.booleans())
def test_cutting_planes_bound_and_keep_an_optimal_selection(problem, warm):
    best = best_selection(problem)
    bounds = []
    chosen = problem.first[:-1] if warm else None  # the parentless selection
    planes = CuttingPlanes(problem, selection=chosen)
    bounds.append(planes.bound)
    while planes.step():
        bounds.append(planes.bound)
        assert planes.multipliers.bound(problem) == pytest.approx(planes.bound)
    assert bounds == sorted(bounds, reverse=True)
    assert planes.bound >= best
    clusters, counts = every_cluster(problem.n_variables)
    assert planes.bound <= plain_optimum(problem, clusters, counts) + 2e-3
    root = solve_root(problem, best, selection=chosen)
    assert root.bound >= best
    assert (root.reach <= root.bound).all()
    kept = problem.select(root.may_reach(best))
    assert best_selection(kept) == pytest.approx(best)


def test_published_roots_close_most_of_the_gap(data_dir):
    for name, optimum, gap in (
        ("survey-5000", -19710.916, 0.0),
        ("insurance_1000_bdeu-10-3", -13746.496184, 6.0),
    ):
        problem = read_jkl(data_dir / "bnsl" / f"{name}.jkl.gz")
        bound = sum(solve_root(component).bound for component in split(problem))
        assert optimum - 1e-6 <= bound <= optimum + gap + 1e-6


def test_bounds_are_reported_before_the_search_ends(data_dir):
    component = max(
        split(read_jkl(data_dir / "bnsl" / "insurance-5000.jkl.gz")),
        key=lambda c: c.n_variables,
    )
    told = []
    stopped = solve_root(
        component, control=Looks(0), on_bound=lambda bound, _: told.append(bound)
    )
    assert told[-1] == stopped.bound
    assert len(told) >= 1
    assert told[-1] >= solve_root(component).bound


def test_no_word_of_highs_on_standard_output(capfd):
    """``--json`` prints exactly one object; HiGHS 1.16 announces itself when it is made."""
    program = LinearProgram()
    program.add_columns(np.ones(1), np.array([0, 0]), np.array([], int))
    del program
    assert capfd.readouterr().out == ""
