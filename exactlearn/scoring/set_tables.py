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
from exactlearn._runtime.offsets import offsets
from exactlearn.bayesnet.missing_parts import SubsetPosteriors

LARGEST_EXACT_TOTAL = 2.0**53
"""Up to this total, sums and differences of whole weights are exact."""


class MissingCells(NamedTuple):
    """The missing cells of rows.

    Attributes
    ----------
    part, place
        The part of the row that each cell is in, -1 where it is observed, and the cell's place
        among the part's variables, shape (variables, rows) each.
    entries
        Largest number of entries of all rows for a prefix of each size, shape (sizes,).
    posteriors
        Joint posteriors of the sets of missing variables of the parts.
    """

    part: NDArray[np.int32]
    place: NDArray[np.int16]
    entries: NDArray[np.int64]
    posteriors: SubsetPosteriors


class Rows(NamedTuple):
    """Distinct rows, by column, with the rows that deviate from each column's common state.

    Attributes
    ----------
    codes, weights, total
        States, -1 where missing, shape (variables, rows), the weight of each row, and of all.
    cardinalities, common
        Number of states of each variable, and its most common state, shape (variables,) each.
    deviant_first, deviants
        Where the rows that deviate from each variable's common state begin, shape (variables + 1,),
        and these rows.
    subtract
        Whether the cells of the common state follow by subtraction.
    missing
        ``None`` where all cells are observed; only Python code looks at it.
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
    """Configurations of a growing prefix of variables, and scratch space of the kernels.

    Attributes
    ----------
    variables, depth
        The variables of the prefix, shape (largest depth,), and their number, shape (1,).
    sizes, totals
        Number of configurations of the first variables, shape (depths,), and the weight of each
        configuration, shape (depths, configurations).
    ids
        The configuration of each row, or entry, at each depth, shape (depths, rows).
    table
        Weights of the cells of the prefix with one more variable, all 0 between two counts.
    counts
        The counts of the set counted last that are not 0.
    numbers
        The number of each configuration among the observed ones.
    """

    variables: NDArray[np.int64]
    sizes: NDArray[np.int64]
    ids: NDArray[np.int32]
    totals: NDArray[np.float64]
    table: NDArray[np.float64]
    counts: NDArray[np.float64]
    numbers: NDArray[np.int32]
    depth: NDArray[np.int64]


class Entries(NamedTuple):
    """The missing cells, and the entries at each depth of a stack, row by row.

    Kernels take ``None`` where all cells are observed, and then compile nothing of this.

    Attributes
    ----------
    missing
        The missing cells.
    first
        Where the entries of each row begin, shape (depths, rows + 1).
    weight, state, below
        The weight of each entry, its state of the variable pushed last, and the entry at the depth
        below that it extends, shape (depths, entries) each.
    """

    missing: MissingCells
    first: NDArray[np.int64]
    weight: NDArray[np.float64]
    state: NDArray[np.int16]
    below: NDArray[np.int32]


class Space(NamedTuple):
    """Scratch space that one thread counts in."""

    stack: Stack
    entries: Entries | None


def set_states(
    cardinalities: NDArray[np.int64], sets: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return the number of states of each element, 1 for padding, shape (sets, elements)."""
    return np.where(sets < 0, 1, cardinalities[sets]).astype(np.float64)


