import json
import signal
from contextlib import contextmanager

import pytest

from exactlearn import read_dataset
from exactlearn._runtime.control import SearchControl
from exactlearn.commands import models as command
from exactlearn.errors import TooLargeError
from exactlearn.formats.bif import read_bif
from exactlearn.formats.model_json import read_pdg
from exactlearn.instances import locate
from exactlearn.pdg.compile import compile as compilation
from exactlearn.pdg.compile.compile import compile_and_check, compile_network
from exactlearn.pdg.compile.forest_search import ForestSearch
from tests.command_line import fails, invoke, run, run_json
from tests.interrupts import press_before


def test_a_merge_budget_gives_a_smaller_graph(tmp_path):
    words, graph = ("compile", "asia", "--time-limit", 0), tmp_path / "small.pdg.json"
    whole = run_json(*words)
    record = run_json(*words, "--merge-budget", 0.01, "-o", graph)
    assert 0 < record["loss"] <= 0.01
    assert record["effective_size"] < whole["effective_size"]
    assert read_pdg(graph).effective_size == record["effective_size"]


def test_words_and_figures_of_merging_agree():
    """It said "nothing merged" beside a smaller size, and did not name its figures."""
    done = invoke("compile", "lucas", "--merge-budget", 0.01)
    assert "nothing merged" not in done.stderr
    assert "exact graph: 80 cells; no nodes are equivalent" in done.stderr
    assert "merges of nodes that are nearly alike: 36 -> 31 nodes" in done.stderr
    assert "effective size 80 -> 70 cells" in done.stderr
    assert "largest relative error of the probability of a row  6" in done.stdout
    assert "loss                                                0.0076" in done.stdout
    done = invoke("compile", "lucas", "--merge-budget", 1e-9)
    assert "36 -> 36 nodes" in done.stderr
    assert "the next merge would lose 1.9" in done.stderr


def test_the_graph_of_a_clique_tree_without_merging(tmp_path):
    """THESIS, Figure 5.10: from this graph merging by rows goes to smaller ones."""
    run("simulate", "asia", "--rows", "200", "-o", tmp_path / "rows.csv")
    words = ("compile", "asia", "--merge", "none", "--root", "smoke")
    whole = run_json(*words, "-o", tmp_path / "whole.pdg.json")
    graph = read_pdg(tmp_path / "whole.pdg.json")
    assert graph.names[graph.forest.tolist().index(-1)] in ("asia", "smoke")
    assert graph.forest[graph.index("smoke")] == -1
    assert whole["max_error"] < 1e-12
    assert whole["effective_size"] == 62
    merged = run_json(*words, "--data", tmp_path / "rows.csv", "--merge-budget", 0.01)
    assert merged["effective_size"] < 62
    fails("--root is for --merge none", "compile", "asia", "--root", "smoke")
    fails("no variable 'smokes'", *words[:-1], "smokes")


def test_merging_by_rows(tmp_path):
    run("simulate", "asia", "--rows", "200", "-o", tmp_path / "rows.csv")
    plain = run_json("compile", "asia", "--data", tmp_path / "rows.csv")
    assert plain["loss"] == pytest.approx(0, abs=1e-12)
    assert plain["status"] == "optimal"
    far = run_json(
        "compile", "asia", "--data", tmp_path / "rows.csv", "--merge-budget", "0.5"
    )
    assert far["status"] == "feasible"
    assert far["loss"] > 0
    assert far["effective_size"] < plain["effective_size"]


def test_a_graph_fitted_to_few_rows_keeps_to_the_network(tmp_path):
    """One pseudo-row a node left it to the rows, beside a printed loss of zero."""
    rows, fresh = tmp_path / "rows.csv", tmp_path / "fresh.csv"
    graph = tmp_path / "small.pdg.json"
    run("simulate", "asia", "--rows", "60", "--seed", "1", "-o", rows)
    run("simulate", "asia", "--rows", "5000", "--seed", "2", "-o", fresh)
    record = run_json("compile", "asia", "--data", rows, "-o", graph)
    network = read_bif(locate("asia", ".bif"))
    lost = network.log_likelihood_rows(read_dataset(fresh)).mean()
    lost -= read_pdg(graph).log_likelihood_rows(read_dataset(fresh)).mean()
    assert lost < 0.05
    assert abs(record["held_out_loss"]) < 0.1


