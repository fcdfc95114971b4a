"""``solve --bootstrap`` and ``--runner-up`` against the Python functions and enumeration."""

import csv
import json
import os
import signal
from functools import partial
from math import exp

import pytest

import exactlearn as el
from exactlearn.evaluation.learners import learn_exact
from exactlearn.graphs.dag import named_parents
from exactlearn.instances import locate
from tests.command_line import PATIENCE, fails, run, run_json, started, wait_for

TABLE, ASIA = "cancer-mcar-complete", "asia-mnar-complete"


def test_the_bootstrap_is_that_of_the_python_function(tmp_path) -> None:
    record = run_json("solve", TABLE, "--bootstrap", 8, "--seed", 4)
    found = el.bootstrap(el.read_dataset(locate(TABLE, ".csv")), 8, seed=4)
    assert record["support"] == found.to_records()
    assert record["bootstrap"]["threshold"] == found.threshold
    assert record["bootstrap"] == found.to_dict() | {
        "status": "done",
        "reversible": record["bootstrap"]["reversible"],
    }


def test_options_of_the_learner_count(tmp_path) -> None:
    record = run_json(
        "solve", TABLE, "--bootstrap", 5, "--criterion", "bic", "--max-parents", 1, "--seed", 1
    )
    table = el.read_dataset(locate(TABLE, ".csv"))
    learner = partial(learn_exact, score="bic", max_parents=1)
    assert record["support"] == el.bootstrap(table, 5, learner=learner, seed=1).to_records()
    forbidden = [arc for a in ("Smoker", "Cancer") for b in ("Xray",) for arc in (f"{a} -> {b}",)]
    held = run_json(
        "solve", TABLE, "--bootstrap", 5, *(w for f in forbidden for w in ("--forbid", f))
    )
    arcs = {(row["parent"], row["child"]): row["strength"] for row in held["support"]}
    assert arcs.get(("Cancer", "Xray"), 0.0) == 0.0


def test_no_arc_between_tiers_is_reversible_in_the_averaged_network() -> None:
    names = el.read_dataset(locate(TABLE, ".csv")).names
    words = ("solve", TABLE, "--bootstrap", 8, "--max-parents", 1)
    free = run_json(*words)["bootstrap"]
    assert free["reversible"]
    held = run_json(*words, "--tiers", ";".join(names))["bootstrap"]
    assert any(held["averaged"].values())
    assert held["reversible"] == []


def test_a_folder_is_gone_on_with_by_any_number_of_processes(tmp_path) -> None:
    words = ("solve", TABLE, "-o", tmp_path / "out")
    first = run_json(*words, "--bootstrap", 3)
    kept = json.loads((tmp_path / "out" / "bootstrap.json").read_text())
    again = run_json(*words, "--bootstrap", 3, "--jobs", 2, "--best", 2)
    assert json.loads((tmp_path / "out" / "bootstrap.json").read_text()) == kept
    strengths = {(r["parent"], r["child"]): r["strength"] for r in first["support"]}
    for row in again["support"]:
        assert row["strength"] == strengths.get((row["parent"], row["child"]), 0.0)
    listed = {(r["parent"], r["child"]) for r in again["support"] if r["support"] > 0}
    assert listed == {
        (p, v) for n in again["networks"] for v, ps in n["parents"].items() for p in ps
    }


