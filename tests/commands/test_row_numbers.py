"""Rows count from 1 in tables and messages, with the line of the file; from 0 in JSON."""

import numpy as np
import pytest

from exactlearn import Dataset, read_dataset
from exactlearn.data.codes import row_place
from tests.command_line import fails, invoke, run, run_json

TEXT = "\na,b,c\n\nx,y,z\nx,?,w\nu,v,z\n\nu,?,w\nu,y,z\n"
LINES = [4, 5, 6, 8, 9]
MISSING = [(1, 5), (3, 8)]


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text(TEXT)
    return file


def places(shown):
    """Return the rows and lines that a printed table begins with."""
    table, _, _ = shown[shown.index("row  line") :].partition("\n\n")
    lines = table.splitlines()[1:]
    found = [line.split()[:2] for line in lines]
    return [(int(row), int(line)) for row, line in filter(None, found) if row.isdigit()]


def test_a_table_knows_the_lines_of_its_rows(table):
    data = read_dataset(table)
    assert data.lines.tolist() == LINES
    assert data.row_place(1) == "row 2 (line 5)"
    assert data.part(np.arange(5) > 2).lines.tolist() == [8, 9]
    assert data.complete([0, 0]).lines.tolist() == LINES
    sample = data.resampled(np.random.default_rng(0))
    for line, codes in zip(sample.lines, sample.codes, strict=True):
        assert (data.codes[LINES.index(line)] == codes).all()
    assert data == Dataset(data.codes, data.names, data.states)
    assert (
        Dataset(data.codes[:2], data.names, data.states, lines=data.lines).lines is None
    )


def test_a_row_without_a_line_has_its_index():
    data = Dataset(np.array([[0], [1]]), ("a",), (("x", "y"),))
    assert data.row_place(1) == row_place(1) == "row 2 (index 1)"


@pytest.mark.parametrize(
    "words",
    [
        ("augment", "--method", "t-local"),
        ("impute", "--method", "mode"),
        ("impute", "--method", "posterior"),
    ],
    ids=str,
)
def test_completed_cells_are_named_by_row_and_line(table, words):
    shown = places(run(words[0], table, *words[1:]))
    assert shown[:2] == [(row + 1, line) for row, line in MISSING]
    cells = run_json(words[0], table, *words[1:])["completion"]
    assert [(cell["row"], cell["line"]) for cell in cells] == MISSING


def test_rows_of_probability_zero_have_their_numbers(tmp_path):
    full = tmp_path / "full.csv"
    text = "asia,tub,smoke,lung,bronc,either,xray,dysp\n"
    rest = "no,{},no,no,no,{},no,no\n"
    full.write_text(text + rest.format("no", "no") + "\n" + rest.format("yes", "no"))
    found = run_json("evaluate", "asia", full)
    assert (found["impossible_rows"], found["impossible_lines"]) == ([1], [4])
    assert "impossible rows         2" in run("evaluate", "asia", full)
    run("compile", "asia", "-o", tmp_path / "asia.pdg.json")
    said = fails("fit", tmp_path / "asia.pdg.json", full, "--smoothing", 0)
    assert "row 2 (line 4)" in said


def test_faults_of_a_table_are_named_by_row_and_line(table, tmp_path):
    assert "row 2 (line 5)" in fails("learn-pdg", table, "--method", "direct")
    other = tmp_path / "other.csv"
    other.write_text("a,b,c\nx,y,z\nx,v,w\nu,y,z\nu,y,w\nu,y,z\n")
    said = invoke(
        "compare", table, "--methods", "mode", "--truth", other, status=(2, 5)
    ).output
    assert "row 3 (line 6), column 'b'" in said
