"""Grids: names, arguments, published figures; the record of runs; and the frames that it gives."""

import ast
import inspect
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import exactlearn as el
import experiments
from exactlearn.imputation.methods import METHODS
from experiments import extras, runner
from experiments.__main__ import main, seconds_of
from experiments.record import Record
from experiments.report import figures_of, frame_of, paired, printed, summary, write
from experiments.runner import Grid, Run, grids, work

GRIDS = {grid.name: grid for grid in grids()}
FOLDER = Path(experiments.__file__).parent


PUBLIC = {
    package.__name__: {*package.__all__} for package in (el, el.graphs, el.queries)
}
PUBLIC["exactlearn.errors"] = {"ColumnWarning"}


@pytest.mark.parametrize(
    "path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem
)
def test_only_public_names_are_imported(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("exactlearn.") for alias in node.names)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "exactlearn"
        ):
            assert {alias.name for alias in node.names} <= PUBLIC.get(
                node.module, set()
            ), f"line {node.lineno}: from {node.module}"


@pytest.mark.parametrize("name", GRIDS)
def test_every_run_fits_its_function_and_has_a_unique_key(name):
    runs = list(GRIDS[name].runs(seeds=(0, 1)))
    module, function = runs[0].function.split(".")
    signature = inspect.signature(
        getattr(import_module(f"experiments.{module}"), function)
    )
    for run in runs:
        signature.bind(**run.arguments, data="")
    named = {(run.case, run.arguments["method"], run.arguments["seed"]) for run in runs}
    assert len({run.key for run in runs}) == len(named) == len(runs)
    assert (
        set()
        < {run.key for run in GRIDS[name].runs(full=False)}
        <= {run.key for run in runs}
    )


@pytest.mark.parametrize("name", GRIDS)
def test_published_figures_are_those_of_cases_and_methods(name):
    grid = GRIDS[name]
    published, runs = dict(grid.content.get("published", {})), list(grid.runs())
    columns, bits = published.pop("columns", []), published.pop("bits", [])
    assert set(bits) <= set(columns) <= set(grid.content["columns"])
    assert set(published) <= {case for run in runs for case in (run.case, run.pool)}
    methods = {run.arguments["method"] for run in runs} - {""}
    for figures in published.values():
        assert {name for name in figures if name not in methods} <= {
            "",
            "BN",
            "PDG",
        } or all(name.split(", ")[0] in methods for name in figures)
        assert max(map(len, figures.values())) <= len(columns)
    if after := grid.content.get("after"):
        assert callable(getattr(import_module(f"experiments.{grid.module}"), after))


def test_the_list_names_all_reproducible_tables_and_figures(capsys):
    assert main(["--list"]) == 0
    printed = capsys.readouterr().out
    assert [line.split()[0] for line in printed.splitlines()] == list(GRIDS)
    assert all(f"AUG, Table {table}" in printed for table in (1, 2, 3, 5))
    assert all(f"DEL, Table {table}" in printed for table in range(1, 9))
    texts = "Figure 3(a)|Figures 3(b) and 3(c)|Figure 5|Table 4.3|Figure 4.3|Figure 4.6|Figures 4.7"
    texts += "|4.9|Figure 4.8|Tables 5.1 to 5.3|Table 5.4|Table 5.5|Tables 5.6 to 5.9|Table 5.10"
    texts += (
        "|Table 5.11|Tables A.1 to A.13|PDG-SEM, Table 1|PDG-SEM, Figure 5|sections 6.1"
    )
    for text in texts.split("|"):
        assert text in printed


def toy(**content):
    """Return a grid of a function of the module `toys`, which the fixture makes."""
    base = {
        "run": "toys.measured",
        "methods": ["good", "bad"],
        "columns": {"value": 2, "other": 1},
        "cases": [{"size": [1, 2], "pool": "both"}, {"name": "large", "size": 9}],
    }
    return Grid("toys-1", base | content)


@pytest.fixture
def calls(monkeypatch):
    seen = []

    def measured(*, method, seed, data, size):
        seen.append((method, seed, size))
        if method == "broken":
            raise ValueError("no toy")
        return {"value": size + seed + (method == "good"), "other": float(size)}

    module = type("toys", (), {"measured": measured})
    monkeypatch.setattr(runner, "import_module", lambda name: module)
    return seen


def test_runs_are_the_product_of_lists_for_each_repetition(calls):
    runs = list(toy().runs(seeds=(5, 6)))
    assert [run.case for run in runs[:6]] == ["1", "1", "2", "2", "large", "large"]
    assert [run.arguments["seed"] for run in runs] == [5] * 6 + [6] * 6
    assert [run.case for run in toy().runs(only="large", methods=["bad"])] == ["large"]
    assert {r.arguments["size"] for r in toy(quick={"size": 2}).runs(full=False)} == {2}


