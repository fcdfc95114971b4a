"""The incumbent on disk is the best that was reported; writing it does not hold up the search."""

import errno
import io
import json
import os
from itertools import pairwise
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from exactlearn._runtime.compilation_notice import Compilations
from exactlearn._runtime.control import Event
from exactlearn._runtime.files import strict
from exactlearn._runtime.progress import counted
from exactlearn.commands.output import Output, ProgressDisplay
from exactlearn.errors import OptionError
from exactlearn.reporting.description import number, number_of


class IncumbentWriter(ProgressDisplay):
    """Writes the selections of events."""

    def __init__(self, write, warn):
        super().__init__("search", Output(path=Path("x.json")))
        self.write, self.warn = write, warn

    def __call__(self, event):
        if event.parents is not None:
            self.keep(event.score, lambda path: self.write(event))


NOTHING = Event(0.0, -inf, 5.0, 0, None)


def event(score, seconds=0.0):
    return Event(seconds, score, 5.0, 0, ((),))


class Clock:
    """A clock that only moves when something is written or when it is set."""

    def __init__(self, cost):
        self.now, self.cost, self.written = 0.0, cost, []
        self.full, self.warnings = False, []

    def write(self, one):
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "x.json")
        self.written.append((self.now, one.score))
        self.now += self.cost

    def warn(self, text):
        self.warnings.append(text)


@pytest.fixture
def clock(monkeypatch):
    made = Clock(cost=1.0)
    monkeypatch.setattr("exactlearn.commands.output.monotonic", lambda: made.now)
    return made


def test_better_selections_are_written_at_once(clock):
    clock.cost = 0.0
    incumbent = IncumbentWriter(clock.write, clock.warn)
    for one in (NOTHING, event(-3), event(-3), event(-4), event(-2)):
        incumbent(one)
    assert [score for _, score in clock.written] == [-3, -2]


def test_writing_takes_its_share_of_the_time_and_no_more(clock):
    incumbent = IncumbentWriter(clock.write, clock.warn)
    for k in range(200):
        incumbent(event(float(k)))
        clock.now += 0.5
    gaps = [b - a for (a, _), (b, _) in pairwise(clock.written)]
    assert all(10.0 <= gap <= 10.5 for gap in gaps)


def test_a_delayed_selection_is_written_with_the_next_report(clock):
    incumbent = IncumbentWriter(clock.write, clock.warn)
    incumbent(event(1))
    incumbent(event(2))
    clock.now += 20
    incumbent(event(2))
    assert [score for _, score in clock.written] == [1, 2]


def test_a_full_disk_is_reported_once_and_tried_again(clock):
    incumbent = IncumbentWriter(clock.write, clock.warn)
    clock.cost, clock.full = 0.0, True
    for k in range(20):
        incumbent(event(k))
        clock.now += 1
    assert clock.warnings == [
        "The best so far is not saved: [Errno 28] No space left on device: 'x.json'. "
        "The search goes on."
    ]
    clock.full = False
    for _ in range(10):
        incumbent(event(19))
        clock.now += 1
    assert [score for _, score in clock.written] == [19]
    assert len(clock.warnings) == 1


def test_a_refused_file_is_reported_like_a_full_disk(clock):
    def refuse(one):
        raise OptionError("cannot write x.json: no such folder")

    IncumbentWriter(refuse, clock.warn)(event(1))
    assert "cannot write x.json" in clock.warnings[0]


def test_other_faults_are_not_swallowed(clock):
    def fail(one):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        IncumbentWriter(fail, clock.warn)(event(1))


@pytest.fixture
def terminal(monkeypatch):
    """Let the display write on a terminal that we can read."""
    screen = io.StringIO()

    def console(**options):
        return Console(
            file=screen, force_terminal=True, width=160, height=20, markup=False
        )

    monkeypatch.setattr("rich.console.Console", console)
    return screen


