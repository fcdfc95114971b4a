"""Sums over all DAGs of one strongly connected part, in ``3 ** n``.

The weight of a DAG is the product of the weights of its parent sets. Let ``A_i(S)`` be the sum of
the weights of the parent sets of variable ``i`` inside ``S``. A set ``S`` that holds the parents of
all its members is *ancestral*. By inclusion and exclusion over the sinks of a DAG, or over the
roots of what is left of one (Robinson 1973; Tian and He 2009)::

    inner(U) = sum over nonempty T in U     of (-1)^(|T|+1) prod_{i in T} A_i(U - T) inner(U - T)
    outer(S) = sum over nonempty T beyond S of (-1)^(|T|+1) prod_{i in T} A_i(S)     outer(S + T)

``inner(S)`` sums the DAGs on ``S``, ``outer(S)`` the ways to extend them to all variables. In the
second sum, the terms with ``i`` in ``T`` and without the factor of ``i`` sum the extensions of
which ``i`` is the only root; ``S`` then holds all variables that are no descendants of ``i``::

    P(non-descendants of i = S) = inner(S) A_i(S) only_root(i, S) / inner(all)

These probabilities give those of parent sets, arcs and ancestors by sums of positive terms
(docs/theory/posterior.md).

The alternating sums cancel: a DAG is counted once for each way to take its sinks away by and by. So
they are computed with pairs of doubles, and with a bound on their rounding. Weights differ by
thousands of nats, so every number stands relative to a power of two: that of the heaviest DAG on
``S``, or extension of ``S``, with weights rounded to powers of two.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil, comb, log, log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.executors import in_order, n_threads
from exactlearn._runtime.offsets import offsets
from exactlearn._runtime.tolerance import EPSILON

from .parent_set_sums import (
    POWERS,
    SMALLEST,
    ParentSums,
    find_heaviest,
    note_non_descendants,
    sum_inside,
)
from .sum_kernels import (
    Scratch,
    SetSums,
    add_shards,
    extend,
    no_sums,
    scratch_space,
    spread,
)

LN2_HIGH = 6.93147180369123816490e-01
"""Logarithm of 2 to 32 bits: its product with an exponent is exact (Cody and Waite 1980)."""

LN2_LOW = 1.90821492927058770002e-10
"""What is left of the logarithm of 2."""

SHARDS = 2
"""Threads that the sums over DAGs are added up by; a fixed number, for equal bits everywhere."""

MAX_AT_ONCE = 10
"""Most variables whose sets are summed by one call for all, in a thread: some ms."""

PAIRS_PER_PIECE = 20_000_000
"""Pairs of disjoint sets between two looks at the clock: some .2 s."""

NEGLIGIBLE_BITS = 60
"""Sets that are ancestral with a probability below ``2^-60``, all together, are left out."""


class PartSums(NamedTuple):
    """The sums over the DAGs of a part.

    Parameters
    ----------
    log_sum
        Logarithm of the sum over all DAGs.
    non_descendants
        ``P(non-descendants of i = S) / A_i(S)``, times the power of two in ``parent_sums``, shape
        (n, 2 ** (n - 1)).
    parent_sums, outer
        The sums of weights inside each set, and those over the extensions of each set.
    error
        Bound on the error of each probability by rounding.
    """

    log_sum: float
    non_descendants: NDArray[np.float64]
    parent_sums: ParentSums
    outer: SetSums
    error: float


def split_weights(
    log_weights: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return weights as mantissas near 1 and exponents of 2, from their natural logarithms.

    Examples
    --------
    >>> mantissa, exponent = split_weights(np.array([0.0, -1000.0]))
    >>> bool(abs(np.log(mantissa[1]) + exponent[1] * np.log(2) + 1000.0) < 1e-12)
    True
    """
    exponent = np.rint(log_weights / log(2.0))
    left = (log_weights - exponent * LN2_HIGH) - exponent * LN2_LOW
    return np.exp(left), exponent.astype(np.int64)


def sum_parent_sets(
    n: int,
    child: NDArray[np.int64],
    parents: NDArray[np.int64],
    mantissa: NDArray[np.float64],
    exponent: NDArray[np.int64],
) -> ParentSums:
    """Return ``A_i(S)`` for all variables and sets, by a zeta transform.

    Parameters
    ----------
    n
        Number of variables.
    child, parents
        Variable of each parent set, sorted, and its members as bits, shape (m,).
    mantissa, exponent
        The weights, shape (m,).
    """
    first = offsets(np.bincount(child, minlength=n))
    return sums_of_stretches(first[:-1], first[1:], parents, mantissa, exponent)


