import json

import numpy as np
import pytest

from exactlearn.reproduce import pdg
from exactlearn.reproduce.random_graphs import drawn_rows, random_decision_graph
from tests.command_line import fails, run_json
from tests.logic_models import logic1, logic3, parity
from tests.pdg_oracle import graph_joint


def test_random_graphs_are_valid_and_rows_follow_them():
    rng = np.random.default_rng(0)
    for n in (4, 10, 40):
        graph = random_decision_graph(n, rng)
        graph.check()
        assert (graph.forest < 0).sum() == 1
        assert graph.cardinalities.min() >= 2
        assert graph.cardinalities.max() <= 5
    graph = random_decision_graph(4, np.random.default_rng(3))
    rows = drawn_rows(graph, 40_000, rng)
    found = np.zeros(tuple(graph.cardinalities))
    np.add.at(found, tuple(rows.codes.T.astype(int)), 1 / 40_000)
    assert np.abs(found - graph_joint(graph)).max() < 0.01


def test_relations_are_those_of_the_thesis():
    rows = {name: r for name, (r, _) in pdg.relations().items()}
    assert (rows["Logic1"] == logic1()).all()
    assert (rows["Logic2"] == parity()).all()
    assert (rows["Logic3"] == logic3()).all()


def test_logic_over_the_true_forests(tmp_path):
    """THESIS, Table 4.3: 46, 18 and 40."""
    record = run_json("reproduce", "pdg", "--tables", "logic", "-o", tmp_path / "out")
    given = [r for r in record["rows"] if r["method"] == "given forest"]
    assert [r["size"] for r in given] == [r["published_size"] for r in given] == [46, 18, 40]
    for row in record["rows"]:
        assert row["log_likelihood"] == pytest.approx(row["published_log_likelihood"], abs=0.01)
    assert json.loads((tmp_path / "out" / "tables.json").read_text()) == record


def test_table_1_and_random_graphs(data_dir, monkeypatch):
    monkeypatch.setattr(pdg, "FOLDS", 2)
    first = next(pdg.table1(data_dir, 0, False, lambda told: None))
    assert first.experiment == "house-votes-84"
    assert first.repetitions == 435
    assert first.log_likelihood == pytest.approx(first.published_log_likelihood, abs=0.5)
    monkeypatch.setattr(pdg, "SIZES", (100,))
    monkeypatch.setattr(pdg, "SHARES", (0.3,))
    monkeypatch.setattr(pdg, "VALIDATION_ROWS", 200)
    rows = list(pdg.random(2, 0, lambda told: None))
    assert {r.experiment for r in rows} == {"rnd10", "rnd20", "rnd40"}
    assert {r.method for r in rows} == {"first model", "em", "available", "complete"}
    small = {r.method: r for r in rows if r.experiment == "rnd10"}
    assert small["em"].size < small["first model"].size
    assert small["available"].p_value is not None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("pdg", "--tables", "logik"), "did you mean 'logic'"),
        (("pdg", "--starts", "2"), "--starts"),
        (("imputers", "--full"), "--full"),
    ],
)
def test_mistakes_are_told(words, message):
    assert message in fails("reproduce", *words)
