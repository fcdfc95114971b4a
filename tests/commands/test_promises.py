"""What README and every help promise, asked of every command: exceptions stand here by name."""

import json
import re
from dataclasses import fields

import pytest
from click.testing import CliRunner

from exactlearn.__main__ import main
from exactlearn.commands import COMMANDS, options_of

T_LOCAL = ("--method", "t-local", "--starts", "1")
QUICK = {
    "run": ["quick.toml", "-o", "out"],
    "solve": ["asia-mnar-complete"],
    "fit": ["cancer", "cancer-mcar"],
    "learn-nb": ["cancer-mcar", "--components", "2"],
    "augment": ["cancer-mcar", *T_LOCAL],
    "impute": ["cancer-mcar", "--method", "posterior"],
    "missingness": ["cancer-mcar"],
    "compile": ["cancer"],
    "learn-pdg": ["cancer-mcar-complete", "--size-weight", "0.3"],
    "query": ["cancer", "-t", "Cancer"],
    "graph": ["cancer"],
    "compare": ["cancer-mcar", "--methods", "mode,t-local", "--starts", "1", "--hide", "mcar:0.1"],
    "evaluate": ["cancer", "cancer-mcar", "--reference", "asia-like.bif"],
    "verify": ["proof.json", "scores.jkl"],
    "simulate": ["cancer", "--hide", "mcar:0.1", "-o", "rows.csv"],
    "convert": ["cancer", "-o", "cancer.svg"],
    "instances": [],
    "report": ["record.json", "-o", "page.html"],
}
"""Words of a quick call of each command."""

WITHOUT_SEED = {
    "query",
    "graph",
    "verify",
    "report",
    "instances",
}
"""Commands without anything random."""

WITHOUT_LIMIT = {
    *("missingness", "query", "graph", "evaluate", "verify", "simulate", "instances"),
    "report",
}
"""Commands without ``--time-limit``: they end soon, or repeat one with its own limit."""

MAKES_A_FOLDER = {"run", "instances"}
"""Commands whose output is a folder, which they make."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that the quick calls read."""
    folder = tmp_path_factory.mktemp("promises")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        (folder / "quick.toml").write_text(
            'pipeline = false\n[data]\nfile = "table.csv"\n[solve]\n[graph]\nsource = "cancer"\n'
        )
        for words in (
            "simulate cancer -o table.csv",
            "convert cancer-mcar-complete -o scores.jkl",
            "solve scores.jkl --certificate proof.json -o record.json",
            "fit cancer cancer-mcar-complete -o asia-like.bif",
        ):
            assert call(*words.split()).exit_code == 0
        yield folder


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def call(*words):
    done = CliRunner().invoke(main, list(words))
    assert "Traceback" not in done.stdout
    return done


def without_times(value):
    """Return a record without seconds and what it was made by."""
    if isinstance(value, dict):
        kept = (k for k in value if "seconds" not in k and k not in ("made_by", "time", "record"))
        return {key: without_times(value[key]) for key in kept}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def refuse(constant):
    raise AssertionError(f"{constant} is not strict JSON")


def test_every_command_is_asked():
    assert set(QUICK) == set(COMMANDS)


@pytest.mark.parametrize("name", QUICK)
def test_json_is_one_strict_object_that_the_same_seed_gives_again_also_where_verbose(name):
    records = []
    for more in ((), ("-v",)):
        done = call(name, *QUICK[name], "--json", *more)
        assert done.exit_code == 0, done.output
        assert done.stdout.count("\n") == 1
        records.append(json.loads(done.stdout, parse_constant=refuse))
    made_by = records[0]["made_by"]
    assert made_by["command"] == ["exactlearn", name, *QUICK[name], "--json"]
    assert without_times(records[0]) == without_times(records[1])
    assert without_times(records[0]) or name == "instances"


@pytest.mark.parametrize("name", QUICK)
def test_quiet_prints_the_results_only(name):
    plain, quiet = (call(name, *QUICK[name], *more) for more in ((), ("-q",)))
    assert plain.exit_code == quiet.exit_code == 0
    assert quiet.stderr == ""
    same = [re.sub(r"(?m)^seconds .*$", "", done.stdout) for done in (plain, quiet)]
    if name not in ("compare", "learn-nb", "run"):  # they print seconds in each row
        assert same[0] == same[1]
    assert bool(plain.stdout) == bool(quiet.stdout)


@pytest.mark.parametrize("name", [name for name in QUICK if name not in MAKES_A_FOLDER])
def test_a_file_in_no_folder_is_refused(name):
    words = QUICK[name][: QUICK[name].index("-o")] if "-o" in QUICK[name] else QUICK[name]
    target = {"simulate": "none/rows.csv", "convert": "none/x.bif"}.get(name, "none/x.json")
    done = call(name, *words, "-o", target)
    assert done.exit_code == 2
    assert "none" in done.stderr.splitlines()[-1]
    assert done.stdout == ""


@pytest.mark.parametrize("name", QUICK)
def test_options_that_are_promised_are_there(name):
    known = {one.name for one in fields(options_of(name))}
    assert ("seed" in known) == (name not in WITHOUT_SEED)
    assert ("time_limit" in known) == (name not in WITHOUT_LIMIT)


@pytest.mark.parametrize("name", [name for name in QUICK if name not in WITHOUT_LIMIT])
def test_a_limit_of_no_time_ends_with_an_answer_or_says_that_there_is_none(name):
    done = call(name, *QUICK[name], "--time-limit", "0", "--json")
    assert done.exit_code in (0, 2, 3), done.output
    if done.exit_code != 2:
        json.loads(done.stdout, parse_constant=refuse)
    else:
        assert done.stderr.splitlines()[-1].startswith("Error: ")
