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

from exactlearn.errors import ColumnWarning, warn_caller

MAX_PROBABILITY = 1e-3
"""Largest probability that any pair of columns without relation is reported."""

MAX_LISTED = 12
"""Most columns or groups that a warning lists."""

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


class _Signatures(NamedTuple):
    """Signatures of the states of all columns, and a row of each state.

    Parameters
    ----------
    first
        Where the states of each column begin, the missing one first, shape (columns + 1,).
    sums
        Signature of each state, 0 for one without rows, shape (states,).
    counts
        Rows of each state, shape (states,).
    rows
        A row of each state, -1 where there is none, shape (states,).
    """

    first: NDArray[np.int64]
    sums: NDArray[np.float64]
    counts: NDArray[np.int64]
    rows: NDArray[np.int64]

    def of(self, column: int) -> slice:
        """Return the places of the states of a column, the missing one first."""
        return slice(int(self.first[column]), int(self.first[column + 1]))


def _signatures(codes: Codes, cardinalities: NDArray[np.int64]) -> _Signatures:
    n_rows, n_columns = codes.shape
    # All sums are whole numbers below 2**53, which are exact.
    largest = 2 ** (52 - n_rows.bit_length())
    draws = np.random.default_rng(0).integers(1, largest, n_rows).astype(np.float64)
    numbers = np.arange(n_rows)
    sums = []
    counts = []
    rows = []
    for column in range(n_columns):
        states = codes[:, column].astype(np.int64) + 1
        n_states = int(cardinalities[column]) + 1
        sums.append(np.bincount(states, draws, n_states))
        counts.append(np.bincount(states, minlength=n_states))
        row_of_state = np.full(n_states, -1)
        row_of_state[states] = numbers
        rows.append(row_of_state)
    first = np.concatenate([[0], np.cumsum(cardinalities + 1)])
    return _Signatures(
        first, np.concatenate(sums), np.concatenate(counts), np.concatenate(rows)
    )


def _determined_by(
    column: int, codes: Codes, signatures: _Signatures
) -> NDArray[np.bool_]:
    """Return whether each column is a function of one, by the signatures, shape (columns,)."""
    own = signatures.of(column)
    used = np.flatnonzero(signatures.counts[own])
    own_sums = signatures.sums[own][used]
    own_rows = signatures.rows[own][used]
    first = signatures.first[:-1]
    # The state of each column in a row of each state of this one, and the signatures that follow.
    images = codes[own_rows].astype(np.int64) + 1 + first
    n_columns = codes.shape[1]
    expected = np.bincount(
        images.ravel(), np.repeat(own_sums, n_columns), len(signatures.sums)
    )
    differs = (expected != signatures.sums).astype(np.int64)
    is_function: NDArray[np.bool_] = np.add.reduceat(differs, first) == 0
    # Their missing cells must be in the same rows.
    is_function &= signatures.sums[first] == signatures.sums[own][0]
    is_function[column] = False
    return is_function


def _is_beyond_chance(
    column: int, source: int, signatures: _Signatures, n_pairs: int
) -> bool:
    """Return whether a column is too unlikely to be a function of another one by chance."""
    counts = signatures.counts[signatures.of(column)][1:]
    n_sources = np.count_nonzero(signatures.counts[signatures.of(source)][1:])
    orders = gammaln(counts.sum() + 1) - gammaln(counts + 1).sum()
    functions = n_sources * log(max(1, int(np.count_nonzero(counts))))
    return bool(orders - functions - log(n_pairs) > -log(MAX_PROBABILITY))


def _is_function(column: Codes, source: Codes, row_of_state: NDArray[np.int64]) -> bool:
    """Return whether a column has the same state in all rows of each state of another one."""
    return bool((column[row_of_state[source.astype(np.int64) + 1]] == column).all())


def determined_columns(
    codes: Codes, cardinalities: NDArray[np.int64]
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
    n_columns = codes.shape[1]
    copies: list[list[int]] = []
    functions: list[tuple[int, int]] = []
    if n_columns < 2 or not len(codes):
        return DeterminedColumns(copies, functions)
    signatures = _signatures(codes, cardinalities)
    is_function = np.array(
        [_determined_by(v, codes, signatures) for v in range(n_columns)]
    )
    n_pairs = n_columns * (n_columns - 1)

    def holds(column: int, source: int) -> bool:
        """Return whether a column is a function of another one, by more than chance."""
        return _is_beyond_chance(column, source, signatures, n_pairs) and _is_function(
            codes[:, column], codes[:, source], signatures.rows[signatures.of(source)]
        )

    first_of_group: dict[int, list[int]] = {}
    seen: set[int] = set()
    for v in range(n_columns):
        if v in seen:
            continue
        equal = np.flatnonzero(is_function[v] & is_function[:, v]).tolist()
        first_of_group[v] = [v, *(u for u in equal if holds(u, v))]
        seen.update(first_of_group[v])
    copies = [group for group in first_of_group.values() if len(group) > 1]
    for v in first_of_group:
        sources = (
            u for u in first_of_group if is_function[u, v] and not is_function[v, u]
        )
        source = next((u for u in sources if holds(v, u)), None)
        if source is not None:
            functions.append((v, source))
    return DeterminedColumns(copies, functions)


def warn_of_determined_columns(
    codes: Codes, names: Sequence[str], cardinalities: NDArray[np.int64]
) -> None:
    """Warn once of all columns that are functions of another single column.

    Warns
    -----
    ColumnWarning
        When there are such columns, by more than chance.
    """
    copies, functions = determined_columns(codes, cardinalities)
    parts: list[str] = []
    if copies:
        groups = [
            " = ".join(repr(names[v]) for v in group[:MAX_LISTED]) for group in copies
        ]
        parts.append(f"equal, but for names of states: {_listed(groups)}")
    if functions:
        pairs = [f"{names[v]!r} by {names[source]!r}" for v, source in functions]
        parts.append(f"determined by another one: {_listed(pairs)}")
    if parts:
        warn_caller(
            f"columns that in all {len(codes)} rows are {'; '.join(parts)}; they tell nothing "
            "more, and many networks score alike: leave them out, unless they are meant",
            ColumnWarning,
        )


def _listed(items: Sequence[str]) -> str:
    rest = len(items) - MAX_LISTED
    return ", ".join(items[:MAX_LISTED]) + (f" and {rest} more" if rest > 0 else "")
