"""Contingency tables of one set of variables after another, counted along a stack.

The rows carry the number of their configuration of the current prefix of variables. One more
variable then only visits the rows that deviate from its most common state; the cells of that state
follow by subtraction (the idea of AD-trees: Moore and Lee 1998, "Cached sufficient statistics").
Configurations are renumbered to the observed ones whenever they outnumber the rows, so memory does
not depend on cardinalities.

Of incomplete rows the tables hold expected counts
(:mod:`exactlearn.scoring.expected_counts`): each row splits into *entries*, one for each
configuration of its missing cells in the prefix, weighted by their joint posterior.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel
from exactlearn.bayesnet.missing_parts import SubsetPosteriors

LARGEST_EXACT_TOTAL = 2.0**53
"""Up to this total, sums and differences of whole weights are exact."""


class MissingCells(NamedTuple):
    """The missing cells of rows.

    Their parts, -1 where the cell is observed, and where each is among its part's variables, both
    of shape (variables, rows); the most entries of all rows for a prefix of each size; the
    posteriors.
    """

    part: NDArray[np.int32]
    place: NDArray[np.int16]
    entries: NDArray[np.int64]
    posteriors: SubsetPosteriors


class Rows(NamedTuple):
    """Distinct rows, by column, with the rows that deviate from each column's common state.

    ``missing`` is ``None`` where all cells are observed; only Python code looks at it.
    """

    codes: NDArray[np.int16]
    weights: NDArray[np.float64]
    total: float
    cardinalities: NDArray[np.int64]
    common: NDArray[np.int64]
    deviant_first: NDArray[np.int64]
    deviants: NDArray[np.int32]
    subtract: bool
    missing: MissingCells | None


class Stack(NamedTuple):
    """Configurations of a growing prefix of variables, and scratch space of the kernels."""

    variables: NDArray[np.int64]
    sizes: NDArray[np.int64]
    ids: NDArray[np.int32]
    totals: NDArray[np.float64]
    table: NDArray[np.float64]
    rest: NDArray[np.float64]
    counts: NDArray[np.float64]
    numbers: NDArray[np.int32]
    depth: NDArray[np.int64]


class Entries(NamedTuple):
    """The missing cells, and the entries at each depth of a stack, row by row.

    Where those of each row begin, shape (depths, rows + 1); and, of shape (depths, entries) each,
    the weight, the state of the variable pushed last, and the entry below that each one extends.
    Kernels take ``None`` where all cells are observed, and then compile nothing of this.
    """

    missing: MissingCells
    first: NDArray[np.int64]
    weight: NDArray[np.float64]
    state: NDArray[np.int16]
    below: NDArray[np.int32]


class Space(NamedTuple):
    """What one thread counts in."""

    stack: Stack
    entries: Entries | None


def index_rows(
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
    cardinalities: NDArray[np.int64],
    missing: MissingCells | None = None,
) -> Rows:
    """Find each column's most common state and the rows that deviate from it.

    Weights that are not whole numbers forbid subtraction, whose rounding would turn empty cells
    into nearly empty ones; then every row is listed as deviant.
    """
    total = float(weights.sum())
    is_whole = bool((weights == np.floor(weights)).all()) and total < LARGEST_EXACT_TOTAL
    common = []
    deviants = []
    for column, r in zip(codes, cardinalities.tolist(), strict=True):
        common.append(int(np.bincount(np.maximum(column, 0), weights, r).argmax()))
        listed = column != common[-1] if is_whole else np.ones(len(column), np.bool_)
        deviants.append(np.flatnonzero(listed).astype(np.int32))
    return Rows(
        codes,
        weights,
        total,
        cardinalities,
        np.array(common, np.int64),
        np.cumsum([0, *map(len, deviants)]).astype(np.int64),
        np.concatenate([np.zeros(0, np.int32), *deviants]),
        is_whole,
        missing,
    )


def counting_space(rows: Rows, depth: int, *, every: bool = False) -> Space:
    """Allocate space to count sets of up to ``depth`` variables.

    Configurations that no row has are numbered as well where ``every`` says so.
    """
    missing = rows.missing
    n = rows.codes.shape[1]
    largest = np.sort(rows.cardinalities)[::-1][:depth].astype(np.float64)
    most = np.prod(largest[:-1])
    if missing is not None:  # the whole set is pushed
        n = int(missing.entries[depth])
        most = np.prod(largest)
    width = max(1, int(most if every else min(n, most)))
    cells = width * int(largest.max(initial=1))
    stack = Stack(
        np.full(depth, -1, np.int64),
        np.ones(depth + 1, np.int64),
        np.zeros((depth + 1, n), np.int32),
        np.zeros((depth + 1, width)),
        np.zeros(cells),
        np.zeros(width),
        np.zeros(min(n, cells)),
        np.zeros(cells, np.int32),
        np.zeros(1, np.int64),
    )
    stack.totals[0, 0] = rows.total
    if missing is None:
        return Space(stack, None)
    shape = (depth + 1, n)
    n_rows = len(rows.weights)
    entries = Entries(
        missing,
        np.zeros((depth + 1, n_rows + 1), np.int64),
        np.empty(shape),
        np.empty(shape, np.int16),
        np.empty(shape, np.int32),
    )
    entries.first[0] = np.arange(n_rows + 1)
    entries.weight[0, :n_rows] = rows.weights
    return Space(stack, entries)


@in_place_kernel
def _push_entries(
    rows: Rows, stack: Stack, entries: Entries, depth: int, variable: int, is_last: bool
) -> int:
    """Extend the entries by a variable, unless it is the last, and add up configurations' totals.

    Where configurations are numbered, those that entries have are, as they come.

    Returns
    -------
    int
        How many configurations there are.
    """
    missing, first, weight, state, below = entries
    part = missing.part
    posteriors = missing.posteriors
    variables = stack.variables
    r = rows.cardinalities[variable]
    column = rows.codes[variable]
    ids = stack.ids[depth]
    totals = stack.totals[depth + 1]
    cells = stack.sizes[depth] * r
    observed = 0
    n = 0
    is_numbered = cells > len(totals)
    for c in range(cells):
        stack.numbers[c] = -1 if is_numbered else c
    for c in range(min(cells, len(totals))):
        totals[c] = 0.0
    for row in range(len(column)):
        code = column[row]
        node = -1
        begin = 0
        if code < 0:
            # The set of the prefix's variables in the cell's part, and that with the cell.
            before = posteriors.first[part[variable, row]]
            for d in range(depth):
                if part[variables[d], row] == part[variable, row]:
                    node = before + missing.place[variables[d], row]
                    before = posteriors.child[node]
            begin = posteriors.begin[before + missing.place[variable, row]]
        for e in range(first[depth, row], first[depth, row + 1]):
            share = weight[depth, e]
            place = 0
            stride = 1
            at = e
            if node >= 0:
                for d in range(depth, 0, -1):
                    if part[variables[d - 1], row] == part[variable, row]:
                        place += stride * state[d, at]
                        stride *= rows.cardinalities[variables[d - 1]]
                    at = below[d, at]
                share /= posteriors.probability[posteriors.begin[node] + place]
            for k in range(max(code, 0), r if code < 0 else code + 1):
                new = share
                if code < 0:
                    new *= posteriors.probability[begin + place * r + k]
                if new > 0.0:
                    cell = ids[e] * r + k
                    if stack.numbers[cell] < 0:
                        stack.numbers[cell] = observed
                        observed += 1
                    cell = stack.numbers[cell]
                    totals[cell] += new
                    if not is_last:
                        stack.ids[depth + 1, n] = cell
                        weight[depth + 1, n] = new
                        state[depth + 1, n] = k
                        below[depth + 1, n] = e
                        n += 1
        first[depth + 1, row + 1] = n
    return observed if is_numbered else cells


@in_place_kernel
def _count(rows: Rows, stack: Stack, depth: int, variable: int) -> None:
    """Count the prefix's configurations by the states of one more variable, deviant rows only."""
    r = rows.cardinalities[variable]
    ids = stack.ids[depth]
    column = rows.codes[variable]
    for t in range(rows.deviant_first[variable], rows.deviant_first[variable + 1]):
        row = rows.deviants[t]
        stack.table[ids[row] * r + column[row]] += rows.weights[row]


