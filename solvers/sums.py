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
from exactlearn._runtime.kernel import in_place_kernel
from exactlearn._runtime.tolerance import EPSILON

from .double_double import (
    PRODUCT_ERROR,
    SUM_ERROR,
    UNIT_SQUARE,
    add,
    product,
    subtract_multiple,
)

NEVER = -(1 << 50)
"""Exponent of the weight 0."""

SMALLEST = -1000
"""Smaller powers of two are taken for 0: nothing that is added to is smaller than 2^-20."""

POWERS = np.concatenate([[0.0], 2.0 ** np.arange(SMALLEST + 1, 1)])
"""The powers of two from ``SMALLEST`` to 0, shape (1 - SMALLEST,)."""

LN2_HIGH = 6.93147180369123816490e-01
"""Logarithm of 2 to 32 bits: its product with an exponent is exact (Cody and Waite 1980)."""

LN2_LOW = 1.90821492927058770002e-10
"""What is left of the logarithm of 2."""

SHARDS = 2
"""Threads that the sums over DAGs are added up by; a fixed number, for equal bits everywhere."""

PAIRS_PER_PIECE = 20_000_000
"""Pairs of disjoint sets between two looks at the clock: some .2 s."""

NEGLIGIBLE_BITS = 60
"""Sets that are ancestral with a probability below ``2^-60``, all together, are left out."""


class ParentSums(NamedTuple):
    """``A_i(S)`` for each variable and each set of the others, shape (n, 2 ** (n - 1)) each.

    ``A_i(S) = (high + low) * 2 ** exponent``. Sets of other variables are numbered by their bits,
    that of ``i`` taken out.
    """

    high: NDArray[np.float64]
    low: NDArray[np.float64]
    exponent: NDArray[np.int64]


class SetSums(NamedTuple):
    """Sums for each set of variables: ``(high + low) * 2 ** exponent``, shape (2 ** n,) each.

    ``error`` bounds how far ``high + low`` is off.
    """

    high: NDArray[np.float64]
    low: NDArray[np.float64]
    error: NDArray[np.float64]
    exponent: NDArray[np.int64]


class Extensions(NamedTuple):
    """Sums over the extensions of some sets, shape (sets,), relative to the exponents of the sets.

    ``only_root`` has those of which each variable is the only root, without its factor, shape
    (sets, n).
    """

    high: NDArray[np.float64]
    low: NDArray[np.float64]
    error: NDArray[np.float64]
    only_root: NDArray[np.float64]


class Scratch(NamedTuple):
    """The variables beyond one set, and the sets T of these, as a kernel takes them.

    The first six have shape (n,), the others shape (2 ** n,).
    """

    variable: NDArray[np.int64]
    exponent: NDArray[np.int64]
    factor: NDArray[np.float64]
    factor_low: NDArray[np.float64]
    earlier: NDArray[np.float64]
    earlier_low: NDArray[np.float64]
    union: NDArray[np.int64]
    shift: NDArray[np.int64]
    high: NDArray[np.float64]
    low: NDArray[np.float64]
    error: NDArray[np.float64]
    sum_error: NDArray[np.float64]
    copy_high: NDArray[np.float64]
    copy_low: NDArray[np.float64]
    part_high: NDArray[np.float64]
    part_low: NDArray[np.float64]


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


