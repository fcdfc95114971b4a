"""Terms of variable sets, whose differences are the scores of families.

Both kinds of scores are differences of one number per *set* of variables. With ``m(S)`` the number
of configurations of ``S`` and ``n_c`` the counts of its contingency table, let

- BDeu: ``F(S) = sum_c lgamma(n_c + a / m(S)) - lgamma(a / m(S))``,
- likelihood: ``F(S) = a * sum_c n_c log n_c``.

Since ``q r`` is the number of configurations of the family, the score of child ``x`` with parents
``P`` is ``F(P + x) - F(P)``, less the penalty. So one table over ``k + 1`` variables serves its
``k + 1`` families, and every table is read once.

Tables are counted along a stack: the rows carry the number of their configuration of the current
prefix of variables, and one more variable only visits the rows that do not have that variable's
most common state; the cells of that state follow by subtraction (the idea of Moore and Lee's
AD-trees, 1998). Configurations are renumbered to the observed ones whenever they outnumber the
rows, so memory does not depend on cardinalities.
"""

import itertools
import math
from collections import Counter
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from exactlearn.kernel import kernel

Weights = NDArray[np.int64] | NDArray[np.float64]


class Rows(NamedTuple):
    """Distinct rows, by column, with the rows that deviate from each column's common state."""

    codes: NDArray[np.int16]
    weights: Weights
    total: float
    cardinalities: NDArray[np.int64]
    common: NDArray[np.int64]
    deviant_first: NDArray[np.int64]
    deviants: NDArray[np.int32]
    subtract: bool


class Stack(NamedTuple):
    """Configurations of a growing prefix of variables, and scratch space of the kernels."""

    variables: NDArray[np.int64]
    sizes: NDArray[np.int64]
    ids: NDArray[np.int32]
    totals: Weights
    table: Weights
    rest: Weights
    numbers: NDArray[np.int32]
    depth: NDArray[np.int64]


class Terms(NamedTuple):
    """A compiled score with its values for small whole counts.

    ``table[i, n]`` is the term of a cell with count ``n`` in a table of ``sizes[i]`` cells.
    """

    kind: int
    a: float
    b: float
    sizes: NDArray[np.float64]
    table: NDArray[np.float64]


def index_rows(
    codes: NDArray[np.int16], weights: Weights, cardinalities: NDArray[np.int64]
) -> Rows:
    """Find each column's most common state and the rows that deviate from it.

    Weights that are not whole numbers forbid subtraction, whose rounding would turn empty cells
    into nearly empty ones; then every row is listed as deviant.
    """
    subtract = bool(np.issubdtype(weights.dtype, np.integer))
    common, deviants = [], []
    for column, r in zip(codes, cardinalities.tolist(), strict=True):
        common.append(int(np.bincount(column, weights, minlength=r).argmax()))
        listed = column != common[-1] if subtract else np.ones(len(column), np.bool_)
        deviants.append(np.flatnonzero(listed).astype(np.int32))
    return Rows(
        codes,
        weights,
        float(weights.sum()),
        cardinalities,
        np.array(common, np.int64),
        np.cumsum([0, *map(len, deviants)]).astype(np.int64),
        np.concatenate([np.zeros(0, np.int32), *deviants]),
        subtract,
    )


def new_stack(rows: Rows, depth: int) -> Stack:
    """Allocate a stack for sets of up to ``depth`` variables."""
    n = rows.codes.shape[1]
    largest = np.sort(rows.cardinalities)[::-1][:depth].astype(np.float64)
    width = max(1, int(min(n, np.prod(largest[:-1]))))
    cells = width * int(largest[0]) if len(largest) else 1
    stack = Stack(
        np.full(depth, -1, np.int64),
        np.ones(depth + 1, np.int64),
        np.zeros((depth + 1, n), np.int32),
        _zeros((depth + 1, width), rows.weights),
        _zeros(cells, rows.weights),
        _zeros(width, rows.weights),
        np.zeros(cells, np.int32),
        np.zeros(1, np.int64),
    )
    stack.totals[0, 0] = rows.weights.sum()
    return stack


