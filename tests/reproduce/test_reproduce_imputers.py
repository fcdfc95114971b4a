"""The comparison of imputers: the command under test, the sets, what is shown and resumed."""

import csv

import numpy as np
import pytest

from exactlearn.commands import reproduce_imputers
from exactlearn.data.missingness import parse_spec
from exactlearn.formats.table import read_dataset, write_dataset
from exactlearn.imputation.imputed import Imputed
from exactlearn.reproduce.imputers import BASELINES, DEFAULT, HIDDEN, conditions, hidden_cells
from exactlearn.reproduce.sources import HALVES, SLOW
from tests.command_line import fails, read_record, run, run_json
from tests.interrupts import press_ctrl_c

WORDS = ("reproduce", "imputers", "--tables", "asia", "--rows", 40, "-q")
FEW = (*WORDS, "--hide", "mcar:0.2", "--hide", "mnar-states:0.1", "--methods", "impute,mode")


@pytest.mark.parametrize("mode", [None, "mode", "t-local"])
def test_the_method_under_test_is_the_command(mode, tmp_path):
    """Whatever the default of `impute` is: cell by cell what the command answers."""
    table, _ = hidden_cells("asia", "mcar:0.1", None, 40, 0)
    write_dataset(table, tmp_path / "table.csv")
    words = () if mode is None else ("--mode", mode)
    told = run_json("impute", tmp_path / "table.csv", *words)["completion"]
    found = reproduce_imputers.as_command(mode, read_dataset(tmp_path / "table.csv"), 0)
    assert found.values is not None
    cells = [(cell["row"], cell["variable"], cell["value"]) for cell in told]
    states = read_dataset(tmp_path / "table.csv").states
    assert cells == [
        (row, table.names[v], states[v][value])
        for (row, v), value in zip(table.missing_cells.tolist(), found.values, strict=True)
    ]


def test_the_rows_of_a_seed_are_the_same_whatever_hides_their_cells(data_dir):
    names = ["bridges", "abalone"]
    for condition in conditions(names, (*HIDDEN, "mcar:0.05"), data_dir, 150):
        incomplete, truth = condition.draw(1)
        again, _ = condition.draw(1)
        whole = hidden_cells(condition.table, "mcar:0.1", data_dir, 150, 1)[1]
        assert np.array_equal(incomplete.codes, again.codes)
        assert np.array_equal(truth.codes, whole.codes)
        hidden = (incomplete.codes < 0) & (truth.codes >= 0)
        share = parse_spec(condition.hidden).share
        assert hidden.sum() / (truth.codes >= 0).sum() == pytest.approx(share, rel=0.25)


def test_what_is_shown_is_what_was_run_and_a_later_call_goes_on(tmp_path):
    told = run_json(*FEW, "-o", tmp_path)
    assert read_record(tmp_path / "tables.json") == told
    assert told["tested"] == DEFAULT
    assert {(v["hidden"], v["metric"]) for v in told["verdicts"]} == {
        (hidden, metric)
        for hidden in ("mcar:0.2", "mnar-states:0.1")
        for metric in ("accuracy", "log_loss")
    }
    with (tmp_path / "imputers.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["impute", "mode"] * 2
    assert (tmp_path / "accuracy.svg").exists()
    done = (tmp_path / "repetitions.json").read_text()
    printed = " ".join(run(*FEW, "-o", tmp_path).split())
    assert (tmp_path / "repetitions.json").read_text() == done
    assert "2 sets with hidden cells: 'impute' has the best mean in" in printed


def test_lost_sets_are_named(monkeypatch):
    def constant(mode, table, seed):
        """Give every cell the first state, which most have, or else the second."""
        likely = np.full((len(table.missing_cells), 2), 0.4)
        likely[:, 0 if mode == "mode" else 1] = 0.6
        return Imputed.of(likely)

    monkeypatch.setattr(reproduce_imputers, "as_command", constant)
    printed = " ".join(run(*FEW).split())
    assert "Significantly worse (* in the table):" in printed
    assert "behind 'mode'; beaten by mode" in printed


def test_an_interrupt_shows_what_is_done(monkeypatch):
    calls = []

    def interrupted_at_the_third(mode, table, seed):
        calls.append(mode)
        if len(calls) == 3:
            press_ctrl_c()
        return Imputed(values=np.zeros(len(table.missing_cells), np.int64))

    monkeypatch.setattr(reproduce_imputers, "as_command", interrupted_at_the_third)
    monkeypatch.setattr(reproduce_imputers, "import_for", lambda mode: None)
    told = run_json(*FEW, status=130)
    assert [row["hidden"] for row in told["rows"]] == ["mcar:0.2"] * 2
    assert sum(told["not_run"].values()) == 2


def test_a_set_with_too_few_cells_to_hide_is_reported():
    words = (*WORDS, "--hide", "mnar:0.9", "--methods", "impute,mode")
    told = run_json(*words)
    assert told["rows"] == []
    assert told["seconds_ratio"] is None
    assert "asks for" in told["failures"][0]


def test_what_is_not_there_is_refused(monkeypatch):
    monkeypatch.delenv("EXACTLEARN_DATA", raising=False)
    assert "no set 'asja'; did you mean 'asia'" in fails(
        "reproduce", "imputers", "--tables", "asja"
    )
    assert "no method 'logistik'" in fails(*WORDS, "--methods", "logistik")
    assert "--data-dir" in fails("reproduce", "imputers", "--tables", "car")
    assert "--data-dir" in fails("reproduce", "imputers", "--half", "test")
    assert "no share" in fails(*WORDS, "--hide", "mar:3")
    assert "--only: no set" in fails(*WORDS, "--only", "mcar:0.7")
    assert "'reproduce pdg' has no such option" in fails("reproduce", "pdg", "--rows", 3)


def test_baselines_are_methods_and_halves_have_several_sets():
    assert {"mode", "knn", "iterative", "logistic", "mice", "forest", "boosted"} == set(BASELINES)
    for half in ("development", "test"):
        assert len([name for name, of in HALVES.items() if of == half]) >= 15
    assert set(SLOW) < set(HALVES)
