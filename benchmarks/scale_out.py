"""Scoring parent sets of Parquet folders in one process and on local Dask workers.

    python -m benchmarks.scale_out table FOLDER --rows 100000 --rows 1000000 --variables 20
    python -m benchmarks.scale_out parts FOLDER

``table`` draws rows from a random network into FOLDER, a Parquet file for each 250,000, and scores
them by the command line, as a user would:

``all`` is ``exactlearn convert ROWS -o scores.jkl --max-parents 2``: equal rows are merged and all
parent sets scored; ``sparse`` is the same with ``--candidate-parents 8 --max-parents 3``, which
counts block by block. Each runs without a cluster, and with ``--cluster local:1`` and ``local:2``;
the three files must have the same bytes, or the scores differ by no more than 1e-12 of them.

Printed are wall seconds, the CPU seconds of all processes together, the CPU share of the workers,
and the largest memory of the client and of one worker. Starting Python and the workers is counted.

``parts`` gives the processor time, on one thread, of the parts of ``sparse`` at 1,000 variables,
for the plan in docs/scale-out.md.
"""

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import click
import numpy as np
import psutil

from benchmarks.measuring import machine
from exactlearn import BayesianNetwork, BDeu, read_blocks
from exactlearn.data.blocks import summed
from exactlearn.formats.scores import read_scores
from exactlearn.formats.table import write_dataset
from exactlearn.scoring.sparse_candidates import (
    _PairCounts,
    _Projections,
    scored_projection,
)

T = TypeVar("T")

PART = 250_000
"""Rows of a file."""

COMMANDS = {
    "all": ("--max-parents", "2"),
    "sparse": ("--candidate-parents", "8", "--max-parents", "3"),
}

PLACES = ("", "local:1", "local:2")


def random_network(n: int, rng: np.random.Generator) -> BayesianNetwork:
    """Return a network of n ternary variables with up to two parents among the five before each."""
    parents = tuple(
        tuple(
            sorted(
                rng.choice(
                    np.arange(max(0, v - 5), v), min(v, 2), replace=False
                ).tolist()
            )
        )
        for v in range(n)
    )
    tables = tuple(rng.dirichlet([0.5] * 3, size=(3,) * len(own)) for own in parents)
    return BayesianNetwork(
        tuple(f"v{v}" for v in range(n)), (("a", "b", "c"),) * n, parents, tables
    )


def rows_of(folder: Path, rows: int, variables: int) -> Path:
    """Return a folder of Parquet files with so many rows, drawn unless they are there."""
    found = folder / f"{rows}x{variables}"
    if not found.exists():
        found.mkdir(parents=True)
        rng = np.random.default_rng(variables)
        network = random_network(variables, rng)
        for number, start in enumerate(range(0, rows, PART)):
            part = network.sample(min(PART, rows - start), rng)
            write_dataset(part, found / f"{number:05}.parquet")
    return found


@dataclass(frozen=True)
class Cost:
    """Wall and CPU seconds of a command, those of its workers, and gigabytes of memory."""

    wall: float
    cpu: float
    of_workers: float
    client: float
    worker: float


