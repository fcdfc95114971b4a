import json

import numpy as np
import pytest

from exactlearn.commands.reproducing_pdg import lost
from exactlearn.reproduce import hybrids, incomplete, languages, random_tables, relations
from exactlearn.reproduce.random_graphs import drawn_rows, random_decision_graph
from exactlearn.reproduce.record import Record
from exactlearn.reproduce.study import Setup
from exactlearn.reproduce.uci_tables import Split, uci_split
from tests.command_line import fails, run_json
from tests.logic_models import logic1, logic3, parity
from tests.pdg_oracle import graph_joint


@pytest.fixture
def setup(data_dir):
    """Nothing done yet, with public data."""
    return Setup(record=Record(None, lambda told: None), data=data_dir)


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
    assert (relations.relation("Logic1").rows == logic1()).all()
    assert (relations.relation("Logic2").rows == parity()).all()
    assert (relations.relation("Logic3").rows == logic3()).all()


def test_logic_over_the_true_forests_is_done_once(tmp_path, monkeypatch):
    """THESIS, Table 4.3: 46, 18 and 40."""
    words = ("reproduce", "pdg", "--tables", "logic", "--only", "Logic", "-o", tmp_path / "out")
    record = run_json(*words)
    given = [r for r in record["rows"] if r["method"] == "given forest"]
    assert [r["size"] for r in given] == [r["published_size"] for r in given] == [46, 18, 40]
    for row in record["rows"]:
        assert row["log_likelihood"] == pytest.approx(row["published"], abs=0.01)
        assert row["size"] <= row["published_size"]
    assert json.loads((tmp_path / "out" / "tables.json").read_text()) == record
    monkeypatch.setattr(relations, "_run", lambda *_: pytest.fail("done twice"))
    assert run_json(*words) == record


def test_incomplete_tables(setup, monkeypatch):
    monkeypatch.setattr(incomplete, "FOLDS", 2)
    monkeypatch.setattr(incomplete, "METHODS", {k: incomplete.METHODS[k] for k in ("PDG", "NB")})
    monkeypatch.setattr(incomplete, "PUBLISHED", {"house-votes-84": {"PDG": (-7.1256, 49)}})
    rows = list(incomplete.table1(setup))
    assert [(r.method, r.repetitions) for r in rows] == [("PDG", 435), ("NB", 435)]
    assert rows[0].log_likelihood == pytest.approx(rows[0].published, abs=0.5)
    assert rows[1].published is None


def test_random_tables(monkeypatch):
    for name, value in (("SIZES", (100, 150)), ("SHARES", (0.3,)), ("VALIDATION_ROWS", 200)):
        monkeypatch.setattr(random_tables, name, value)
    record = Record(None, lambda told: None)
    rows = list(random_tables.random(Setup(record=record, repetitions=2, only="rnd10")))
    assert [r.method for r in rows] == ["em", "available", "complete", "first model"]
    small = {r.method: r for r in rows}
    assert small["em"].size < small["first model"].size
    assert small["available"].p_value is not None
    assert small["em"].repetitions == 4


def test_public_tables_are_prepared_as_in_the_thesis(data_dir):
    split = uci_split(data_dir, "Landsat", 0)
    assert (split.train.n_rows, split.test.n_rows) == (4435, 2000)
    assert set(split.train.cardinalities.tolist()) == {5, 6}
    drawn = uci_split(data_dir, "Abalone", 0)
    assert drawn.train.n_rows + drawn.test.n_rows == 4177
    assert 0.88 < drawn.train.n_rows / 4177 < 0.92


def test_models_are_selected_from_a_sequence():
    points = [
        {"size": 10, "train": -3.0, "test": -3.1},
        {"size": 100, "train": -2.0, "test": -2.2},
        {"size": 400, "train": -1.4, "test": -2.5},
    ]
    found = [languages.selected(points, kind, 1000)["size"] for kind in languages.SELECTIONS]
    assert found == [100, 100, 400]


def test_graphs_of_networks_at_equal_likelihood(monkeypatch):
    monkeypatch.setattr(hybrids, "TRAIN_ROWS", 500)
    monkeypatch.setattr(hybrids, "TEST_ROWS", 100)
    setup = Setup(record=Record(None, lambda told: None), only="Rnd15")
    rows = list(hybrids.synthetic(setup))
    assert [r.method for r in rows] == ["BN", "PDG"] * 3
    for network, graph in zip(rows[::2], rows[1::2], strict=True):
        assert graph.train_log_likelihood >= network.train_log_likelihood - 1e-9
        assert graph.verdict.startswith("dominates") == (graph.size <= network.size)


def test_languages_give_sequences():
    rng = np.random.default_rng(0)
    truth = relations.random_model("Rnd5", 0)
    split = Split(truth.drawn(400, rng), truth.drawn(100, rng))
    for sequence in languages.SEQUENCES.values():
        points = sequence(split, 0)
        likelihoods = [p["train"] for p in points]
        assert max(likelihoods) > likelihoods[0]
        assert points[-1]["size"] >= points[0]["size"]


def test_where_graphs_lose_is_told():
    row = {"table": "table1", "experiment": "votes", "size": 50, "log_likelihood": -7.1}
    ahead = {**row, "method": "BN", "log_likelihood": -7.0, "size": 150}
    assert lost([{**row, "method": "PDG"}, {**ahead, "log_likelihood": -7.2}]) == []
    told = lost([{**row, "method": "PDG"}, ahead])
    assert told[1] == "votes: BN is ahead of PDG by 0.100 nats a row, at 3 times its size"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("pdg", "--tables", "logik"), "did you mean 'logic'"),
        (("pdg", "--starts", "2"), "--starts"),
        (("pdg", "--tables", "logic", "--only", "Logic9"), "Logic9"),
        (("imputers", "--full"), "--full"),
    ],
)
def test_mistakes_are_told(words, message):
    assert message in fails("reproduce", *words)