def test_only_failed_or_cut_runs_are_repeated(calls, tmp_path):
    grid, path = toy(methods=["good", "broken"]), tmp_path / "toys.jsonl"
    runs = list(grid.runs())
    work(runs, Record(path))
    assert len(calls) == 6
    assert [r["error"] for r in Record(path).done[runs[1].key]] == [
        "ValueError: no toy"
    ]
    assert Record(path).left(runs) == [
        run for run in runs if run.arguments["method"] == "broken"
    ]
    path.write_text(path.read_text("utf-8")[:-20], "utf-8")  # killed
    calls.clear()
    work(runs, Record(path))
    assert {method for method, _, _ in calls} == {"broken"}


def endless(*ignored):
    while True:
        sum(range(1000))


def test_no_run_begins_after_the_deadline(monkeypatch, calls):
    """A run that the deadline cuts is not kept."""
    (run, *_), record = toy().runs(), Record()
    work([run], record, seconds=0.0)
    assert (calls, record.done) == ([], {})

    monkeypatch.setattr(Run, "do", endless)
    work([run], record, seconds=0.2)
    assert record.done == {}
    assert record.cut.keys() == {run.key}


def test_an_interrupt_that_a_callback_ignores_comes_again(monkeypatch, calls):
    monkeypatch.setattr(runner, "INTERRUPT_INTERVAL", 0.1)
    (run, *_), heard = toy().runs(), []

    def deaf_at_first(self, parts):
        try:
            endless()
        except KeyboardInterrupt:
            heard.append(1)
        endless()

    monkeypatch.setattr(Run, "do", deaf_at_first)
    record = Record()
    work([run], record, seconds=0.2)
    assert (heard, record.cut.keys()) == ([1], {run.key})


@pytest.fixture
def summed(monkeypatch):
    """Make the runs sums of three parts; return the parts that are done, and those to stop at."""
    finished, endless_parts = [], set()

    def part_of(method, k):
        if (method, k) in endless_parts:
            endless()
        finished.append((method, k))
        return k

    def measured(*, method, seed, data, size, parts):
        return {
            "value": sum(parts(str(k), partial(part_of, method, k)) for k in range(3))
        }

    monkeypatch.setattr(
        runner, "import_module", lambda name: SimpleNamespace(measured=measured)
    )
    monkeypatch.setattr(runner, "FIRST_SECONDS", 0.2)
    return finished, endless_parts


def test_an_oversized_run_resumes_from_its_parts_after_others(summed, tmp_path):
    finished, endless_parts = summed
    runs = list(toy(cases=[{"size": [1, 2]}]).runs(methods=["good"]))
    long, short = runs
    endless_parts.add(("good", 2))
    work(runs, Record(tmp_path / "toys.jsonl"), seconds=0.3)
    assert finished[:2] == [("good", 0), ("good", 1)]
    record = Record(tmp_path / "toys.jsonl")
    assert long.key in record.cut
    assert record.left(runs) == [short, long]  # first the runs that had no chance
    endless_parts.clear()
    finished.clear()
    work([long], record)
    assert finished == [("good", 2)]
    assert record.done[long.key][0]["value"] == 3
    assert not record.parts_path(long).exists()


def test_the_first_row_printed_is_that_of_a_quick_method(summed):
    _, endless_parts = summed
    endless_parts.add(("bad", 0))
    runs = list(toy(cases=[{"size": 1}]).runs())
    record, shown = Record(), []

    def show(run, rows):
        shown.append(figures_of(toy(), *rows))

    work(runs, record, seconds=2.0, on_done=show)
    assert [run.arguments["method"] for run in record.left(runs)] == ["bad"]
    assert shown == ["value 3.00"]


@pytest.mark.parametrize(
    ("installed", "lines"), [((), 2), (("sklearn", "matplotlib"), 0)]
)
def test_missing_extras_are_named_once_before_any_run(
    installed, lines, monkeypatch, capsys
):
    monkeypatch.setattr(
        extras, "find_spec", lambda module: module if module in installed else None
    )
    names = ("augmentation-2", "augmentation-5", "deletion-figure-3a")
    plans = [(GRIDS[name], list(GRIDS[name].runs())) for name in names]
    left_out, told = extras.without_extras(plans, draws=True)
    assert {run.arguments["method"] for run in left_out} == (
        {"svm-rbf"} if lines else set()
    )
    assert len(told) == lines
    assert all("exactlearn[" in line for line in told)
    assert len(extras.without_extras(plans, draws=False)[1]) == lines // 2
    main(["augmentation-2", "--methods", "svm-rbf", "--budget", "0s", "-o", "unused"])
    assert capsys.readouterr().err.count("not installed") == lines // 2


def test_methods_of_scikit_learn_are_known():
    methods = {
        run.arguments["method"] for grid in GRIDS.values() for run in grid.runs()
    }
    needing = {
        name for name in methods & METHODS.keys() if METHODS[name].needs_scikit_learn
    }
    assert {*extras.BY_SKLEARN} == needing | {"svm-rbf"}


