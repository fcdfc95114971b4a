"""Cells by the average over all networks."""

import numpy as np
import pytest

import exactlearn as el
from exactlearn.augmentation import FamilyRules
from tests.augmentation_oracle import completions, random_table, solution_scores


def test_few_missing_cells_get_their_exact_distributions():
    table = random_table(np.random.default_rng(5), 4, 14, 4)
    imputed = el.impute(table, "posterior-average")
    scores = solution_scores(table, el.BDeu(1.0), FamilyRules.of(3))
    weights = np.exp(scores - scores.max()).sum(axis=1)
    values = np.array(completions(table))
    for state in range(imputed.probabilities.shape[1]):
        expected = weights @ (values == state) / weights.sum()
        assert imputed.probabilities[:, state] == pytest.approx(expected, abs=1e-9)
    assert np.array_equal(imputed.values, imputed.probabilities.argmax(axis=1))


def test_many_missing_cells_get_the_average_over_drawn_networks():
    table = el.read_dataset("cancer-mcar")
    learning = el.Learning(max_parents=2, seed=1)
    imputed = el.impute(table, "posterior-average", learning)
    assert el.posterior(table, max_parents=2).claim == "exact for expected counts"
    assert imputed.probabilities.sum(axis=1) == pytest.approx(1.0)
    by_one = el.impute(table, "structural-em", learning)
    assert np.mean(imputed.values == by_one.values) > 0.8