@in_place_kernel
def _fill_common(rows: Rows, stack: Stack, depth: int, variable: int) -> None:
    """Fill in the cells of the variable's most common state."""
    if not rows.subtract:
        return
    r = rows.cardinalities[variable]
    common = rows.common[variable]
    for c in range(stack.sizes[depth]):
        rest = stack.totals[depth, c]
        for k in range(r):
            rest -= stack.table[c * r + k]
        stack.table[c * r + common] = max(rest, 0.0)


@in_place_kernel
def _push_rows(rows: Rows, stack: Stack, depth: int, variable: int) -> int:
    """Count a variable, and number the rows' configurations; return how many there are."""
    r = rows.cardinalities[variable]
    n = rows.codes.shape[1]
    column = rows.codes[variable]
    cells = stack.sizes[depth] * r
    old = stack.ids[depth]
    new = stack.ids[depth + 1]
    totals = stack.totals[depth + 1]
    is_numbered = cells > len(totals)
    observed = 0
    _count(rows, stack, depth, variable)
    _fill_common(rows, stack, depth, variable)
    for c in range(cells):
        if stack.table[c] > 0 or not is_numbered:
            totals[observed] = stack.table[c]
            stack.numbers[c] = observed
            observed += 1
        stack.table[c] = 0
    for row in range(n):
        cell = old[row] * r + column[row]
        new[row] = stack.numbers[cell] if is_numbered else cell
    return observed


