"""Imputers of scikit-learn as baselines, on indicators of nominal states.

- ``knn``: the nearest neighbours vote (Troyanskaya et al. 2001, "Missing value estimation methods
  for DNA microarrays"); on indicators the mean of the neighbours is the share of their votes.
- ``iterative``: every variable is regressed on all others in turn (van Buuren and
  Groothuis-Oudshoorn 2011, "mice"), with the library's Bayesian ridge regression.
- ``forest``: the same with random forests that classify (Stekhoven and Buehlmann 2012,
  "MissForest").
- ``logistic``: multinomial logistic regressions in turn, one round.
- ``mice``: several tables, in each of which the cells are drawn from the distributions that
  logistic regressions predict in turn; the answer is the mean of the last distributions, which is
  the share of the states in infinitely many draws from these.
- ``boosted``: gradient-boosted trees predict each variable from the observed cells of the others;
  they take missing cells as they are. They end early by a tenth of the rows: with the library's
  hundred trees the loss was half as high again on tables of few hundred rows, and rounds made it
  worse.

Rounds were chosen for the baselines' good on the development half of
``experiments/sources.py``: more make probabilities worse and take longer. Mean loss with
1, 2, 3 and 5 rounds of ``logistic`` .734, .751, .759, .762, with 1, 2, 3 and 10 of ``iterative``
.848, .863, .910, 1.077, with 1, 2 and 10 of ``forest`` .872, .868, .891, with 1, 2, 3 and 5 of
``mice`` .846, .848, .851, .857; accuracies differ by chance.

No distribution has a probability of zero: each gets one more vote, neighbour or row, which is
divided evenly among the states.

Limit and Ctrl-C are looked at before each block of rows, or column of a round. The iterative
imputers then answer with their current values; ``knn`` has none for the cells not yet voted on.

Each raises `MissingExtraError` without scikit-learn, and `DataError` when the rows have weights.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from exactlearn._runtime.control import SearchControl
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, MissingExtraError
from exactlearn.imputation.learning import Imputed, Learning
from exactlearn.imputation.logistic import (
    cell_probabilities,
    chained,
    first_states,
    mean_shares,
    one_hot,
    with_shares,
)

NEIGHBOURS = 5
"""How many nearest rows vote, the library's default."""

ROUNDS = 2
"""Most rounds over all columns."""

TOLERANCE = 1e-3
"""Largest change of a share in a round that ends the iteration, the library's default."""

TREES = 100
"""Trees of each random forest, the library's default."""

TABLES = 5
"""Tables that ``mice`` draws, the default of the R package."""

MOST_STEPS = 1000
"""Most steps of a logistic regression: the library's 100 are not enough for some."""

HELD_OUT = 0.1
"""Share of the rows that end the boosting, the library's default."""

BLOCK = 256
"""Rows whose neighbours are found between two checks of the time limit."""

Matrix = NDArray[np.float64]


class Column(NamedTuple):
    """A variable that is predicted from the others.

    Attributes
    ----------
    known
        Indicators, or codes, of all other variables in the rows that observe it.
    states
        Its states in these rows.
    wanted
        The same indicators, or codes, in the rows that do not.
    n_states
        How many states it has.
    """

    known: Matrix
    states: NDArray[np.int64]
    wanted: Matrix
    n_states: int


Predict = Callable[[Column], Matrix]
"""Returns the shares of the states in the wanted rows."""


