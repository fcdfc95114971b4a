"""Commands as steps of a run file: what they share, which files they read, and what is stored."""

import json
import shutil
import tomllib

import pytest

from exactlearn.commands import COMMANDS, Command, options_of
from exactlearn.commands.declarations import Impute
from exactlearn.commands.declare import Declared, argument, option
from exactlearn.commands.output import Answer
from exactlearn.commands.steps import (
    NO_STEPS,
    checked,
    declared,
    declared_steps,
    is_step,
    pipeline,
    read_runs,
)
from tests.command_line import fails, run, run_json

DATA = "[data]\nfile = 'a.csv'\n"


def steps(text, folder):
    return declared_steps(checked(tomllib.loads(DATA + text), folder))


def test_every_command_that_computes_is_a_step():
    apart = [name for name in COMMANDS if not is_step(name)]
    assert sorted(apart) == sorted(NO_STEPS)


def test_a_step_says_what_the_sections_do_not(tmp_path):
    text = """missing = ["-"]
        [score]
        max_parents = 4
        [search]
        method = "t-local"
        seed = 7
        [network]
        smoothing = 0.5
        [impute]
        draws = 3
        method = "multiple"
        seed = 8
        [learn-pdg]
        """
    impute, learn = (step.options for step in steps(text, tmp_path))
    assert impute == Impute(
        source=str(tmp_path / "a.csv"),
        method="multiple",
        draws=3,
        seed=8,
        max_parents=4,
        smoothing=0.5,
        missing=("-",),
    )
    assert (learn.seed, learn.missing) == (7, ("-",))
    assert learn.method == "hybrid"  # which is another thing than that of [search]
    assert learn.smoothing is None


def test_files_of_the_run_precede_neighbours_and_bundled_ones(tmp_path):
    for name in ("a.csv", "network.bif", "other.csv"):
        (tmp_path / name).write_text("")
    text = """discretise.x = "width:2"
        [[impute]]
        [[impute]]
        source = "imputed/completed.csv"
        output = "again"
        [[impute]]
        source = "other.csv"
        network = "network.bif"
        output = "with a network"
        [query]
        source = "asia"
        """
    first, second, third, fourth = steps(text, tmp_path)
    assert (first.options.source, first.output) == (str(tmp_path / "a.csv"), "imputed")
    assert second.options.source == "imputed/completed.csv"
    assert third.options.source == str(tmp_path / "other.csv")
    assert third.options.network == "network.bif"
    assert fourth.options.source == "asia"
    assert first.options.discretise == third.options.discretise == {"x": "width:2"}
    assert not second.options.discretise  # it is read as it was written


@pytest.mark.parametrize("is_complete", [True, False])
def test_the_pipeline_is_steps(is_complete, tmp_path):
    table = tomllib.loads(DATA + "test = 'b.csv'\n[network]\nsmoothing = 0.5\n")
    plan = list(pipeline(checked(table, tmp_path), is_complete=is_complete))
    assert [(".".join(step.section), step.command) for step in plan] == [
        ("", "solve" if is_complete else "augment"),
        *(("network", "fit"), ("decision_graph", "compile"), ("refinement", "fit")),
        *(("held_out.network", "evaluate"), ("held_out.decision_graph", "evaluate")),
    ]
    assert (plan[0].options.smoothing, plan[1].options.smoothing) == (0.5, 0.5)
    assert [
        step.options.smoothing for step in plan if step.section == ("refinement",)
    ] == [None]


def test_a_table_is_compared_with_its_truth(tmp_path):
    text = """truth = "t.csv"
        [[compare]]
        [[compare]]
        source = "b.csv"
        [[compare]]
        network = "asia"
        """
    first, second, third = (step.options for step in steps(text, tmp_path))
    assert (first.source, first.truth) == (
        str(tmp_path / "a.csv"),
        str(tmp_path / "t.csv"),
    )
    assert (second.source, second.truth) == (str(tmp_path / "b.csv"), None)
    assert (third.source, third.truth, third.network) == (None, None, "asia")


ALL = """
pipeline = false
[data]
file = "sub/holes.csv"
truth = "sub/full.csv"
[score]
max_parents = 2
[impute]
method = "mode"
[compare]
methods = ["mode", "t-local"]
starts = 1
[convert]
source = "imputed/completed.csv"
output = "scores.jkl"
[solve]
source = "scores.jkl"
certificate = "proof.json"
output = "solved.json"
[verify]
certificate = "proof.json"
scores = "scores.jkl"
[fit]
source = "cancer"
method = "em"
[compile]
source = "fitted.bif"
[query]
source = "compiled.pdg.json"
evidence = { Smoker = "True" }
targets = ["Cancer"]
best = 2
[evaluate]
source = "compiled.pdg.json"
data = "other.csv"
output = "answers/rows.json"
[augment]
method = "mode"
[learn-pdg]
method = "em"
[simulate]
source = "cancer"
rows = 5
"""


