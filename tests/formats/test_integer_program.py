"""The integer program that is written has the optimum that is found here, for two other readers."""

import highspy
import pytest
from pyscipopt import Model

import exactlearn as el
from exactlearn.solvers import Problem
from tests.solvers.test_checkpoint import random_problem


def solved_by_scip(path):
    model = Model()
    model.hideOutput()
    model.readProblem(str(path))
    model.optimize()
    chosen = {
        v.name for v in model.getVars() if v.name[0] == "x" and model.getVal(v) > 0.5
    }
    return model.getObjVal(), chosen


@pytest.mark.parametrize("suffix", [".lp", ".mps", ".cip"])
@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_is_the_same(seed, suffix, tmp_path):
    problem, path = random_problem(seed, 6), tmp_path / f"program{suffix}"
    el.write_scores(problem, path)
    expected = el.solve(problem)
    score, chosen = solved_by_scip(path)
    assert score == pytest.approx(expected.score, abs=1e-6)
    parents = {
        int(v): tuple(map(int, ps)) for v, *ps in (x[1:].split("_") for x in chosen)
    }
    assert tuple(parents[v] for v in range(6)) == expected.parents


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
def test_another_solver_reads_it(suffix, tmp_path):
    problem, path = random_problem(1, 6), tmp_path / f"program{suffix}"
    el.write_scores(problem, path)
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    solver.run()
    objective = solver.getInfo().objective_function_value
    assert abs(objective) == pytest.approx(abs(el.solve(problem).score), abs=1e-5)


def test_constraints_leave_candidates_out(tmp_path):
    problem = Problem.from_candidates(
        ["a b", "c"],
        [{(): -3.0, (1,): -1.0}, {(): -2.0, (0,): -1.5}],
        forbidden={(1, 0)},
    )
    el.write_scores(problem, tmp_path / "program.lp")
    score, chosen = solved_by_scip(tmp_path / "program.lp")
    assert (score, chosen) == (pytest.approx(-4.5), {"x0", "x1_0"})
