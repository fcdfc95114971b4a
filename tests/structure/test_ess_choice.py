"""The equivalent sample size by cross-validation, against all DAGs on all folds."""

from dataclasses import replace

import numpy as np
import pytest

import exactlearn as el
from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.smoothing_choice import divided
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError, TooLargeError
from exactlearn.scoring.deletion_counts import DeletionCounts
from exactlearn.scoring.scores import BDeu, score_family
from exactlearn.structure import held_out_choice
from exactlearn.structure.ess_choice import ESSChoice, choose_ess
from tests.augmentation_oracle import all_dags, random_table
from tests.interrupts import press_ctrl_c
from tests.network_oracle import joint
from tests.scoring_oracle import dependent_data, make

VALUES = (0.5, 1.0, 4.0, 32.0)
FEW = {"values": VALUES, "folds": 3}


def complete_table(seed: int) -> Dataset:
    return dependent_data(seed, n=3, weighted=[None, "whole", "real"][seed % 3])


def best_dags(table: Dataset, ess: float, max_parents: int) -> list:
    """Return all DAGs of the highest score; equivalent ones may be many."""
    dags = [
        dag for dag in all_dags(table.n_variables) if max(map(len, dag)) <= max_parents
    ]
    scores = [
        sum(score_family(table, *f, BDeu(ess)) for f in enumerate(dag)) for dag in dags
    ]
    return [
        d for d, score in zip(dags, scores, strict=True) if score >= max(scores) - 1e-9
    ]


def log_likelihood(network, codes, weights) -> float:
    """Return the log-likelihood of observed cells by the whole joint distribution."""
    full = joint(network)
    cells = [tuple(slice(None) if code < 0 else code for code in row) for row in codes]
    return sum(w * np.log(full[c].sum()) for c, w in zip(cells, weights, strict=True))


def held_out_range(
    table: Dataset,
    completed: Dataset,
    ess: float,
    max_parents: int,
    folds: int,
    seed: int,
):
    """Return the least and the largest log-likelihood per row of all rows, each held out once."""
    division = divided(table.row_weights, folds, seed)
    low = high = 0.0
    for fold in range(division.n):
        out = division.fold == fold
        rows, weights = division.rows, division.weights
        rest = replace(
            completed, codes=completed.codes[rows[~out]], weights=weights[~out]
        )
        found = [
            log_likelihood(
                fit_complete(rest, dag), table.codes[rows[out]], weights[out]
            )
            for dag in best_dags(rest, ess, max_parents)
        ]
        low, high = low + min(found), high + max(found)
    total = table.row_weights.sum()
    return low / total, high / total


@pytest.mark.parametrize("max_parents", [1, 2])
@pytest.mark.parametrize("seed", range(9))
def test_log_likelihoods_are_those_of_the_best_dag_of_each_fold(seed, max_parents):
    table = complete_table(seed)
    if np.count_nonzero(table.row_weights) < 2:
        return
    choice = choose_ess(table, max_parents=max_parents, seed=seed, **FEW)
    assert tuple(choice.log_likelihood) == VALUES
    for value, found in choice.log_likelihood.items():
        low, high = held_out_range(table, table, value, max_parents, choice.folds, seed)
        assert low - 1e-8 <= found <= high + 1e-8
    assert choice.max_parents == max_parents


@pytest.mark.parametrize("seed", range(12))
def test_the_smallest_ess_within_one_standard_error_is_selected(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 4, 30) if seed % 2 else np.ones(30)
    table = make(rng.integers(0, 2, (30, 3)), [2] * 3, weights)
    judged = {value: [] for value in VALUES}

    def drawn(rest, held_out, values, *more):
        for value in VALUES:
            logs = rng.normal(0.02 * np.log(value), 0.2, held_out.n_rows)
            judged[value] += np.repeat(logs, held_out.row_weights.astype(int)).tolist()
            yield value, logs

    monkeypatch.setattr(held_out_choice, "_log_likelihoods", drawn)
    choice = choose_ess(table, seed=seed, **FEW)
    means = {value: sum(rows) / len(rows) for value, rows in judged.items()}
    best = max(means, key=means.get)
    as_good = []
    for value, rows in judged.items():
        lost = [own - other for own, other in zip(judged[best], rows, strict=True)]
        mean = sum(lost) / len(lost)
        error = (sum((x - mean) ** 2 for x in lost) / len(lost) / len(lost)) ** 0.5
        if mean <= error:
            as_good.append(value)
    assert (choice.ess, choice.best) == (min(as_good), best)
    assert choice.log_likelihood == pytest.approx(means, abs=1e-8)


