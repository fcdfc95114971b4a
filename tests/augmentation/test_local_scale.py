"""The t-local climber: its tables against recounting, its bounds and claims against brute force."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from exactlearn.augmentation import FamilyRules, augment, neighbourhood
from exactlearn.augmentation.coordinate_ascent import ascend, in_order
from exactlearn.augmentation.families import Families
from exactlearn.augmentation.family_store import (
    FamilyStore,
    envelope,
    fits,
    require_tabulated,
)
from exactlearn.augmentation.neighbourhood import (
    MoveSearch,
    grouped,
    prefixes,
    prune_groups,
    with_prefix,
)
from exactlearn.augmentation.solutions import Incumbent, Solution
from exactlearn.augmentation.task import (
    Task,
    fitted_completion,
    mode_completion,
)
from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.row_completion import most_probable_completion
from exactlearn.data.dataset import Dataset
from exactlearn.errors import TooLargeError
from exactlearn.graphs.dag import topological_order
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.incremental_tables import table_cells
from exactlearn.scoring.scores import (
    AIC,
    BIC,
    BDeu,
    PenalisedLikelihood,
    score_family,
    total_score,
)
from exactlearn.solvers import solve
from exactlearn.solvers.ordering import heuristic_network
from exactlearn.solvers.root import CuttingPlanes, cluster_multipliers
from tests.augmentation_oracle import best_per_completion, random_table
from tests.family_stores import store_of
from tests.interrupts import press_ctrl_c

SCORES = [BDeu(1.0), BIC(), BDeu(5.0), AIC(), PenalisedLikelihood(0.7)]


@pytest.fixture
def loose(monkeypatch):
    """Relaxations are loose: many moves are looked at together, not one after the other."""

    def without_rounds(component, incumbent, **options):
        return CuttingPlanes(component, incumbent, **options).root()

    def loosen():
        monkeypatch.setattr(neighbourhood, "solve_root", without_rounds)

    return loosen


def case(seed, *, n=4, rows=12, cells=5, weighted=False):
    """Return a random table, a completion of it, a score and rules."""
    rng = np.random.default_rng(seed)
    data = random_table(rng, n, rows, cells, 3)
    if weighted:
        data = Dataset(data.codes, data.names, data.states, rng.random(rows) * 2 + 0.5)
    values = rng.integers(data.cardinalities[data.missing_cells[:, 1]])
    forbidden = [
        (p, c) for p in range(n) for c in range(n) if p != c and rng.random() < 0.1
    ]
    rules = FamilyRules.of(int(rng.integers(1, 4)), (), forbidden)
    return rng, data, values, SCORES[seed % len(SCORES)], rules


def recounted(store, score):
    """Score every family of a store from its completed table."""
    table = store.dataset.complete(store.values)
    return [
        score_family(table, int(child), store.families.flat.parent_set(f), score)
        for f, child in enumerate(store.families.child)
    ]


@settings(max_examples=15)
@given(seed=st.integers(0, 2**20), weighted=st.booleans())
def test_scores_after_moves_of_cells_equal_recounted_ones(seed, weighted):
    rng, data, values, score, rules = case(seed, weighted=weighted)
    store = store_of(data, values, score, rules)
    moved = rng.integers(data.cardinalities[data.missing_cells[:, 1]])
    store.move_to(moved)
    assert store.values.tolist() == moved.tolist()
    np.testing.assert_allclose(store.scores, recounted(store, score), atol=1e-9)
    before = store.scores
    singles = store.single_moves(distinct=False)
    with store.changed(singles[:: max(1, len(singles) // 2)][:2]):
        np.testing.assert_allclose(store.scores, recounted(store, score), atol=1e-9)
    assert (store.scores == before).all()
    assert store.values.tolist() == moved.tolist()


def test_all_allowed_families_are_there_once():
    _, data, values, score, _ = case(3)
    rules = FamilyRules.of(2, [(0, 1)], [(2, 3)])
    store = store_of(data, values, score, rules)
    found = [
        (int(c), store.families.flat.parent_set(f))
        for f, c in enumerate(store.families.child)
    ]
    listed = candidate_parent_sets(
        data.complete(values), score, max_parents=2, required=rules.required,
        forbidden=rules.forbidden, prune=False,
    )  # fmt: skip
    expected = [(c, ps) for c in range(4) for ps, _ in listed.candidates(c)]
    assert sorted(found) == sorted(expected)


@settings(max_examples=15)
@given(seed=st.integers(0, 2**20))
def test_bounds_of_moves_are_sums_of_best_families(seed):
    """With the Lagrangian constant, they bound every network's score after the move."""
    _, data, values, score, rules = case(seed)
    store = store_of(data, values, score, rules)
    multipliers = cluster_multipliers(Task(data, score, rules).families(values))
    rewards = multipliers.adjusted(store.families.flat)
    scores = store.scores + rewards
    moves = store.single_moves(distinct=True)
    totals = store.bound_moves(scores, moves, np.inf)[0].sum(axis=1)
    limit = float(np.median(totals))
    _, close = store.bound_moves(scores, moves, limit)
    best = best_per_completion(data, score, rules)
    for change, total in zip(moves, totals, strict=True):
        with store.changed(change[None]):
            adjusted = np.array(recounted(store, score)) + rewards
            plain = np.maximum.reduceat(adjusted, store.families.first[:-1]).sum()
            assert total == pytest.approx(plain, abs=1e-8)
            assert (
                total - multipliers.total >= best[tuple(store.values.tolist())] - 1e-8
            )
            top = np.maximum.reduceat(adjusted, store.families.first[:-1])
            with_it = (
                plain - top[store.families.child] + adjusted
            )  # the best selection with each
            assert close[with_it > limit + 1e-8].all()