def squeezed(sets: NDArray[np.int64], variable: int) -> NDArray[np.int64]:
    """Return sets of other variables as numbers without the bit of ``variable``."""
    below = (1 << variable) - 1
    return (sets & below) | ((sets >> 1) & ~below)


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
        Variable of each parent set, and its members as bits, shape (m,).
    mantissa, exponent
        The weights, shape (m,).
    """
    shape = (n, 1 << (n - 1))
    high = np.zeros(shape)
    low = np.zeros(shape)
    largest = np.full(shape, NEVER)
    for i in range(n):
        at = squeezed(parents[child == i], i)
        # the largest exponent of a parent set inside each set
        np.maximum.at(largest[i], at, exponent[child == i])
        for bit in range(n - 1):
            halves = largest[i].reshape(-1, 2, 1 << bit)
            np.maximum(halves[:, 0], halves[:, 1], out=halves[:, 1])
        # weights relative to it
        relative = np.maximum(exponent[child == i] - largest[i, at], SMALLEST)
        np.add.at(high[i], at, mantissa[child == i] * POWERS[relative - SMALLEST])
        _add_subsets(high[i], low[i], largest[i], POWERS)
    return ParentSums(high, low, largest)


@in_place_kernel
def _add_subsets(
    high: NDArray[np.float64],
    low: NDArray[np.float64],
    exponent: NDArray[np.int64],
    powers: NDArray[np.float64],
) -> None:
    """Add to each number those of all subsets; exponents never fall from a set to a larger one."""
    smallest = 1 - len(powers)
    bit = 1
    while bit < len(high):
        for larger in range(len(high)):
            if larger & bit:
                smaller = larger ^ bit
                shift = max(exponent[smaller] - exponent[larger], smallest)
                scale = powers[shift - smallest]
                high[larger], low[larger] = add(
                    high[larger],
                    low[larger],
                    high[smaller] * scale,
                    low[smaller] * scale,
                )
        bit <<= 1


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
    heaviest_inner, heaviest_outer = _heaviest(sums.exponent)
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
    inner = _no_sums(exponent)
    inner.high[0] = 1.0
    shards = [_no_sums(exponent) for _ in range(SHARDS)]
    for size in range(n + 1):
        if size:
            _add_shards(sweep.levels[size], shards[0], shards[1], inner)
        for piece in sweep.pieces(size, SHARDS * PAIRS_PER_PIECE):
            if not sweep.control.goes_on():
                return None
            parts = np.array_split(piece, SHARDS)
            spread = partial(_spread_part, parts, sums, inner, shards)
            space = partial(scratch_space, n)
            deque(in_order(spread, SHARDS, space, sweep.threads), 0)
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
    outer = _no_sums(exponent)
    outer.high[-1] = 1.0
    non_descendants = np.zeros((n, 1 << (n - 1)))
    for size in reversed(range(n)):
        pieces = sweep.pieces(size, PAIRS_PER_PIECE)
        extend = partial(_extend_piece, pieces, sums, outer, sweep.control)
        space = partial(scratch_space, n)
        extensions = []
        for extension in in_order(extend, len(pieces), space, sweep.threads):
            if extension is None:
                return None
            extensions.append(extension)
            sweep.note(len(extension.high), size)
        # no thread reads the sums while they are entered
        for piece, extension in zip(pieces, extensions, strict=True):
            outer.high[piece] = extension.high
            outer.low[piece] = extension.low
            outer.error[piece] = extension.error
            probability = extension.only_root * inner[piece, None]
            for i in range(n):
                beyond = (piece >> i) & 1 == 0
                at = squeezed(piece[beyond], i)
                non_descendants[i, at] = probability[beyond, i]
    return outer, non_descendants


def _heaviest(
    exponent: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the exponents of the heaviest DAG on each set, and of its heaviest extension.

    Weights count as their powers of two, shapes (2 ** n,).
    """
    n = len(exponent)
    sets = np.arange(1 << n)
    inner = np.full(1 << n, NEVER)
    outer = np.full(1 << n, NEVER)
    inner[0] = 0
    outer[-1] = 0
    sizes = np.bitwise_count(sets)
    by_size = [np.flatnonzero(sizes == size) for size in range(n + 1)]
    # a set grows by one variable, whose parents lie inside
    for smaller in by_size[:-1]:
        for i in range(n):
            without = smaller[(smaller >> i) & 1 == 0]
            heaviest = inner[without] + exponent[i, squeezed(without, i)]
            larger = without | (1 << i)
            inner[larger] = np.maximum(inner[larger], heaviest)
    for smaller in by_size[-2::-1]:
        for i in range(n):
            without = smaller[(smaller >> i) & 1 == 0]
            heaviest = outer[without | (1 << i)] + exponent[i, squeezed(without, i)]
            outer[without] = np.maximum(outer[without], heaviest)
    return inner, outer


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


def _no_sums(exponent: NDArray[np.int64]) -> SetSums:
    n_sets = len(exponent)
    return SetSums(np.zeros(n_sets), np.zeros(n_sets), np.zeros(n_sets), exponent)


def scratch_space(n: int) -> Scratch:
    """Return the scratch space of a thread, for n variables."""
    n_sets = 1 << n
    return Scratch(
        variable=np.zeros(n, np.int64),
        exponent=np.zeros(n, np.int64),
        factor=np.zeros(n),
        factor_low=np.zeros(n),
        earlier=np.zeros(n),
        earlier_low=np.zeros(n),
        union=np.zeros(n_sets, np.int64),
        shift=np.zeros(n_sets, np.int64),
        high=np.zeros(n_sets),
        low=np.zeros(n_sets),
        error=np.zeros(n_sets),
        sum_error=np.zeros(n_sets),
        copy_high=np.zeros(n_sets),
        copy_low=np.zeros(n_sets),
        part_high=np.zeros(n_sets),
        part_low=np.zeros(n_sets),
    )


