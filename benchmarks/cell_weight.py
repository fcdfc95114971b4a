"""Size and prediction of networks that are learned with a price for each cell of their tables.

    python -m benchmarks.cell_weight [--data-dir FOLDER] [--splits 3] [NAME ...]

The folder, or the environment variable EXACTLEARN_DATA, holds ``bif/NAME.bif.gz``. Rows to learn
from, and 5,000 to predict, are drawn from each network. A line is one value of ``cell_weight`` of
``el.learn``, all else by default: the configurations of the clique tree and of its largest clique,
the nats of score that were given up at most, the mean log-likelihood of the rows to predict less
that of the network without a price, and CPU seconds. ``auto`` stands with the price it chose.
"""

import time
from pathlib import Path

import click
import numpy as np

import exactlearn as el
from benchmarks.measuring import machine

NETWORKS = {"alarm": 2_000, "hailfinder": 2_000, "win95pts": 1_000}
"""Rows to learn from, by network."""

TEST_ROWS = 5_000

SMALLEST = 1e-9
"""A price that changes no choice, so that the size of the network without one is told."""


@click.command(help=__doc__)
@click.option("--data-dir", envvar="EXACTLEARN_DATA", type=Path, required=True)
@click.option("--splits", default=3)
@click.option("--time-limit", default=60.0)
@click.argument("names", nargs=-1, type=click.Choice(list(NETWORKS)))
def main(
    data_dir: Path, splits: int, time_limit: float, names: tuple[str, ...]
) -> None:
    """Print the table."""
    print(machine())
    print("network    split weight        tree  clique given up  predicted   CPU s")
    for name in names or NETWORKS:
        network = el.read_network(data_dir / "bif" / f"{name}.bif.gz")
        for split in range(1, splits + 1):
            rows = NETWORKS[name]
            table = network.sample(rows + TEST_ROWS, np.random.default_rng(split))
            training = table.part(slice(rows))
            test = table.part(slice(rows, None))
            reference = 0.0
            for weight in (SMALLEST, 0.01, 0.1, 1.0, "auto"):
                start = time.process_time()
                learned = el.learn(training, cell_weight=weight, time_limit=time_limit)
                seconds = time.process_time() - start
                predicted = learned.network.log_likelihood_rows(test).mean()
                if weight == SMALLEST:
                    reference = predicted
                price = learned.price
                label = f"{weight}"
                if learned.cell_weight_choice is not None:
                    label = f"auto {learned.cell_weight_choice.value:g}"
                figures = f"{'as without a price':>28}"
                if price is not None:
                    figures = (
                        f"{price.clique_tree_size:10,} {price.largest_clique:9,} "
                        f"{price.score_given_up:7.2f}"
                    )
                print(
                    f"{name:11}{split:4}  {label:9}{figures} {predicted - reference:+10.4f} "
                    f"{seconds:7.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
