"""`reproduce structural-em`: structures from incomplete rows, beside the published distances."""

import pytest

from exactlearn.reproduce import structural_em
from exactlearn.reproduce.runner import Setup
from exactlearn.reproduce.sources import HALVES as HALF_OF
from exactlearn.reproduce.structural_em import (
    EXPERIMENTS,
    HALVES,
    METHODS,
    Experiment,
    StructuralRow,
    summaries,
)
from exactlearn.scoring.scores import BDeu
from tests.command_line import fails, run, run_json


def test_the_grid_has_the_published_cells():
    assert len(EXPERIMENTS["grid"]) == 6
    assert {e.rows for e in EXPERIMENTS["grid"] if e.published} == {5_090, 50_900}


def test_structures_are_compared_and_kept(data_dir, tmp_path, monkeypatch):
    cell = Experiment(
        table="grid", network="ASIA", spec="mcar:0.2", rows=200, published={"structural-em": 0.5}
    )
    monkeypatch.setattr(structural_em, "EXPERIMENTS", {"grid": (cell,), "comparison": ()})
    monkeypatch.setattr("exactlearn.commands.reproduce_structure.EXPERIMENTS",
                        {"grid": (cell,), "comparison": ()})  # fmt: skip
    monkeypatch.setattr(structural_em, "TEST_ROWS", 200)
    chosen = [method for method in METHODS if method not in ("t-local", "--counts f-mcar")]
    words = ("reproduce", "structural-em", "--data-dir", data_dir, "-o", tmp_path,
             "--methods", ",".join(chosen))  # fmt: skip
    rows = run_json(*words)["rows"]
    assert [row["method"] for row in rows] == chosen
    assert all(row["repetitions"] == 2 and 0 <= row["shd_per_arc"] <= 4 for row in rows)
    assert {row["method"]: row["published"] for row in rows[:3]} == {
        "--counts expected": None,
        "--counts expected --ess auto": None,
        "structural-em": 0.5,
    }
    assert "grid, ASIA, 200 rows, mcar:0.2" in run(*words)


def test_each_half_has_sets_of_its_own():
    for half, names in HALVES.items():
        assert {HALF_OF[name] for name in names} == {half}
        assert {e.network for e in EXPERIMENTS[half]} == set(names)


@pytest.mark.parametrize(("name", "learnt", "unseen"), [("votes", 185, 47), ("abalone", 500, 1000)])
def test_rows_of_a_set_are_divided(name, learnt, unseen, data_dir, tmp_path):
    experiment = Experiment(
        table="development", network=name, spec="mcar:0.15", rows=500, score=BDeu(10)
    )
    rows = experiment.draw(Setup(record=None, data=data_dir), 0)
    assert (rows.complete.n_rows, rows.test.n_rows) == (learnt, unseen)
    assert rows.complete.is_complete
    assert rows.test.is_complete
    assert not rows.dataset.is_complete
    assert rows.complete.states == rows.test.states
    assert rows.network is None
    assert experiment.group == "development, 500 rows, mcar:0.15, ess 10"


def row(experiment, method, gain):
    return StructuralRow(
        experiment=experiment.name, method=method, repetitions=1, cpdag_shd=1.0, shd_per_arc=1.0,
        shd_error=None, published=None, log_likelihood=gain, seconds=2.0,
    )  # fmt: skip


def test_methods_are_behind_the_best_that_sees_the_incomplete_rows():
    one, ten, other = (
        Experiment(table="test", network=name, spec="mcar:0.15", rows=500, score=BDeu(ess))
        for name, ess in (("car", 1.0), ("car", 10.0), ("crx", 1.0))
    )
    rows = [
        row(one, "--counts expected", -3.0), row(one, "mode", -4.0), row(one, "complete", -1.0),
        row(ten, "mode", -2.9), row(other, "--counts expected", -5.0), row(other, "mode", -5.04),
    ]  # fmt: skip
    found = summaries(rows, {e.name: e for e in (one, ten, other)})
    expected, mode, complete, denser = found
    assert [s.method for s in found] == ["--counts expected", "mode", "complete", "mode"]
    assert {s.group for s in found[:3]} == {"test, 500 rows, mcar:0.15, ess 1"}
    assert (expected.experiments, expected.close, expected.behind_mode) == (2, 1, 1)
    assert (expected.shortfall, expected.largest) == pytest.approx((0.05, 0.1))
    assert (mode.close, mode.behind_mode, mode.seconds) == (1, 1, 2.0)
    assert (complete.largest, complete.behind_mode) == (pytest.approx(-1.9), 0)
    assert (denser.group, denser.largest) == ("test, 500 rows, mcar:0.15, ess 10", 0.0)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--only", "MUNIN"), "no experiment of grid, comparison has 'MUNIN'"),
        (("--methods", "t-locl"), "did you mean 't-local'"),
        (("--starts", "2"), "no such option"),
    ],
)
def test_what_is_not_there_is_refused(words, told):
    assert told in fails("reproduce", "structural-em", *words)
