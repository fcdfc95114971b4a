"""Scoring all families of a network's sample: this library against pyAgrum, in one run.

    python -m benchmarks.scoring NETWORK.bif[.gz] --rows 1000 --rows 10000 --max-parents 3

Processor time on one thread, so that other processes disturb little. Ours is taken after
compilation, with and without dropping dominated parent sets. pyAgrum scores a random selection of
the families by calls of ``BNLearner.score``, as many as fit into the time limit, scaled to all.
Since a Python call for each family is not what its own learners pay, its time on ten rows is
subtracted in a second ratio.
"""

import itertools
import math
import resource
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.measuring import least_seconds, machine
from exactlearn.candidates import candidate_parent_sets, n_families
from exactlearn.data import Dataset
from exactlearn.formats.bif import read_bif
from exactlearn.scores import BIC, BDeu, Score


def peer_seconds(data: Dataset, score: Score, max_parents: int, limit: float) -> float:
    """Return pyAgrum's estimated seconds for all families."""
    learner = peer_learner(data, score)
    done, start = 0, time.process_time()
    for child, parents in sampled_families(data.names, max_parents):
        learner.score(child, parents)
        done += 1
        if time.process_time() - start > limit:
            break
    return (time.process_time() - start) * n_families(data.n_variables, max_parents) / done


def peer_learner(data: Dataset, score: Score) -> Any:
    """Return pyAgrum's learner of the same data, states and score."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pandas as pd
        import pyagrum
    frame = pd.DataFrame(
        {name: np.array(data.states[v])[data.codes[:, v]] for v, name in enumerate(data.names)}
    )
    net = pyagrum.BayesNet()
    for name, states in zip(data.names, data.states, strict=True):
        net.add(pyagrum.LabelizedVariable(name, name, list(states)))
    learner = pyagrum.BNLearner(frame, net)
    (learner.useScoreBIC if isinstance(score, BIC) else learner.useScoreBDeu)()
    learner.useNoPrior()
    learner.setNumberOfThreads(1)
    return learner


def sampled_families(names: tuple[str, ...], max_parents: int) -> list[tuple[str, list[str]]]:
    """Return families in a random order, of all sizes as often as they occur, up to 100,000."""
    rng = np.random.default_rng(0)
    n = len(names)
    sizes = np.array([math.comb(n - 1, m) for m in range(max_parents + 1)], float)
    if n_families(n, max_parents) <= 100_000:
        families = [
            (names[child], [names[p] for p in parents])
            for child in range(n)
            for m in range(max_parents + 1)
            for parents in itertools.combinations([p for p in range(n) if p != child], m)
        ]
        return [families[i] for i in rng.permutation(len(families))]
    drawn = []
    for m in rng.choice(max_parents + 1, 100_000, p=sizes / sizes.sum()):
        chosen = rng.choice(n, m + 1, replace=False)
        drawn.append((names[chosen[0]], [names[p] for p in chosen[1:]]))
    return drawn


@click.command(help="Time the scoring of all families of samples of NETWORK.")
@click.argument("network", type=click.Path(exists=True, dir_okay=False))
@click.option("--rows", multiple=True, default=(1000, 10000), show_default=True, help="Sizes.")
@click.option("--max-parents", default=3, show_default=True, help="Largest parent set.")
@click.option("--ess", default=1.0, show_default=True, help="Equivalent sample size of BDeu.")
@click.option("--repeat", default=3, show_default=True, help="Runs, of which the best counts.")
@click.option("--peer-limit", default=10.0, show_default=True, help="Seconds; 0 for no peer.")
def main(
    network: str,
    rows: tuple[int, ...],
    max_parents: int,
    ess: float,
    repeat: int,
    peer_limit: float,
) -> None:
    """Print one line for each sample size and score."""
    net = read_bif(network)
    families = n_families(len(net.names), max_parents)
    print(f"{machine()}\n{Path(network).name}: {families:,} families, k = {max_parents}")
    print(f"{'rows':>7} {'score':>14} {'kept':>8} {'pruned s':>9} {'all s':>7} {'peer s':>8} ratio")
    for n in rows:
        data = net.sample(n, np.random.default_rng(1))
        scores: tuple[Score, ...] = (BDeu(ess), BIC())
        for score in scores:
            line(data, score, max_parents, repeat, peer_limit)
    unit = 2**30 if sys.platform == "darwin" else 2**20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    print(f"peak memory of the process: {peak:.2f} GiB")


def line(data: Dataset, score: Score, max_parents: int, repeat: int, peer_limit: float) -> None:
    """Measure one score on one sample and print it."""

    def run(prune: bool) -> int:
        problem = candidate_parent_sets(data, score, max_parents=max_parents, prune=prune)
        return problem.n_candidates

    kept = run(True)
    pruned, whole = (
        least_seconds(lambda p=p: run(p), repeat, time.process_time) for p in (True, False)
    )
    told = f"{data.n_rows:>7} {score!s:>14} {kept:>8,} {pruned:>9.3f} {whole:>7.3f}"
    if peer_limit:
        peer = peer_seconds(data, score, max_parents, peer_limit)
        few = replace(data, codes=data.codes[:10])
        counting = max(0.0, peer - peer_seconds(few, score, max_parents, peer_limit))
        told += f" {peer:>8.2f} {peer / pruned:.1f} ({counting / pruned:.1f} less calls)"
    print(told)


if __name__ == "__main__":
    main()
