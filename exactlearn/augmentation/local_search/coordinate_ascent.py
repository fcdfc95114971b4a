"""Coordinate ascent over single cells (iterated conditional modes), for a DAG or for an order.

For a fixed DAG only its own contingency tables are needed. For an order of the variables, every
variable is free to take other parents before it: the best parent set of each is independent of the
others, so the best network of the order after a move is known from the families that hold the
changed variable (:mod:`exactlearn.augmentation.local_search.tabulation`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn.augmentation.families import FamilyTerms, increment
from exactlearn.augmentation.local_search.set_families import SetFamilies, best_after, best_family
from exactlearn.augmentation.local_search.tabulation import (
    Rows,
    Sets,
    change_cell,
    forget,
    gains,
    holds,
)
from exactlearn.data.dataset import Dataset
from exactlearn.scoring.terms import TermTables

LEAST_GAIN = 1e-9
"""Least improvement that counts: smaller ones are rounding, and could cycle."""


class Tables(NamedTuple):
    """The contingency tables of all families of a DAG.

    Attributes
    ----------
    codes, weights, cardinalities
        The completed table (variables, rows), the rows' weights, the numbers of states.
    parents
        Parents of each variable, padded with -1, shape (variables, most parents).
    sizes
        Number of parent configurations of each family, shape (variables,).
    first
        Where each family's cells begin, shape (variables + 1,).
    cells, sums
        Weight of each cell, and of its configuration at the cell of state 0.
    """

    codes: NDArray[np.int16]
    weights: NDArray[np.float64]
    cardinalities: NDArray[np.int64]
    parents: NDArray[np.int64]
    sizes: NDArray[np.int64]
    first: NDArray[np.int64]
    cells: NDArray[np.float64]
    sums: NDArray[np.float64]


def coordinate_ascent(
    dataset: Dataset,
    values: NDArray[np.int64],
    parents: Sequence[Sequence[int]],
    scored: TermTables,
) -> NDArray[np.int64]:
    """Change single cells while that raises the score of the DAG; return the new completion.

    Parameters
    ----------
    dataset
        The incomplete table.
    values
        The completion to begin with, one value for each missing cell.
    parents
        Parents of each variable.
    scored
        The score, tabulated for the table.
    """
    weights = dataset.row_weights
    codes = np.ascontiguousarray(dataset.complete(values).codes.T.astype(np.int16))
    tables = _empty_tables(codes, weights, dataset.cardinalities, parents)
    cells = dataset.missing_cells
    terms = FamilyTerms.of(scored, tables.sizes.astype(np.float64), dataset.cardinalities)
    _ascend(tables, cells, terms)
    return codes[cells[:, 1], cells[:, 0]].astype(np.int64)


def _empty_tables(
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
    cardinalities: NDArray[np.int64],
    parents: Sequence[Sequence[int]],
) -> Tables:
    padded = np.full((len(parents), max(1, *map(len, parents))), -1, np.int64)
    for child, ps in enumerate(parents):
        padded[child, : len(ps)] = list(ps)
    sizes = np.where(padded >= 0, cardinalities[padded], 1).prod(axis=1)
    first = np.concatenate([[0], np.cumsum(sizes * cardinalities)])
    cells = np.zeros(int(first[-1]))
    return Tables(codes, weights, cardinalities, padded, sizes, first, cells, cells.copy())


@kernel
def _concerned(parents: NDArray[np.int64], v: int) -> NDArray[np.int64]:
    """Return the families that a variable is in."""
    found = np.zeros(len(parents), np.int64)
    count = 0
    for child in range(len(parents)):
        inside = child == v
        for p in parents[child]:
            inside = inside or p == v
        if inside:
            found[count] = child
            count += 1
    return found[:count]


@in_place_kernel
def _add_row(
    tables: Tables, families: NDArray[np.int64], row: int, sign: float, terms: FamilyTerms
) -> float:
    """Add (+1) or remove (-1) a row in some families; return the change of their scores."""
    change, w = 0.0, sign * tables.weights[row]
    for child in families:
        j = 0
        for p in tables.parents[child]:
            if p >= 0:
                j = j * tables.cardinalities[p] + tables.codes[p, row]
        total = tables.first[child] + j * tables.cardinalities[child]
        cell = total + tables.codes[child, row]
        n, m = tables.cells[cell], tables.sums[total]
        f, g = terms.rows[child, 0], terms.rows[child, 1]
        change += increment(terms.functions, f, g, n, m, w)
        tables.cells[cell] += w
        tables.sums[total] += w
    return change


@in_place_kernel
def _ascend_cell(
    tables: Tables, families: NDArray[np.int64], row: int, v: int, terms: FamilyTerms
) -> bool:
    """Give one cell its best value; tell whether that is a new one."""
    old = tables.codes[v, row]
    lost = _add_row(tables, families, row, -1.0, terms)
    best, best_gain = old, LEAST_GAIN
    for state in range(tables.cardinalities[v]):
        if state == old:
            continue
        tables.codes[v, row] = state
        gained = lost + _add_row(tables, families, row, 1.0, terms)
        _add_row(tables, families, row, -1.0, terms)
        if gained > best_gain:
            best, best_gain = state, gained
    tables.codes[v, row] = best
    _add_row(tables, families, row, 1.0, terms)
    return bool(best != old)


@kernel
def _ascend(tables: Tables, cells: NDArray[np.int64], terms: FamilyTerms) -> None:
    everything = np.arange(len(tables.codes))
    for row in range(len(tables.weights)):
        _add_row(tables, everything, row, 1.0, terms)
    improved = True
    while improved:
        improved = False
        for c in range(len(cells)):
            v = cells[c, 1]
            families = _concerned(tables.parents, v)
            if _ascend_cell(tables, families, cells[c, 0], v, terms):
                improved = True


LEAST_RISE = 1e-8
"""Least improvement that counts: smaller ones are rounding, and could cycle."""


@kernel
def in_order(sets: Sets, families: SetFamilies, position: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which families have all parents before their child, shape (families,).

    Parameters
    ----------
    sets, families
        The families.
    position
        Position of each variable in the order, shape (variables,).
    """
    usable = np.ones(len(families.child), np.bool_)
    for f in range(len(usable)):
        for p in range(sets.members.shape[1]):
            v = sets.members[families.parents[f], p]
            if v >= 0 and position[v] > position[families.child[f]]:
                usable[f] = False
    return usable


