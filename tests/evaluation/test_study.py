"""Studies: once, again after a failure or an interrupt, and the same in several processes."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from exactlearn._runtime.control import SearchControl
from exactlearn.errors import DataError
from exactlearn.evaluation.study import PlannedRun, Record, Study


def square(number, log=None):
    if log is not None:
        with open(log, "a") as file:
            file.write(f"{number}\n")
    return {"value": number * number}


def fail_on(number, error):
    raise error(f"no {number}")


def search_until_stopped(started):
    started.touch()
    control = SearchControl.within()
    while not control.is_over:
        time.sleep(0.01)
    return {"value": "so far"}


def runs_of(log=None, numbers=range(4), settings=""):
    works = {n: partial(square, n, log) for n in numbers}
    return [PlannedRun("t", str(n % 2), f"m{n}", work, settings) for n, work in works.items()]


def study(path, given, jobs=1, control=None):
    control = SearchControl() if control is None else control
    return Study(given, Record.open(path, lambda title: None, control), jobs)


def values(one):
    return [found["value"] for found in one.found()]


@pytest.mark.parametrize("jobs", [1, 2])
def test_runs_are_done_once_and_again_with_other_settings(tmp_path, jobs):
    log, path = tmp_path / "log", tmp_path / "record.json"
    for _ in range(2):
        again = study(path, runs_of(log), jobs)
        again.run()
        assert values(again) == [0, 1, 4, 9]
    assert sorted(log.read_text().split()) == ["0", "1", "2", "3"]
    study(path, runs_of(log, range(5))).run()
    assert log.read_text().split()[4:] == ["4"]
    study(path, runs_of(log, range(5), "other")).run()
    assert len(log.read_text().split()) == 10


def test_processes_leave_the_same_bytes(tmp_path):
    for jobs in (1, 3):
        study(tmp_path / f"{jobs}.json", runs_of(), jobs).run()
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "3.json").read_bytes()


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failure_is_kept_in_its_place_and_run_again(tmp_path, jobs):
    path = tmp_path / "record.json"
    wrong = [
        PlannedRun("t", "0", "data", partial(fail_on, 1, DataError)),
        PlannedRun("t", "0", "bug", partial(fail_on, 2, ZeroDivisionError)),
    ]
    first = study(path, [*wrong, *runs_of()], jobs)
    first.run()
    assert values(first) == [0, 1, 4, 9]
    assert [why for _, why in first.failures()] == ["no 1", "ZeroDivisionError: no 2"]
    mended = [PlannedRun("t", "0", "data", partial(square, 5)), *runs_of()]
    later = study(path, mended)
    later.run()
    assert (values(later), list(later.failures())) == ([25, 0, 1, 4, 9], [])


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_time_limit_keeps_what_is_cut_short_as_unfinished(tmp_path, jobs):
    path, started = tmp_path / "record.json", tmp_path / "started"
    given = [PlannedRun("t", "0", "long", partial(search_until_stopped, started))]
    limited = study(path, given, jobs, SearchControl(4.0 if jobs > 1 else 0.1))
    limited.run()
    assert [f["unfinished"] for f in limited.found()] == [True] * started.exists()
    later = study(path, [PlannedRun("t", "0", "long", partial(square, 3))])
    later.run()
    assert json.loads(path.read_text())["t"]["0"]["long"] == {"value": 9, "learning": ""}


def test_a_stopped_study_begins_nothing(tmp_path):
    control = SearchControl()
    control.stop()
    for jobs in (1, 2):
        stopped = study(tmp_path / f"{jobs}.json", runs_of(), jobs, control)
        stopped.run()
        assert values(stopped) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_keeps_what_is_done(tmp_path, jobs):
    path, started = tmp_path / "record.json", tmp_path / "started"
    code = (
        "from tests.evaluation.test_study import *\n"
        "from pathlib import Path\n"
        "if __name__ == '__main__':\n"
        f"    begun = Path({str(started)!r})\n"
        "    long = PlannedRun('t', '9', 'long', partial(search_until_stopped, begun))\n"
        f"    one = study(Path({str(path)!r}), [*runs_of(), long], {jobs})\n"
        "    one.run()\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    process = subprocess.Popen(
        [sys.executable, str(script)], env={**os.environ, "PYTHONPATH": os.getcwd()}
    )
    while not started.exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(100) == 0
    done = json.loads(path.read_text())["t"]
    assert [done[str(n % 2)][f"m{n}"]["value"] for n in range(4)] == [0, 1, 4, 9]
    assert done["9"]["long"]["unfinished"]
