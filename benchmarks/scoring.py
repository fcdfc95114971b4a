"""Scoring families: against pyAgrum, on one and two threads, and within a budget.

    python -m benchmarks.scoring families NETWORK.bif[.gz] --rows 1000 --rows 10000 --max-parents 3
    python -m benchmarks.scoring targets FOLDER
    python -m benchmarks.scoring budget NETWORK.bif[.gz] --seconds 60

``families`` scores all families of a sample, next to pyAgrum: processor time on one thread, so that
other processes disturb little. Ours is taken after compilation, with and without dropping dominated
parent sets. pyAgrum scores a random selection of the families by calls of ``BNLearner.score``, as
many as fit into the time limit, scaled to all; its log-gamma is approximate, so its BDeu may be
off by several nats. Since a Python call for each family is not what its own learners pay, its time
on ten rows is subtracted in a second ratio.

``targets`` times what scoring must do within given seconds, on one thread and on two. ``budget``
compares the best network over the candidates of a time budget with the one over all parent sets of
up to two variables (or ``--baseline``), both by the ordering search.
"""

import itertools
import math
import resource
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from benchmarks.measuring import least_seconds, machine
from exactlearn.data.dataset import Dataset
from exactlearn.formats.bif import read_bif
from exactlearn.scoring.candidate_search import Budget
from exactlearn.scoring.candidates import candidate_parent_sets, n_families
from exactlearn.scoring.scores import BIC, BDeu, Score
from exactlearn.solvers import solve


def peer_seconds(data: Dataset, score: Score, max_parents: int, limit: float) -> float:
    """Return pyAgrum's estimated seconds for all families."""
    learner = peer_learner(data, score)
    done, start = 0, time.process_time()
    for child, parents in sampled_families(data.names, max_parents):
        learner.score(child, parents)
        done += 1
        if time.process_time() - start > limit:
            break
    return (
        (time.process_time() - start) * n_families(data.n_variables, max_parents) / done
    )


