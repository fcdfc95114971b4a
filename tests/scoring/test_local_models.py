"""Families with tables or log-linear distributions, against plain formulas and all networks."""

from itertools import combinations, product
from math import comb, inf, log

import numpy as np
import pytest
from numpy import logaddexp
from scipy.special import log_softmax

from exactlearn import (
    AIC,
    BIC,
    BDeu,
    Dataset,
    PenalisedLikelihood,
    Problem,
    candidate_parent_sets,
    fit_complete,
    learned_counts,
    score_family,
    solve,
)
from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.log_linear import fit_log_linear
from exactlearn.errors import DataError, OptionError
from exactlearn.scoring.local_models import LocalModelParameters, LocalModels
from tests.own_scores import K2
from tests.scoring_oracle import make

SCORES = [BDeu(1.0), BDeu(10.0), BIC(), AIC(), PenalisedLikelihood(0.3)]


def additive_data(seed, rows=200, n=5, weighted=False):
    """Return a table whose last variable depends a little on each of the others."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, n)
    codes = (rng.random((rows, n)) * sizes).astype(int)
    scores = sum(rng.normal(0, 1.5, (sizes[p], sizes[-1]))[codes[:, p]] for p in range(n - 1))
    codes[:, -1] = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    weights = rng.integers(0, 3, rows) * 0.5 + 0.5 if weighted else None
    return make(codes, sizes, weights)


def plain_scores(data, child, parents, score):
    """Return the scores of a table and of a log-linear distribution by their definitions."""
    k, n = len(parents), data.n_variables
    shape = data.cardinalities[[*parents, child]]
    counts = np.zeros(shape)
    np.add.at(counts, tuple(data.codes[:, [*parents, child]].T), data.row_weights)
    everything = np.array(list(np.ndindex(*shape[:-1])), int)
    flat = counts.reshape(-1, shape[-1])
    found = fit_log_linear(flat, everything, shape[:-1].tolist())
    log_linear = found.log_evidence
    if not isinstance(score, BDeu):
        design = np.hstack(
            [np.ones((len(flat), 1))]
            + [np.eye(size)[column] for size, column in zip(shape, everything.T, strict=False)]
        )
        likelihood = (flat * log_softmax(design @ found.weights.T, axis=1)).sum()
        free = (shape[-1] - 1) * (1 + sum(shape[:-1] - 1))
        rows = data.row_weights.sum()
        log_linear = {
            "bic": likelihood - log(rows) / 2 * free,
            "aic": likelihood - free,
            "penalised": 0.7 * likelihood - 0.3 * free,
        }[score.name]
    prior = -log(comb(n - 1, k))
    return score_family(data, child, parents, score) + prior, log_linear + prior


@pytest.mark.parametrize("score", SCORES, ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_a_family_has_the_better_score_of_its_two_models(score, seed):
    data = additive_data(seed, rows=60, weighted=seed == 1)
    models = LocalModels(data, score)
    for child in range(data.n_variables):
        others = [v for v in range(data.n_variables) if v != child]
        for k in range(4):
            for parents in combinations(others, k):
                table, log_linear = plain_scores(data, child, parents, score)
                assert models.family(child, parents) == pytest.approx(max(table, log_linear))
                assert models.is_log_linear(child, parents) == (log_linear > table)
    parents = tuple(others)
    _, log_linear = plain_scores(data, child, parents, score)
    assert models.family(child, parents) == pytest.approx(log_linear)  # too many for a table


@pytest.mark.parametrize("score", [BDeu(1.0), BIC()], ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_the_best_network_is_that_of_all_parent_sets_where_the_search_meets_them(score, seed):
    data = additive_data(seed, n=4)
    models = LocalModels(data, score)
    every = [
        {
            parents: models.family(child, parents)
            for k in range(4)
            for parents in combinations([v for v in range(4) if v != child], k)
        }
        for child in range(4)
    ]
    tables = candidate_parent_sets(data, score, prune=False)
    found = solve(models.problem(tables))
    assert found.score == pytest.approx(solve(Problem.from_candidates(data.names, every)).score)


def test_many_weak_parents_are_found_and_predict_rows_that_were_not_seen():
    everything = additive_data(1, rows=3000, n=8)
    data, unseen = everything.part(slice(0, 300)), everything.part(slice(300, None))
    tables = candidate_parent_sets(data, BDeu())
    models = LocalModels(data, BDeu())
    by_tables, found = solve(tables), solve(models.problem(tables))
    neighbours = sum(7 in own for own in found.parents) + len(found.parents[7])
    assert neighbours > sum(7 in own for own in by_tables.parents) + len(by_tables.parents[7])
    network = fit_complete(data, by_tables.parents)
    gain = models.fit(found.parents).log_likelihood(unseen) - network.log_likelihood(unseen)
    assert gain > 0.05 * unseen.n_rows


@pytest.mark.parametrize("prune", [True, False])
def test_candidates_obey_arcs_and_are_dominated_by_no_subset_if_pruned(prune):
    data = additive_data(2, n=6)
    models = LocalModels(data, BDeu())
    arcs = {"required": [(0, 5)], "forbidden": [(1, 5), (5, 2)]}
    tables = candidate_parent_sets(data, BDeu(), prune=prune, **arcs)
    problem = models.problem(tables, prune=prune, **arcs)
    assert not problem.complete
    for child in range(6):
        table = dict(problem.candidates(child))
        assert table == pytest.approx({own: models.family(child, own) for own in table})
        dominated = [
            own for own in table if any(set(s) < set(own) and table[s] >= table[own] for s in table)
        ]
        assert bool(dominated) <= (not prune)
        if not prune:
            assert {own for own, _ in tables.candidates(child)} <= set(table)
    assert all(0 in own and 1 not in own for own, _ in problem.candidates(5))
    assert all(5 not in own for own, _ in problem.candidates(2))


def test_log_linear_families_alone_need_no_tables():
    data = additive_data(4)
    models = LocalModels(data, BDeu(), "log-linear")
    problem = models.problem()
    for child in range(data.n_variables):
        assert all(models.is_log_linear(child, own) for own, _ in problem.candidates(child))
    assert solve(problem).status == "optimal"


def test_a_network_has_the_table_of_each_family_s_better_model():
    data = additive_data(5, rows=400)
    models = LocalModels(data, BDeu())
    parents = [(), (0,), (1, 0), (), (2, 0, 1, 3)]
    network = models.fit(parents, smoothing=0.5)
    smoothed = fit_complete(data, parents, smoothing=0.5)
    kinds = [models.is_log_linear(child, own) for child, own in enumerate(parents)]
    assert kinds[4]
    for child in range(5):
        same = np.allclose(network.tables[child], smoothed.tables[child])
        assert same != kinds[child]
    sizes = data.cardinalities[[2, 0, 1, 3]].tolist()
    everything = np.array(list(np.ndindex(*sizes)))
    counts = np.zeros((*sizes, data.cardinalities[4]))
    np.add.at(counts, tuple(data.codes[:, [2, 0, 1, 3, 4]].T), 1)
    flat = counts.reshape(-1, counts.shape[-1])
    assert np.allclose(network.tables[4], fit_log_linear(flat, everything, sizes).table(sizes))


def test_families_too_large_for_a_log_linear_distribution_are_tables():
    data = additive_data(6)
    few = LocalModelParameters(weights=8)
    models = LocalModels(data, BDeu(), "log-linear", parameters=few)
    assert not models.is_log_linear(4, (0, 1, 2, 3))
    assert models.family(4, (0, 1)) == pytest.approx(plain_scores(data, 4, (0, 1), BDeu())[0])
    small = LocalModels(data, BDeu(), parameters=LocalModelParameters(table=20))
    parents = [own for own, _ in small.problem().candidates(4)]
    assert all(np.prod(data.cardinalities[[*own, 4]]) <= 20 for own in parents)


def test_most_parents_of_log_linear_families():
    data = additive_data(7)
    problem = LocalModels(data, BDeu(), log_linear_parents=2).problem()
    assert max(len(own) for c in range(5) for own, _ in problem.candidates(c)) == 2


def test_a_search_that_is_over_keeps_a_parent_set_of_each_variable():
    data = additive_data(8)
    control = SearchControl()
    control.stop()
    problem = LocalModels(data, BDeu()).problem(required=[(1, 4)], control=control)
    assert "0 of 5" in problem.stopped
    assert [own for c in range(5) for own, _ in problem.candidates(c)] == [(), (), (), (), (1,)]
    assert LocalModels(data, BDeu()).problem(time_limit=0.0).stopped


def test_expected_counts_are_those_of_all_completions_by_their_probabilities():
    full = additive_data(9, rows=40, n=4)
    codes = full.codes.copy()
    codes[np.random.default_rng(9).random(codes.shape) < 0.2] = -1
    data = Dataset(codes, full.names, full.states)
    learned = learned_counts(data, max_parents=2)
    rows, weights = [], []
    for row in codes:
        choices = [range(r) if c < 0 else [c] for c, r in zip(row, data.cardinalities, strict=True)]
        completions = Dataset(np.array(list(product(*choices))), data.names, data.states)
        logs = learned.network.log_likelihood_rows(completions)
        rows.append(completions.codes)
        weights.append(np.exp(logs - logaddexp.reduce(logs)))
    twin = Dataset(np.concatenate(rows), data.names, data.states, np.concatenate(weights))
    expected = LocalModels(data, BDeu(), counts=learned.counts)
    completed = LocalModels(twin, BDeu(), log_linear_parents=2)
    problem = expected.problem()
    assert max(len(own) for c in range(4) for own, _ in problem.candidates(c)) == 2
    for child in range(4):
        for own, score in problem.candidates(child):
            assert score == pytest.approx(completed.family(child, own), abs=1e-6)
    parents = [(), (0,), (1, 0), (2, 0)]
    tables = zip(expected.fit(parents).tables, completed.fit(parents).tables, strict=True)
    assert all(np.allclose(one, other, atol=1e-6) for one, other in tables)


def test_what_has_no_log_linear_score_is_refused():
    with pytest.raises(OptionError, match=r"'k2'.*bdeu, bic, aic or penalised"):
        LocalModels(additive_data(0), K2())
    with pytest.raises(DataError, match="log-linear families need complete data"):
        LocalModels(make(np.array([[0, -1], [1, 0]]), [2, 2]), BDeu())


@pytest.mark.parametrize("codes", [np.zeros((1, 1)), np.zeros((3, 2)), np.zeros((0, 2))])
def test_tables_that_say_nothing_give_networks_without_arcs(codes):
    names = tuple("ab"[: codes.shape[1]])
    data = Dataset(codes.astype(int), names, (("no", "yes"),) * codes.shape[1])
    found = solve(LocalModels(data, BDeu()).problem())
    assert found.parents == ((),) * codes.shape[1]
    assert found.score > -inf