def test_a_first_graph_beyond_the_time_limit_is_given_up(monkeypatch, tmp_path):
    sizes = run_json("compile", "asia", "--time-limit", 0)
    monkeypatch.setattr(compilation, "LATE", -1.0)
    graph = tmp_path / "a.pdg.json"
    message = fails("compile", "asia", "--time-limit", 0, "-o", graph)
    assert "no decision graph was built within the time limit of 0 seconds" in message
    assert f"the best clique tree found has {sizes['clique_tree_size']}." in message
    assert "Raise the time limit; or query the network itself" in message
    assert not graph.exists()
    assert run_json("compile", "asia")["effective_size"] <= sizes["effective_size"]


def test_a_graph_for_another_search_may_exceed_the_time_limit(monkeypatch):
    monkeypatch.setattr(compilation, "LATE", -1.0)
    network = read_bif(locate("asia", ".bif"))
    with SearchControl(0.0).running():
        assert compile_network(network).n_variables == 8
    with pytest.raises(TooLargeError, match="within the time limit of 0 seconds"):
        compile_network(network, time_limit=0.0)


def test_a_time_limit():
    record = run_json("compile", "asia", "--time-limit", "0")
    assert record["max_error"] < 1e-12
    assert record["effective_size"] >= 40


def test_logic1_is_no_larger_than_in_the_thesis():
    """THESIS, Table 4.3, has an effective size of 46."""
    assert run_json("compile", "logic1")["effective_size"] <= 46


def test_the_first_graph_is_written_before_smaller_ones(tmp_path, monkeypatch):
    def die(search):
        raise RuntimeError("killed")

    monkeypatch.setattr(ForestSearch, "run", die)
    graph, record = tmp_path / "x.pdg.json", tmp_path / "x.json"
    for file in (graph, record):
        assert "killed" in fails("compile", "asia", "-o", file, status=1)
    assert (
        read_pdg(graph).effective_size
        == json.loads(record.read_text())["effective_size"]
    )


def test_an_interrupt_writes_the_first_graph_without_time_left(tmp_path, monkeypatch):
    """The watcher that ends the process at once stayed on past the limit."""
    ends_at_once = False

    @contextmanager
    def watched():
        nonlocal ends_at_once
        ends_at_once = True
        yield
        ends_at_once = False

    def interrupted(*arguments):
        assert not ends_at_once
        signal.raise_signal(signal.SIGINT)
        return 0.0

    monkeypatch.setattr(command, "ended_by_signal", watched)
    monkeypatch.setattr(compilation, "max_error", interrupted)
    graph = tmp_path / "x.pdg.json"
    run("compile", "asia", "--time-limit", "0", "-o", graph, status=130)
    assert read_pdg(graph).effective_size > 0


def test_a_graph_too_large_to_write_in_time_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "WRITE_TIME", 1.0)
    monkeypatch.setattr(compilation, "CHECK_TIME", 1.0)
    graph, record = tmp_path / "x.pdg.json", tmp_path / "x.json"
    done = invoke("compile", "asia", "--time-limit", 1, "-o", graph, "--json", status=3)
    assert not graph.exists()
    assert json.loads(done.stdout)["max_error"] is None
    assert "cells is not written" in done.stderr
    assert "not compared with the network" in done.stderr
    run("compile", "asia", "--time-limit", "1", "-o", record)
    assert json.loads(record.read_text())["effective_size"] >= 40
    run("compile", "asia", "-o", graph)  # without a limit
    assert read_pdg(graph).effective_size >= 40


def test_an_interrupt_of_the_writing_loses_no_graph(tmp_path, monkeypatch):
    press_before(monkeypatch, command, "write_learned")
    graph = tmp_path / "x.pdg.json"
    run("compile", "asia", "--time-limit", "0", "-o", graph, status=130)
    assert read_pdg(graph).effective_size > 0


def test_each_smaller_graph_can_be_had_while_the_search_goes_on():
    network, printed = read_bif(locate("lucas", ".bif")), []

    def keep(size, compiled):
        printed.append((size, compiled()))

    end = compile_and_check(network, steps=300, on_graph=keep)
    sizes = [size for size, _ in printed]
    assert sizes == [found.graph.effective_size for _, found in printed]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1] == end.graph.effective_size
    assert all(found.max_error < 1e-9 and not found.finished for _, found in printed)
