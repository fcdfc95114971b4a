"""Structural EM: M-steps against all DAGs, scores of each iteration."""

import itertools
import sys
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

from exactlearn.augmentation import augment
from exactlearn.augmentation.solutions import Incumbent
from exactlearn.augmentation.task import Task, mode_completion
from exactlearn.bayesnet.em import fit_em
from exactlearn.data.dataset import Dataset
from exactlearn.errors import InfeasibleError, OptionError
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.expected_counts import expected_counts
from exactlearn.scoring.scores import AIC, BIC, BDeu, score_family, total_score
from exactlearn.solvers import solve
from exactlearn.structure.structural_em import _Alternation, structural_em
from tests.augmentation_oracle import all_dags, random_table
from tests.bayesnet.test_completing import row_posterior
from tests.interrupts import press_ctrl_c
from tests.network_oracle import joint

structural_em_module = sys.modules[structural_em.__module__]

SEEDS = range(12)


@cache
def holed_table(seed: int) -> Dataset:
    return random_table(np.random.default_rng(seed), 4, 25, 10, states=2 + seed % 2)


def best_dag_score(table: Dataset, score) -> float:
    """Return the score of the best of all DAGs on complete weighted rows."""
    scores: dict[tuple, float] = {}
    for dag in all_dags(table.n_variables):
        for family in enumerate(dag):
            if family not in scores:
                scores[family] = score_family(table, *family, score)
    return max(
        sum(scores[f] for f in enumerate(dag)) for dag in all_dags(table.n_variables)
    )


def completions(network, table: Dataset) -> Dataset:
    """Return all completions of a table, weighted by their posterior probabilities."""
    full, weights = joint(network), np.zeros(tuple(table.cardinalities))
    for row, weight in zip(table.codes, table.row_weights, strict=True):
        where = tuple(slice(None) if code < 0 else code for code in row)
        weights[where] += weight * row_posterior(full, row)
    codes = np.argwhere(weights > 0)
    return replace(table, codes=codes.astype(np.int16), weights=weights[tuple(codes.T)])


@pytest.mark.parametrize("score", [BIC(), AIC()])
@pytest.mark.parametrize("seed", SEEDS)
def test_expected_ends_where_no_dag_scores_more(seed, score):
    table = holed_table(seed)
    found = structural_em(table, score, smoothing=0.0)
    assert found.status == "converged"
    expanded = completions(found.network, table)
    assert total_score(expanded, found.parents, score) == pytest.approx(
        found.expected_score
    )
    best = best_dag_score(expanded, score)
    assert best == pytest.approx(found.expected_score, rel=1e-6)
    # The observed score is the penalised likelihood of the observed cells.
    fitted = fit_em(
        table, found.parents, smoothing=0.0, iterations=0, start=found.network
    )
    b = score.penalty(2, 1.0, table.n_rows)
    size = found.network.representational_size
    assert found.observed_score == pytest.approx(fitted.log_likelihood - b * size)


@pytest.mark.parametrize("score", [BIC(), AIC()])
@pytest.mark.parametrize("seed", SEEDS)
def test_hard_em_ends_at_a_coordinate_optimum(seed, score):
    """No DAG scores more, and no completion is more probable."""
    table = holed_table(seed)
    result = structural_em(table, score, hard=True, smoothing=0.0)
    assert result.status == "converged"
    # M-step: the DAG is the best one of the completed table.
    completed = result.completed(table)
    assert result.score == pytest.approx(best_dag_score(completed, score))
    # E-step: each row is completed as the full joint distribution says.
    distribution = joint(result.network)
    for row, completion in zip(table.codes, completed.codes, strict=True):
        agreeing = tuple(slice(None) if code < 0 else code for code in row)
        assert distribution[tuple(completion)] == pytest.approx(
            distribution[agreeing].max()
        )


@pytest.mark.parametrize("score", [BIC(), AIC()])
@pytest.mark.parametrize("seed", SEEDS)
def test_hard_em_scores_between_its_start_and_the_optimum(seed, score):
    """The optimum is that of augmentation."""
    table = holed_table(seed)
    first = best_dag_score(table.complete(mode_completion(table)), score)
    optimum = augment(table, score, method="branching").score
    scores = [
        structural_em(table, score, hard=True, smoothing=0.0, starts=starts).score
        for starts in (1, 4)
    ]
    assert first - 1e-8 <= scores[0]
    assert scores[0] - 1e-8 <= scores[1] <= optimum + 1e-8


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("score", [BIC(), AIC()])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_observed_score_rises_in_each_iteration(seed, score, start, monkeypatch):
    offered = []
    keep = _Alternation._offered

    def spied(self, network):
        offered.append(keep(self, network))
        return offered[-1]

    monkeypatch.setattr(_Alternation, "_offered", spied)
    first = _Alternation._first
    monkeypatch.setattr(_Alternation, "_first", lambda self, number: first(self, start))
    structural_em(holed_table(seed), score, smoothing=0.0)
    observed = [fitted.observed_score for fitted in offered[1:]]
    assert all(later > earlier for earlier, later in itertools.pairwise(observed))
    assert len({fitted.network.parents for fitted in offered[1:]}) == len(observed)


