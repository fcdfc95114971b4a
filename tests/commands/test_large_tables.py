"""``fit`` and ``evaluate`` on tables in blocks: the numbers of the whole table."""

import numpy as np
import pytest

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands import tables
from exactlearn.commands.output import ProgressDisplay
from exactlearn.data.dataset import Dataset
from exactlearn.formats.models import read_model, write_model
from exactlearn.formats.table import write_dataset
from exactlearn.pdg.compile.compile import compile_network
from tests.command_line import fails, invoke, run_json
from tests.interrupts import press_ctrl_c
from tests.network_oracle import CHAIN


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with models, a table, and the same table in parts."""
    path = tmp_path_factory.mktemp("large")
    write_model(CHAIN, path / "net.bif")
    write_model(compile_network(CHAIN, steps=0), path / "net.pdg.json")
    rng = np.random.default_rng(5)
    codes = CHAIN.sample(400, rng).codes.copy()
    codes[rng.random(codes.shape) < 0.2] = -1
    codes[:, 0] = CHAIN.sample(400, rng).codes[:, 0]
    table = Dataset(codes, CHAIN.names, CHAIN.states, rng.integers(0, 4, 400) / 3)
    write_dataset(table, path / "rows.csv")
    (path / "parts").mkdir()
    for k in range(4):
        part = table.part(np.arange(400) // 100 == k)
        write_dataset(part, path / "parts" / f"{k}.parquet")
        write_dataset(part, path / f"part{k}.csv")
    return path


@pytest.fixture(params=["large", "folder", "pattern"])
def source(request, folder, monkeypatch):
    """Return the table as `fit` and `evaluate` read it in blocks."""
    if request.param == "large":
        monkeypatch.setattr(tables, "LARGE", 1)
        return folder / "rows.csv"
    return folder / ("parts" if request.param == "folder" else "part?.csv")


METHODS = ("complete", "cca", "d-mcar", "f-mcar", "d-mar", "f-mar", "id-mar")


@pytest.mark.parametrize(
    ("method", "source"),
    [("em", "large"), ("em", "folder"), *((method, "pattern") for method in METHODS)],
    indirect=["source"],
)
def test_fit_in_blocks_gives_the_same_model(
    folder, tmp_path, monkeypatch, source, method
):
    words = ("--method", method, "--weights", "weight")
    blocks = run_json(
        "fit", folder / "net.bif", source, *words, "-o", tmp_path / "blocks.bif"
    )
    assert (blocks["rows"], blocks["distinct_rows"] < 100) == (400, True)
    monkeypatch.setattr(tables, "LARGE", 2**26)
    whole = run_json(
        "fit", folder / "net.bif", folder / "rows.csv", *words, "-o", tmp_path / "w.bif"
    )
    assert "distinct_rows" not in whole
    assert blocks["log_likelihood"] == pytest.approx(whole["log_likelihood"], rel=1e-12)
    one, other = read_model(tmp_path / "blocks.bif"), read_model(tmp_path / "w.bif")
    for a, b in zip(one.tables, other.tables, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9 if method == "em" else 1e-12)


@pytest.mark.parametrize("model", ["net.bif", "net.pdg.json"])
def test_evaluate_in_blocks_gives_the_same_numbers(folder, monkeypatch, source, model):
    words = ("--weights", "weight", "--class", "b")
    blocks = run_json("evaluate", folder / model, source, *words)
    monkeypatch.setattr(tables, "LARGE", 2**26)
    whole = run_json("evaluate", folder / model, folder / "rows.csv", *words)
    assert (blocks["impossible"], whole["impossible_rows"]) == (0, [])
    for key in ("rows", "class"):
        assert blocks[key] == whole[key]
    for key in ("log_likelihood_per_row", "accuracy"):
        assert blocks[key] == pytest.approx(whole[key], rel=1e-12)


def test_impossible_rows_of_a_table_in_blocks_are_counted(tmp_path):
    certain = BayesianNetwork(("a",), (("n", "y"),), ((),), (np.array([1.0, 0.0]),))
    write_model(certain, tmp_path / "certain.bif")
    for k in range(3):
        (tmp_path / f"rows{k}.csv").write_text("a\nn\nn\ny\n")
    found = run_json("evaluate", tmp_path / "certain.bif", tmp_path / "rows*.csv")
    assert (found["rows"], found["impossible"]) == (9, 3)


def test_ctrl_c_leaves_the_parameters_of_the_rows_read(folder, monkeypatch):
    monkeypatch.setattr(ProgressDisplay, "show", lambda display, text: press_ctrl_c())
    words = ("fit", folder / "net.bif", folder / "part?.csv", "--method", "d-mcar")
    done = invoke(*words, status=130)
    assert "Interrupted: what follows is of the first 100 rows" in done.stderr


def test_a_time_limit_without_any_row_is_refused(folder):
    words = ("fit", folder / "net.bif", folder / "part?.csv", "--time-limit", "0")
    assert "no row was read; give it more time" in fails(*words)


def test_bad_tables_in_blocks(folder, tmp_path):
    (tmp_path / "bad1.csv").write_text("a,b,c\nn,n,l\n")
    (tmp_path / "bad2.csv").write_text("a,b,c\nn,n,l\nn,k,l\n")
    message = fails("fit", folder / "net.bif", tmp_path / "bad?.csv")
    assert "bad2.csv, line 3, column 'b': the state 'k' is not declared" in message
    assert "names no file" in fails("fit", folder / "net.bif", tmp_path / "none?.csv")
    assert "a folder of .parquet files" in fails(
        "evaluate", folder / "net.bif", tmp_path
    )