def _zeros(shape: int | tuple[int, int], like: Weights) -> Weights:
    return cast(Weights, np.zeros(shape, like.dtype))


def table_sizes(cardinalities: NDArray[np.int64], depth: int) -> NDArray[np.float64]:
    """Return the different numbers of cells of tables over ``depth`` variables, increasing."""
    available = Counter(cardinalities.tolist())
    sizes = {
        float(math.prod(chosen))
        for chosen in itertools.combinations_with_replacement(sorted(available), depth)
        if all(chosen.count(r) <= available[r] for r in set(chosen))
    }
    return np.array(sorted(sizes))


def tabulate_terms(
    compiled: tuple[int, float, float], sizes: NDArray[np.float64], length: int
) -> Terms:
    """Tabulate the terms of counts below ``length`` for tables of these sizes."""
    kind, a, b = compiled
    if kind == 1:
        sizes = np.zeros(0)
    table = np.zeros((max(1, len(sizes)), max(1, length)))
    _fill_terms(kind, a, sizes, table)
    return Terms(kind, a, b, sizes, table)


@kernel
def _exact_term(n: float, kind: int, alpha: float) -> float:
    if n <= 0.0:
        return 0.0
    if kind == 0:
        return math.lgamma(n + alpha) - math.lgamma(alpha)
    return n * math.log(n)


@kernel
def _fill_terms(
    kind: int, a: float, sizes: NDArray[np.float64], table: NDArray[np.float64]
) -> None:
    for i in range(table.shape[0]):
        alpha = a / sizes[i] if kind == 0 else 0.0
        for n in range(table.shape[1]):
            table[i, n] = _exact_term(float(n), kind, alpha)


@kernel
def _term(n: float, kind: int, alpha: float, table: NDArray[np.float64], i: int) -> float:
    whole = int(n)
    if i >= 0 and whole == n and whole < table.shape[1]:
        return float(table[i, whole])
    return _exact_term(float(n), kind, alpha)


@kernel
def _add(total: float, error: float, value: float) -> tuple[float, float]:
    """Add without rounding error, so that terms do not depend on the order of cells."""
    new = total + value
    taken = new - total
    return new, error + ((total - (new - taken)) + (value - taken))


@kernel
def n_cells(subset: NDArray[np.int64], cardinalities: NDArray[np.int64]) -> float:
    """Return the number of configurations of a set of variables, observed or not."""
    cells = 1.0
    for t in range(len(subset)):
        cells *= float(cardinalities[subset[t]])
    return cells


@kernel
def _find(sizes: NDArray[np.float64], cells: float) -> int:
    """Return where a table size stands, or -1."""
    i = int(np.searchsorted(sizes, cells))
    return i if i < len(sizes) and sizes[i] == cells else -1


@kernel
def _count(rows: Rows, stack: Stack, depth: int, variable: int) -> None:
    """Count the prefix's configurations by the states of one more variable, deviant rows only."""
    r = rows.cardinalities[variable]
    ids, column = stack.ids[depth], rows.codes[variable]
    for t in range(rows.deviant_first[variable], rows.deviant_first[variable + 1]):
        row = rows.deviants[t]
        stack.table[ids[row] * r + column[row]] += rows.weights[row]


@kernel
def _complete(rows: Rows, stack: Stack, depth: int, variable: int) -> None:
    """Fill in the cells of the variable's most common state."""
    if not rows.subtract:
        return
    r, common = rows.cardinalities[variable], rows.common[variable]
    for c in range(stack.sizes[depth]):
        rest = stack.totals[depth, c]
        for k in range(r):
            rest -= stack.table[c * r + k]
        stack.table[c * r + common] = rest


@kernel
def _push(rows: Rows, stack: Stack, depth: int, variable: int) -> None:
    """Extend the prefix by a variable."""
    r, n = rows.cardinalities[variable], rows.codes.shape[1]
    cells = stack.sizes[depth] * r
    _count(rows, stack, depth, variable)
    _complete(rows, stack, depth, variable)
    old, new, column = stack.ids[depth], stack.ids[depth + 1], rows.codes[variable]
    if cells <= stack.rest.shape[0]:
        for c in range(cells):
            stack.totals[depth + 1, c] = stack.table[c]
            stack.table[c] = 0
        for row in range(n):
            new[row] = old[row] * r + column[row]
        observed = cells
    else:
        observed = 0
        for c in range(cells):
            if stack.table[c] > 0:
                stack.totals[depth + 1, observed] = stack.table[c]
                stack.numbers[c] = observed
                observed += 1
            stack.table[c] = 0
        for row in range(n):
            new[row] = stack.numbers[old[row] * r + column[row]]
    stack.variables[depth] = variable
    stack.sizes[depth + 1] = observed


