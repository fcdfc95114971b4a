"""``augment --best``, ``--best-completions``, ``--profile``, ``--start`` and ``--trace``."""

import csv

import pytest

from exactlearn.data.dataset import Dataset
from exactlearn.formats.table import read_dataset, write_dataset
from tests.command_line import fails, run, run_json


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Return a folder with an incomplete and a complete table of the CANCER network."""
    made = tmp_path_factory.mktemp("tables")
    run("simulate", "cancer", "--rows", 60, "--hide", "mcar:1", "--seed", 3,
        "-o", made / "holes.csv", "--complete", made / "full.csv")  # fmt: skip
    return made


def augment(tables, *more):
    return run_json("augment", tables / "holes.csv", "--method", "branching", *more)


def test_lists_begin_with_the_best_pair(tables):
    record = augment(tables, "--best", 4)
    assert record["best_status"] == "optimal"
    scores = [pair["score"] for pair in record["best"]]
    assert len(scores) == 4
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == pytest.approx(record["score"])
    assert record["best"][0]["differs"] == []


def test_a_profile_agrees_with_the_list_of_completions(tables):
    record = augment(tables, "--best-completions", 2, "--profile")
    assert record["profile_status"] == "optimal"
    losses = [cell["others"][0]["loss"] for cell in record["profile"]]
    second = record["best"][1]
    assert min(losses) == pytest.approx(second["loss"])
    for cell, loss in zip(record["profile"], losses, strict=True):
        assert cell["others"][0]["at_least"] == pytest.approx(loss)
    assert len(record["profile"]) == len(record["completion"])


def test_what_is_printed_reports_both(tables):
    printed = run("augment", tables / "holes.csv", "--method", "branching", "--best-completions", 2,
               "--profile")  # fmt: skip
    assert "other values than the best" in printed
    assert "loses" in printed


def test_a_start_is_a_completed_table(tables, tmp_path):
    holes, full = (read_dataset(tables / name) for name in ("holes.csv", "full.csv"))
    assert augment(tables, "--start", tables / "full.csv")["status"] == "optimal"
    printed = fails("augment", tables / "holes.csv", "--start", tables / "holes.csv")
    row, variable = holes.missing_cells[0]
    place = f"row {row + 1} (line {row + 2}), column '{holes.names[variable]}'"
    assert place in printed
    write_dataset(Dataset(full.codes[:5], full.names, full.states), tmp_path / "short.csv")
    assert "5 rows" in fails("augment", tables / "holes.csv", "--start", tmp_path / "short.csv")


def test_lists_exclude_each_other(tables):
    printed = fails("augment", tables / "holes.csv", "--best", 2, "--best-completions", 2)
    assert "exclude each other" in printed


def test_a_trace_reports_score_and_bound_over_time(tables, tmp_path):
    augment(tables, "--trace", tmp_path / "trace.csv")
    with (tmp_path / "trace.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert float(rows[-1]["bound"]) == pytest.approx(float(rows[-1]["score"]))
    augment(tables, "--trace", tmp_path / "trace.svg")
    assert "<svg" in (tmp_path / "trace.svg").read_text()
    assert "expected a file name" in fails("augment", tables / "holes.csv", "--trace", "a.xyz")
