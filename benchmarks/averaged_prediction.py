"""Prediction of new rows by all networks, beside that of the best one.

    python -m benchmarks.averaged_prediction [--data-dir FOLDER] [--splits 10] [--bdeu] [NAME ...]

The folder, or the environment variable EXACTLEARN_DATA, holds ``uci/*`` and ``lucas/*``. Each table
is divided at random into rows to learn from and rows to predict, several times; numeric columns are
cut into four bins, ``?`` is a state, and of wide tables the first columns are taken. Printed are
mean log-likelihoods in nats a row of the rows to predict: of the best network (``el.learn``) with
its default parameters, those of its score, and the pseudo-count that predicts held-out rows best;
by how much the average over networks (``el.posterior``, all defaults) is better, with the standard
error over the splits; and its gain over the better of the first two in the worst split. ``seeds``
is the largest difference of the average when other networks are drawn, in the first split.

The default of the pseudo-count was chosen on the first ten tables; the last five were not looked
at before.
"""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

import exactlearn as el
from benchmarks.measuring import machine
from exactlearn.bayesnet.complete_data import full_counts, smoothed

MAX_TEST_ROWS = 4_000
"""Most rows that are predicted in a split."""

MAX_STATES = 10
"""Most different numbers of a column that is not cut into bins."""

TABLES: dict[str, tuple[str, int, int, int]] = {
    "asia": ("", 0, 8, 200),
    "lucas": ("lucas/lucas0_train.csv", 0, 12, 500),
    "car": ("uci/car.data", 0, 7, 800),
    "votes": ("uci/house-votes-84.data", 0, 14, 290),
    "nursery": ("uci/nursery.data.gz", 0, 9, 1_000),
    "cmc": ("uci/cmc.data", 0, 10, 980),
    "wisconsin": ("uci/breast-cancer-wisconsin.data", 1, 11, 460),
    "crx": ("uci/crx.data", 0, 14, 460),
    "mushroom": ("uci/agaricus-lepiota.data.gz", 0, 12, 1_000),
    "letter": ("uci/letter-recognition.data.gz", 0, 12, 2_000),
    # not looked at before
    "spect": ("uci/SPECT.test", 0, 14, 125),
    "abalone": ("uci/abalone.data.gz", 0, 9, 1_000),
    "page-blocks": ("uci/page-blocks.data.gz", 0, 11, 1_000),
    "dermatology": ("uci/dermatology.data", 0, 12, 240),
    "adult": ("uci/adult.data.gz", 0, 12, 1_000),
}
"""File, first and last column, and rows to learn from of each table."""


def read(name: str, data_dir: Path) -> el.Dataset:
    """Return the table of a name."""
    file, first, last, _ = TABLES[name]
    if not file:
        return el.read_network(name).sample(600, np.random.default_rng(0))
    separator = r"\s+" if "page-blocks" in file else ","
    frame: pd.DataFrame = pd.read_csv(
        data_dir / file,
        header=0 if "lucas" in file else None,
        sep=separator,
        dtype=str,
        skipinitialspace=True,
        keep_default_na=False,
    )
    frame = frame.iloc[:, first:last]
    frame.columns = pd.Index([f"c{k}" for k in range(frame.shape[1])])
    binned: dict[str, Any] = {}
    for column in frame.columns:
        numbers = pd.to_numeric(frame[column], errors="coerce")
        if numbers.notna().mean() > 0.9 and numbers.nunique() > MAX_STATES:
            bins = pd.qcut(numbers, 4, duplicates="drop")
            if bins.nunique() < 2:
                bins = numbers > numbers.median()
            binned[column] = bins.astype(str).where(numbers.notna(), "?")
    frame = frame.assign(**binned).astype(str)
    return el.Dataset.from_frame(frame, missing=())


def with_score_parameters(network: el.BayesianNetwork, table: el.Dataset) -> Any:
    """Return a network with the parameters of BDeu with an equivalent sample size of 1."""
    tables = []
    for child, parents in enumerate(network.parents):
        counts = full_counts(table, child, parents)
        tables.append(smoothed(counts, 1.0 / counts.size))
    return replace(network, tables=tuple(tables))


def predicted(
    train: el.Dataset, test: el.Dataset, smoothing: Any
) -> tuple[list[float], Any]:
    """Return nats a row of the best network with three parameters, and of the average.

    The posterior comes with them.
    """
    learned = el.learn(train)
    chosen = el.choose_smoothing(train, learned.parents).smoothing
    posterior = el.posterior(train)
    models = (
        learned.network,
        with_score_parameters(learned.network, train),
        el.fit_complete(train, learned.parents, smoothing=chosen),
        posterior.mixture(smoothing=smoothing),
    )
    return [
        float(model.log_likelihood_rows(test).mean()) for model in models
    ], posterior


def difference_of_seeds(posterior: Any, test: el.Dataset) -> float:
    """Return the largest difference between averages over networks of other seeds."""
    means = []
    for seed in range(4):
        mixture = posterior.mixture(seed=seed)
        means.append(float(mixture.log_likelihood_rows(test).mean()))
    return max(means) - min(means)


@click.command(help=__doc__)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    envvar="EXACTLEARN_DATA",
    required=True,
)
@click.option("--splits", default=10)
@click.option("--bdeu", is_flag=True, help="Average with the score's pseudo-counts.")
@click.argument("names", nargs=-1)
def main(data_dir: Path, splits: int, bdeu: bool, names: tuple[str, ...]) -> None:
    """Print a table."""
    warnings.simplefilter("ignore", el.errors.ColumnWarning)
    print(machine(), end="\n\n")
    print(
        "| table | variables | rows | best network | score's parameters | chosen pseudo-count"
        " | average | better than the first | than the second | than the third | worst split"
        " | seeds |"
    )
    print("|" + " --- |" * 12)
    for name in names or TABLES:
        table = read(name, data_dir)
        figures = []
        for split in range(splits):
            order = np.random.default_rng(split).permutation(table.n_rows)
            n_train = TABLES[name][-1]
            train = table.part(order[:n_train])
            test = table.part(order[n_train:][:MAX_TEST_ROWS])
            nats, posterior = predicted(train, test, "bdeu" if bdeu else None)
            figures.append(nats)
            if split == 0:
                seeds = difference_of_seeds(posterior, test)
        values = np.array(figures)
        gains = values[:, 3:] - values[:, :3]
        errors = gains.std(axis=0, ddof=1) / np.sqrt(splits)
        worst = gains[:, :2].min(axis=1).min()
        means = " | ".join(f"{mean:.4f}" for mean in values.mean(axis=0))
        better = " | ".join(
            f"{gain:+.4f} ± {error:.4f}"
            for gain, error in zip(gains.mean(axis=0), errors, strict=True)
        )
        print(
            f"| {name} | {table.n_variables} | {n_train} | {means} | {better} |"
            f" {worst:+.4f} | {seeds:.4f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
