"""The loss by each value of a cell against all completions times all DAGs."""

import numpy as np
import pytest
from click.testing import CliRunner

from exactlearn.__main__ import main
from exactlearn.augmentation import FamilyRules, augment
from exactlearn.augmentation import exact as exact_methods
from exactlearn.augmentation import profile as profiling
from exactlearn.augmentation.profile import Known, profile
from exactlearn.errors import OptionError
from exactlearn.formats.table import write_dataset
from exactlearn.scoring.scores import BDeu
from tests.augmentation_oracle import best_per_completion, random_table
from tests.command_line import read_record, run_json
from tests.interrupts import press_ctrl_c

SCORE = BDeu(1.0)


def best_with(every, cell, state):
    return max(score for values, score in every.items() if values[cell] == state)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("method", ["branching", "t-local"])
def test_losses_are_those_of_all_completions(seed, method):
    rng = np.random.default_rng(seed)
    data = random_table(rng, 3, int(rng.integers(4, 12)), int(rng.integers(1, 5)), 3)
    every = best_per_completion(data, SCORE, FamilyRules.of(2))
    best = augment(data, SCORE, method=method, max_parents=2)
    found = profile(data, SCORE, best, max_parents=2)
    for cell, (_, variable) in enumerate(data.missing_cells):
        for state in range(found.scores.shape[1]):
            if state >= data.cardinalities[variable]:
                assert np.isnan(found.loss[cell, state])
                continue
            loss = best.score - best_with(every, cell, state)
            assert found.least_loss[cell, state] - 1e-6 <= max(0.0, loss)
            assert loss <= found.loss[cell, state] + 1e-6
            if method == "branching":
                assert found.loss[cell, state] == pytest.approx(loss, abs=1e-6)
                assert found.least_loss[cell, state] == pytest.approx(loss, abs=1e-6)
        assert found.loss[cell, best.values[cell]] == 0.0
    assert found.status == best.status


@pytest.mark.parametrize("seed", range(6))
def test_missing_cells_are_fixed_only_where_no_better_solution_is_lost(seed):
    """Searches begin with scores that are too low, and bounds that are too high, by anything."""
    rng = np.random.default_rng(seed)
    data = random_table(rng, 3, 12, 4, 3)
    every = best_per_completion(data, SCORE, FamilyRules.of(2))
    known = Known.without_search(data, augment(data, SCORE, max_parents=2))
    truth = known.scores.copy()
    for cell, state in np.argwhere(known.is_open):
        truth[cell, state] = best_with(every, cell, state)
    known.scores = np.where(known.is_open, truth - rng.gamma(0.5, size=truth.shape), truth)
    known.bounds = np.where(known.is_open, truth + rng.gamma(0.5, size=truth.shape), truth)
    while known.is_open.any():
        known.search(SCORE, {"max_parents": 2, "starts": 1})
    np.testing.assert_allclose(known.scores, truth, atol=1e-6)
    np.testing.assert_allclose(known.bounds, truth, atol=1e-6)


def test_a_limit_leaves_bounds():
    rng = np.random.default_rng(1)
    data = random_table(rng, 7, 60, 40, 3)
    best = augment(data, SCORE, method="branching", time_limit=0.5)
    found = profile(data, SCORE, best, time_limit=0.5)
    assert found.status == "feasible"
    states = data.cardinalities[data.missing_cells[:, 1]]
    within = np.arange(found.loss.shape[1]) < states[:, None]
    assert (found.least_loss[within] <= np.maximum(0.0, found.loss[within]) + 1e-9).all()


def test_the_mode_has_no_profile():
    data = random_table(np.random.default_rng(0), 3, 8, 2, 2)
    with pytest.raises(OptionError, match="needs a solution that a search has found"):
        profile(data, SCORE, augment(data, SCORE, method="mode"))


@pytest.mark.parametrize("start", [[0], [0, 0, 0], [9, 0], [-1, 0]])
def test_a_start_must_match_the_missing_cells(start):
    data = random_table(np.random.default_rng(0), 3, 8, 2, 2)
    assert len(data.missing_cells) == 2
    with pytest.raises(OptionError, match="start does not match the missing cells"):
        augment(data, SCORE, start=start)


@pytest.mark.parametrize("method", ["exact", "branching", "gadget", "t-local"])
def test_a_start_is_where_climbs_begin(method):
    data = random_table(np.random.default_rng(3), 3, 10, 3, 2)
    best = augment(data, SCORE, method="branching")
    again = augment(data, SCORE, method=method, starts=1, start=best.values)
    assert again.score == pytest.approx(best.score)


def interrupted(*arguments, **options):
    press_ctrl_c()
    return augment(*arguments, **options)


def interrupted_climb(*_):
    press_ctrl_c()


@pytest.fixture
def small(tmp_path):
    data = random_table(np.random.default_rng(3), 3, 10, 3, 2)
    write_dataset(data, tmp_path / "small.csv")
    return tmp_path / "small.csv"


def test_an_interrupted_profile_keeps_the_best_solution(small, tmp_path, monkeypatch):
    monkeypatch.setattr(profiling, "augment", interrupted)
    kept = tmp_path / "kept.json"
    words = "augment", small, "--profile", "--best", 2, "-o", kept
    record = run_json(*words, status=130)
    assert record["status"] == "optimal"
    assert record["profile_status"] == "interrupted"
    assert "best" not in record
    assert read_record(kept) == record


def test_an_interrupt_before_any_solution_leaves_the_sparsest(monkeypatch):
    monkeypatch.setattr(exact_methods, "best_climb", interrupted_climb)
    data = random_table(np.random.default_rng(3), 3, 10, 3, 2)
    found = augment(data, SCORE)
    assert (found.status, found.parents) == ("interrupted", ((),) * 3)


def test_it_is_reported_that_there_is_little_to_complete(small):
    words = ["augment", str(small), "--method", "t-local", "--t", "4", "--starts", "1"]
    done = CliRunner().invoke(main, words)
    assert "only 3 cells are missing" in done.stderr
    done = CliRunner().invoke(main, ["augment", "cancer-mcar-complete", "--profile", "--best", "1"])
    assert done.exit_code == 0, done.output
    assert "No cell is missing" in done.stderr
