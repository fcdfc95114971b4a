"""The experiments of the deletion paper: what is drawn, kept, drawn as curves, and told."""

import json
from dataclasses import replace

import numpy as np
import pytest

from exactlearn.errors import MissingExtraError, TooLargeError
from exactlearn.queries.information import kl_divergence
from exactlearn.reporting.curves import CurvesFigure
from exactlearn.reproduce import deletion, deletion_structure
from exactlearn.reproduce.deletion import (
    FIGURES,
    FIRST,
    GRID,
    INFORMED,
    LARGE,
    MCAR,
    METHODS,
    SECOND,
    TABLES,
    Row,
    Study,
    draw,
)
from exactlearn.reproduce.deletion_structure import StructureStudy
from exactlearn.reproduce.generators import fire_alarm, ratio_grid
from exactlearn.reproduce.rows import published
from exactlearn.reproduce.runner import Record, Setup
from tests.command_line import fails, run, run_json


def setup_of(tmp_path=None, told=None, **options):
    path = None if tmp_path is None else tmp_path / "repetitions.json"
    record = Record.open(path, (lambda text: None) if told is None else told.append)
    return Setup(record=record, repetitions=options.pop("repetitions", 1), **options)


def test_published_figures_are_those_of_the_tables():
    """Copied by hand: one of each table, and the number of all."""
    figures = {
        ("2", "ALARM", 10**5, "ID-MAR", "kl"): 0.011,
        ("2", "ALARM", 10**2, "F-MCAR", "log_likelihood"): -11.67,
        ("3", "ALARM", 10**4, "EM-1", "kl"): 0.046,
        ("3", "ALARM", 10**6, "F-MAR", "seconds"): 124,
        ("1", GRID, 10**5, "F-MAR", "log_likelihood"): -20.79,
        ("4", "BARLEY", 10**4, "D-MCAR", "log_likelihood"): -54.93,
        ("5", "MUNIN1", 10**3, "EM-BP", "log_likelihood"): -68.04,
        ("6", "WATER", 10**2, "EM-10", "log_likelihood"): -21.30,
        ("7", GRID, 10**3, "EM-BP", "log_likelihood"): -129.38,
        ("8", "WATER", 10**5, "D-MAR", "log_likelihood"): -14.90,
    }
    for (table, network, rows, method, what), value in figures.items():
        assert TABLES[table].published(network, rows, method, what) == value
    assert TABLES["3"].published("ALARM", 10**5, "EM-1", "kl") is None
    large = [published("deletion")[f"table{name}"] for name in "145678"]
    assert all(set(table) == set(LARGE) for table in large)
    known = {m for table in TABLES.values() for m in table.methods}
    assert {m for table in large for n in table.values() for row in n["log_likelihood"].values()
            for m in row} <= known  # fmt: skip


def test_settings_hide_what_they_say(data_dir):
    setup = setup_of(data=data_dir)
    drawn = draw(setup, MCAR, "ALARM", 2_000, 0)
    missing = (drawn.dataset.codes < 0).mean(axis=0)
    assert (missing > 0).sum() == round(0.3 * 37)
    assert missing[missing > 0] == pytest.approx(0.7, abs=0.05)
    assert drawn.test.is_complete
    for setting, share in ((FIRST, 0.3), (SECOND, 0.9)):
        found = draw(setup, setting, "ALARM", 500, 1)
        assert (found.dataset.codes < 0).any(axis=0).sum() <= round(share * 37)
    told = draw(setup, INFORMED, "ALARM", 500, 2)
    assert len(told.separators) == 3
    columns = [told.network.names.index(name) for name in told.separators]
    assert (told.dataset.codes[:, columns] >= 0).all()


def test_the_fire_alarm_is_that_of_the_book():
    network = fire_alarm()
    network.check()
    tampering, fire, alarm, smoke = network.tables[:4]
    assert alarm[1, 0, 1] == 0.85  # tampering without fire
    assert alarm[0, 1, 1] == 0.99
    assert tampering[1] * (1 - fire[1]) == pytest.approx(0.02 * 0.99)
    assert smoke[1, 1] == 0.9


