"""Contingency tables of sets of variables, kept up to date while single cells change.

A family's score is a difference of two sums, each over the table of a set of variables, less a
penalty (:mod:`exactlearn.scoring.terms`). A changed cell of variable ``v`` moves one row from one
configuration to another in the tables of the sets that hold ``v``, so it costs two terms for each
of them and no pass over the rows. Families that share a set and its form of function share its
table.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn._runtime.offsets import offsets
from exactlearn.bayesnet.missing_parts import symmetric_sums
from exactlearn.data.dataset import Dataset
from exactlearn.scoring.set_tables import set_states
from exactlearn.scoring.terms import Functions, rise, value

BLOCK = 2**24
"""Table cells that a kernel looks at, at most, between two looks at the clock, about."""

MOST_CELLS = 2**25
"""Cells of all tables together, 8 bytes each."""


class Rows(NamedTuple):
    """The completed table (rows, variables), the rows' weights, the numbers of states."""

    codes: NDArray[np.int16]
    weights: NDArray[np.float64]
    cardinalities: NDArray[np.int64]


class Sets(NamedTuple):
    """Sets of variables with their tables.

    Attributes
    ----------
    members
        Each set's variables in increasing order, padded with -1, shape (sets, largest size).
    strides
        By how many cells a table moves on with each variable's state, 0 for padding.
    first, cells
        Where each set's table begins, shape (sets + 1,), and the weight of each configuration, the
        last variable's state running fastest.
    values
        The sum over each set's table, shape (sets,).
    holding_first, holding, step
        The sets that hold each variable, shapes (variables + 1,) and (total,), and the variable's
        stride in each.
    function, functions
        The function that is summed over each set's table, shape (sets,), and all functions.
    """

    members: NDArray[np.int32]
    strides: NDArray[np.int32]
    first: NDArray[np.int64]
    cells: NDArray[np.float64]
    values: NDArray[np.float64]
    holding_first: NDArray[np.int64]
    holding: NDArray[np.int32]
    step: NDArray[np.int32]
    function: NDArray[np.int64]
    functions: Functions


def rows_of(dataset: Dataset, values: NDArray[np.int64]) -> Rows:
    """Return the completed table as kernels take it."""
    codes = dataset.complete(values).codes.astype(np.int16)
    return Rows(
        codes=np.ascontiguousarray(codes),
        weights=dataset.row_weights,
        cardinalities=dataset.cardinalities,
    )


def table_cells(cardinalities: NDArray[np.int64], largest: int) -> float:
    """Return the number of cells of the tables over all sets up to a size.

    The tables of the sets of ``m`` variables have as many cells together as the ``m``-th elementary
    symmetric polynomial of the numbers of states.
    """
    return float(symmetric_sums(cardinalities[np.newaxis], largest).sum())


