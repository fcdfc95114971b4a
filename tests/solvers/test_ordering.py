"""Local search over orders: its moves against full recomputation, its answers against optima."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn._runtime.control import SearchControl
from exactlearn.formats.scores import read_jkl
from exactlearn.graphs.dag import topological_order
from exactlearn.solvers import Problem, solve
from exactlearn.solvers import iterated_local_search as local_search
from exactlearn.solvers import ordering as solver_module
from exactlearn.solvers.component_solver import (
    INNER_SEARCH,
    ComponentControl,
    Progress,
    Selection,
    SolverOptions,
)
from exactlearn.solvers.components import Component, split
from exactlearn.solvers.decoding import (
    MIN_GAIN,
    Lists,
    choose_along,
    list_candidates,
    place_by_weight,
    score_of,
    total_of,
)
from exactlearn.solvers.iterated_local_search import OrderSearch, climb, perturb
from exactlearn.solvers.moves import State, best_place, room_for
from exactlearn.solvers.ordering import WALKS, order_of, rounds, solve_component
from tests.brute_force import best_selection
from tests.interrupts import Looks
from tests.solvers.one_component import solved
from tests.solvers.test_solvers import random_problem


def one_component(seed: int, n: int) -> Component:
    """Draw a problem and return its largest component."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, n, most_parents=2, kept=0.5, empty_sets=0.9)
    return max(split(problem), key=lambda c: c.n_variables)


def random_state(component: Component, rng: np.random.Generator) -> tuple[Lists, State]:
    """Return the lists of a component, and a random order with the best candidates along it."""
    lists = list_candidates(component)
    order = rng.permutation(component.n_variables)
    state = State(order, np.argsort(order), np.empty_like(order))
    choose_along(lists, state.position, state.selection, np.zeros(1, np.int64))
    return lists, state


def along(component: Component, order: list[int]) -> list[int]:
    """Choose the best candidates along an order, candidate by candidate."""
    chosen = [-1] * component.n_variables
    for at, v in enumerate(order):
        for c in range(component.first[v], component.first[v + 1]):
            parents = component.members[
                component.member_first[c] : component.member_first[c + 1]
            ]
            if set(parents.tolist()) <= set(order[:at]):
                chosen[v] = c
                break
    return chosen


def is_consistent(component: Component, state: State) -> bool:
    """Tell whether a state's parts fit each other."""
    order = state.order.tolist()
    assert sorted(order) == list(range(component.n_variables))
    assert state.position.tolist() == np.argsort(state.order).tolist()
    return state.selection.tolist() == along(component, order)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 9))
def test_choices_along_an_order_are_the_best(seed: int, n: int) -> None:
    component = one_component(seed, n)
    _, state = random_state(component, np.random.default_rng(seed))
    assert is_consistent(component, state)


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 9))
def test_best_insertion_is_the_best_of_all_places(seed: int, n: int) -> None:
    component = one_component(seed, n)
    lists, state = random_state(component, np.random.default_rng(seed))
    work, room = np.zeros(1, np.int64), room_for(lists)
    before = total_of(lists.scores, state.selection)

    def moved(v: int, place: int) -> list[int]:
        order = [u for u in state.order.tolist() if u != v]
        return along(component, [*order[:place], v, *order[place:]])

    for v in range(component.n_variables):
        gain, place, own, begin, end = best_place(lists, state, room, v, work)
        expected = [
            sum(score_of(lists.scores, c) for c in moved(v, target)) - before
            for target in range(component.n_variables)
        ]
        tolerance = 16.0 if before < -1e14 else 1e-9
        assert gain == pytest.approx(max(0.0, *expected), rel=1e-9, abs=tolerance)
        assert is_consistent(component, state)
        if gain > MIN_GAIN:
            chosen = moved(v, place)
            assert chosen[v] == own
            for k in range(begin, end):
                assert chosen[room.child[k]] == room.candidate[k]


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 12))
def test_perturbations_and_climbs_equal_full_recomputation(seed: int, n: int) -> None:
    component = one_component(seed, n)
    rng = np.random.default_rng(seed)
    lists, state = random_state(component, rng)
    room, counts = room_for(lists), np.zeros(3, np.int64)
    for _ in range(20):
        before = total_of(lists.scores, state.selection)
        assert climb(lists, state, room, counts, 2**62)
        assert is_consistent(component, state)
        assert total_of(lists.scores, state.selection) >= before - 1e-9 - 1e-14 * abs(
            before
        )
        assert not room.waiting.any()
        perturb(lists, state, room.waiting, rng, counts)
        assert is_consistent(component, state)