def stored(folder):
    ((_, table),) = read_runs(folder / "run.toml")
    return table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of a run of all steps."""
    made = tmp_path_factory.mktemp("steps")
    (made / "sub").mkdir()
    run("simulate", "cancer", "--rows", 150, "--hide", "mcar:0.01", "--seed", 3,
        "-o", made / "sub/holes.csv", "--complete", made / "sub/full.csv")  # fmt: skip
    shutil.copy(made / "sub/full.csv", made / "other.csv")
    (made / "all.toml").write_text(ALL)
    run("run", made / "all.toml", "-o", made / "out", "-q")
    return made / "out"


def test_each_step_s_record_is_that_of_its_command(folder):
    record = json.loads((folder / "result.json").read_text())
    by_command = {step["command"]: step for step in record["steps"]}
    assert list(record) == ["steps", "made_by"]
    assert by_command["impute"]["completion"]
    assert {row["method"] for row in by_command["compare"]["rows"]} == {
        "mode",
        "t-local",
    }
    assert all(row["accuracy"] > 0 for row in by_command["compare"]["rows"])
    assert by_command["solve"]["status"] == "optimal"
    assert by_command["verify"]["valid"]
    assert by_command["fit"]["output"] == "fitted.bif"
    assert by_command["compile"]["max_error"] < 1e-9
    assert by_command["simulate"]["rows"] == 5
    assert len(by_command["query"]["explanations"]) == 2
    assert set(by_command["query"]["posterior"]) == {"Cancer"}
    assert by_command["evaluate"]["rows"] == 150


def test_all_files_lie_in_the_folder_of_the_run(folder):
    for name in (
        "imputed/completed.csv", "solved.json", "proof.json", "scores.jkl",
        "fitted.bif", "compiled.pdg.json", "answers/rows.json", "augmented/completed.csv",
        "learnt.pdg.json", "simulated.csv",
    ):  # fmt: skip
        assert (folder / name).is_file(), name


def test_the_stored_run_repeats_it_elsewhere(folder, tmp_path):
    moved = tmp_path / "moved"
    shutil.copytree(folder, moved)
    for name in ("imputed", "answers"):
        shutil.rmtree(moved / name)
    again = run_json("run", moved / "run.toml", "-o", tmp_path / "again", "-q")
    before = json.loads((folder / "result.json").read_text())
    for one, other in zip(before["steps"], again["steps"], strict=True):
        machine = {
            "seconds": 0,
            "rows": 0,
            "certificate": "",
            "file": "",
            "made_by": "",
        }
        assert {**one, **machine} == {**other, **machine}
    assert list(stored(folder)) == list(stored(tmp_path / "again"))


def test_a_seed_stands_for_that_of_every_step(folder, tmp_path):
    run("run", folder / "run.toml", "-o", tmp_path / "again", "--seed", 5, "-q")
    again = stored(tmp_path / "again")
    taken = [step.options for step in declared_steps(again)]
    assert {options.seed for options in taken if hasattr(options, "seed")} == {5}
    assert declared(again).search.seed == 5


def test_a_step_that_fails_keeps_the_records_before(tmp_path):
    (tmp_path / "x.toml").write_text(
        "pipeline = false\n[data]\nfile = 'x.csv'\n"
        "[simulate]\nsource = 'asia'\n[query]\nsource = 'nowhere.bif'\n"
    )
    printed = fails("run", tmp_path / "x.toml", "-o", tmp_path / "out", "--json")
    assert f"Step query\nError: {tmp_path / 'nowhere.bif'}: no such file" in printed
    record = json.loads((tmp_path / "out" / "result.json").read_text())
    assert [step["command"] for step in record["steps"]] == ["simulate"]


def test_a_new_command_is_one_entry(monkeypatch, tmp_path):
    """The class of its options and its function may be anywhere; it is a step, too."""

    class Greet(Declared):
        """Greet somebody."""

        source: str = argument("NAME")
        times: int = option(1, least=1, help="How often.")

    def greet(options, output):
        return Answer(record={"text": options.times * f"Hello {options.source}. "})

    monkeypatch.setitem(COMMANDS, "greet", Command(Greet, greet))
    assert options_of("greet") is Greet
    assert run_json("greet", "Ann", "--times", 2)["text"] == "Hello Ann. Hello Ann. "
    assert "NAME" in run("greet", "--help")
    assert "not in the range" in fails("greet", "Ann", "--times", 0)
    (tmp_path / "x.toml").write_text(
        "pipeline = false\n[data]\nfile = 'x.csv'\n[greet]\nsource = 'Bob'\n"
    )
    record = run_json("run", tmp_path / "x.toml", "-o", tmp_path / "out", "-q")
    assert record["steps"][0].pop("made_by")["step"] == "greet"
    assert record["steps"] == [
        {"command": "greet", "output": None, "text": "Hello Bob. "}
    ]


def test_an_interrupted_step_is_the_last_one(monkeypatch, tmp_path):
    """A limit is no reason to stop, but the exit status says so."""

    class End(Declared):
        """End in some way."""

        status: str = argument("STATUS")

    def end(options, output):
        return Answer(record={"status": options.status}, status=options.status)

    monkeypatch.setitem(COMMANDS, "end", Command(End, end))
    text = "pipeline = false\n[data]\nfile = 'x.csv'\n"
    for statuses, exit_status, taken in (
        (("feasible", "optimal"), 3, 2),
        (("feasible", "interrupted", "optimal"), 130, 2),
    ):
        entries = "".join(f"[[end]]\nstatus = '{status}'\n" for status in statuses)
        (tmp_path / "x.toml").write_text(text + entries)
        words = ("run", tmp_path / "x.toml", "-o", tmp_path / "out", "-q")
        record = run_json(*words, status=exit_status)
        assert [step["status"] for step in record["steps"]] == list(statuses[:taken])
        written = json.loads((tmp_path / "out" / "result.json").read_text())
        assert [step["status"] for step in written["steps"]] == list(statuses[:taken])
