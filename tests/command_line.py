"""Running the command line in tests: in this process, or in one of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from exactlearn.__main__ import main

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
PATIENCE = 300  # seconds


def invoke(*words, status=0):
    """Run a command in this process; return what it printed on both streams.

    ``status`` is the exit status, or those that may be.
    """
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code in (status if isinstance(status, tuple) else (status,)), (
        done.output
    )
    assert "Traceback" not in done.output
    return done


def run(*words, status=0):
    """Run a command in this process; return standard output."""
    return invoke(*words, status=status).stdout


def run_json(*words, status=0):
    """Run a command in this process; return its record without what it was made by."""
    record = signed_json(*words, status=status)
    del record["made_by"]
    return record


def read_record(path):
    """Read the record in a file without what it was made by."""
    record = json.loads(path.read_text())
    del record["made_by"]
    return record


def strict_json(text):
    """Read a text that has neither NaN nor infinities."""

    def refuse(constant):
        raise AssertionError(f"{constant} is not strict JSON")

    return json.loads(text, parse_constant=refuse)


def signed_json(*words, status=0):
    return strict_json(run(*words, "--json", status=status))


def fails(*words, status=2):
    """Run a command that must fail; return the one line of its message."""
    done = invoke(*words, status=status)
    assert done.stdout == ""
    return done.stderr


def alone(*words, status=0, cwd=None, **environment):
    """Run Python in a process of its own, without a terminal; return what it printed."""
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        env=ENVIRONMENT | {name: str(value) for name, value in environment.items()},
        cwd=cwd,
        text=True,
        capture_output=True,
    )
    assert done.returncode == status, done.stderr
    return done


@contextmanager
def started(*words, **options):
    """Run a command in a process of its own, which does not outlive the block.

    Ctrl-C reaches it also where the tests run in the background of a script, whose jobs ignore it.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "exactlearn", *map(str, words)],
            env=ENVIRONMENT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(condition):
    """Wait until a condition holds: long, as kernels may have to be compiled on a busy machine."""
    deadline = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert condition()


def write_hard_scores(path, n=40):
    """Write random scores: those of 40 variables keep a solver busy for long."""
    rng = np.random.default_rng(0)
    lines = [str(n)]
    for i in range(n):
        sets = {(): 0.0}
        for _ in range(150):
            parents = rng.choice([j for j in range(n) if j != i], 3, replace=False)
            sets[tuple(sorted(parents.tolist()))] = float(rng.gamma(2.0))
        lines.append(f"{i} {len(sets)}")
        lines += [
            f"{s:.6f} {len(p)} {' '.join(map(str, p))}".strip() for p, s in sets.items()
        ]
    path.write_text("\n".join(lines) + "\n")
    return path