def require_library() -> None:
    """Require scikit-learn.

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


def _require(dataset: Dataset) -> None:
    """Refuse a missing library, and row weights, which these methods ignore."""
    require_library()
    if dataset.weights is not None:
        raise DataError(
            "the rows have weights, but this method counts every row once; leave the weights out, "
            "or choose one of exactlearn's own methods, such as 'posterior'"
        )


def impute_knn(dataset: Dataset, how: Learning) -> Imputed:
    """Let the nearest rows vote for each missing cell."""
    _require(dataset)
    from sklearn.impute import KNNImputer

    control = SearchControl.within(how.time_limit)
    indicators = one_hot(dataset)
    imputer = KNNImputer(n_neighbors=NEIGHBOURS, keep_empty_features=True).fit(
        indicators
    )
    shares = np.empty_like(indicators)
    for begin in range(0, dataset.n_rows, BLOCK):
        if control.is_over:
            return Imputed(values=None, status=control.status)
        block = slice(begin, begin + BLOCK)
        shares[block] = imputer.transform(indicators[block])
    return _voted_once_more(shares, dataset, NEIGHBOURS)


def impute_iterative(dataset: Dataset, how: Learning) -> Imputed:
    """Regress the indicators of each variable on those of all others by turns; the largest wins.

    For variables with two states this is the library's ``IterativeImputer`` on their codes. With
    more states that would regress a cell's indicators on each other, which are unknown together:
    they would hardly leave their starting values.
    """
    return _chained(dataset, _regressed, how.time_limit)


def impute_forest(dataset: Dataset, how: Learning) -> Imputed:
    """Classify each column by a random forest on the indicators of all others by turns."""

    def predict(column: Column) -> Matrix:
        from sklearn.ensemble import RandomForestClassifier

        return _classified(RandomForestClassifier(TREES, random_state=how.seed), column)

    return _chained(dataset, predict, how.time_limit, votes=TREES)


def impute_logistic(dataset: Dataset, how: Learning) -> Imputed:
    """Predict each column by multinomial logistic regression on all others, in one round."""
    return _chained(dataset, _by_logits, how.time_limit, rounds=1)


def impute_mice(dataset: Dataset, how: Learning) -> Imputed:
    """Draw several completions by chained logistic regressions; return the mean distributions."""
    control, rng = SearchControl.within(how.time_limit), np.random.default_rng(how.seed)
    parts: list[Imputed] = []
    while len(parts) < TABLES and not (parts and control.is_over):
        left = None if how.time_limit is None else control.left
        parts.append(_chained(dataset, _by_logits, left, rng=rng))
    mean: Matrix = np.mean([cast(Matrix, part.probabilities) for part in parts], axis=0)
    return replace(Imputed.of(mean), status=parts[-1].status)


def impute_boosted(dataset: Dataset, how: Learning) -> Imputed:
    """Predict each column by gradient-boosted trees on the others as they are observed."""
    codes = np.where(dataset.codes == MISSING, np.nan, dataset.codes)
    return _chained(
        dataset, partial(_boosted, how.seed), how.time_limit, rounds=1, features=codes
    )


def _chained(
    dataset: Dataset,
    predict: Predict,
    time_limit: float | None,
    *,
    rounds: int = ROUNDS,
    votes: int | None = None,
    rng: np.random.Generator | None = None,
    features: Matrix | None = None,
) -> Imputed:
    """Predict the shares of each variable's missing cells from all others until they converge.

    With ``rng`` the others are predicted from a drawn state in place of the shares; with
    ``features``, shape (rows, variables), from these.
    """
    _require(dataset)
    missing = dataset.codes == MISSING
    incomplete = missing.any(axis=0) & ~missing.all(axis=0)
    incomplete &= (
        dataset.n_variables > 1
    )  # else nothing predicts: the shares of observed cells
    shares = with_shares(dataset, mean_shares(dataset))
    inputs, first = shares.copy(), first_states(dataset.cardinalities)

    def renew(_: Matrix, v: int, hidden: NDArray[np.bool_]) -> Matrix:
        own = slice(first[v], first[v + 1])
        others = (
            np.delete(inputs, own, axis=1)
            if features is None
            else np.delete(features, v, axis=1)
        )
        states = dataset.codes[~hidden, v].astype(np.int64)
        size = int(dataset.cardinalities[v])
        found = predict(Column(others[~hidden], states, others[hidden], size))
        inputs[hidden, own] = found if rng is None else _drawn(found, rng)
        return found

    # The matrices are small: on two threads the decompositions took fifty times the time.
    with threadpool_limits(1):
        status = chained(
            dataset,
            shares,
            renew,
            rounds=rounds,
            tolerance=TOLERANCE,
            variables=np.flatnonzero(incomplete),
            control=SearchControl.within(time_limit),
        )
    return replace(_voted_once_more(shares, dataset, votes), status=status)


def _drawn(shares: Matrix, rng: np.random.Generator) -> Matrix:
    """Draw one state of each row; return its indicators."""
    sums = shares.cumsum(axis=1)
    drawn = (sums < rng.random((len(shares), 1)) * sums[:, -1:]).sum(axis=1)
    indicators: Matrix = np.eye(shares.shape[1])[drawn]
    return indicators


def _voted_once_more(shares: Matrix, dataset: Dataset, votes: int | None) -> Imputed:
    """Return the answer of shares of votes, of as many as there are rows where none are given."""
    own = cell_probabilities(shares, dataset)
    even = cell_probabilities(np.ones_like(shares), dataset)
    votes = dataset.n_rows if votes is None else votes
    return Imputed.of((votes * own + even) / (votes + 1))


def _regressed(column: Column) -> Matrix:
    """Predict each state's indicator by Bayesian ridge regression; of two states, the second's."""
    from sklearn.linear_model import BayesianRidge

    found = np.empty((len(column.wanted), column.n_states))
    # Two shares add up to one: the second gives both.
    for state in range(1 if column.n_states == 2 else 0, column.n_states):
        ridge = BayesianRidge().fit(
            column.known, (column.states == state).astype(np.float64)
        )
        found[:, state] = ridge.predict(column.wanted)
    if column.n_states == 2:
        found[:, 0] = 1 - found[:, 1]
    return found


def _classified(classifier: Any, column: Column) -> Matrix:
    """Predict the shares of the states by a classifier of the library."""
    found = np.zeros((len(column.wanted), column.n_states))
    classifier.fit(column.known, column.states)
    found[:, classifier.classes_] = classifier.predict_proba(column.wanted)
    return found


def _by_logits(column: Column) -> Matrix:
    """Predict the shares of the states by multinomial logistic regression."""
    from sklearn.linear_model import LogisticRegression

    if (column.states == column.states[0]).all():  # which the library refuses
        one: Matrix = np.eye(column.n_states)[
            np.full(len(column.wanted), column.states[0])
        ]
        return one
    return _classified(LogisticRegression(max_iter=MOST_STEPS), column)


def _boosted(seed: int, column: Column) -> Matrix:
    """Predict the shares of the states by gradient-boosted trees on codes of nominal states.

    A state of a single row, which the library cannot divide into rows that learn and rows that
    end the learning, gets its share of the rows.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    states = column.states
    counts = np.bincount(states, minlength=column.n_states)
    often, several = counts[states] > 1, np.flatnonzero(counts > 1)
    rare = np.where(counts == 1, counts / len(states), 0.0)
    if len(several) < 2:
        rare[several] = often.mean()
        return np.tile(rare, (len(column.wanted), 1))
    trees = HistGradientBoostingClassifier(
        categorical_features=np.arange(column.known.shape[1]),
        early_stopping=bool(HELD_OUT * often.sum() >= len(several)),
        validation_fraction=HELD_OUT,
        random_state=seed,
    )
    frequent = column._replace(known=column.known[often], states=states[often])
    found: Matrix = rare + often.mean() * _classified(trees, frequent)
    return found
