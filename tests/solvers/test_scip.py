"""Branch and cut, called on one component: clusters to begin with, absolute gaps, incumbents."""

from math import inf

import numpy as np
import pytest

from exactlearn._runtime.control import SearchControl
from exactlearn.solvers import Problem, dynamic
from exactlearn.solvers.branch_and_cut import Master, solve_component
from exactlearn.solvers.clusters import Counted
from exactlearn.solvers.component_solver import (
    ComponentControl,
    Progress,
    SolverOptions,
)
from exactlearn.solvers.components import split
from exactlearn.solvers.multipliers import Multipliers
from tests.solvers.one_component import solved
from tests.solvers.test_solvers import random_problem


def largest_piece(rng: np.random.Generator, n: int, **options: object) -> Progress:
    """Return the progress of a random problem that is one piece."""
    while True:
        problem = random_problem(rng, n, most_parents=2, **options)  # type: ignore[arg-type]
        components = split(problem)
        if len(components) == 1 and components[0].n_variables == n:
            return Progress(problem, components, SearchControl())


def optimum(progress: Progress) -> float:
    component = progress.states[0].component
    chosen = dynamic.best_selection(component)
    return -inf if chosen is None else component.total(chosen)


def poor_incumbent(rng: np.random.Generator, progress: Progress) -> None:
    """Offer the best selection along a random order."""
    component = progress.states[0].component
    position = rng.permutation(component.n_variables)
    owner = np.repeat(
        np.arange(component.n_candidates), np.diff(component.member_first)
    )
    late = position[component.members] > position[component.child[owner]]
    fits = np.bincount(owner[late], minlength=component.n_candidates) == 0
    chosen = [
        next((c for c in range(a, b) if fits[c]), -1)
        for a, b in zip(component.first[:-1], component.first[1:], strict=True)
    ]
    if min(chosen) >= 0:
        progress.improve(0, np.array(chosen))


def master_of(progress: Progress, seed: int = 0, **options: object) -> Master:
    """Return the integer program of the only component."""
    control = ComponentControl(progress, 0, SolverOptions(seed=seed, **options))  # type: ignore[arg-type]
    return Master(progress.states[0].component, control.incumbent, control)


def with_counts(clusters: Counted) -> Multipliers:
    """Return clusters with multipliers of zero."""
    return Multipliers(clusters.clusters, np.zeros(len(clusters)), clusters.counts)


def random_clusters(rng: np.random.Generator, n: int) -> Counted:
    """Draw clusters of two members or more, with counts below their sizes."""
    clusters = rng.random((6, n)) < 0.5
    clusters[:, :2] = True
    return Counted(clusters, rng.integers(1, clusters.sum(axis=1)))


@pytest.mark.parametrize("ties", [False, True])
def test_bounds_are_valid_within_any_absolute_gap(ties: bool) -> None:
    rng = np.random.default_rng(5)
    for round_ in range(60):
        n = 3 + round_ % 8
        progress = largest_piece(rng, n, ties=ties, kept=0.7 if n < 7 else 0.4)
        best = optimum(progress)
        if round_ % 3:
            poor_incumbent(rng, progress)
        absolute_gap = (0.0, 0.3, 3.0, 100.0)[round_ % 4]
        clusters = random_clusters(rng, n) if round_ % 2 else None
        multipliers = None
        if clusters is not None:
            multipliers = with_counts(clusters)
        options = SolverOptions(
            absolute_gap=absolute_gap, seed=round_, multipliers=multipliers
        )
        status = solved(solve_component, progress, 0, options)
        assert status == "optimal"
        assert progress.states[0].closed
        score, bound = progress.states[0].score, progress.states[0].bound
        assert score <= best + 1e-9
        assert bound >= best - 1e-9
        assert score >= best - absolute_gap - 1e-6
        assert bound - score <= absolute_gap + 2e-6 + 1e-8 * abs(bound)


def test_the_solution_is_read_as_scip_reports_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    progress = largest_piece(np.random.default_rng(3), 14, kept=0.5)
    read = Master.relaxed
    compared = []

    def relaxed(master: Master) -> np.ndarray:
        x = read(master)
        assert x == pytest.approx(master.solution(None), abs=1e-9)
        compared.append(len(x))
        return x

    monkeypatch.setattr(Master, "relaxed", relaxed)
    assert solved(solve_component, progress, 0) == "optimal"
    assert compared
    assert progress.states[0].score == pytest.approx(optimum(progress), abs=1e-9)


def test_clusters_to_begin_with_are_in_the_first_linear_program() -> None:
    """Two variables that both want the other: with their cluster, nothing is left to separate."""
    problem = Problem.from_candidates(
        ["a", "b", "c"],
        [{(): -4.0, (1,): -1.0}, {(): -3.0, (2,): -1.0}, {(): -5.0, (0,): -1.0}],
    )
    progress = Progress(problem, split(problem), SearchControl())
    master = master_of(
        progress, multipliers=with_counts(Counted.of(np.ones((1, 3), np.bool_)))
    )
    assert master.optimise().proven
    assert progress.states[0].score == -5.0
    assert len(master.acyclicity.pool) == 1


def test_a_pool_has_unique_clusters_and_reports_violated_ones() -> None:
    rng = np.random.default_rng(2)
    some = random_clusters(rng, 7)
    pool = Counted.join(some, some)
    pairs = zip(some.clusters, some.counts, strict=True)
    assert len(pool) == len({(cluster.tobytes(), count) for cluster, count in pairs})
    progress = largest_piece(rng, 7)
    master = master_of(progress, 0)
    x = rng.random(progress.states[0].component.n_candidates)
    x /= np.add.reduceat(x, progress.states[0].component.first[:-1])[
        progress.states[0].component.child
    ]
    violated = pool.violated(master.support(x), 100)
    for cluster, count in zip(some.clusters, some.counts, strict=True):
        satisfied = sum(
            x[c]
            for c in range(len(x))
            if cluster[progress.states[0].component.child[c]]
            and cluster[parents_of(progress, c)].sum() < count
        )
        listed = any(
            (cluster == other).all() and count == k
            for other, k in zip(violated.clusters, violated.counts, strict=True)
        )
        assert listed == (satisfied < count - 1e-4)


def parents_of(progress: Progress, c: int) -> np.ndarray:
    component = progress.states[0].component
    return component.members[component.member_first[c] : component.member_first[c + 1]]


def test_branching_finds_the_optimum() -> None:
    """Problems that the root leaves open: no cuts, so that the tree has to do it."""
    rng = np.random.default_rng(4)
    nodes = 0
    for seed in range(6):
        progress = largest_piece(rng, 12, kept=0.5)
        master = master_of(progress, seed)
        for name in ("zerohalf", "clique"):
            master.model.setParam(f"separating/{name}/freq", -1)
        master.model.setParam("separating/maxroundsroot", 2)
        assert master.optimise().proven
        nodes += master.model.getNTotalNodes()
        assert progress.states[0].score == pytest.approx(optimum(progress), abs=1e-9)
    assert nodes > 12
