"""The kernels of sums over all DAGs: one set of variables, and all sets of those beyond it.

The formulas stand in :mod:`exactlearn.solvers.sums`.

The variables beyond a set are split into early and late ones. The sets of early ones make a block,
which lies in the fastest memory; there is a block for each set of late ones.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel

from .double_double import (
    PRODUCT_ERROR,
    SUM_ERROR,
    UNIT_SQUARE,
    add,
    add_multiples,
    append_multiples,
    subtract_multiple,
)
from .parent_set_sums import ParentSums, power_of_two, squeezed

MAX_EARLY = 8
"""Most early variables: of 256 sets, all that a kernel needs takes some 30 kB."""

MAX_FIRST = 3
"""Variables that are summed out of all blocks together, as their steps in one are too short."""


class SetSums(NamedTuple):
    """Sums for each set of variables: ``(high + low) * 2 ** exponent``, shape (2 ** n,) each.

    ``error`` bounds how far ``high + low`` is off.
    """

    high: NDArray[np.float64]
    low: NDArray[np.float64]
    error: NDArray[np.float64]
    exponent: NDArray[np.int64]


class Scratch(NamedTuple):
    """The variables beyond one set, and the sets T of these, as a kernel takes them.

    The first six have shape (n,), the others shape (2 ** (n + 1),).
    """

    variable: NDArray[np.int64]
    exponent: NDArray[np.int64]
    factor: NDArray[np.float64]
    factor_low: NDArray[np.float64]
    earlier: NDArray[np.float64]
    earlier_low: NDArray[np.float64]
    union: NDArray[np.int64]
    shift: NDArray[np.int64]
    late_union: NDArray[np.int64]
    late_shift: NDArray[np.int64]
    high: NDArray[np.float64]
    low: NDArray[np.float64]
    error: NDArray[np.float64]
    sum_error: NDArray[np.float64]
    copy_high: NDArray[np.float64]
    copy_low: NDArray[np.float64]
    part_high: NDArray[np.float64]
    part_low: NDArray[np.float64]
    scale: NDArray[np.float64]


def no_sums(exponent: NDArray[np.int64]) -> SetSums:
    """Return sums of 0 relative to some exponents."""
    n_sets = len(exponent)
    return SetSums(np.zeros(n_sets), np.zeros(n_sets), np.zeros(n_sets), exponent)


def scratch_space(n: int) -> Scratch:
    """Return the scratch space of a thread, for n variables."""
    return Scratch(
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        *np.zeros((4, n)),
        *np.zeros((4, 2 << n), np.int64),
        *np.zeros((9, 2 << n)),
    )


@in_place_kernel
def add_shards(
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
            at = squeezed(members, i)
            scratch.variable[n_beyond] = i
            scratch.factor[n_beyond] = sums.high[i, at]
            scratch.factor_low[n_beyond] = sums.low[i, at]
            scratch.exponent[n_beyond] = sums.exponent[i, at]
            n_beyond += 1
    return n_beyond


@in_place_kernel
def list_supersets(
    members: int, exponent: int, n_early: int, n_beyond: int, scratch: Scratch
) -> None:
    """List the sets of early variables, those of late ones, and the exponents of their weights.

    Those of late variables hold the set itself, too, and its exponent.
    """
    scratch.union[0] = 0
    scratch.shift[0] = 0
    _list_sets(0, n_early, scratch.union, scratch.shift, scratch)
    scratch.late_union[0] = members
    scratch.late_shift[0] = exponent
    _list_sets(n_early, n_beyond, scratch.late_union, scratch.late_shift, scratch)


@in_place_kernel
def _list_sets(
    begin: int,
    end: int,
    union: NDArray[np.int64],
    shift: NDArray[np.int64],
    scratch: Scratch,
) -> None:
    """List the sets of some of the variables beyond, each with the first entry added."""
    half = 1
    for j in range(begin, end):
        bit = 1 << scratch.variable[j]
        exponent = scratch.exponent[j]
        for t in range(half):
            union[half + t] = union[t] | bit
            shift[half + t] = shift[t] + exponent
        half <<= 1


@in_place_kernel
def gather_terms(
    late: int,
    n_terms: int,
    begin: int,
    rounding: float,
    outer: SetSums,
    powers: NDArray[np.float64],
    scratch: Scratch,
) -> None:
    """Write ``outer(S + T)`` of a block, relative to the weights of T, from a place on.

    Their errors grow by ``rounding`` times the terms.
    """
    members = scratch.late_union[late]
    late_shift = scratch.late_shift[late]
    for t in range(n_terms):
        union = np.uint64(members | scratch.union[t])
        shift = late_shift + scratch.shift[t] + outer.exponent[union]
        scale = power_of_two(shift, powers)
        high = outer.high[union] * scale
        scratch.high[begin + t] = high
        scratch.low[begin + t] = outer.low[union] * scale
        scratch.error[begin + t] = outer.error[union] * scale + high * rounding


@in_place_kernel
def spread(
    sets: NDArray[np.int64],
    sums: ParentSums,
    inner: SetSums,
    shard: SetSums,
    powers: NDArray[np.float64],
    scratch: Scratch,
) -> None:
    """Add to ``inner(S + T)`` the terms of some sets S of one size, for all T."""
    n = len(sums.high)
    for members in sets:
        n_beyond = look_beyond(members, sums, scratch)
        n_early = min(n_beyond, MAX_EARLY)
        n_late = n_beyond - n_early
        list_supersets(members, inner.exponent[members], n_early, n_beyond, scratch)
        # the products over early variables and those over late ones, with their signs
        sum_high = inner.high[members]
        scratch.high[0] = -sum_high
        scratch.low[0] = -inner.low[members]
        _append_products(0, n_early, scratch.high, scratch.low, scratch)
        scratch.copy_high[0] = 1.0
        scratch.copy_low[0] = 0.0
        _append_products(n_early, n_late, scratch.copy_high, scratch.copy_low, scratch)
        # bounds on rounding of the terms, and of the sums of 2 ** |S + T| terms
        of_product = n_beyond * (PRODUCT_ERROR + SUM_ERROR * n) * UNIT_SQUARE
        of_sum = 2.0 * SUM_ERROR * UNIT_SQUARE * (1 << (n - n_beyond))
        scratch.error[0] = inner.error[members] + sum_high * of_product
        scratch.sum_error[0] = sum_high * of_sum
        for j in range(n_early):
            factor = scratch.factor[j]
            half = 1 << j
            for t in range(half):
                scratch.error[half + t] = scratch.error[t] * factor
                scratch.sum_error[half + t] = scratch.sum_error[t] * (2.0 * factor)
        for late in range(1 << n_late):
            _add_block(late, 1 << n_early, inner.exponent, shard, powers, scratch)


@in_place_kernel
def _append_products(
    first: int,
    n_variables: int,
    high: NDArray[np.float64],
    low: NDArray[np.float64],
    scratch: Scratch,
) -> None:
    """Write the products over all sets of some of the variables beyond behind a first number."""
    for j in range(n_variables):
        append_multiples(
            high,
            low,
            1 << j,
            -scratch.factor[first + j],
            -scratch.factor_low[first + j],
        )


@in_place_kernel
def _add_block(
    late: int,
    n_terms: int,
    exponent: NDArray[np.int64],
    shard: SetSums,
    powers: NDArray[np.float64],
    scratch: Scratch,
) -> None:
    """Add the terms of a block to the sums of its supersets, relative to their exponents."""
    members = scratch.late_union[late]
    late_shift = scratch.late_shift[late]
    for t in range(n_terms):
        union = np.uint64(members | scratch.union[t])
        shift = late_shift + scratch.shift[t] - exponent[union]
        scratch.scale[t] = power_of_two(shift, powers)
        scratch.part_high[t] = shard.high[union]
        scratch.part_low[t] = shard.low[union]
    # the products over all variables, behind those over early ones
    append_multiples(
        scratch.high,
        scratch.low,
        n_terms,
        scratch.copy_high[late],
        scratch.copy_low[late],
    )
    add_multiples(
        scratch.part_high,
        scratch.part_low,
        scratch.high[n_terms:],
        scratch.low[n_terms:],
        scratch.scale,
        n_terms,
    )
    factor = abs(scratch.copy_high[late])
    sum_factor = factor * (1 << _size(late))
    # the set itself gets no term
    for t in range(late == 0, n_terms):
        union = np.uint64(members | scratch.union[t])
        shard.high[union] = scratch.part_high[t]
        shard.low[union] = scratch.part_low[t]
        bound = scratch.error[t] * factor + scratch.sum_error[t] * sum_factor
        shard.error[union] += bound * scratch.scale[t]


@in_place_kernel
def _size(members: int) -> int:
    """Return the number of members of a set."""
    size = 0
    while members:
        members &= members - 1
        size += 1
    return size


@in_place_kernel
def extend(
    sets: NDArray[np.int64],
    sums: ParentSums,
    outer: SetSums,
    powers: NDArray[np.float64],
    scratch: Scratch,
    only_root: NDArray[np.float64],
) -> None:
    """Sum the extensions of some sets, each after its supersets.

    ``only_root`` gets the sums of those of which each variable is the only root, without its
    factor, relative to the exponents of the sets, shape (sets, n).
    """
    n = len(sums.high)
    high = scratch.high
    low = scratch.low
    for place in range(len(sets)):
        members = sets[place]
        n_beyond = look_beyond(members, sums, scratch)
        n_early = min((n_beyond + 1) // 2, MAX_EARLY)
        n_late = n_beyond - n_early
        list_supersets(members, -outer.exponent[members], n_early, n_beyond, scratch)
        # the late variables summed out, and from copies the early ones; then all of them
        of_sum = n_beyond * (PRODUCT_ERROR + SUM_ERROR * (n + 1)) * UNIT_SQUARE
        _sum_blocks(n_early, n_late, of_sum, outer, powers, scratch)
        roots = only_root[place]
        _sum_only_roots(high, low, 0, n_early, scratch, roots)
        _sum_only_roots(
            scratch.copy_high, scratch.copy_low, n_early, n_late, scratch, roots
        )
        for j in range(n_early - 1, -1, -1):
            _add_bounds(scratch.error, 1 << j, scratch.factor[j])
        outer.high[members] = -high[0]
        outer.low[members] = -low[0]
        outer.error[members] = scratch.error[0]


@in_place_kernel
def _sum_blocks(
    n_early: int,
    n_late: int,
    rounding: float,
    outer: SetSums,
    powers: NDArray[np.float64],
    scratch: Scratch,
) -> None:
    """Sum the late variables out of all blocks, and the early ones out of copies.

    Blocks come in the order of their sets of late variables. Where a set has none of some variable,
    its block waits for the one with that variable, and stands before it: as many blocks wait as the
    set has members.
    """
    n_terms = 1 << n_early
    n_first = min(n_early, MAX_FIRST)
    begin = 0
    for late in range(1 << n_late):
        gather_terms(late, n_terms, begin, rounding, outer, powers, scratch)
        # the set itself is no extension
        if late == 0:
            scratch.high[0] = 0.0
            scratch.low[0] = 0.0
            scratch.error[0] = 0.0
        # a copy, of which the first variables are left
        copy_terms(scratch.high, scratch.low, begin, n_terms, scratch)
        _sum_out(scratch.part_high, scratch.part_low, n_first, n_early, 0, scratch)
        for t in range(1 << n_first):
            at = (t << n_late) | late
            scratch.copy_high[at] = scratch.part_high[t]
            scratch.copy_low[at] = scratch.part_low[t]
        # the late variables for which blocks have waited
        j = n_early
        while (late >> (j - n_early)) & 1:
            begin -= n_terms
            subtract_multiple(
                scratch.high[begin:],
                scratch.low[begin:],
                n_terms,
                scratch.factor[j],
                scratch.factor_low[j],
            )
            _add_bounds(scratch.error[begin:], n_terms, scratch.factor[j])
            j += 1
        begin += n_terms
    _sum_out(scratch.copy_high, scratch.copy_low, 0, n_first, n_late, scratch)


@in_place_kernel
def _sum_out(
    high: NDArray[np.float64],
    low: NDArray[np.float64],
    begin: int,
    end: int,
    lowest: int,
    scratch: Scratch,
) -> None:
    """Sum some variables out of terms, in which variable 0 is bit ``lowest``."""
    for j in range(end - 1, begin - 1, -1):
        subtract_multiple(
            high, low, 1 << (lowest + j), scratch.factor[j], scratch.factor_low[j]
        )


@in_place_kernel
def _add_bounds(error: NDArray[np.float64], step: int, factor: float) -> None:
    """Add to the first ``step`` bounds multiples of the next ``step`` ones."""
    for t in range(step):
        error[t] += factor * error[t + step]


@in_place_kernel
def copy_terms(
    high: NDArray[np.float64],
    low: NDArray[np.float64],
    begin: int,
    n_terms: int,
    scratch: Scratch,
) -> None:
    """Copy terms to where they can be summed up."""
    for t in range(n_terms):
        scratch.part_high[t] = high[begin + t]
        scratch.part_low[t] = low[begin + t]


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

    All other variables are summed out of the terms; then these are, too.
    """
    for j in range(first + n_variables - 1, first - 1, -1):
        # the terms that have the variable, without its factor, and the others summed out
        half = 1 << (j - first)
        copy_terms(high, low, half, half, scratch)
        _sum_out(scratch.part_high, scratch.part_low, first, j, -first, scratch)
        only_root[scratch.variable[j]] = scratch.part_high[0]
        # the variable summed out
        subtract_multiple(high, low, half, scratch.factor[j], scratch.factor_low[j])
