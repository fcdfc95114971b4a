"""What the records and tables say of each completed cell, against the tables changed by hand."""

import json
from math import log

import numpy as np
import pytest

import exactlearn as el
from exactlearn.augmentation.coordinate_ascent import cell_losses
from exactlearn.bayesnet.row_completion import posterior_cells
from exactlearn.commands import completion as command
from exactlearn.instances import locate
from exactlearn.scoring.scores import total_score
from tests.command_line import invoke, run, run_json

TABLE = el.read_dataset(locate("cancer-mcar", ".csv"))


def changed(cells: list[dict], at: int, value: str) -> list[int]:
    told = [value if k == at else cell["value"] for k, cell in enumerate(cells)]
    columns = TABLE.missing_cells[:, 1].tolist()
    return [TABLE.states[v].index(name) for v, name in zip(columns, told, strict=True)]


def check(cells: list[dict], parents: dict) -> None:
    dag = [[TABLE.names.index(p) for p in parents[name]] for name in TABLE.names]
    score = el.BDeu(1.0)

    def of(at: int, value: str) -> float:
        return total_score(TABLE.complete(changed(cells, at, value)), dag, score)

    posterior = posterior_cells(el.fit_em(TABLE, dag).model, TABLE)
    for k, (cell, row) in enumerate(zip(cells, posterior, strict=True)):
        states = TABLE.states[TABLE.names.index(cell["variable"])]
        losses = {
            s: of(k, cell["value"]) - of(k, s) for s in states if s != cell["value"]
        }
        assert cell["next_best"] == min(losses, key=losses.__getitem__)
        assert cell["loss_of_next_best"] == pytest.approx(
            min(losses.values()), abs=1e-7
        )
        assert cell["posterior"] == pytest.approx(
            row[states.index(cell["value"])], abs=1e-4
        )


def test_augment_and_run_say_it(tmp_path) -> None:
    record = run_json("augment", "cancer-mcar", "--ess", 1)
    check(record["completion"], record["parents"])
    assert "other cells stay" in record["loss_of_next_best"]
    printed = run("augment", "cancer-mcar", "--ess", 1)
    head = next(line for line in printed.splitlines() if line.startswith("row "))
    told = ["row", "line", "variable", "value", "posterior", "next", "best"]
    told += ["loss", "of", "next", "best"]
    assert head.split() == told
    run("run", "cancer", "-o", tmp_path / "out")
    ran = json.loads((tmp_path / "out" / "result.json").read_text())
    assert all(cell["loss_of_next_best"] >= -1e-9 for cell in ran["completion"])
    assert all(0 < cell["posterior"] <= 1 for cell in ran["completion"])
    assert ran["posterior"] == record["posterior"]


def test_posteriors_for_which_no_time_is_left_are_left_out(monkeypatch) -> None:
    monkeypatch.setattr(command, "LATE", 0.0)
    words = ("augment", "cancer-mcar", "--ess", 1, "--time-limit", 0, "--json")
    done = invoke(*words, status=3)
    assert "EM was not done in time" in done.stderr
    cells = json.loads(done.stdout)["completion"]
    assert all(
        "loss_of_next_best" in cell and "posterior" not in cell for cell in cells
    )


def test_impute_gives_the_ratio_of_the_probabilities() -> None:
    record = run_json("impute", "cancer-mcar", "--method", "posterior", "--ess", 1)
    for cell in record["completion"]:
        p = cell["probability"]
        assert cell["next_best"] != cell["value"]
        assert cell["loss_of_next_best"] == pytest.approx(
            log(p / (1 - p))
        )  # all have two states
    assert "ratio" in record["loss_of_next_best"]


def test_frames_have_the_same_columns() -> None:
    found = el.augment(TABLE, el.BDeu(1.0))
    frame = found.to_frame(TABLE, el.BDeu(1.0))
    losses = cell_losses(TABLE, el.BDeu(1.0), found.parents, found.values)
    assert (
        frame.loss_of_next_best.tolist()
        == np.where(losses == 0, np.inf, losses).min(1).tolist()
    )
    assert list(found.to_frame(TABLE).columns) == ["row", "variable", "value"]
    imputed = el.Imputer(mode="posterior").fit(TABLE).imputed(TABLE)
    assert list(imputed.to_frame(TABLE).columns)[-2:] == [
        "next_best",
        "loss_of_next_best",
    ]


def test_an_impossible_next_value_loses_without_bound() -> None:
    table = el.Dataset(np.array([[0], [1], [2], [-1]]), ("a",), (("x", "y", "z"),))
    losses = np.array([[np.inf, 0.0, np.inf]])
    assert table.next_best([1], losses) == (["x"], np.array([np.inf]))
    assert table.part(slice(0)).next_best([], losses[:0])[0] == []
    narrow = el.Dataset(
        np.array([[0, 2], [1, 1], [-1, 0]]), ("a", "b"), (("x", "y"), tuple("pqr"))
    )
    assert narrow.next_best([0], np.array([[0.0, 9.0, 0.0]]))[0] == ["y"]
