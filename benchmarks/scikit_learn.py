"""The estimators of exactlearn.sklearn beside scikit-learn's own, by held-out halves.

    python -m benchmarks.scikit_learn [--data-dir FOLDER] [--halves N] [NAME ...]

The folder, or the environment variable EXACTLEARN_DATA, holds ``uci/*``; NAME is one of the tables.
Printed are, for each classifier, the mean of -log probability of the true class in nats with its
standard error, the share of rows classified right, and the CPU seconds of a half (fitting and
predicting; scikit-learn's trees and ours on one thread). Halves are stratified; large tables are
cut to 2,000 rows, and classes of fewer than four rows left out. Then, for each imputer, the share
of values given right of a fifth of the observed cells of ``car`` and ``votes``, hidden at random;
means of five draws.
"""

from pathlib import Path
from time import process_time
from typing import Any

import click
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.measuring import machine
from exactlearn.sklearn import BayesianNetworkClassifier, ExactImputer

TABLES = {
    "balance-scale": ("balance-scale.data", 0),
    "car": ("car.data", -1),
    "cmc": ("cmc.data", -1),
    "crx": ("crx.data", -1),
    "dermatology": ("dermatology.data", -1),
    "hayes-roth": ("hayes-roth.data", -1),
    "krkopt": ("krkopt.data.gz", -1),
    "nursery": ("nursery.data.gz", -1),
    "soybean": ("soybean-large.data", 0),
    "votes": ("house-votes-84.data", 0),
}
"""File and column of the class."""

IDS = ("hayes-roth",)
"""Tables whose first column names the rows."""

IMPUTED = ("votes", "car")
"""Tables whose cells are imputed."""

MOST_ROWS, LEAST_OF_CLASS = 2000, 4
"""Rows of a table, and of a class."""

HIDDEN = 0.2

WORDS = make_column_selector(dtype_exclude="number")
NUMBERS = make_column_selector(dtype_include="number")


def one_hot(*of_numbers: Any) -> Any:
    """Return what fills cells by the mode or mean, and codes words by indicators."""
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    )
    return make_column_transformer(
        (words, WORDS), (make_pipeline(SimpleImputer(), *of_numbers), NUMBERS)
    )


def classifiers(seed: int) -> dict[str, Any]:
    """Return the classifiers, ours first."""
    ours = BayesianNetworkClassifier(random_state=seed)
    boosted = HistGradientBoostingClassifier(
        categorical_features="from_dtype", random_state=seed
    )
    return {
        "`BayesianNetworkClassifier()`": ours,
        "the same as it was, one structure": clone(ours).set_params(
            structure="augmented", ess=1.0, smoothing=0.25
        ),
        "`HistGradientBoostingClassifier`": boosted,
        "`RandomForestClassifier`": make_pipeline(
            one_hot(), RandomForestClassifier(random_state=seed)
        ),
        "`LogisticRegression`": make_pipeline(
            one_hot(StandardScaler()), LogisticRegression(max_iter=1000)
        ),
    }


def read(folder: Path, name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the columns of a table, words as categories, and its classes."""
    file, label = TABLES[name]
    frame = pd.read_csv(
        folder / "uci" / file, header=None, na_values="?", skipinitialspace=True
    )
    frame.columns = [f"c{j}" for j in range(frame.shape[1])]
    y = frame.pop(frame.columns[label]).astype(str)
    if name in IDS:
        frame = frame.iloc[:, 1:]
    if len(y) > 2 * MOST_ROWS:
        frame, _, y, _ = train_test_split(
            frame, y, train_size=MOST_ROWS, stratify=y, random_state=0
        )
    kept = y.map(y.value_counts()) >= LEAST_OF_CLASS
    frame, y = frame[kept].reset_index(drop=True), y[kept]
    words = frame.select_dtypes(exclude="number").columns
    return frame.astype(dict.fromkeys(words, "category")), y.to_numpy()


def judged(model: Any, X: pd.DataFrame, y: np.ndarray, halves: int) -> list[float]:
    """Return log loss, its standard error, accuracy and CPU seconds of a half."""
    right, losses, begun = [], [], process_time()
    classes = np.unique(y)
    for seed in range(halves):
        train, test = train_test_split(
            np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed
        )
        fitted = clone(model).fit(X.iloc[train], y[train])
        shares = fitted.predict_proba(X.iloc[test])
        right.append((fitted.classes_[shares.argmax(axis=1)] == y[test]).mean())
        losses.append(log_loss(y[test], shares, labels=classes))
    error = np.std(losses, ddof=1) / np.sqrt(halves)
    return [np.mean(losses), error, np.mean(right), (process_time() - begun) / halves]


def imputers(seed: int) -> dict[str, Any]:
    """Return the imputers, ours first."""
    return {
        "`ExactImputer()`": ExactImputer(random_state=seed),
        "`ExactImputer(mode='posterior')`": ExactImputer(
            mode="posterior", random_state=seed
        ),
        "`KNNImputer`": KNNImputer(),
        "`IterativeImputer`": IterativeImputer(random_state=seed, max_iter=30),
        "`SimpleImputer('most_frequent')`": SimpleImputer(strategy="most_frequent"),
    }


def filled_right(imputer: Any, X: pd.DataFrame, seed: int) -> float:
    """Return the share of hidden cells that get their value, numbers rounded to a code."""
    codes = (
        X.apply(lambda column: column.cat.codes.where(column.notna()))
        .astype(float)
        .to_numpy()
    )
    hidden = (np.random.default_rng(seed).random(codes.shape) < HIDDEN) & ~np.isnan(
        codes
    )
    values = clone(imputer).fit_transform(np.where(hidden, np.nan, codes))
    return float((np.rint(values) == codes)[hidden].mean())


@click.command(help=__doc__)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    envvar="EXACTLEARN_DATA",
    required=True,
)
@click.option("--halves", default=3)
@click.argument("names", nargs=-1)
def main(data_dir: Path, halves: int, names: tuple[str, ...]) -> None:
    """Print both tables."""
    print(machine(), end="\n\n")
    tables = {name: read(data_dir, name) for name in names or TABLES}
    for name, (X, y) in tables.items():
        print(
            f"\n| {name} | log loss | accuracy | CPU s |\n|---|---|---|---|", flush=True
        )
        for label, model in classifiers(0).items():
            loss, error, right, seconds = judged(model, X, y, halves)
            row = f"{loss:.3f} ± {error:.3f} | {100 * right:.1f} % | {seconds:.2f}"
            print(f"| {label} | {row} |", flush=True)
    words = {name: X for name, (X, _) in tables.items() if name in IMPUTED}
    print(
        f"\n| hidden cells given right | {' | '.join(words)} |\n|{'---|' * (len(words) + 1)}"
    )
    for label, imputer in imputers(0).items():
        shares = [
            np.mean([filled_right(imputer, X, seed) for seed in range(5)])
            for X in words.values()
        ]
        print(
            f"| {label} | {' | '.join(f'{100 * s:.1f} %' for s in shares)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
