"""What ``simulate`` writes goes through the other commands."""

import numpy as np
import pytest

from exactlearn import BayesianNetwork, read_dataset, write_model
from tests.command_line import invoke, run, run_json

STATES = (("None", "Mild"), ("NA", "low", "high"), ("ok", "broken"))
TABLES = (
    np.array([0.5, 0.5]),
    np.array([[0.2, 0.4, 0.4], [0.6, 0.2, 0.2]]),
    np.array([1 - 1e-9, 1e-9]),
)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".parquet"])
def test_a_drawn_table_is_learned_compiled_queried_and_evaluated(
    suffix, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    network = BayesianNetwork(
        ("damage", "cost", "part"), STATES, ((), (0,), ()), TABLES
    )
    write_model(network, "car.bif")
    drawn, full = f"drawn{suffix}", f"full{suffix}"
    words = ("simulate", "car.bif", "--rows", 60, "--hide", "mcar:0.1")
    done = invoke(*words, "-o", drawn, "--complete", full)
    assert f"its states to {full}.states.json" in done.stderr
    assert read_dataset(full).states == read_dataset(drawn).states == STATES
    assert run_json("solve", full, "--json")["status"] == "optimal"
    run("solve", drawn, "-o", "learned.bif")
    run("compile", "learned.bif", "-o", "learned.pdg.json")
    assert set(
        run_json("query", "learned.pdg.json", "--json")["posterior"]["cost"]
    ) == {*STATES[1]}
    assert run_json("evaluate", "learned.pdg.json", full, "--json")["rows"] == 60
    run("impute", drawn, "--method", "mode", "-o", f"completed{suffix}")
    assert read_dataset(f"completed{suffix}").states == STATES


def test_a_run_file_reads_states_and_records_their_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    network = BayesianNetwork(
        ("damage", "cost", "part"), STATES, ((), (0,), ()), TABLES
    )
    write_model(network, "car.bif")
    run("simulate", "car.bif", "-o", "drawn.csv")
    (tmp_path / "car.toml").write_text('[data]\nfile = "drawn.csv"\n')
    run("run", "car.toml", "-o", "results")
    run("solve", "drawn.csv", "-o", "solved.json")
    assert '"drawn.csv.states.json"' in (tmp_path / "solved.json").read_text()
    assert run_json("run", "solved.json", "--json")["equal"]
