"""``exactlearn missingness``: what it prints, draws and writes, and what it recommends."""

from dataclasses import replace

import numpy as np
import pytest

from exactlearn.bayesnet.deletion import fit_deletion
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.formats.graph_file import read_missingness
from exactlearn.formats.table import read_dataset
from exactlearn.imputation.mechanism import learned_missingness_graph
from exactlearn.imputation.missingness_diagnosis import (
    diagnosed_missingness_graph,
    indicator_tests,
    recommendation,
)
from exactlearn.reporting.records import causes_in_words
from tests.command_line import run, run_json

GRAPH = "lung <- smoke; dysp <- bronc, smoke; xray <-"


@pytest.fixture(scope="module")
def incomplete(tmp_path_factory):
    path = tmp_path_factory.mktemp("missingness") / "incomplete.csv"
    run(
        "simulate",
        "asia",
        "--rows",
        4000,
        "--missingness",
        GRAPH,
        "--seed",
        3,
        "-o",
        path,
    )
    return path


def test_the_record_counts_what_the_table_has(incomplete):
    record = run_json("missingness", incomplete)
    table = read_dataset(incomplete)
    missing = table.codes == -1
    assert record["rows"] == 4000
    assert record["missing_cells"] == missing.sum()
    assert record["share_complete"] == pytest.approx((~missing.any(axis=1)).mean())
    assert record["rates"] == pytest.approx(
        dict(zip(table.names, missing.mean(axis=0), strict=True))
    )
    assert record["pattern_count"] == len(np.unique(missing, axis=0))
    assert len(record["patterns"]) == min(10, record["pattern_count"])
    for pattern in record["patterns"]:
        same = (missing == [name in pattern["missing"] for name in table.names]).all(
            axis=1
        )
        assert pattern["rows"] == same.sum()
    assert record["mcar"]["tested"] == len(record["tests"]) == 21
    assert "not MCAR" in record["mcar"]["verdict"]
    assert record["learned"]["kind"] == "MAR"
    assert "dysp <- smoke, bronc" in record["learned"]["graph"]
    assert record["recommendation"]["method"] == "em"


def test_the_learned_graph_is_written(incomplete, tmp_path):
    graph = tmp_path / "learned.missingness"
    record = run_json("missingness", incomplete, "-o", graph)
    assert str(read_missingness(graph)) == record["learned"]["graph"]


def test_complete_tables_have_nothing_to_diagnose(tmp_path):
    run("simulate", "survey", "--rows", 200, "-o", tmp_path / "full.csv")
    record = run_json("missingness", tmp_path / "full.csv")
    assert record["recommendation"]["method"] == "complete"
    assert record["tests"] == []
    assert "no cell is missing" in run("missingness", tmp_path / "full.csv")


def table(graph, rows=2000, complete=0.5, names=("a", "b", "c", "d")):
    codes = np.random.default_rng(0).integers(0, 2, (rows, len(names)))
    incomplete = [names.index(name) for name in graph.causes]
    codes[: int(rows * (1 - complete)), incomplete] = -1
    return Dataset(codes, names, (("no", "yes"),) * len(names))


@pytest.mark.parametrize(
    ("text", "weight", "method"),
    [
        ("", 1, "complete"),
        ("a <-", 1, "em"),
        ("a <-", 1e5, "f-mcar"),
        ("a <- b", 1, "em"),
        ("a <- b", 1e5, "d-mar"),
        ("a <- a", 1, "em"),
        ("a <- a", 1e5, "graph"),
    ],
)
def test_recommendations(text, weight, method):
    graph = MissingnessGraph.parse(text)
    data = table(graph)
    weights = np.full(data.n_rows, float(weight))
    found = recommendation(replace(data, weights=weights), graph)
    assert found.method == method
    assert bool(found.missingness) == (graph.kind == "MNAR")


def test_the_graph_has_all_observed_causes_that_tests_detect():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, (3000, 4))
    rates = np.array([[0.05, 0.3], [0.5, 0.9]])
    codes[rng.random(3000) < rates[codes[:, 1], codes[:, 2]], 0] = -1
    codes[rng.random(3000) < 0.2, 3] = -1
    data = Dataset(codes, ("a", "b", "c", "d"), (("no", "yes"),) * 4)
    tests = [test for test in indicator_tests(data, rng) if test.adjusted < 0.05]
    graph = diagnosed_missingness_graph(data, tests, rng)
    assert str(graph) == "a <- b, c; d <-"
    assert str(diagnosed_missingness_graph(data, [], rng)) == "a <-; d <-"
    assert causes_in_words(graph) == {"a": "b, c", "d": "nothing"}


def test_causes_together_beat_each_alone_in_the_learned_graph():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, (2000, 3))
    codes[
        rng.random(2000) < np.array([[0.1, 0.3], [0.5, 0.9]])[codes[:, 1], codes[:, 2]],
        0,
    ] = -1
    data = Dataset(codes, ("a", "b", "c"), (("no", "yes"),) * 3)
    networks = [fit_deletion(data, [()] * 3, method="aca", smoothing=1.0).model]
    assert learned_missingness_graph(data, networks).causes == {"a": ("b",)}
    tests = indicator_tests(data, rng)
    assert diagnosed_missingness_graph(data, tests, rng).causes == {"a": ("b", "c")}