def _spread_part(
    parts: list[NDArray[np.int64]],
    sums: ParentSums,
    inner: SetSums,
    shards: list[SetSums],
    number: int,
    scratch: Scratch,
) -> None:
    """Add what some sets give to larger sets, in the shard of that number."""
    _spread(parts[number], sums, inner, shards[number], POWERS, scratch)


def _extend_piece(
    pieces: list[NDArray[np.int64]],
    sums: ParentSums,
    outer: SetSums,
    control: SearchControl,
    number: int,
    scratch: Scratch,
) -> Extensions | None:
    """Return the sums of the extensions of the sets of one piece; ``None`` without time."""
    if not control.goes_on():
        return None
    sets = pieces[number]
    n_sets = len(sets)
    extensions = Extensions(
        high=np.zeros(n_sets),
        low=np.zeros(n_sets),
        error=np.zeros(n_sets),
        only_root=np.zeros((n_sets, len(sums.high))),
    )
    _extend(sets, sums, outer, POWERS, scratch, extensions)
    return extensions


@in_place_kernel
def _add_shards(
    sets: NDArray[np.int64], first: SetSums, second: SetSums, inner: SetSums
) -> None:
    """Add up the sums over the DAGs on some sets, of which each shard has a part."""
    for members in sets:
        inner.high[members], inner.low[members] = add(
            first.high[members],
            first.low[members],
            second.high[members],
            second.low[members],
        )
        inner.error[members] = first.error[members] + second.error[members]


@in_place_kernel
def look_beyond(members: int, sums: ParentSums, scratch: Scratch) -> int:
    """Note the variables beyond a set, and their weights; return how many there are."""
    n = len(sums.high)
    n_beyond = 0
    for i in range(n):
        if not (members >> i) & 1:
            below = (1 << i) - 1
            at = (members & below) | ((members >> 1) & ~below)
            scratch.variable[n_beyond] = i
            scratch.factor[n_beyond] = sums.high[i, at]
            scratch.factor_low[n_beyond] = sums.low[i, at]
            scratch.exponent[n_beyond] = sums.exponent[i, at]
            n_beyond += 1
    return n_beyond


@in_place_kernel
def list_supersets(
    members: int, exponent: int, n_beyond: int, scratch: Scratch
) -> None:
    """List a set with each set T of the variables beyond it, and the exponents of their weights."""
    scratch.union[0] = members
    scratch.shift[0] = exponent
    for j in range(n_beyond):
        half = 1 << j
        bit = 1 << scratch.variable[j]
        shift = scratch.exponent[j]
        for t in range(half):
            scratch.union[half + t] = scratch.union[t] | bit
            scratch.shift[half + t] = scratch.shift[t] + shift


@in_place_kernel
def _spread(
    sets: NDArray[np.int64],
    sums: ParentSums,
    inner: SetSums,
    shard: SetSums,
    powers: NDArray[np.float64],
    scratch: Scratch,
) -> None:
    """Add to ``inner(S + T)`` the terms of some sets S of one size, for all T."""
    n = len(sums.high)
    smallest = 1 - len(powers)
    high = scratch.high
    low = scratch.low
    for members in sets:
        sum_high = inner.high[members]
        sum_low = inner.low[members]
        error = inner.error[members]
        n_beyond = look_beyond(members, sums, scratch)
        list_supersets(members, inner.exponent[members], n_beyond, scratch)
        # the products over T, with their signs; bounds on rounding of the terms, and of their sum
        size = n - n_beyond
        of_product = n_beyond * (PRODUCT_ERROR + SUM_ERROR * n) * UNIT_SQUARE
        of_sum = 2.0 * SUM_ERROR * UNIT_SQUARE * (1 << size)
        high[0] = -sum_high
        low[0] = -sum_low
        scratch.error[0] = error + sum_high * of_product
        scratch.sum_error[0] = sum_high * of_sum
        for j in range(n_beyond):
            half = 1 << j
            factor = scratch.factor[j]
            factor_low = scratch.factor_low[j]
            for t in range(half):
                high[half + t], low[half + t] = product(
                    high[t], low[t], -factor, -factor_low
                )
                scratch.error[half + t] = scratch.error[t] * factor
                scratch.sum_error[half + t] = scratch.sum_error[t] * (2.0 * factor)
        # each term to its set
        for t in range(1, 1 << n_beyond):
            union = np.uint64(scratch.union[t])
            shift = max(scratch.shift[t] - inner.exponent[union], smallest)
            scale = powers[np.uint64(shift - smallest)]
            shard.high[union], shard.low[union] = add(
                shard.high[union], shard.low[union], high[t] * scale, low[t] * scale
            )
            shard.error[union] += (scratch.error[t] + scratch.sum_error[t]) * scale


