"""Commands on naive Bayes models: learnt, fitted, asked, judged, drawn from and converted."""

import json

import numpy as np
import pytest

import exactlearn as el
from exactlearn.commands import models
from exactlearn.data.dataset import Dataset
from exactlearn.formats.table import read_dataset, write_dataset
from tests.command_line import fails, run, run_json
from tests.interrupts import press_ctrl_c
from tests.naive_bayes_oracle import random_naive_bayes


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows of a model of three components, with holes, others of it, and a model learnt."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    truth = random_naive_bayes(rng, 5, 3)
    full = truth.sample(200, rng)
    codes = full.codes.astype(int)
    codes[rng.random(codes.shape) < 0.1] = -1
    write_dataset(Dataset(codes, full.names, full.states), folder / "rows.csv")
    write_dataset(truth.sample(100, rng), folder / "test.csv")
    el.write_model(truth, folder / "truth.nb.json")
    run(
        "learn-nb",
        folder / "rows.csv",
        "--components",
        3,
        "-o",
        folder / "model.nb.json",
    )
    return folder


def test_the_best_number_of_components_is_learnt(folder, tmp_path):
    file = tmp_path / "model.nb.json"
    record = run_json("learn-nb", folder / "rows.csv", "-o", file)
    assert record["finished"] is True
    assert (record["status"], record["bound"], record["gap"]) == (
        "heuristic",
        None,
        None,
    )
    model, data = el.read_model(file), read_dataset(folder / "rows.csv")
    assert model.n_components == record["components"]
    assert model.effective_size == record["effective_size"]
    total = data.total(model.log_likelihood_rows(data))
    assert record["log_likelihood"] == pytest.approx(total)
    assert record["log_likelihood_per_row"] == pytest.approx(total / 200)
    weight, size = record["size_weight"], record["representational_size"]
    assert record["score"] == pytest.approx((1 - weight) * total - weight * size)
    assert record["score"] == max(m["score"] for m in record["models"])
    again = tmp_path / "again.nb.json"
    run("learn-nb", folder / "rows.csv", "-q", "-o", again)
    assert again.read_bytes() == file.read_bytes()


def test_an_interrupt_or_a_limit_keeps_the_best_so_far(folder, tmp_path, monkeypatch):
    file = tmp_path / "model.nb.json"
    words = (folder / "rows.csv", "--size-weight", 0, "-o", file)
    record = run_json("learn-nb", *words, "--time-limit", 0, status=3)
    assert (record["finished"], record["components"]) == (False, 1)
    assert record["status"] == "feasible"
    assert el.read_model(file).n_components == 1
    grow = el.learn_naive_bayes

    def interrupted(*arguments, on_model, **options):
        def stop(model, row, is_best):
            on_model(model, row, is_best)
            if row.components == 2:
                press_ctrl_c()

        return grow(*arguments, on_model=stop, **options)

    monkeypatch.setattr(el, "learn_naive_bayes", interrupted)
    record = tmp_path / "record.json"
    run("learn-nb", *words[:-1], record, status=130)
    assert json.loads(record.read_text())["status"] == "interrupted"


def test_a_better_model_is_written_at_once(folder, tmp_path, monkeypatch):
    def die(*arguments, on_model, **options):
        model = el.read_model(folder / "model.nb.json")
        on_model(model, models.ComponentRow(3, 1, 1, -1.0, -1.0, 0.0), True)
        raise RuntimeError("killed")

    monkeypatch.setattr(el, "learn_naive_bayes", die)
    file = tmp_path / "model.nb.json"
    assert "killed" in fails("learn-nb", folder / "rows.csv", "-o", file, status=1)
    assert el.read_model(file).n_components == 3


def test_a_model_is_fitted_by_em_from_its_parameters(folder, tmp_path):
    file = tmp_path / "fitted.nb.json"
    words = ("fit", folder / "truth.nb.json", folder / "rows.csv", "-o", file)
    record = run_json(*words, "--smoothing", 0.1)
    fitted, data = el.read_model(file), read_dataset(folder / "rows.csv")
    assert fitted.n_components == 3
    assert record["log_likelihood"] == pytest.approx(
        data.total(fitted.log_likelihood_rows(data))
    )


def test_questions_are_answered_with_the_component_summed_out(folder, tmp_path):
    model = folder / "model.nb.json"
    learnt = el.read_model(model)
    record = run_json("query", model, "-e", "X0=a", "--best", 2)
    evidence = {"X0": "a"}
    assert (
        record["posterior"]
        == el.query(learnt, evidence, [*record["posterior"]]).posterior
    )
    assert len(record["explanations"]) == 2


def test_a_model_is_judged_drawn_from_and_converted(folder, tmp_path):
    model = folder / "model.nb.json"
    record = run_json(
        *("evaluate", model, folder / "test.csv", "--class", "X0"),
        *("--reference", folder / "truth.nb.json"),
    )
    assert record["kl_method"] == "exact"
    table = el.read_dataset(folder / "test.csv")
    assert record["accuracy"] == el.classify(el.read_model(model), table, "X0").accuracy
    for name in ("network.bif", "graph.pdg.json"):
        run("convert", model, "-o", tmp_path / name)
        answer = run_json("query", tmp_path / name, "-e", "X0=a", "--target", "X2")
        expected = run_json("query", model, "-e", "X0=a", "--target", "X2")
        assert answer["posterior"]["X2"] == pytest.approx(expected["posterior"]["X2"])
    run(
        "simulate",
        model,
        "--rows",
        20,
        "--hide",
        "mcar:0.2",
        "-o",
        tmp_path / "drawn.csv",
    )
    assert read_dataset(tmp_path / "drawn.csv").n_rows == 20
    run(
        "simulate",
        tmp_path / "graph.pdg.json",
        "--rows",
        20,
        "-o",
        tmp_path / "drawn.csv",
    )