def sums_of_stretches(
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    parents: NDArray[np.int64],
    mantissa: NDArray[np.float64],
    exponent: NDArray[np.int64],
) -> ParentSums:
    """Return ``A_i(S)`` for variables whose parent sets stand between ``begin`` and ``end``."""
    shape = (len(begin), 1 << (len(begin) - 1))
    sums = ParentSums(np.zeros(shape), np.zeros(shape), np.zeros(shape, np.int64))
    sum_inside(begin, end, parents, mantissa, exponent, sums, POWERS)
    return sums


def sum_over_dags(
    sums: ParentSums,
    n_parent_sets: NDArray[np.int64],
    control: SearchControl = UNLIMITED,
    threads: int | None = None,
    progress: Callable[[float], None] = lambda done: None,
) -> PartSums | None:
    """Sum the weights of all DAGs; ``None`` if the control ends it before.

    Parameters
    ----------
    sums
        The sums of the weights of parent sets, of n variables.
    n_parent_sets
        Number of parent sets of each variable, shape (n,).
    control
        The clock.
    threads
        How many threads to use; ``None`` for as many as there are cores.
    progress
        Called with the proportion that is done.
    """
    n = len(sums.high)
    heaviest_inner = np.zeros(1 << n, np.int64)
    heaviest_outer = np.zeros(1 << n, np.int64)
    find_heaviest(sums.exponent, heaviest_inner, heaviest_outer)
    # the sets that may be ancestral, by size
    likelihood = heaviest_inner + heaviest_outer - heaviest_inner[-1]
    kept = likelihood >= -_negligible_exponent(n_parent_sets)
    sizes = np.bitwise_count(np.arange(1 << n))
    levels = [np.flatnonzero(kept & (sizes == size)) for size in range(n + 1)]
    sweep = _Sweep(levels, control, n_threads(threads), progress)

    # the sums over DAGs on each set, and over the extensions of each set
    inner = _sum_inside(sums, heaviest_inner, sweep)
    if inner is None:
        return None
    total = float(inner.high[-1])
    scale = POWERS[np.maximum(likelihood, SMALLEST) - SMALLEST] / total
    extended = _sum_outside(sums, heaviest_outer, inner.high * scale, sweep)
    if extended is None:
        return None
    outer, non_descendants = extended

    # rounding of what a set and its extensions sum to, of the total, and of positive sums
    ancestral_error = inner.error * outer.high + inner.high * outer.error
    error = (
        2.0 * float((ancestral_error * scale)[kept].sum())
        + 2.0**-NEGLIGIBLE_BITS
        + (4 * n + 16) * EPSILON
    )
    log_sum = log(total) + float(heaviest_inner[-1]) * log(2.0)
    return PartSums(log_sum, non_descendants, sums, outer, error)


