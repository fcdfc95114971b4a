"""What commands write, and where they refuse to: over what they read, and outside of a run."""

import os
import shutil
from fnmatch import fnmatch

import pytest

from exactlearn.commands import options_of
from exactlearn.instances import path
from tests.command_line import fails, run, run_json


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the current folder, with a table, a network, a graph and links to the table."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(path("cancer-mcar.csv"), "own.csv")
    shutil.copy(path("cancer.bif"), "own.bif")
    run("graph", "cancer", "-o", "own.json")
    (tmp_path / "link.csv").symlink_to("own.csv")
    os.link("own.csv", "hard.csv")
    (tmp_path / "sub").mkdir()
    (tmp_path / "d").mkdir()
    os.link("own.csv", "d/completed.csv")
    os.link("own.bif", "d/network.bif")
    return tmp_path


IMPUTE = "impute --method mode own.csv"
SOLVE = "solve own.csv --counts d-mcar"


def contents(folder):
    return {
        file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()
    }


@pytest.mark.parametrize(
    "words",
    [
        *(
            f"{IMPUTE} -o {name}"
            for name in ("own.csv", "./sub/../own.csv", "link.csv", "hard.csv")
        ),
        f"{IMPUTE} -o d",
        f"{SOLVE} --start own.json -o own.json",
        f"{SOLVE} --start own.json --certificate own.json",
        f"{SOLVE} --start own.bif -o d",
        f"{SOLVE} --prior own.json -o own.json",
        "posterior own.bif --prior own.csv -o hard.csv",
        "fit own.bif own.csv -o own.bif",
        "fit own.json own.csv -o own.bif --missingness own.bif",
        "graph own.json -o own.json",
        "convert own.csv -o own.csv",
        "simulate own.bif -o x.csv --complete x.csv",
        "evaluate own.bif own.csv -o own.json --reference own.json",
    ],
)
def test_no_file_that_is_read_is_replaced(folder, words):
    before = contents(folder)
    assert "name another" in fails(*words.split())
    assert contents(folder) == before


def test_a_file_that_is_read_is_replaced_where_that_is_said(folder):
    run(*f"{IMPUTE} -o own.csv --overwrite".split())
    assert "?" not in (folder / "own.csv").read_text()
    assert "?" in (folder / "hard.csv").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (f"{IMPUTE} -o own.csv/out", "Not a directory"),
        (f"{IMPUTE} -o own.csv/out.csv", "Not a directory"),
        (f"{SOLVE} -o loop.json", "nothing can be written there"),
        (f"{SOLVE} -o dangling.json", "there is no folder"),
        (f"{SOLVE} --certificate own.csv/c.json", "Not a directory"),
        (f"{SOLVE} --checkpoint own.csv", "checkpoint"),
        (f"{SOLVE} -o {'n' * 300}.json", "File name too long"),
        (f"{SOLVE} -o full", "full/result.json: expected a file, found a folder"),
    ],
)
def test_a_place_that_cannot_be_written_is_found_first(
    folder, monkeypatch, words, message
):
    (folder / "loop.json").symlink_to("loop.json")
    (folder / "dangling.json").symlink_to("nowhere/there.json")
    (folder / "full" / "result.json").mkdir(parents=True)
    monkeypatch.setattr("exactlearn.read_dataset", None)  # nothing is read
    assert message in fails(*words.split())


def test_a_long_name_of_wide_letters_is_written(folder):
    name = "名" * 80 + ".json"
    run("graph", "cancer", "-o", name)
    assert (folder / name).is_file()


@pytest.mark.parametrize(
    "words",
    [
        "solve cancer-mcar-complete --best 2 --bootstrap 2 -o out",
        "augment cancer-mcar --method mode -o out",
        "impute cancer-mcar --method multiple --network cancer --draws 2 -o out",
        "impute cancer-mcar --method mode -o out",
        "compare cancer-mcar --hide mcar:1 --methods mode --repeat 2 -o out",
        "compare cancer-mcar --learners independent --folds 2 -o out",
        "run cancer -o out",
    ],
)
def test_the_files_in_a_folder_are_declared(folder, words):
    run(*words.split())
    patterns = [*options_of(words.split()[0]).files_in_folder, "run.toml"]
    for file in (folder / "out").iterdir():
        assert any(fnmatch(file.name, pattern) for pattern in patterns), file.name


