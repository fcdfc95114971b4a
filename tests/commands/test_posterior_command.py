"""``exactlearn posterior``."""

import csv

import numpy as np
import pytest

import exactlearn as el
from exactlearn.scoring.candidates import n_families
from tests.command_line import fails, invoke, read_record, run, run_json


def probabilities(record, key="arcs"):
    return {(a["parent"], a["child"]): a["probability"] for a in record[key]}


def test_the_record_of_asia():
    record = run_json("posterior", "asia-mnar-complete")
    assert record["status"] == "exact"
    assert record["error"] < 1e-9
    assert record["best_probability"] == pytest.approx(5.845e-6, rel=1e-3)
    arcs = probabilities(record)
    assert arcs["either", "lung"] == pytest.approx(0.444, abs=1e-3)
    edges = probabilities(record, "edges")
    assert len(edges) == 28
    assert edges["lung", "either"] == pytest.approx(
        arcs["either", "lung"] + arcs["lung", "either"], abs=1e-12
    )
    assert probabilities(record, "ancestors")["bronc", "dysp"] >= arcs["bronc", "dysp"]


def test_files_hold_the_record_the_arcs_and_a_picture(tmp_path):
    invoke("posterior", "asia-mnar-complete", "--samples", 3, "-o", tmp_path / "asia")
    record = read_record(tmp_path / "asia" / "result.json")
    assert len(record["samples"]) == 3
    with (tmp_path / "asia" / "arcs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 56
    assert float(rows[0]["probability"]) == record["arcs"][0]["probability"]
    assert "<svg" in (tmp_path / "asia" / "posterior.svg").read_text()
    invoke("posterior", "asia-mnar-complete", "-o", tmp_path / "arcs.csv")
    assert (tmp_path / "arcs.csv").read_text() == (
        tmp_path / "asia" / "arcs.csv"
    ).read_text()


def test_constraints_and_beliefs_change_the_answer(tmp_path):
    (tmp_path / "beliefs.csv").write_text("parent,child,probability\nsmoke,lung,0.99\n")
    words = ["posterior", "asia-mnar-complete", "--max-parents", 2]
    plain = probabilities(run_json(*words))
    believed = probabilities(run_json(*words, "--prior", tmp_path / "beliefs.csv"))
    required = probabilities(run_json(*words, "--required", "smoke->lung"))
    assert plain["smoke", "lung"] < believed["smoke", "lung"] < 1
    assert required["smoke", "lung"] == pytest.approx(1.0, abs=1e-12)


def test_scores_and_tables_give_one_answer(tmp_path):
    table = el.read_dataset("cancer-mcar-complete")
    convert = ["convert", "cancer-mcar-complete", "--max-parents", 2]
    run(*convert, "--unpruned", "-o", tmp_path / "cancer.jkl")
    of_scores = run_json("posterior", tmp_path / "cancer.jkl")
    assert of_scores["unlisted"] == 0
    # without the option, the file has the parent sets of best networks alone
    run(*convert, "-o", tmp_path / "pruned.jkl")
    pruned = run_json("posterior", tmp_path / "pruned.jkl")
    kept = el.read_scores(tmp_path / "pruned.jkl").n_candidates
    largest = np.diff(el.read_scores(tmp_path / "pruned.jkl").member_first).max()
    assert pruned["unlisted"] == n_families(table.n_variables, int(largest)) - kept > 0
    assert "--unpruned" in invoke("posterior", tmp_path / "pruned.jkl").stderr
    of_table = run_json("posterior", "cancer-mcar-complete", "--max-parents", 2)
    assert probabilities(of_scores) == pytest.approx(probabilities(of_table), abs=1e-6)


def test_few_missing_cells_are_averaged_over(tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("a,b\nx,u\nx,u\ny,v\ny,?\n?,u\n")
    record = run_json("posterior", path)
    assert record["status"] == "exact over completions"
    assert record["counts"] is None
    cells = [(cell["row"], cell["variable"], cell["value"]) for cell in record["cells"]]
    assert cells == [(3, "b", "u"), (3, "b", "v"), (4, "a", "x"), (4, "a", "y")]
    averaged = el.posterior(el.read_dataset(path), missing="average")
    assert record["log_evidence"] == averaged.log_evidence
    assert "exact over completions" in run("posterior", path, "--counts", "average")
    assert "cells" not in run_json("posterior", path, "--counts", "expected")


def test_missing_cells_are_said_to_be_expected():
    text = run("posterior", "cancer-mcar", "--max-parents", 1)
    assert "expected" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["asia-mnar-complete", "--prior", "no-such-file.csv"], "no-such-file"),
        (["asia-mnar-complete", "-o", "x.bif"], ".json"),
    ],
)
def test_what_has_no_sum_is_refused(words, message):
    assert message in fails("posterior", *words)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x90\xff",
        b'parent,child,probability\nCancer,Xray,0.9,4\n"x',
        b"parent,child,probability\nCancer,Xray,likely\n",
    ],
)
def test_a_file_that_holds_no_beliefs_is_named(tmp_path, content):
    file = tmp_path / "beliefs.csv"
    file.write_bytes(content)
    message = fails("solve", "cancer-mcar-complete", "--prior", file)
    assert str(file) in message
    assert "fault of exactlearn" not in message