def test_both_kinds_of_support_are_in_one_table_and_one_figure(tmp_path) -> None:
    words = ("solve", TABLE, "--best", 3, "--bootstrap", 3)
    printed = run(*words, "--support", tmp_path / "both.csv")
    head = next(line for line in printed.splitlines() if line.startswith("parent  "))
    assert head.split()[2:] == [
        *("support", "weight", "adjacency_support", "adjacency_weight"),
        *("strength", "edge_strength", "compelled", "reversible"),
    ]
    with (tmp_path / "both.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {"weight", "strength"} <= rows[0].keys()
    for row in rows:
        reverse = [r for r in rows if (r["parent"], r["child"]) == (row["child"], row["parent"])]
        for other in reverse:
            assert other["edge_strength"] == row["edge_strength"]
            assert other["adjacency_weight"] == row["adjacency_weight"]
    run(*words, "--support", tmp_path / "both.svg")
    drawn = (tmp_path / "both.svg").read_text()
    assert "bootstrap strength of the arcs" in drawn
    assert "weight of the arcs" in drawn


@pytest.mark.parametrize("words", [(ASIA,), (ASIA, "--solver", "ges"), ("cancer-mcar",)])
def test_the_averaged_network_is_written_with_parameters(words, tmp_path) -> None:
    path = tmp_path / "averaged.bif"
    record = run_json("solve", *words, "--bootstrap", 4, "--averaged", path)
    written, table = el.read_network(path), el.read_dataset(words[0])
    assert named_parents(written.names, written.parents) == record["bootstrap"]["averaged"]
    assert any(written.parents)
    assert written == el.fit_em(table, written.parents).model


def test_ctrl_c_keeps_and_prints_the_samples_that_are_done(tmp_path) -> None:
    words = ("solve", TABLE, "--bootstrap", 5000, "--jobs", 2, "-o", tmp_path, "--json")
    kept = tmp_path / "bootstrap.json"
    with started(*words, start_new_session=True) as process:
        wait_for(kept.exists)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers, too
        answer, notes = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in notes
    record = json.loads(answer)
    assert record["status"] == "optimal"
    assert record["bootstrap"]["status"] == "interrupted"
    done = json.loads(kept.read_text())["bootstrap"]
    whole = [k for k, found in done.items() if not found["network"].get("unfinished")]
    assert 1 <= len(whole) <= record["bootstrap"]["replicates"] < 5000
    assert record["bootstrap"] == json.loads((tmp_path / "result.json").read_text())["bootstrap"]


@pytest.mark.parametrize("solver", ["ges", "kes"])
def test_class_searches_are_bootstrapped_too(solver: str) -> None:
    words = ("solve", TABLE, "--solver", solver, "--restarts", 3) if solver == "kes" else (
        "solve", TABLE, "--solver", solver)  # fmt: skip
    record = run_json(*words, "--bootstrap", 3)
    assert record["bootstrap"]["replicates"] == 3
    assert any(row["strength"] > 0 for row in record["support"])
    assert "Averaged network" in run(*words, "--bootstrap", 3)


def test_missing_cells_and_a_limit_of_no_time() -> None:
    record = run_json("solve", "cancer-mcar", "--bootstrap", 3, "--ess", 1)
    assert record["bootstrap"]["replicates"] == 3
    none = run_json("solve", TABLE, "--bootstrap", 3, "--time-limit", 0, status=3)
    assert none["bootstrap"]["replicates"] < 3 or none["bootstrap"]["unfinished"]


def test_what_does_not_go_together_is_refused(tmp_path) -> None:
    run("solve", TABLE, "-o", tmp_path / "scores.jkl")
    assert "give the table" in fails("solve", tmp_path / "scores.jkl", "--bootstrap", 2)
    assert "--jobs is for --bootstrap" in fails("solve", TABLE, "--jobs", 2)
    assert "--averaged is for --bootstrap" in fails("solve", TABLE, "--averaged", "a.bif")
    words = ("solve", TABLE, "--bootstrap", 2, "--averaged", "a.csv")
    assert "--averaged a.csv: expected a file name ending in .bif" in fails(*words)
    assert "second of --best-classes 2" in fails("solve", TABLE, "--runner-up", "--best", 2)


@pytest.mark.parametrize("table", [TABLE, "asia-mnar-complete"])
def test_the_runner_up_is_the_best_network_of_another_class(table: str) -> None:
    record = run_json("solve", table, "--runner-up")
    listed = run_json("solve", table, "--best", 200)["networks"]
    names = list(record["parents"])

    def class_of(parents):
        return el.cpdag([tuple(names.index(p) for p in parents[name]) for name in names])

    own = class_of(record["parents"])
    expected = next(n for n in listed if class_of(n["parents"]) != own)
    second = record["runner_up"]
    assert second["score"] == pytest.approx(expected["score"])
    assert class_of(second["parents"]) != own
    assert second["log_bayes_factor"] == pytest.approx(second["score"] - record["score"])
    assert record["bayes_factor"].startswith("log Bayes factor")
    printed = run("solve", table, "--runner-up")
    assert f"Bayes factor {exp(min(0, second['log_bayes_factor'])):.3g}" in printed
    assert "with" in printed


def test_bayes_factors_of_lists_and_what_they_are(tmp_path) -> None:
    for criterion, said in (("bdeu", "marginal"), ("bic", "approximates"), ("aic", "no marginal")):
        record = run_json("solve", TABLE, "--best", 3, "--criterion", criterion)
        assert said in record["bayes_factor"]
        for network in record["networks"]:
            difference = network["score"] - record["networks"][0]["score"]
            assert network["log_bayes_factor"] == difference


def test_a_table_of_one_variable_has_no_runner_up(tmp_path) -> None:
    (tmp_path / "one.csv").write_text("a\nx\ny\nx\n")
    assert "there is none" in run("solve", tmp_path / "one.csv", "--runner-up")
