"""Helps: options by subject, and examples that work."""

import re
import shlex
from dataclasses import fields

import pytest

from exactlearn.commands import COMMANDS, options_of
from exactlearn.commands.click_options import command
from exactlearn.commands.declare import about_of, flags_of, help_of
from exactlearn.commands.output import Output
from exactlearn.evaluation.cross_validation import LEARNERS
from exactlearn.formats.models import GRAPHS, NAIVE_BAYES, NETWORKS
from exactlearn.imputation.methods import METHODS
from tests.command_line import run


def examples(name):
    return command(name).examples.strip().splitlines()


def sections(name):
    """Return the options in each section of a help."""
    found, title = {}, None
    for line in run(name, "--help").splitlines():
        if line.endswith(":") and not line.startswith(" "):
            title = line[:-1]
        elif title and line.startswith("  -"):
            found.setdefault(title, []).append(line.split()[0].rstrip(","))
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_stands_once_below_a_title(name):
    listed = [flag for flags in sections(name).values() for flag in flags]
    assert len(listed) == len(set(listed))
    declared = [
        one
        for kind in (options_of(name), Output)
        for one in fields(kind)
        if not (
            about_of(one).positional or about_of(one).in_files or about_of(one).hidden
        )
    ]
    assert len(listed) == len(declared) + 2  # --help-all and --help


@pytest.mark.parametrize("name", COMMANDS)
def test_a_group_names_fields_that_there_are(name):
    for cls in options_of(name).__mro__:
        for names in vars(cls).get("groups", {}).values():
            assert set(names.split()) <= {one.name for one in fields(cls)} | {"*"}


def test_no_list_is_long():
    assert (
        max(len(flags) for name in COMMANDS for flags in sections(name).values()) <= 11
    )
    assert (
        sum(map(len, sections("solve").values())) <= 30
    )  # with those of all commands and --help
    assert len(sections("solve").keys() - {"Files", "Examples"}) <= 6


def test_all_options_stand_in_the_long_help():
    shown = run("solve", "--help-all")
    for option in fields(options_of("solve")):
        if not (about_of(option).positional or about_of(option).in_files):
            assert f"  {flags_of(option)[0].split('/')[0]} " in shown


def test_help_is_not_changed_by_redefined_options():
    """Another command may describe a shared option in its own words."""
    ess = options_of("solve").known()["ess"]
    assert "10 for networks" in help_of(options_of("impute"), "ess")
    assert "10 for networks" not in help_of(options_of("solve"), ess.name)
    assert "10 for networks" not in " ".join(run("solve", "--help").split())


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("--criterion bic", "--score bic"),
        ("--forbid A->B", "--forbidden A->B"),
        ("--require A->B", "--required A->B"),
    ],
)
def test_earlier_names_of_options_still_work(before, now):
    parsed = [
        command("solve").make_context("solve", ["table.csv", *words.split()]).params
        for words in (before, now)
    ]
    assert parsed[0] == parsed[1]
    assert parsed[0] != command("solve").make_context("solve", ["table.csv"]).params


def test_groups_stand_in_one_order_with_the_output_last():
    found = list(sections("solve"))
    assert found[0] == "Score"
    assert found[-1] == "Output"
    assert found.index("Search") < found.index("Constraints") < found.index("Table")
    assert sections("solve")["Score"][:3] == ["--score", "--ess", "--max-parents"]
    assert sections("solve")["Output"][0] == "-o"
    assert next(iter(sections("query"))) == "Options"


def test_a_field_keeps_the_group_of_its_first_declaration():
    solve = options_of("solve").known()
    assert about_of(solve["ess"]).group == "Score"
    assert about_of(solve["seed"]).group == "Search"
    assert about_of(options_of("run").known()["seed"]).group == ""
    assert about_of(options_of("verify").known()["scores"]).group == ""


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_of_each_help_work(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = examples(name)
    assert 2 <= len(lines) <= 4
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "exactlearn"
        run(*words)
    assert name in {shlex.split(line)[1] for line in lines}
    shown = run(name, "--help")
    assert all(f"  {line}\n" in shown for line in lines)


def test_the_overview_has_each_command_once_below_a_title():
    shown = run("--help")
    for name, known in COMMANDS.items():
        assert shown.count(f"\n  {name} ") == 1
        assert shown.index(f"{known.group}:") < shown.index(f"\n  {name} ")


def test_helps_name_every_format_of_models_by_the_registries():
    registries = (NETWORKS, GRAPHS, NAIVE_BAYES)
    texts = {
        name: " ".join(run(name, "--help").split())
        for name in ("query", "graph", "solve")
    }
    for name, known in (
        ("query", registries),
        ("graph", registries[:1]),
        ("solve", registries[:1]),
    ):
        assert all(", ".join(one) in texts[name] for one in known)
    assert "NETWORK" not in run("verify", "--help")


def test_the_help_of_compare_names_every_learner_and_method():
    text = " ".join(run("compare", "--help").split()).replace("- ", "-")
    assert all(re.search(rf" {name}[,;.]", text) for name in (*LEARNERS, *METHODS))


def test_a_bundled_network_completes_every_word_for_one():
    about = {one.name: about_of(one) for one in fields(options_of("query"))}
    assert about["source"].bundled == (".bif",)
    about = {one.name: about_of(one) for one in fields(options_of("fit"))}
    assert about["source"].bundled == (".bif",)
    assert about["table"].bundled == (".csv",)