def test_a_climb_between_two_ways_to_miss_ends() -> None:
    """Whoever comes first has no candidate; which of them it is changes the score by little."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        a, b, c = -rng.random(3)
        tables = [{(1,): a}, {(0,): b}, {(): -1.0, (0,): c, (1,): -0.5}]
        component = split(Problem.from_candidates(list("abc"), tables))[0]
        lists, state = random_state(component, rng)
        counts = np.zeros(3, np.int64)
        climb(lists, state, room_for(lists), counts, 2**62)
        assert counts[0] < 10**4
        assert state.selection[:2].min() == -1


def test_greedy_order_rounds_an_integral_solution() -> None:
    component = one_component(3, 9)
    lists, state = random_state(component, np.random.default_rng(1))
    weights = np.zeros(component.n_candidates)
    weights[state.selection[state.selection >= 0]] = 1.0
    order = place_by_weight(lists, weights)
    chosen = along(component, order.tolist())
    assert (
        sum(lists.scores[c] for c in chosen)
        >= total_of(lists.scores, state.selection) - 1e-9
    )


def ordered(
    problem: Problem, budget: int, **options: int
) -> tuple[Progress, list[str]]:
    """Solve all components by local search alone."""
    progress = Progress(problem, split(problem), SearchControl())
    told = []
    for k in range(len(progress.states)):
        chosen = SolverOptions(least_order_budget=budget, order_budget=0, **options)
        told.append(solved(solve_component, progress, k, chosen))
    return progress, told


def test_never_better_than_the_optimum_and_nearly_always_there() -> None:
    rng = np.random.default_rng(5)
    for round_ in range(12):
        problem = random_problem(rng, 2 + round_ % 3, kept=0.7, constraints=round_ % 3)
        best = best_selection(problem)
        if best == -np.inf:
            continue
        progress, told = ordered(problem, 400_000)
        assert progress.score == pytest.approx(best, abs=1e-9)
        assert progress.bound >= best - 1e-9
        assert all(p in ("optimal", "feasible") for p in told)


@pytest.mark.parametrize("n", [8, 12, 15])
def test_reaches_the_optimum_of_dynamic_programming(n: int) -> None:
    problem = random_problem(np.random.default_rng(n), n, kept=0.5)
    best = solve(problem, solver="dynamic").score
    progress, _ = ordered(problem, 1_000_000)
    assert progress.score == pytest.approx(best, abs=1e-9)
    assert progress.bound >= best - 1e-9


def test_constraints_are_respected() -> None:
    problem = random_problem(np.random.default_rng(2), 10, kept=0.9, empty_sets=1.0)
    problem = replace(
        problem, forbidden=frozenset({(0, 1), (2, 3)}), required=frozenset({(4, 5)})
    )
    progress, _ = ordered(problem, 1_000_000)
    parents = progress.parents
    assert parents is not None
    assert 0 not in parents[1]
    assert 2 not in parents[3]
    assert 4 in parents[5]
    topological_order(parents)


def best_of(component: Component, found: list[Selection | None]) -> float:
    """Return the best score of some selections."""
    return max(component.total(chosen) for chosen in found if chosen is not None)


def control_of(
    component: Component, n_rounds: int, time_limit: float | None = None, **options: int
) -> ComponentControl:
    """Return a control whose options have a budget of so many rounds of 100,000 candidates."""
    problem = random_problem(np.random.default_rng(0), component.n_variables, kept=0.1)
    progress = Progress(problem, [component], SearchControl(time_limit))
    budget = {"least_order_budget": n_rounds * WALKS * 10**5, "order_budget": 0}
    return ComponentControl(progress, 0, SolverOptions(**budget, **options))


def test_same_seed_same_answer_on_any_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(solver_module, "ROUND", 10**5)
    problem = random_problem(np.random.default_rng(4), 40, kept=0.3)
    component = max(split(problem), key=lambda c: c.n_variables)
    told = []
    for threads in (1, 2, 2):
        search = rounds(
            component, None, control_of(component, 9, seed=3, threads=threads)
        )
        told.append([best_of(component, found) for found in search])
    assert told[0] == told[1] == told[2]


def test_rounds_begin_with_what_is_known() -> None:
    component = one_component(6, 12)
    search = OrderSearch(component, np.random.default_rng(0))
    found = search.improve(np.arange(component.n_variables), 10**5, 50)
    assert found is not None
    order = order_of(component, found)
    assert component.total(along(component, order.tolist())) >= component.total(found)
    (best,) = rounds(component, found, control_of(component, 1, threads=1))
    assert best_of(component, best) >= component.total(found)


def test_a_round_that_is_late_is_broken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_search, "BLOCK", 50)
    component = one_component(6, 12)
    monkeypatch.setattr(solver_module, "ROUND", 10**15)
    control = control_of(component, 10**10, time_limit=0.0, threads=2)
    (found,) = rounds(component, None, control)  # which would take years
    assert all(
        chosen is None or component.total(chosen) <= component.relaxation
        for chosen in found
    )


def test_pauses_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    component = one_component(8, 12)
    found = []
    for block in (10**9, 7, 300):
        monkeypatch.setattr(local_search, "BLOCK", block)
        search = OrderSearch(component, np.random.default_rng(2))
        order = search.greedy_order(np.zeros(component.n_candidates))
        found.append(search.improve(order, 10**5, 60))
    assert [other.tolist() for other in found[1:]] == [found[0].tolist()] * 2


@pytest.mark.parametrize("pauses", [0, 1, 5, 200])
def test_the_best_so_far_is_kept_at_a_pause(
    pauses: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_search, "BLOCK", 50)
    component = one_component(8, 12)
    search = OrderSearch(component, np.random.default_rng(2))
    order = search.greedy_order(np.zeros(component.n_candidates))
    begun = component.total(np.array(along(component, order.tolist())))
    state = search.search(order, 10**9, 10**9, Looks(pauses))
    assert is_consistent(component, state)
    assert component.total(state.selection) >= begun


def test_time_limit_keeps_incumbent_and_bound() -> None:
    problem = random_problem(np.random.default_rng(1), 60, kept=0.6)
    progress = Progress(problem, split(problem), SearchControl(0.5))
    assert solved(solve_component, progress, 0) == "feasible"
    assert -np.inf < progress.score < progress.bound < np.inf
    assert progress.parents is not None
    topological_order(progress.parents)


def test_a_search_inside_another_one_leaves_time() -> None:
    """Nothing is proven, and a limit that is far off was waited for."""
    problem = random_problem(np.random.default_rng(1), 40, kept=0.6)
    parameters = replace(
        INNER_SEARCH, least_order_budget=10_000, order_budget=1, relaxation_budget=0
    )
    limited, free = (
        solve(problem, solver="ordering", time_limit=limit, parameters=parameters)
        for limit in (10_000.0, None)
    )
    assert limited.status == free.status == "feasible"
    assert (limited.parents, limited.bound) == (free.parents, free.bound)


def test_what_a_listener_raises_leaves_the_incumbent() -> None:
    problem = random_problem(np.random.default_rng(1), 50, kept=0.6)

    def listener(event: object) -> None:
        if progress.states[0].score > -np.inf:
            raise ZeroDivisionError

    progress = Progress(problem, split(problem), SearchControl(on_event=listener))
    with pytest.raises(ZeroDivisionError):
        solved(solve_component, progress, 0)
    assert progress.parents is not None


def test_a_stop_keeps_the_incumbent() -> None:
    problem = random_problem(np.random.default_rng(1), 50, kept=0.6)
    control = SearchControl(on_event=lambda event: control.stop())
    progress = Progress(problem, split(problem), control)
    assert solved(solve_component, progress, 0) == "interrupted"
    assert progress.parents is not None


def sparse_problem(n: int, seed: int) -> Problem:
    """Draw a problem of many variables with few candidates each, over near variables."""
    rng = np.random.default_rng(seed)
    tables: list[dict[tuple[int, ...], float]] = []
    for child in range(n):
        near = [p for p in range(child - 8, child + 9) if p != child and 0 <= p < n]
        table = {(): -100.0}
        for _ in range(12):
            parents = rng.choice(near, size=1 + int(rng.integers(3)), replace=False)
            table[tuple(sorted(map(int, parents)))] = -100.0 * float(rng.random())
        tables.append(table)
    return Problem.from_candidates([f"X{i}" for i in range(n)], tables)


def test_thousands_of_variables() -> None:
    problem = sparse_problem(2000, 0)
    component = max(split(problem), key=lambda c: c.n_variables)
    assert component.n_variables > 1500
    search = OrderSearch(component, np.random.default_rng(0))
    order = search.greedy_order(np.zeros(component.n_candidates))
    climbed = search.improve(order, 10**6, 0)
    perturbed = search.improve(order, 10**6, 10**6)
    assert climbed is not None
    assert perturbed is not None
    assert component.total(climbed) < component.total(perturbed) < component.relaxation


@pytest.mark.parametrize(
    ("name", "optimum"),
    [
        ("alarm_1000_bdeu-1-3", -11240.347093),
        ("alarm_10000_bdeu-1-3", -105226.511917),
        ("insurance_1000_bdeu-10-3", -13746.496184),
        ("hailfinder-5000", -252358.1055),
    ],
)
def test_first_incumbents_are_optimal(
    name: str, optimum: float, data_dir: Path
) -> None:
    problem = read_jkl(data_dir / "bnsl" / f"{name}.jkl.gz")
    total = 0.0
    for component in split(problem):
        search = OrderSearch(component, np.random.default_rng(0))
        order = search.greedy_order(np.zeros(component.n_candidates))
        found = search.improve(order, 4 * 10**6, 10**4)
        assert found is not None
        total += component.total(found)
    assert total == pytest.approx(optimum, abs=1e-5)