@in_place_kernel
def _raise_of(
    sets: Sets,
    families: SetFamilies,
    scores: NDArray[np.float64],
    chosen: NDArray[np.int64],
    v: int,
    change: NDArray[np.float64],
    stays: NDArray[np.int64],
    best: NDArray[np.float64],
) -> float:
    """Return by how much the best network rises with the moves of the sets that hold ``v``.

    ``stays`` remembers each child's best family without ``v``; -2 where it is not known yet.
    """
    for i in range(len(best)):
        best[i] = -np.inf
    best_after(families, scores, change, v, best)
    total = 0.0
    for i in range(len(best)):
        here = scores[chosen[i]]
        if best[i] < here:
            if not holds(sets, families.family[chosen[i]], v):
                continue
            if stays[i] == -2:
                stays[i] = best_family(sets, families, scores, i, v)
            if stays[i] >= 0:
                best[i] = max(best[i], scores[stays[i]])
        total += best[i] - here
    return total


@kernel
def sweep(
    sets: Sets,
    rows: Rows,
    families: SetFamilies,
    scores: NDArray[np.float64],
    chosen: NDArray[np.int64],
    cells: NDArray[np.int64],
) -> int:
    """Give each cell its best state once, in place; return how many cells have a new one.

    Parameters
    ----------
    sets, rows, families
        The tables, which are kept up to date.
    scores
        Scores of the families, kept up to date, shape (families,); ``-inf`` for those that do not
        fit an order, to which one of each child fits at least.
    chosen
        Each child's best family, shape (variables,), kept up to date.
    cells
        Row and variable of each cell, shape (cells, 2), in order of variables.
    """
    n = len(chosen)
    change, best = np.zeros(len(sets.values)), np.zeros(n)
    stays = np.full(n, -2)
    changed, forgotten = 0, True
    for c in range(len(cells)):
        u, v = cells[c, 0], cells[c, 1]
        if forgotten or v != cells[c - 1, 1]:
            for i in range(n):
                stays[i] = -2
            forgotten = False
        # the state after which the order's best network rises most
        top, to = LEAST_RISE, -1
        for state in range(rows.cardinalities[v]):
            if state != rows.codes[u, v]:
                gains(sets, rows, u, v, state, change)
                rise = _raise_of(sets, families, scores, chosen, v, change, stays, best)
                if rise > top:
                    top, to = rise, state
        if to >= 0:  # take it, and bring tables, scores and parents up to date
            gains(sets, rows, u, v, to, change)
            change_cell(sets, rows, u, v, to, change)
            for at in range(families.holding_first[v], families.holding_first[v + 1]):
                f = families.holding[at]
                scores[f] += change[families.family[f]] - change[families.parents[f]]
            for i in range(n):
                chosen[i] = best_family(sets, families, scores, i, -1)
            forgotten = True
            changed += 1
        forget(sets, v, change)
    return changed