def test_of_equal_values_the_smallest_is_chosen():
    choice = choose_ess(complete_table(0), max_parents=0, **FEW)
    assert len(set(choice.log_likelihood.values())) == 1
    assert choice.ess == 0.5
    tied = choose_ess(complete_table(0), max_parents=0, values=(8.0, 0.25))
    assert tied.ess == 0.25


def test_independent_rows_get_a_smaller_ess_than_weak_arcs():
    rng = np.random.default_rng(5)
    independent = rng.integers(0, 3, (60, 5))
    many = rng.integers(0, 2, (400, 3))
    noisy = (many.sum(axis=1) + (rng.random(400) < 0.3)) % 2
    small = choose_ess(make(independent, [3] * 5))
    large = choose_ess(make(np.column_stack([many, noisy]), [2] * 4), max_parents=3)
    assert small.ess <= 1 < large.ess


@pytest.mark.parametrize("method", ["expected", "f-mcar"])
@pytest.mark.parametrize("seed", range(3))
def test_incomplete_folds_have_the_best_networks_of_the_counts(seed, method):
    """The counts are estimated on the training rows."""
    table = random_table(np.random.default_rng(seed), 3, 30, 12)
    choice = choose_ess(table, seed=seed, counts=method, **FEW)
    division = divided(table.row_weights, 3, seed)
    low, high = (dict.fromkeys(VALUES, 0.0) for _ in range(2))
    for fold in range(division.n):
        rest = division.part(table, division.fold != fold)
        out = division.part(table, division.fold == fold)
        if method == "expected":
            counts = el.learned_counts(rest, seed=seed).counts
            fitted = {dag: el.fit_em(rest, dag).model for dag in all_dags(3)}
        else:
            counts, how = DeletionCounts(method), {"method": method, "smoothing": 0.25}
            fitted = {
                dag: el.fit_deletion(rest, dag, **how).model for dag in all_dags(3)
            }
        for value in VALUES:
            problem = el.candidate_parent_sets(
                rest, BDeu(value), prune=False, counts=counts
            )
            families = [dict(problem.candidates(v)) for v in range(3)]
            scores = {dag: sum(map(dict.get, families, dag)) for dag in fitted}
            best = [dag for dag in fitted if scores[dag] >= max(scores.values()) - 1e-9]
            found = [
                log_likelihood(fitted[d], out.codes, out.row_weights) for d in best
            ]
            low[value], high[value] = low[value] + min(found), high[value] + max(found)
    for value, found in choice.log_likelihood.items():
        assert low[value] / 30 - 1e-6 <= found <= high[value] / 30 + 1e-6


def test_networks_too_large_to_judge_are_left_out(monkeypatch):
    table = random_table(np.random.default_rng(0), 3, 30, 12)
    judged, looks = el.BayesianNetwork.log_likelihood_rows, []

    def refuse(network, rows):
        looks.append(network)
        if len(looks) % len(VALUES) == 1 or all_of_them:
            raise TooLargeError("cliques of 1e9 configurations")
        return judged(network, rows)

    monkeypatch.setattr(el.BayesianNetwork, "log_likelihood_rows", refuse)
    all_of_them = False
    choice = choose_ess(table, **FEW)
    assert [v for v, found in choice.log_likelihood.items() if found == -np.inf] == [
        1.0
    ]
    assert choice.ess != 1.0
    assert choice.to_dict()["held_out_log_likelihood_per_row"]["1"] is None
    all_of_them = True
    with pytest.raises(TooLargeError, match="as a number"):
        choose_ess(table, **FEW)


def test_the_choice_does_not_depend_on_the_clock():
    table = random_table(np.random.default_rng(2), 4, 40, 15)
    choice = choose_ess(table, seed=3, **FEW)
    assert choice == choose_ess(table, seed=3, **FEW)
    assert choice.folds == 3
    assert all(np.isfinite(list(choice.log_likelihood.values())))


def test_a_limit_leaves_the_folds_done_or_the_default(monkeypatch):
    choice = choose_ess(complete_table(0), time_limit=0.0)
    assert choice == ESSChoice(1.0, {}, 0, 2)
    assert "the default, as the time was too short" in choice.reason
    searched = []
    search = held_out_choice.heuristic_network

    def interrupted(*args, **how):
        searched.append(args)
        if len(searched) == len(VALUES) + 2:
            press_ctrl_c()
        return search(*args, **how)

    monkeypatch.setattr(held_out_choice, "heuristic_network", interrupted)
    stopped = choose_ess(complete_table(0), **FEW)
    assert stopped.folds == 1
    assert set(stopped.log_likelihood) == set(VALUES)


