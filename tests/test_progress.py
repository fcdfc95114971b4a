"""The incumbent on disk is the best that was reported; writing it does not hold up the search."""

import json
from itertools import pairwise
from math import inf, nan

import numpy as np
import pytest

from exactlearn import progress
from exactlearn.progress import Incumbent, Narration
from exactlearn.report import number, percent, strict
from exactlearn.solvers.result import Event

NOTHING = Event(0.0, -inf, 5.0, 0, None)


def event(score, seconds=0.0):
    return Event(seconds, score, 5.0, 0, ((),))


class Clock:
    """A clock that only moves when something is written or when told to."""

    def __init__(self, cost):
        self.now, self.cost, self.written = 0.0, cost, []

    def write(self, told):
        self.written.append((self.now, told.score))
        self.now += self.cost


@pytest.fixture
def clock(monkeypatch):
    made = Clock(cost=1.0)
    monkeypatch.setattr(progress, "monotonic", lambda: made.now)
    return made


def test_better_selections_are_written_at_once(clock):
    clock.cost = 0.0
    incumbent = Incumbent(clock.write)
    for told in (NOTHING, event(-3), event(-3), event(-4), event(-2)):
        incumbent(told)
    assert [score for _, score in clock.written] == [-3, -2]


def test_writing_takes_its_share_of_the_time_and_no_more(clock):
    incumbent = Incumbent(clock.write)
    for k in range(200):
        incumbent(event(float(k)))
        clock.now += 0.5
    gaps = [b - a for (a, _), (b, _) in pairwise(clock.written)]
    assert all(10.0 <= gap <= 10.5 for gap in gaps)


def test_a_selection_that_had_to_wait_is_written_with_the_next_report(clock):
    incumbent = Incumbent(clock.write)
    incumbent(event(1))
    incumbent(event(2))
    clock.now += 20
    incumbent(event(2))
    assert [score for _, score in clock.written] == [1, 2]


def test_narration_is_silent_off_a_terminal(capsys):
    with Narration("solving") as narration:
        narration(event(-3))
    assert capsys.readouterr() == ("", "")


def test_verbose_narration_tells_each_improvement_once(capsys):
    with Narration("solving", verbose=True) as narration:
        for told in (NOTHING, event(-3), event(-3, 1.0), event(-2)):
            narration(told)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[1] for line in lines] == [
        "bound 5.0000", "score -3.0000", "score -2.0000",
    ]  # fmt: skip
    assert "gap 350.00 %" in lines[-1]


def test_quiet_beats_verbose(capsys):
    with Narration("solving", quiet=True, verbose=True) as narration:
        narration(event(-3))
    assert capsys.readouterr() == ("", "")


def test_strict_json_has_no_infinities_and_no_numpy():
    record = {"a": inf, 3: (nan, np.float64(1.5), np.int64(2)), "b": np.array([[1, 2]])}
    assert json.dumps(strict(record), allow_nan=False) == (
        '{"a": null, "3": [null, 1.5, 2], "b": [[1, 2]]}'
    )


def test_numbers_for_people():
    assert (number(1.23456), number(inf), number(None)) == ("1.2346", "", "")
    assert (percent(0.125), percent(nan)) == ("12.50 %", "")
