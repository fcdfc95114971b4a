"""Studies: once, again after a failure or an interrupt, and the same in several processes."""

import json
import signal
import subprocess
import sys
import time
from functools import partial
from threading import Thread

import pytest

from exactlearn import __version__
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.executors import results as cluster_results
from exactlearn.errors import DataError, FormatError
from exactlearn.evaluation.study import PlannedRun, Study
from tests.command_line import ENVIRONMENT, wait_for

pytest.importorskip("distributed", reason="needs Dask: exactlearn[scale]")
# Sockets of a cluster that closes are left to the garbage collector.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(params=[1, 2, "cluster"])
def jobs(request):
    """Return where runs are done: in this process, in two, or on a cluster."""
    return (
        request.getfixturevalue("client")
        if request.param == "cluster"
        else request.param
    )


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
    return [PlannedRun(f"m{n}", partial(square, n, log), settings) for n in numbers]


def study(path, given, jobs=1, control=None):
    """Return a study in so many processes, or on the cluster that is given instead."""
    jobs, cluster = (jobs, None) if isinstance(jobs, int) else (1, jobs)
    return Study(given, path, jobs, cluster, control=control or SearchControl())


def values(one):
    return [found["value"] for found in one.found()]


def test_runs_are_done_once_and_again_with_other_settings(tmp_path, jobs):
    log, path = tmp_path / "log", tmp_path / "record.json"
    for _ in range(2):
        again = study(path, runs_of(log), jobs)
        again.run()
        assert values(again) == [0, 1, 4, 9]
    study(tmp_path / "alone.json", runs_of()).run()
    assert path.read_bytes() == (tmp_path / "alone.json").read_bytes()
    assert sorted(log.read_text().split()) == ["0", "1", "2", "3"]
    study(path, runs_of(log, range(5))).run()
    assert log.read_text().split()[4:] == ["4"]
    study(path, runs_of(log, range(5), "other")).run()
    assert len(log.read_text().split()) == 10


def test_a_failure_is_kept_in_its_place_and_run_again(tmp_path, jobs):
    path = tmp_path / "record.json"
    wrong = [
        PlannedRun("data", partial(fail_on, 1, DataError)),
        PlannedRun("bug", partial(fail_on, 2, ZeroDivisionError)),
    ]
    first = study(path, [*wrong, *runs_of()], jobs)
    first.run()
    assert values(first) == [0, 1, 4, 9]
    assert [why for _, why in first.failures()] == ["no 1", "ZeroDivisionError: no 2"]
    mended = [PlannedRun("data", partial(square, 5)), *runs_of()]
    later = study(path, mended)
    later.run()
    assert (values(later), list(later.failures())) == ([25, 0, 1, 4, 9], [])


def test_the_time_limit_keeps_what_is_cut_short_as_unfinished(tmp_path, jobs):
    path, started = tmp_path / "record.json", tmp_path / "started"
    given = [PlannedRun("long", partial(search_until_stopped, started))]
    limited = study(path, given, jobs, SearchControl(4.0 if jobs == 2 else 0.5))
    limited.run()
    assert [f["unfinished"] for f in limited.found()] == [True] * started.exists()
    later = study(path, [PlannedRun("long", partial(square, 3))])
    later.run()
    expected = {"value": 9, "learning": f"exactlearn {__version__}"}
    assert study(path, given).done == {"long": expected}


@pytest.mark.parametrize("text", ["[]", '{"m0": 3}'])
def test_a_file_that_is_no_record_is_refused(tmp_path, text):
    path = tmp_path / "record.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"record\.json: no record of repetitions"):
        study(path, runs_of())


def test_a_stopped_study_begins_nothing(tmp_path, jobs):
    control = SearchControl()
    control.stop()
    stopped = study(tmp_path / "record.json", runs_of(), jobs, control)
    stopped.run()
    assert values(stopped) == []


@pytest.mark.parametrize("jobs", [1, 2, "local:2"])
def test_ctrl_c_keeps_what_is_done(tmp_path, jobs):
    path, started = tmp_path / "record.json", tmp_path / "started"
    code = (
        "from tests.evaluation.test_study import *\n"
        "from pathlib import Path\n"
        "if __name__ == '__main__':\n"
        f"    begun = Path({str(started)!r})\n"
        "    long = PlannedRun('long', partial(search_until_stopped, begun))\n"
        f"    one = study(Path({str(path)!r}), [*runs_of(), long], {jobs!r})\n"
        "    one.run()\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    process = subprocess.Popen([sys.executable, str(script)], env=ENVIRONMENT)

    def done():
        return json.loads(path.read_text()) if path.exists() else {}

    while not started.exists() or len(done()) < 4:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(100) == 0
    assert [done()[f"m{n}"]["value"] for n in range(4)] == [0, 1, 4, 9]
    assert done()["long"]["unfinished"]


def note_the_end(started, ended):
    search_until_stopped(started)
    ended.touch()


def test_tasks_of_a_client_that_is_gone_stop(tmp_path):
    from distributed import Client, LocalCluster

    started, ended = tmp_path / "started", tmp_path / "ended"
    with LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            run = cluster_results(note_the_end, [(started, ended)], client)
            control = SearchControl()
            Thread(target=stop_once, args=(control, started), daemon=True).start()
            with control.running():
                assert list(run) == []
        wait_for(ended.exists)


def stop_once(control, mark):
    wait_for(mark.exists)
    control.stop()