@in_place_kernel
def _extend(
    sets: NDArray[np.int64],
    sums: ParentSums,
    outer: SetSums,
    powers: NDArray[np.float64],
    scratch: Scratch,
    extensions: Extensions,
) -> None:
    """Sum the extensions of some sets, and those with one root only."""
    n = len(sums.high)
    smallest = 1 - len(powers)
    high = scratch.high
    low = scratch.low
    for place in range(len(sets)):
        members = sets[place]
        n_beyond = look_beyond(members, sums, scratch)
        list_supersets(members, -outer.exponent[members], n_beyond, scratch)
        # the sums of all extensions, with bounds on their errors and on those of this sum
        of_sum = n_beyond * (PRODUCT_ERROR + SUM_ERROR * (n + 1)) * UNIT_SQUARE
        n_early = n_beyond // 2
        n_late = n_beyond - n_early
        is_early = (1 << n_early) - 1
        high[0] = 0.0
        low[0] = 0.0
        scratch.error[0] = 0.0
        for t in range(1, 1 << n_beyond):
            union = np.uint64(scratch.union[t])
            shift = max(scratch.shift[t] + outer.exponent[union], smallest)
            scale = powers[np.uint64(shift - smallest)]
            high[t] = outer.high[union] * scale
            low[t] = outer.low[union] * scale
            scratch.error[t] = (outer.error[union] * scale) + high[t] * of_sum
            # a copy in which the late variables are the low bits
            turned = np.uint64((t >> n_early) | ((t & is_early) << n_late))
            scratch.copy_high[turned] = high[t]
            scratch.copy_low[turned] = low[t]
        scratch.copy_high[0] = 0.0
        scratch.copy_low[0] = 0.0
        # all terms, by one variable after the other: the errors add up
        for j in range(n_beyond - 1, -1, -1):
            for t in range(1 << j):
                scratch.error[t] += scratch.factor[j] * scratch.error[(1 << j) + t]
        # the late variables summed out, and from the copy the early ones
        for j in range(n_beyond - 1, n_early - 1, -1):
            subtract_multiple(
                high, low, 1 << j, scratch.factor[j], scratch.factor_low[j]
            )
        for j in range(n_early - 1, -1, -1):
            subtract_multiple(
                scratch.copy_high,
                scratch.copy_low,
                1 << (n_late + j),
                scratch.factor[j],
                scratch.factor_low[j],
            )
        only_root = extensions.only_root[place]
        _sum_only_roots(high, low, 0, n_early, scratch, only_root)
        _sum_only_roots(
            scratch.copy_high,
            scratch.copy_low,
            n_early,
            n_late,
            scratch,
            only_root,
        )
        # the sum itself
        for j in range(n_early - 1, -1, -1):
            subtract_multiple(
                high, low, 1 << j, scratch.factor[j], scratch.factor_low[j]
            )
        extensions.high[place] = -high[0]
        extensions.low[place] = -low[0]
        extensions.error[place] = scratch.error[0]


@in_place_kernel
def _sum_only_roots(
    high: NDArray[np.float64],
    low: NDArray[np.float64],
    first: int,
    n_variables: int,
    scratch: Scratch,
    only_root: NDArray[np.float64],
) -> None:
    """Note the sums of extensions with one root only, for some of the variables beyond a set.

    All other variables are summed out of the terms.
    """
    for j in range(n_variables):
        # the terms that have the variable
        bit = 1 << j
        n_terms = 0
        for t in range(1 << n_variables):
            if t & bit:
                scratch.part_high[n_terms] = high[t]
                scratch.part_low[n_terms] = low[t]
                n_terms += 1
        # without its factor, and the others summed out
        step = n_terms
        for k in range(n_variables - 1, -1, -1):
            if k != j:
                step >>= 1
                subtract_multiple(
                    scratch.part_high,
                    scratch.part_low,
                    step,
                    scratch.factor[first + k],
                    scratch.factor_low[first + k],
                )
        only_root[scratch.variable[first + j]] = scratch.part_high[0]
