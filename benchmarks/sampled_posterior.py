"""Markov chains over networks: beside exact sums, and effective sizes for many variables.

    python -m benchmarks.sampled_posterior exact
    python -m benchmarks.sampled_posterior alarm --data-dir DATA --seconds 60

``exact`` draws 20 problems of 10 to 16 variables (normal scores of all sets of up to two
parents), and prints for each the deviations from exact sums in standard errors: of all arcs their
root mean square, the largest one and how many are above three. On AMD EPYC, all 20 together: root
mean square 1.04, .0054 above three (one problem of 16 variables has 5.8, where few batches are
known); the arcs of a problem depend on each other.

``alarm`` draws 1,000 rows of ALARM and samples with the prior fair to numbers of parents. Effective
sizes are those of all arcs with a probability of .05 to .95, by means of batches, for a second of
the processor. On AMD EPYC beside other work: median 75-82, smallest 32-34, 16 open arcs; with the
uniform prior and 100 open arcs median 750, smallest 22.
"""

import sys
import time
from itertools import combinations
from pathlib import Path

import click
import numpy as np

import exactlearn as el
from benchmarks.measuring import machine
from exactlearn._runtime.control import SearchControl
from exactlearn.scoring.prior import with_prior
from exactlearn.solvers import Problem, solve
from exactlearn.solvers.gibbs import Estimate, sample_networks
from exactlearn.solvers.posterior import posterior_of_selections


class ProcessorControl(SearchControl):
    """A clock that counts seconds of the processor."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.end = time.process_time() + seconds

    def goes_on(self) -> bool:
        """Return whether there is time left."""
        return time.process_time() < self.end


@click.group()
def main() -> None:
    """Measure Markov chains over networks."""
    click.echo(machine())


@main.command()
def exact() -> None:
    """Compare with exact sums."""
    click.echo("variables  sweeps  root mean square  largest  above 3")
    squares = []
    for seed in range(20):
        n = 10 + seed % 7
        problem = _random_problem(n, seed)
        sums = posterior_of_selections(problem)
        best = solve(problem).parents
        assert sums is not None
        assert best is not None
        sampled = sample_networks(problem, best, seed=seed)
        assert sampled is not None
        counts = sampled.arc_errors > 1e-6
        deviations = (sampled.arcs - sums.arcs)[counts] / sampled.arc_errors[counts]
        squares += (deviations**2).tolist()
        figures = (
            n,
            len(sampled.draws.log_sum),
            f"{np.sqrt(np.mean(deviations**2)):.2f}",
            f"{np.abs(deviations).max():.2f}",
            f"{np.mean(np.abs(deviations) > 3):.3f}",
        )
        click.echo("  ".join(map(str, figures)))
    above = np.mean(np.array(squares) > 9)
    click.echo(f"all: {np.sqrt(np.mean(squares)):.2f}, above 3: {above:.4f}")


def _random_problem(n: int, seed: int) -> Problem:
    """Return a problem with normal scores of all sets of up to two parents."""
    rng = np.random.default_rng(seed)
    tables = []
    for child in range(n):
        others = [v for v in range(n) if v != child]
        sets = [s for size in range(3) for s in combinations(others, size)]
        tables.append({s: 2.0 * rng.normal() for s in sets})
    return Problem.from_candidates([f"X{v}" for v in range(n)], tables)


@main.command()
@click.option("--data-dir", type=Path, envvar="EXACTLEARN_DATA", required=True)
@click.option("--seconds", default=60.0, help="Of the processor, for each sampler.")
def alarm(data_dir: Path, seconds: float) -> None:
    """Measure effective sizes on ALARM."""
    network = el.read_network(data_dir / "bif" / "alarm.bif.gz")
    table = network.sample(1000, np.random.default_rng(1))
    problem = el.candidate_parent_sets(table, "bdeu", max_parents=3, prune=False)
    problem = with_prior(problem, "fair")
    best = solve(problem).parents
    assert best is not None
    sample_networks(problem, best, control=SearchControl(5.0))  # compiles
    begun = time.process_time()
    sampled = sample_networks(
        problem, best, seed=1, target=0.0, control=ProcessorControl(seconds)
    )
    assert sampled is not None
    ours = time.process_time() - begun
    _show("exactlearn", sampled.estimate, sampled.arcs, ours)


def _show(name: str, estimate: Estimate, arcs: np.ndarray, seconds: float) -> None:
    """Print effective sizes for a second."""
    is_open = (arcs > 0.05) & (arcs < 0.95)
    sizes = estimate.effective_size[0][is_open] / seconds
    click.echo(
        f"{name}: {seconds:.1f} s, {is_open.sum()} open arcs, effective sizes a second:"
        f" median {np.median(sizes):.1f}, smallest {sizes.min():.2f};"
        f" largest error {estimate.error[0].max():.4f}, R-hat {estimate.r_hat[0].max():.2f}"
    )


if __name__ == "__main__":
    sys.exit(main())
