"""``doctor``, ``warm-up``, ``completion``, and what is said while kernels are compiled."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from exactlearn.commands import COMMANDS, doctor
from exactlearn.commands.warm_up import RUNS
from exactlearn.errors import SolverError
from exactlearn.solvers.component_solver import ComponentSolver
from exactlearn.solvers.strategy import COMPONENT_SOLVERS
from tests.command_line import ENVIRONMENT, fails, run, run_json


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


class TestDoctor:
    def test_all_is_well(self):
        record = run_json("doctor")
        assert record["faults"] == []
        assert set(record["solvers"]) == set(COMPONENT_SOLVERS)
        assert set(record["solvers"].values()) == {"works"}
        assert set(record["extras"]["plot"]) == {"matplotlib"}
        assert record["kernels"]["kept"]
        assert record["threads"] <= record["cores"]
        assert "solver scip" in run("doctor")

    @pytest.mark.parametrize("works", [False, True])
    def test_a_solver_that_does_not_work_is_a_fault(self, monkeypatch, works):
        def solve(component, incumbent, control):
            if not works:
                raise SolverError("it is broken")
            return control.outcome(proven=True, bound=control.score, nodes=0)

        monkeypatch.setitem(COMPONENT_SOLVERS, "dynamic", ComponentSolver(solve=solve))
        monkeypatch.setattr(doctor, "OPTIMUM", doctor.OPTIMUM + works)
        record = run_json("doctor", status=5)
        said = "best is" if works else "fails: it is broken"
        assert said in record["solvers"]["dynamic"]
        assert record["faults"][0].startswith("the solver ")

    def test_kernels_that_are_not_kept_are_a_fault(self, monkeypatch):
        monkeypatch.setattr(doctor, "cache_folder", lambda: (Path("gone"), False))
        assert "Fault: compiled kernels are not kept" in run("doctor", status=5)

    def test_absent_packages_come_with_what_installs_them(self, monkeypatch):
        known = doctor.version

        def version(package):
            if package == "pyarrow":
                raise doctor.PackageNotFoundError
            return known(package)

        monkeypatch.setattr(doctor, "version", version)
        assert "pip install 'exactlearn[parquet]'" in run("doctor")


class TestWarmUp:
    def test_it_compiles_once(self, tmp_path):
        words = ("warm-up", "simulate", "--json")
        first = json.loads(alone(*words, NUMBA_CACHE_DIR=tmp_path).stdout)
        assert first["kernels"] > 0
        assert first["commands"] == ["simulate"]
        again = alone(*words, NUMBA_CACHE_DIR=tmp_path)
        assert json.loads(again.stdout)["kernels"] == 0
        assert again.stderr == "1 of 1: simulate ...\n"

    def test_an_unknown_command_gets_a_suggestion(self):
        assert "did you mean 'solve'?" in fails("warm-up", "slove")

    def test_it_runs_commands_that_there_are(self):
        assert set(RUNS) <= set(COMMANDS)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", RUNS)
    def test_each_run_works(self, name):
        assert run_json("warm-up", name)["commands"] == [name]


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


class TestCompletion:
    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_the_script_asks_the_program(self, shell):
        assert "_EXACTLEARN_COMPLETE=" in run("completion", shell)
        assert run_json("completion", shell)["shell"] == shell

    def completions(self, folder, *words):
        asked = {"COMP_WORDS": " ".join(words), "COMP_CWORD": len(words) - 1}
        done = alone(cwd=folder, _EXACTLEARN_COMPLETE="bash_complete", **asked)
        return done.stdout.split()

    def test_commands_options_instances_and_files_complete(self, tmp_path):
        for name in ("asia-own.csv.gz", "asian.jkl", "asia.log", "asia-model.xdsl"):
            (tmp_path / name).touch()
        assert self.completions(tmp_path, "exactlearn", "warm") == ["plain,warm-up"]
        assert self.completions(tmp_path, "exactlearn", "solve", "--time") == ["plain,--time-limit"]
        assert set(self.completions(tmp_path, "exactlearn", "solve", "asia")) == {
            "plain,asia-mnar",
            "plain,asia-mnar-complete",
            "plain,asia-own.csv.gz",
            "plain,asian.jkl",
            "plain,asia-model.xdsl",
        }
        assert "plain,asia" in self.completions(tmp_path, "exactlearn", "query", "asia")
        path = f"{tmp_path}{os.sep}as"
        assert self.completions(tmp_path, "exactlearn", "solve", path) == [f"file,{path}"]
        assert "plain,scip" in self.completions(tmp_path, "exactlearn", "solve", "--solver", "s")
