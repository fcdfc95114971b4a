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
from typing import cast

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from exactlearn._runtime.control import SearchControl
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, MissingExtraError
from exactlearn.imputation.imputed import Imputed, cell_probabilities, first_states, one_hot
from exactlearn.imputation.learning import Learning
from exactlearn.imputation.turns import in_turns, mean_shares, with_shares

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

Predict = Callable[
    [NDArray[np.float64], NDArray[np.int64], NDArray[np.float64], int], NDArray[np.float64]
]
"""Learns from the indicators of all other variables and the states of one variable, which has so
many states; returns the shares of its states for other indicators."""


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
    imputer = KNNImputer(n_neighbors=NEIGHBOURS, keep_empty_features=True).fit(indicators)
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
    _require(dataset)
    return _in_turns(dataset, _regressed, how.time_limit)


def impute_forest(dataset: Dataset, how: Learning) -> Imputed:
    """Classify each column by a random forest on the indicators of all others by turns."""
    _require(dataset)
    predict = partial(_voted, how.seed)
    return _in_turns(dataset, predict, how.time_limit, votes=TREES)


def impute_logistic(dataset: Dataset, how: Learning) -> Imputed:
    """Predict each column by multinomial logistic regression on all others, in one round."""
    _require(dataset)
    return _in_turns(dataset, _by_logits, how.time_limit, rounds=1)


def impute_mice(dataset: Dataset, how: Learning) -> Imputed:
    """Draw several completions by chained logistic regressions; return the mean distributions."""
    _require(dataset)
    control, rng = SearchControl.within(how.time_limit), np.random.default_rng(how.seed)
    parts, status = [], "heuristic"
    for _ in range(TABLES):
        left = None if how.time_limit is None else control.left
        found = _in_turns(dataset, _by_logits, left, rng=rng)
        parts.append(cast(NDArray[np.float64], found.probabilities))
        status = found.status
        if control.is_over:
            break
    return replace(Imputed.of(np.mean(parts, axis=0)), status=status)


def impute_boosted(dataset: Dataset, how: Learning) -> Imputed:
    """Predict each column by gradient-boosted trees on the others as they are observed."""
    _require(dataset)
    codes = np.where(dataset.codes == MISSING, np.nan, dataset.codes)
    return _in_turns(dataset, partial(_boosted, how.seed), how.time_limit, rounds=1, features=codes)


def _in_turns(
    dataset: Dataset,
    predict: Predict,
    time_limit: float | None,
    *,
    rounds: int = ROUNDS,
    votes: int | None = None,
    rng: np.random.Generator | None = None,
    features: NDArray[np.float64] | None = None,
) -> Imputed:
    """Predict the shares of each variable's missing cells from all others until they converge.

    With ``rng`` the others are predicted from a drawn state in place of the shares; with
    ``features``, shape (rows, variables), from these.
    """
    missing = dataset.codes == MISSING
    incomplete = missing.any(axis=0) & ~missing.all(axis=0)
    if dataset.n_variables == 1:  # nothing to predict from: the shares of the observed cells
        incomplete[:] = False
    shares = with_shares(dataset, mean_shares(dataset))
    inputs = shares.copy()
    first = first_states(dataset.cardinalities)

    def renew(_: NDArray[np.float64], v: int, hidden: NDArray[np.bool_]) -> NDArray[np.float64]:
        own = slice(first[v], first[v + 1])
        others = (
            np.delete(inputs, own, axis=1) if features is None else np.delete(features, v, axis=1)
        )
        states = dataset.codes[~hidden, v].astype(np.int64)
        found = predict(others[~hidden], states, others[hidden], int(dataset.cardinalities[v]))
        inputs[hidden, own] = found if rng is None else _drawn(found, rng)
        return found

    # The matrices are small: on two threads the decompositions took fifty times the time.
    with threadpool_limits(1):
        status = in_turns(
            dataset,
            shares,
            renew,
            rounds=rounds,
            tolerance=TOLERANCE,
            variables=np.flatnonzero(incomplete),
            control=SearchControl.within(time_limit),
        )
    return replace(_voted_once_more(shares, dataset, votes), status=status)


def _drawn(shares: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw one state of each row; return its indicators."""
    sums = shares.cumsum(axis=1)
    drawn = (sums < rng.random((len(shares), 1)) * sums[:, -1:]).sum(axis=1)
    indicators: NDArray[np.float64] = np.eye(shares.shape[1])[drawn]
    return indicators


def _voted_once_more(shares: NDArray[np.float64], dataset: Dataset, votes: int | None) -> Imputed:
    """Return the answer of shares of votes, of as many as there are rows where none are given."""
    own = cell_probabilities(shares, dataset)
    even = cell_probabilities(np.ones_like(shares), dataset)
    votes = dataset.n_rows if votes is None else votes
    return Imputed.of((votes * own + even) / (votes + 1))


def _regressed(
    known: NDArray[np.float64],
    states: NDArray[np.int64],
    wanted: NDArray[np.float64],
    n_states: int,
) -> NDArray[np.float64]:
    """Predict each state's indicator by Bayesian ridge regression; of two states, the second's."""
    from sklearn.linear_model import BayesianRidge

    found = np.empty((len(wanted), n_states))
    # Two shares add up to one: the second gives both.
    for state in range(1 if n_states == 2 else 0, n_states):
        ridge = BayesianRidge().fit(known, (states == state).astype(np.float64))
        found[:, state] = ridge.predict(wanted)
    if n_states == 2:
        found[:, 0] = 1 - found[:, 1]
    return found


def _voted(
    seed: int,
    known: NDArray[np.float64],
    states: NDArray[np.int64],
    wanted: NDArray[np.float64],
    n_states: int,
) -> NDArray[np.float64]:
    """Predict the shares of the states by the votes of a random forest's trees."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(n_estimators=TREES, random_state=seed).fit(known, states)
    found = np.zeros((len(wanted), n_states))
    found[:, forest.classes_] = forest.predict_proba(wanted)
    return found


def _by_logits(
    known: NDArray[np.float64],
    states: NDArray[np.int64],
    wanted: NDArray[np.float64],
    n_states: int,
) -> NDArray[np.float64]:
    """Predict the shares of the states by multinomial logistic regression."""
    from sklearn.linear_model import LogisticRegression

    found = np.zeros((len(wanted), n_states))
    if (states == states[0]).all():  # which the library refuses
        found[:, states[0]] = 1
        return found
    regression = LogisticRegression(max_iter=MOST_STEPS).fit(known, states)
    found[:, regression.classes_] = regression.predict_proba(wanted)
    return found


def _boosted(
    seed: int,
    known: NDArray[np.float64],
    states: NDArray[np.int64],
    wanted: NDArray[np.float64],
    n_states: int,
) -> NDArray[np.float64]:
    """Predict the shares of the states by gradient-boosted trees on codes of nominal states.

    A state of a single row, which the library cannot divide into rows that learn and rows that
    end the learning, gets its share of the rows.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    counts = np.bincount(states, minlength=n_states)
    often, single = counts[states] > 1, counts == 1
    found = np.tile(np.where(single, counts / len(states), 0.0), (len(wanted), 1))
    several = np.flatnonzero(counts > 1)
    if len(several) < 2:
        found[:, several] = often.mean()
        return found
    trees = HistGradientBoostingClassifier(
        categorical_features=np.arange(known.shape[1]),
        early_stopping=bool(HELD_OUT * often.sum() >= len(several)),
        validation_fraction=HELD_OUT,
        random_state=seed,
    ).fit(known[often], states[often])
    found[:, trees.classes_] = often.mean() * trees.predict_proba(wanted)
    return found
