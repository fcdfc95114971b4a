"""Missing cells, and the Lagrange multipliers that make families agree on their states.

A set of variables, of which one or two besides the column of a missing cell, has at most one member
in a DAG that has all others as parents: its *sink*. So the state of a missing cell has a multiplier
for each child whose family has the cell, and one for the sink of each such set.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn.data.dataset import Dataset


class Prices(NamedTuple):
    """What families pay for reading holes, never less than 0.

    Attributes
    ----------
    read
        What a family of each variable pays for reading a hole as a state, shape (variables, holes,
        most states).
    sink
        What the family of the sink of a set pays besides, the set being the hole's column and
        :func:`others_number` ``s``; shape (sets, holes, most states).
    """

    read: NDArray[np.float64]
    sink: NDArray[np.float64]

    @classmethod
    def none(cls, n: int, holes: int, states: int) -> "Prices":
        """Let families of ``n`` variables read for nothing."""
        sets = n + n * (n - 1) // 2
        return cls(np.zeros((n, holes, states)), np.zeros((sets, holes, states)))

    def blend(self, other: "Prices", weight: float) -> "Prices":
        """Return prices between two, ``weight`` of the way from the other ones to these."""
        rest = 1.0 - weight
        return Prices(
            weight * self.read + rest * other.read, weight * self.sink + rest * other.sink
        )

    @property
    def total(self) -> NDArray[np.float64]:
        """What all prices of each state of each hole add up to, shape (holes, states)."""
        added: NDArray[np.float64] = self.read.sum(axis=0) + self.sink.sum(axis=0)
        return added


@kernel
def others_number(n: int, a: int, b: int) -> int:
    """Return the number of a set besides the hole's column: of one variable twice, or of two."""
    if a == b:
        return a
    low, high = min(a, b), max(a, b)
    return n + high * (high - 1) // 2 + low


def others_numbers(n: int) -> NDArray[np.int64]:
    """Return the number of the set of each two variables, shape (n, n)."""
    a, b = np.indices((n, n))
    low, high = np.minimum(a, b), np.maximum(a, b)
    return np.where(a == b, a, n + high * (high - 1) // 2 + low)


def sets_of_sinks(charge: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return what a family pays for each two of its parents, or twice the same, shape (n, n, n).

    Parameters
    ----------
    charge
        What the sink of each set pays for a column's holes, shape (sets, variables).
    n
        Number of variables.

    Returns
    -------
    paid
        ``paid[i, a, b]`` is what a sink of {i, a, b} pays, whichever of their columns has the hole.
    """
    number = others_numbers(n)
    i, a, b = np.indices((n, n, n))
    alone = charge[i, a]
    both = charge[number[i, a], b] + charge[number[i, b], a]
    paid: NDArray[np.float64] = charge[number[a, b], i] + np.where(a == b, alone, both)
    return paid


def others_members(n: int) -> NDArray[np.bool_]:
    """Return the members of each set, shape (sets, n)."""
    number = others_numbers(n)
    members = np.zeros((n + n * (n - 1) // 2, n), np.bool_)
    a, b = np.indices((n, n))
    members[number, a] = members[number, b] = True
    return members


@kernel
def price_of(
    columns: NDArray[np.int64], prices: Prices, variable: int, hole: int, state: int
) -> float:
    """Return what a family pays for reading a hole as a state; nothing where no hole has a price.

    Parameters
    ----------
    columns
        The family, child first.
    prices
        The prices.
    variable, hole, state
        The hole's column, one of these; the hole, and the state.
    """
    child, n = columns[0], len(prices.read)
    if not prices.read.shape[1]:
        return 0.0
    price: float = prices.read[child, hole, state]
    for p in range(1, len(columns)):
        a = columns[p]
        if child == variable:
            for q in range(1, p + 1):
                price += prices.sink[others_number(n, a, columns[q]), hole, state]
        elif a == variable:
            price += prices.sink[child, hole, state]
        else:
            price += prices.sink[others_number(n, a, child), hole, state]
    return price


class Charges(NamedTuple):
    """The sets whose sink a reading is, each with a hole and the state it is read as.

    Attributes
    ----------
    sets, holes, states
        Shapes (k,).
    """

    sets: NDArray[np.int64]
    holes: NDArray[np.int64]
    states: NDArray[np.int64]


def charges(
    number: NDArray[np.int64],
    child: int,
    parents: NDArray[np.integer],
    variables: NDArray[np.int64],
    holes: NDArray[np.int64],
    states: NDArray[np.int64],
) -> Charges:
    """Return what :func:`price_of` adds up, without the reader's own price.

    Parameters
    ----------
    number
        What :func:`others_numbers` returns.
    child, parents
        The family.
    variables, holes, states
        Column and state of each hole it reads, shapes (k,).
    """
    first, second = _pairs(len(parents))
    own = number[parents[first], parents[second]]
    # for a hole in the column of a parent: the child, alone and with each other parent
    instead = np.where(variables[:, None] == parents, child, parents)
    is_own = variables == child
    here, there = np.flatnonzero(is_own), np.flatnonzero(~is_own)
    sets = np.concatenate([np.tile(own, len(here)), number[child, instead[there]].ravel()])
    which = np.concatenate([here.repeat(len(own)), there.repeat(len(parents))])
    return Charges(sets, holes[which], states[which])


_pairs = cache(np.tril_indices)  # asked for each reading, of which there are many


class Holes(NamedTuple):
    """An incomplete table, and what reading its holes costs.

    Attributes
    ----------
    codes
        States, -1 in the holes, shape (variables, rows).
    weights
        Weight of each row, shape (rows,).
    cardinalities
        Number of states of each variable, shape (variables,).
    number
        Number of each hole, filled ones too, -1 elsewhere, shape (variables, rows).
    variables, rows
        Where each hole is, shapes (holes,).
    prices
        What reading a hole costs.
    """

    codes: NDArray[np.int16]
    weights: NDArray[np.float64]
    cardinalities: NDArray[np.int64]
    number: NDArray[np.int64]
    variables: NDArray[np.int64]
    rows: NDArray[np.int64]
    prices: Prices

    @classmethod
    def of(cls, dataset: Dataset) -> "Holes":
        """Return the missing cells of a table; reading them costs nothing."""
        rows, variables = dataset.missing_cells.T.copy()
        codes = np.ascontiguousarray(dataset.codes.T.astype(np.int16))
        number = np.full(codes.shape, -1)
        number[variables, rows] = np.arange(len(rows))
        most = int(dataset.cardinalities.max(initial=0))
        return cls(
            codes,
            dataset.row_weights,
            dataset.cardinalities,
            number,
            variables,
            rows,
            Prices.none(dataset.n_variables, len(rows), most),
        )

    @property
    def states(self) -> NDArray[np.int64]:
        """Number of states of each hole, shape (holes,)."""
        return self.cardinalities[self.variables]

    @property
    def filled(self) -> NDArray[np.int64]:
        """State of each hole, -1 where it is open, shape (holes,)."""
        return self.codes[self.variables, self.rows].astype(np.int64)

    def fill(self, values: NDArray[np.int64]) -> "Holes":
        """Return the holes with other states, -1 where they shall be open, shape (holes,)."""
        codes = self.codes.copy()
        codes[self.variables, self.rows] = values
        return self._replace(codes=codes)
