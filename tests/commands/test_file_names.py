"""Names of files with bytes that are not UTF-8: records hold them, and lead back to the files."""

import os
import shutil
import sys

import pytest

from exactlearn._runtime.files import atomic_write, read_json
from exactlearn.errors import DataError
from exactlearn.instances import path
from tests.command_line import alone, fails, run, signed_json

NAME = os.fsdecode(b"l\xfc.csv")

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="names of files are UTF-8"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the current folder, which has a table of such a name."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(path("cancer-mcar-complete.csv"), NAME)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "record"),
    [
        ([], "r.json"),
        (["--bootstrap", 2], "out/result.json"),
        ([], os.fsdecode(b"\xfc/result.json")),
    ],
    ids=["a record", "a folder", "a folder of such a name"],
)
def test_a_record_holds_the_name_and_repeats_the_command(folder, words, record):
    output = os.path.dirname(record) or record
    run("solve", NAME, *words, "-o", output)
    assert read_json(folder / record)["made_by"]["command"][2] == NAME
    assert signed_json("run", record)["equal"]
    run("report", output, "-o", "page.html")
    assert "l\\udcfc.csv" in (folder / "page.html").read_text()
    assert "arcs" in run("graph", record)


def test_standard_output_holds_the_name(folder):
    made_by = signed_json("convert", NAME, "-o", "s.jkl")["made_by"]
    assert made_by["options"]["source"] == NAME


def test_a_study_holds_the_name(folder):
    words = ("--hide", "mcar:2", "--methods", "mode", "--repeat", 2, "-o", "study")
    first = run("compare", NAME, *words)
    assert run("compare", NAME, *words) == first


def test_a_name_that_the_locale_cannot_say_is_held(folder):
    shutil.copy(NAME, "lü.csv")
    old = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    alone(
        "-m",
        "exactlearn",
        "convert",
        "lü.csv",
        "-o",
        "s.jkl",
        "--json",
        cwd=folder,
        **old,
    )
    alone("-m", "exactlearn", "solve", "s.jkl", "-o", "lü.json", cwd=folder, **old)
    assert read_json(folder / "lü.json")["status"] == "optimal"


def test_a_run_file_cannot_hold_the_name_and_says_so_first(folder):
    os.mkdir(os.fsdecode(b"d\xfc"))
    shutil.copy(NAME, os.fsdecode(b"d\xfc/t.csv"))
    (folder / os.fsdecode(b"d\xfc/r.toml")).write_text("[data]\nfile = 't.csv'\n")
    message = fails("run", os.fsdecode(b"d\xfc/r.toml"), "-o", "out")
    assert "cannot write out/run.toml" in message
    assert "rename the file" in message
    assert not list((folder / "out").iterdir())


def test_other_text_with_half_a_letter_is_refused_with_its_line(tmp_path):
    with pytest.raises(DataError, match=r"'b = \\udcfc' has half a letter"):
        atomic_write(tmp_path / "a.toml", "a = 1\nb = \udcfc\nc = 2\n")