@settings(max_examples=10)
@given(seed=st.integers(0, 2**20))
def test_some_families_have_their_scores_before_and_after_moves(seed):
    rng, data, values, score, rules = case(seed)
    store = store_of(data, values, score, rules)
    keep = rng.random(len(store.scores)) < 0.5
    few = store.select(keep)
    kept = [
        (c, store.families.flat.parent_set(f))
        for f, c in enumerate(store.families.child)
        if keep[f]
    ]
    assert [
        (c, few.families.flat.parent_set(f)) for f, c in enumerate(few.families.child)
    ] == kept
    np.testing.assert_array_equal(few.scores, store.scores[keep])
    moved = rng.integers(data.cardinalities[data.missing_cells[:, 1]])
    few.move_to(moved)
    assert store.values.tolist() == values.tolist()
    store.move_to(moved)
    np.testing.assert_allclose(few.scores, store.scores[keep], atol=1e-9)


@settings(max_examples=15)
@given(seed=st.integers(0, 2**20))
@example(seed=187)
def test_an_envelope_has_the_best_family_scores_over_its_moves(seed):
    rng, data, values, score, rules = case(seed)
    store = store_of(data, values, score, rules)
    singles = store.single_moves(distinct=True)
    assume(len(singles))
    size = min(len(singles), int(rng.integers(1, 5)))
    moves = singles[np.sort(rng.choice(len(singles), size, replace=False))]
    expected = np.full(len(store.scores), -np.inf)
    for change in moves:
        with store.changed(change[None]):
            expected = np.maximum(expected, store.scores)
    found = envelope(store.sets, store.rows, store.pairs, store.scores, moves)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_groups_bound_is_the_sum_of_the_highest_values(seed):
    rng, data, values, score, rules = case(seed)
    task = Task(data, score, rules)
    store = store_of(data, values, score, rules)
    solution = Solution(((),) * 4, values, -1e6)
    multipliers = cluster_multipliers(task.families(values))
    search = MoveSearch(task, Incumbent(), solution, store, multipliers)
    singles = store.single_moves(distinct=True)
    chosen = np.sort(rng.choice(len(singles), min(3, len(singles)), replace=False))
    tops, _ = search.bounds(singles[chosen])
    problem = search.promising(search.after(singles[chosen, None]))
    bound = tops.max(axis=0).sum() - multipliers.total
    assert multipliers.bound(problem) == pytest.approx(bound, abs=1e-8)


