import csv
import json

import numpy as np
import pytest

from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.formats.bif import read_bif, write_bif
from exactlearn.formats.model_json import write_pdg
from exactlearn.formats.table import read_dataset, write_dataset
from exactlearn.queries.posteriors import query
from tests.command_line import fails, invoke, run, run_json
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
    record = run_json("query", model, "-e", "X3=0", "--best", 2, "--independences")
    assert set(record["posterior"]) == {"X0", "X1", "X2"}
    first, second = record["explanations"]
    assert first["probability"] >= second["probability"]
    assert first["states"].keys() == {"X0", "X1", "X2"}
    assert record["independences"]
    assert "probability" in run("query", model, "--best", 1)


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
def test_rows_without_posterior_are_reported(table, tmp_path, asked):
    graph = paper_example()
    parameters = graph.parameters.copy()
    parameters[:2] = 1, 0
    path = tmp_path / "a.pdg.json"
    write_pdg(graph.with_parameters(parameters), path)
    done = invoke("query", path, "--data", table, *asked)
    assert "Row 3 (line 4), one of 1" in done.stderr


@pytest.fixture(scope="module")
def binned(tmp_path_factory):
    """A model whose states are bins, and the raw numbers behind them."""
    folder = tmp_path_factory.mktemp("binned")
    numbers = np.random.default_rng(3).normal(size=(60, 2)).round(3)
    rows = [f"{x},{y},{'no' if x < y else 'yes'}" for x, y in numbers.tolist()]
    (folder / "raw.csv").write_text("\n".join(["a,b,c", *rows]) + "\n")
    data = read_dataset(folder / "raw.csv", discretise={"*": "frequency:3"})
    write_bif(fit_complete(data, [(), (0,), (0, 1)]), folder / "model.bif")
    return folder, data


def test_a_number_stands_for_the_bin_that_holds_it(binned):
    folder, data = binned
    model, bins = folder / "model.bif", data.states[0]
    edge = data.edges["a"][0]
    values = (-99, edge, edge + 1e-3, 99)
    for value, state in zip(values, (bins[0], bins[0], bins[1], bins[2]), strict=True):
        asked = run_json("query", model, "-e", f"a={value}", "-t", "b")
        assert asked == run_json("query", model, "-e", f"a={state}", "-t", "b")
        found = query(read_bif(model), {"a": value}, ["b"])
        assert found.posterior["b"] == pytest.approx(asked["posterior"]["b"])
    assert "no state 'high'" in fails("query", model, "-e", "a=high")


def test_a_table_of_numbers_is_read_by_a_model_of_bins(binned):
    folder, data = binned
    write_dataset(data, folder / "cut.csv")
    raw = run_json("query", folder / "model.bif", "--data", folder / "raw.csv")
    assert raw == run_json("query", folder / "model.bif", "--data", folder / "cut.csv")
    numbers = read_dataset(folder / "raw.csv", drop=["b"], states={"a": data.states[0]})
    assert numbers.codes[:, 0].tolist() == data.codes[:, 0].tolist()