SIMULATE = (
    "pipeline = false\n[data]\nfile = 'own.csv'\n[[simulate]]\nsource = 'own.bif'\n"
)


@pytest.mark.parametrize(
    ("text", "output", "message"),
    [
        (f"{SIMULATE}output = '../own.csv'", "out", "outside of the run's folder"),
        (f"{SIMULATE}output = '/tmp/own.csv'", "out", "outside of the run's folder"),
        (f"{SIMULATE}output = 'away/x.csv'", "linked", "outside of the run's folder"),
        (f"{SIMULATE}complete = '../own.csv'", "out", "simulate.complete"),
        (f"{SIMULATE}output = './network.bif'", "out", "place of the run"),
        (f"{SIMULATE}output = 'own.csv/x.csv'", ".", "Not a directory"),
        (f'{SIMULATE}output = "a\\u0000b.csv"', "out", "nothing can be written there"),
        (
            f"{SIMULATE}output = 'own.csv'\n[impute]\nsource = 'sub/../hard.csv'",
            ".",
            "own.csv",
        ),
        (
            "[data]\nfile = 'd/completed.csv'\n[search]\nmethod = 'mode'",
            "d",
            "d/completed.csv",
        ),
        (
            f"{SIMULATE}\n[sweep]\nsimulate.output = ['x.csv', '../x.csv']",
            "out",
            "outside of the run's folder out/",
        ),
    ],
)
def test_a_run_stays_in_its_folder_and_spares_what_it_reads(
    folder, text, output, message
):
    (folder / "linked").mkdir()
    (folder / "linked" / "away").symlink_to(folder)
    (folder / "x.toml").write_text(text)
    before = contents(folder)
    assert message in fails("run", "x.toml", "-o", output)
    assert {k: v for k, v in contents(folder).items() if k.name != "run.toml"} == before


def test_a_run_writes_elsewhere_where_that_is_said(folder):
    (folder / "x.toml").write_text(f"{SIMULATE}rows = 5\noutput = '../elsewhere.csv'\n")
    run("run", "x.toml", "-o", "out", "--allow-outside")
    assert len((folder / "elsewhere.csv").read_text().splitlines()) == 6
    assert "--allow-outside" in fails("run", "out/result.json")
    (folder / "elsewhere.csv").unlink()
    assert run_json("run", "out/result.json", "--allow-outside")["equal"]
    assert not (folder / "elsewhere.csv").exists()


def test_the_file_of_a_run_is_replaced_by_an_equal_one_only(folder):
    (folder / "d" / "run.toml").write_text(f"# mine\n{SIMULATE}")
    shutil.copy("own.bif", "d/own.bif")
    assert "d/run.toml" in fails("run", "d/run.toml", "-o", "d")
    run("run", "d/run.toml", "-o", "out")
    run("run", "out/run.toml", "-o", "out")
    run("run", "d/run.toml", "-o", "d", "--overwrite")
    assert "# mine" not in (folder / "d" / "run.toml").read_text()


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("out", "out"),
        ("out/result.json", "out"),
        ("one.json", "one.json"),
        ("link", "one.json"),
    ],
)
def test_a_record_is_not_replaced_by_its_repetition(folder, source, output):
    run(*f"{SOLVE} -o out".split())
    run(*f"{SOLVE} -o one.json".split())
    (folder / "link").mkdir()
    (folder / "link" / "result.json").symlink_to("../one.json")
    before = contents(folder)
    assert "reads this file" in fails("run", source, "-o", output)
    assert contents(folder) == before
    run("run", source, "-o", output, "--overwrite")
