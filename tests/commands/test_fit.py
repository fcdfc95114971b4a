"""``exactlearn fit``: its records, what it says, and what an interrupt or a kill leaves."""

import json

import numpy as np
import pytest

import exactlearn as el
from exactlearn.bayesnet.em import NetworkEM
from exactlearn.commands.sections import Reading
from exactlearn.commands.tables import load
from exactlearn.errors import TooLargeError
from exactlearn.pdg.learn.parameters import ParameterEM
from tests.command_line import fails, invoke, run, run_json
from tests.interrupts import press_ctrl_c

SHOW = "exactlearn.commands.output.ProgressDisplay.show"
HEIGHTS = [1, 2, 3, 4, 5]


def told(*words):
    """Return what a command prints, notes included."""
    return invoke(*words).output


def test_a_network_by_em_or_from_a_complete_table(tables, tmp_path):
    written = tmp_path / "net.bif"
    found = run_json("fit", "cancer", tables / "holes.csv", "-o", written)
    data = load(tables / "holes.csv", Reading(), el.read_network(written))
    expected = el.fit_em(data, el.read_network(written).parents)
    assert found["log_likelihood"] == expected.log_likelihood
    assert found["iterations"] > 1
    counted = run_json("fit", "cancer", tables / "full.csv")
    assert list(counted) == ["log_likelihood", "iterations", "seconds"]
    same = run_json("fit", "cancer", tables / "full.csv", "--method", "em")
    assert same["log_likelihood"] == pytest.approx(counted["log_likelihood"])


@pytest.mark.parametrize("method", ["f-mar", "cca"])
def test_em_may_begin_with_another_estimate(tables, tmp_path, method):
    """DEL, section 4: EM seeded by F-MAR."""
    network, path = el.read_network("cancer"), tables / "holes.csv"
    table = load(path, Reading(), network)
    start = el.fit_deletion(table, network.parents, method=method)
    expected = el.fit_em(table, network.parents, start=start)
    assert run_json("fit", "cancer", path, "--start", method)["log_likelihood"] == (
        pytest.approx(expected.log_likelihood, abs=1e-9)
    )
    el.write_model(start.model, tmp_path / "start.bif")
    again = run_json("fit", "cancer", path, "--start", tmp_path / "start.bif")
    assert again["log_likelihood_before"] == pytest.approx(
        expected.log_likelihoods[0], abs=1e-9
    )
    (tmp_path / "run.toml").write_text(
        f'[data]\nfile = "{path}"\n[[fit]]\nsource = "cancer"\nstart = "{method}"\n'
    )
    run("run", tmp_path / "run.toml", "-o", tmp_path / "out")
    fails(
        "--start is for --method em",
        "fit",
        "cancer",
        path,
        "--method",
        method,
        "--start",
        method,
    )
    fails("no such file", "fit", "cancer", path, "--start", "f-mra")
    fails(
        "--start is for a network",
        "fit",
        tables / "start.pdg.json",
        path,
        "--start",
        method,
    )


def test_a_decision_graph(tables, tmp_path):
    words = ("fit", tables / "start.pdg.json", tables / "holes.csv")
    em = run_json(*words, "-o", tmp_path / "refined.pdg.json")
    keys = "log_likelihood iterations seconds log_likelihood_before converged starts smoothing"
    assert em.keys() == {*keys.split()}
    assert em["smoothing"] >= 0.01
    assert em["log_likelihood"] > em["log_likelihood_before"]
    assert el.read_model(tmp_path / "refined.pdg.json").n_variables == 5
    assert len(run_json(*words, "--starts", 2)["starts"]) == 2


@pytest.mark.parametrize("table", ["full", "holes"])
def test_a_graph_without_parameters(tables, tmp_path, table):
    network, rows = el.read_network("cancer"), tables / f"{table}.csv"
    el.write_graph(
        network.structure.reordered(sorted(network.names)), tmp_path / "graph.json"
    )
    record = run_json(
        "fit", tmp_path / "graph.json", rows, "-o", tmp_path / "fitted.bif"
    )
    expected = run_json("fit", "cancer", rows)
    assert record["log_likelihood"] == pytest.approx(expected["log_likelihood"])
    fitted = el.read_network(tmp_path / "fitted.bif")
    assert set(fitted.structure.arcs) == set(network.structure.arcs)


