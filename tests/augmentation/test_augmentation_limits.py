"""Limits and interrupts of augmentation: looked at between blocks, with a bound to show."""

import numpy as np
import pytest

from exactlearn.augmentation import FamilyRules, augment, family_store
from exactlearn.augmentation.coordinate_ascent import ascend
from exactlearn.augmentation.exact import best_solutions
from exactlearn.augmentation.solutions import GRACE, Incumbent
from exactlearn.errors import InfeasibleError
from exactlearn.scoring import incremental_tables
from exactlearn.scoring.scores import AIC, BIC, BDeu, PenalisedLikelihood
from tests.augmentation_oracle import best_per_completion, random_table
from tests.family_stores import store_of
from tests.interrupts import Looks

SCORES = [BDeu(1.0), BIC(), BDeu(5.0), AIC(), PenalisedLikelihood(0.7)]

EXACT = ("branching", "exact", "gadget")


def table_of(seed):
    return random_table(np.random.default_rng(seed), 4, 12, 5)


def ending_at(monkeypatch, name):
    """Return a function that sets an incumbent's flag of that name at a given look."""

    def install(last):
        looks = [0]

        def flag(incumbent):
            looks[0] += 1
            return looks[0] > last

        monkeypatch.setattr(Incumbent, name, property(flag))

    return install


@pytest.fixture
def stop_at(monkeypatch):
    """Return a function that lets searches end at a given look."""
    return ending_at(monkeypatch, "is_over")


@pytest.fixture
def interrupt_at(monkeypatch):
    """Return a function that lets searches be interrupted at a given look."""
    return ending_at(monkeypatch, "is_stopped")


LOOKS = (*range(6), *range(6, 60, 9), 100, 200, 400, 800)


@pytest.mark.parametrize("method", [*EXACT, "t-local", "mode"])
def test_a_search_stopped_anywhere_has_a_solution_and_bound(method, stop_at):
    data, score, rules = table_of(1), BDeu(1.0), FamilyRules.of(2)
    best = max(best_per_completion(data, score, rules).values())
    for last in LOOKS:
        stop_at(last)
        result = augment(
            data, score, method=method, max_parents=2, starts=1, time_limit=60
        )
        assert result.parents is not None
        assert result.score <= best + 1e-9 <= result.bound + 2e-9
        if method in EXACT:
            assert result.bound <= 0.0
        if not last:
            assert result.status == "feasible"
            assert result.parents == ((),) * 4


@pytest.mark.parametrize("method", [*EXACT, "t-local", "mode"])
def test_an_interrupted_search_has_a_solution_and_valid_bound(method, interrupt_at):
    data, score, rules = table_of(1), BDeu(1.0), FamilyRules.of(2)
    known = best_per_completion(data, score, rules)
    best = max(known.values())
    for last in LOOKS:
        interrupt_at(last)
        result = augment(data, score, method=method, max_parents=2, starts=1)
        assert result.parents is not None
        assert result.score <= best + 1e-9 <= result.bound + 2e-9
        if not last:
            assert result.status == "interrupted"
            assert result.parents == ((),) * 4
        if result.status == "t-local":
            near = [
                s for v, s in known.items() if (np.array(v) != result.values).sum() <= 1
            ]
            assert result.score >= max(near) - 1e-6
        elif result.status == "optimal":
            assert result.score == pytest.approx(best)


@pytest.mark.parametrize("distinct", ["solutions", "completions"])
def test_a_ranking_interrupted_at_any_look_has_true_scores(distinct, interrupt_at):
    data, score = table_of(1), BDeu(1.0)
    best = augment(data, score, max_parents=2)
    whole = best_solutions(data, score, 4, distinct=distinct, max_parents=2, best=best)
    assert whole.status == "optimal"
    scores = np.array([solution.score for solution in whole.solutions])
    for last in LOOKS:
        interrupt_at(last)
        found = best_solutions(
            data, score, 4, distinct=distinct, max_parents=2, best=best
        )
        own = np.array([solution.score for solution in found.solutions])
        assert (own <= scores[: len(own)] + 1e-9).all()
        assert found.status in ("interrupted", "optimal")
        if found.status == "optimal":
            np.testing.assert_allclose(own, scores)


def test_a_stopped_search_keeps_required_arcs_or_raises(stop_at):
    stop_at(0)
    found = augment(table_of(1), BDeu(1.0), required=[(0, 1), (1, 2)])
    assert found.parents == ((), (0,), (1,), ())
    with pytest.raises(InfeasibleError, match="directed cycle"):
        augment(table_of(1), BDeu(1.0), required=[(0, 1), (1, 0)])


def test_the_first_solution_has_a_grace_period():
    """Its local search has a fixed proportion of the time limit."""
    late = Incumbent(time_limit=10.0)
    late.deadline -= 10.0
    assert not late.is_over
    late.deadline -= GRACE
    assert late.is_over
    early = Incumbent(time_limit=10.0)
    early.parents = ()
    with early.hurried(0.6):
        assert not early.is_over
        early._hurried_until -= 6.5
        assert early.is_over
    assert not early.is_over


@pytest.mark.parametrize("seed", range(4))
def test_blocks_of_any_size_give_the_same_with_a_look_after_each(seed, monkeypatch):
    data, score, rules = table_of(seed), SCORES[seed], FamilyRules.of(2)
    rng = np.random.default_rng(seed)
    values = rng.integers(data.cardinalities[data.missing_cells[:, 1]])
    dag = ((), (0,), (0, 1), (2,))

    def work():
        control = Looks(10**9)
        store = store_of(data, values, score, rules, control)
        singles = store.single_moves(distinct=True)
        tops, close = store.bound_moves(store.scores, singles, store.scores.min())
        dags = list(ascend(store, dag))
        return (
            10**9 - control.looks,
            (store.envelope(singles), tops, close, store.values, store.scores),
            dags,
        )

    few, whole, dags = work()
    for module in (incremental_tables, family_store):
        monkeypatch.setattr(module, "BLOCK", 1)
    many, parts, same = work()
    assert many > few + len(data.missing_cells)
    assert dags == same
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_allclose(a, b)
