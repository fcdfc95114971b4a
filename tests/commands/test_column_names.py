"""Names for the columns of a table whose first line is a row."""

import json

import pytest

from exactlearn.errors import FormatError
from exactlearn.formats.table import read_dataset
from exactlearn.instances import path
from tests.command_line import fails, run_json

NAMES = "Pollution,Smoker,Cancer,Xray,Dyspnoea"


@pytest.fixture
def headless(tmp_path):
    file = tmp_path / "rows.csv"
    lines = path("cancer-mcar-complete.csv").read_text().splitlines()
    assert lines[0] == NAMES
    file.write_text("\n".join(lines[1:]) + "\n")
    return file


def test_a_table_without_a_header_is_the_same_with_names(headless):
    named = run_json("solve", headless, "--no-header", "--names", NAMES)
    assert named["parents"] == run_json("solve", "cancer-mcar-complete")["parents"]
    unnamed = run_json("solve", headless, "--no-header")
    assert list(unnamed["parents"]) == [f"X{k}" for k in range(5)]


def test_names_replace_those_of_a_header():
    words = ("solve", "cancer-mcar-complete", "--names", 'a, b,"c,d",e,f', "--drop", "a")
    assert list(run_json(*words)["parents"]) == ["b", "c,d", "e", "f"]


def test_rows_are_judged_and_answered_by_names(headless):
    names = ("--no-header", "--names", NAMES)
    assert (
        run_json("evaluate", "cancer", headless, *names)
        == run_json("evaluate", "cancer", "cancer-mcar-complete")
    )  # fmt: skip
    answers = run_json("query", "cancer", "--data", headless, *names)
    assert answers == run_json("query", "cancer", "--data", "cancer-mcar-complete")
    pattern = f"{headless.parent}/*.csv"
    words = ("fit", "cancer", "--no-header", "--names", NAMES, "--method", "complete")
    whole, blocks = (run_json(*words[:2], t, *words[2:]) for t in (headless, pattern))
    assert whole["log_likelihood"] == pytest.approx(blocks["log_likelihood"])


def test_a_run_file_names_columns(headless):
    (headless.parent / "a.toml").write_text(
        'pipeline = false\n[data]\nfile = "rows.csv"\nheader = false\n'
        f"names = {json.dumps(NAMES.split(','))}\n[solve]\n"
    )
    record = run_json("run", headless.parent / "a.toml", "-o", headless.parent / "out")
    assert list(record["steps"][0]["parents"]) == NAMES.split(",")


def test_a_wrong_number_of_names_is_refused(headless):
    assert "2 names for 5 columns" in fails("solve", headless, "--no-header", "--names", "a,b")
    assert "named 'a'" in fails("solve", headless, "--no-header", "--names", "a,b,c,d,a")


def test_names_do_not_replace_a_first_line_that_is_a_row(headless):
    words = ("solve", headless, "--names", NAMES)
    assert "the names would replace a row" in fails(*words)
    assert "--no-header" in fails(*words)
    with pytest.raises(FormatError, match="header=False"):
        read_dataset(headless, names=NAMES.split(","))
