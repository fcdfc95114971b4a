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
    """Run a command in this process; return what it printed on both streams."""
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == status, done.output
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


def signed_json(*words, status=0):
    def refuse(constant):
        raise AssertionError(f"{constant} is not strict JSON")

    return json.loads(run(*words, "--json", status=status), parse_constant=refuse)


def fails(*words, status=2):
    """Run a command that must fail; return the one line of its message."""
    done = invoke(*words, status=status)
    assert done.stdout == ""
    return done.stderr


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


def write_hard_scores(path):
    """Write scores that keep a solver busy for long: random ones of 40 variables."""
    rng = np.random.default_rng(0)
    lines = ["40"]
    for i in range(40):
        sets = {(): 0.0}
        for _ in range(150):
            parents = rng.choice([j for j in range(40) if j != i], 3, replace=False)
            sets[tuple(sorted(parents.tolist()))] = float(rng.gamma(2.0))
        lines.append(f"{i} {len(sets)}")
        lines += [f"{s:.6f} {len(p)} {' '.join(map(str, p))}".strip() for p, s in sets.items()]
    path.write_text("\n".join(lines) + "\n")
    return path