@pytest.mark.parametrize("done", range(len(VALUES) + 1))
def test_of_the_first_fold_the_values_tried_in_time_are_compared(done, monkeypatch):
    tried, search = [], held_out_choice.heuristic_network

    def limited(problem, *args, control, **how):
        tried.append(problem)
        if len(tried) > done:
            control.expire()
        return search(problem, *args, control=control, **how)

    monkeypatch.setattr(held_out_choice, "heuristic_network", limited)
    found = choose_ess(complete_table(0), **FEW)
    in_time = sorted(VALUES, key=lambda value: (value < 1, value))[:done]
    if done < 2:
        assert found == ESSChoice(1.0, {}, 0, 2)
        return
    assert (found.folds, {*found.log_likelihood}) == (1, {*in_time})
    if done == len(VALUES):
        fold = divided(complete_table(0).row_weights, 3, 0)
        rest, out = (
            fold.part(complete_table(0), own) for own in (fold.fold > 0, fold.fold == 0)
        )
        for value, own in found.log_likelihood.items():
            each = [
                fit_complete(rest, dag).log_likelihood(out) / out.row_weights.sum()
                for dag in best_dags(rest, value, 2)
            ]
            assert min(each) - 1e-8 <= own <= max(each) + 1e-8


def test_equal_values_are_one_value():
    table = complete_table(0)
    single = choose_ess(table, values=(4.0, 4.0), folds=3)
    assert (single.ess, single.folds, [*single.log_likelihood]) == (4.0, 3, [4.0])
    repeated = choose_ess(table, values=(*VALUES, *VALUES), folds=3)
    assert repeated == choose_ess(table, **FEW)
    # Without the time to judge the only value, the reason speaks of no comparison of two.
    late = choose_ess(table, values=(4.0,), time_limit=0.0)
    assert late.folds == 0
    assert "too short to judge the values" in late.reason


def test_many_families_and_rows_are_cut(monkeypatch):
    rng = np.random.default_rng(0)
    table = make(rng.integers(0, 2, (300, 8)), [2] * 8)
    assert choose_ess(table, max_parents=None, **FEW).max_parents == 3
    for most in (8 * (1 + 7), 0):
        monkeypatch.setattr(held_out_choice, "MAX_FAMILIES", most)
        assert choose_ess(table, **FEW).max_parents == 1
    monkeypatch.undo()
    monkeypatch.setattr(held_out_choice, "MAX_TOTAL_FAMILIES", 5 * 4 * 8 * (1 + 7))
    monkeypatch.setattr(held_out_choice, "MIN_FOLDS", 2)
    assert choose_ess(table, max_parents=1, values=VALUES, folds=9).folds == 5
    assert choose_ess(table, max_parents=2, values=VALUES, folds=9).folds == 2
    monkeypatch.undo()
    monkeypatch.setattr(held_out_choice, "MAX_ROWS", 50)
    chosen = np.sort(np.random.default_rng(0).choice(300, 50, replace=False))
    some = replace(table, codes=table.codes[chosen])
    assert choose_ess(table, **FEW) == choose_ess(some, **FEW)


def test_the_reason_is_one_sentence_that_names_all_values():
    choice = choose_ess(complete_table(4), **FEW)
    assert (
        "smallest of 0.5, 1, 4, 32 "
        in ESSChoice(1.0, dict.fromkeys(VALUES, -2.0) | {4.0: -1.9}, 3, 2).reason
    )
    assert choice.reason.startswith(f"equivalent sample size {choice.ess:g}: ")
    assert choice.reason in repr(choice)


def test_nothing_to_choose_from_is_refused():
    with pytest.raises(OptionError, match="values"):
        choose_ess(complete_table(0), values=())
    with pytest.raises(DataError, match=r"two rows.*learn\(table, ess=1\)"):
        choose_ess(make(np.zeros((1, 2), int), [2, 2]))
    with pytest.raises(OptionError, match="folds"):
        choose_ess(complete_table(0), folds=1)
    with pytest.raises(OptionError, match="a finite number above 0"):
        choose_ess(complete_table(0), values=(0.0,))
