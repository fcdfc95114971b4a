"""Results that were damaged: every command that reads them says where, or does without."""

import json
import shutil

import pytest

from exactlearn.instances import path
from tests.command_line import fails, invoke, run

STUDY = "compare cancer-mcar --hide mcar:1 --methods mode --repeat 2 -o study"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return a folder of results."""
    made = tmp_path_factory.mktemp("results")
    table = path("cancer-mcar-complete.csv")
    run("solve", table, "--best", 2, "-o", made / "out")
    run(*STUDY.replace("study", str(made / "study")).split())
    run("compile", "cancer", "-o", made / "c.pdg.json")
    run("convert", table, "-o", made / "s.jkl")
    run("solve", made / "s.jkl", "--certificate", made / "proof.json", "-q")
    return made


@pytest.fixture
def folder(results, tmp_path, monkeypatch):
    """Return the current folder, a copy of the results."""
    shutil.copytree(results, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return tmp_path / "copy"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (b"seconds,score,bound\n1.0,-\xe9,2\n", "line 2, byte 6"),
        (b"seconds,score,bound\n1.0,-3.0,2\n1.0,-3.0\n", "line 3"),
        (b"seconds,score,bound\n1.0,-3.0,2,4\n", "line 2"),
        (b"seconds,score,bound\n\n1.0,-3.0,2\n", "line 2"),
        (b"seconds,score,bound\n1.0,x,2\n", "line 2"),
    ],
    ids=["bytes", "fewer", "more", "blank", "word"],
)
def test_the_place_in_a_damaged_trace_is_named(folder, text, place):
    (folder / "out" / "trace.csv").write_bytes(text)
    assert f"out/trace.csv, {place}" in fails("report", "out")


def test_a_search_that_left_an_empty_trace_is_reported(folder):
    (folder / "out" / "trace.csv").write_bytes(b"")
    run("report", "out")


def changed(record, keys, value):
    *others, last = keys
    for key in others:
        record = record[key]
    record[last] = value


VALUES = {"number": 3, "list": [[3]], "object": {"x": {}}}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    "keys",
    [
        ("made_by",),
        ("made_by", "command"),
        ("made_by", "options"),
        ("made_by", "inputs"),
        ("made_by", "inputs", 0),
        ("made_by", "inputs", 0, "option"),
        ("made_by", "output"),
        ("made_by", "step"),
        ("parents",),
        ("networks", 0),
        ("support", 0, "probability"),
        ("class_probability",),
        ("cpdag", "directed"),
        ("reversible",),
        ("seconds",),
    ],
    ids=lambda keys: ".".join(map(str, keys)),
)
def test_a_value_of_another_type_in_a_record_is_no_fault_of_ours(folder, keys, value):
    record = json.loads((folder / "out" / "result.json").read_text())
    changed(record, keys, VALUES[value])
    (folder / "out" / "result.json").write_text(json.dumps(record))
    for words in ("report out", "run out/result.json -q", "graph out/result.json"):
        if words.startswith("run") and keys[0] != "made_by":
            continue  # it would only search again
        done = invoke(*words.split(), status=(0, 2, 5))
        assert done.exit_code != 2 or "result.json" in done.stderr


@pytest.mark.parametrize(
    ("keys", "value", "place"),
    [
        (("made_by", "output"), [1], "key 'made_by.output': expected a text"),
        (
            ("made_by", "inputs", 0, "option"),
            [],
            "key 'made_by.inputs[0].option': expected a text",
        ),
        (("made_by", "command"), "solve", "key 'made_by.command': expected a list"),
    ],
)
def test_the_place_in_a_damaged_record_is_named(folder, keys, value, place):
    record = json.loads((folder / "out" / "result.json").read_text())
    changed(record, keys, value)
    (folder / "out" / "result.json").write_text(json.dumps(record))
    assert f"out/result.json: {place}" in fails("run", "out")


def test_the_key_without_a_page_is_named(folder):
    record = json.loads((folder / "out" / "result.json").read_text())
    changed(record, ("parents", "Cancer"), 3)
    (folder / "out" / "result.json").write_text(json.dumps(record))
    assert "out/result.json, key 'parents': expected a record" in fails("report", "out")


def test_a_run_of_a_study_that_was_changed_is_named(folder):
    kept = folder / "study" / "repetitions.json"
    runs = json.loads(kept.read_text())
    title = next(iter(runs))
    del runs[title]["log_loss"]
    kept.write_text(json.dumps(runs))
    assert f"repetitions.json, key '{title}'" in fails(*STUDY.split())
    del runs[title]
    kept.write_text(json.dumps(runs))
    run(*STUDY.split())
    assert title in json.loads(kept.read_text())


@pytest.mark.parametrize("damage", [b"", b"[]", b'{"a":', b"\xe9"])
@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("out/result.json", "report out"),
        ("out/result.json", "run out"),
        ("c.pdg.json", "query c.pdg.json"),
        ("c.pdg.json", "convert c.pdg.json -o c.bif"),
        ("c.pdg.json", "evaluate c.pdg.json --reference cancer"),
        ("proof.json", "verify proof.json s.jkl"),
        ("s.jkl", "verify proof.json s.jkl"),
        ("study/repetitions.json", STUDY),
    ],
)
def test_other_content_is_refused_with_its_file(folder, file, words, damage):
    (folder / file).write_bytes(damage)
    done = invoke(*words.split(), status=(0, 2, 5))
    assert done.exit_code == 0 or file.rpartition("/")[2] in done.stderr


def test_names_with_half_a_letter_are_drawn_in_no_figure(folder):
    text = (folder / "c.pdg.json").read_text().replace('"Smoker"', '"Smoker\\udcfc"')
    (folder / "c.pdg.json").write_text(text)
    assert "half a letter" in fails("convert", "c.pdg.json", "-o", "c.svg")


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero"])
def test_no_page_lies_beside_a_device(folder, device):
    assert "name one with -o" in fails("report", device)
    assert "/dev/null" in fails("report", "/dev/null", "-o", "page.html")