@pytest.mark.parametrize("largest", [1, 2, 4])
def test_cells_are_counted_without_listing_the_sets(largest):
    states = np.array([2, 3, 5, 4])
    sets = [s for m in range(largest + 1) for s in combinations(range(4), m)]
    assert table_cells(states, largest) == sum(np.prod(states[list(s)]) for s in sets)


def test_one_move_stands_for_those_in_equal_rows():
    codes = np.array([[0, -1], [0, -1], [1, -1], [1, 1], [0, 0]], np.int8)
    data = Dataset(codes, ("a", "b"), (("0", "1"), ("0", "1", "2")))
    store = store_of(data, np.array([0, 0, 0]), BDeu(), FamilyRules(1))
    distinct = store.single_moves(distinct=True)
    assert distinct.tolist() == [[0, 1, 1], [0, 1, 2], [2, 1, 1], [2, 1, 2]]
    assert len(store.single_moves(distinct=False)) == 6


@pytest.mark.parametrize("size", [0, 1, 2])
def test_moves_of_several_cells_are_enumerated_once(size):
    singles = np.array([[0, 0, 1], [0, 0, 2], [3, 0, 1], [1, 2, 0], [2, 2, 0]])
    found = [
        [tuple(c) for c in (*fixed.tolist(), last)]
        for fixed, left in prefixes(singles, size)
        for last in left.tolist()
    ]
    cells = [frozenset((u, v) for u, v, _ in change) for change in found]
    assert all(len(c) == size + 1 for c in cells)
    assert len({frozenset(change) for change in found}) == len(found)
    assert len(found) == {0: 5, 1: 9, 2: 7}[size]


@settings(max_examples=25)
@given(seed=st.integers(0, 2**20))
def test_groups_take_each_move_once_and_stay_below_their_limit(seed):
    rng = np.random.default_rng(seed)
    tops = rng.integers(0, 4, (int(rng.integers(1, 20)), 3)).astype(float)
    limit, slack = float(rng.integers(0, 10)), float(rng.integers(0, 3))
    groups = grouped(tops, limit, slack)
    assert sorted(np.concatenate(groups).tolist()) == list(range(len(tops)))
    for group in groups:
        own = tops[group]
        assert own.max(axis=0).sum() <= max(limit, own.sum(axis=1).min() + slack)
    for one, other in combinations(
        groups, 2
    ):  # nobody joins an earlier group for nothing
        assert not (tops[other] <= tops[one].max(axis=0)).all(axis=1).any()


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("t", [1, 2, 3])
def test_t_local_claims_hold_for_all_completions_and_dags(seed, t, loose):
    if (seed + t) % 2:
        loose()
    _, data, _, score, rules = case(seed, rows=14, cells=5)
    scores = []
    result = augment(
        data, score, method="t-local", t=t, starts=1, max_parents=rules.max_parents,
        on_event=lambda event: scores.append(event.score),
        forbidden=rules.forbidden,
    )  # fmt: skip
    assert scores == sorted(scores)
    assert result.status == ("optimal" if t >= len(data.missing_cells) else "t-local")
    result.check_score(data, score, rules)
    best = best_per_completion(data, score, rules)
    near = [s for v, s in best.items() if (np.array(v) != result.values).sum() <= t]
    assert result.score >= max(near) - 1e-6 * abs(max(near))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("distance", [1, 2])
