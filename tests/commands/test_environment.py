"""``--version``, and what is said while kernels are compiled."""

import subprocess
import sys

import numpy as np

import exactlearn
from exactlearn._runtime.kernel import cache_folder
from tests.command_line import ENVIRONMENT, run


def alone(*words, status=0, cwd=None, **environment):
    """Run the program in a process of its own, without a terminal."""
    done = subprocess.run(
        [sys.executable, "-m", "exactlearn", *map(str, words)],
        env=ENVIRONMENT | {name: str(value) for name, value in environment.items()},
        cwd=cwd,
        text=True,
        capture_output=True,
    )
    assert done.returncode == status, done.stderr
    return done


def test_the_version_comes_with_what_it_stands_on():
    assert run("--version") == f"exactlearn {exactlearn.__version__}\n"
    shown = run("--version", "-v").splitlines()
    assert shown[0] == f"exactlearn {exactlearn.__version__}"
    assert f"numpy {np.__version__}" in shown
    assert str(cache_folder()) in shown[-1]


class TestNotice:
    def test_one_line_says_that_kernels_are_compiled(self, tmp_path):
        words = ("simulate", "asia", "--rows", "5", "-o", "rows.csv")
        cold = alone(*words, cwd=tmp_path, NUMBA_CACHE_DIR=tmp_path / "cold")
        first, wrote = cold.stderr.splitlines()
        assert first.startswith("Compiling the numerical kernels")
        assert wrote.startswith("Wrote")
        warm = alone(*words, cwd=tmp_path, NUMBA_CACHE_DIR=tmp_path / "cold")
        assert warm.stderr.splitlines() == [wrote]

    def test_none_does_when_quiet(self, tmp_path):
        words = ("simulate", "asia", "--rows", "5", "-o", "rows.csv", "-q")
        assert alone(*words, cwd=tmp_path, NUMBA_CACHE_DIR=tmp_path).stderr == ""
