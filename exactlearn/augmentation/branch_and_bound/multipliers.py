"""Missing cells, and the Lagrange multipliers that make families agree on their states.

A set of variables, of which one or two besides the column of a missing cell, has at most one member
in a DAG that has all others as parents: its *sink*. So the state of a missing cell has a multiplier
for each child whose family has the cell, and one for the sink of each such set.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel
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


@in_place_kernel
def set_number(n: int, a: int, b: int) -> int:
    """Return the number of a set besides the cell's column: of one variable twice, or of two."""
    if a == b:
        return a
    low, high = min(a, b), max(a, b)
    return n + high * (high - 1) // 2 + low


def set_numbers(n: int) -> NDArray[np.int64]:
    """Return the number of the set of each two variables, shape (n, n)."""
    a, b = np.indices((n, n))
    low, high = np.minimum(a, b), np.maximum(a, b)
    return np.where(a == b, a, n + high * (high - 1) // 2 + low)


def sink_sums(charge: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return a family's sum of sink multipliers for each two of its parents, shape (n, n, n).

    Parameters
    ----------
    charge
        Sum of each set's sink multipliers over the missing cells of a column, shape (sets,
        variables).
    n
        Number of variables.

    Returns
    -------
    sums
        ``sums[i, a, b]`` is the sum for a sink of {i, a, b}, whichever of their columns has the
        cell; twice the same parent stands for a set of two.
    """
    number = set_numbers(n)
    i, a, b = np.indices((n, n, n))
    alone = charge[i, a]
    both = charge[number[i, a], b] + charge[number[i, b], a]
    sums: NDArray[np.float64] = charge[number[a, b], i] + np.where(a == b, alone, both)
    return sums


def set_members(n: int) -> NDArray[np.bool_]:
    """Return the members of each set, shape (sets, n)."""
    number = set_numbers(n)
    members = np.zeros((n + n * (n - 1) // 2, n), np.bool_)
    a, b = np.indices((n, n))
    members[number, a] = members[number, b] = True
    return members


@in_place_kernel
def multiplier_sum(
    columns: NDArray[np.int64],
    cell_multipliers: CellMultipliers,
    variable: int,
    cell: int,
    state: int,
) -> float:
    """Return the sum of a family's multipliers of a state; 0 where no cell has any.

    Parameters
    ----------
    columns
        The family, child first.
    cell_multipliers
        The multipliers.
    variable, cell, state
        The missing cell's column, one of these; the cell, and the state.
    """
    child, n = columns[0], len(cell_multipliers.child)
    if not cell_multipliers.child.shape[1]:
        return 0.0
    total: float = cell_multipliers.child[child, cell, state]
    for p in range(1, len(columns)):
        a = columns[p]
        if child == variable:
            for q in range(1, p + 1):
                total += cell_multipliers.sink[set_number(n, a, columns[q]), cell, state]
        elif a == variable:
            total += cell_multipliers.sink[child, cell, state]
        else:
            total += cell_multipliers.sink[set_number(n, a, child), cell, state]
    return total


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


def sink_terms(
    number: NDArray[np.int64],
    child: int,
    parents: NDArray[np.integer],
    variables: NDArray[np.int64],
    cells: NDArray[np.int64],
    states: NDArray[np.int64],
) -> SinkTerms:
    """Return the sink multipliers that :func:`multiplier_sum` adds up, by their indices.

    Parameters
    ----------
    number
        What :func:`set_numbers` returns.
    child, parents
        The family.
    variables, cells, states
        Column and state of each of its missing cells, shapes (k,).
    """
    first, second = _pairs(len(parents))
    own = number[parents[first], parents[second]]
    # for a missing cell in the column of a parent: the child, alone and with each other parent
    instead = np.where(variables[:, None] == parents, child, parents)
    is_own = variables == child
    here, there = np.flatnonzero(is_own), np.flatnonzero(~is_own)
    sets = np.concatenate([np.tile(own, len(here)), number[child, instead[there]].ravel()])
    which = np.concatenate([here.repeat(len(own)), there.repeat(len(parents))])
    return SinkTerms(sets, cells[which], states[which])


_pairs = cache(np.tril_indices)  # for each of many local completions


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
    multipliers
        Lagrange multipliers of their states.
    """

    codes: NDArray[np.int16]
    weights: NDArray[np.float64]
    cardinalities: NDArray[np.int64]
    number: NDArray[np.int64]
    variables: NDArray[np.int64]
    rows: NDArray[np.int64]
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
