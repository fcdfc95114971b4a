"""The equivalent sample size by cross-validation, against all DAGs on all folds."""

from dataclasses import replace

import numpy as np
import pytest

from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.smoothing_choice import divided
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError, TooLargeError
from exactlearn.scoring.scores import BDeu, score_family
from exactlearn.structure import ess_choice
from exactlearn.structure.ess_choice import ESSChoice, ESSParameters, choose_ess
from tests.augmentation_oracle import all_dags, random_table
from tests.interrupts import press_ctrl_c
from tests.network_oracle import joint
from tests.scoring_oracle import dependent_data, make

FEW = ESSParameters(values=(0.5, 1.0, 4.0, 32.0), folds=3)


def complete_table(seed: int) -> Dataset:
    return dependent_data(seed, n=3, weighted=[None, "whole", "real"][seed % 3])


def best_dags(table: Dataset, ess: float, max_parents: int) -> list:
    """Return all DAGs of the highest score; equivalent ones may be many."""
    dags = [dag for dag in all_dags(table.n_variables) if max(map(len, dag)) <= max_parents]
    scores = [sum(score_family(table, *f, BDeu(ess)) for f in enumerate(dag)) for dag in dags]
    return [d for d, score in zip(dags, scores, strict=True) if score >= max(scores) - 1e-9]


def log_likelihood(network, codes, weights) -> float:
    """Return the log-likelihood of observed cells by the whole joint distribution."""
    full = joint(network)
    cells = [tuple(slice(None) if code < 0 else code for code in row) for row in codes]
    return sum(w * np.log(full[c].sum()) for c, w in zip(cells, weights, strict=True))


def held_out_range(
    table: Dataset, completed: Dataset, ess: float, max_parents: int, folds: int, seed: int
):
    """Return the least and the largest log-likelihood per row of all rows, each held out once."""
    division = divided(table.row_weights, folds, seed)
    low = high = 0.0
    for fold in range(division.n):
        out = division.fold == fold
        rows, weights = division.rows, division.weights
        rest = replace(completed, codes=completed.codes[rows[~out]], weights=weights[~out])
        found = [
            log_likelihood(fit_complete(rest, dag), table.codes[rows[out]], weights[out])
            for dag in best_dags(rest, ess, max_parents)
        ]
        low, high = low + min(found), high + max(found)
    total = table.row_weights.sum()
    return low / total, high / total


@pytest.mark.parametrize("max_parents", [1, 2])
@pytest.mark.parametrize("seed", range(9))
def test_log_likelihoods_are_those_of_the_best_of_all_dags_on_each_fold(seed, max_parents):
    table = complete_table(seed)
    if np.count_nonzero(table.row_weights) < 2:
        return
    choice = choose_ess(table, max_parents=max_parents, seed=seed, parameters=FEW)
    assert tuple(choice.log_likelihood) == FEW.values
    for value, found in choice.log_likelihood.items():
        low, high = held_out_range(table, table, value, max_parents, choice.folds, seed)
        assert low - 1e-8 <= found <= high + 1e-8
    best = max(choice.log_likelihood.values())
    assert choice.log_likelihood[choice.ess] == best
    assert choice.max_parents == max_parents


def test_of_equal_values_the_one_nearest_to_one_is_chosen():
    choice = choose_ess(complete_table(0), max_parents=0, parameters=FEW)
    assert len(set(choice.log_likelihood.values())) == 1
    assert choice.ess == 1.0
    tied = choose_ess(complete_table(0), max_parents=0, parameters=ESSParameters((8.0, 0.25)))
    assert tied.ess == 0.25


def test_rows_that_follow_no_arcs_get_a_smaller_ess_than_rows_that_follow_weak_ones():
    rng = np.random.default_rng(5)
    independent = rng.integers(0, 3, (60, 5))
    many = rng.integers(0, 2, (400, 3))
    noisy = (many.sum(axis=1) + (rng.random(400) < 0.3)) % 2
    small = choose_ess(make(independent, [3] * 5))
    large = choose_ess(make(np.column_stack([many, noisy]), [2] * 4), max_parents=3)
    assert small.ess <= 1 < large.ess


@pytest.mark.parametrize("seed", range(4))
def test_observed_cells_judge_networks_of_completed_rows(seed, monkeypatch):
    table = random_table(np.random.default_rng(seed), 3, 30, 12)
    states = np.random.default_rng(seed).integers(0, 2, len(table.missing_cells))
    completed = table.complete(states)
    monkeypatch.setattr(ess_choice._Search, "completed", lambda self, dataset: completed)
    choice = choose_ess(table, seed=seed, parameters=FEW)
    for value, found in choice.log_likelihood.items():
        low, high = held_out_range(table, completed, value, 3, choice.folds, seed)
        assert low - 1e-8 <= found <= high + 1e-8


def test_networks_too_large_to_judge_are_left_out(monkeypatch):
    table = random_table(np.random.default_rng(0), 3, 30, 12)
    judged, looks = ess_choice.observed_log_likelihood_rows, []

    def refuse(network, rows):
        looks.append(network)
        if len(looks) % len(FEW.values) == 1 or all_of_them:
            raise TooLargeError("cliques of 1e9 configurations")
        return judged(network, rows)

    monkeypatch.setattr(ess_choice, "observed_log_likelihood_rows", refuse)
    all_of_them = False
    choice = choose_ess(table, parameters=FEW)
    assert [v for v, found in choice.log_likelihood.items() if found == -np.inf] == [1.0]
    assert choice.ess != 1.0
    assert choice.to_dict()["held_out_log_likelihood_per_row"]["1"] is None
    assert "1: -inf" in choice.reason
    all_of_them = True
    with pytest.raises(TooLargeError, match="as a number"):
        choose_ess(table, parameters=FEW)


