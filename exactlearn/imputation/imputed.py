"""The answer of an imputation method, and nominal states as indicators and back.

Methods that know only numbers get one indicator column for each state (one-hot coding).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite, nan
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.display import ByValue
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset

if TYPE_CHECKING:
    import pandas as pd


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
    weights
        Of a pool, the weight of each component by variable and name.
    status
        How the search ended, as for :class:`~exactlearn.augmentation.Augmentation`.
    """

    values: NDArray[np.int64] | None
    probabilities: NDArray[np.float64] | None = None
    parents: tuple[tuple[int, ...], ...] | None = None
    network: BayesianNetwork | None = None
    score: float = nan
    bound: float = inf
    weights: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
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


def one_hot(dataset: Dataset, variables: Sequence[int] | None = None) -> NDArray[np.float64]:
    """Return one column for each state: 1 in rows that have it, else 0, NaN where it is missing.

    Parameters
    ----------
    dataset
        The table.
    variables
        Columns to code, all when left out.

    Returns
    -------
    indicators
        Shape (rows, states of all these variables), variable after variable.

    Examples
    --------
    >>> table = Dataset(np.array([[1], [-1]]), ("a",), (("x", "y", "z"),))
    >>> one_hot(table)
    array([[ 0.,  1.,  0.],
           [nan, nan, nan]])
    """
    blocks = [np.empty((dataset.n_rows, 0))]
    for variable in range(dataset.n_variables) if variables is None else variables:
        codes = dataset.codes[:, variable]
        block = (codes[:, None] == np.arange(dataset.cardinalities[variable])).astype(np.float64)
        block[codes == MISSING] = np.nan
        blocks.append(block)
    return np.concatenate(blocks, axis=1)


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