def tabulate(
    rows: Rows,
    members: NDArray[np.int32],
    function: NDArray[np.int64],
    functions: Functions,
    control: SearchControl = UNLIMITED,
) -> Sets:
    """Count the tables of sets of variables.

    Parameters
    ----------
    rows
        The completed table.
    members
        The sets, see :class:`Sets`.
    function, functions
        The function to sum over the table of each, shape (sets,), and all functions.
    control
        When its search is over, the tables left are not counted.
    """
    states = set_states(rows.cardinalities, members)
    # Tables stand one after the other, the last member of a set counted fastest.
    first = offsets(states.prod(axis=1))
    sizes_from_last = np.cumprod(states[:, ::-1], axis=1)
    sizes_after = sizes_from_last[:, ::-1] / states
    strides = np.where(members >= 0, sizes_after, 0).astype(np.int32)
    holding_first, holding, place = holders(members, len(rows.cardinalities))
    sets = Sets(
        members=members,
        strides=strides,
        first=first,
        cells=np.zeros(int(first[-1])),
        values=np.zeros(len(members)),
        holding_first=holding_first,
        holding=holding,
        step=strides[holding, place],
        function=function,
        functions=functions,
    )
    # Between blocks of sets, the control may end the count.
    columns = np.ascontiguousarray(rows.codes.T)
    n_sets, largest = members.shape
    cells_of_set = len(rows.weights) * (largest + 1)
    step = max(1, BLOCK // max(1, cells_of_set))
    for begin in range(0, n_sets, step):
        _count(
            sets,
            columns,
            rows.weights,
            begin,
            min(begin + step, n_sets),
        )
        if not control.goes_on():
            break
    return sets


def holders(
    members: NDArray[np.int32], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Index sets by variable.

    Returns where the sets that hold each variable begin, these sets, and the variable's place in
    each.
    """
    owner, place = np.nonzero(members >= 0)
    variable = members[owner, place]
    # Sets by variable, in the order of the sets.
    order = np.argsort(variable, kind="stable")
    return (
        offsets(np.bincount(variable, minlength=n)),
        owner[order].astype(np.int32),
        place[order].astype(np.int32),
    )


@kernel
def _count(
    sets: Sets,
    columns: NDArray[np.int16],
    weights: NDArray[np.float64],
    begin: int,
    end: int,
) -> None:
    """Count all rows, given by variable, and fill in the values of some sets."""
    members = sets.members
    strides = sets.strides
    first = sets.first
    cells = sets.cells
    values = sets.values
    place = np.empty(len(weights), np.int64)
    for s in range(begin, end):
        # The cell of each row, then the weight and the value of each cell.
        for u in range(len(place)):
            place[u] = first[s]
        for p in range(members.shape[1]):
            v = members[s, p]
            stride = strides[s, p]
            if v < 0:
                break
            for u in range(len(place)):
                place[u] += stride * columns[v, u]
        for u in range(len(place)):
            cells[place[u]] += weights[u]
        for c in range(first[s], first[s + 1]):
            if cells[c] > 0.0:
                values[s] += value(sets.functions, sets.function[s], cells[c])


@in_place_kernel
def cell_of(
    sets: Sets,
    s: int,
    codes: NDArray[np.int16],
    row: int,
) -> int:
    """Return the cell of a set's table that a row is counted in."""
    cell = sets.first[s]
    for p in range(sets.members.shape[1]):  # the stride of padding is 0
        state = codes[row, sets.members[s, p]]
        cell += sets.strides[s, p] * state
    return int(cell)


@in_place_kernel
def gains(
    sets: Sets,
    rows: Rows,
    row: int,
    variable: int,
    state: int,
    change: NDArray[np.float64],
) -> None:
    """Fill in by how much the sum of each set that holds a cell's variable rises with a new state.

    Parameters
    ----------
    sets, rows
        The tables of a completed table.
    row, variable, state
        The cell and the state it would get, not the one it has.
    change
        Where the differences go, shape (sets,); those of other sets are left as they are.
    """
    w = rows.weights[row]
    by = state - rows.codes[row, variable]
    for at in range(sets.holding_first[variable], sets.holding_first[variable + 1]):
        s = sets.holding[at]
        function = sets.function[s]
        here = cell_of(sets, s, rows.codes, row)
        there = here + by * sets.step[at]
        # The row leaves its cell and joins that of the new state.
        fall = rise(
            sets.functions,
            function,
            sets.cells[here],
            -w,
        )
        gain = rise(
            sets.functions,
            function,
            sets.cells[there],
            w,
        )
        change[s] = fall + gain


@in_place_kernel
def change_cell(
    sets: Sets,
    rows: Rows,
    row: int,
    variable: int,
    state: int,
    change: NDArray[np.float64],
) -> None:
    """Give a cell another state, and bring tables and values up to date.

    Parameters
    ----------
    sets, rows, row, variable, state
        As for :func:`gains`.
    change
        What :func:`gains` has filled in.
    """
    w = rows.weights[row]
    by = state - rows.codes[row, variable]
    for at in range(sets.holding_first[variable], sets.holding_first[variable + 1]):
        s = sets.holding[at]
        here = cell_of(sets, s, rows.codes, row)
        sets.cells[here] -= w
        sets.cells[here + by * sets.step[at]] += w
        sets.values[s] += change[s]
    rows.codes[row, variable] = state


@in_place_kernel
def forget(sets: Sets, variable: int, change: NDArray[np.float64]) -> None:
    """Set to zero what :func:`gains` has filled in for a variable."""
    for at in range(sets.holding_first[variable], sets.holding_first[variable + 1]):
        change[sets.holding[at]] = 0.0


@in_place_kernel
def holds(sets: Sets, s: int, variable: int) -> bool:
    """Return whether a set holds a variable."""
    is_held = False
    for p in range(sets.members.shape[1]):
        is_held = is_held or sets.members[s, p] == variable >= 0
    return is_held


@kernel
def change_cells(sets: Sets, rows: Rows, moves: NDArray[np.int64]) -> None:
    """Change cells one after the other: row, variable and new state of each, (changes, 3)."""
    change = np.zeros(len(sets.values))
    for c in range(len(moves)):
        u = moves[c, 0]
        v = moves[c, 1]
        state = moves[c, 2]
        if state != rows.codes[u, v]:
            gains(sets, rows, u, v, state, change)
            change_cell(sets, rows, u, v, state, change)


@kernel
def values_under(
    sets: Sets, rows: Rows, cells: NDArray[np.int64], completions: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the sums over the tables under completions, shape (completions, sets).

    Parameters
    ----------
    sets, rows
        The tables of a completed table; they become those of the last completion.
    cells
        Row and variable of each cell, and space for a state, shape (cells, 3).
    completions
        The states of the cells, shape (completions, cells).
    """
    values = np.zeros((len(completions), len(sets.values)))
    for c in range(len(completions)):
        cells[:, 2] = completions[c]
        change_cells(sets, rows, cells)
        values[c] = sets.values
    return values
