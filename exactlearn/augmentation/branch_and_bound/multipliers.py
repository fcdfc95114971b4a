"""Missing cells, and the Lagrange multipliers that make families agree on their states.

A set of variables, of which one or two besides the column of a missing cell, has at most one member
in a DAG that has all others as parents: its *sink*. So the state of a missing cell has a multiplier
for each child whose family has the cell, and one for the sink of each such set.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn.data.dataset import Dataset


class CellMultipliers(NamedTuple):
    """Lagrange multipliers of the states of missing cells, never less than 0.

    Attributes
    ----------
    child
        Multiplier of a family of each variable whose local completion has a state in a cell, shape
        (variables, cells, most states).
    sink
        Multiplier of the family of the sink of a set besides, the set being the cell's column and
        :func:`set_number` ``s``; shape (sets, cells, most states).
    """

    child: NDArray[np.float64]
    sink: NDArray[np.float64]

    @classmethod
    def none(cls, n: int, cells: int, states: int) -> "CellMultipliers":
        """Return multipliers that are all 0, for families of ``n`` variables."""
        sets = n + n * (n - 1) // 2
        return cls(np.zeros((n, cells, states)), np.zeros((sets, cells, states)))

    def blend(self, other: "CellMultipliers", weight: float) -> "CellMultipliers":
        """Return ``weight`` times these multipliers plus the rest times others."""
        rest = 1.0 - weight
        return CellMultipliers(
            weight * self.child + rest * other.child, weight * self.sink + rest * other.sink
        )

    @property
    def total(self) -> NDArray[np.float64]:
        """Sum of all multipliers of each state of each missing cell, shape (cells, states)."""
        added: NDArray[np.float64] = self.child.sum(axis=0) + self.sink.sum(axis=0)
        return added


def set_numbers(n: int) -> NDArray[np.int64]:
    """Return the number of the set besides the cell's column: of one variable twice, or of two.

    Shape (n, n).
    """
    a, b = np.indices((n, n))
    low, high = np.minimum(a, b), np.maximum(a, b)
    return np.where(a == b, a, n + high * (high - 1) // 2 + low)


def set_members(n: int) -> NDArray[np.bool_]:
    """Return the members of each set, shape (sets, n)."""
    number = set_numbers(n)
    members = np.zeros((n + n * (n - 1) // 2, n), np.bool_)
    a, b = np.indices((n, n))
    members[number, a] = members[number, b] = True
    return members


@kernel
def sink_sets(number: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sets besides each column of a family of which the family is the sink.

    Besides the child's column these are one or two parents; besides a parent's, the child alone or
    with another parent.

    Parameters
    ----------
    number
        What :func:`set_numbers` returns.
    columns
        The family, child first, shape (k,).

    Returns
    -------
    sets
        Shape (k, most sets), padded with -1.
    """
    k = len(columns)
    sets = np.full((k, max(k, k * (k - 1) // 2)), -1)
    count = 0
    for p in range(1, k):
        for q in range(1, p + 1):
            sets[0, count] = number[columns[p], columns[q]]
            count += 1
        for q in range(k):
            if q != p:
                sets[p, q] = number[columns[0], columns[q]]
    return sets


@kernel
def family_charges(
    children: NDArray[np.int32],
    members: NDArray[np.int32],
    number: NDArray[np.int64],
    of_child: NDArray[np.float64],
    of_sink: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the sum of charges of each family, over its columns, shape (m,).

    Parameters
    ----------
    children, members
        Child and parents of each, padded with -1, shapes (m,) and (m, most parents).
    number
        What :func:`set_numbers` returns.
    of_child, of_sink
        Charge of each child, and of each set's sink, for each column, shapes (n, n) and (sets, n).
    """
    total = np.zeros(len(children))
    for f in range(len(children)):
        columns = columns_of(children[f], members[f])
        sets = sink_sets(number, columns)
        for p in range(len(columns)):
            total[f] += of_child[children[f], columns[p]]
            for s in sets[p]:
                if s >= 0:
                    total[f] += of_sink[s, columns[p]]
    return total


@kernel
def columns_of(child: int, members: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the columns of a family, child first; parents are padded with -1."""
    count = 1
    while count <= len(members) and members[count - 1] >= 0:
        count += 1
    columns = np.empty(count, np.int64)
    columns[0] = child
    for p in range(1, count):
        columns[p] = members[p - 1]
    return columns


class SinkTerms(NamedTuple):
    """The sets whose sink a local completion is, each with a missing cell and its state.

    Attributes
    ----------
    sets, cells, states
        Shapes (k,).
    """

    sets: NDArray[np.int64]
    cells: NDArray[np.int64]
    states: NDArray[np.int64]


class MissingCells(NamedTuple):
    """An incomplete table, its missing cells, some of them fixed, and their multipliers.

    Attributes
    ----------
    codes
        States, -1 in the missing cells, shape (variables, rows).
    weights
        Weight of each row, shape (rows,).
    cardinalities
        Number of states of each variable, shape (variables,).
    number
        Number of each missing cell, fixed ones too, -1 elsewhere, shape (variables, rows).
    variables, rows
        Where each missing cell is, shapes (cells,).
    sets
        What :func:`set_numbers` returns, shape (n, n).
    multipliers
        Lagrange multipliers of their states.
    """

    codes: NDArray[np.int16]
    weights: NDArray[np.float64]
    cardinalities: NDArray[np.int64]
    number: NDArray[np.int64]
    variables: NDArray[np.int64]
    rows: NDArray[np.int64]
    sets: NDArray[np.int64]
    multipliers: CellMultipliers

    @classmethod
    def of(cls, dataset: Dataset) -> "MissingCells":
        """Return the missing cells of a table, all multipliers being 0."""
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
            set_numbers(dataset.n_variables),
            CellMultipliers.none(dataset.n_variables, len(rows), most),
        )

    @property
    def states(self) -> NDArray[np.int64]:
        """Number of states of each missing cell, shape (cells,)."""
        return self.cardinalities[self.variables]

    @property
    def filled(self) -> NDArray[np.int64]:
        """State of each missing cell, -1 where it is not fixed, shape (cells,)."""
        return self.codes[self.variables, self.rows].astype(np.int64)

    def fill(self, values: NDArray[np.int64]) -> "MissingCells":
        """Return the missing cells with other states, -1 where not fixed, shape (cells,)."""
        codes = self.codes.copy()
        codes[self.variables, self.rows] = values
        return self._replace(codes=codes)
