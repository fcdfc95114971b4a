"""The answer of an imputation method; nominal states as indicators and back; chained equations.

Methods that know only numbers get one indicator column for each state (one-hot coding). Conditional
models predict each variable from the shares of all others: chained equations (van Buuren and
Groothuis-Oudshoorn 2011, "mice") without draws, in which a missing cell enters the models of the
other variables as its current distribution.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf, isfinite, nan
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.display import ByValue
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset

if TYPE_CHECKING:
    import pandas as pd


Renew = Callable[[NDArray[np.float64], int, NDArray[np.bool_]], NDArray[np.float64]]
"""Returns the distribution of a variable in some rows, shape (these rows, its states); called with
the shares of all states in all rows, the variable and the rows."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Imputed(ByValue, shown="status values score bound network"):
    """The values of a table's missing cells, with what the method knows about them.

    Parameters
    ----------
    values
        State of each missing cell, in the order of ``Dataset.missing_cells``; ``None`` when a limit
        came before there were any.
    probabilities
        Distribution of each missing cell, shape (cells, most states of a variable), where the
        method has one.
    parents
        Parents of each variable in the network that was learned, where one was.
    network
        That network with its parameters, where they were estimated.
    score, bound
        Score of the completed table with the learned network, and its proven bound; NaN and ``inf``
        for methods without.
    status
        How the search ended, as for :class:`~exactlearn.augmentation.Augmentation`.
    """

    values: NDArray[np.int64] | None
    probabilities: NDArray[np.float64] | None = None
    parents: tuple[tuple[int, ...], ...] | None = None
    network: BayesianNetwork | None = None
    score: float = nan
    bound: float = inf
    status: str = "heuristic"

    @classmethod
    def of(cls, probabilities: NDArray[np.float64]) -> "Imputed":
        """Give each cell its most probable state, the first of several."""
        return cls(values=likeliest(probabilities), probabilities=probabilities)

    def to_frame(self, dataset: Dataset) -> "pd.DataFrame":
        """Return the values of a table's missing cells as a pandas frame.

        Parameters
        ----------
        dataset
            The table that was imputed.

        Returns
        -------
        frame
            Columns row, variable, value; where the method has probabilities, also that of the
            value, the next best value and its loss, see :attr:`losses`; no rows without values.
        """
        if self.values is None:
            return dataset.part(slice(0)).completion_frame([])
        return dataset.completion_frame(self.values, self.probabilities, self.losses)

    @property
    def losses(self) -> NDArray[np.float64] | None:
        """By how much each state's logarithm of the probability is below the value's, in nats.

        Shape (cells, most states); infinite for states of probability zero, negative where a method
        did not take the most probable one; ``None`` without probabilities.
        """
        if self.probabilities is None or self.values is None:
            return None
        with np.errstate(divide="ignore"):
            logs = np.log(self.probabilities)
        own = logs[np.arange(len(logs)), self.values][:, None]
        return np.where(np.isneginf(logs), np.inf, own - logs)

    @property
    def ended(self) -> str:
        """The status of what is made of this by a network: no longer one that is proven."""
        return self.status if self.status in ("feasible", "interrupted") else "heuristic"

    @property
    def gap(self) -> float:
        """Relative gap ``(bound - score) / |score|``; infinite without score or bound."""
        if not isfinite(self.score):
            return inf
        return max(0.0, self.bound - self.score) / max(abs(self.score), 1e-9)


class CellModel(Protocol):
    """A fitted model that gives the distribution of each missing cell of a table."""

    def posterior(self, table: Dataset) -> NDArray[np.float64]:
        """Return the distribution of each missing cell given the observed cells of its row.

        Parameters
        ----------
        table
            A table with the variables and states of the one the model was fitted on, in their
            order; that one or another.

        Returns
        -------
        probabilities
            Shape (cells, most states of a variable), in the order of ``table.missing_cells``, zero
            beyond a variable's states; each row sums to one.
        """
        ...


def first_states(cardinalities: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each variable's columns begin, and the end, shape (variables + 1,)."""
    return np.concatenate(([0], np.cumsum(cardinalities))).astype(np.int64)


def one_hot(dataset: Dataset) -> NDArray[np.float64]:
    """Return one column for each state: 1 in rows that have it, else 0, NaN where it is missing.

    Parameters
    ----------
    dataset
        The table.

    Returns
    -------
    indicators
        Shape (rows, states of all variables), variable after variable.

    Examples
    --------
    >>> table = Dataset(np.array([[1], [-1]]), ("a",), (("x", "y", "z"),))
    >>> one_hot(table)
    array([[ 0.,  1.,  0.],
           [nan, nan, nan]])
    """
    sizes = dataset.cardinalities
    states = np.arange(sizes.sum()) - first_states(sizes)[:-1].repeat(sizes)
    codes = dataset.codes.repeat(sizes, axis=1)
    return np.where(codes == MISSING, np.nan, codes == states)


def cell_probabilities(shares: NDArray[np.float64], dataset: Dataset) -> NDArray[np.float64]:
    """Return the distribution of each missing cell from one share per row and state.

    Parameters
    ----------
    shares
        Shape (rows, states of all variables), laid out as :func:`one_hot`; negative shares count
        as zero, and a cell without any share gets the uniform distribution.
    dataset
        The table with the missing cells.

    Returns
    -------
    probabilities
        Shape (cells, most states of a variable), zero beyond a variable's states; each row sums to
        one.
    """
    rows, variables = dataset.missing_cells.T
    states = np.arange(int(dataset.cardinalities.max(initial=1)))
    real = states < dataset.cardinalities[variables][:, None]
    columns = first_states(dataset.cardinalities)[variables][:, None] + states
    found = np.where(real, shares[rows[:, None], np.where(real, columns, 0)], 0.0).clip(min=0.0)
    totals = found.sum(axis=1, keepdims=True)
    uniform = real / real.sum(axis=1, keepdims=True)
    probabilities: NDArray[np.float64] = np.divide(found, totals, out=uniform, where=totals > 0)
    return probabilities


def likeliest(probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return each cell's most probable state, shape (cells,); ties go to the first."""
    states: NDArray[np.int64] = probabilities.argmax(axis=1).astype(np.int64)
    return states


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
        Shape (rows, states), laid out as :func:`one_hot`.
    """
    indicators = one_hot(dataset)
    return np.where(np.isnan(indicators), shares, indicators)


def chained(
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
