"""`reproduce all`, budgets, and what is told of runs that are left out."""

import json
from functools import partial

import pytest

from exactlearn._runtime.control import Budget, SearchControl
from exactlearn.commands import reproduce
from exactlearn.commands.declare import duration
from exactlearn.errors import DataError, OptionError
from exactlearn.evaluation.study import Record
from exactlearn.reporting.curves import CurvesFigure
from exactlearn.reproduce.runner import Shown, Tables
from tests.command_line import fails, run


def tiny(name, done, refuse=False):
    """Return a paper of one experiment, which tells its runs."""

    def tables(options, setup):
        def repeat():
            if refuse:
                raise DataError("no data")
            for seed in setup.seeds:
                run = partial(done.append, (name, seed))
                setup.record.once("one", str(seed), "ours", lambda run=run: run() or {})

        figures = {"figure-1": CurvesFigure(curves={"ours": [(1, 1)]}, across="size", up="kl")}
        return Tables(repeat, lambda: Shown({"rows": []}, ["a table"], figures))

    return reproduce.Reproduced(tables, 3, ("--starts",))


@pytest.fixture
def done(monkeypatch):
    """Runs in the order in which they are done, of three tiny papers."""
    found = []
    papers = {"first": tiny("first", found), "second": tiny("second", found)}
    papers["third"] = tiny("third", found, refuse=True)
    monkeypatch.setattr(reproduce, "PAPERS", papers)
    return found


def test_all_papers_are_repeated_few_repetitions_first(tmp_path, done):
    pytest.importorskip("matplotlib")
    words = ("reproduce", "all", "--budget", "1h", "-o", tmp_path, "--json")
    record = json.loads(run(*words))
    assert done == [(name, 0) for name in ("first", "second")] + [
        (name, seed) for seeds in ((1,), (2,)) for name in ("first", "second") for seed in seeds
    ]
    assert [(p["paper"], p["done"], p["refused"]) for p in record["papers"]] == [
        ("first", 3, ""),
        ("second", 3, ""),
        ("third", 0, "no data"),
    ]
    assert record["not_run"] == {}
    assert (tmp_path / "first" / "tables.txt").read_text() == "a table\n"
    assert (tmp_path / "second" / "figure-1.svg").exists()
    found = json.loads((tmp_path / "first" / "tables.json").read_text())
    assert found["figures"]["figure-1"] == {"ours": [[1, 1]]}
    run(*words)
    assert len(done) == 6


def test_what_a_budget_leaves_out_is_told(tmp_path, done):
    printed = run("reproduce", "all", "--budget", "0", "-o", tmp_path, status=3)
    assert done == []
    assert "What is not run is listed in each paper's tables.txt" in printed
    told = (tmp_path / "first" / "tables.txt").read_text()
    assert "Not run: 3 runs of 1 experiments" in told
    assert "one: 3" in told


def test_what_a_refused_paper_has_done_is_shown(tmp_path, monkeypatch):
    def tables(options, setup):
        def repeat():
            setup.record.once("one", "0", "ours", lambda: {"x": 1})
            setup.record.once("two", "0", "ours", refuse)

        return Tables(repeat, lambda: Shown({"rows": list(setup.record.done)}, ["a table"]))

    def refuse():
        raise DataError("no data")

    monkeypatch.setattr(reproduce, "PAPERS", {"half": reproduce.Reproduced(tables, 1, ())})
    words = ("reproduce", "all", "--budget", "1h", "-o", tmp_path, "--json")
    (paper,) = json.loads(run(*words, status=3))["papers"]
    assert (paper["done"], paper["left"], paper["refused"]) == (1, 1, "no data")
    assert json.loads((tmp_path / "half" / "tables.json").read_text())["rows"] == ["one"]


def test_a_run_that_the_budget_cuts_short_is_not_kept():
    control = SearchControl(60.0)
    record = Record(None, lambda told: None, control=control)
    assert record.once("a", "0", "whole", lambda: {"x": 1})["x"] == 1
    assert record.once("a", "0", "half", lambda: control.expire() or {"x": 2}) is None
    assert record.once("a", "1", "never", lambda: pytest.fail("begun")) is None
    assert record.left == [("a", "0", "half"), ("a", "1", "never")]
    assert record.done == {"a": {"0": {"whole": {"x": 1, "learning": ""}}}}

    def refused():
        control.expire()
        raise DataError("no time")

    assert record.once("a", "2", "refused", refused) is None
    record.control = SearchControl()
    with pytest.raises(DataError, match="no time"):
        record.once("a", "2", "refused", refused)


def test_a_budget_stops_searches_with_limits_of_their_own():
    control = Budget(60.0)
    record = Record(None, lambda told: None, control=control.part(0.5))

    def search():
        with SearchControl(1000.0).running() as own:
            assert not own.is_over
            record.control.expire()
            assert own.is_over
            raise KeyboardInterrupt

    with record.control.running():
        assert record.once("a", "0", "ours", search) is None
    assert record.control.has_run_out
    assert not control.is_over
    control.stop()
    assert not record.control.has_run_out

    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Record(None, lambda told: None).once("a", "0", "ours", interrupted)


def test_a_budget_of_one_paper(tmp_path):
    words = ("reproduce", "pdg", "--tables", "logic", "--only", "Logic2", "--json", "-o", tmp_path)
    record = json.loads(run(*words, "--budget", "0s", status=3))
    assert record["rows"] == []
    assert record["not_run"] == {"table logic: Logic2": 2}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2h", 7200), ("90m", 5400), ("600", 600), ("1h 30m", 5400), ("45s", 45), ("1.5h", 5400)],
)
def test_durations(text, seconds):
    assert duration(text, "--budget") == seconds


@pytest.mark.parametrize("text", ["", "2d", "h", "-5", "1m2h", "inf"])
def test_no_durations(text):
    with pytest.raises(OptionError, match="such as 2h"):
        duration(text, "--budget")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--tables", "1"), "--tables"),
        (("--budget", "soon"), "such as 2h"),
        ((), "--budget"),
        (("--budget", "1h"), "--output: name a folder"),
    ],
)
def test_mistakes_are_reported(words, message):
    assert message in fails("reproduce", "all", *words)
