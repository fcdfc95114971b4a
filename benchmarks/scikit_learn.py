"""The estimators of exactlearn.sklearn beside scikit-learn's own, by cross-validation.

    python -m benchmarks.scikit_learn [--data-dir FOLDER] [--folds N] [NAME ...]

The folder, or the environment variable EXACTLEARN_DATA, holds ``uci/*``; NAME is one of the tables.
Printed are, for each classifier, the share of rows classified right and its standard error, the
mean of -log probability of the true class in nats, and the CPU seconds of a fold (fitting and
predicting; scikit-learn's trees and ours on one thread). Then, for each imputer, the share of
values given right of a fifth of the observed cells, hidden at random; means over the folds' number
of draws.
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
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from benchmarks.measuring import machine
from exactlearn.sklearn import BayesianNetworkClassifier, DecisionGraphClassifier, ExactImputer

TABLES = {"car": ("car.data", -1), "votes": ("house-votes-84.data", 0), "crx": ("crx.data", -1)}
"""File and column of the class."""

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


def ordinal() -> Any:
    """Return what codes words by numbers, missing cells as a value, and numbers by five bins."""
    words = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    bins = KBinsDiscretizer(5, encode="ordinal", quantile_method="averaged_inverted_cdf")
    return make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="most_frequent"), words), WORDS),
            (make_pipeline(SimpleImputer(), bins), NUMBERS),
        ),
        FunctionTransformer(lambda codes: np.maximum(codes, 0)),
    )


def classifiers(seed: int) -> dict[str, Any]:
    """Return the classifiers, ours first."""
    ours = BayesianNetworkClassifier(random_state=seed)
    choice = [
        {"structure": ["augmented"], "ess": [1.0, 10.0]},
        {"structure": ["exact"], "max_parents": [2, 4], "ess": [1.0]},
        {"structure": ["naive-bayes"]},
    ]
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)  # rows of car are in order
    boosted = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=seed)
    return {
        "`BayesianNetworkClassifier()`": ours,
        "`BayesianNetworkClassifier(structure='exact')`": clone(ours).set_params(structure="exact"),
        "`GridSearchCV(BayesianNetworkClassifier(), ...)`": GridSearchCV(
            ours, choice, scoring="neg_log_loss", cv=folds
        ),
        "`DecisionGraphClassifier()`": DecisionGraphClassifier(random_state=seed),
        "`HistGradientBoostingClassifier`": boosted,
        "`RandomForestClassifier`": make_pipeline(
            one_hot(), RandomForestClassifier(random_state=seed)
        ),
        "`LogisticRegression`": make_pipeline(
            one_hot(StandardScaler()), LogisticRegression(max_iter=1000)
        ),
        "`CategoricalNB`": make_pipeline(ordinal(), CategoricalNB(min_categories=30)),
    }


def read(folder: Path, name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the columns of a table, words as categories, and its classes."""
    file, label = TABLES[name]
    frame = pd.read_csv(folder / "uci" / file, header=None, na_values="?", skipinitialspace=True)
    frame.columns = [f"c{j}" for j in range(frame.shape[1])]
    y = frame.pop(frame.columns[label]).astype(str).to_numpy()
    words = frame.select_dtypes(exclude="number").columns
    return frame.astype(dict.fromkeys(words, "category")), y


def judged(model: Any, X: pd.DataFrame, y: np.ndarray, folds: int) -> list[float]:
    """Return accuracy, its standard error, log loss and CPU seconds of a fold."""
    right, losses, begun = [], [], process_time()
    classes = np.unique(y)
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y):
        fitted = clone(model).fit(X.iloc[train], y[train])
        shares = fitted.predict_proba(X.iloc[test])
        right.append((fitted.classes_[shares.argmax(axis=1)] == y[test]).mean())
        losses.append(log_loss(y[test], shares, labels=classes))
    error = np.std(right, ddof=1) / np.sqrt(folds)
    return [np.mean(right), error, np.mean(losses), (process_time() - begun) / folds]


def imputers(seed: int) -> dict[str, Any]:
    """Return the imputers, ours first."""
    return {
        "`ExactImputer()`": ExactImputer(random_state=seed),
        "`ExactImputer(mode='posterior')`": ExactImputer(mode="posterior", random_state=seed),
        "`KNNImputer`": KNNImputer(),
        "`IterativeImputer`": IterativeImputer(random_state=seed, max_iter=30),
        "`SimpleImputer('most_frequent')`": SimpleImputer(strategy="most_frequent"),
    }


def filled_right(imputer: Any, X: pd.DataFrame, seed: int) -> float:
    """Return the share of hidden cells that get their value, numbers rounded to a code."""
    codes = X.apply(lambda column: column.cat.codes.where(column.notna())).astype(float).to_numpy()
    hidden = (np.random.default_rng(seed).random(codes.shape) < HIDDEN) & ~np.isnan(codes)
    values = clone(imputer).fit_transform(np.where(hidden, np.nan, codes))
    return float((np.rint(values) == codes)[hidden].mean())


@click.command(help=__doc__)
@click.option(
    "--data-dir", type=click.Path(path_type=Path), envvar="EXACTLEARN_DATA", required=True
)
@click.option("--folds", default=5)
@click.argument("names", nargs=-1)
def main(data_dir: Path, folds: int, names: tuple[str, ...]) -> None:
    """Print both tables."""
    print(machine(), end="\n\n")
    tables = {name: read(data_dir, name) for name in names or TABLES}
    for name, (X, y) in tables.items():
        print(f"\n| {name} | accuracy | log loss | CPU s |\n|---|---|---|---|", flush=True)
        for label, model in classifiers(0).items():
            right, error, loss, seconds = judged(model, X, y, folds)
            row = f"{100 * right:.1f} ± {100 * error:.1f} % | {loss:.3f} | {seconds:.2f}"
            print(f"| {label} | {row} |", flush=True)
    words = {n: X for n, (X, _) in tables.items() if not len(X.select_dtypes("number").columns)}
    print(f"\n| hidden cells given right | {' | '.join(words)} |\n|{'---|' * (len(words) + 1)}")
    for label, imputer in imputers(0).items():
        shares = [
            np.mean([filled_right(imputer, X, seed) for seed in range(folds)])
            for X in words.values()
        ]
        print(f"| {label} | {' | '.join(f'{100 * s:.1f} %' for s in shares)} |", flush=True)


if __name__ == "__main__":
    main()
