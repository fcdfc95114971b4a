from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from exactlearn._runtime.control import SearchControl
from exactlearn.commands import reproduce_pdg
from exactlearn.errors import OptionError
from exactlearn.reproduce import incomplete, random_tables, thesis, thesis_hybrid
from exactlearn.reproduce.generators import (
    drawn_rows,
    random_decision_graph,
    relation,
)
from exactlearn.reproduce.random_tables import signed_rank, tally
from exactlearn.reproduce.rows import Row, matches
from exactlearn.reproduce.runner import Record, Setup
from exactlearn.reproduce.sources import public_data, uci_split
from tests.command_line import fails, read_record, run_json
from tests.interrupts import press_ctrl_c
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
    assert (relation("Logic1").rows == logic1()).all()
    assert (relation("Logic2").rows == parity()).all()
    assert (relation("Logic3").rows == logic3()).all()


def test_logic_over_the_true_forests_is_done_once(tmp_path, monkeypatch):
    """THESIS, Table 4.3: 46, 18 and 40."""
    words = ("reproduce", "pdg", "--tables", "logic", "--only", "Logic", "-o", tmp_path / "out")
    record = run_json(*words)
    given = [r for r in record["rows"] if r["method"] == "given forest"]
    assert [r["size"] for r in given] == [r["published_size"] for r in given] == [46, 18, 40]
    for row in record["rows"]:
        assert row["log_likelihood"] == pytest.approx(row["published"], abs=0.01)
        assert row["size"] <= row["published_size"]
    assert read_record(tmp_path / "out" / "tables.json") == record
    monkeypatch.setattr(thesis, "_run_relation", lambda *_: pytest.fail("done twice"))
    assert run_json(*words) == record


def test_incomplete_tables(setup, monkeypatch):
    monkeypatch.setattr(incomplete, "FOLDS", 2)
    monkeypatch.setattr(incomplete, "METHODS", {k: incomplete.METHODS[k] for k in ("PDG", "NB")})
    figures = {"table1": {"house-votes-84": {"PDG": (-7.1256, 49)}}}
    monkeypatch.setattr(incomplete, "published", lambda paper: figures)
    rows = list(incomplete.table1(setup))
    assert [(r.method, r.repetitions) for r in rows] == [("PDG", 435), ("NB", 435)]
    assert rows[0].log_likelihood == pytest.approx(rows[0].published, abs=0.5)
    assert rows[1].published is None
    record = Record(None, lambda told: None, control=SearchControl())
    stopped = Setup(record=record, data=setup.data, only="votes")
    done = []

    def stopping_at_the_third(train, test):
        done.append(test.n_rows)
        if len(done) == 3:
            record.control.stop()
        return np.full(test.n_rows, 1.0 + len(done)), 7

    monkeypatch.setattr(incomplete, "METHODS", {"NB": stopping_at_the_third})
    rows = list(incomplete.table1(replace(stopped, full=True)))
    assert [(r.repetitions, r.log_likelihood) for r in rows] == [(2, 2.5)]
    assert list(record.done["table 1: house-votes-84, 435 parts, seed 0"]) == ["0", "1"]


@pytest.fixture
def small_random(monkeypatch):
    for name, value in (("SIZES", (100, 150)), ("SHARES", (0.3,)), ("VALIDATION_ROWS", 200)):
        monkeypatch.setattr(random_tables, name, value)
    random_tables._drawn.cache_clear()
    yield
    random_tables._drawn.cache_clear()


def test_random_tables(small_random):
    record = Record(None, lambda told: None)
    rows = list(random_tables.random(Setup(record=record, repetitions=2, only="rnd10")))
    whole = {r.method: r for r in rows if r.table == "random"}
    assert list(whole) == [*random_tables.METHODS, "generating model"]
    assert whole["em"].size < whole["first model"].size
    assert whole["em"].repetitions == 4
    assert whole["available"].p_value in (0.25, 0.5, 0.75, 1.0)
    assert whole["available"].published_p == 0.2257
    assert whole["first model"].verdict == "0 / 2 / 0 (paper: 20 / 2 / 2)"
    settings = [r for r in rows if r.table == "random settings" and r.method == "em"]
    assert [(r.experiment, r.column) for r in settings] == [
        ("rnd10, 100 rows", "30 %"),
        ("rnd10, 150 rows", "30 %"),
    ]
    means = [r.log_likelihood for r in settings]
    assert whole["em"].log_likelihood == pytest.approx(np.mean(means))
    told = printed(rows)
    assert "| rnd10, 100 rows" in told
    assert f"| {settings[0].log_likelihood:.3f}±{settings[0].deviation:.2f} " in told
    assert f"| {whole['available'].p_value:.4g} | {whole['complete'].p_value:.4g} " in told


