"""A search that is killed again and again goes on, and has the answer of one that is not."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from exactlearn._runtime.checkpoint import Checkpoint, digest
from exactlearn.errors import FormatError, OptionError
from exactlearn.solvers import Problem, solve, strategy
from exactlearn.solvers.constraints import ArcTotal
from exactlearn.solvers.parameters import (
    DEFAULTS,
    CuttingPlaneParameters,
    OrderGraphParameters,
    SolverParameters,
)
from exactlearn.solvers.scip.separation import Acyclicity
from tests.killing import KilledError, killing

SMALL_BLOCKS = SolverParameters(
    cutting_planes=CuttingPlaneParameters(most_rounds=1),  # leaves more to the order graph
    order_graph=OrderGraphParameters(easy=0, block=3, first_states=64),
)


PARAMETERS = {"order-graph": SMALL_BLOCKS, "auto": SMALL_BLOCKS, "scip": DEFAULTS}


def random_problem(seed, n, most_parents=2):
    """Return a problem with a gap between its linear relaxation and its optimum."""
    rng = np.random.default_rng(seed)
    tables = []
    for child in range(n):
        others = [v for v in range(n) if v != child]
        sets = [s for k in range(most_parents + 1) for s in combinations(others, k)]
        tables.append({s: float(5 * rng.random() * len(s) ** 0.7) - 10 for s in sets})
    return Problem.from_candidates([f"x{i}" for i in range(n)], tables)


@pytest.fixture
def kills(monkeypatch):
    return killing(monkeypatch)


def solve_with_kills(problem, folder, kills, every, solver="auto"):
    """Solve a problem, killed every so many states; return the result."""
    for _ in range(101):
        kills["left"] = every
        try:
            return solve(problem, checkpoint=folder, parameters=PARAMETERS[solver], solver=solver)
        except KilledError:
            continue
    raise AssertionError("the search does not come to its end")


@pytest.mark.parametrize(
    ("solver", "search", "n", "every"),
    [
        ("order-graph", "order-graph", 16, 2),
        ("order-graph", "relaxation", 13, 2),
        ("scip", "branch-and-cut", 14, 40),
        ("scip", "branch-and-cut", 14, 5),
        ("auto", "", 24, 3),
    ],
)
def test_a_killed_search_goes_on(solver, search, n, every, tmp_path, kills):
    problem = random_problem(3, n)
    expected = solve(problem, solver=solver, parameters=PARAMETERS[solver])
    kills |= {"search": search, "most": 100 if "-" in search else 3}
    found = solve_with_kills(problem, tmp_path, kills, every, solver=solver)
    assert kills["kills"] > 0
    assert found.status == expected.status == "optimal"
    assert found.score == pytest.approx(expected.score, abs=1e-9)
    assert found.bound == pytest.approx(expected.bound, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_cuts_and_nodes_that_are_kept_lose_no_optimum(seed, tmp_path, kills):
    """Killed at random, with other seeds and gaps in between, arcs required and forbidden."""
    rng = np.random.default_rng(seed)
    arcs = [(int(a), int(b)) for a, b in rng.permutation(12)[:8].reshape(4, 2)]
    problem = replace(random_problem(seed, 12), required={arcs[0]}, forbidden={*arcs[1:]})
    expected = solve(problem, solver="dynamic").score
    kills |= {"search": "branch-and-cut", "most": 10}
    for turn in range(11):
        kills["left"] = int(rng.integers(1, 25))
        try:
            found = solve(
                problem,
                solver="scip",
                checkpoint=tmp_path,
                parameters=SMALL_BLOCKS,
                seed=turn,
                gap=0.0 if turn == 10 else float(rng.choice([0.0, 0.02])),
            )
        except KilledError:
            continue
        assert found.score >= expected - found.gap_limit * abs(expected) - 1e-9
        assert found.bound >= expected - 1e-6
    assert kills["kills"] > 0
    assert found.score == pytest.approx(expected, abs=1e-9)


def test_the_order_graph_expands_no_state_twice(tmp_path, kills):
    problem = random_problem(3, 16)
    expected = solve(problem, solver="order-graph", parameters=SMALL_BLOCKS)
    kills["search"] = "order-graph"
    found = solve_with_kills(problem, tmp_path, kills, 1, solver="order-graph")
    assert kills["kills"] > 1
    assert found.nodes == expected.nodes


def test_branch_and_cut_goes_on_without_cutting_its_root_anew(tmp_path, kills, monkeypatch):
    problem = random_problem(3, 14)
    expected = solve(problem, solver="scip")
    kills |= {"search": "branch-and-cut", "left": 60, "most": 1}
    with pytest.raises(KilledError):
        solve(problem, solver="scip", checkpoint=tmp_path)
    (kept,) = tmp_path.glob("branch-and-cut-*")
    with np.load(kept) as state:
        assert len(state["node_first"]) > 2
        assert len(state["sides"]) == len(state["first"]) - 1 > 0
        assert (np.abs(state["sides"]) < 1e20).any(axis=1).all()
        assert state["first"][-1] == len(state["candidates"]) == len(state["values"])
    begun = []

    def searched(self, support, n):
        begun.append(bool(self.master.open_before))
        return violated(self, support, n)

    violated = Acyclicity._violated
    monkeypatch.setattr(Acyclicity, "_violated", searched)
    found = solve(problem, solver="scip", checkpoint=tmp_path)
    assert begun
    assert not any(begun)
    assert found.score == pytest.approx(expected.score, abs=1e-9)
    assert found.bound == pytest.approx(expected.bound, abs=1e-6)


def test_branch_and_cut_goes_on_at_its_root(tmp_path, kills):
    problem = random_problem(3, 14)
    expected = solve(problem, solver="scip")
    kills |= {"search": "branch-and-cut", "left": 3, "most": 1}
    with pytest.raises(KilledError):
        solve(problem, solver="scip", checkpoint=tmp_path)
    (kept,) = tmp_path.glob("branch-and-cut-*")
    with np.load(kept) as state:
        assert len(state["node_first"]) == 2
        assert len(state["sides"])
    found = solve(problem, solver="scip", checkpoint=tmp_path)
    assert found.score == pytest.approx(expected.score, abs=1e-9)


def test_a_long_relaxation_is_kept_before_the_search_that_follows(tmp_path, monkeypatch):
    monkeypatch.setattr(strategy, "LONG", 0.0)
    monkeypatch.setattr(strategy.order_graph, "_Sweeps", None)  # fails as the search begins
    with pytest.raises(TypeError):
        solve(random_problem(3, 16), solver="order-graph", checkpoint=tmp_path)
    assert list(tmp_path.glob("left-*"))


def test_constraints_on_the_whole_network_are_searched_on(tmp_path, kills):
    problem = replace(random_problem(7, 9), constraints=(ArcTotal(most=5),))
    expected = solve(problem)
    kills["most"] = 5
    found = solve_with_kills(problem, tmp_path, kills, 2, solver="order-graph")
    assert kills["kills"] > 0
    assert found.score == pytest.approx(expected.score, abs=1e-9)
    assert found.parents == expected.parents


def test_what_was_proven_is_not_proven_again(tmp_path, monkeypatch):
    monkeypatch.setattr(strategy, "LONG", 0.0)
    problem = random_problem(3, 13)
    first = solve(problem, solver="order-graph", checkpoint=tmp_path)
    assert [file.name.split("-")[0] for file in tmp_path.iterdir()] == ["proof"]
    again = solve(problem, solver="order-graph", checkpoint=tmp_path)
    assert (again.status, again.score, again.parents) == ("optimal", first.score, first.parents)
    assert again.nodes < first.nodes
    assert "went on" in again.message


def test_a_limit_keeps_the_state(tmp_path):
    problem = random_problem(11, 30)
    first = solve(problem, solver="order-graph", time_limit=0.5, checkpoint=tmp_path)
    assert first.status == "feasible"
    kinds = {file.name.rsplit("-", 1)[0] for file in tmp_path.iterdir()}
    assert kinds & {"relaxation", "left", "order-graph"}


def test_another_problem_begins_anew(tmp_path, kills):
    kills |= {"search": "order-graph", "most": 1}
    kills["left"] = 2
    with pytest.raises(KilledError):
        solve(
            random_problem(3, 16),
            checkpoint=tmp_path,
            solver="order-graph",
            parameters=SMALL_BLOCKS,
        )
    other = random_problem(4, 16)
    assert solve(other, checkpoint=tmp_path).score == pytest.approx(solve(other).score)


def test_a_damaged_state_says_what_to_do(tmp_path):
    (tmp_path / "best.npz").write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(FormatError, match="remove the file"):
        Checkpoint(tmp_path).load("best")


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="name another place"):
        Checkpoint(tmp_path / "file")


def test_a_state_is_saved_whole_and_dropped(tmp_path):
    states = Checkpoint(tmp_path, pause=3600)
    states.offer("search", lambda: {"n": 3})
    assert states.load("search") == {}
    states.offer("search", lambda: {"n": 3}, last=True)
    assert int(states.load("search")["n"]) == 3
    states.drop("search")
    assert list(tmp_path.iterdir()) == []


def test_digests_tell_types_shapes_and_values_apart():
    arrays = [[1, 2], [[1, 2]], [1.0, 2.0], [2, 1], [1, 2, 0]]
    assert len({digest(array) for array in arrays}) == len(arrays)