def peer_learner(data: Dataset, score: Score) -> Any:
    """Return pyAgrum's learner of the same data, states and score."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pandas as pd
        import pyagrum
    frame = pd.DataFrame(
        {
            name: np.array(data.states[v])[data.codes[:, v]]
            for v, name in enumerate(data.names)
        }
    )
    net = pyagrum.BayesNet()
    for name, states in zip(data.names, data.states, strict=True):
        net.add(pyagrum.LabelizedVariable(name, name, list(states)))
    learner = pyagrum.BNLearner(frame, net)
    (learner.useScoreBIC if isinstance(score, BIC) else learner.useScoreBDeu)()
    learner.useNoPrior()
    learner.setNumberOfThreads(1)
    return learner


def sampled_families(
    names: tuple[str, ...], max_parents: int
) -> list[tuple[str, list[str]]]:
    """Return families in a random order, of all sizes as often as they occur, up to 100,000."""
    rng = np.random.default_rng(0)
    n = len(names)
    sizes = np.array([math.comb(n - 1, m) for m in range(max_parents + 1)], float)
    if n_families(n, max_parents) <= 100_000:
        families = [
            (names[child], [names[p] for p in parents])
            for child in range(n)
            for m in range(max_parents + 1)
            for parents in itertools.combinations(
                [p for p in range(n) if p != child], m
            )
        ]
        return [families[i] for i in rng.permutation(len(families))]
    drawn = []
    for m in rng.choice(max_parents + 1, 100_000, p=sizes / sizes.sum()):
        chosen = rng.choice(n, m + 1, replace=False)
        drawn.append((names[chosen[0]], [names[p] for p in chosen[1:]]))
    return drawn


@click.group(help=__doc__)
def main() -> None:
    """Group the benchmarks of scoring."""


@main.command(help="Time the scoring of all families of samples of NETWORK.")
@click.argument("network", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--rows", multiple=True, default=(1000, 10000), show_default=True, help="Sizes."
)
@click.option("--max-parents", default=3, show_default=True, help="Largest parent set.")
@click.option(
    "--ess", default=1.0, show_default=True, help="Equivalent sample size of BDeu."
)
@click.option(
    "--repeat", default=3, show_default=True, help="Runs, of which the best counts."
)
@click.option(
    "--peer-limit", default=10.0, show_default=True, help="Seconds; 0 for no peer."
)
def families(
    network: str,
    rows: tuple[int, ...],
    max_parents: int,
    ess: float,
    repeat: int,
    peer_limit: float,
) -> None:
    """Print one line for each sample size and score."""
    net = read_bif(network)
    n_all = n_families(len(net.names), max_parents)
    print(f"{machine()}\n{Path(network).name}: {n_all:,} families, k = {max_parents}")
    print(
        f"{'rows':>7} {'score':>14} {'kept':>8} {'pruned s':>9} {'all s':>7} {'peer s':>8} ratio"
    )
    for n in rows:
        data = net.sample(n, np.random.default_rng(1))
        scores: tuple[Score, ...] = (BDeu(ess), BIC())
        for score in scores:
            line(data, score, max_parents, repeat, peer_limit)
    unit = 2**30 if sys.platform == "darwin" else 2**20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    print(f"peak memory of the process: {peak:.2f} GiB")


def line(
    data: Dataset, score: Score, max_parents: int, repeat: int, peer_limit: float
) -> None:
    """Measure one score on one sample and print it."""

    def run(prune: bool) -> int:
        problem = candidate_parent_sets(
            data, score, max_parents=max_parents, prune=prune, threads=1
        )
        return problem.n_candidates

    kept = run(True)
    pruned, whole = (
        least_seconds(lambda p=p: run(p), repeat, time.process_time)
        for p in (True, False)
    )
    told = f"{data.n_rows:>7} {score!s:>14} {kept:>8,} {pruned:>9.3f} {whole:>7.3f}"
    if peer_limit:
        peer = peer_seconds(data, score, max_parents, peer_limit)
        few = replace(data, codes=data.codes[:10])
        counting = max(0.0, peer - peer_seconds(few, score, max_parents, peer_limit))
        told += (
            f" {peer:>8.2f} {peer / pruned:.1f} ({counting / pruned:.1f} less calls)"
        )
    print(told)


class Target(NamedTuple):
    """What is to be scored, and in how many seconds; no seconds where there is no target."""

    network: str
    rows: int
    variables: int | None
    score: Score
    max_parents: int | None
    seconds: float | None


TARGETS = (
    Target("alarm", 10_000, None, BDeu(), 3, 1.5),
    Target("alarm", 10_000, None, BIC(), 3, 2.0),
    Target("hailfinder", 500, None, BDeu(), 3, 3.0),
    Target("hailfinder", 500, None, BIC(), 3, 3.0),
    *(
        Target(name, 1000, 30, BIC(), None, 10.0)
        for name in (
            "alarm",
            "insurance",
            "hailfinder",
            "mildew",
            "win95pts",
            "hepar2",
            "andes",
        )
    ),
    *(
        Target(name, 1000, 20, BDeu(), None, None)
        for name in ("alarm", "insurance", "hepar2")
    ),
)


@main.command(help="Time what scoring must do, on samples of the networks in FOLDER.")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--repeat", default=1, show_default=True, help="Runs, of which the best counts."
)
def targets(folder: Path, repeat: int) -> None:
    """Print one line for each target: wall seconds, and processor seconds in brackets."""
    print(machine())
    print(
        f"{'what':<44} {'kept':>7} {'1 thread':>15} {'2 threads':>15} {'ratio':>6} target"
    )
    for target in TARGETS:
        data = columns(
            sample(folder / f"{target.network}.bif.gz", target.rows), target.variables
        )
        kept, seconds = 0, []
        for threads in (1, 2):

            def run(
                threads: int = threads, data: Dataset = data, target: Target = target
            ) -> int:
                problem = candidate_parent_sets(
                    data, target.score, max_parents=target.max_parents, threads=threads
                )
                return problem.n_candidates

            few = replace(data, codes=data.codes[:20])
            candidate_parent_sets(few, target.score, max_parents=2)
            kept, wall, processor = timed(run, repeat)
            seconds.append((wall, processor))
        size = "any size" if target.max_parents is None else f"k = {target.max_parents}"
        name = f"{target.network}, {data.n_variables} variables, {target.rows} rows, {size}"
        told = [f"{wall:.2f} ({processor:.2f})" for wall, processor in seconds]
        limit = "" if target.seconds is None else f"{target.seconds:g} s"
        print(
            f"{name:<44} {type(target.score).__name__:<4} {kept:>7,} {told[0]:>15} {told[1]:>15} "
            f"{seconds[0][0] / seconds[1][0]:>6.2f} {limit}",
            flush=True,
        )


def timed(run: Callable[[], int], repeat: int) -> tuple[int, float, float]:
    """Return what a call returns, and the least wall and processor seconds of some calls."""
    outcome, wall, processor = 0, math.inf, math.inf
    for _ in range(repeat):
        start, start_processor = time.perf_counter(), time.process_time()
        outcome = run()
        wall = min(wall, time.perf_counter() - start)
        processor = min(processor, time.process_time() - start_processor)
    return outcome, wall, processor


def sample(network: Path, rows: int) -> Dataset:
    """Return a sample of a network."""
    return read_bif(network).sample(rows, np.random.default_rng(1))


def columns(data: Dataset, variables: int | None) -> Dataset:
    """Return the first columns of a table."""
    return replace(
        data,
        codes=data.codes[:, :variables],
        names=data.names[:variables],
        states=data.states[:variables],
    )


def synthetic(variables: int, rows: int) -> Dataset:
    """Return a sample of a random network: two states, up to three parents of the last thirty."""
    rng = np.random.default_rng(0)
    codes = np.zeros((rows, variables), np.int8)
    for v in range(variables):
        near = np.arange(max(0, v - 30), v)
        parents = rng.choice(
            near, min(len(near), int(rng.integers(0, 4))), replace=False
        )
        configuration = codes[:, parents] @ (1 << np.arange(len(parents)))
        chances = rng.beta(0.4, 0.4, 2 ** len(parents))
        codes[:, v] = rng.random(rows) < chances[configuration]
    names = tuple(f"X{v}" for v in range(variables))
    return Dataset(codes, names, (("0", "1"),) * variables)


@main.command(
    help="Compare a time budget with all small parent sets, on a sample of NETWORK."
)
@click.argument("network", required=False, type=click.Path(exists=True, path_type=Path))
@click.option("--rows", default=1000, show_default=True, help="Size of the sample.")
@click.option("--seconds", default=60.0, show_default=True, help="The budget.")
@click.option(
    "--solving", default=20.0, show_default=True, help="Seconds for each best network."
)
@click.option(
    "--baseline", default=2, show_default=True, help="Parents of the enumeration."
)
@click.option(
    "--synthetic-variables", default=1000, show_default=True, help="Without NETWORK."
)
def budget(
    network: Path | None,
    rows: int,
    seconds: float,
    solving: float,
    baseline: int,
    synthetic_variables: int,
) -> None:
    """Print one line for each score and way of finding candidates."""
    print(machine())
    data = (
        synthetic(synthetic_variables, rows)
        if network is None
        else sample(network, rows)
    )
    for score in (BIC(), BDeu()):
        few = replace(columns(data, 5), codes=data.codes[:20, :5])
        candidate_parent_sets(few, score, max_parents=2)
        candidate_parent_sets(few, score, budget=Budget(tables=10))
        for told, options in (
            (f"all up to {baseline}", {"max_parents": baseline}),
            (
                f"{seconds:g} s, any size",
                {"max_parents": None, "budget": Budget(seconds=seconds)},
            ),
        ):
            start, processor = time.perf_counter(), time.process_time()
            problem = candidate_parent_sets(data, score, **options)
            wall, processor = (
                time.perf_counter() - start,
                time.process_time() - processor,
            )
            best = solve(problem, solver="ordering", time_limit=solving)
            print(
                f"{type(score).__name__:<5} {told:<18} {problem.n_candidates:>9,} candidates in "
                f"{wall:.1f} s ({processor:.1f} of processor time), network {best.score:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
