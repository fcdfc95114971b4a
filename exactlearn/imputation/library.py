"""Imputers of scikit-learn as baselines, their numbers turned back into nominal states.

- ``knn``: the nearest neighbours vote (Troyanskaya et al. 2001, "Missing value estimation methods
  for DNA microarrays"); on indicators the mean of the neighbours is the share of their votes.
- ``iterative``: every column is regressed on all others in turn (van Buuren and
  Groothuis-Oudshoorn 2011, "mice"), here with the library's ridge regression.
- ``forest``: the same with random forests that classify (Stekhoven and Buehlmann 2012,
  "MissForest").
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn.codes import MISSING
from exactlearn.data import Dataset
from exactlearn.errors import DataError, MissingExtraError
from exactlearn.imputation.imputed import Imputed
from exactlearn.imputation.one_hot import cell_probabilities, first_states, one_hot

NEIGHBOURS = 5
"""How many nearest rows vote, the library's default."""

ROUNDS = 10
"""Most rounds over all columns of the iterative imputers, the library's default."""

TREES = 100
"""Trees of each random forest, the library's default."""


def require_library() -> None:
    """Refuse to go on where scikit-learn is not installed.

    Raises
    ------
    MissingExtraError
        When it is not.
    """
    try:
        from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "this method is scikit-learn's: pip install 'exactlearn[sklearn]', or choose one of "
            "exactlearn's own, such as 'posterior'"
        ) from None


def require_plain_rows(dataset: Dataset) -> None:
    """Refuse a table with row weights, which these methods know nothing of.

    Raises
    ------
    DataError
        When the rows have weights.
    """
    if dataset.weights is not None:
        raise DataError(
            "the rows have weights, but this method counts every row once; leave the weights out, "
            "or choose one of exactlearn's own methods, such as 'posterior'"
        )


def impute_knn(dataset: Dataset) -> Imputed:
    """Let the nearest rows vote for each missing cell.

    Raises
    ------
    MissingExtraError
        When scikit-learn is not installed.
    DataError
        When the rows have weights.
    """
    require_library()
    require_plain_rows(dataset)
    from sklearn.impute import KNNImputer

    imputer = KNNImputer(n_neighbors=NEIGHBOURS, keep_empty_features=True)
    return Imputed.of(cell_probabilities(imputer.fit_transform(one_hot(dataset)), dataset))


def impute_iterative(dataset: Dataset) -> Imputed:
    """Regress the indicators on each other by turns; the largest share wins.

    The first state of a variable has no indicator of its own: with one for every state, those of
    a cell would predict each other perfectly and never leave their starting values.

    Raises
    ------
    MissingExtraError
        When scikit-learn is not installed.
    DataError
        When the rows have weights.
    """
    require_plain_rows(dataset)
    first = first_states(dataset.cardinalities)[:-1]
    indicators = one_hot(dataset)
    kept = np.setdiff1d(np.arange(indicators.shape[1]), first)
    indicators[:, kept] = _iterate(indicators[:, kept])
    for start, r in zip(first.tolist(), dataset.cardinalities.tolist(), strict=True):
        indicators[:, start] = 1 - indicators[:, start + 1 : start + r].sum(axis=1)
    return Imputed.of(cell_probabilities(indicators, dataset))


def impute_forest(dataset: Dataset, seed: int = 0) -> Imputed:
    """Classify each column by a random forest on the indicators of all others by turns.

    Raises
    ------
    MissingExtraError
        When scikit-learn is not installed.
    DataError
        When the rows have weights.
    """
    require_library()
    require_plain_rows(dataset)
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    classifier = make_pipeline(
        OneHotEncoder(handle_unknown="ignore"),
        RandomForestClassifier(n_estimators=TREES, random_state=seed),
    )
    codes = np.where(dataset.codes == MISSING, np.nan, dataset.codes.astype(np.float64))
    filled = _iterate(
        codes, estimator=classifier, initial_strategy="most_frequent", random_state=seed
    )
    rows, variables = dataset.missing_cells.T
    return Imputed(values=filled[rows, variables].astype(np.int64))


def _iterate(table: NDArray[np.float64], **options: Any) -> NDArray[np.float64]:
    """Run the library's imputer; ending after the last round is no fault."""
    require_library()
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.impute import IterativeImputer

    imputer = IterativeImputer(max_iter=ROUNDS, keep_empty_features=True, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        filled: NDArray[np.float64] = imputer.fit_transform(table)
    return filled