def printed(rows):
    """Return what is printed of rows, cell by cell."""
    tables = [table for table in reproduce_pdg._tables(rows) if table]
    columns = [column._cells for table in tables for column in table.columns]
    return "".join(f"| {cell} " for cells in columns for cell in cells)


def test_an_interrupt_reports_what_is_done_of_random_tables(small_random):
    done, control = [], SearchControl()

    def tell(told):
        done.append(told)
        if len(done) == 9:
            press_ctrl_c()

    setup = Setup(record=Record(None, tell, control=control), repetitions=9, only="rnd10")
    with control.running():
        rows = list(random_tables.random(setup))
    assert [r.repetitions for r in rows if r.method == "em"] == [2, 1, 1]


def test_half_a_search_is_not_kept():
    control = SearchControl()
    record = Record(None, lambda told: None, control=control)
    assert record.once("a", "0", "whole", lambda: {"x": 1})["x"] == 1
    assert record.once("a", "0", "half", lambda: control.stop() or {"x": 2}) is None
    assert record.once("a", "0", "never", lambda: pytest.fail("begun")) is None
    assert record.once("a", "0", "whole", lambda: pytest.fail("again"))["x"] == 1
    assert list(record.done["a"]["0"]) == ["whole"]


def test_signed_ranks():
    """Against all assignments of signs."""
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(0.4, 1, 7), rng.normal(0, 1, 7)
    ranks = np.argsort(np.argsort(abs(ours - theirs))) + 1
    reached = ranks[ours > theirs].sum()
    signs = np.array(list(product((0, 1), repeat=7))) @ ranks
    assert signed_rank(ours, theirs, "greater") == pytest.approx((signs >= reached).mean())
    low, high = np.arange(7.0), np.arange(7.0) + np.linspace(1, 2, 7)
    assert tally([(high, low), (low, low), (low, high), (ours, ours[::-1])]) == (1, 2, 1)


def test_public_tables_are_prepared_as_in_the_thesis(data_dir):
    split = uci_split(data_dir, "Landsat", 0)
    assert (split.train.n_rows, split.test.n_rows) == (4435, 2000)
    assert set(split.train.cardinalities.tolist()) == {5, 6}
    drawn = uci_split(data_dir, "Abalone", 0)
    assert drawn.train.n_rows + drawn.test.n_rows == 4177
    assert 0.88 < drawn.train.n_rows / 4177 < 0.92


def test_graphs_of_networks_at_equal_likelihood(monkeypatch):
    monkeypatch.setattr(thesis, "TRAIN_ROWS", 500)
    monkeypatch.setattr(thesis, "TEST_ROWS", 100)
    setup = Setup(record=Record(None, lambda told: None), only="Rnd15")
    rows = list(thesis_hybrid.synthetic(setup))
    assert [r.method for r in rows] == ["BN", "PDG"] * 3
    for network, graph in zip(rows[::2], rows[1::2], strict=True):
        assert graph.train_log_likelihood >= network.train_log_likelihood - 1e-9
        assert graph.verdict.startswith("yes") == (graph.size <= network.size)


def test_who_wins_is_reported():
    def row(method, log_likelihood, size, experiment="votes"):
        return Row(
            table="table1",
            experiment=experiment,
            method=method,
            repetitions=1,
            log_likelihood=log_likelihood,
            size=size,
            seconds=0.0,
        )

    rows = [row("PDG", -7.2, 50), row("PDG, from BN", -7.1, 60), row("BN", -7.0, 150)]
    assert list(matches(rows[:2])) == []
    (found,) = matches([*rows, row("NB", float("nan"), 9), row("em", 0, 1, "rnd")])
    assert (found.winner, found.smallest) == ("BN", "PDG")
    assert found.ahead == pytest.approx(0.1)
    assert found.best["PDG"].method == "PDG, from BN"
    text, table, _ = reproduce_pdg._comparison([found])
    assert "in 0 of 1 comparisons, networks in 1, naive Bayes in 0" in text
    assert [column._cells for column in table.columns][:3] == [
        ["votes"],
        ["-7.100"],
        ["60"],
    ]


def test_public_data_are_asked_for(tmp_path):
    with pytest.raises(OptionError, match=r"--data-dir FOLDER .* the folder 'uci'"):
        public_data(None, "uci")
    with pytest.raises(OptionError, match=r"expected the folder 'bif' in .*, found none"):
        public_data(tmp_path, "bif")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("pdg", "--tables", "logik"), "did you mean 'logic'"),
        (("pdg", "--starts", "2"), "--starts"),
        (("pdg", "--tables", "logic", "--only", "Logic9"), "Logic9"),
        (("imputers", "--full"), "--full"),
    ],
)
def test_mistakes_are_reported(words, message):
    assert message in fails("reproduce", *words)
