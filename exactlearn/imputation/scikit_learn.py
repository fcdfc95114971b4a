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
from exactlearn._runtime.offsets import offsets
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset
from exactlearn.data.indicators import (
    cell_probabilities,
    mean_proportions,
    one_hot,
    with_proportions,
)
from exactlearn.errors import DataError, MissingExtraError
from exactlearn.imputation.learning import Imputed, Learning
from exactlearn.imputation.logistic import chained

NEIGHBOURS = 5
"""How many nearest rows vote, the library's default."""

ROUNDS = 2
"""Most rounds over all columns."""

TREES = 100
"""Trees of each random forest, the library's default."""

TABLES = 5
"""Tables that ``mice`` draws, the default of the R package."""

MAX_STEPS = 1000
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
    training
        Indicators, or codes, of all other variables in the rows that observe it.
    states
        Its states in these rows.
    missing
        The same indicators, or codes, in the rows that do not.
    n_states
        How many states it has.
    seed
        Seed of what is random in the prediction.
    """

    training: Matrix
    states: NDArray[np.int64]
    missing: Matrix
    n_states: int
    seed: int


Predict = Callable[[Column], Matrix]
"""Returns the proportions of the states in the rows without the variable, shape (rows, states)."""


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


def impute_knn(dataset: Dataset, learning: Learning) -> Imputed:
    """Let the nearest rows vote for each missing cell."""
    _require(dataset)
    from sklearn.impute import KNNImputer

    control = SearchControl.within(learning.time_limit)
    indicators = one_hot(dataset)
    imputer = KNNImputer(n_neighbors=NEIGHBOURS, keep_empty_features=True)
    imputer.fit(indicators)
    proportions = np.empty_like(indicators)
    for begin in range(0, dataset.n_rows, BLOCK):
        if control.is_over:
            return Imputed(values=None, status=control.status)
        block = slice(begin, begin + BLOCK)
        proportions[block] = imputer.transform(indicators[block])
    return _voted_once_more(proportions, dataset, NEIGHBOURS)


def impute_forest(dataset: Dataset, learning: Learning) -> Imputed:
    """Classify each column by a random forest on the indicators of all others by turns."""
    return _chained(_by_forest, dataset, learning, votes=TREES)


def impute_mice(dataset: Dataset, learning: Learning) -> Imputed:
    """Draw several completions by chained logistic regressions; return the mean distributions."""
    control = SearchControl.within(learning.time_limit)
    rng = np.random.default_rng(learning.seed)
    # At least one table, however short the time.
    parts: list[Imputed] = []
    while len(parts) < TABLES and not (parts and control.is_over):
        in_time = replace(learning, time_limit=control.remaining)
        parts.append(_chained(_by_logits, dataset, in_time, rng=rng))
    mean: Matrix = np.mean([cast(Matrix, part.probabilities) for part in parts], axis=0)
    return replace(Imputed.of(mean), status=parts[-1].status)


def _chained(
    predict: Predict,
    dataset: Dataset,
    learning: Learning,
    *,
    rounds: int = ROUNDS,
    votes: int | None = None,
    rng: np.random.Generator | None = None,
    by_codes: bool = False,
) -> Imputed:
    """Predict the proportions of each variable's missing cells from all others until they converge.

    Parameters
    ----------
    predict
        Predicts one variable.
    dataset, learning
        The table, and the time limit and seed.
    rounds
        Most rounds over all variables.
    votes
        Votes that each share stands for; as many as there are rows when left out.
    rng
        With it the others are predicted from a drawn state in place of the proportions.
    by_codes
        Whether variables are predicted from the codes of the others, NaN where they are missing.
    """
    _require(dataset)
    missing = dataset.codes == MISSING
    incomplete = missing.any(axis=0) & ~missing.all(axis=0)
    if dataset.n_variables < 2:  # nothing predicts: the proportions of observed cells
        incomplete[:] = False
    proportions = with_proportions(dataset, mean_proportions(dataset))
    inputs = proportions.copy()
    codes = np.where(missing, np.nan, dataset.codes)
    first = offsets(dataset.cardinalities)

    def renew(_: Matrix, v: int, hidden: NDArray[np.bool_]) -> Matrix:
        of_variable = slice(first[v], first[v + 1])
        predictors = np.delete(inputs, of_variable, axis=1)
        if by_codes:
            predictors = np.delete(codes, v, axis=1)
        column = Column(
            training=predictors[~hidden],
            states=dataset.codes[~hidden, v].astype(np.int64),
            missing=predictors[hidden],
            n_states=int(dataset.cardinalities[v]),
            seed=learning.seed,
        )
        # The next variables see the prediction, or a state drawn from it.
        predicted = predict(column)
        inputs[hidden, of_variable] = (
            predicted if rng is None else _drawn(predicted, rng)
        )
        return predicted

    # The matrices are small: on two threads the decompositions took fifty times the time.
    with threadpool_limits(1):
        status = chained(
            dataset,
            proportions,
            renew,
            rounds=rounds,
            variables=np.flatnonzero(incomplete),
            control=SearchControl.within(learning.time_limit),
        )
    return replace(_voted_once_more(proportions, dataset, votes), status=status)


def _drawn(proportions: Matrix, rng: np.random.Generator) -> Matrix:
    """Draw one state of each row; return its indicators."""
    sums = proportions.cumsum(axis=1)
    drawn = (sums < rng.random((len(proportions), 1)) * sums[:, -1:]).sum(axis=1)
    indicators: Matrix = np.eye(proportions.shape[1])[drawn]
    return indicators


def _voted_once_more(
    proportions: Matrix,
    dataset: Dataset,
    votes: int | None,
) -> Imputed:
    """Return the answer of proportions of votes, as many as there are rows where not given."""
    voted = cell_probabilities(proportions, dataset)
    uniform = cell_probabilities(np.ones_like(proportions), dataset)
    votes = dataset.n_rows if votes is None else votes
    return Imputed.of((votes * voted + uniform) / (votes + 1))


def _regressed(column: Column) -> Matrix:
    """Predict each state's indicator by Bayesian ridge regression; of two states, the second's.

    For variables with two states this is the library's ``IterativeImputer`` on their codes. With
    more states that would regress a cell's indicators on each other, which are unknown together:
    they would hardly leave their starting values.
    """
    from sklearn.linear_model import BayesianRidge

    proportions = np.empty((len(column.missing), column.n_states))
    is_binary = column.n_states == 2
    for state in range(int(is_binary), column.n_states):
        indicator = (column.states == state).astype(np.float64)
        ridge = BayesianRidge().fit(column.training, indicator)
        proportions[:, state] = ridge.predict(column.missing)
    if is_binary:
        proportions[:, 0] = 1 - proportions[:, 1]
    return proportions


def _classified(classifier: Any, column: Column) -> Matrix:
    """Predict the proportions of the states by a classifier of the library.

    A single state is certain: some classifiers refuse it.
    """
    proportions = np.zeros((len(column.missing), column.n_states))
    states = np.unique(column.states)
    proportions[:, states] = 1.0
    if len(states) > 1:
        classifier.fit(column.training, column.states)
        proportions[:, states] = classifier.predict_proba(column.missing)
    return proportions


def _by_forest(column: Column) -> Matrix:
    """Predict the proportions of the states by the votes of a random forest."""
    from sklearn.ensemble import RandomForestClassifier

    return _classified(RandomForestClassifier(TREES, random_state=column.seed), column)


def _by_logits(column: Column) -> Matrix:
    """Predict the proportions of the states by multinomial logistic regression."""
    from sklearn.linear_model import LogisticRegression

    return _classified(LogisticRegression(max_iter=MAX_STEPS), column)


def _boosted(column: Column) -> Matrix:
    """Predict the proportions of the states by gradient-boosted trees on codes of nominal states.

    A state of a single row, which the library cannot divide into rows that learn and rows that
    end the learning, gets its share of the rows.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    counts = np.bincount(column.states, minlength=column.n_states)
    is_frequent = counts[column.states] > 1
    frequent_states = np.flatnonzero(counts > 1)
    # A state of one row keeps its proportion; the trees divide the rest.
    proportions = np.where(counts == 1, counts / len(column.states), 0.0)
    frequent = column._replace(
        training=column.training[is_frequent], states=column.states[is_frequent]
    )
    trees = HistGradientBoostingClassifier(
        categorical_features=np.arange(column.training.shape[1]),
        early_stopping=bool(HELD_OUT * is_frequent.sum() >= len(frequent_states)),
        validation_fraction=HELD_OUT,
        random_state=column.seed,
    )
    predicted: Matrix = proportions + is_frequent.mean() * _classified(trees, frequent)
    return predicted


METHODS: dict[str, Callable[[Dataset, Learning], Imputed]] = {
    "knn": impute_knn,
    "iterative": partial(_chained, _regressed),
    "logistic": partial(_chained, _by_logits, rounds=1),
    "mice": impute_mice,
    "forest": impute_forest,
    "boosted": partial(_chained, _boosted, rounds=1, by_codes=True),
}
"""The baselines by name."""
