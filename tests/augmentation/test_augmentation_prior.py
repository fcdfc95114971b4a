"""Priors over networks in learning and augmentation, against all networks and completions."""

from math import comb, log

import numpy as np
import pytest

import exactlearn as el
from exactlearn.augmentation import FamilyRules
from exactlearn.errors import CheckError, OptionError
from exactlearn.scoring.scores import BIC, BDeu
from tests.augmentation_oracle import all_dags, completions, random_table

SCORES = [BDeu(1.0), BIC(), BDeu(5.0)]


def random_prior(rng, names):
    """Return beliefs that outweigh small tables, or the fair prior."""
    if rng.random() < 0.2:
        return "fair"
    arcs = [(p, c) for p in names for c in names if p != c]
    listed = [arcs[k] for k in rng.permutation(len(arcs))[:4]]
    return {arc: float(rng.choice([1e-4, 0.01, 0.3, 0.99, 0.9999])) for arc in listed}


def logarithm(prior, names, dag):
    n = len(names)
    if prior == "fair":
        return -sum(log(comb(n - 1, len(parents))) for parents in dag)
    return sum(
        log(p if names.index(parent) in dag[names.index(child)] else 1.0 - p)
        for (parent, child), p in prior.items()
    )


def best_of_all(data, score, prior):
    """Return the largest score with prior of all networks and completions."""
    best = -np.inf
    scores = {}
    for values in completions(data):
        complete = data.complete(values)
        problem = el.candidate_parent_sets(complete, score, max_parents=3, prune=False)
        scores = [dict(problem.candidates(v)) for v in range(data.n_variables)]
        for dag in all_dags(data.n_variables):
            total = sum(scores[v][parents] for v, parents in enumerate(dag))
            best = max(best, total + logarithm(prior, data.names, dag))
    return best


@pytest.mark.parametrize("seed", range(20))
def test_the_best_network_of_a_complete_table_under_a_prior(seed):
    rng = np.random.default_rng(seed)
    data = random_table(rng, 4, 12, 0, 3)
    prior = random_prior(rng, data.names)
    learned = el.learn(data, score=SCORES[seed % 3], max_parents=3, prior=prior)
    best = best_of_all(data, SCORES[seed % 3], prior)
    assert learned.status == "optimal"
    assert learned.score == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_the_best_network_and_completion_under_a_prior(seed):
    rng = np.random.default_rng(100 + seed)
    data = random_table(rng, 4, 9, 3, 2)
    score = SCORES[seed % 3]
    prior = random_prior(rng, data.names)
    best = best_of_all(data, score, prior)
    for method in ("branching", "gadget", "exact"):
        result = el.augment(data, score, method=method, prior=prior, starts=1)
        assert (result.status, method) == ("optimal", method)
        assert result.score == pytest.approx(best, abs=1e-9)
    for method in ("t-local", "mode"):
        result = el.augment(data, score, method=method, prior=prior, starts=2)
        assert result.score <= best + 1e-9
    rules = FamilyRules.of(3, prior=prior)
    result.check_score(data, score, rules)
    if logarithm(prior, data.names, result.parents) < -1e-3:
        with pytest.raises(CheckError, match="the score of the completed table"):
            result.check_score(data, score, FamilyRules.of(3))


def test_learning_with_augmentation_takes_a_prior():
    table = el.read_dataset("cancer-mcar").part(slice(40))
    prior = {("Smoker", "Cancer"): 0.999999}
    learned = el.learn(table, missing="augment", max_parents=2, prior=prior)
    assert learned.status == "optimal"
    smoker, cancer = (table.names.index(name) for name in ("Smoker", "Cancer"))
    assert smoker in learned.parents[cancer]
    assert "the logarithm of the prior" in learned.reason
    with pytest.raises(OptionError, match="a number between 0 and 1"):
        el.augment(table, prior={("Smoker", "Cancer"): 1.0})