def test_means_errors_pools_and_published_figures(calls):
    published = {"columns": ["value"], "both": {"good": [2.5]}, "bits": ["value"]}
    grid = toy(published=published, compare="other")
    runs = list(grid.runs(seeds=(0, 1, 2)))
    record = Record()
    work(runs, record)
    found = summary(grid, frame_of(grid, runs, record))
    assert found.index.unique("case").tolist() == ["1", "2", "large", "both"]
    assert found.loc[("1", "good"), "value"] == pytest.approx(np.mean([2, 3, 4]))
    assert found.loc[("both", "good"), "value"] == pytest.approx(
        np.mean([2.5, 3.5, 4.5])
    )
    assert found.loc[("both", "good"), "value ±"] == pytest.approx(1 / np.sqrt(3))
    assert found.loc[("both", "good"), "paper value"] == pytest.approx(2.5 * np.log(2))
    assert found["n"].eq(3).all()
    assert (
        tuple(found.loc[("1", "bad"), ["ahead", "p"]])
        == (0.0, 1.0)
        == paired([1] * 3, [1] * 3)
    )
    assert paired([3, 5, 5, 5], [2, 4, 4, 4]) == (1.0, 0.125)
    assert np.isnan(paired([1, 2], [0, 1])[1])
    text = printed(grid, found)
    assert "3.50 ± 0.58" in text
    assert "nan" not in text


def test_means_are_over_runs_that_all_methods_have(calls):
    """A run is one case and repetition."""
    grid = toy(
        published={"columns": ["value"], "both": {"good": [2.5]}}, compare="value"
    )
    runs = list(grid.runs(seeds=(0, 1)))
    record = Record()
    work(runs, record)
    of_one_value = [
        run for run in runs if run.arguments["method"] == "bad" and run.case == "1"
    ]
    both_values = summary(grid, frame_of(grid, runs, record)).loc["both", "value"]
    del record.done[of_one_value[1].key]
    found = summary(grid, frame_of(grid, runs, record))
    assert found.loc["both", "n"].tolist() == [1, 1]
    assert found.loc["both", "value"].tolist() == [2.5, 1.5] != both_values.tolist()
    assert found.loc[("1", "good"), "value"] == 2.0
    first_of_good = next(run for run in runs if run.arguments["method"] == "good")
    of_one_repetition = {**record.done}
    del of_one_repetition[
        first_of_good.key
    ]  # cut short, so that the second one is done before it
    found = summary(grid, frame_of(grid, runs, Record(done=of_one_repetition)))
    assert found.loc["1"].index.tolist() == ["good", "bad"]
    found = summary(grid, frame_of(grid, runs, record))
    assert found.loc[("2", "good"), "n"] == 2
    del record.done[of_one_value[0].key]
    found = summary(grid, frame_of(grid, runs, record))
    assert ("both", "bad") not in found.index  # of one value only
    assert found.loc[("both", "good"), ["n", "value"]].tolist() == [2, 3.0]


def test_a_failed_method_has_its_error_and_others_their_means(calls):
    for methods in (["good", "broken"], ["broken"]):
        grid = toy(methods=methods, compare="value")
        runs, record = list(grid.runs(seeds=(0, 1))), Record()
        work(runs, record)
        found = summary(grid, frame_of(grid, runs, record))
        assert found.loc[("large", "broken"), ["n", "error"]].tolist() == [
            0,
            "ValueError: no toy",
        ]
        if "good" in methods:
            assert found.loc[("large", "good"), ["n", "value"]].tolist() == [2, 10.5]


def test_rows_of_a_run_have_labels_and_are_points_of_figures(tmp_path):
    pytest.importorskip("matplotlib")
    figures = [{"name": "toy", "x": "size", "y": "value"}]
    grid, record = toy(figures=figures, methods=[""]), Record()
    runs = list(grid.runs())
    for run in runs:
        record.keep(
            run, [{"label": name, "value": run.arguments["size"]} for name in "ab"]
        )
    frame = frame_of(grid, runs, record)
    assert set(frame["method"]) == {"a", "b"}
    write(tmp_path, grid, "text\n", {"": summary(grid, frame), "more": frame}, frame)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["figure-toy.svg", "toys-1-more.csv", "toys-1.csv", "toys-1.txt"]


def test_a_table_is_run_in_two_processes_kept_and_resumed(tmp_path, capsys):
    words = ["deletion-figure-3a", "--only", "fire alarm, 100", "--repetitions", "2"]
    words += ["--methods", "D-MAR,F-MAR", "-o", str(tmp_path)]
    assert main([*words, "--jobs", "2"]) == 0
    first, kept = capsys.readouterr(), (tmp_path / f"{words[0]}.jsonl").read_text()
    assert len(first.err.splitlines()) == len(kept.splitlines())
    assert main(words) == 0
    again = capsys.readouterr()
    assert (again.err, again.out) == ("", first.out)
    assert main([*words, "--repetitions", "3", "--budget", "0s"]) == 3
    assert "are not done" in capsys.readouterr().err


def test_unknown_tables_and_missing_data_are_refused(monkeypatch, capsys):
    monkeypatch.delenv("EXACTLEARN_DATA", raising=False)
    for words, told in (["table-99"], "--list"), (["thesis-5.5"], "--data-dir"):
        with pytest.raises(SystemExit):
            main(words)
        assert told in capsys.readouterr().err
    assert [seconds_of(text) for text in ("90", "90s", "10m", "2h")] == [
        90,
        90,
        600,
        7200,
    ]
