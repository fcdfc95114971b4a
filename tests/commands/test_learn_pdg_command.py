import json

import numpy as np
import pytest

import exactlearn as el
from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError
from exactlearn.formats.bif import read_bif
from exactlearn.formats.model_json import read_pdg
from exactlearn.formats.table import read_dataset, write_dataset
from exactlearn.instances import locate
from exactlearn.pdg.inference.flows import log_likelihood
from exactlearn.pdg.learn import methods, structural_em
from exactlearn.pdg.learn.parameters import available_counts, refine
from tests.command_line import fails, run, run_json
from tests.logic_models import drawn, parity


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Rows of a relation of four bits; the same with holes; and others of it."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    full = drawn(parity(4), 300, rng)
    codes = full.codes.astype(int)
    codes[rng.random(codes.shape) < 0.1] = -1
    write_dataset(full, folder / "full.csv")
    write_dataset(Dataset(codes, full.names, full.states), folder / "holes.csv")
    write_dataset(drawn(parity(4), 100, rng), folder / "test.csv")
    return folder


def test_by_default_the_graph_of_a_network_is_merged(tmp_path):
    truth = read_bif(locate("cancer", ".bif"))
    table = truth.sample(500, np.random.default_rng(3))
    fresh = truth.sample(4000, np.random.default_rng(2))
    write_dataset(table, tmp_path / "rows.csv")
    record = run_json(
        "learn-pdg", tmp_path / "rows.csv", "-o", tmp_path / "model.pdg.json"
    )
    assert record["method"] == "hybrid"
    graph, network = el.learn_pdg(table).graph, el.learn(table).network
    assert record["log_likelihood"] == pytest.approx(log_likelihood(graph, table))
    assert run_json("learn-pdg", "cancer-mcar")["method"] == "hybrid"
    assert (
        log_likelihood(graph, fresh) / 4000
        > network.log_likelihood(fresh) / 4000 - 0.02
    )


def test_a_complete_table_is_learnt_directly(tables, tmp_path):
    file = tmp_path / "model.pdg.json"
    words = ("learn-pdg", tables / "full.csv", "--method", "direct")
    record = run_json(*words, "-o", file)
    assert record["method"] == "direct"
    assert record["finished"] is True
    graph = read_pdg(file)
    graph.check()
    assert graph.effective_size == record["effective_size"] == 14
    data = read_dataset(tables / "full.csv")
    assert record["log_likelihood"] == pytest.approx(log_likelihood(graph, data))
    again = tmp_path / "again.pdg.json"
    run(*words, "-q", "-o", again)
    assert again.read_bytes() == file.read_bytes()


def test_missing_cells(tables):
    record = run_json("learn-pdg", tables / "holes.csv", "--method", "em")
    assert record["method"] == "em"


@pytest.mark.parametrize("parameters", ["available", "complete"])
def test_cases_take_the_place_of_em(tables, tmp_path, parameters):
    """PDG-SEM, section 6.1.2: a pseudo-count beside the counts of the cases at each node."""
    file, table = tmp_path / "model.pdg.json", tables / "holes.csv"
    run_json(
        "learn-pdg", table, "--method", "em", "--parameters", parameters, "-o", file
    )
    graph, data = read_pdg(file), read_dataset(table)
    cases = data.part(data.complete_rows) if parameters == "complete" else data
    counts = available_counts(
        graph.layout, cases.codes.astype(np.int16), cases.row_weights
    )
    assert np.allclose(graph.parameters, graph.with_counts(counts + 1.0).parameters)
    assert not np.allclose(
        graph.parameters, refine(graph, data, smoothing=1.0).model.parameters
    )
    assert graph == el.learn_pdg(data, method="em", parameters=parameters).graph
    for method in ("hybrid", "direct"):
        words = ("--method", method, "--parameters", parameters)
        assert "--parameters is for --method em" in fails("learn-pdg", table, *words)
        with pytest.raises(OptionError, match="choose method='em'"):
            el.learn_pdg(data, method=method, parameters=parameters)


def test_a_forest_is_grown_by_tests_of_independence(tables):
    words = ("learn-pdg", tables / "full.csv", "--significance", 0.05)
    assert run_json(*words, "--method", "direct")["effective_size"] == 14
    assert "--significance is for --method direct" in fails(*words)
    assert "2.0 is not in the range 0<=x<=1" in fails(
        *words[:-1], 2, "--method", "direct"
    )


def test_without_complete_rows_the_other_estimators_are_named(tmp_path):
    (tmp_path / "holes.csv").write_text("a,b,c\n0,1,?\n1,?,0\n?,0,1\n")
    words = (tmp_path / "holes.csv", "--method", "em", "--parameters", "complete")
    message = fails("learn-pdg", *words)
    assert "no row is complete" in message
    assert "(--parameters available) or EM (--parameters em)" in message


def test_a_network_gives_the_forest():
    for method in ("direct", "em", "hybrid"):
        words = ("cancer-mcar-complete", "--method", method, "--network", "cancer")
        assert run_json("learn-pdg", *words)["effective_size"] > 5


@pytest.mark.parametrize("method", ["direct", "hybrid", "em"])
def test_a_time_limit_writes_the_best_so_far(tables, tmp_path, method):
    file = tmp_path / "model.pdg.json"
    name = "full" if method == "direct" else "holes"
    words = (tables / f"{name}.csv", "--method", method, "--time-limit", 0, "-o", file)
    assert run_json("learn-pdg", *words, status=3)["finished"] is False
    read_pdg(file).check()


@pytest.mark.parametrize("method", ["direct", "hybrid", "em"])
def test_a_first_model_is_written_before_the_search(
    tables, tmp_path, monkeypatch, method
):
    def die(*unused, **options):
        raise RuntimeError("killed")

    monkeypatch.setattr(methods, "learn_direct", die)
    monkeypatch.setattr(methods, "learned_network", die)
    monkeypatch.setattr(structural_em, "improved_by_counts", die)
    name = "full" if method == "direct" else "holes"
    graph, record = tmp_path / "x.pdg.json", tmp_path / "x.json"
    for file in (graph, record):
        words = (tables / f"{name}.csv", "--method", method, "-o", file)
        assert "killed" in fails("learn-pdg", *words, status=1)
    read_pdg(graph).check()
    printed = json.loads(record.read_text())
    assert (printed["method"], printed["finished"]) == (method, False)
    assert np.isfinite(printed["log_likelihood"])
