"""``exactlearn doctor``: what is installed, what works, and what is missing."""

import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from pkgutil import walk_packages
from typing import Any

import click

import exactlearn
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.kernel import cache_folder, is_compiled, is_kernel
from exactlearn._runtime.threads import n_threads
from exactlearn.commands.declarations import Doctor
from exactlearn.commands.output import Output, require_suffix
from exactlearn.errors import ExactlearnError, ExitStatus
from exactlearn.formats.table import read_dataset
from exactlearn.reporting.report import plain_table
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.scores import BIC
from exactlearn.solvers.component_solver import Progress
from exactlearn.solvers.components import split
from exactlearn.solvers.strategy import COMPONENT_SOLVERS, solve_component

LIBRARIES = ("click", "highspy", "numba", "numpy", "pandas", "pyscipopt", "rich", "scipy")

OPTIMUM = -120.70188483237014
"""Best score of ``earthquake-mar-complete``, one component, by BIC with at most three parents."""


def run(options: Doctor, output: Output) -> None:
    """Run the command."""
    require_suffix(output.path, (".json",))
    folder, is_kept = cache_folder()
    known = list(_kernels())
    compiled = sum(is_compiled(own) or is_compiled(own.callee) for own in known)
    solvers = dict(_solvers())
    record: dict[str, Any] = {
        "version": exactlearn.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "libraries": {name: _version(name) for name in LIBRARIES},
        "extras": _extras(),
        "solvers": solvers,
        "kernels": {
            "folder": str(folder),
            "kept": is_kept,
            "compiled": compiled,
            "known": len(known),
        },
        "cores": os.cpu_count(),
        "threads": n_threads(None),
        "memory": _memory(),
    }
    faults = [f"the solver {name} {said}" for name, said in solvers.items() if said != "works"]
    faults += [f"{name} is not installed" for name, v in record["libraries"].items() if v is None]
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


def _solvers() -> Iterator[tuple[str, str]]:
    """Solve a small instance by each solver; yield what came of it."""
    table = read_dataset("earthquake-mar-complete")
    problem = candidate_parent_sets(table, BIC())
    for name in COMPONENT_SOLVERS:
        yield name, _outcome(lambda name=name: _solve(problem, name))  # type: ignore[misc]


def _solve(problem: Any, name: str) -> str:
    progress, solver = Progress(problem, split(problem), SearchControl()), COMPONENT_SOLVERS[name]
    solve_component(solver, progress, 0)
    score, bound = progress.scores[0], progress.bounds[0]
    if solver.is_exact:
        right = abs(score - OPTIMUM) < 1e-6 and abs(bound - OPTIMUM) < 1e-6
    else:
        right = score < OPTIMUM + 1e-6 and bound > OPTIMUM - 1e-6
    return "works" if right else f"found the score {score}, bound {bound}; best is {OPTIMUM}"


def _outcome(work: Callable[[], str]) -> str:
    try:
        return work()
    except (ExactlearnError, ImportError, OSError, RuntimeError) as error:
        return f"fails: {error}"


def _kernels() -> Iterator[Any]:
    """Import the package, and yield all its kernels."""
    seen = set()
    for found in walk_packages(exactlearn.__path__, "exactlearn."):
        if "sklearn" in found.name or found.name.endswith("__main__"):
            continue
        for value in vars(import_module(found.name)).values():
            if is_kernel(value) and id(value) not in seen:
                seen.add(id(value))
                yield value


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
    for name, found in record["libraries"].items():
        yield name, found or "not installed"
    for extra, packages in record["extras"].items():
        yield f"extra [{extra}]", ", ".join(f"{n} {v or 'absent'}" for n, v in packages.items())
    for name, said in record["solvers"].items():
        yield f"solver {name}", said
    kernels = record["kernels"]
    yield "kernels", f"{kernels['compiled']} of {kernels['known']} compiled, in {kernels['folder']}"
    yield "cores, threads", f"{record['cores']}, {record['threads']}"
    if record["memory"]:
        yield "memory", f"{record['memory'] / 2**30:.1f} GiB"


def _advice(record: dict[str, Any]) -> Iterator[str]:
    for extra, packages in record["extras"].items():
        if None in packages.values():
            yield f"For [{extra}]: pip install 'exactlearn[{extra}]'"
    if record["kernels"]["compiled"] < record["kernels"]["known"] / 2:
        yield "Most kernels are not compiled yet: 'exactlearn warm-up' does so once"
    yield from (f"Fault: {fault}" for fault in record["faults"])
    if not record["faults"]:
        yield "No faults."