def test_beliefs_on_a_variable_called_na_are_read(tmp_path):
    (tmp_path / "t.csv").write_text("NA,b\n" + "0,1\n1,0\n" * 5)
    (tmp_path / "beliefs.csv").write_text("parent,child,probability\nNA,b,0.99\n")
    words = (tmp_path / "t.csv", "--prior", tmp_path / "beliefs.csv")
    assert run_json("solve", *words)["parents"] == {"NA": [], "b": ["NA"]}


def test_a_constraint_on_the_whole_network_has_no_sum(tmp_path):
    (tmp_path / "adjacent.toml").write_text('required_adjacent = ["smoke - lung"]')
    message = fails(
        "posterior", "asia-mnar-complete", "--constraints", tmp_path / "adjacent.toml"
    )
    assert "whole network" in message


def test_a_limit_says_that_nothing_is_known():
    message = fails("posterior", "asia-mnar-complete", "--time-limit", 0)
    assert "allow more time" in message


def test_a_prior_on_a_pruned_file_says_what_is_not_there(tmp_path):
    """The parent sets that no best network has without a prior may win under one."""
    (tmp_path / "beliefs.csv").write_text(
        "parent,child,probability\nPollution,Xray,0.999999\n"
    )
    convert = ["convert", "cancer-mcar-complete", "--max-parents", 2]
    run(*convert, "--unpruned", "-o", tmp_path / "all.jkl")
    run(*convert, "-o", tmp_path / "pruned.jkl")
    words = ("--prior", tmp_path / "beliefs.csv")
    every = run_json("solve", tmp_path / "all.jkl", *words)
    table = run_json("solve", "cancer-mcar-complete", "--max-parents", 2, *words)
    assert every["score"] == pytest.approx(table["score"], abs=1e-6)
    pruned = run_json("solve", tmp_path / "pruned.jkl", *words)
    assert pruned["score"] < every["score"]
    remark = "parent sets are not in the file, and the prior may prefer one"
    assert remark in invoke("solve", tmp_path / "pruned.jkl", *words).stderr
    assert remark not in invoke("solve", tmp_path / "all.jkl", *words).stderr
    assert remark not in invoke("solve", tmp_path / "pruned.jkl").stderr


def test_solve_takes_the_prior_of_the_posterior():
    words = ["cancer-mcar-complete", "--max-parents", 2, "--prior", "fair"]
    best = run_json("solve", *words)
    assert best["parents"] == run_json("posterior", *words)["parents"]
    assert best["score"] < run_json("solve", *words[:3])["score"]


@pytest.mark.parametrize("method", ["branching", "t-local", "mode"])
def test_augment_takes_the_prior_of_the_posterior(tmp_path, method):
    (tmp_path / "beliefs.csv").write_text(
        "parent,child,probability\nPollution,Smoker,0.999\n"
    )
    words = ("augment", "cancer-mcar", "--max-parents", 1, "--method", method)
    record = run_json(*words, "--prior", tmp_path / "beliefs.csv")
    believed = el.augment(
        el.read_dataset("cancer-mcar"),
        "bdeu",
        method=method,
        max_parents=1,
        prior={("Pollution", "Smoker"): 0.999},
    )
    assert record["score"] == pytest.approx(believed.score)
    assert record["score"] != pytest.approx(run_json(*words)["score"])
    assert "exclude each other" in fails(*words, "--prior", "fair", "--best", 2)


def test_posterior_samples_on_request():
    words = ("posterior", "cancer-mcar-complete", "--max-parents", 1)
    sampled = run_json(*words, "--method", "sampled", "--seed", 3)
    exact = run_json(*words, "--method", "exact")
    assert (sampled["status"], exact["status"]) == ("sampled", "exact")
    assert "log_evidence" not in sampled
    assert sampled["error"] <= 0.01
    errors = {(a["parent"], a["child"]): a["error"] for a in sampled["arcs"]}
    assert max(errors.values()) == sampled["error"]
    assert (
        run_json(*words, "--method", "sampled", "--seed", 3)["arcs"] == sampled["arcs"]
    )
