"""Records made again by their own words: equal answers, and what is said where they are not."""

import json

import pytest

from exactlearn.instances import path
from tests.command_line import fails, run, run_json, signed_json


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_files_of_a_command_are_not_written_again(folder):
    record = folder / "out" / "result.json"
    words = ("--certificate", "certificate.json")
    run("solve", "asia-mnar-complete", "--max-parents", 1, "-o", "out", *words)
    before = {file: file.stat().st_mtime_ns for file in folder.rglob("*")}
    assert "certificate" in run("run", "out")
    assert {file: file.stat().st_mtime_ns for file in folder.rglob("*")} == before
    run("run", record, "-o", "again")
    assert (folder / "again" / "network.bif").read_bytes() == (
        folder / "out" / "network.bif"
    ).read_bytes()


@pytest.mark.parametrize("name", ["compare", "sweep"])
def test_folders_of_studies_are_repeated_and_have_a_page(folder, name):
    (folder / "sweep.toml").write_text(
        'data.file = "cancer-mcar-complete"\n[sweep]\nscore.ess = [1, 2]\n'
    )
    words = {
        "compare": ("compare", "cancer-mcar", "--learners", "chow-liu", "--folds", 2),
        "sweep": ("run", "sweep.toml"),
    }
    run(*words[name], "-o", "study")
    assert run_json("run", "study")["equal"]
    run("report", "study")
    assert "<table" in (folder / "study" / "report.html").read_text()


def test_a_run_with_steps_is_repeated(folder):
    (folder / "two.toml").write_text(
        f'[data]\nfile = "{path("cancer-mcar.csv")}"\n[search]\nmethod = "t-local"\nstarts = 2\n'
        "[impute]\nmethod = 'mode'\n"
    )
    run("run", "two.toml", "-o", "out")
    again = run_json("run", "out")
    assert again["equal"]
    assert "steps" in again["compared"]
    # the record of a step is repeated as the command that it is
    assert run_json("run", "out/imputed")["equal"]
    assert run_json("run", "out/imputed", "-o", "again")["equal"]
    assert run_json("run", "again")["equal"]


def test_what_differs_is_named(folder):
    record = signed_json("solve", "asia-mnar-complete")
    record["score"] += 0.5
    record["parents"]["asia"] = ["dysp"]
    record["made_by"]["version"] = "0.0.1"
    (folder / "record.json").write_text(json.dumps(record))
    again = run_json("run", "record.json", status=5)
    assert not again["equal"]
    assert {one["key"] for one in again["differences"]} >= {"score", "parents.asia"}
    assert any("0.0.1" in text for text in again["changes"])
    shown = run("run", "record.json", status=5)
    assert "score" in shown
    assert "parents.asia" in shown


def test_a_table_that_differs_or_is_gone_is_named(folder):
    run("simulate", "cancer", "--rows", 200, "-o", "table.csv")
    run("solve", "table.csv", "-o", "record.json")
    run("simulate", "cancer", "--rows", 200, "--seed", 1, "-o", "table.csv")
    again = run_json("run", "record.json", status=5)
    assert [text for text in again["changes"] if "table.csv: the file differs" in text]
    (folder / "table.csv").write_text("Cancer\nTrue\nTrue\n")
    assert "table.csv: the file differs" in fails("run", "record.json")
    (folder / "table.csv").unlink()
    assert "table.csv: no such file" in fails("run", "record.json")


@pytest.mark.parametrize(
    "text",
    ["[]", "{}", '{"made_by": 3}', '{"made_by": {"command": "x", "options": {}, "inputs": []}}',
     '{"made_by": {"command": ["exactlearn"], "options": {}, "inputs": []}}',
     '{"made_by": {"command": ["exactlearn", "solves"], "options": {}, "inputs": []}}',
     '{"made_by": {"command": ["exactlearn", "solve"], "options": 3, "inputs": []}}',
     '{"made_by": {"command": ["exactlearn", "solve"], "options": {}, "inputs": [3]}}',
     '{"made_by": {"command": ["exactlearn", "solve", 3], "options": {}, "inputs": []}}',
     '{"made_by": {"command": ["exactlearn", "solve"], "options": {"sauce": 1}, "inputs": []}}'],
)  # fmt: skip
def test_a_file_that_is_no_record_is_refused(folder, text):
    (folder / "record.json").write_text(text)
    assert "record.json" in fails("run", "record.json")


@pytest.mark.parametrize(
    "words",
    [
        ("solve", "asia-mnar-complete", "--solver", "kes", "--seed", 5, "-o", "{}"),
        (
            "impute",
            "cancer-mcar",
            "--method",
            "multiple",
            "--draws",
            2,
            "--seed",
            1,
            "-o",
            "{}",
        ),
        ("compile", "asia", "-o", "{}/graph.pdg.json"),
    ],
    ids=lambda words: words[0],
)
def test_the_same_seed_writes_the_same_bytes(folder, words):
    found = []
    for name in ("one", "two"):
        (folder / name).mkdir()
        run(*words[:-1], words[-1].format(name))
        files = [
            file
            for file in sorted((folder / name).iterdir())
            if file.name != "result.json"
        ]
        found.append(
            {file.name: file.read_bytes() for file in files if file.stem != "trace"}
        )
    assert found[0]
    assert found[0] == found[1]