@in_place_kernel
def count_set(
    subset: NDArray[np.integer], rows: Rows, stack: Stack, entries: Entries | None
) -> None:
    """Count a set of variables, for :func:`take_counts`.

    Parameters
    ----------
    subset
        Increasing places of variables, at least one; the stack's prefix becomes all of them but the
        first, the last one lowest. Consecutive calls are fast when the sets differ in their first
        elements only.
    rows, stack, entries
        The data, and scratch space that remembers the last set. Of incomplete rows the expected
        counts become the totals of the whole set, of complete ones the table has those of deviant
        rows.
    """
    top = len(subset) - 1
    same = 0
    while same < min(top, stack.depth[0]) and stack.variables[same] == subset[top - same]:
        same += 1
    for depth in range(same, top if entries is None else top + 1):
        variable = subset[top - depth]
        if entries is None:
            stack.sizes[depth + 1] = _push_rows(rows, stack, depth, variable)
        else:
            is_last = depth == top
            stack.sizes[depth + 1] = _push_entries(rows, stack, entries, depth, variable, is_last)
        stack.variables[depth] = variable
    stack.depth[0] = top
    if entries is None:
        _count(rows, stack, top, subset[0])


@in_place_kernel
def take_counts(
    rows: Rows, stack: Stack, entries: Entries | None, depth: int, variable: int
) -> tuple[int, float]:
    """List the counts of the last set that are not 0 in the stack, and clear its table.

    Where few rows deviate only the cells that these touched are looked at.

    Returns
    -------
    found, draws
        Number of observed configurations, and the same where one that weighs less than one row
        counts by its weight.
    """
    r = rows.cardinalities[variable]
    size = stack.sizes[depth]
    found = 0
    draws = 0.0
    first = rows.deviant_first[variable]
    last = rows.deviant_first[variable + 1]
    ids = stack.ids[depth]
    column = rows.codes[variable]
    rest = stack.rest
    table = stack.table
    is_sparse = False
    cells = size * r
    if entries is not None:
        table = stack.totals[depth + 1]
        cells = stack.sizes[depth + 1]
    elif size * r <= 2 * (last - first):
        _fill_common(rows, stack, depth, variable)
    else:
        is_sparse = True
        cells = last - first
        for c in range(size):
            rest[c] = stack.totals[depth, c]
    for t in range(cells):
        row = rows.deviants[first + t] if is_sparse else 0
        cell = ids[row] * r + column[row] if is_sparse else t
        n = table[cell]
        if n > 0:
            stack.counts[found] = n
            table[cell] = 0
            draws += min(n, 1.0)
            found += 1
            if is_sparse:
                rest[ids[row]] -= n
    for c in range(size if rows.subtract and is_sparse else 0):
        if rest[c] > 0:
            stack.counts[found] = rest[c]
            draws += min(rest[c], 1.0)
            found += 1
    return found, draws