def test_the_grid_has_its_share_of_functions():
    network = ratio_grid(20, 0.9, seed=1)
    network.check()
    assert [len(f) for f in network.parents[:3]] == [0, 1, 1]
    assert network.parents[21] == (1, 20)
    functions = [np.isin(table, (0, 1)).all() for table in network.tables]
    assert sum(functions) == round(0.9 * 399)
    assert ratio_grid(3, 0.0, seed=2).tables[4] == pytest.approx(ratio_grid(3, 0.0, 2).tables[4])


@pytest.mark.parametrize("method", METHODS)
def test_every_method_estimates(method):
    drawn = draw(setup_of(), INFORMED if method[0] == "I" else FIRST, "fire alarm", 3_000, 3)
    model = METHODS[method](drawn, 0, 10.0)
    assert 0 < kl_divergence(drawn.network, model) < 0.2


def test_what_is_done_is_not_done_again(tmp_path):
    """Also where tables share a setting: runs of EM depend on the limit, others do not."""
    told = []
    small = {"only": "fire alarm, 100 rows", "full": True}
    Study(setup_of(tmp_path, told, **small), ["fire"]).repeat()
    assert len(told) == 7
    Study(setup_of(tmp_path, told, **small), ["fire"]).repeat()
    assert len(told) == 7
    Study(setup_of(tmp_path, told, repetitions=2, **small), ["fire"]).repeat()
    assert len(told) == 14
    study = Study(setup_of(tmp_path, repetitions=2, **small), ["fire"])
    rows = study.rows()
    assert [row.method for row in rows] == list(TABLES["fire"].methods)
    assert all(row.repetitions == 2 and row.kl_error is not None for row in rows)
    runs = [study.setup.record.done["deletion, first setting: fire alarm, 100 rows"][seed]["D-MAR"]
            for seed in "01"]  # fmt: skip
    (row,) = [row for row in rows if row.method == "D-MAR"]
    assert row.kl == pytest.approx(np.mean([run["kl"] for run in runs]))
    assert row.seconds == pytest.approx(np.mean([run["seconds"] for run in runs]))


def test_tables_of_one_setting_share_their_runs(data_dir, tmp_path):
    told = []
    setup = setup_of(
        tmp_path, told, data=data_dir, only="WATER, 100 rows", methods=("D-MCAR", "EM-10")
    )
    study = Study(setup, ["4", "5"])
    study.repeat()
    methods = sorted(text.split(": ")[-1] for text in told)
    assert methods == ["D-MCAR", "EM-10, 30 s", "EM-10, 6 s"]
    rows = {(row.table, row.method): row for row in study.rows()}
    assert rows["4", "D-MCAR"].log_likelihood == rows["5", "D-MCAR"].log_likelihood
    assert rows["4", "D-MCAR"].kl is None
    assert rows["4", "D-MCAR"].published_log_likelihood == -20.51


def test_limits_and_refusals_leave_no_figure(monkeypatch):
    def refuse(*_):
        raise TooLargeError("a clique of 10^9 cells")

    monkeypatch.setitem(deletion.METHODS, "EM-1", refuse)
    strict = replace(TABLES["fire"], limit=0.0)
    monkeypatch.setitem(deletion.TABLES, "fire", strict)
    setup = setup_of(only="100 rows", methods=("EM-1", "D-MCAR"))
    study = Study(setup, ["fire"])
    study.repeat()
    refused, late = study.rows()[:2]
    assert refused.refused == "a clique of 10^9 cells"
    assert late.refused == "beyond the limit of 0 s"
    assert late.kl is late.seconds is None


def row_of(**figures):
    whole = {"table": "3", "network": "ALARM", "rows": 100, "method": "D-MAR", "repetitions": 1}
    return Row(**{**whole, **figures})


def test_differences_are_explained(monkeypatch):
    assert row_of(kl=1.0).difference is None
    near = row_of(kl=1.0, published_kl=2.4, log_likelihood=-5.0, published_log_likelihood=0.0)
    assert near.difference == pytest.approx(-1.4)
    assert not near.is_far
    assert near.explanation == ""
    known = {"explanations": [{"table": ["3"], "method": ["EM-1"], "text": "no"},
                              {"network": ["ALARM"], "text": "why"}]}  # fmt: skip
    monkeypatch.setattr(deletion, "published", lambda paper: known)
    far = row_of(log_likelihood=-5.0, published_log_likelihood=-3.0)
    assert far.is_far
    assert far.explanation == "why"
    assert row_of(kl=4.0, published_kl=1.0, network="WATER").explanation == "not explained"


