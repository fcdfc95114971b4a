"""Rows under a mixture: log-likelihoods, shares of the components, and expected counts.

The compiled pass multiplies probabilities, looked up by the codes of a row, and needs a logarithm
only for each row. Factors are at most 1, so that a product that underflows does not matter where
the sum of all is much larger than the smallest float (docs/theory/naive_bayes.md); other rows are
taken in logarithms. Rows are cut into pieces of one size, so that sums do not depend on the number
of threads.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.executors import in_order, n_threads
from exactlearn._runtime.kernel import in_place_kernel

PIECE = 1024
"""Rows that a thread takes at a time."""

LEAST = 1e-250
"""A row of less probability is taken in logarithms."""

NO_COUNTS = np.empty((0, 0))


class Expectation(NamedTuple):
    """What the rows of a table add up to.

    Attributes
    ----------
    log_likelihoods
        Of the observed cells of each row, shape (rows,); ``-inf`` for an impossible row.
    counts
        Expected counts of each component, and of each state in it: shape (1 + states, components),
        THESIS (4.31) and (4.32) as corrected.
    """

    log_likelihoods: NDArray[np.float64]
    counts: NDArray[np.float64]


def expect_components(
    table: NDArray[np.float64],
    starts: NDArray[np.int64],
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
    *,
    counted: bool = True,
    is_over: Callable[[], bool] | None = None,
) -> Expectation:
    """Return log-likelihoods and expected counts of rows; impossible rows add nothing.

    Parameters
    ----------
    table
        The probability of each component, and below it those of the states of all variables given
        it, shape (1 + states, components).
    starts
        Row below the first with the first state of each variable.
    codes, weights
        Shape (rows, variables), -1 for a missing cell; and (rows,).
    counted
        Whether to count; otherwise the counts are empty.
    is_over
        Asked after each piece of rows; when it says so, all log-likelihoods are nan.
    """
    logs, logarithms = np.empty(len(codes)), _logarithms(table)
    counts = np.zeros(table.shape if counted else (0, 0))

    def work(piece: int, share: NDArray[np.float64]) -> NDArray[np.float64]:
        rows = slice(piece * PIECE, (piece + 1) * PIECE)
        own = np.zeros(counts.shape)
        add_rows(table, logarithms, starts, codes[rows], weights[rows], share, logs[rows], own)
        return own

    def space() -> NDArray[np.float64]:
        return np.empty((1, table.shape[1]))

    for own in in_order(work, -(-len(codes) // PIECE), space, n_threads(None)):
        counts += own
        if is_over is not None and is_over():
            return Expectation(np.full(len(codes), np.nan), counts)
    return Expectation(logs, counts)


def shares_of(
    table: NDArray[np.float64], starts: NDArray[np.int64], codes: NDArray[np.int16]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return P(component | row), shape (rows, components), and the log-likelihood of each row."""
    shares, logs = np.empty((len(codes), table.shape[1])), np.empty(len(codes))
    ones = np.ones(len(codes))
    add_rows(table, _logarithms(table), starts, codes, ones, shares, logs, NO_COUNTS)
    return shares, logs


def _logarithms(table: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return np.log(table)


@in_place_kernel
def add_rows(
    table: NDArray[np.float64],
    logarithms: NDArray[np.float64],
    starts: NDArray[np.int64],
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
    shares: NDArray[np.float64],
    logs: NDArray[np.float64],
    counts: NDArray[np.float64],
) -> None:
    """Write the shares and log-likelihood of each row, and add its expected counts.

    Parameters
    ----------
    shares
        Weight times P(component | row), a row each; or one row of scratch space.
    logs
        Log-likelihoods, shape (rows,).
    counts
        Shape of ``table``, or empty.
    """
    k = table.shape[1]
    for i in range(len(codes)):
        place = i if len(shares) == len(codes) else 0
        for c in range(k):
            shares[place, c] = table[0, c]
        for v in range(len(starts)):
            if codes[i, v] >= 0:
                row = 1 + starts[v] + codes[i, v]
                for c in range(k):
                    shares[place, c] *= table[row, c]
        total = _sum(shares, place)
        logs[i] = np.log(total)
        if total < LEAST:
            logs[i] = _in_logarithms(logarithms, starts, codes[i], shares, place)
            total = 0.0 if logs[i] == -np.inf else 1.0
        if total > 0.0:
            weight = weights[i] / total
            for c in range(k):
                shares[place, c] *= weight
            if len(counts):
                for c in range(k):
                    counts[0, c] += shares[place, c]
                for v in range(len(starts)):
                    if codes[i, v] >= 0:
                        row = 1 + starts[v] + codes[i, v]
                        for c in range(k):
                            counts[row, c] += shares[place, c]


@in_place_kernel
def _in_logarithms(
    logarithms: NDArray[np.float64],
    starts: NDArray[np.int64],
    row: NDArray[np.int16],
    shares: NDArray[np.float64],
    place: int,
) -> float:
    """Write P(component | row), zeros for an impossible row, and return its log-likelihood."""
    k = logarithms.shape[1]
    for c in range(k):
        shares[place, c] = logarithms[0, c]
    for v in range(len(starts)):
        if row[v] >= 0:
            for c in range(k):
                shares[place, c] += logarithms[1 + starts[v] + row[v], c]
    largest = -np.inf
    for c in range(k):
        largest = max(largest, shares[place, c])
    for c in range(k):
        shares[place, c] = np.exp(shares[place, c] - largest) if largest > -np.inf else 0.0
    total = _sum(shares, place)
    for c in range(k):
        if total > 0.0:
            shares[place, c] /= total
    return largest + float(np.log(total))


@in_place_kernel
def _sum(shares: NDArray[np.float64], place: int) -> float:
    """Return the sum of a row, by four sums that do not wait for each other."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    k = shares.shape[1]
    last = k - k % 4
    for j in range(0, last, 4):
        a += shares[place, j]
        b += shares[place, j + 1]
        c += shares[place, j + 2]
        d += shares[place, j + 3]
    for j in range(last, k):
        a += shares[place, j]
    return a + b + (c + d)
