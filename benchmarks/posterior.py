"""Sums over all networks: the probability of all arcs, beside ``sumu`` in one run.

    python -m benchmarks.posterior --variables 12 --variables 16

Random scores of all sets of up to three parents, processor time of a later call. ``sumu``
(pip) sums with ``sumu.aps`` on one thread, up to some 16 variables; where it is not installed, its
column is empty. The largest difference of the two is printed.
"""

import sys
import time
from itertools import combinations
from typing import Any

import click
import numpy as np

from benchmarks.measuring import least_seconds, machine
from exactlearn.solvers import Problem
from exactlearn.solvers.posterior import posterior_of_selections

MAX_PEER = 16
"""Most variables that the peer is asked for: each further one takes it three times as long."""


def random_problem(n: int, spread: float) -> Problem:
    """Return a problem with scores of a normal distribution for all sets of up to three."""
    rng = np.random.default_rng(n)
    tables = []
    for child in range(n):
        others = [v for v in range(n) if v != child]
        sets = [s for size in range(4) for s in combinations(others, size)]
        tables.append({s: spread * rng.normal() for s in sets})
    return Problem.from_candidates([f"X{v}" for v in range(n)], tables)


def by_peer(problem: Problem) -> tuple[float, np.ndarray] | None:
    """Return the peer's seconds, and its probability of each candidate."""
    try:
        from sumu.aps import aps
    except ImportError:
        return None
    n = problem.n_variables
    weights = np.full((n, 1 << (n - 1)), -np.inf)
    places: list[tuple[int, int]] = []
    for candidate, child in enumerate(problem.child.tolist()):
        parents = problem.parent_set(candidate)
        bits = sum(1 << (p if p < child else p - 1) for p in parents)
        places.append((child, bits))
        weights[child, bits] = problem.scores[candidate]
    begun = time.process_time()
    answer: Any = aps(weights, as_dict=False, normalize=True)
    seconds = time.process_time() - begun
    return seconds, np.exp([answer[place] for place in places])


@click.command()
@click.option("--variables", multiple=True, type=int, default=(8, 12, 14, 16))
@click.option(
    "--spread", default=6.0, help="Standard deviation of the scores, in nats."
)
def main(variables: tuple[int, ...], spread: float) -> None:
    """Time the sums over all networks of random problems."""
    click.echo(machine())
    click.echo("variables  seconds  sumu  ratio  difference  error")
    posterior_of_selections(random_problem(8, spread))
    for n in variables:
        problem = random_problem(n, spread)
        ours = posterior_of_selections(problem)
        assert ours is not None
        seconds = least_seconds(
            lambda problem=problem: posterior_of_selections(problem),  # type: ignore[misc]
            repeat=1 if n > MAX_PEER else 3,
            clock=time.process_time,
        )
        peer = by_peer(problem) if n <= MAX_PEER else None
        beside = "-  -  -"
        if peer is not None:
            difference = np.abs(peer[1] - ours.candidates).max()
            beside = f"{peer[0]:.3f}  {peer[0] / seconds:.1f}  {difference:.1e}"
        click.echo(f"{n}  {seconds:.3f}  {beside}  {ours.error:.1e}")


if __name__ == "__main__":
    sys.exit(main())