def test_curves_of_the_figures():
    pytest.importorskip("matplotlib")
    rows = [
        row_of(rows=100, kl=2.0, seconds=0.1, log_likelihood=-3.0),
        row_of(rows=1_000, kl=0.5, seconds=1.0, log_likelihood=-2.0),
        row_of(rows=1_000, method="EM-1", kl=None, refused="too large"),
        row_of(table="2", rows=100, kl=9.0),
    ]
    curves = {figure.name: figure.curves(rows) for figure in FIGURES}
    assert curves["figure-5a"] == {"D-MAR": [(100, 2.0), (1_000, 0.5)]}
    assert curves["figure-5b"] == {"D-MAR": [(0.1, 2.0), (1.0, 0.5)]}
    assert curves["figure-3a"] == {}
    figure = CurvesFigure(curves=curves["figure-5b"], across="seconds", up="kl")
    drawn = figure.drawn(".svg")
    assert b"<svg" in drawn
    assert drawn == figure.drawn(".svg")


def test_structures_are_compared(data_dir, tmp_path, monkeypatch):
    monkeypatch.setattr(deletion_structure, "SIZES", (200,))
    told = []
    study = StructureStudy(setup_of(tmp_path, told, data=data_dir, only="ASIA"))
    study.repeat()
    rows = study.rows()
    assert len(rows) == len(told) == 2 * len(deletion_structure.METHODS)
    for row in rows:
        assert 0 <= row.cpdag_shd <= 28
        assert row.log_likelihood < -1
    again = StructureStudy(setup_of(tmp_path, told, data=data_dir, only="ASIA"))
    again.repeat()
    assert again.rows() == rows
    assert len(told) == len(rows)


def test_the_command_prints_and_keeps(tmp_path, data_dir):
    words = ("reproduce", "deletion", "--tables", "fire", "--repetitions", "1", "--only",
             " 100 rows", "-o", tmp_path)  # fmt: skip
    printed = run(*words)
    assert "Data of a figure: fire" in printed
    assert "F-MAR + EM" in printed
    record = run_json(*words)
    assert [row["method"] for row in record["rows"]] == list(TABLES["fire"].methods)
    assert record["figures"]["figure-3a"]["EM-1"][0][0] == 100
    assert json.loads((tmp_path / "tables.json").read_text())["notes"] == record["notes"]
    assert (tmp_path / "figure-3a.svg").exists()
    assert not (tmp_path / "figure-5a.svg").exists()


def test_without_matplotlib_there_are_tables(tmp_path, monkeypatch):
    def refuse(*_):
        raise MissingExtraError("drawing needs Matplotlib")

    monkeypatch.setattr(CurvesFigure, "drawn", refuse)
    run("reproduce", "deletion", "--tables", "fire", "--only", " 100 rows", "--methods", "D-MCAR",
        "-o", tmp_path)  # fmt: skip
    assert not (tmp_path / "figure-3a.svg").exists()
    assert (tmp_path / "tables.json").exists()


def test_bad_options():
    assert "did you mean 'fire'" in fails("reproduce", "deletion", "--tables", "fier")
    assert "no method 'D-MARR'" in fails("reproduce", "deletion", "--methods", "D-MARR")
    assert "none of the tables 2" in fails(
        "reproduce", "deletion", "--tables", "2", "--methods", "EM-1"
    )
    assert "no experiment of 2 has 'x'" in fails(
        "reproduce", "deletion", "--tables", "2", "--only", "x"
    )
    assert "--starts" in fails("reproduce", "deletion", "--starts", "3")


def test_em_that_is_late_is_not_run_with_more_rows(monkeypatch):
    table = replace(TABLES["fire"], limit=0.0, methods=("EM-1", "D-MCAR"))
    monkeypatch.setitem(deletion.TABLES, "fire", table)
    study = Study(setup_of(), ["fire"])
    study.repeat()
    em = [row for row in study.rows() if row.method == "EM-1"]
    assert [row.rows for row in em] == [100, 1_000, 10_000]
    assert em[0].refused == ""
    assert all(row.refused.startswith("took 0 s for 100 rows") for row in em[1:])
