"""What records say of how they were made."""

import hashlib
import json
import platform
from dataclasses import MISSING, fields
from datetime import UTC, datetime

import pytest

from exactlearn import __version__
from exactlearn.commands import COMMANDS, options_of
from exactlearn.commands.declarations import Compare, Solve
from exactlearn.commands.provenance import as_table, files_read, sha256
from exactlearn.formats.run_file import from_table
from exactlearn.instances import path
from tests.command_line import run, signed_json

ASIA = path("asia-mnar-complete.csv")


def digest(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_made_by_says_what_the_contract_lists(tmp_path):
    file = tmp_path / "record.json"
    words = [
        "solve",
        "asia-mnar-complete",
        "--seed",
        "3",
        "--max-parents",
        "2",
        "-o",
        file,
    ]
    printed = signed_json(*words)["made_by"]
    made_by = json.loads(file.read_text())["made_by"]
    assert made_by["version"] == __version__
    assert made_by["command"] == ["exactlearn", *map(str, words), "--json"]
    assert made_by["options"]["max_parents"] == 2
    assert made_by["seed"] == 3
    assert made_by["output"] == str(file)
    assert made_by["inputs"] == [
        {
            "name": ASIA.name,
            "sha256": digest(ASIA),
            "option": "source",
            "rows": 100,
            "columns": 8,
        }
    ]
    assert made_by["python"] == platform.python_version()
    assert made_by["platform"] == platform.platform()
    then = datetime.fromisoformat(made_by["time"])
    assert then.tzinfo == UTC
    assert abs((datetime.now(UTC) - then).total_seconds()) < 3600
    del printed["time"], made_by["time"]
    assert printed == made_by


def test_models_and_further_tables_are_listed_with_their_hashes(tmp_path):
    found = signed_json("evaluate", "asia", "asia-mnar", "--reference", "asia")[
        "made_by"
    ]
    first, table = sorted(found["inputs"], key=lambda one: "rows" in one)
    assert (first["name"], first["sha256"]) == ("asia.bif", digest(path("asia.bif")))
    assert (table["name"], table["rows"]) == ("asia-mnar.csv", 100)


def test_several_files_are_one_table_with_one_hash(tmp_path):
    """The hash is that of their contents."""
    for k in range(2):
        run(
            "simulate",
            "asia",
            "--rows",
            50,
            "--seed",
            k,
            "-o",
            tmp_path / f"part-{k}.csv",
        )
    pattern = str(tmp_path / "part-*.csv")
    _, one, *beside = signed_json("evaluate", "asia", pattern)["made_by"]["inputs"]
    contents = b"".join(
        part.read_bytes() for part in sorted(tmp_path.glob("part-*.csv"))
    )
    assert one == {
        "name": "part-*.csv",
        "sha256": hashlib.sha256(contents).hexdigest(),
        "rows": 100,
        "columns": 8,
    }
    assert {entry["name"] for entry in beside} <= {
        f"part-{k}.csv.states.json" for k in range(2)
    }


@pytest.mark.parametrize("command", ["solve", "posterior", "augment"])
def test_the_file_of_a_prior_is_an_input(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    beliefs = tmp_path / "fair.csv"
    beliefs.write_text("parent,child,probability\nCancer,Xray,0.9\n")
    (tmp_path / "fair").write_text("a file, and no prior")
    words = (command, "cancer-mcar-complete", "--max-parents", 1, "--prior")
    believed = signed_json(*words, beliefs)["made_by"]["inputs"]
    entry = {"name": "fair.csv", "sha256": digest(beliefs), "option": "prior"}
    assert entry in believed
    assert len(signed_json(*words, "fair")["made_by"]["inputs"]) == 1


def test_the_file_of_a_prior_lies_beside_the_run_file(tmp_path):
    (tmp_path / "beliefs.csv").write_text("parent,child,probability\nCancer,Xray,0.9\n")
    file = tmp_path / "run.toml"
    head = 'pipeline = false\n[data]\nfile = "cancer-mcar-complete"\n'
    priors = (
        '[[solve]]\noutput = "a"\nprior = "beliefs.csv"\n[[solve]]\nprior = "fair"\n'
    )
    file.write_text(head + priors)
    run("run", file, "-o", tmp_path / "out", "-q")
    steps = json.loads((tmp_path / "out" / "result.json").read_text())["steps"]
    options = [step["made_by"]["options"]["prior"] for step in steps]
    assert options == [str(tmp_path / "beliefs.csv"), "fair"]


def test_what_cannot_be_hashed_has_no_hash(tmp_path):
    assert sha256([tmp_path / "none.csv"]) is None
    assert sha256([tmp_path]) is None


def test_an_input_file_is_hashed_before_it_is_overwritten(tmp_path):
    network = tmp_path / "network.bif"
    run("convert", "cancer", "-o", network)
    before = digest(network)
    record = signed_json("fit", network, "cancer-mcar", "-o", network, "--overwrite")
    first, _ = record["made_by"]["inputs"]
    assert first == {"name": "network.bif", "sha256": before, "option": "source"}
    assert digest(network) != before


def test_a_run_says_what_made_it_and_each_of_its_steps(tmp_path):
    file = tmp_path / "two.toml"
    file.write_text(
        'pipeline = false\n[data]\nfile = "table.csv"\n'
        '[solve]\nseed = 4\n[graph]\nsource = "cancer"\n'
    )
    run("simulate", "cancer", "--rows", 50, "-o", tmp_path / "table.csv")
    run("run", file, "-o", tmp_path / "out", "-q")
    record = json.loads((tmp_path / "out" / "result.json").read_text())
    assert record["made_by"]["command"][:2] == ["exactlearn", "run"]
    assert record["made_by"]["inputs"] == [
        {"name": "two.toml", "sha256": digest(file), "option": "source"}
    ]
    solved, shown = (step["made_by"] for step in record["steps"])
    assert (solved["step"], solved["seed"]) == ("solve", 4)
    assert solved["inputs"][0]["sha256"] == digest(tmp_path / "table.csv")
    assert (shown["step"], shown["inputs"][0]["name"]) == ("graph", "cancer.bif")
    written = json.loads((tmp_path / "out" / "solved" / "result.json").read_text())[
        "made_by"
    ]
    assert written["step"] == "solve"
    assert written["options"] == solved["options"]


@pytest.mark.parametrize("name", COMMANDS)
def test_options_read_back_from_their_record_are_the_same(name):
    declared = options_of(name)
    needed = [
        one.name
        for one in fields(declared)
        if (one.default, one.default_factory) == (MISSING,) * 2
    ]
    options = from_table(dict.fromkeys(needed, "x"), declared)
    assert from_table(json.loads(json.dumps(as_table(options))), declared) == options


def test_options_that_are_tables_and_lists_read_back():
    options = Compare(
        states={"a": ("x", "y")},
        discretise={"b": "width:3"},
        methods=("mode",),
        hide=("mcar:0.1",),
    )
    assert from_table(json.loads(json.dumps(as_table(options))), Compare) == options


def test_names_of_options_lead_to_their_files():
    found = files_read(Solve(source="asia-mnar", start="asia"))
    assert {key: file.name for key, file in found.items()} == {
        "source": "asia-mnar.csv",
        "start": "asia.bif",
    }