def test_an_envelope_bounds_every_solution_after_its_moves(seed, distance):
    _, data, values, score, rules = case(seed, cells=4)
    task = Task(data, score, rules)
    store = store_of(data, values, score, rules)
    best = best_per_completion(data, score, rules)
    found = cluster_multipliers(task.families(values))
    target = float(np.median(list(best.values())))
    solution = Solution(((),) * 4, values, target)
    search = MoveSearch(task, Incumbent(), solution, store, found)
    singles = store.single_moves(distinct=False)
    group = np.concatenate([with_prefix(*c) for c in prefixes(singles, distance - 1)])
    after = []
    for move in group:
        with store.changed(move):
            after.append(best[tuple(store.values.tolist())])
    problem = search.promising(search.after(group))
    if problem is None:
        assert max(after) <= solution.target
    else:
        assert max(after) <= max(solution.target, solve(problem).score) + 1e-8
        left, _ = search.tightened(problem, [1.0, 0.0], 50)
        assert max(after) <= solution.target or solve(left).score >= max(after) - 1e-8
    better = prune_groups(search, [group])
    assert (better is None) == (max(after) <= solution.target)
    if better is not None:
        differ = (better.values != values).sum()
        assert 1 <= differ <= distance
        assert solution.target < better.score <= max(after) + 1e-8


@settings(max_examples=12)
@given(seed=st.integers(0, 2**20))
def test_no_change_of_a_cell_improves_on_an_ascent(seed):
    """No cell improves the best network of the final order."""
    _, data, values, score, rules = case(seed)
    store = store_of(data, values, score, rules)
    problem = Task(data, score, rules).families(values)
    start, _ = heuristic_network(problem, None, budget=10**4, perturbations=1, seed=0)
    *_, dag = ascend(store, start)
    reached = total_score(data.complete(store.values), dag, score)
    usable = in_order(store.families, start)

    def best_in_order():
        plain = np.where(usable, recounted(store, score), -np.inf)
        return np.maximum.reduceat(plain, store.families.first[:-1]).sum()

    assert reached == pytest.approx(best_in_order(), abs=1e-8)
    assert len(topological_order(dag)) == 4
    for change in store.single_moves(distinct=True):
        with store.changed(change[None]):
            assert best_in_order() <= reached + 1e-7


def test_listed_families_are_those_of_the_problem():
    _, data, values, score, rules = case(8, rows=40)
    problem = Task(data, score, rules).families(values)
    families = Families.listed(problem)
    store = FamilyStore.of(data, values, Task(data, score, rules).tables, families)
    assert store.sets.members[0].tolist() == [-1] * store.sets.members.shape[1]
    found = {(int(c), store.families.flat.parent_set(f)): store.scores[f]
             for f, c in enumerate(store.families.child)}  # fmt: skip
    expected = {(c, ps): s for c in range(4) for ps, s in problem.candidates(c)}
    assert found.keys() == expected.keys()
    assert all(found[key] == pytest.approx(expected[key], abs=1e-9) for key in expected)
    assert len(families) == problem.n_candidates


@pytest.mark.parametrize("seed", range(8))
def test_a_good_network_is_feasible_and_no_worse_than_its_start(seed):
    _, data, values, score, rules = case(seed, n=5, rows=60)
    problem = Task(data, score, rules).families(values)
    complete = data.complete(values)
    first, scored = heuristic_network(
        problem, None, budget=10**4, perturbations=1, seed=0
    )
    again, improved = heuristic_network(
        problem, first, budget=10**4, perturbations=2, seed=1
    )
    assert scored == pytest.approx(total_score(complete, first, score), abs=1e-9)
    assert improved == pytest.approx(total_score(complete, again, score), abs=1e-9)
    assert scored <= improved + 1e-9 <= solve(problem).score + 2e-9
    assert len(topological_order(again)) == 5
    assert (
        heuristic_network(problem, None, budget=10**4, perturbations=1, seed=0)[0]
        == first
    )


