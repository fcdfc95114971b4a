"""Imputers by scikit-learn as baselines, their numbers turned back into nominal states.

- ``knn``: the nearest neighbours vote (Troyanskaya et al. 2001, "Missing value estimation methods
  for DNA microarrays"); on indicators the mean of the neighbours is the share of their votes.
- ``iterative``: every variable is regressed on all others in turn (van Buuren and
  Groothuis-Oudshoorn 2011, "mice"), with the library's Bayesian ridge regression.
- ``forest``: the same with random forests that classify (Stekhoven and Buehlmann 2012,
  "MissForest"), until a round changes no less than the one before.

A time limit is looked at before each block of rows, or column of a round. What the iterative ones
have by then is their answer; cells that no neighbour voted on leave ``knn`` without any.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset
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

BLOCK = 256
"""Rows whose neighbours are looked for between two looks at the clock."""

Predict = Callable[
    [NDArray[np.float64], NDArray[np.int64], NDArray[np.float64], int], NDArray[np.float64]
]
"""Learns from indicators of all other variables and the states of one with so many states; returns
the shares of its states for other indicators."""


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


def _end(time_limit: float | None) -> float:
    return inf if time_limit is None else monotonic() + time_limit


def impute_knn(dataset: Dataset, time_limit: float | None = None) -> Imputed:
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

    end = _end(time_limit)
    indicators = one_hot(dataset)
    imputer = KNNImputer(n_neighbors=NEIGHBOURS, keep_empty_features=True).fit(indicators)
    shares = np.empty_like(indicators)
    for begin in range(0, dataset.n_rows, BLOCK):
        if monotonic() >= end:
            return Imputed(values=None, status="feasible")
        block = slice(begin, begin + BLOCK)
        shares[block] = imputer.transform(indicators[block])
    return Imputed.of(cell_probabilities(shares, dataset))


def impute_iterative(dataset: Dataset, time_limit: float | None = None) -> Imputed:
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
    return _in_turns(dataset, _regressed, time_limit)


def impute_forest(dataset: Dataset, seed: int = 0, time_limit: float | None = None) -> Imputed:
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
    return _in_turns(dataset, partial(_voted, seed), time_limit, until_rising=True)


def _in_turns(
    dataset: Dataset, predict: Predict, time_limit: float | None, *, until_rising: bool = False
) -> Imputed:
    """Predict the shares of each variable's missing cells from all others until they settle."""
    from threadpoolctl import threadpool_limits

    end = _end(time_limit)
    indicators = one_hot(dataset)
    holes = dataset.codes == MISSING
    seen = np.maximum((~holes).sum(axis=0), 1).repeat(dataset.cardinalities)
    shares = np.where(np.isnan(indicators), np.nansum(indicators, axis=0) / seen, indicators)
    incomplete = holes.any(axis=0) & ~holes.all(axis=0)
    fewest_first = np.argsort(holes.sum(axis=0), kind="stable")

    def answer(status: str) -> Imputed:
        return replace(Imputed.of(cell_probabilities(shares, dataset)), status=status)

    # The matrices are small: on two threads the decompositions took fifty times the time.
    with threadpool_limits(1):
        least = inf
        for _ in range(ROUNDS):
            before = shares.copy()
            for variable in fewest_first[incomplete[fewest_first]]:
                if monotonic() >= end:
                    return answer("feasible")
                _turn(shares, dataset, int(variable), predict)
            change = abs(shares - before)
            if change.max(initial=0.0) < SETTLED or (until_rising and change.sum() >= least):
                break
            least = change.sum()
    return answer("heuristic")


def _turn(shares: NDArray[np.float64], dataset: Dataset, variable: int, predict: Predict) -> None:
    """Replace the shares of one variable's missing cells by what all other variables predict."""
    first = first_states(dataset.cardinalities)
    start, stop = int(first[variable]), int(first[variable + 1])
    others = np.delete(shares, np.s_[start:stop], axis=1)
    codes = dataset.codes[:, variable].astype(np.int64)
    seen = codes != MISSING
    shares[~seen, start:stop] = predict(others[seen], codes[seen], others[~seen], stop - start)


def _regressed(
    known: NDArray[np.float64], states: NDArray[np.int64], asked: NDArray[np.float64], n_states: int
) -> NDArray[np.float64]:
    """Predict each state's indicator by Bayesian ridge regression; of two states, the second's."""
    from sklearn.linear_model import BayesianRidge

    found = np.empty((len(asked), n_states))
    # Two shares add up to one: the second tells both.
    for state in range(1 if n_states == 2 else 0, n_states):
        ridge = BayesianRidge().fit(known, (states == state).astype(np.float64))
        found[:, state] = ridge.predict(asked)
    if n_states == 2:
        found[:, 0] = 1 - found[:, 1]
    return found


def _voted(
    seed: int,
    known: NDArray[np.float64],
    states: NDArray[np.int64],
    asked: NDArray[np.float64],
    n_states: int,
) -> NDArray[np.float64]:
    """Predict the shares of the states by the votes of a random forest's trees."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(n_estimators=TREES, random_state=seed).fit(known, states)
    found = np.zeros((len(asked), n_states))
    found[:, forest.classes_] = forest.predict_proba(asked)
    return found
