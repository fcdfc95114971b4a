"""The published experiments: what is drawn, what is kept, what is told."""

import json

import numpy as np
import pytest

from exactlearn.errors import FormatError, OptionError
from exactlearn.reproduce.augmentation import experiments, hide_labels
from exactlearn.reproduce.experiment import Experiment
from exactlearn.reproduce.repetitions import Plan, repeat, summary
from tests.augmentation_oracle import random_table
from tests.command_line import fails, run


def small(name="small"):
    def draw(_, rng):
        full = random_table(rng, 3, 20, 0, 2)
        return hide_labels(full, 0, 4, None, rng), full

    return Experiment(table="1", name=name, draw=draw, methods=("t-local", "mode"),
                      published={"t-local": 80.0})  # fmt: skip


def test_experiments_have_different_names_and_known_methods():
    from exactlearn.imputation.methods import METHODS

    found = experiments()
    assert len({e.key for e in found}) == len(found)
    assert {m for e in found for m in e.methods} <= set(METHODS)
    assert [e.table for e in found] == sorted(e.table for e in found)
    assert all(set(e.published) <= set(e.methods) for e in found)


def test_tables_of_the_paper_hide_what_they_say(data_dir):
    for experiment in experiments():
        holed, truth = experiment.draw(data_dir, np.random.default_rng(3))
        cells = holed.missing_cells
        hidden = truth.codes[cells[:, 0], cells[:, 1]]
        assert len(cells)
        if "value" in experiment.name and "any" not in experiment.name:
            assert set(hidden.tolist()) == {int(experiment.name.split()[-1])}
        if experiment.table == "5":
            assert len(cells) == 100
            assert {truth.states[6][h] for h in hidden} == {experiment.name.split("'")[1]}


def test_what_is_done_is_not_done_again(tmp_path):
    record, told = tmp_path / "repetitions.json", []
    plan = Plan(repetitions=2, record=record)
    first = repeat(plan, [small()], told.append)
    assert len(told) == 4
    assert repeat(plan, [small()], told.append) == first
    assert len(told) == 4
    repeat(Plan(repetitions=3, record=record), [small(), small("other")], told.append)
    assert len(told) == 4 + 2 + 6
    assert set(json.loads(record.read_text())) == {"table 1: small", "table 1: other"}
    rows = summary(plan, [small()], first)
    assert [row["method"] for row in rows] == ["t-local", "mode"]
    assert rows[0]["published"] == 0.8
    own = first["table 1: small"]
    assert rows[1]["accuracy"] == pytest.approx(
        np.mean([own[seed]["mode"]["accuracy"] for seed in ("0", "1")])
    )


def test_a_broken_record_is_refused(tmp_path):
    record = tmp_path / "repetitions.json"
    for text in ("{", "[]"):
        record.write_text(text)
        with pytest.raises(FormatError, match="no record of repetitions"):
            repeat(Plan(repetitions=1, record=record), [small()], print)


def test_data_that_are_not_there_are_asked_for():
    experiment = next(e for e in experiments() if e.table == "3")
    with pytest.raises(OptionError, match="--data-dir"):
        experiment.draw(None, np.random.default_rng(0))


def test_the_command_prints_ours_beside_the_published_figures(tmp_path):
    folder, once = tmp_path / "tables", ("--repetitions", "1", "--starts", "1", "-q")
    arguments = ("reproduce", "augmentation", *once, "-o", folder, "--only", "asia, value 0")
    told = json.loads(run(*arguments, "--json"))
    assert [row["published"] for row in told["rows"]] == [0.8438, 0.79, 0.4375]
    assert all(0 <= row["accuracy"] <= 1 for row in told["rows"])
    assert json.loads((folder / "tables.json").read_text()) == told
    done = (folder / "repetitions.json").read_text()
    assert "84.38 %" in run(*arguments)
    assert (folder / "repetitions.json").read_text() == done
    told = run("reproduce", "augmentation", *once, "--only", "cancer, value 1")
    assert "stands in for prostate cancer" in told


def test_what_is_not_there_is_refused():
    assert "no table '7'" in fails("reproduce", "augmentation", "--tables", "7")
    told = fails("reproduce", "augmentation", "--tables", "5", "--only", "cart")
    assert "no experiment has 'cart' in its name; there are \"car, labels 'unacc'\"" in told
