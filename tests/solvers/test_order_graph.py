"""The order graph against all selections, dynamic programming and its own shorter runs."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import combinations, product
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.executors import available_memory
from exactlearn.errors import TooLargeError
from exactlearn.formats.scores import read_jkl
from exactlearn.solvers import Problem, dynamic
from exactlearn.solvers import order_graph as solver
from exactlearn.solvers.component_solver import Progress, SolverOptions
from exactlearn.solvers.components import split
from exactlearn.solvers.multipliers import Multipliers
from exactlearn.solvers.order_graph import solve_component
from exactlearn.solvers.order_graph_search import (
    place_at_once,
    scratch_for,
    smallest_source,
)
from exactlearn.solvers.patterns import (
    Numbered,
    coupling,
    estimate,
    partition,
    patterns_of,
    price,
)
from exactlearn.solvers.root import solve_root
from tests.brute_force import best_selection, is_acyclic
from tests.solvers.one_component import solved as solved_by


def random_problem(seed, n, *, most_parents=2, density=1.0):
    """Return a problem that falls into few components: gains of parents are large."""
    rng = np.random.default_rng(seed)
    tables = []
    for child in range(n):
        others = [v for v in range(n) if v != child]
        sets = [s for k in range(most_parents + 1) for s in combinations(others, k)]
        kept = [s for s in sets if not s or rng.random() < density]
        tables.append({s: float(5 * rng.random() * len(s) ** 0.7) - 10 for s in kept})
    return Problem.from_candidates([f"x{i}" for i in range(n)], tables)


def random_rows(rng, n, count=8):
    """Return counted clusters with random multipliers."""
    found = []
    while len(found) < count:
        size = int(rng.integers(2, n + 1))
        members = rng.choice(n, size, replace=False)
        found.append(
            (
                np.isin(np.arange(n), members),
                int(rng.integers(1, size)),
                2 * rng.random(),
            )
        )
    clusters, counts, values = zip(*found, strict=True)
    return Multipliers(np.array(clusters), np.array(values), np.array(counts))


def selections(component):
    """Yield every acyclic selection."""
    ranges = [
        range(a, b)
        for a, b in zip(component.first[:-1], component.first[1:], strict=True)
    ]
    parents = [
        tuple(component.members[a:b].tolist())
        for a, b in zip(
            component.member_first[:-1], component.member_first[1:], strict=True
        )
    ]
    for chosen in product(*ranges):
        if is_acyclic(tuple(parents[c] for c in chosen)):
            yield np.array(chosen)


def solved(problem, multipliers=None, **options):
    """Solve every component; return the progress."""
    components = split(problem)
    progress = Progress(problem, components, SearchControl())
    for k in range(len(components)):
        given = multipliers(components[k]) if multipliers else None
        chosen = SolverOptions(multipliers=given, **options)
        assert solved_by(solve_component, progress, k, chosen) == "optimal"
    return progress


def random_multipliers(rng, n):
    clusters = rng.random((6, n)) < 0.5
    return Multipliers(
        clusters[clusters.sum(axis=1) > 1], rng.random((clusters.sum(axis=1) > 1).sum())
    )


@pytest.mark.parametrize("group", [2, 19])
@pytest.mark.parametrize("seed", range(20))
def test_it_finds_the_best_of_all_selections(seed, group):
    rng = np.random.default_rng(seed)
    problem = random_problem(seed, int(rng.integers(2, 5)))
    best = best_selection(problem)
    for multipliers in (None, lambda c: random_multipliers(rng, c.n_variables)):
        progress = solved(problem, multipliers, pattern_group=group)
        assert progress.score == pytest.approx(best, abs=1e-9)
        assert progress.bound == pytest.approx(best, abs=1e-7)
        assert is_acyclic(progress.parents)


@pytest.mark.parametrize("group", [4, 7, 19])
@pytest.mark.parametrize("seed", range(12))
def test_it_agrees_with_dynamic_programming(seed, group):
    n, density = 5 + seed % 8, (0.15, 0.4, 1.0)[seed % 3]
    problem = random_problem(seed, n, density=density)
    for component in split(problem):
        chosen = dynamic.best_selection(component)
        progress = Progress(problem, [component], SearchControl())
        if seed % 4 == 1:  # some begin with the optimum
            progress.improve(0, chosen)
        rng = np.random.default_rng(seed)
        multipliers = (
            random_multipliers(rng, component.n_variables) if seed % 5 else None
        )
        options = SolverOptions(multipliers=multipliers, pattern_group=group)
        assert solved_by(solve_component, progress, 0, options) == "optimal"
        assert progress.states[0].score == pytest.approx(
            component.total(chosen), abs=1e-9
        )


@pytest.mark.parametrize("seed", range(30))
def test_clusters_and_reduced_costs_bound_every_selection(seed):
    rng = np.random.default_rng(seed)
    (component, *_) = split(random_problem(seed, 4))
    rows = random_rows(rng, component.n_variables)
    priced = price(component, rows)
    for chosen in selections(component):
        loss = component.relaxation - component.total(chosen)
        assert loss >= priced.loss + priced.reduced[chosen].sum() - 1e-9


def cheapest_completion(component, rows, placed, order_cost):
    """Return the least cost of completing a state, by all orders: the definition, no bounds."""
    n = component.n_variables
    everything = (1 << n) - 1
    known = {everything: 0.0}

    def rest(state):
        if state not in known:
            known[state] = min(
                (
                    order_cost(state, c) + rest(state | 1 << int(component.child[c]))
                    for c in range(component.n_candidates)
                    if not state >> int(component.child[c]) & 1
                    and not int(component.parents[c, 0]) & ~state
                ),
                default=inf,
            )
        return known[state]

    return rest(placed)


def step_costs(component, rows, priced):
    """Return the cost of placing a candidate after a state, from its definition."""

    def cost_of(state, c):
        cost = float(priced.reduced[c])
        for cluster, count, value in zip(
            rows.clusters, rows.counts, rows.values, strict=True
        ):
            bits = sum(1 << v for v in np.flatnonzero(cluster).tolist())
            inside = bits >> int(component.child[c]) & 1
            if inside and (int(component.parents[c, 0]) & bits).bit_count() < count:
                cost += value * ((state & bits).bit_count() >= count)
        return cost

    return cost_of


@pytest.mark.parametrize("seed", range(15))
def test_no_state_is_pruned_or_narrowed_wrongly(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 6))
    component = max(
        split(random_problem(seed, n, density=0.7)), key=lambda c: c.n_variables
    )
    n = component.n_variables
    rows = random_rows(rng, n)
    priced = price(component, rows)
    step = step_costs(component, rows, priced)
    numbered = Numbered.of(component, rows, np.arange(n))
    everything = np.ones(component.n_candidates, np.bool_)
    graph = numbered.graph(priced.reduced, np.arange(component.n_candidates))
    scratch = scratch_for(graph)
    for sizes in ([n // 2, n - n // 2], [n]):
        patterns = patterns_of(
            numbered, priced.reduced, everything, np.array(sizes), UNLIMITED
        )
        for placed in range(1 << n):
            best = cheapest_completion(component, rows, placed, step)
            for threshold in (best - 1e-6, best + 1e-6, best + 1.0):
                after, cost, coming = place_at_once(
                    graph, patterns, scratch, np.uint64(placed), 0.0, threshold
                )
                is_complete = int(after) == (1 << n) - 1
                if threshold < best:
                    assert not is_complete or cost >= threshold
                    continue
                assert is_complete or coming
                left = [
                    step(int(after), scratch.best[v])
                    + cheapest_completion(component, rows, int(after) | 1 << v, step)
                    for v in range(n)
                    if int(coming) >> v & 1 and scratch.best[v] >= 0
                ]
                assert min(left, default=0.0) + cost == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_patterns_are_exact_in_a_group_and_sum_to_a_bound(seed):
    rng = np.random.default_rng(seed)
    component = max(split(random_problem(seed, 5)), key=lambda c: c.n_variables)
    n = component.n_variables
    rows = random_rows(rng, n)
    priced = price(component, rows)
    step = step_costs(component, rows, priced)
    everything = np.ones(component.n_candidates, np.bool_)
    position = rng.permutation(n)
    numbered = Numbered.of(component, rows, position)
    whole, parts = (
        patterns_of(numbered, priced.reduced, everything, np.array(sizes), UNLIMITED)
        for sizes in ([n], [1, n - 1])
    )
    for placed in range(1 << n):
        best = cheapest_completion(component, rows, placed, step)
        rest = np.uint64(
            sum(1 << int(position[v]) for v in range(n) if not placed >> v & 1)
        )
        assert estimate(whole, rest) == pytest.approx(best, abs=1e-9)
        assert estimate(parts, rest) <= best + 1e-9


def test_groups_keep_together_what_rows_tie():
    pairs = np.array(
        [[1, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 1], [0, 1, 0, 0, 1, 0]], np.bool_
    )
    rows = Multipliers(pairs, np.array([3.0, 2.0, 1.0]))
    group = partition(coupling(rows), np.array([2, 2, 2]), np.random.default_rng(0))
    assert group[0] == group[2]
    assert group[3] == group[5]
    assert group[1] == group[4]
    assert sorted(group.tolist()) == [0, 0, 1, 1, 2, 2]


@given(st.lists(st.integers(0, 255), min_size=8, max_size=8))
def test_the_smallest_source_is_strong_and_nothing_enters_it(rows):
    reach = np.array([row | 1 << v for v, row in enumerate(rows)], np.uint64)
    source = int(smallest_source(np.uint64(255), reach.copy()))
    members = [v for v in range(8) if source >> v & 1]
    closure = {v: {v} for v in members}
    for _ in range(8):
        for v in members:
            closure[v] |= {
                u for w in closure[v] for u in range(8) if (rows[w] | 1 << w) >> u & 1
            }
    assert all(closure[v] == set(members) for v in members)


def few_at_first(monkeypatch):
    """Let the table hold few states at first, and look at the clock often."""
    monkeypatch.setattr(solver, "FIRST_STATES", 64)
    monkeypatch.setattr(solver, "BLOCK", 50)


def test_order_graph_keeps_its_bound_and_memory_limit(monkeypatch):
    """At every memory limit the bound is at least the optimum."""
    few_at_first(monkeypatch)
    problem = random_problem(3, 14, most_parents=3)
    (component,) = split(problem)
    best = component.total(dynamic.best_selection(component))
    stopped = 0
    for memory in (3000, 10_000, 30_000, 10**6, 10**9):
        progress = Progress(problem, [component], SearchControl())
        options = SolverOptions(memory_limit=memory, explain=True, pattern_group=5)
        status = solved_by(solve_component, progress, 0, options)
        if status == "optimal":
            assert progress.states[0].score == pytest.approx(best)
        else:
            assert status == "feasible"
            assert "memory limit" in progress.notes[0]
            stopped += 1
        assert progress.states[0].bound >= best - 1e-7
    assert 1 <= stopped < 5


@pytest.mark.parametrize("threads", [1, 3])
def test_free_memory_and_threads_are_the_limits(monkeypatch, threads):
    problem = random_problem(3, 14, most_parents=3)
    (component,) = split(problem)
    asked = []
    monkeypatch.setattr(
        "exactlearn.solvers.patterns.ThreadPoolExecutor",
        lambda most: asked.append(most) or ThreadPoolExecutor(most),
    )
    few_at_first(monkeypatch)
    options = SolverOptions(explain=True, pattern_group=5, threads=threads)
    free = available_memory()
    assert free is None or free > 2**20
    for free, status in (
        (None, "optimal"),
        (2 * 10**9, "optimal"),
        (20_000, "feasible"),
    ):
        monkeypatch.setattr(solver, "available_memory", lambda free=free: free)
        progress = Progress(problem, [component], SearchControl())
        assert solved_by(solve_component, progress, 0, options) == status
    assert "memory limit" in progress.notes[0]
    assert set(asked) == {threads}


def test_the_time_limit_stops_it():
    problem = random_problem(3, 18, most_parents=3)
    (component,) = split(problem)
    progress = Progress(problem, [component], SearchControl(0.0))
    assert solved_by(solve_component, progress, 0) == "feasible"
    assert progress.states[0].bound <= component.relaxation + 1e-6


def test_an_absolute_gap_ends_it_early():
    problem = random_problem(5, 12)
    (component,) = split(problem)
    chosen = dynamic.best_selection(component)
    best = component.total(chosen)
    for absolute_gap in (0.5, 2.0, 100.0):
        progress = Progress(problem, [component], SearchControl())
        progress.improve(0, chosen)
        assert (
            solved_by(
                solve_component, progress, 0, SolverOptions(absolute_gap=absolute_gap)
            )
            == "optimal"
        )
        assert best - 1e-9 <= progress.states[0].bound <= best + absolute_gap + 1e-9


def test_it_does_the_same_every_time():
    first, second = (solved(random_problem(7, 13)) for _ in range(2))
    assert first.parents == second.parents
    assert first.nodes == second.nodes
    bounds = [
        [state.bound for state in progress.states] for progress in (first, second)
    ]
    assert bounds[0] == bounds[1]


def test_a_component_without_acyclic_selection_is_infeasible():
    problem = Problem.from_candidates(["a", "b"], [{(1,): -1.0}, {(0,): -2.0}])
    progress = Progress(problem, split(problem), SearchControl())
    assert solved_by(solve_component, progress, 0) == "infeasible"


def test_unsuitable_components_are_refused():
    names = [f"x{i}" for i in range(65)]
    ring = [{(): -1.0, ((i + 1) % 65,): 0.0} for i in range(65)]
    problem = Problem.from_candidates(names, ring)
    progress = Progress(problem, split(problem), SearchControl())
    with pytest.raises(TooLargeError, match="at most 64 variables"):
        solved_by(solve_component, progress, 0)


def test_it_solves_sixty_four_variables():
    ring = [{(): -1.0, ((i + 1) % 64,): 0.0} for i in range(64)]
    problem = Problem.from_candidates([f"x{i}" for i in range(64)], ring)
    assert solved(problem).score == -1.0


def worse_selection(component, chosen, least):
    """Return a selection with fewer arcs whose score is lower by at least some amount."""
    best = chosen
    for v, c in enumerate(chosen):
        for other in range(component.first[v], component.first[v + 1]):
            fewer = (
                int(component.parents[other, 0]) & ~int(component.parents[c, 0]) == 0
            )
            if fewer and component.scores[c] - component.scores[other] >= least:
                trial = chosen.copy()
                trial[v] = other
                if best is chosen or component.total(trial) > component.total(best):
                    best = trial
    assert best is not chosen
    return best


@cache
def relaxed_problem(seed):
    """Return a problem, its largest component, the best selection and the root's multipliers."""
    problem = random_problem(seed, 12, most_parents=2, density=0.5)
    component = max(split(problem), key=lambda c: c.n_variables)
    best = dynamic.best_selection(component)
    return (
        problem,
        component,
        best,
        solve_root(component, component.total(best)).multipliers,
    )


@pytest.mark.parametrize("group", [6, 19])
@pytest.mark.parametrize("seed", range(3))
def test_it_improves_a_selection_that_is_nearly_the_best(seed, group):
    problem, component, best, multipliers = relaxed_problem(seed)
    options = SolverOptions(multipliers=multipliers, pattern_group=group)
    for least in (0.01, 1.0):
        progress = Progress(problem, [component], SearchControl())
        progress.improve(0, worse_selection(component, best, least))
        assert solved_by(solve_component, progress, 0, options) == "optimal"
        assert progress.states[0].score == pytest.approx(
            component.total(best), abs=1e-9
        )
        assert progress.states[0].bound == pytest.approx(
            component.total(best), abs=1e-7
        )


def test_public_instances(data_dir):
    for name, optimum in (
        ("wine.BIC.3", -1258.445909),
        ("asia_10000_bdeu-1-3", -22466.396546),
    ):
        problem = read_jkl(data_dir / "bnsl" / f"{name}.jkl.gz")
        progress = solved(problem)
        assert progress.score == pytest.approx(optimum, abs=1e-6)
        assert progress.bound == pytest.approx(optimum, abs=1e-6)
