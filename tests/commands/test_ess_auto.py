"""``--ess auto``: the value chosen is the one learnt with, and is told."""

import json

import numpy as np
import pytest

import exactlearn as el
from tests.command_line import invoke, run, run_json

TABLE = "lucas0"


@pytest.fixture
def tables(tmp_path):
    """Write a complete table and one with missing cells."""
    rng = np.random.default_rng(4)
    base = rng.integers(0, 2, (90, 2))
    last = (base.sum(axis=1) + (rng.random(90) < 0.2)) % 2
    names = ("a", "b", "c")
    full = el.Dataset(np.column_stack([base, last]), names, (("no", "yes"),) * 3)
    el.write_dataset(full, tmp_path / "full.csv")
    codes = full.codes.copy()
    codes[[1, 5, 9], [0, 1, 2]] = -1
    holed = el.Dataset(codes, names, full.states)
    el.write_dataset(holed, tmp_path / "holed.csv")
    return {"full": full, "holed": holed}


def check(record, table, **how):
    chosen = el.choose_ess(table, **how)
    assert record["ess"] == json.loads(json.dumps(chosen.to_dict()))
    return chosen.ess


def test_solve_learns_with_the_value_chosen(tables, tmp_path):
    path = tmp_path / "full.csv"
    record = run_json("solve", path, "--ess", "auto", "--seed", 3)
    ess = check(record, tables["full"], seed=3)
    with_number = run_json("solve", path, "--ess", ess)
    assert record["score"] == pytest.approx(with_number["score"])
    assert "ess" not in with_number
    searched = run_json("solve", path, "--ess", "auto", "--seed", 3, "--solver", "ges")
    assert searched["ess"] == record["ess"]
    words = ("solve", path, "--ess", "auto", "--time-limit", 0, "--json")
    at_once = invoke(*words)
    record = json.loads(at_once.stdout)["ess"]
    assert (record["value"], record["folds"]) == (1.0, 0)
    assert "give more time, or a number (--ess 1)" in at_once.stderr


def test_a_certificate_is_that_of_the_value_chosen(tables, tmp_path):
    path, proof, scores = (
        tmp_path / "full.csv",
        tmp_path / "proof.json",
        tmp_path / "scores.jkl",
    )
    run("solve", path, "--ess", "auto", "--certificate", proof)
    run("convert", path, "--ess", "auto", "-o", scores)
    assert run_json("verify", proof, scores)["valid"]


@pytest.mark.parametrize(
    ("command", "how"),
    [("augment", {}), ("impute", {"max_parents": 2})],
)
def test_tables_with_missing_cells_get_a_value_too(command, how, tables, tmp_path):
    record = run_json(*command.split(), tmp_path / "holed.csv", "--ess", "auto")
    check(record, tables["holed"], **how)


def test_the_reason_is_printed_for_each_table_compared(tables, tmp_path):
    path = tmp_path / "full.csv"
    words = ("compare", path, "--hide", "mcar:2", "--repeat", 2, "--methods", "mode")
    done = invoke(*words, "--ess", "auto")
    assert done.stderr.count("equivalent sample size") == 2


def test_a_run_records_the_choice_and_keeps_the_word(tables, tmp_path):
    text = '[data]\nfile = "full.csv"\n[score]\ness = "auto"\n'
    (tmp_path / "run.toml").write_text(text)
    run("run", tmp_path / "run.toml", "-o", tmp_path / "out")
    record = json.loads((tmp_path / "out" / "result.json").read_text())
    check(record, tables["full"])
    assert 'ess = "auto"' in (tmp_path / "out" / "run.toml").read_text()


@pytest.mark.parametrize("ess", ['[score]\ness = "auto"\n', "[score]\ness = 4\n", ""])
def test_a_step_chooses_where_the_run_says_so(ess, tables, tmp_path):
    text = f'[data]\nfile = "full.csv"\n{ess}[solve]\nsource = "holed.csv"\n'
    (tmp_path / "run.toml").write_text(text + "")
    run("run", tmp_path / "run.toml", "-o", tmp_path / "out")
    record = json.loads((tmp_path / "out" / "solved" / "result.json").read_text())
    assert ("ess" in record) == ("auto" in ess)
