"""Missing cells by conditional models in turns: each variable given the shares of all others.

Chained equations (van Buuren and Groothuis-Oudshoorn 2011, "mice") without draws: a missing cell
enters the models of the other variables as its current distribution.
"""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset
from exactlearn.imputation.imputed import first_states, one_hot

Renew = Callable[[NDArray[np.float64], int, NDArray[np.bool_]], NDArray[np.float64]]
"""Returns the distribution of a variable in some rows, shape (these rows, its states); called with
the shares of all states in all rows, the variable and the rows."""


def mean_shares(dataset: Dataset) -> NDArray[np.float64]:
    """Return the share of each state among the observed cells of its variable, shape (states,).

    A variable without observed cells has equal shares.

    Examples
    --------
    >>> table = Dataset(np.array([[0], [1], [1], [-1]]), ("a",), (("x", "y"),))
    >>> mean_shares(table).round(2).tolist()
    [0.33, 0.67]
    """
    sizes = dataset.cardinalities
    found = np.nansum(one_hot(dataset) * dataset.row_weights[:, None], axis=0)
    totals = np.add.reduceat(found, first_states(sizes)[:-1]).repeat(sizes)
    equal = 1 / sizes.repeat(sizes)
    means: NDArray[np.float64] = np.divide(found, totals, out=equal, where=totals > 0)
    return means


def with_shares(dataset: Dataset, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the indicators of all states, with shares where the cell is missing.

    Parameters
    ----------
    dataset
        The table.
    shares
        Shape (states,), as of :func:`mean_shares`.

    Returns
    -------
    shares
        Shape (rows, states), laid out as :func:`~exactlearn.imputation.imputed.one_hot`.
    """
    indicators = one_hot(dataset)
    return np.where(np.isnan(indicators), shares, indicators)


def in_turns(
    dataset: Dataset,
    shares: NDArray[np.float64],
    renew: Renew,
    *,
    rounds: int,
    tolerance: float,
    variables: Iterable[int] | None = None,
    control: SearchControl = UNLIMITED,
) -> str:
    """Renew the shares of each variable's missing cells in turns until they converge, in place.

    Variables with the fewest missing cells come first.

    Parameters
    ----------
    dataset
        The table.
    shares
        As of :func:`with_shares`.
    renew
        Predicts the missing cells of one variable.
    rounds
        Most rounds over all variables.
    tolerance
        Largest change of a share in a round that ends the rounds.
    variables
        Those to renew, all with missing cells when left out.
    control
        Looked at before each variable.

    Returns
    -------
    status
        ``heuristic``, or that of the control if it ended the rounds.
    """
    missing = dataset.codes == MISSING
    number = missing.sum(axis=0)
    chosen = np.flatnonzero(number) if variables is None else np.array([*variables], np.int64)
    first = first_states(dataset.cardinalities)
    for _ in range(rounds):
        before = shares.copy()
        for v in chosen[np.argsort(number[chosen], kind="stable")].tolist():
            if control.is_over:
                return control.status
            shares[missing[:, v], first[v] : first[v + 1]] = renew(shares, v, missing[:, v])
        change = abs(shares - before)
        if change.max(initial=0.0) < tolerance:
            break
    return "heuristic"
