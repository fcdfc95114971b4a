"""Completion-indexed candidates against direct scoring, and the merging of rows."""

import numpy as np
import pytest

from exactlearn.augmentation.coordinate_ascent import coordinate_ascent
from exactlearn.augmentation.families import FamilyRules, parent_sets
from exactlearn.augmentation.gadget import enumerable_families, reduced
from exactlearn.augmentation.task import Task, merge_rows
from exactlearn.data.dataset import Dataset
from exactlearn.errors import TooLargeError
from exactlearn.scoring.scores import (
    AIC,
    BIC,
    BDeu,
    PenalisedLikelihood,
    score_family,
    total_score,
)
from exactlearn.scoring.terms import TermTables
from tests.augmentation_oracle import best_per_completion, completions, random_table

SCORES = [BDeu(1.0), BDeu(7.5), BIC(), AIC()]


def candidates_of(gadget, n):
    """Yield child, parents, the states of the missing cells it has, and score of each candidate."""
    for child in range(n):
        for members, score in gadget.problem.candidates(child):
            states = {}
            for v in members:
                if v >= n:
                    cell = int(np.searchsorted(gadget.first, v, side="right")) - 1
                    states[cell] = v - int(gadget.first[cell])
            yield child, tuple(v for v in members if v < n), states, score


@pytest.mark.parametrize("seed", range(12))
def test_candidate_scores_are_those_of_the_fixed_table(seed):
    data, score = random_table(np.random.default_rng(seed), 4, 12, 5), SCORES[seed % 4]
    found = list(candidates_of(reduced(Task(data, score, FamilyRules(2))), 4))
    assert len(found) > 4
    for child, parents, states, scored in found:
        values = np.zeros(len(data.missing_cells), np.int64)
        values[list(states)] = list(states.values())
        expected = score_family(data.complete(values), child, parents, score)
        assert scored == pytest.approx(expected, abs=1e-9)
        own = np.isin(data.missing_cells[:, 1], (child, *parents))
        assert sorted(states) == np.flatnonzero(own).tolist()


@pytest.mark.parametrize("seed", range(8))
def test_no_useful_candidate_is_lost(seed):
    """Every completion has, in the list, a subset that scores at least as well."""
    data, score = random_table(np.random.default_rng(seed), 3, 10, 4), SCORES[seed % 4]
    found = list(candidates_of(reduced(Task(data, score, FamilyRules(2))), 3))
    for values in completions(data):
        complete = data.complete(values)
        for child in range(3):
            best = {
                frozenset(parents): scored
                for own, parents, states, scored in found
                if own == child and all(values[c] == v for c, v in states.items())
            }
            for members in parent_sets(3, child, 2).tolist():
                parents = tuple(v for v in members if v >= 0)
                within = [
                    scored for subset, scored in best.items() if subset <= {*parents}
                ]
                assert (
                    max(within) >= score_family(complete, child, parents, score) - 1e-9
                )


def table_of(counts):
    """Return a table of two columns with a row for each count, its weight."""
    r, q = counts.shape
    codes = np.argwhere(np.ones((r, q))).astype(np.int8)
    states = tuple(tuple(map(str, range(k))) for k in (r, q))
    return Dataset(codes, ("child", "parent"), states, counts.reshape(-1))


@pytest.mark.parametrize("score", [*SCORES, PenalisedLikelihood(0.7)], ids=repr)
def test_scores_are_convex_in_the_counts(score):
    rng = np.random.default_rng(5)
    for _ in range(40):
        r, q = rng.integers(2, 5, 2)
        ends = rng.gamma(0.4, size=(2, r, q)) + 1e-9
        ends *= 30.0 / ends.sum(axis=(1, 2), keepdims=True)
        weight = rng.random()
        low, high = (score_family(table_of(counts), 0, (1,), score) for counts in ends)
        between = table_of(weight * ends[0] + (1.0 - weight) * ends[1])
        chord = weight * low + (1.0 - weight) * high
        assert score_family(between, 0, (1,), score) <= chord + 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_equal_rows_share_an_optimal_completion(seed):
    """The convexity that merging rests on, checked by brute force."""
    rng = np.random.default_rng(seed)
    data = random_table(rng, 3, 8, 2)
    codes = np.vstack([data.codes, data.codes[(data.codes == -1).any(axis=1)]])
    data = Dataset(codes, data.names, data.states)
    score, rules = SCORES[seed % 4], FamilyRules(2)
    best = best_per_completion(data, score, rules)
    merged, _ = merge_rows(data, incomplete=True)
    assert merged.n_rows < data.n_rows
    best_merged = best_per_completion(merged, score, rules)
    assert max(best_merged.values()) == pytest.approx(max(best.values()), abs=1e-9)


def test_weights_count_rows():
    rng = np.random.default_rng(3)
    data = random_table(rng, 3, 10, 3)
    heavy = Dataset(data.codes, data.names, data.states, np.full(10, 2.5))
    doubled = Dataset(
        np.repeat(data.codes, 5, axis=0), data.names, data.states, np.full(50, 0.5)
    )
    problems = [
        reduced(
            Task(merge_rows(d, incomplete=True)[0], BDeu(1.0), FamilyRules(2))
        ).problem
        for d in (heavy, doubled)
    ]
    np.testing.assert_allclose(problems[0].scores, problems[1].scores, rtol=1e-12)


def test_too_many_completions_are_refused_with_a_way_out():
    codes = np.full((60, 3), -1, np.int8)
    codes[:2] = [[0, 0, 0], [1, 1, 1]]
    data = Dataset(codes, ("a", "b", "c"), (("0", "1"),) * 3)
    with pytest.raises(
        TooLargeError, match=r"limit is 20,000,000; use the method 'branching' or"
    ):
        enumerable_families(data, FamilyRules(2))


def test_too_many_candidates_are_refused(monkeypatch):
    monkeypatch.setattr("exactlearn.augmentation.gadget.MAX_CANDIDATES", 5)
    data = random_table(np.random.default_rng(0), 4, 12, 5)
    with pytest.raises(
        TooLargeError, match=r"more than 5 candidates; use the method 'branching'"
    ):
        reduced(Task(data, BDeu(1.0), FamilyRules(2)))


@pytest.mark.parametrize("seed", range(10))
def test_coordinate_ascent_climbs_to_a_single_cell_optimum(seed):
    rng = np.random.default_rng(seed)
    data = random_table(rng, 4, 15, 6)
    states = data.cardinalities[data.missing_cells[:, 1]]
    start = rng.integers(states)
    parents, score = ((), (0,), (0, 1), (2,)), SCORES[seed % 4]
    tables = TermTables(score, data.cardinalities, data.row_weights)
    ascended = coordinate_ascent(data, start, parents, tables)
    value = total_score(data.complete(ascended), parents, score)
    assert value >= total_score(data.complete(start), parents, score) - 1e-9
    for cell, r in enumerate(states):
        for state in range(r):
            other = ascended.copy()
            other[cell] = state
            assert total_score(data.complete(other), parents, score) <= value + 1e-8