@kernel
def _climb(subset: NDArray[np.int64], rows: Rows, stack: Stack) -> None:
    """Make the stack's prefix all variables of the set but the first, the last one lowest."""
    top = len(subset) - 1
    same = 0
    while same < min(top, stack.depth[0]) and stack.variables[same] == subset[top - same]:
        same += 1
    for depth in range(same, top):
        _push(rows, stack, depth, subset[top - depth])
    stack.depth[0] = top


@kernel
def _read_dense(
    rows: Rows, stack: Stack, depth: int, variable: int, terms: Terms, alpha: float, i: int
) -> tuple[float, int]:
    """Sum the terms of all cells of the table, and clear it."""
    total, error, observed = 0.0, 0.0, 0
    for c in range(stack.sizes[depth] * rows.cardinalities[variable]):
        n = stack.table[c]
        if n > 0:
            total, error = _add(total, error, _term(n, terms.kind, alpha, terms.table, i))
            observed += 1
            stack.table[c] = 0
    return total + error, observed


@kernel
def _read_sparse(
    rows: Rows, stack: Stack, depth: int, variable: int, terms: Terms, alpha: float, i: int
) -> tuple[float, int]:
    """Sum the terms of the cells that the deviant rows touched, clear them, and add the rest."""
    total, error, observed = 0.0, 0.0, 0
    r, size = rows.cardinalities[variable], stack.sizes[depth]
    ids, column, rest = stack.ids[depth], rows.codes[variable], stack.rest
    for c in range(size):
        rest[c] = stack.totals[depth, c]
    for t in range(rows.deviant_first[variable], rows.deviant_first[variable + 1]):
        row = rows.deviants[t]
        c = ids[row] * r + column[row]
        n = stack.table[c]
        if n > 0:
            total, error = _add(total, error, _term(n, terms.kind, alpha, terms.table, i))
            observed += 1
            rest[ids[row]] -= n
            stack.table[c] = 0
    for c in range(size if rows.subtract else 0):
        if rest[c] > 0:
            total, error = _add(total, error, _term(rest[c], terms.kind, alpha, terms.table, i))
            observed += 1
    return total + error, observed


@kernel
def set_term(
    subset: NDArray[np.int64], rows: Rows, stack: Stack, terms: Terms
) -> tuple[float, int]:
    """Return ``F(S)`` and the number of observed configurations of a set of variables.

    Parameters
    ----------
    subset
        Increasing variable indices, at least one. Consecutive calls are fast when the sets differ
        in their first elements only.
    rows, stack, terms
        The data, scratch space that remembers the last set, and the score.
    """
    depth, variable = len(subset) - 1, subset[0]
    _climb(subset, rows, stack)
    cells = n_cells(subset, rows.cardinalities)
    alpha = terms.a / cells
    i = 0 if terms.kind == 1 else _find(terms.sizes, cells)
    _count(rows, stack, depth, variable)
    deviants = rows.deviant_first[variable + 1] - rows.deviant_first[variable]
    if stack.sizes[depth] * rows.cardinalities[variable] <= 2 * deviants:
        _complete(rows, stack, depth, variable)
        total, observed = _read_dense(rows, stack, depth, variable, terms, alpha, i)
    else:
        total, observed = _read_sparse(rows, stack, depth, variable, terms, alpha, i)
    return (total if terms.kind == 0 else terms.a * total), observed


@kernel
def empty_set_term(rows: Rows, terms: Terms) -> float:
    """Return ``F`` of the empty set: the term of one cell that holds all rows."""
    value = _exact_term(rows.total, terms.kind, terms.a)
    return value if terms.kind == 0 else terms.a * value
