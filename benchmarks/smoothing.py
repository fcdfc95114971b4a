"""Smoothing chosen by cross-validation against fixed pseudo-counts, on rows not learnt from.

    python -m benchmarks.smoothing [--data-dir FOLDER] [--repeat N] [NAME ...]

The folder, or the environment variable EXACTLEARN_DATA, holds ``bif/*.bif.gz`` and ``uci/*``. Rows
are drawn from networks, whose structure is given; or a part of a table of ``uci`` is learnt from,
as the tree of Chow and Liu and as a decision graph over it, and judged on the rest. Printed is the
smoothing that cross-validation chooses, the log-likelihood per held-out row under it in nats, how
much more (or less, with a minus sign) cross-validation gains than each fixed smoothing; 1/r is the
reciprocal of the variable's number of states. All are means over repetitions.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import click
import numpy as np

from benchmarks.measuring import machine
from exactlearn.bayesnet.complete_data import fit_complete, full_counts, smoothed
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.smoothing_choice import choose_smoothing
from exactlearn.data.dataset import Dataset
from exactlearn.formats.bif import read_bif
from exactlearn.pdg.inference.flows import expected_counts, log_likelihood_rows
from exactlearn.pdg.learn.chow_liu import chow_liu_forest
from exactlearn.pdg.learn.smoothing import tuned_smoothing
from exactlearn.pdg.learn.structure_search import learn_on_forest
from exactlearn.reproduce.sources import UCI, uci_split

NETWORKS = ("asia", "child", "insurance", "alarm", "hailfinder", "win95pts", "barley")
SIZES = (100, 300, 1000, 3000, 10_000)
TABLE_SIZES = (100, 1000, 3000)
HELD_OUT = 20_000
FIXED = {"1": 1.0, "0.5": 0.5, "0.25": 0.25, "0.1": 0.1, "1/r": None}

Judge = Callable[[float | None], float]
"""Returns the log-likelihood per held-out row of smoothing by a number; without one, by 1/r."""

Run = tuple[float, Judge]
"""The smoothing chosen by cross-validation, and the judge."""


def from_network(path: Path, rows: int, seed: int) -> Run:
    """Learn a network of known structure."""
    truth, rng = read_bif(path), np.random.default_rng(seed)
    train, test = truth.sample(rows, rng), truth.sample(HELD_OUT, rng)
    return _network(train, test, truth.parents, seed)


def _network(train: Dataset, test: Dataset, parents: tuple[tuple[int, ...], ...], seed: int) -> Run:
    def judged(smoothing: float | None) -> float:
        if smoothing is not None:
            return (
                fit_complete(train, parents, smoothing=smoothing).log_likelihood(test) / test.n_rows
            )
        tables = (
            smoothed(full_counts(train, child, family), 1 / len(train.states[child]))
            for child, family in enumerate(parents)
        )
        network = BayesianNetwork(train.names, train.states, parents, tuple(tables))
        return network.log_likelihood(test) / test.n_rows

    return choose_smoothing(train, parents, seed=seed).smoothing, judged


def from_table(folder: Path, name: str, as_graph: bool, rows: int, seed: int) -> Run:
    """Learn from some rows of a table, judged on the others."""
    split = uci_split(folder, name, 0)
    codes = np.vstack((split.train.codes, split.test.codes)).astype(np.int16)
    chosen = np.zeros(len(codes), np.bool_)
    chosen[np.random.default_rng(seed).permutation(len(codes))[:rows]] = True
    table = Dataset(codes, split.train.names, split.train.states)
    train, test = table.part(chosen), table.part(~chosen)
    forest = chow_liu_forest(codes[chosen], train.row_weights, train.cardinalities)
    if not as_graph:
        return _network(train, test, tuple(() if u < 0 else (int(u),) for u in forest), seed)
    graph = learn_on_forest(train, forest).graph
    counts = expected_counts(graph, codes[chosen])
    states = np.repeat(graph.cardinalities[graph.variable], np.diff(graph.parameter_offsets))

    def judged(smoothing: float | None) -> float:
        model = graph.with_counts(counts + (1 / states if smoothing is None else smoothing))
        return float(log_likelihood_rows(model, codes[~chosen]).mean())

    return tuned_smoothing(graph, train, seed=seed).smoothing, judged


def runs(folder: Path, names: tuple[str, ...]) -> Iterator[tuple[str, int, Callable[[int], Run]]]:
    """Yield what is learnt, the number of rows, and a function of the seed."""
    for name in NETWORKS:
        path = folder / "bif" / f"{name}.bif.gz"
        for rows in SIZES if not names or name in names else ():
            yield name, rows, partial(from_network, path, rows)
    for name in UCI:
        for kind in ("tree", "graph") if not names or name in names else ():
            for rows in TABLE_SIZES:
                yield (
                    f"{name}, {kind}",
                    rows,
                    partial(from_table, folder, name, kind == "graph", rows),
                )


@click.command(help=__doc__)
@click.option(
    "--data-dir", type=click.Path(path_type=Path), envvar="EXACTLEARN_DATA", required=True
)
@click.option("--repeat", default=5)
@click.argument("names", nargs=-1)
def main(data_dir: Path, repeat: int, names: tuple[str, ...]) -> None:
    """Print a table."""
    print(machine(), end="\n\n")
    print("| model | rows | smoothing | per row |", *(f" {name} |" for name in FIXED), sep="")
    print("|" + "---|" * (4 + len(FIXED)))
    for name, rows, run in runs(data_dir, names):
        smoothings, figures = [], []
        for seed in range(repeat):
            smoothing, judged = run(seed)
            best = judged(smoothing)
            smoothings.append(smoothing)
            figures.append([best, *(best - judged(other) for other in FIXED.values())])
        best, *gains = np.mean(figures, axis=0)
        smoothing = float(np.exp(np.log(smoothings).mean()))
        cells = "".join(f" {gain:.4f} |" for gain in gains)
        print(f"| {name} | {rows} | {smoothing:.3g} | {best:.4f} |{cells}", flush=True)


if __name__ == "__main__":
    main()
