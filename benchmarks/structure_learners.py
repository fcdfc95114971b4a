"""Structure learners side by side on complete rows: ours, pyAgrum's and causal-learn's.

    python -m benchmarks.structure_learners NETWORK.bif[.gz] ... --rows 1000 --rows 10000

Every learner gets the same rows drawn from each network and maximises the same score, and runs in
this process on one thread: processor seconds, ours after compilation. The networks found are scored
by our own scorer. ``exact`` and ``ordering`` choose among all parent sets of ``--max-parents``
variables at most, the others are not bounded. causal-learn knows BDeu only, with a prior on
structures that prefers few parents; it starts only with ``--criterion bdeu`` and where it is
installed.
"""

import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.measuring import machine
from benchmarks.scoring import peer_learner
from exactlearn.data.dataset import Dataset
from exactlearn.formats.models import read_network
from exactlearn.graphs.comparison import structural_hamming_distance
from exactlearn.graphs.equivalence import consistent_extension, cpdag
from exactlearn.graphs.partially_directed import Parents, PartiallyDirectedGraph
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.scores import Score, parse_score, total_score
from exactlearn.solvers import solve
from exactlearn.structure.equivalence_search import equivalence_search

Learner = Callable[[Dataset, Score, int], Parents]
"""Learns from rows by a score, with a bound on the parents for those that need one."""


def ges(data: Dataset, score: Score, most: int) -> Parents:
    """Search equivalence classes greedily, in two phases."""
    found = equivalence_search(data, score).parents
    assert found is not None
    return found


def kes(data: Dataset, score: Score, most: int) -> Parents:
    """Take the best of twenty starts of KES."""
    found = equivalence_search(data, score, method="kes", restarts=20).parents
    assert found is not None
    return found


def exact(data: Dataset, score: Score, most: int, **how: Any) -> Parents:
    """Score all parent sets, and prove the best network."""
    problem = candidate_parent_sets(data, score, max_parents=most)
    found = solve(problem, **how).parents
    assert found is not None
    return found


def ordering(data: Dataset, score: Score, most: int) -> Parents:
    """Score all parent sets, and search orders of the variables for five seconds."""
    return exact(data, score, most, solver="ordering", time_limit=5.0)


def hill_climbing(data: Dataset, score: Score, most: int) -> Parents:
    """Climb with pyAgrum."""
    return _by_pyagrum(data, score, "useGreedyHillClimbing")


def tabu(data: Dataset, score: Score, most: int) -> Parents:
    """Search locally with pyAgrum's tabu list."""
    return _by_pyagrum(data, score, "useLocalSearchWithTabuList")


def _by_pyagrum(data: Dataset, score: Score, search: str) -> Parents:
    learner = peer_learner(data, score)
    getattr(learner, search)()
    dag = (
        learner.learnDAG()
    )  # learnBN would estimate parameters, and refuses unseen configurations
    return tuple(tuple(sorted(dag.parents(v))) for v in range(data.n_variables))


def causal_learn(data: Dataset, score: Score, most: int) -> Parents:
    """Search equivalence classes with causal-learn."""
    module: Any = import_module("causallearn.search.ScoreBased.GES")
    found = module.ges(data.codes.astype(np.int64), "local_score_BDeu")["G"].graph
    tails = [(int(a), int(b)) for a, b in np.argwhere(found == -1)]
    arcs = frozenset((a, b) for a, b in tails if found[b, a] == 1)
    edges = frozenset((a, b) for a, b in tails if found[b, a] == -1 and a < b)
    return consistent_extension(PartiallyDirectedGraph(data.n_variables, arcs, edges))


LEARNERS: dict[str, Learner] = {
    "ges": ges,
    "kes, 20 starts": kes,
    "exact": exact,
    "ordering, 5 s": ordering,
    "pyAgrum hill climbing": hill_climbing,
    "pyAgrum tabu": tabu,
    "causal-learn GES": causal_learn,
}


@click.command()
@click.argument(
    "networks", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path)
)
@click.option("--rows", multiple=True, default=[1000], help="rows drawn, repeatable")
@click.option("--criterion", type=click.Choice(["bdeu", "bic"]), default="bdeu")
@click.option("--max-parents", default=3, help="of exact and ordering")
@click.option("--seed", default=1)
def main(
    networks: tuple[Path, ...],
    rows: tuple[int, ...],
    criterion: str,
    max_parents: int,
    seed: int,
) -> None:
    """Print a table: seconds, score, distance of the CPDAG from the network's, arcs, parents."""
    score = parse_score(criterion)
    chosen = dict(LEARNERS)
    if criterion != "bdeu" or find_spec("causallearn") is None:
        del chosen["causal-learn GES"]
    click.echo(f"{machine()}, {criterion}\n")
    head = (
        "network",
        "rows",
        "learner",
        "CPU s",
        criterion,
        "CPDAG SHD",
        "arcs",
        "parents",
    )
    click.echo(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    for path in networks:
        network = read_network(path)
        for count in rows:
            data = network.sample(count, np.random.default_rng(seed))
            for name, learner in chosen.items():
                if not name.startswith(("pyAgrum", "causal")):
                    learner(data, score, 1)  # compiles
                begun = time.process_time()
                parents = learner(data, score, max_parents)
                seconds = time.process_time() - begun
                distance = structural_hamming_distance(
                    cpdag(parents), cpdag(network.parents)
                )
                cells = (
                    path.name.split(".")[0],
                    f"{count:,}",
                    name,
                    f"{seconds:.2f}",
                    f"{total_score(data, parents, score):.2f}",
                    str(distance),
                    str(sum(map(len, parents))),
                    str(max(map(len, parents))),
                )
                click.echo(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
