"""Networks with bounded cliques, next to the published figures of BN-SLIM.

    python -m benchmarks.bounded_cliques SCORES NETWORKS [INSTANCE ...] --seconds 60

SCORES holds files of local scores such as ``insurance-5000.jkl.gz``, and NETWORKS the networks
that give the numbers of states, such as ``insurance.bif.gz``, with the variables in the same order.
Shown are the score, its proven gap in percent, and the figure of BN-SLIM (Peruvemba Ramaswamy and
Szeider 2021, "Learning fast-inference Bayesian networks"), which proves no gap.
"""

import time
from pathlib import Path

import click

from benchmarks.measuring import machine
from exactlearn.formats.models import read_network
from exactlearn.formats.scores import read_scores
from exactlearn.structure.bounded_cliques import bounded_cliques

PUBLISHED = {
    ("insurance", 400): -68763.91,
    ("barley", 4221): -295305.56,
    ("barley", 1000): -304077.38,
    ("pathfinder", 10000): -151370.61,
    ("pathfinder", 1000): -153912.57,
    ("munin1", 4000): -239234.93,
}
"""Scores of BN-SLIM, by network and configurations of a clique."""

ROW = "{:>12} {:>7} {:>14} {:>9} {:>14} {:>9} {:>8} {:>8}"


@click.command()
@click.argument("scores", type=click.Path(path_type=Path))
@click.argument("networks", type=click.Path(path_type=Path))
@click.argument("instances", nargs=-1)
@click.option("--seconds", default=60.0)
def main(
    scores: Path, networks: Path, instances: tuple[str, ...], seconds: float
) -> None:
    """Learn each network with its published bounds on cliques."""
    print(machine())
    titles = ("instance", "states", "score", "gap %", "BN-SLIM", "largest")
    print(ROW.format(*titles, "moves/k", "CPU s"))
    for (name, max_clique), published in PUBLISHED.items():
        if instances and name not in instances:
            continue
        problem = read_scores(scores / f"{name}-5000.jkl.gz")
        sizes = read_network(networks / f"{name}.bif.gz").cardinalities
        begun = time.process_time()
        result = bounded_cliques(problem, sizes, max_clique, time_limit=seconds)
        figures = (
            f"{result.score:.2f}",
            f"{100 * result.gap / abs(result.bound):.4f}",
            f"{published:.2f}",
            result.largest_clique,
            result.nodes // 1000,
            f"{time.process_time() - begun:.1f}",
        )
        print(ROW.format(name, max_clique, *figures), flush=True)


if __name__ == "__main__":
    main()