def set_sizes(
    cardinalities: NDArray[np.int64], sets: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return the number of configurations of each set, shape (sets,)."""
    return np.asarray(set_states(cardinalities, sets).prod(axis=1))


def index_rows(
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
    cardinalities: NDArray[np.int64],
    missing: MissingCells | None = None,
) -> Rows:
    """Return rows with each column's most common state and the rows that deviate from it.

    Weights that are not whole numbers forbid subtraction, whose rounding would turn empty cells
    into nearly empty ones; then every row is listed as deviant.
    """
    total = float(weights.sum())
    are_whole = bool((weights == np.floor(weights)).all())
    is_exact = are_whole and total < LARGEST_EXACT_TOTAL
    # Counts of the common state are what the deviant rows leave of the totals.
    common = []
    deviants = []
    for column, r in zip(codes, cardinalities.tolist(), strict=True):
        state_weights = np.bincount(np.maximum(column, 0), weights, r)
        state = int(state_weights.argmax())
        is_deviant = column != state if is_exact else np.ones(len(column), np.bool_)
        common.append(state)
        deviants.append(np.flatnonzero(is_deviant).astype(np.int32))
    return Rows(
        codes=codes,
        weights=weights,
        total=total,
        cardinalities=cardinalities,
        common=np.array(common, np.int64),
        deviant_first=offsets([*map(len, deviants)]),
        deviants=np.concatenate([np.zeros(0, np.int32), *deviants]),
        subtract=is_exact,
        missing=missing,
    )


def counting_space(rows: Rows, depth: int, *, every: bool = False) -> Space:
    """Return space to count sets of up to ``depth`` variables.

    With ``every``, configurations that no row has are numbered as well.
    """
    missing = rows.missing
    n_rows = len(rows.weights)
    # The sets of the most states bound all tables.
    falling = np.sort(rows.cardinalities)[::-1]
    largest = falling[:depth].astype(np.float64)
    # Of complete rows the last variable of a set is counted, not pushed.
    if missing is None:
        n_entries = n_rows
        configurations = float(largest[:-1].prod())
    else:
        n_entries = int(missing.entries[depth])
        configurations = float(largest.prod())
    if not every:
        configurations = min(n_entries, configurations)
    width = max(1, int(configurations))
    cells = width * int(largest.max(initial=1))
    shape = (depth + 1, n_entries)
    # One plane for each length of a prefix, from none to all variables.
    stack = Stack(
        variables=np.full(depth, -1, np.int64),
        sizes=np.ones(depth + 1, np.int64),
        ids=np.zeros(shape, np.int32),
        totals=np.zeros((depth + 1, width)),
        table=np.zeros(cells),
        counts=np.zeros(min(n_entries, cells)),
        numbers=np.zeros(cells, np.int32),
        depth=np.zeros(1, np.int64),
    )
    stack.totals[0, 0] = rows.total
    if missing is None:
        return Space(stack, None)
    # The empty prefix has one entry for each row, of its whole weight.
    entries = Entries(
        missing=missing,
        first=np.zeros((depth + 1, n_rows + 1), np.int64),
        weight=np.empty(shape),
        state=np.empty(shape, np.int16),
        below=np.empty(shape, np.int32),
    )
    entries.first[0] = np.arange(n_rows + 1)
    entries.weight[0, :n_rows] = rows.weights
    return Space(stack, entries)


@in_place_kernel
def _joint_posteriors(
    missing: MissingCells,
    stack: Stack,
    depth: int,
    variable: int,
    row: int,
) -> tuple[int, int]:
    """Return where the posteriors that a missing cell is conditioned by begin.

    Returns
    -------
    prefix, joint
        Where the joint posterior of the prefix's variables in the cell's part begins, -1 where
        there are none, and that of these variables with the cell.
    """
    posteriors = missing.posteriors
    part = missing.part[variable, row]
    prefix = -1
    first_child = posteriors.first[part]
    for d in range(depth):
        earlier = stack.variables[d]
        # Only variables of the same part depend on the cell given the row.
        if missing.part[earlier, row] == part:
            node = first_child + missing.place[earlier, row]
            prefix = posteriors.begin[node]
            first_child = posteriors.child[node]
    return prefix, posteriors.begin[first_child + missing.place[variable, row]]


@in_place_kernel
def _configuration_in_part(
    rows: Rows,
    stack: Stack,
    entries: Entries,
    depth: int,
    entry: int,
    row: int,
    part: int,
) -> int:
    """Return the number of an entry's configuration of the prefix's variables in one part."""
    number = 0
    stride = 1
    # From the last variable back, each entry leads to the one that it extends.
    for d in range(depth, 0, -1):
        variable = stack.variables[d - 1]
        if entries.missing.part[variable, row] == part:
            number += stride * entries.state[d, entry]
            stride *= rows.cardinalities[variable]
        entry = entries.below[d, entry]
    return number


@in_place_kernel
def _clear_totals(stack: Stack, depth: int, cells: int) -> None:
    """Empty the totals at a depth; where there is no room for all cells, none has a number yet."""
    width = stack.totals.shape[1]
    is_numbered = cells > width
    stack.sizes[depth] = 0 if is_numbered else cells
    for c in range(cells):
        stack.numbers[c] = -1 if is_numbered else c
    for c in range(min(cells, width)):
        stack.totals[depth, c] = 0.0


@in_place_kernel
def _add_entry(
    stack: Stack,
    entries: Entries,
    depth: int,
    below: int,
    r: int,
    state: int,
    weight: float,
    n: int,
) -> int:
    """Extend an entry by one of ``r`` states, and add up the weight of its configuration.

    Returns the number of entries at this depth, which was ``n``: an entry of weight 0 is left out.
    """
    if weight <= 0.0:
        return n
    # A configuration that no entry had gets the next number.
    cell = stack.ids[depth - 1, below] * r + state
    if stack.numbers[cell] < 0:
        stack.numbers[cell] = stack.sizes[depth]
        stack.sizes[depth] += 1
    # The weight joins the configuration; the entry keeps the way back.
    number = stack.numbers[cell]
    stack.totals[depth, number] += weight
    stack.ids[depth, n] = number
    entries.weight[depth, n] = weight
    entries.state[depth, n] = state
    entries.below[depth, n] = below
    return n + 1


@in_place_kernel
def _push_entries(
    rows: Rows,
    stack: Stack,
    entries: Entries,
    depth: int,
    variable: int,
) -> None:
    """Extend the entries by a variable, and add up the totals of configurations.

    Where configurations outnumber the space for them, those that entries have are numbered as they
    come.
    """
    missing = entries.missing
    probability = missing.posteriors.probability
    r = rows.cardinalities[variable]
    column = rows.codes[variable]
    above = depth + 1
    _clear_totals(stack, above, stack.sizes[depth] * r)
    n = 0
    for row in range(len(column)):
        begin = entries.first[depth, row]
        end = entries.first[depth, row + 1]
        # An observed cell has one state; a missing one may have each.
        if column[row] >= 0:
            for entry in range(begin, end):
                weight = entries.weight[depth, entry]
                n = _add_entry(
                    stack,
                    entries,
                    above,
                    entry,
                    r,
                    column[row],
                    weight,
                    n,
                )
        else:
            part = missing.part[variable, row]
            prefix, joint = _joint_posteriors(missing, stack, depth, variable, row)
            for entry in range(begin, end):
                # P(state | observed, prefix) = P(prefix, state | observed) / P(prefix | observed)
                weight = entries.weight[depth, entry]
                first = joint
                if prefix >= 0:
                    place = _configuration_in_part(
                        rows,
                        stack,
                        entries,
                        depth,
                        entry,
                        row,
                        part,
                    )
                    weight /= probability[prefix + place]
                    first += place * r
                for k in range(r):
                    posterior = weight * probability[first + k]
                    n = _add_entry(stack, entries, above, entry, r, k, posterior, n)
        entries.first[above, row + 1] = n


@in_place_kernel
def _count(
    rows: Rows,
    stack: Stack,
    depth: int,
    variable: int,
) -> int:
    """Count the prefix's configurations by the states of one more variable, in the table.

    Returns the number of cells.
    """
    # The rows that deviate from the variable's most common state.
    r = rows.cardinalities[variable]
    ids = stack.ids[depth]
    column = rows.codes[variable]
    begin = rows.deviant_first[variable]
    end = rows.deviant_first[variable + 1]
    for t in range(begin, end):
        row = rows.deviants[t]
        cell = ids[row] * r + column[row]
        stack.table[cell] += rows.weights[row]
    # What they leave of a configuration has that state.
    common = rows.common[variable]
    for c in range(stack.sizes[depth] if rows.subtract else 0):
        remaining = stack.totals[depth, c]
        for k in range(r):
            remaining -= stack.table[c * r + k]
        stack.table[c * r + common] = max(remaining, 0.0)
    return int(stack.sizes[depth] * r)


@in_place_kernel
def _push_rows(
    rows: Rows,
    stack: Stack,
    depth: int,
    variable: int,
) -> None:
    """Extend the prefix by a variable of complete rows, and number their configurations."""
    totals = stack.totals[depth + 1]
    cells = _count(rows, stack, depth, variable)
    is_numbered = cells > len(totals)
    # The table becomes the totals of the configurations, and is cleared.
    n = 0
    for c in range(cells):
        if stack.table[c] > 0 or not is_numbered:
            totals[n] = stack.table[c]
            stack.numbers[c] = n
            n += 1
        stack.table[c] = 0
    stack.sizes[depth + 1] = n
    # Each row gets the number of its cell.
    r = rows.cardinalities[variable]
    ids = stack.ids[depth]
    extended_ids = stack.ids[depth + 1]
    column = rows.codes[variable]
    for row in range(len(column)):
        cell = ids[row] * r + column[row]
        extended_ids[row] = stack.numbers[cell]


@in_place_kernel
def count_set(
    subset: NDArray[np.integer],
    rows: Rows,
    stack: Stack,
    entries: Entries | None,
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
        counts become the totals of the whole set, of complete ones those in the table.
    """
    top = len(subset) - 1
    # The prefix that the last set shares is counted already.
    same = 0
    deepest = min(top, stack.depth[0])
    while same < deepest and stack.variables[same] == subset[top - same]:
        same += 1
    # Of incomplete rows the first element is pushed as well.
    n_pushed = top if entries is None else top + 1
    for depth in range(same, n_pushed):
        variable = subset[top - depth]
        if entries is None:
            _push_rows(rows, stack, depth, variable)
        else:
            _push_entries(rows, stack, entries, depth, variable)
        stack.variables[depth] = variable
    stack.depth[0] = top
    if entries is None:
        _count(rows, stack, top, subset[0])


@in_place_kernel
def take_counts(
    rows: Rows,
    stack: Stack,
    entries: Entries | None,
    depth: int,
    variable: int,
) -> int:
    """List the counts of the last set that are not 0 in the stack, and clear its table.

    Returns the number of these counts.
    """
    # Complete rows are counted in the table, incomplete ones in the totals.
    if entries is None:
        table = stack.table
        cells = stack.sizes[depth] * rows.cardinalities[variable]
    else:
        table = stack.totals[depth + 1]
        cells = stack.sizes[depth + 1]
    n_counts = 0
    for c in range(cells):
        if table[c] > 0:
            stack.counts[n_counts] = table[c]
            n_counts += 1
            table[c] = 0
    return n_counts
