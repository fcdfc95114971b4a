"""The sums that sets of variables add to the scores of families, and bounds on these scores.

The score of child ``x`` with parents ``P`` is ``F(P + x) - G(P) - penalty``, with sums ``F`` and
``G`` over the cells of a table each (:mod:`exactlearn.scoring.terms`).

A parent set is *dominated* when a proper subset scores at least as well: it never needs to be
chosen. It is *closed* when every allowed superset is dominated too; closed branches are never
counted. What closes a family are the theorems *Penalty*, *Entropy* and *Distinct cells* of
docs/theory/scoring.md. Comparisons with a bound leave ``slack`` for rounding, so pruning changes
nothing but the time.
"""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel
from exactlearn.scoring.set_tables import Rows, Stack, climb, complete, count
from exactlearn.scoring.terms import Functions, interpolated

SIZE_LIMIT = 2**12
"""Most table sizes to list."""


def table_sizes(cardinalities: NDArray[np.int64], depth: int) -> NDArray[np.float64]:
    """Return the different numbers of cells of tables over ``depth`` variables, increasing.

    Returns nothing when there are more than ``SIZE_LIMIT``.
    """
    products: list[set[float]] = [{1.0}, *(set() for _ in range(depth))]
    for r, available in Counter(cardinalities.tolist()).items():
        for length in range(depth, 0, -1):
            for used in range(1, min(available, length) + 1):
                products[length] |= {p * float(r) ** used for p in products[length - used]}
        if max(map(len, products)) > SIZE_LIMIT:
            return np.zeros(0)
    return np.array(sorted(products[depth]))


@in_place_kernel
def _add(total: float, error: float, value: float) -> tuple[float, float]:
    """Add without rounding error, so that sums do not depend on the order of cells."""
    new = total + value
    taken = new - total
    return new, error + ((total - (new - taken)) + (value - taken))


@in_place_kernel
def sum_counts(functions: Functions, i: int, counts: NDArray[np.float64], n_counts: int) -> float:
    """Return the sum of a function over the first ones of some counts."""
    table, length, total, error = functions.table, functions.length, 0.0, 0.0
    for c in range(n_counts):
        n = counts[c]
        if n > 0:
            whole = int(n)
            if whole == n and whole < length:
                total, error = _add(total, error, table[i, whole])
            else:
                total, error = _add(total, error, interpolated(functions, i, n))
    return total + error


@in_place_kernel
def _take_dense(rows: Rows, stack: Stack, depth: int, variable: int) -> tuple[int, float]:
    """List the counts of the table that are not 0, and clear it."""
    found, draws = 0, 0.0
    for c in range(stack.sizes[depth] * rows.cardinalities[variable]):
        n = stack.table[c]
        if n > 0:
            stack.counts[found] = n
            stack.table[c] = 0
            draws += min(n, 1.0)
            found += 1
    return found, draws


@in_place_kernel
def _take_sparse(rows: Rows, stack: Stack, depth: int, variable: int) -> tuple[int, float]:
    """List the counts of the cells that the deviant rows touched, clear them, and list the rest."""
    r, size, found, draws = rows.cardinalities[variable], stack.sizes[depth], 0, 0.0
    ids, column, rest = stack.ids[depth], rows.codes[variable], stack.rest
    for c in range(size):
        rest[c] = stack.totals[depth, c]
    for t in range(rows.deviant_first[variable], rows.deviant_first[variable + 1]):
        row = rows.deviants[t]
        c = ids[row] * r + column[row]
        n = stack.table[c]
        if n > 0:
            stack.counts[found] = n
            rest[ids[row]] -= n
            stack.table[c] = 0
            draws += min(n, 1.0)
            found += 1
    for c in range(size if rows.subtract else 0):
        if rest[c] > 0:
            stack.counts[found] = rest[c]
            draws += min(rest[c], 1.0)
            found += 1
    return found, draws


@in_place_kernel
def count_set(subset: NDArray[np.int64], rows: Rows, stack: Stack) -> tuple[int, float]:
    """Count the table of a set of variables.

    Parameters
    ----------
    subset
        Increasing variable indices, at least one. Consecutive calls are fast when the sets differ
        in their first elements only.
    rows, stack
        The data, and scratch space that remembers the last set and receives the counts.

    Returns
    -------
    found, draws
        Number of observed configurations, and the same where one that weighs less than one row
        counts by its weight.
    """
    depth, variable = len(subset) - 1, subset[0]
    climb(subset, rows, stack)
    count(rows, stack, depth, variable)
    deviants = rows.deviant_first[variable + 1] - rows.deviant_first[variable]
    cells = stack.sizes[depth] * rows.cardinalities[variable]
    if cells <= 2 * deviants or rows.missing.part.size > 0:
        complete(rows, stack, depth, variable)
        return _take_dense(rows, stack, depth, variable)
    return _take_sparse(rows, stack, depth, variable)


@in_place_kernel
def set_sums(
    subset: NDArray[np.int64],
    rows: Rows,
    stack: Stack,
    functions: Functions,
    numbers: NDArray[np.int64],
    sums: NDArray[np.float64],
) -> float:
    """Sum every form of function over the table of a set of variables.

    Parameters
    ----------
    subset, rows, stack
        As :func:`count_set` takes them.
    functions, numbers
        The functions of counts, and the one of each form for the set's size, shape (forms,).
    sums
        Receives the sums, shape (forms,).

    Returns
    -------
    float
        Number of observed configurations; one that weighs less than one row counts by its weight.
    """
    found, draws = count_set(subset, rows, stack)
    for form in range(len(sums)):
        sums[form] = sum_counts(functions, numbers[form], stack.counts, found)
    return draws


@in_place_kernel
def prefix_sum(depth: int, stack: Stack, functions: Functions, i: int) -> float:
    """Sum function ``i`` over the last set less its first element, from the stack.

    Parameters
    ----------
    depth
        Number of elements of the last set given to :func:`count_set`, less one.
    stack, functions
        As given to :func:`count_set`, and the functions of counts.
    """
    return sum_counts(functions, i, stack.totals[depth], stack.sizes[depth])


@in_place_kernel
def ceiling(rate: float, penalty: float, cells: float) -> float:
    """Bound the scores of a family and of all its supersets from above.

    ``rate`` is what each distinct cell adds at most, ``cells`` at most the number of observed
    configurations of the family, ``penalty`` at most what the family loses by its size.
    """
    return cells * rate - penalty


@in_place_kernel
def lacks_entropy(gain: float, cost: float, r: int, slack: float) -> bool:
    """Return whether a parent with ``r`` states has too little entropy given the others.

    ``gain`` is that entropy, over all rows and as the score weighs it; ``cost`` is the penalty of
    the family with the parent.
    """
    return gain + slack <= cost * (r - 1) / r