def test_more_starts_and_constraints():
    table = holed_table(3)
    one = structural_em(table, BDeu())
    several = structural_em(table, BDeu(), starts=6, seed=5)
    again = structural_em(table, BDeu(), starts=6, seed=5)
    assert several.trace[-1][1] >= one.trace[-1][1]
    assert several.parents == again.parents
    assert several.values.tolist() == again.values.tolist()
    assert several.iterations > one.iterations
    bound = structural_em(
        table, BDeu(), max_parents=2, required=[(0, 1)], forbidden=[(2, 3), (3, 2)]
    )
    assert 0 in bound.parents[1]
    assert 2 not in bound.parents[3]
    assert 3 not in bound.parents[2]
    with pytest.raises(InfeasibleError):
        structural_em(table, BDeu(), required=[(0, 1), (1, 0)])


@pytest.mark.parametrize("hard", [False, True])
def test_a_complete_table_is_an_ordinary_problem(hard):
    table = holed_table(1)
    table = table.complete([0] * len(table.missing_cells))
    found = structural_em(table, BDeu(), hard=hard, starts=3)
    best = solve(candidate_parent_sets(table, BDeu()))
    assert found.score == found.expected_score == pytest.approx(best.score)
    assert len(found.values) == 0


@pytest.mark.parametrize("hard", [False, True])
def test_limits_keep_the_best_network(hard):
    table = holed_table(2)
    stopped = structural_em(table, BDeu(), hard=hard, time_limit=0.0)
    assert stopped.status == "feasible"
    assert stopped.parents is not None
    bound = structural_em(table, BDeu(), hard=hard, time_limit=0.0, required=[(0, 1)])
    assert bound.parents is None or bound.parents[1] == (0,)
    events = []

    def interrupt(event):
        events.append(event)
        if event.parents is not None:
            press_ctrl_c()

    found = structural_em(table, BDeu(), hard=hard, on_event=interrupt)
    assert found.status == "interrupted"
    assert found.parents == events[-1].parents
    assert found.values.tolist() == list(events[-1].values)


@pytest.mark.parametrize("hard", [False, True])
def test_an_interrupt_at_any_look_keeps_the_best_network(monkeypatch, hard):
    table = holed_table(2)
    whole = structural_em(table, BDeu(), hard=hard, starts=2)
    for last in (*range(12), *range(12, 60, 7), 100, 200, 400):
        looks = [0]

        def is_stopped(control, looks=looks, last=last):
            looks[0] += 1
            return looks[0] > last

        with monkeypatch.context() as during:
            during.setattr(Incumbent, "is_stopped", property(is_stopped))
            found = structural_em(table, BDeu(), hard=hard, starts=2)
        assert found.status in ("interrupted", "converged")
        assert found.parents is not None
        objective = "score" if hard else "observed_score"
        assert getattr(found, objective) <= getattr(whole, objective) + 1e-6
        if found.status == "converged":
            assert found.parents == whole.parents


def test_empty_rows_and_columns_are_no_obstacle():
    codes = holed_table(4).codes.copy()
    codes[0], codes[:, 2] = -1, -1
    table = Dataset(codes, holed_table(4).names, holed_table(4).states)
    found = structural_em(table, BDeu())
    assert found.status == "converged"
    assert found.completed(table).is_complete


def test_what_was_drawn_or_not_proven_is_reported(monkeypatch):
    table = holed_table(5)
    few = partial(expected_counts, most_cells=20)
    monkeypatch.setattr(structural_em_module, "expected_counts", few)
    drawn = structural_em(table, BDeu())
    assert drawn.drawn_rows > 0
    assert "averages over draws" in drawn.message
    exact = Task.solve

    def unproven(*args, **kwargs):
        return replace(exact(*args, **kwargs), status="feasible", solver="ordering")

    monkeypatch.setattr(Task, "solve", unproven)
    local = structural_em(table, BDeu())
    assert local.status == "converged"
    assert "'ordering' is not proven optimal" in local.message


@pytest.mark.parametrize(
    "wrong",
    [{"starts": 0}, {"max_parents": -1}],
)
def test_wrong_options_are_refused(wrong):
    with pytest.raises(OptionError):
        structural_em(holed_table(0), BDeu(), **wrong)