def test_missing_cells_are_completed_by_one_draw_and_do_not_depend_on_the_clock():
    table = random_table(np.random.default_rng(2), 4, 40, 15)
    choice = choose_ess(table, seed=3, parameters=FEW)
    assert choice == choose_ess(table, seed=3, parameters=FEW)
    assert choice.folds == 3
    assert all(np.isfinite(list(choice.log_likelihood.values())))
    codes = table.codes.copy()
    codes[:, 1] = -1
    with pytest.raises(DataError, match="no row observes"):
        choose_ess(replace(table, codes=codes))


def test_missing_cells_of_a_copied_column_are_completed_as_the_copy():
    copied = np.repeat(np.random.default_rng(1).integers(0, 2, (200, 1)), 4, axis=1)
    full = make(copied, [2] * 4)
    copied = copied.copy()
    copied[::7, 1] = -1
    hidden = make(copied, [2] * 4)
    own, other = (choose_ess(t, parameters=FEW).log_likelihood for t in (full, hidden))
    assert all(abs(own[v] - other[v]) < 0.1 for v in FEW.values)


def test_a_limit_leaves_the_folds_done_or_the_default(monkeypatch):
    choice = choose_ess(complete_table(0), time_limit=0.0)
    assert choice == ESSChoice(1.0, {}, 0, 2)
    assert "the default, as the time was too short" in choice.reason
    searched = []
    search = ess_choice.heuristic_network

    def interrupted(*args, **how):
        searched.append(args)
        if len(searched) == len(FEW.values) + 2:
            press_ctrl_c()
        return search(*args, **how)

    monkeypatch.setattr(ess_choice, "heuristic_network", interrupted)
    stopped = choose_ess(complete_table(0), parameters=FEW)
    assert stopped.folds == 1
    assert stopped.log_likelihood[stopped.ess] == max(stopped.log_likelihood.values())


@pytest.mark.parametrize("done", range(len(FEW.values) + 1))
def test_of_the_first_fold_the_values_tried_in_time_are_compared(done, monkeypatch):
    whole = choose_ess(complete_table(0), parameters=replace(FEW, values=(1.0, 4.0, 32.0, 0.5)))
    tried, search = [], ess_choice.heuristic_network

    def limited(problem, *args, control, **how):
        tried.append(problem)
        if len(tried) > done:
            control.expire()
        return search(problem, *args, control=control, **how)

    monkeypatch.setattr(ess_choice, "heuristic_network", limited)
    found = choose_ess(complete_table(0), parameters=FEW)
    in_time = [*whole.log_likelihood][:done]
    if done < 2:
        assert found == ESSChoice(1.0, {}, 0, 2)
        return
    assert (found.folds, {*found.log_likelihood}) == (1, {*in_time})
    assert found.log_likelihood[found.ess] == max(found.log_likelihood.values())
    if done == len(FEW.values):
        fold = divided(complete_table(0).row_weights, FEW.folds, 0)
        rest, out = (fold.part(complete_table(0), own) for own in (fold.fold > 0, fold.fold == 0))
        for value, own in found.log_likelihood.items():
            each = [
                fit_complete(rest, dag).log_likelihood(out) / out.row_weights.sum()
                for dag in best_dags(rest, value, 2)
            ]
            assert min(each) - 1e-8 <= own <= max(each) + 1e-8


def test_a_large_value_is_explained_with_what_a_small_one_does():
    large = ESSChoice(64.0, {1.0: -2.5, 64.0: -2.0}, 10, 3)
    assert large.reason.endswith("gives many arcs: ess=1 gives fewer")
    assert "(1 fold, at most" in replace(large, folds=1).reason
    assert "gives many arcs" not in ESSChoice(4.0, {1.0: -2.5, 4.0: -2.0}, 10, 3).reason


def test_many_families_and_rows_are_cut():
    rng = np.random.default_rng(0)
    table = make(rng.integers(0, 2, (300, 8)), [2] * 8)
    few = choose_ess(table, parameters=replace(FEW, most_families=8 * (1 + 7)))
    assert few.max_parents == 1
    assert choose_ess(table, max_parents=None, parameters=FEW).max_parents == 3
    assert choose_ess(table, parameters=replace(FEW, most_families=0)).max_parents == 1
    work = replace(FEW, folds=9, work=5 * 8 * (1 + 7), least_folds=2)
    assert choose_ess(table, max_parents=1, parameters=work).folds == 5
    assert choose_ess(table, max_parents=2, parameters=work).folds == 2
    some = choose_ess(table, parameters=replace(FEW, most_rows=50))
    chosen = np.sort(np.random.default_rng(0).choice(300, 50, replace=False))
    assert some == choose_ess(replace(table, codes=table.codes[chosen]), parameters=FEW)


def test_the_reason_names_all_values():
    choice = choose_ess(complete_table(4), parameters=FEW)
    assert choice.reason.startswith(f"ess {choice.ess:g}: log-likelihood")
    for value in FEW.values:
        assert f"{value:g}" in choice.reason


def test_nothing_to_choose_from_is_refused():
    with pytest.raises(OptionError, match="values"):
        ESSParameters(values=())
    with pytest.raises(DataError, match="two rows"):
        choose_ess(make(np.zeros((1, 2), int), [2, 2]))
    with pytest.raises(OptionError, match="folds"):
        choose_ess(complete_table(0), parameters=replace(FEW, folds=1))
    with pytest.raises(OptionError, match="must be positive"):
        choose_ess(complete_table(0), parameters=ESSParameters(values=(0.0,)))
