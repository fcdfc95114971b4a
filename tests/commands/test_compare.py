"""The command that puts methods of completion side by side, and the numbers it prints."""

import json
from math import isnan

import numpy as np
import pytest

from exactlearn.commands import judge
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError
from exactlearn.evaluation.metrics import LEAST_PROBABILITY, JudgedCells
from exactlearn.formats.table import read_dataset, write_dataset
from exactlearn.imputation.learning import Imputed
from exactlearn.imputation.methods import METHODS, Method
from tests.command_line import run, run_json
from tests.interrupts import press_ctrl_c

HIDDEN = ("--hide", "mnar:1", "--starts", 1, "--networks", 2)
CANCER = ("compare", "--network", "cancer", "--rows", 60, *HIDDEN)


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "full.csv"
    run("simulate", "cancer", "--rows", 80, "--seed", 3, "-o", path)
    return path


def test_methods_are_compared_with_those_of_scikit_learn():
    pytest.importorskip("sklearn")
    methods = ["t-local", "posterior", "mpe", "averaged", "knn", "iterative"]
    words = ("--methods", ",".join(methods), "--repeat", 2)
    rows = run_json(*CANCER, *words)["rows"]
    assert [row["method"] for row in rows] == methods
    for row in rows:
        assert 0 <= row["accuracy"] <= 1
        assert row["reference"] == "t-local"
        assert row["difference"] == pytest.approx(row["accuracy"] - rows[0]["accuracy"])
        assert (row["score"] is None) == (
            row["method"] in ("averaged", "knn", "iterative")
        )
        assert (row["log_loss"] is None) == (row["method"] == "t-local")
    assert rows[0]["p_value"] == 1
    assert rows[0]["score"] >= max(rows[1]["score"], rows[2]["score"])
    assert "significant" in run(*CANCER, *words, "-q")


def test_an_interrupt_keeps_the_tables_that_are_done(monkeypatch, tmp_path):
    calls = []

    def interrupted_at_the_third(data, how):
        calls.append(how.seed)
        if len(calls) == 3:
            press_ctrl_c()
        return METHODS["posterior"](data, how)

    monkeypatch.setitem(judge.METHODS, "mode", Method(interrupted_at_the_third))
    words = (*CANCER, "--methods", "mode", "--repeat", 5, "-o", tmp_path / "x.json")
    (row,) = run_json(*words, status=130)["rows"]
    assert row["tables"] == 2
    assert json.loads((tmp_path / "x.json").read_text())["rows"] == [row]
    assert calls == [0, 1, 2]


def test_an_interrupt_keeps_the_methods_that_are_done(monkeypatch, tmp_path):
    def interrupted(data, how):
        press_ctrl_c()
        return Imputed(values=None, status="interrupted")

    monkeypatch.setitem(judge.METHODS, "posterior", Method(interrupted))
    words, record = (
        ("compare", "cancer-mcar", "-o", tmp_path / "x.json", "--methods"),
        tmp_path / "x.json",
    )
    assert run(*words, "posterior", status=130) == ""
    assert not record.exists()
    (row,) = run_json(*words, "mode,posterior", status=130)["rows"]
    assert row["method"] == "mode"
    assert json.loads(record.read_text())["rows"] == [row]


def test_the_default_method_is_compared_by_default_and_ends(monkeypatch):
    """Left out of the defaults were `branching`, and a limit for what may take any time."""
    limits = {}

    def of(name):
        def method(data, how):
            limits[name] = how.time_limit
            return mode(data, how)

        return method

    mode = METHODS["mode"]
    for name in ("branching", "t-local", "mode"):
        monkeypatch.setitem(judge.METHODS, name, Method(of(name)))
    words = ("compare", "cancer-mcar")
    assert [row["method"] for row in run_json(*words)["rows"]] == list(limits)
    assert limits == pytest.approx(
        {"branching": 60, "t-local": 60, "mode": 60}, abs=0.5
    )
    run(*words, "--time-limit", 7)
    assert list(limits.values()) == pytest.approx([7] * len(limits), abs=0.5)
    run(*words, "--methods", "branching")
    assert limits["branching"] is None


