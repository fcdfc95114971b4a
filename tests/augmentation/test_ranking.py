"""The k best solutions against all DAGs times all completions."""

from dataclasses import replace

import numpy as np
import pytest

from exactlearn.augmentation import FamilyRules, augment
from exactlearn.augmentation.exact import best_solutions
from exactlearn.errors import CheckError, OptionError
from exactlearn.scoring.scores import BIC, BDeu, total_score
from tests.augmentation_oracle import best_per_completion, random_table, solution_scores


def random_case(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 4))
    data = random_table(rng, n, int(rng.integers(4, 12)), int(rng.integers(0, 5)), 3)
    return data, (BDeu(1.0), BIC())[seed % 2]


@pytest.mark.parametrize("seed", range(15))
def test_the_best_solutions_are_those_of_all(seed):
    data, score = random_case(seed)
    every = sorted(
        solution_scores(data, score, FamilyRules.of(2)).ravel(), reverse=True
    )
    k = 1 + seed % 12
    ranked = best_solutions(data, score, k, max_parents=2)
    assert ranked.status == "optimal"
    assert len(ranked.solutions) == min(k, len(every))
    assert len({(p.parents, p.values.tobytes()) for p in ranked.solutions}) == len(
        ranked.solutions
    )
    for solution, expected in zip(ranked.solutions, every, strict=False):
        assert solution.score == pytest.approx(expected)
        assert total_score(
            data.complete(solution.values), solution.parents, score
        ) == pytest.approx(solution.score)


@pytest.mark.parametrize("seed", range(15))
def test_the_best_completions_are_those_of_all(seed):
    data, score = random_case(seed)
    every = sorted(
        best_per_completion(data, score, FamilyRules.of(2)).values(), reverse=True
    )
    k = 2 + seed % 9
    ranked = best_solutions(data, score, k, distinct="completions", max_parents=2)
    assert ranked.status == "optimal"
    found = [solution.score for solution in ranked.solutions]
    assert found == pytest.approx(every[:k])
    assert len({p.values.tobytes() for p in ranked.solutions}) == len(found)


def heavy_table(seed, n):
    """Return a table whose complete rows weigh ten million times as much as the others."""
    rng = np.random.default_rng(seed)
    table = random_table(rng, n, int(rng.integers(4, 8)), n, 3)
    is_missing = (table.codes < 0).any(axis=1)
    light = rng.integers(1, 9, table.n_rows) * (1e-3 if n == 2 else 1e-2)
    return replace(table, weights=np.where(is_missing, light, 1.4e7))


@pytest.mark.parametrize("seed", [5, 7, 17, 21])
def test_small_differences_count_whatever_the_rows_weigh(seed):
    table, score = heavy_table(seed, 2), BIC()
    if seed % 2 == 0:
        score = BDeu(1.0)
    every = sorted(
        solution_scores(table, score, FamilyRules.of(2)).ravel(), reverse=True
    )
    ranked = best_solutions(table, score, 6, max_parents=2)
    assert ranked.status == "optimal"
    assert [each.score for each in ranked.solutions] == pytest.approx(
        every[:6], rel=0, abs=1e-5
    )


@pytest.mark.parametrize("method", ["t-local", "branching"])
def test_a_climb_takes_small_steps_whatever_the_rows_weigh(method):
    table, score = heavy_table(2, 3), BDeu(1.0)
    best = solution_scores(table, score, FamilyRules.of(2)).max()
    result = augment(table, score, method=method, max_parents=2, t=3, starts=1)
    assert result.status == "optimal"
    assert result.score == pytest.approx(best, rel=0, abs=1e-5)


def test_a_check_is_absolute():
    table, score = heavy_table(2, 3), BDeu(1.0)
    result = augment(table, score, max_parents=2)
    rules = FamilyRules.of(2)
    result.check_score(table, score, rules)
    with pytest.raises(CheckError, match="the score of the completed table"):
        replace(result, score=result.score - 0.1).check_score(table, score, rules)
    with pytest.raises(CheckError, match=r"with the gap 0\.1"):
        replace(result, bound=result.score + 0.1).check_score(table, score, rules)


def test_a_limit_keeps_what_was_found():
    rng = np.random.default_rng(1)
    data = random_table(rng, 7, 60, 40, 3)
    ranked = best_solutions(data, BDeu(1.0), 5, time_limit=0.5)
    assert ranked.status == "feasible"
    assert ranked.solutions


def test_a_number_below_one_is_refused():
    data, score = random_case(0)
    with pytest.raises(
        OptionError, match="'k': expected a whole number from 1, found 0"
    ):
        best_solutions(data, score, 0)
    with pytest.raises(OptionError, match="did you mean 'solutions'"):
        best_solutions(data, score, 2, distinct="solution")
