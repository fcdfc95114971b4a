"""Imputers by scikit-learn as baselines, their numbers turned back into nominal states.

- ``knn``: the nearest neighbours vote (Troyanskaya et al. 2001, "Missing value estimation methods
  for DNA microarrays"); on indicators the mean of the neighbours is the share of their votes.
- ``iterative``: every variable is regressed on all others in turn (van Buuren and
  Groothuis-Oudshoorn 2011, "mice"), with the library's Bayesian ridge regression.
- ``forest``: the same with random forests that classify (Stekhoven and Buehlmann 2012,
  "MissForest").
"""

import warnings

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

SETTLED = 1e-3
"""Largest change of a share in a round that ends the iteration, the library's default."""

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
    """Regress the indicators of each variable on those of all others by turns; the largest wins.

    For variables with two states this is the library's ``IterativeImputer`` on their codes. With
    more states that would regress a cell's indicators on each other, which are unknown together:
    they would hardly leave their starting values.

    Raises
    ------
    MissingExtraError
        When scikit-learn is not installed.
    DataError
        When the rows have weights.
    """
    require_library()
    require_plain_rows(dataset)
    from threadpoolctl import threadpool_limits

    indicators = one_hot(dataset)
    holes = dataset.codes == MISSING
    seen = np.maximum((~holes).sum(axis=0), 1).repeat(dataset.cardinalities)
    shares = np.where(np.isnan(indicators), np.nansum(indicators, axis=0) / seen, indicators)
    incomplete = holes.any(axis=0) & ~holes.all(axis=0)
    fewest_first = np.argsort(holes.sum(axis=0), kind="stable")
    # The matrices are small: on two threads the decompositions took fifty times the time.
    with threadpool_limits(1):
        for _ in range(ROUNDS):
            before = shares.copy()
            for variable in fewest_first[incomplete[fewest_first]]:
                _regress(shares, dataset, int(variable))
            if abs(shares - before).max(initial=0.0) < SETTLED:
                break
    return Imputed.of(cell_probabilities(shares, dataset))


def _regress(shares: NDArray[np.float64], dataset: Dataset, variable: int) -> None:
    """Replace the shares of one variable's missing cells by what all other variables predict."""
    from sklearn.linear_model import BayesianRidge

    first = first_states(dataset.cardinalities)
    start, stop = int(first[variable]), int(first[variable + 1])
    others = np.delete(shares, np.s_[start:stop], axis=1)
    hidden = dataset.codes[:, variable] == MISSING
    # Two shares add up to one: the second tells both.
    states = range(start + 1 if stop - start == 2 else start, stop)
    for state in states:
        ridge = BayesianRidge().fit(others[~hidden], shares[~hidden, state])
        shares[hidden, state] = ridge.predict(others[hidden])
    if stop - start == 2:
        shares[hidden, start] = 1 - shares[hidden, start + 1]


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
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.impute import IterativeImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    classifier = make_pipeline(
        OneHotEncoder(handle_unknown="ignore"),
        RandomForestClassifier(n_estimators=TREES, random_state=seed),
    )
    codes = np.where(dataset.codes == MISSING, np.nan, dataset.codes.astype(np.float64))
    imputer = IterativeImputer(
        classifier,
        initial_strategy="most_frequent",
        max_iter=ROUNDS,
        keep_empty_features=True,
        random_state=seed,
    )
    with warnings.catch_warnings():
        # Ending after the last round is no fault.
        warnings.simplefilter("ignore", ConvergenceWarning)
        filled = imputer.fit_transform(codes)
    rows, variables = dataset.missing_cells.T
    return Imputed(values=filled[rows, variables].astype(np.int64))