@dataclass
class _Sweep:
    """Two passes over the sets that may be ancestral, by size.

    Parameters
    ----------
    levels
        The sets of each size, from 0 to n.
    control, threads
        The clock, and the number of threads.
    progress
        Called with the proportion that is done.
    """

    levels: list[NDArray[np.int64]]
    control: SearchControl
    threads: int
    progress: Callable[[float], None]
    done: int = 0

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.levels) - 1

    def note(self, n_sets: int, size: int) -> None:
        """Count the pairs of so many sets of a size, and the sets beyond each."""
        self.done += n_sets << (self.n_variables - size)
        pairs = 0
        for level_size, sets in enumerate(self.levels):
            pairs += len(sets) << (self.n_variables - level_size)
        self.progress(self.done / (2 * pairs))

    def pieces(self, size: int, n_pairs: int) -> list[NDArray[np.int64]]:
        """Return the sets of a size in pieces of at most so many pairs."""
        sets = self.levels[size]
        longest = max(1, n_pairs >> (self.n_variables - size))
        return np.array_split(sets, max(1, -(-len(sets) // longest)))


def _sum_inside(
    sums: ParentSums, exponent: NDArray[np.int64], sweep: _Sweep
) -> SetSums | None:
    """Return the sums over the DAGs on each set, from small sets to large ones."""
    n = sweep.n_variables
    inner = no_sums(exponent)
    inner.high[0] = 1.0
    if n <= MAX_AT_ONCE:
        # a set is complete before its supersets, which are larger numbers
        spread(np.arange(1 << n), sums, inner, inner, POWERS, scratch_space(n))
        return inner
    shards = [no_sums(exponent) for _ in range(SHARDS)]
    for size in range(n + 1):
        if size:
            add_shards(sweep.levels[size], shards[0], shards[1], inner)
        for piece in sweep.pieces(size, SHARDS * PAIRS_PER_PIECE):
            if not sweep.control.goes_on():
                return None
            parts = np.array_split(piece, SHARDS)
            spread_shard = partial(_spread_part, parts, sums, inner, shards)
            space = partial(scratch_space, n)
            deque(in_order(spread_shard, SHARDS, space, sweep.threads), 0)
            sweep.note(len(piece), size)
    return inner


def _sum_outside(
    sums: ParentSums,
    exponent: NDArray[np.int64],
    inner: NDArray[np.float64],
    sweep: _Sweep,
) -> tuple[SetSums, NDArray[np.float64]] | None:
    """Return the sums over the extensions of each set, and the sets of non-descendants.

    Parameters
    ----------
    sums, exponent
        The sums of weights of parent sets, and the exponents of the heaviest extensions.
    inner
        The sums over the DAGs on each set, divided by the total, relative to the exponents.
    sweep
        The sets.
    """
    n = sweep.n_variables
    outer = no_sums(exponent)
    outer.high[-1] = 1.0
    non_descendants = np.zeros((n, 1 << (n - 1)))
    if n <= MAX_AT_ONCE:
        pieces = [np.arange((1 << n) - 2, -1, -1)]
        only_root = _extend_piece(pieces, sums, outer, UNLIMITED, 0, scratch_space(n))
        assert only_root is not None  # no clock ends it
        note_non_descendants(pieces[0], only_root, inner, non_descendants)
        return outer, non_descendants
    for size in reversed(range(n)):
        # only sets of other sizes are read while those of one size are entered
        pieces = sweep.pieces(size, PAIRS_PER_PIECE)
        extend_piece = partial(_extend_piece, pieces, sums, outer, sweep.control)
        space = partial(scratch_space, n)
        extended = in_order(extend_piece, len(pieces), space, sweep.threads)
        for piece, only_root in zip(pieces, extended, strict=True):
            if only_root is None:
                return None
            note_non_descendants(piece, only_root, inner, non_descendants)
            sweep.note(len(piece), size)
    return outer, non_descendants


def _negligible_exponent(n_parent_sets: NDArray[np.int64]) -> int:
    """Return the number of bits below the heaviest DAG at which sets are left out.

    A set is ancestral with a probability of at most ``2^-bits`` for the heaviest DAG, times the
    number of DAGs and the roundings of their weights to powers of two. The sums count it once for
    each ordered partition of the variables; there are less than ``2^n`` sets.
    """
    n = len(n_parent_sets)
    dags = float(np.log2(n_parent_sets).sum())
    return ceil(dags + 2 * n + log2(ordered_partitions(n)) + NEGLIGIBLE_BITS)


def ordered_partitions(n: int) -> int:
    """Return the number of ordered partitions of n variables (Fubini numbers).

    Examples
    --------
    >>> [ordered_partitions(n) for n in range(5)]
    [1, 1, 3, 13, 75]
    """
    counts = [1]
    for size in range(1, n + 1):
        last = [comb(size, k) * counts[size - k] for k in range(1, size + 1)]
        counts.append(sum(last))
    return counts[n]


def _spread_part(
    parts: list[NDArray[np.int64]],
    sums: ParentSums,
    inner: SetSums,
    shards: list[SetSums],
    number: int,
    scratch: Scratch,
) -> None:
    """Add what some sets give to larger sets, in the shard of that number."""
    spread(parts[number], sums, inner, shards[number], POWERS, scratch)


def _extend_piece(
    pieces: list[NDArray[np.int64]],
    sums: ParentSums,
    outer: SetSums,
    control: SearchControl,
    number: int,
    scratch: Scratch,
) -> NDArray[np.float64] | None:
    """Sum the extensions of the sets of one piece; ``None`` without time.

    Returns
    -------
    ndarray of shape (sets, n)
        Sums of those of which each variable is the only root, without its factor.
    """
    if not control.goes_on():
        return None
    sets = pieces[number]
    only_root = np.zeros((len(sets), len(sums.high)))
    extend(sets, sums, outer, POWERS, scratch, only_root)
    return only_root