def cost_of(words: list[str]) -> Cost:
    """Run a command, and look at its processes ten times a second."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    begun = time.perf_counter()
    process = psutil.Popen(
        [sys.executable, "-m", "exactlearn", *words, "-q"],
        env=environment,
        stdout=subprocess.PIPE,
    )
    used: dict[int, float] = {}
    largest = {True: 0, False: 0}
    while process.poll() is None:
        for one in (process, *process.children(recursive=True)):
            try:
                times, memory = one.cpu_times(), one.memory_info().rss
            except psutil.Error:
                continue
            used[one.pid] = times.user + times.system
            largest[one is process] = max(largest[one is process], memory)
        time.sleep(0.1)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} ended with status {process.returncode}")
    wall = time.perf_counter() - begun
    workers = sum(cpu for pid, cpu in used.items() if pid != process.pid)
    return Cost(
        wall, sum(used.values()), workers, largest[True] / 1e9, largest[False] / 1e9
    )


@click.group()
def main() -> None:
    """Measure scoring on Dask workers."""


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--rows", type=int, multiple=True, default=(100_000, 1_000_000))
@click.option("--variables", type=int, multiple=True, default=(20,))
@click.option("--command", "chosen", multiple=True, default=tuple(COMMANDS))
def table(
    folder: Path,
    rows: tuple[int, ...],
    variables: tuple[int, ...],
    chosen: tuple[str, ...],
) -> None:
    """Print the table."""
    print(f"{machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    head = ("rows", "variables", "command", "cluster", "wall s", "CPU s", "of workers")
    print(f"| {' | '.join(head)} | client GB | worker GB |")
    print("| ---: | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for n in variables:
        for count in rows:
            source = rows_of(folder, count, n)
            for name in chosen:
                found = []
                for place in PLACES:
                    target = folder / f"{count}x{n}-{name}-{place.replace(':', '')}.jkl"
                    where = ["--cluster", place] if place else []
                    words = [
                        "convert",
                        str(source),
                        "-o",
                        str(target),
                        *COMMANDS[name],
                        *where,
                    ]
                    cost = cost_of(words)
                    found.append(read_scores(target))
                    print(
                        f"| {count:.0e} | {n} | {name} | {place or 'none'} | {cost.wall:.1f} | "
                        f"{cost.cpu:.1f} | {cost.of_workers / cost.cpu:.0%} | "
                        f"{cost.client:.2f} | {cost.worker:.2f} |",
                        flush=True,
                    )
                for other in found[1:]:
                    assert other.members.tobytes() == found[0].members.tobytes()
                    np.testing.assert_allclose(
                        other.scores, found[0].scores, rtol=1e-12
                    )


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--rows", default=20_000)
@click.option("--variables", default=1000)
@click.option("--neighbours", default=10)
def parts(folder: Path, rows: int, variables: int, neighbours: int) -> None:
    """Print processor seconds and bytes of the parts of scoring among few parents."""
    source = rows_of(folder, rows, variables)
    size = sum(path.stat().st_size for path in source.iterdir())
    print(f"{machine()}\n\n{size / rows / variables:.2f} bytes of Parquet a cell")
    blocks = read_blocks(source)
    states = time_of("states", lambda: blocks.with_states(), rows * variables, "cell")
    read = time_of("reading", lambda: list(states), rows * variables, "cell")
    names = states.variables or ()
    known = [states.states[name] for name in names]
    time_of(
        "pairs",
        lambda: summed(read, partial(_PairCounts, [], names, known)),
        rows,
        "row",
    )
    children = range(variables // 2, variables // 2 + 20)
    columns = [(v, *range(v - neighbours, v)) for v in children]
    empty = partial(_Projections, columns, names, known)
    projected = time_of(
        "distinct rows", lambda: summed(read, empty), rows * 20, "row and variable"
    )
    held = len(pickle.dumps(projected)) / 20
    distinct = np.mean([one.dataset().n_rows for one in projected.tables])
    print(
        f"{distinct:.0f} distinct rows of {neighbours + 1} columns, {held / 1e6:.2f} MB"
    )
    scoring = partial(scored_projection, BDeu(), 3, frozenset())
    scoring(projected, 0)
    time_of(
        "scoring", lambda: [scoring(projected, k) for k in range(20)], 20, "variable"
    )


def time_of(name: str, call: Callable[[], T], units: int, unit: str) -> T:
    """Print the processor seconds of a call for each unit; return its result."""
    begun = time.process_time()
    found = call()
    seconds = time.process_time() - begun
    print(f"{name}: {seconds:.2f} s, {seconds / units:.2e} s a {unit}", flush=True)
    return found


if __name__ == "__main__":
    main()
