"""Columns that another single column determines: copies, renamed copies, and coarser ones.

Each row draws a whole number, and a state of a column gets the sum over its rows as its signature.
Column B is a function f of column A if and only if the rows of each state b of B are those of the
states a with f(a) = b, so that the signature of b is the sum of theirs; f is read off one row of
each state. So all pairs of ``k`` columns with ``r`` states are compared in O(k^2 r) steps after
O(n k) for ``n`` rows; what is found is checked row by row.

In few rows a column may be a function of another one by chance. If its cells were shuffled, it
would be with a probability of at most ``r_B ** r_A / multinomial(n; n_1, n_2, ...)``, with ``n_b``
the rows of its states: the number of functions over that of different orders of its cells. Only
pairs are reported whose probability, times the number of pairs, is below ``MAX_PROBABILITY``.
"""

from collections.abc import Sequence
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from exactlearn._runtime.offsets import offsets
from exactlearn.data.labels import MAX_LISTED, first_listed
from exactlearn.errors import ColumnWarning, warn_caller

MAX_PROBABILITY = 1e-3
"""Largest probability that any pair of columns without relation is reported."""

Codes = NDArray[np.integer]


class DeterminedColumns(NamedTuple):
    """Columns of a table that tell nothing beside another one.

    Parameters
    ----------
    copies
        Groups of columns that are equal, but perhaps for the names of their states.
    functions
        Other columns as (column, the column that determines it).
    """

    copies: list[list[int]]
    functions: list[tuple[int, int]]


class _States(NamedTuple):
    """The states of all columns side by side, the missing cells of a column first.

    Parameters
    ----------
    first
        Where the states of each column begin, shape (columns,).
    sums
        Signature of each state, 0 for one without rows, shape (states,).
    counts
        Rows of each state, shape (states,).
    rows
        A row of each state that has any, shape (states,).
    """

    first: NDArray[np.int64]
    sums: NDArray[np.float64]
    counts: NDArray[np.int64]
    rows: NDArray[np.int64]


def _states_of(codes: Codes, cardinalities: NDArray[np.int64]) -> _States:
    """Return the signatures, counts and a row of each state."""
    n_rows, n_columns = codes.shape
    first = offsets(cardinalities + 1)
    sums = np.zeros(first[-1])
    counts = np.zeros(first[-1], np.int64)
    rows = np.zeros(first[-1], np.int64)
    # All sums are whole numbers below 2**53, which are exact.
    largest = 2 ** (52 - n_rows.bit_length())
    draws = np.random.default_rng(0).integers(1, largest, n_rows)
    for v in range(n_columns):
        of_column = slice(first[v], first[v + 1])
        states = codes[:, v].astype(np.int64) + 1
        n_states = int(cardinalities[v]) + 1
        sums[of_column] = np.bincount(states, draws, n_states)
        counts[of_column] = np.bincount(states, minlength=n_states)
        rows[of_column][states] = np.arange(n_rows)
    return _States(
        first=first[:-1],
        sums=sums,
        counts=counts,
        rows=rows,
    )


def _functions_of(
    v: int,
    codes: Codes,
    states: _States,
) -> NDArray[np.bool_]:
    """Return whether each column is a function of column v, by the signatures, shape (columns,)."""
    first, sums, counts, rows = states
    # The states of column v, the missing cell first, that some row has.
    n_states = codes[:, v].max() + 2
    of_column = first[v] + np.arange(n_states)
    used = of_column[counts[of_column] > 0]
    # The state of each column in a row of each state of this one, and the signatures that follow.
    images = codes[rows[used]] + (first + 1)
    signatures = np.repeat(sums[used], len(first))
    expected = np.bincount(images.ravel(), signatures, len(sums))
    differs: NDArray[np.bool_] = np.logical_or.reduceat(expected != sums, first)
    # Their missing cells must be in the same rows.
    differs |= sums[first] != sums[first[v]]
    differs[v] = True
    return ~differs


