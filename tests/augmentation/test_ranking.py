"""The k best solutions against all DAGs times all completions."""

import numpy as np
import pytest

from exactlearn.augmentation import FamilyRules
from exactlearn.augmentation.exact import best_solutions
from exactlearn.augmentation.solutions import total_score
from exactlearn.errors import OptionError
from exactlearn.scoring.scores import BIC, BDeu
from tests.augmentation_oracle import best_per_completion, random_table, solution_scores


def random_case(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 4))
    data = random_table(rng, n, int(rng.integers(4, 12)), int(rng.integers(0, 5)), 3)
    return data, (BDeu(1.0), BIC())[seed % 2]


@pytest.mark.parametrize("seed", range(15))
def test_the_best_solutions_are_those_of_all(seed):
    data, score = random_case(seed)
    every = sorted(solution_scores(data, score, FamilyRules.of(2)).ravel(), reverse=True)
    k = 1 + seed % 12
    ranked = best_solutions(data, score, k, max_parents=2)
    assert ranked.status == "optimal"
    assert len(ranked.solutions) == min(k, len(every))
    assert len({(p.parents, p.values.tobytes()) for p in ranked.solutions}) == len(ranked.solutions)
    for solution, expected in zip(ranked.solutions, every, strict=False):
        assert solution.score == pytest.approx(expected)
        assert total_score(
            data.complete(solution.values), solution.parents, score
        ) == pytest.approx(solution.score)


@pytest.mark.parametrize("seed", range(15))
def test_the_best_completions_are_those_of_all(seed):
    data, score = random_case(seed)
    every = sorted(best_per_completion(data, score, FamilyRules.of(2)).values(), reverse=True)
    k = 2 + seed % 9
    ranked = best_solutions(data, score, k, distinct="completions", max_parents=2)
    assert ranked.status == "optimal"
    found = [solution.score for solution in ranked.solutions]
    assert found == pytest.approx(every[:k])
    assert len({p.values.tobytes() for p in ranked.solutions}) == len(found)


def test_a_limit_keeps_what_was_found():
    rng = np.random.default_rng(1)
    data = random_table(rng, 7, 60, 40, 3)
    ranked = best_solutions(data, BDeu(1.0), 5, time_limit=0.5)
    assert ranked.status == "feasible"
    assert ranked.solutions


def test_a_number_below_one_is_refused():
    data, score = random_case(0)
    with pytest.raises(OptionError, match="'k': expected a whole number from 1, found 0"):
        best_solutions(data, score, 0)
    with pytest.raises(OptionError, match="did you mean 'solutions'"):
        best_solutions(data, score, 2, distinct="solution")
