"""The equivalent sample size by cross-validation against fixed ones, on rows not learnt from.

    python -m benchmarks.equivalent_sample_size [--data-dir FOLDER] [--half HALF] [NAME ...]

The folder, or the environment variable EXACTLEARN_DATA, holds ``bif/*.bif.gz``, ``uci/*`` and
``lucas/*``. Of a public set some rows are learnt from, and the others, at most 10,000, judge; of a
network 5,000 further rows do. Missing cells are replaced by the most frequent state. Printed is the
value chosen; how many nats per row the network learnt with it, with each fixed value, and with BIC
are behind the best of the fixed values; and the CPU seconds of the choice. Networks have at most
three parents and are the best that a search over orders finds; parameters are those of `fit`.
"""

from collections.abc import Iterator
from pathlib import Path
from time import process_time

import click
import numpy as np

from benchmarks.measuring import machine
from exactlearn.augmentation.starts import heuristic_network, mode_completion
from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.data.dataset import Dataset
from exactlearn.formats.bif import read_bif
from exactlearn.graphs.comparison import compare_structures
from exactlearn.reproduce.sources import HALVES, NETWORKS, public_set
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.scores import BIC, BDeu, Score
from exactlearn.structure.ess_choice import DEFAULTS, choose_ess

SIZES = (100, 500, 2_000, 10_000)
MOST_SHARE = 2 / 3
"""Most rows of a public set that are learnt from."""

TEST_ROWS = {"set": 10_000, "network": 5_000}

Parents = tuple[tuple[int, ...], ...]


def tables(folder: Path, name: str, seed: int) -> Iterator[tuple[Dataset, Dataset, Parents | None]]:
    """Yield rows to learn from, rows to judge by, and the DAG that they are from, if known."""
    rng = np.random.default_rng(seed)
    if name in NETWORKS:
        truth = read_bif(folder / "bif" / f"{name}.bif.gz")
        test = truth.sample(TEST_ROWS["network"], rng)
        for rows in SIZES:
            yield truth.sample(rows, rng), test, truth.parents
        return
    table = public_set(name, folder, rng, rows=10**9)
    if not table.is_complete:
        table = table.complete(mode_completion(table))
    most = int(MOST_SHARE * table.n_rows)
    for rows in sorted({min(rows, most) for rows in SIZES}):
        order = rng.permutation(table.n_rows)
        parts = order[:rows], order[rows : rows + TEST_ROWS["set"]]
        train, test = (Dataset(table.codes[own], table.names, table.states) for own in parts)
        yield train, test, None


def learned(train: Dataset, score: Score) -> Parents:
    """Return the best DAG that a search over orders finds."""
    problem = candidate_parent_sets(train, score, max_parents=3)
    how = {"budget": DEFAULTS.budget, "perturbations": DEFAULTS.perturbations, "seed": 0}
    return heuristic_network(problem, None, **how)[0]


@click.command(help=__doc__)
@click.option(
    "--data-dir", type=click.Path(path_type=Path), envvar="EXACTLEARN_DATA", required=True
)
@click.option("--half", type=click.Choice(["development", "test"]), default="development")
@click.option("--seed", default=0)
@click.argument("names", nargs=-1)
def main(data_dir: Path, half: str, seed: int, names: tuple[str, ...]) -> None:
    """Print a table, and its means."""
    scores: dict[str, Score] = {f"{e:g}": BDeu(e) for e in DEFAULTS.values} | {"BIC": BIC()}
    print(machine(), end="\n\n")
    print("| set | rows | chosen | auto |", *(f" {name} |" for name in scores), " CPU s |", sep="")
    print("|" + "---|" * (5 + len(scores)))
    losses, distances = [], []
    for name in names or (name for name, own in HALVES.items() if own == half):
        for train, test, truth in tables(data_dir, name, seed):
            begun = process_time()
            ess = choose_ess(train, seed=seed).ess
            seconds = process_time() - begun
            dags = [learned(train, score) for score in scores.values()]
            chosen = list(scores).index(f"{ess:g}")
            found = [fit_complete(train, dag).log_likelihood(test) / test.n_rows for dag in dags]
            behind = [max(found[:-1]) - value for value in (found[chosen], *found)]
            losses.append(behind)
            if truth is not None:
                own = [compare_structures(dag, truth).cpdag_shd for dag in dags]
                distances.append([own[chosen], *own])
            cells = "".join(f" {loss:.3f} |" for loss in behind)
            print(f"| {name} | {train.n_rows} | {ess:g} |{cells} {seconds:.1f} |", flush=True)
    print(f"\n| {len(losses)} tables | mean | largest | below .01 | CPDAG's distance |")
    print("|" + "---|" * 5)
    for place, name in enumerate(("auto", *scores)):
        own = np.array(losses)[:, place]
        distance = np.mean(np.array(distances)[:, place]) if distances else np.nan
        small = f"{100 * np.mean(own < 0.01):.0f} %"
        print(f"| {name} | {own.mean():.3f} | {own.max():.2f} | {small} | {distance:.1f} |")


if __name__ == "__main__":
    main()