def test_complete_counts_each_family_in_the_rows_that_observe_it(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b,c\nn,n,?\nn,y,?\ny,?,n\ny,?,y\nn,n,?\n")
    el.write_graph(el.NamedGraph.of("abc", [(), (0,), (1,)]), tmp_path / "net.json")
    words = (
        "fit",
        tmp_path / "net.json",
        tmp_path / "rows.csv",
        "--method",
        "complete",
    )
    record = run_json(*words, "--smoothing", 1, "-o", tmp_path / "out.bif")
    assert record["rows_per_family"] == {"a": 5, "b": 3, "c": 0}
    a, b, c = el.read_network(tmp_path / "out.bif").tables
    assert a.tolist() == pytest.approx([4 / 7, 3 / 7])
    assert b.tolist() == pytest.approx(np.array([[3 / 5, 2 / 5], [0.5, 0.5]]))
    assert c.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    expected = np.log(
        [4 / 7 * 3 / 5, 4 / 7 * 2 / 5, 3 / 14, 3 / 14, 4 / 7 * 3 / 5]
    ).sum()
    assert record["log_likelihood"] == pytest.approx(expected)
    printed = told(*words)
    assert "No row observes the family of 'c': " in printed
    assert "rows per family" in printed


@pytest.fixture
def wind(tmp_path):
    """The lecture's wind velocities: whether one is missing depends on the height."""
    states = (("v1", "v2", "v3", "v4", "v5"), ("h0", "h1", "h2"))
    parents, tables = ((), (0,)), (np.full(5, 0.2), np.full((5, 3), 1 / 3))
    network = el.BayesianNetwork(("v", "h"), states, parents, tables)
    el.write_model(network, tmp_path / "net.bif")
    rows = [("?2?3131?2", 0), ("?4?3", 1), ("?4?5??3??", 2)]
    lines = [
        f"{'?' if v == '?' else 'v' + v},h{h}"
        for velocities, h in rows
        for v in velocities
    ]
    (tmp_path / "wind.csv").write_text("\n".join(["v,h", *lines]) + "\n")
    return (
        "fit",
        tmp_path / "net.bif",
        tmp_path / "wind.csv",
        "-o",
        tmp_path / "out.bif",
    )


def mean(wind):
    return el.read_network(wind[-1]).tables[0] @ HEIGHTS


def test_informed_deletion(wind):
    for method in ("id-mar", "if-mar"):
        record = run_json(
            *wind, "--smoothing", 0, "--separators", "h", "--method", method
        )
        assert record["separators"] == {"v": ["h"], "h": ["h"]}
        assert mean(wind) == pytest.approx(68 / 22)
    learned = run_json(*wind, "--method", "id-mar")["separators"]
    assert learned == {"v": [], "h": []}  # too few rows for BIC


def test_a_missingness_graph(wind):
    words = (*wind, "--smoothing", 0, "--missingness")
    record = run_json(*words, "v <- h")
    assert record["missingness"] == "MAR"
    formula = "P(v) = sum over h of P(v | h, R_v = ob) P(h)"
    expected = {"recoverable": True, "kind": "separators", "formula": formula}
    assert record["families"]["v"] == expected
    assert mean(wind) == pytest.approx(68 / 22)
    printed = told(*words, "v <- v")
    assert "P(v): not recoverable, because v masks itself (v -> R_v)" in printed
    assert "aca 11" in printed
    informed = run_json(*words, "v <- h", "--method", "id-mar")
    assert informed["separators"] == {"v": ["h"], "h": ["h"]}
    em = run_json(*words, "v <- h", "--method", "em")
    assert em["families"]["v"] == expected
    assert em["log_likelihood"] < run_json(*wind, "--method", "em")["log_likelihood"]
    assert el.read_network(wind[-1]).names == ("v", "h")


def test_what_other_estimators_did_is_shown(wind):
    text = wind[2].read_text().replace("v4,h1", "?,h1").replace("v3,h1", "?,h1")
    wind[2].write_text(text)
    words = (*wind, "--method", "d-mar")
    assert run_json(*words)["replaced"]["v"] == {"d-mcar": 4}
    assert "d-mcar 4" in told(*words)


def test_deletion_needs_no_inference(wind, monkeypatch):
    def too_large(*_):
        raise TooLargeError("tables of 1e+17 cells")

    words = (*wind, "--method", "d-mar")
    monkeypatch.setattr("exactlearn.commands.fit.MAX_CELLS", -1)
    assert run_json(*words)["log_likelihood"] is None
    assert "log-likelihood is left out: it takes" in told(*words)
    monkeypatch.undo()
    monkeypatch.setattr(el.BayesianNetwork, "log_likelihood_rows", too_large)
    assert run_json(*words)["log_likelihood"] is None
    assert mean(wind) > 1


@pytest.mark.parametrize("kind", ["bif", "pdg.json"])
def test_an_interrupt_of_em_keeps_its_last_parameters(
    tables, tmp_path, monkeypatch, kind
):
    def stop_at_the_second(display, state):
        if state.startswith("iteration 2"):
            press_ctrl_c()

    whole, half = (tmp_path / f"{name}.{kind}" for name in ("whole", "half"))
    words = ("fit", tables / f"start.{kind}", tables / "holes.csv", "--tolerance", 0)
    limited = run_json(*words, "--iterations", 2, "-o", whole)
    monkeypatch.setattr(SHOW, stop_at_the_second)
    stopped = run_json(*words, "-o", half, status=130)
    assert stopped["log_likelihood"] == limited["log_likelihood"]
    assert half.read_text() == whole.read_text()


@pytest.mark.parametrize("kind", ["bif", "pdg.json"])
def test_em_writes_its_first_parameters_at_once(tables, tmp_path, monkeypatch, kind):
    def die(*unused):
        raise RuntimeError("killed")

    first, killed = (tmp_path / f"{name}.{kind}" for name in ("first", "killed"))
    words = ("fit", tables / f"start.{kind}", tables / "holes.csv", "-o")
    run(*words, first, "--iterations", 0)
    assert run_json(*words, killed, "--time-limit", 0, status=3)["iterations"] == 0
    assert killed.read_text() == first.read_text()
    killed.unlink()
    monkeypatch.setattr(NetworkEM, "m_step", die)
    monkeypatch.setattr(ParameterEM, "m_step", die)
    assert "killed" in fails(*words, killed, status=1)
    assert killed.read_text() == first.read_text()


def test_a_variable_that_no_row_observes_is_named(tables, tmp_path):
    data = el.read_dataset(tables / "full.csv")
    data.codes[:, data.index("Cancer")] = -1
    el.write_dataset(data, tmp_path / "unobserved.csv")
    words = ("fit", "cancer", tmp_path / "unobserved.csv")
    assert len(run_json(*words)["starts"]) == 5
    assert "No row tells the states of Cancer apart" in told(*words)


def test_em_from_several_starts(tables, tmp_path, monkeypatch):
    shown = []

    def press_in_the_third(display, state, *unused):
        shown.append(state)
        if state.startswith("start 3  iteration 1"):
            press_ctrl_c()

    words = ("fit", "cancer", tables / "holes.csv", "--seed", 3)
    paths = [tmp_path / f"{k}.bif" for k in range(2)]
    whole = run_json(*words, "--starts", 2, "-o", paths[0])
    monkeypatch.setattr(SHOW, press_in_the_third)
    half = json.loads(run(*words, "--starts", 4, "-o", paths[1], "--json", status=130))
    assert [s["objective"] for s in half["starts"][:2]] == [
        s["objective"] for s in whole["starts"]
    ]
    assert len(half["starts"]) == 3
    best = max(half["starts"], key=lambda s: s["objective"])
    assert half["log_likelihood"] == best["log_likelihood"]
    if best != half["starts"][2]:
        assert paths[1].read_text() == paths[0].read_text()
    assert "best -" in shown[-1]
