"""Loops say which step of how many they do, and how long the others may take."""

import re
import sys
import threading

import numpy as np
import pytest

import exactlearn as el
from exactlearn._runtime import progress
from exactlearn._runtime.progress import counted, listening, progress_text
from exactlearn.evaluation.study import PlannedRun, Study

HOLES = [[0, 0, 0], [1, 1, -1], [0, -1, 1], [1, 0, 1], [1, 1, 0], [-1, 0, 0]] * 5
TABLE = el.Dataset(np.array(HOLES), ("a", "b", "c"), (("n", "y"),) * 3)
WHOLE = el.Dataset(np.abs(HOLES), ("a", "b", "c"), (("n", "y"),) * 3)


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [0.0]
    monkeypatch.setattr(progress, "clock", lambda: now[0])
    return now


def test_remaining_time_follows_from_the_outermost_loop(clock):
    texts = []
    with listening(texts.append):
        for step in counted("sample", range(4), 4):
            for _ in counted("start", range(2), 2):
                clock[0] += 45 if step < 3 else 30
    assert texts == [
        "sample 1 of 4",
        "sample 1 of 4, start 1 of 2",
        "sample 1 of 4, start 2 of 2, 0:00:45 to go",
        "sample 2 of 4, 0:04:30 to go",
        "sample 2 of 4, start 1 of 2, 0:04:30 to go",
        "sample 2 of 4, start 2 of 2, 0:03:45 to go",
        "sample 3 of 4, 0:03:00 to go",
        "sample 3 of 4, start 1 of 2, 0:03:00 to go",
        "sample 3 of 4, start 2 of 2, 0:02:15 to go",
        "sample 4 of 4, 0:01:30 to go",
        "sample 4 of 4, start 1 of 2, 0:01:30 to go",
        "sample 4 of 4, start 2 of 2, 0:01:00 to go",
    ]
    assert progress_text() == ""


def test_a_loop_that_takes_longer_than_expected_tells_no_time(clock):
    for step in counted("fold", range(2), 2):
        clock[0] += 10 if step == 0 else 11
        text = progress_text()
    assert text == "fold 2 of 2"


def test_a_loop_that_is_left_or_fails_is_over():
    for _ in counted("fold", range(3), 3):
        break
    with pytest.raises(ZeroDivisionError):
        list(counted("fold", (1 // k for k in range(3)), 3))
    assert progress_text() == ""


def test_loops_of_other_threads_are_not_told():
    texts = []
    with listening(texts.append):
        thread = threading.Thread(target=lambda: list(counted("fold", range(3), 3)))
        thread.start()
        thread.join()
    assert texts == []


LONG = {
    "run 2 of 3": lambda: Study([PlannedRun(str(k), dict) for k in range(3)]).run(),
    "run 3 of 3, parent set": lambda: el.bootstrap(WHOLE, 3),
    "run 5 of 6": lambda: el.cross_validate(
        WHOLE, ["chow-liu", "independent"], folds=3
    ),
    "fold 2 of ": lambda: el.choose_ess(WHOLE, values=[0.5, 1.0]),
    "start 3 of 4": lambda: el.fit_em(TABLE, [(), (0,), (0,)], starts=4),
    "start 2 of 3": lambda: el.augment(TABLE, method="t-local", starts=3),
    "start 2 of 2": lambda: el.structural_em(TABLE, el.BDeu(), starts=2),
    "model 2 of 2, network 2 of 7": lambda: el.impute(TABLE),
    "model class 2 of 2, model 2 of 2": lambda: el.sl_curves(
        WHOLE, WHOLE, languages=["bn", "nb"], size_weights=[0.9, 0.5]
    ),
}


@pytest.mark.parametrize("text", LONG)
def test_long_computations_count_their_steps(text):
    texts = []
    with listening(texts.append):
        LONG[text]()
    assert any(shown.startswith(text) for shown in texts), texts[:9]


@pytest.mark.parametrize("is_notebook", [True, False])
def test_a_notebook_shows_progress_in_one_line_and_removes_it(
    is_notebook, monkeypatch, capsys
):
    """The line has the steps, the score and the bound."""
    monkeypatch.setattr(progress, "NOTEBOOK_DELAY", 0.0)
    monkeypatch.setattr(progress, "NOTEBOOK_PAUSE", 0.0)
    if is_notebook:
        monkeypatch.setitem(sys.modules, "ipykernel", sys)
    for _ in counted("sample", range(2), 2):
        el.solve(el.candidate_parent_sets(WHOLE, el.BDeu()))
    shown = capsys.readouterr().err
    if not is_notebook:
        assert shown == ""
        return
    assert "sample 2 of 2" in shown
    assert re.search(
        r"sample 2 of 2.*  score -\d+\.\d+  bound -\d+\.\d+  gap 0\.0000", shown
    )
    assert "\n" not in shown
    assert shown.split("\r")[-2:] == [100 * " ", ""]
