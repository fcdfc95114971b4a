import csv
import json

import pytest
from click.testing import CliRunner

from exactlearn.__main__ import main
from exactlearn.formats.pdg_json import write_pdg
from tests.command_line import fails, run, run_json
from tests.pdg_oracle import paper_example


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "a.pdg.json"
    write_pdg(paper_example(), path)
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "a.csv"
    path.write_text("X0,X1,X3\n0,?,0\n?,1,?\n1,0,0\n")
    return path


def test_all_questions_are_answered_in_one_record(model):
    record = run_json(
        "query", model, "-e", "X3=0", "--soft", "X1=0:0.5,1:1", "--joint", "X0,X2", "--best", 2,
        "--map", "X0", "--draws", 3, "--entropy", "all", "--information", "X0;X2|X1",
        "--divergence", model, "--sensitivity", "X0=0",
    )  # fmt: skip
    assert set(record["posterior"]) == {"X0", "X2"}
    joint = {tuple(r["states"].values()): r["probability"] for r in record["joint"]}
    assert joint["0", "0"] + joint["0", "1"] == pytest.approx(record["posterior"]["X0"]["0"])
    first, second = record["explanations"]
    assert first["probability"] >= second["probability"]
    assert first["states"].keys() == {"X0", "X1", "X2"}
    assert record["map"]["status"] == "optimal"
    assert record["map"]["probability"] == pytest.approx(max(record["posterior"]["X0"].values()))
    assert [row["X3"] for row in record["samples"]] == ["0"] * 3
    assert record["entropy"] > record["mutual_information"] >= 0
    assert record["divergence"] == 0
    slopes = [abs(r["slope"]) for r in record["sensitivity"]]
    assert slopes == sorted(slopes, reverse=True)
    told = run("query", model, "--best", 1, "--entropy", "X0")
    assert "probability" in told
    assert "nats" in told


def test_rows_are_answered_and_classified(model, table, tmp_path):
    record = run_json("query", model, "--data", table, "-t", "X2")
    alone = run_json("query", model, "-e", "X0=0", "-e", "X3=0", "-t", "X2")
    assert record["rows"][0]["posterior"]["X2"] == pytest.approx(alone["posterior"]["X2"])
    named = run_json("query", model, "--data", table, "--class", "X0")
    alone = run_json("query", model, "-e", "X3=0", "-t", "X0")["posterior"]["X0"]
    assert named["rows"][0]["posterior"] == pytest.approx(alone)
    assert named["labelled"] == 2
    best = max(alone, key=alone.get)
    assert named["rows"][0]["predicted"] == best
    run("query", model, "--data", table, "--class", "X0", "-o", tmp_path / "out.csv")
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert [float(r["X0=0"]) for r in rows] == [r["posterior"]["0"] for r in named["rows"]]
    run("query", model, "--data", table, "-o", tmp_path / "out.json")
    assert len(json.loads((tmp_path / "out.json").read_text())["rows"]) == 3
    assert "accuracy" in run("query", model, "--data", table, "--class", "X0")


@pytest.mark.parametrize("asked", [("-t", "X2"), ("--class", "X2")])
def test_rows_without_posterior_are_told(table, tmp_path, asked):
    graph = paper_example()
    parameters = graph.parameters.copy()
    parameters[:2] = 1, 0
    path = tmp_path / "a.pdg.json"
    write_pdg(graph.with_parameters(parameters), path)
    words = ["query", path, "--data", table, *asked]
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 0
    assert "Row 2 (1 in all)" in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--class", "X0"), "give the table by --data"),
        (("--data", "none.csv"), "no such file"),
        (("--soft", "X0=0"), "expected STATE:WEIGHT"),
        (("--soft", "X0=9:1"), "'X0' has no state '9'"),
        (("--soft", "X0=0:1", "-e", "X0=0"), "has hard evidence, too"),
        (("--soft", "X0=0:0"), "probability zero"),
        (("--information", "X0,X1"), "expected 'A,B;C'"),
        (("--joint", "X0,,X1"), "names joined by commas"),
        (("--map", "X9"), "no variable 'X9'"),
        (("--sensitivity", "X0"), "expected NAME=VALUE"),
    ],
)
def test_mistakes_are_told_in_one_line(model, words, told):
    message = fails("query", model, *words)
    assert told in message
    assert message.count("\n") == 1


def test_rows_and_single_evidence_exclude_each_other(model, table):
    assert "from the rows" in fails("query", model, "--data", table, "-e", "X0=0")
    assert "leave out --target" in fails(
        "query", model, "--data", table, "--class", "X0", "-t", "X0"
    )
