"""Candidate parent sets scored by the workers of a cluster: the bytes of one process."""

import os
import signal
import time
from threading import Thread

import numpy as np
import pytest

from exactlearn import BDeu, Dataset, candidate_parent_sets
from exactlearn._runtime import executors
from exactlearn._runtime.control import SearchControl
from exactlearn.scoring.candidate_search import Budget

pytest.importorskip("distributed", reason="needs Dask: exactlearn[scale]")
# Sockets of a cluster that closes are left to the garbage collector.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


def table(n=9, rows=300):
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 3, (rows, n))
    for v in range(2, n):
        copied = rng.random(rows) < 0.7
        codes[copied, v] = (codes[copied, v - 1] + codes[copied, v - 2]) % 3
    names = tuple(f"v{v}" for v in range(n))
    return Dataset(codes.astype(np.int8), names, (("a", "b", "c"),) * n)


def same(one, other):
    for name in ("first", "scores", "member_first", "members"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    assert (one.complete, one.stopped) == (other.complete, other.stopped)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"prune": False, "max_parents": 2},
        {"max_parents": None, "required": [(0, 5)], "forbidden": [(1, 5), (2, 3)]},
        {"budget": Budget(tables=300), "max_parents": 5},
    ],
)
def test_the_same_bytes(client, options):
    data = table()
    alone = candidate_parent_sets(data, BDeu(), **options)
    same(candidate_parent_sets(data, BDeu(), cluster=client, **options), alone)
    assert not alone.stopped


def test_a_worker_killed_in_the_middle_changes_nothing():
    data = table(30, 4000)
    alone = candidate_parent_sets(data, BDeu(), prune=False)
    with executors.running("local:2") as client:
        killed = []

        def on_progress(done, total):
            if not killed and done > total / 3:
                killed.append(min(client.run(os.getpid).values()))
                os.kill(killed[0], signal.SIGKILL)

        found = candidate_parent_sets(
            data, BDeu(), prune=False, cluster=client, on_progress=on_progress
        )
    assert killed
    same(found, alone)


@pytest.mark.parametrize("budget", [None, Budget(tables=10**9)])
@pytest.mark.parametrize("stop", ["limit", "control"])
def test_the_end_of_the_search_ends_scoring_on_the_workers(client, budget, stop):
    control = SearchControl()
    if stop == "control":
        Thread(target=lambda: (time.sleep(1), control.stop()), daemon=True).start()
    found = candidate_parent_sets(
        table(80, 4000),
        BDeu(),
        max_parents=None if budget is None else 6,
        budget=budget,
        cluster=client,
        time_limit=1.0 if stop == "limit" else None,
        control=control,
    )
    assert found.stopped
    assert (np.diff(found.first) > 0).all()
    for worker in client.scheduler_info()["workers"]:
        assert (
            client.submit(abs, -1, pure=False, workers=[worker]).result(timeout=60) == 1
        )
