"""``exactlearn doctor``: what is installed, what works, and what is missing."""

import os
import platform
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

import click

import exactlearn
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.kernel import cache_folder
from exactlearn._runtime.threads import n_threads
from exactlearn.commands.declarations import Doctor
from exactlearn.commands.output import Output, require_suffix
from exactlearn.errors import ExactlearnError, ExitStatus
from exactlearn.formats.table import read_dataset
from exactlearn.reporting.report import plain_table
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.scores import BIC
from exactlearn.solvers import Problem
from exactlearn.solvers.component_solver import ComponentSolver, Progress
from exactlearn.solvers.components import split
from exactlearn.solvers.strategy import COMPONENT_SOLVERS, solve_component

LIBRARIES = ("click", "highspy", "numba", "numpy", "pandas", "pyscipopt", "rich", "scipy")

OPTIMUM = -120.70188483237014
"""Best score of ``earthquake-mar-complete``, one component, by BIC with at most three parents."""


def run(options: Doctor, output: Output) -> None:
    """Run the command."""
    require_suffix(output.path, (".json",))
    folder, is_kept = cache_folder()
    solvers = _solvers()
    record: dict[str, Any] = {
        "version": exactlearn.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "libraries": {name: version(name) for name in LIBRARIES},
        "extras": _extras(),
        "solvers": solvers,
        "kernels": {"folder": str(folder), "kept": is_kept},
        "cores": os.cpu_count(),
        "threads": n_threads(None),
        "memory": _memory(),
    }
    faults = [f"the solver {name} {said}" for name, said in solvers.items() if said != "works"]
    if not is_kept:
        faults.append(
            f"compiled kernels are not kept: no folder for them can be written, so {folder} is "
            "used and lost; set NUMBA_CACHE_DIR to a folder that can be written"
        )
    record["faults"] = faults
    output.save(record)
    output.answer(record, plain_table(("what", "found"), _rows(record)), *_advice(record))
    if faults:
        raise click.exceptions.Exit(ExitStatus.FAILED)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _extras() -> dict[str, dict[str, str | None]]:
    """Return the version of each package of each extra for users; ``None`` where it is absent."""
    try:
        wanted = requires("exactlearn") or []
    except PackageNotFoundError:  # a checkout that is not installed
        wanted = []
    found: dict[str, dict[str, str | None]] = {}
    for line in wanted:
        match = re.match(r"([\w.-]+).*extra == .(\w+)", line)
        if match and match[2] not in ("bench", "test") and match[1] != "exactlearn":
            found.setdefault(match[2], {})[match[1]] = _version(match[1])
    return found


def _solvers() -> dict[str, str]:
    """Solve a small instance by each solver; return what came of it."""
    table = read_dataset("earthquake-mar-complete")
    problem = candidate_parent_sets(table, BIC())
    return {name: _outcome(problem, solver) for name, solver in COMPONENT_SOLVERS.items()}


def _outcome(problem: Problem, solver: ComponentSolver) -> str:
    progress = Progress(problem, split(problem), SearchControl())
    try:
        solve_component(solver, progress, 0)
    except (ExactlearnError, ImportError, OSError, RuntimeError) as error:
        return f"fails: {error}"
    score, bound = progress.scores[0], progress.bounds[0]
    if solver.is_exact:
        right = abs(score - OPTIMUM) < 1e-6 and abs(bound - OPTIMUM) < 1e-6
    else:
        right = score < OPTIMUM + 1e-6 and bound > OPTIMUM - 1e-6
    return "works" if right else f"found the score {score}, bound {bound}; best is {OPTIMUM}"


def _memory() -> int | None:
    """Return the bytes of the machine's memory, where the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _rows(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "exactlearn", record["version"]
    yield "Python", f"{record['python']} ({sys.executable})"
    yield "platform", record["platform"]
    yield from record["libraries"].items()
    for extra, packages in record["extras"].items():
        yield f"extra [{extra}]", ", ".join(f"{n} {v or 'absent'}" for n, v in packages.items())
    for name, said in record["solvers"].items():
        yield f"solver {name}", said
    yield "compiled kernels", record["kernels"]["folder"]
    yield "cores, threads", f"{record['cores']}, {record['threads']}"
    if record["memory"]:
        yield "memory", f"{record['memory'] / 2**30:.1f} GiB"


def _advice(record: dict[str, Any]) -> Iterator[str]:
    for extra, packages in record["extras"].items():
        if None in packages.values():
            yield f"For [{extra}]: pip install 'exactlearn[{extra}]'"
    yield from (f"Fault: {fault}" for fault in record["faults"])
    if not record["faults"]:
        yield "No faults."