def test_several_mechanisms_go_into_a_folder_that_resumes(full, tmp_path, monkeypatch):
    hidden = ("--hide", "mcar:0.1", "--hide", "mar:0.2", "--repeat", 2)
    methods = ("--methods", "mode,posterior")
    words = ("compare", full, *hidden, *methods, "-o", tmp_path / "all")
    rows = run_json(*words)["rows"]
    assert [(row["table"], row["hidden"], row["method"]) for row in rows] == [
        (str(full), hidden, method)
        for hidden in ("mcar:0.1", "mar:0.2")
        for method in ("mode", "posterior")
    ]
    for first, second in zip(rows[::2], rows[1::2], strict=True):
        assert first["cells"] == second["cells"]
        loss = second["log_loss"] - first["log_loss"]
        assert second["loss_difference"] == pytest.approx(loss, abs=0.03)
        assert first["loss_p_value"] == 1

    def refuse(data, how):
        raise AssertionError

    for name in ("mode", "posterior"):
        monkeypatch.setitem(judge.METHODS, name, Method(refuse))
    assert run_json(*words)["rows"] == rows


def test_changed_input_files_are_compared_anew(full, tmp_path):
    """A truth or network of the same file name but with other contents."""
    holes, truth, network = (
        tmp_path / "holes.csv",
        tmp_path / "full.csv",
        tmp_path / "net.bif",
    )
    words = ("simulate", "cancer", "--rows", 400, "--hide", "mcar:0.3", "-o", holes)
    given = (
        "compare",
        holes,
        "--truth",
        truth,
        "--methods",
        "mode",
        "-o",
        tmp_path / "given",
    )
    drawn = (
        "compare",
        "--network",
        network,
        "--rows",
        40,
        "--methods",
        "mode",
        "--repeat",
        1,
    )
    drawn = (*drawn, "--hide", "mcar:0.3", "-o", tmp_path / "drawn")
    found = []
    for seed in (3, 4):
        run(*words, "--seed", 3, "--complete", truth)
        if seed == 4:
            table = read_dataset(truth)
            codes = np.where(
                read_dataset(holes).codes < 0, 1 - table.codes, table.codes
            )
            write_dataset(Dataset(codes, table.names, table.states), truth)
        run(
            "fit",
            "cancer",
            full if seed == 3 else truth,
            "--smoothing",
            1,
            "-o",
            network,
        )
        found.append(
            [run_json(*which)["rows"][0]["accuracy"] for which in (given, drawn)]
        )
    assert found[0][0] == pytest.approx(1 - found[1][0])
    assert found[0][1] != found[1][1]


def test_a_method_that_fails_is_named_and_the_others_are_shown(full, monkeypatch):
    def refuse(data, how):
        raise DataError("not this table")

    monkeypatch.setitem(judge.METHODS, "posterior", Method(refuse))
    words = ("compare", "cancer-mcar", "--methods", "mode,posterior")
    told = run_json(*words, status=5)
    assert [row["method"] for row in told["rows"]] == ["mode"]
    assert told["failures"] == ["cancer-mcar, 0: posterior: not this table"]


def test_logarithmic_loss_by_hand():
    states = (("x", "y"), ("u",))
    holes = Dataset(np.array([[-1, 0], [-1, -1]]), ("a", "b"), states)
    truth = Dataset(np.array([[1, 0], [0, 1]]), ("a", "b"), (("x", "y"), ("u", "v")))
    shares = np.array([[0.25, 0.75], [0.0, 1.0], [1.0, 0.0]])
    expected = -(np.log(0.75) + 2 * np.log(LEAST_PROBABILITY)) / 3
    assert JudgedCells.of(holes, [1, 1, 0], truth, shares).log_loss == pytest.approx(
        expected
    )
    complete = Dataset(np.array([[0, 0]]), ("a", "b"), states)
    assert isnan(JudgedCells.of(complete, [], complete, np.empty((0, 2))).log_loss)
