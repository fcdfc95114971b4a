"""`reproduce structural-em`: structures from incomplete rows, beside the published distances."""

import pytest

from exactlearn.reproduce import structural_em
from exactlearn.reproduce.structural_em import EXPERIMENTS, METHODS, Experiment
from tests.command_line import fails, run, run_json


def test_the_grid_has_the_published_cells():
    assert len(EXPERIMENTS["grid"]) == 6
    assert {e.rows for e in EXPERIMENTS["grid"] if e.published} == {5_090, 50_900}


def test_structures_are_compared_and_kept(data_dir, tmp_path, monkeypatch):
    cell = Experiment(
        table="grid", network="ASIA", spec="mcar:0.2", rows=200, published={"structural-em": 0.5}
    )
    monkeypatch.setattr(structural_em, "EXPERIMENTS", {"grid": (cell,), "comparison": ()})
    monkeypatch.setattr("exactlearn.commands.reproduce_structure.EXPERIMENTS", {"grid": (cell,)})
    monkeypatch.setattr(structural_em, "TEST_ROWS", 200)
    chosen = [method for method in METHODS if method not in ("t-local", "--counts f-mcar")]
    words = ("reproduce", "structural-em", "--data-dir", data_dir, "-o", tmp_path,
             "--methods", ",".join(chosen))  # fmt: skip
    rows = run_json(*words)["rows"]
    assert [row["method"] for row in rows] == chosen
    assert all(row["repetitions"] == 2 and 0 <= row["shd_per_arc"] <= 4 for row in rows)
    assert rows[0]["published"] == 0.5
    assert "grid, ASIA, 200 rows, mcar:0.2" in run(*words)


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