def test_a_terminal_shows_stage_score_bound_gap_nodes_and_time(terminal):
    with ProgressDisplay("reading x.jkl", Output()) as display:
        display.stage("solving")
        display(NOTHING)
        display(event(-4))
        display(event(-2)._replace(nodes=17, bound=-1.0))
        display.warn("The best so far is not saved")
    shown = terminal.getvalue()
    parts = (
        "solving",
        "score -2.0000",
        "bound -1.0000",
        "gap 1.0000",
        "17 nodes",
        "0:00:00",
    )
    assert all(part in shown for part in parts)
    assert "The best so far is not saved\n" in shown


def test_a_terminal_shows_the_step_and_number_of_steps(terminal):
    """The elapsed time goes on."""
    with ProgressDisplay("bootstrap", Output()) as display:
        clock_before = display._live.tasks[0].start_time
        for _ in counted("run", range(3), 3):
            display._live.refresh()
        assert display._live.tasks[0].start_time == clock_before
    shown = terminal.getvalue()
    assert all(f"bootstrap run {k} of 3" in shown for k in (1, 2, 3))


def test_a_quiet_terminal_shows_nothing(terminal):
    with ProgressDisplay("solving", Output(quiet=True)) as display:
        display(event(-3))
        display.warn("no")
    assert terminal.getvalue() == ""


def test_verbose_messages_name_each_stage(capsys):
    with ProgressDisplay("reading", Output(verbose=True)) as display:
        display.stage("solving")
        display.warn("careful")
    assert capsys.readouterr().err == "solving ...\ncareful\n"


@pytest.mark.parametrize("options", [{}, {"quiet": True, "verbose": True}])
def test_progress_is_silent_off_a_terminal_or_with_quiet(capsys, options):
    with ProgressDisplay("solving", Output(**options)) as display:
        display(event(-3))
    assert capsys.readouterr() == ("", "")


def test_verbose_messages_name_each_improvement_once(capsys):
    with ProgressDisplay("solving", Output(verbose=True)) as display:
        for one in (
            NOTHING,
            event(-3),
            event(-3, 1.0),
            event(-2)._replace(open_nodes=5),
        ):
            display(one)
    lines = capsys.readouterr().err.splitlines()
    assert (
        " ".join(lines[0].split()) == "seconds nodes open incumbent bound gap solving"
    )
    assert [line.split() for line in lines[1:]] == [
        ["0.0", "0", "-", "-", "5.0000", "-"],
        ["0.0", "0", "-", "-3.0000", "5.0000", "8.0000"],
        ["0.0", "0", "5", "-2.0000", "5.0000", "7.0000"],
    ]
    assert len({len(line.removesuffix("  solving")) for line in lines}) == 1  # columns


def test_strict_json_has_no_infinities_and_no_numpy():
    record = {"a": inf, 3: (nan, np.float64(1.5), np.int64(2)), "b": np.array([[1, 2]])}
    assert json.dumps(strict(record), allow_nan=False) == (
        '{"a": null, "3": [null, 1.5, 2], "b": [[1, 2]]}'
    )


def test_numbers_for_people():
    assert (number(1.23456), number(inf), number(None)) == ("1.2346", "", "")
    accuracies = (number_of("accuracy", 0.125), number_of("accuracy", nan))
    assert accuracies == ("12.50 %", "")


@pytest.mark.parametrize("quiet", [False, True])
def test_the_first_kernel_to_be_compiled_is_announced(capsys, quiet):
    counted = Compilations(announce=Output(quiet=quiet).note)
    for change in (counted.begin, counted.begin, counted.end, counted.end):
        change()
    assert capsys.readouterr().err.count("Compiling the numerical kernels") == (
        not quiet
    )


def test_rows_of_the_table_begin_with_what_is_known(capsys):
    display = ProgressDisplay("search", Output(verbose=True))
    for one in (
        NOTHING._replace(bound=inf),
        event(-3),
        NOTHING._replace(bound=inf),
        event(-2),
    ):
        display(one)
    lines = capsys.readouterr().err.splitlines()
    assert ["seconds" in line for line in lines] == [True, False, False]
    assert "-3.0000" in lines[1]
    assert "-2.0000" in lines[2]