def _are_beyond_chance(states: _States) -> NDArray[np.bool_]:
    """Return whether each column, the second axis, is unlikely to be a function of each by chance.

    The bound stands in the docstring of the module; shape (columns, columns).
    """
    first = states.first
    counts = states.counts.copy()
    counts[first] = 0  # missing cells do not count
    # Logarithm of the number of different orders of each column's cells.
    totals = np.add.reduceat(counts, first)
    equal_orders = np.add.reduceat(gammaln(counts + 1), first)
    orders = gammaln(totals + 1) - equal_orders
    # Logarithm of the number of functions between each two columns.
    n_states = np.add.reduceat(counts > 0, first, dtype=np.int64)
    log_states = np.log(np.maximum(n_states, 1))
    functions = np.outer(n_states, log_states)
    # The bound holds for all pairs together.
    n_pairs = len(first) * (len(first) - 1)
    limit = log(n_pairs / MAX_PROBABILITY)
    are_beyond: NDArray[np.bool_] = orders - functions > limit
    return are_beyond


def determined_columns(
    codes: Codes,
    cardinalities: NDArray[np.int64],
) -> DeterminedColumns:
    """Find the columns that are functions of another single column, by more than chance.

    Parameters
    ----------
    codes
        States, shape (rows, columns); -1 for a missing cell.
    cardinalities
        Number of states of each column, shape (columns,).

    Examples
    --------
    >>> colour = np.repeat([0, 1, 2], 20)
    >>> codes = np.stack([colour, 2 - colour, colour // 2], axis=1)
    >>> determined_columns(codes, np.array([3, 3, 2]))
    DeterminedColumns(copies=[[0, 1]], functions=[(2, 0)])
    """
    n_rows, n_columns = codes.shape
    if n_columns < 2 or not n_rows:
        return DeterminedColumns([], [])
    states = _states_of(codes, cardinalities)
    columns = range(n_columns)
    is_function = np.array([_functions_of(v, codes, states) for v in columns])
    is_function &= _are_beyond_chance(states)
    is_mutual = is_function & is_function.T

    def determines(source: int, column: int) -> bool:
        """Return whether a column has one state in all rows of each state of another one."""
        states_of_rows = states.first[source] + 1 + codes[:, source]
        row_of_state = states.rows[states_of_rows]
        images = codes[row_of_state, column]
        return np.array_equal(images, codes[:, column])

    # Columns that determine each other are copies: one group.
    groups: dict[int, list[int]] = {}
    seen: set[int] = set()
    for v in columns:
        if v in seen:
            continue
        equal = np.flatnonzero(is_mutual[v]).tolist()
        copies = [u for u in equal if determines(v, u)]
        groups[v] = [v, *copies]
        seen.update(groups[v])
    # A group is reported once, with the first source that determines it.
    functions: list[tuple[int, int]] = []
    is_coarser = is_function & ~is_mutual
    for v in groups:
        for source in np.flatnonzero(is_coarser[:, v]).tolist():
            if source in groups and determines(source, v):
                functions.append((v, source))
                break
    return DeterminedColumns(
        copies=[group for group in groups.values() if len(group) > 1],
        functions=functions,
    )


def warn_of_determined_columns(
    codes: Codes,
    names: Sequence[str],
    cardinalities: NDArray[np.int64],
) -> None:
    """Warn once of all columns that are functions of another single column.

    Warns
    -----
    ColumnWarning
        When there are such columns, by more than chance.
    """
    copies, functions = determined_columns(codes, cardinalities)
    quoted = [*map(repr, names)]
    parts: list[str] = []
    if copies:
        groups = []
        for group in copies:
            equal = [quoted[v] for v in group[:MAX_LISTED]]
            groups.append(" = ".join(equal))
        parts.append(f"equal, but for names of states: {first_listed(groups)}")
    if functions:
        pairs = [f"{quoted[v]} by {quoted[source]}" for v, source in functions]
        parts.append(f"determined by another one: {first_listed(pairs)}")
    if parts:
        warn_caller(
            f"columns that in all {len(codes)} rows are {'; '.join(parts)}; they tell nothing "
            "more, and many networks score alike: leave them out, unless they are meant",
            ColumnWarning,
        )