def holed_chain(seed, rows=60, cells=20):
    rng = np.random.default_rng(seed)
    data = random_table(rng, 6, rows, 0, 3)
    codes = data.codes.copy()
    codes.reshape(-1)[rng.choice(codes.size, cells, replace=False)] = -1
    return Dataset(codes, data.names, data.states)


def test_the_best_of_several_starts_comes_back_the_same():
    data = holed_chain(1)
    alone = augment(data, BDeu(), method="t-local", starts=1)
    first, second = (
        augment(data, BDeu(), method="t-local", starts=4) for _ in range(2)
    )
    assert first.score >= alone.score - 1e-9
    assert first.values.tolist() == second.values.tolist()
    assert first.parents == second.parents
    assert first.status == "t-local"


def test_a_fitted_start_is_the_most_probable_completion():
    data = holed_chain(2)
    task = Task(data, BDeu(), FamilyRules(2))
    values = fitted_completion(task, mode_completion(data))
    problem = task.families(mode_completion(data))
    parents, _ = heuristic_network(problem, None, budget=10**6, perturbations=1, seed=0)
    network = fit_complete(data.complete(mode_completion(data)), parents)
    assert values.tolist() == most_probable_completion(network, data).tolist()


def test_large_tables_are_climbed_and_what_is_not_proven_is_said(monkeypatch):
    data = holed_chain(3)
    monkeypatch.setattr("exactlearn.augmentation.family_store.MAX_FAMILIES", 10)
    assert not fits(data, FamilyRules(3))
    with pytest.raises(TooLargeError, match=r"allow fewer parents or merge states"):
        require_tabulated(data, FamilyRules(3))
    result = augment(data, BDeu(), method="t-local", starts=2)
    assert result.status == "heuristic"
    assert "local in the graph" in result.message
    assert np.isinf(result.bound)
    assert result.score >= augment(data, BDeu(), method="mode").score
    cells = data.missing_cells
    for cell, variable in enumerate(cells[:, 1]):  # the DAG itself fits its order
        for state in range(data.cardinalities[variable]):
            other = result.values.copy()
            other[cell] = state
            assert (
                total_score(data.complete(other), result.parents, BDeu())
                <= result.score + 1e-7
            )
    again = augment(data, BDeu(), method="t-local", starts=2)
    assert again.values.tolist() == result.values.tolist()


def test_the_solver_ordering_proves_nothing_and_says_so():
    result = augment(
        holed_chain(4), BDeu(), method="t-local", starts=1, solver="ordering"
    )
    assert (result.status, np.isinf(result.bound)) == ("heuristic", True)
    assert "not proven best" in result.message


@pytest.mark.parametrize("starts", [1, 3])
def test_an_interrupt_or_a_limit_keeps_the_best_solution(starts):
    data = holed_chain(5)
    seen = []

    def interrupt(event):
        seen.append(event.score)
        if len(seen) >= 2 and event.parents is not None:
            press_ctrl_c()

    result = augment(data, BDeu(), method="t-local", starts=starts, on_event=interrupt)
    assert result.status == "interrupted"
    assert result.parents is not None
    assert result.score >= max(seen[:2]) - 1e-9
    short = augment(data, BDeu(), method="t-local", starts=starts, time_limit=1e-9)
    assert short.status == "feasible"


def test_candidates_cut_by_a_limit_still_give_a_network(monkeypatch):
    """No table of all scores is built for it."""
    data, listed = holed_chain(3), candidate_parent_sets

    def last(*arguments, control, **options):
        problem = listed(*arguments, control=control, **options)
        control.stop()
        return problem

    monkeypatch.setattr("exactlearn.augmentation.family_store.MAX_FAMILIES", 10)
    monkeypatch.setattr("exactlearn.augmentation.task.candidate_parent_sets", last)
    monkeypatch.setattr(FamilyStore, "of", lambda *_: pytest.fail("tabulated"))
    result = augment(data, BDeu(), method="t-local", starts=1)
    assert result.status == "interrupted"
    assert any(result.parents)
