"""Coordinate ascent over single cells, every variable free to take other parents before it.

Within an order of the variables the best parent set of each is independent of the others, so the
best network of the order after a change of a cell is known from the families that hold the changed
variable (:mod:`exactlearn.augmentation.local_search.tabulation`).
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn.augmentation.local_search.set_families import SetFamilies, best_after, best_family
from exactlearn.augmentation.local_search.tabulation import (
    Rows,
    Sets,
    change_cell,
    forget,
    gains,
    holds,
)

LEAST_GAIN = 1e-8
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


@kernel
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
    """Return by how much the best network rises with the changes of the sets that hold ``v``.

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
        top, to = LEAST_GAIN, -1
        for state in range(rows.cardinalities[v]):
            if state != rows.codes[u, v]:
                gains(sets, rows, u, v, state, change)
                rise = _raise_of(sets, families, scores, chosen, v, change, stays, best)
                if rise > top:
                    top, to = rise, state
        if to >= 0:
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
