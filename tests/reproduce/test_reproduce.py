"""The published experiments: what is drawn, what is kept, what is told."""

import json

import numpy as np
import pytest

from exactlearn.errors import FormatError, OptionError
from exactlearn.imputation.learning import Learning
from exactlearn.imputation.methods import METHODS, Method
from exactlearn.reproduce.augmentation import augmentation
from exactlearn.reproduce.experiment import (
    GENERATING,
    Experiment,
    Pool,
    repeat,
    summary,
)
from exactlearn.reproduce.runner import Record, Setup
from exactlearn.reproduce.sources import hide_labels
from tests.augmentation_oracle import random_table
from tests.command_line import fails, run
from tests.interrupts import press_ctrl_c

experiments = augmentation().experiments


def small(name="small", **options):
    def draw(_, rng):
        full = random_table(rng, 3, 20, 0, 2)
        return hide_labels(full, 0, 4, None, rng), full

    return Experiment(table="1", name=name, draw=draw, methods=("t-local", "mode"),
                      published={"t-local": 80.0}, **options)  # fmt: skip


def test_experiments_have_different_names_and_known_methods():
    found = experiments
    assert len({e.key for e in found}) == len(found)
    assert {m for e in found for m in e.methods} <= {*METHODS, GENERATING}
    assert all((GENERATING in e.methods) == (e.network is not None) for e in found)
    assert all(set(e.published) <= set(e.methods) for e in found)
    assert all(set(e.pool.published) <= set(e.methods) for e in found if e.pool)
    assert set(augmentation().notes) <= {e.table for e in found}


def test_tables_of_the_paper_hide_what_they_say(data_dir):
    for experiment in experiments:
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
    file, told = tmp_path / "repetitions.json", []

    def runs(repetitions, experiments, methods=()):
        record = Record.open(file, told.append)
        setup = Setup(repetitions=repetitions, record=record, methods=methods)
        repeat(setup, experiments)
        return setup

    first = runs(2, [small()])
    assert len(told) == 4
    assert runs(2, [small()]).record.done == first.record.done
    assert len(told) == 4
    runs(3, [small(), small("other")])
    assert len(told) == 4 + 2 + 6
    only_mode = runs(3, [small("third")], ["mode"])
    assert len(told) == 12 + 3
    assert [row["method"] for row in summary(only_mode, [small("third")])] == ["mode"]
    assert set(json.loads(file.read_text())) == {
        "table 1: small", "table 1: other", "table 1: third",
    }  # fmt: skip
    rows = summary(first, [small()])
    assert [row["method"] for row in rows] == ["t-local", "mode"]
    assert rows[0]["published"] == 0.8
    own = first.record.done["table 1: small"]
    assert rows[1]["accuracy"] == pytest.approx(
        np.mean([own[seed]["mode"]["accuracy"] for seed in ("0", "1")])
    )


def test_other_starts_are_other_repetitions(tmp_path):
    told = []
    for starts in (1, 2):
        how = Learning(starts=starts)
        record = Record.open(tmp_path / "repetitions.json", told.append)
        repeat(Setup(repetitions=1, record=record, learning=how), [small()])
    assert len(told) == 4


def test_parts_are_pooled_beside_the_figure_for_all():
    pool = Pool(name="both", published={"t-local": 50.0})
    parts = [small("one", pool=pool), small("two", pool=pool), small("alone")]
    setup = Setup(repetitions=3, record=Record(None, lambda told: None))
    repeat(setup, parts)
    rows = summary(setup, parts)
    assert [row["experiment"] for row in rows[::2]] == ["one", "two", "both", "alone"]
    both = rows[4]
    assert both["repetitions"] == 6
    assert both["accuracy"] == pytest.approx((rows[0]["accuracy"] + rows[2]["accuracy"]) / 2)
    errors = rows[0]["accuracy_error"], rows[2]["accuracy_error"]
    assert both["accuracy_error"] == pytest.approx(np.hypot(*errors) / 2)
    off = (both["accuracy"] - 0.5) / both["accuracy_error"]
    assert both["errors_off"] == pytest.approx(off)
    assert rows[5]["ahead"] == pytest.approx(both["accuracy"] - rows[5]["accuracy"])


def test_an_interrupt_keeps_what_is_done(tmp_path, monkeypatch):
    calls = []

    def interrupted_at_the_third(dataset, how):
        calls.append(how.seed)
        if len(calls) == 3:
            press_ctrl_c()
        return METHODS["t-local"](dataset, how)

    monkeypatch.setattr(
        "exactlearn.reproduce.experiment.METHODS",
        {**METHODS, "mode": Method(interrupted_at_the_third)},
    )
    words = ("--tables", 1, "--only", "asia", "--methods", "mode", "-o", tmp_path, "--json")
    told = json.loads(run("reproduce", "augmentation", *words, status=130))
    assert [row["repetitions"] for row in told["rows"]] == [1, 1, 2]


def test_a_broken_record_is_refused(tmp_path):
    record = tmp_path / "repetitions.json"
    for text in ("{", "[]"):
        record.write_text(text)
        with pytest.raises(FormatError, match="no record of repetitions"):
            Record.open(record, print)


def test_data_that_are_not_there_are_asked_for():
    experiment = next(e for e in experiments if e.table == "3")
    with pytest.raises(OptionError, match="--data-dir"):
        experiment.draw(None, np.random.default_rng(0))


def test_the_command_prints_ours_beside_the_published_figures(tmp_path):
    folder, once = tmp_path / "tables", ("--repetitions", "1", "--starts", "1", "-q")
    methods = ("--methods", "t-local,structural-em-hard")
    arguments = ("reproduce", "augmentation", *once, "-o", folder, "--only", "asia", *methods)
    told = json.loads(run(*arguments, "--json"))
    pooled = [row for row in told["rows"] if row["experiment"] == "asia"]
    assert [row["published"] for row in pooled] == [0.79, 0.4375]
    assert all(0 <= row["accuracy"] <= 1 for row in told["rows"])
    assert json.loads((folder / "tables.json").read_text()) == told
    done = (folder / "repetitions.json").read_text()
    printed = run(*arguments)
    assert "43.75 %" in printed
    assert "Table 1: " in printed
    assert (folder / "repetitions.json").read_text() == done


def test_what_is_not_there_is_refused():
    assert "no table '7'" in fails("reproduce", "augmentation", "--tables", "7")
    told = fails("reproduce", "augmentation", "--tables", "5", "--only", "cart")
    assert "no experiment has 'cart' in its name; there are \"car, labels 'unacc'\"" in told
    told = fails("reproduce", "augmentation", "--tables", "5", "--methods", "svm")
    assert "no method 'svm'; did you mean 'svm-rbf'" in told
    words = ("reproduce", "augmentation", "--tables", "3", "--methods")
    assert "expected one of mode" in fails(*words, GENERATING)
