"""The best score of a family over all completions of its columns, or a bound on it.

Each row with missing cells in the family's columns is placed into one of the table's cells that it
can be in, by depth-first branch and bound. A state of a missing cell may have Lagrange multipliers,
which the family's score is reduced by
(:mod:`exactlearn.augmentation.lagrangian_dual`).

Bound on what the rows not yet placed add: row after row, each gains at most what it would if all
rows before it that can be in its cell were there, and none were elsewhere in its configuration
(theorem *Placing rows*, docs/theory/augmentation.md).

Rows that can be in the same cells and weigh the same differ in their multipliers only: placements
that exchanging two of them improves are left out, and of two that an exchange makes no better or
worse the one with the rows out of order (theorem *Exchange*, docs/theory/augmentation.md).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel, overwrite
from exactlearn.augmentation.families import FamilyTerms
from exactlearn.augmentation.incomplete_rows import (
    FamilyTable,
    IncompleteRows,
    MissingCells,
    add_weight,
    columns_of,
    count_rows,
    increment_at,
    list_incomplete_rows,
)

# Least improvement worth a branch, relative to a family's score.
ROUNDING = 1e-10

# Cells that may be looked at for each node of a family's search, on average.
#
# So no family takes long, however many rows have missing cells.
WORK = 1_500

# Least difference of multipliers by which exchanging two rows is better.
MARGIN = 1e-9


class Placement(NamedTuple):
    """The outcome of :func:`place_rows`.

    Attributes
    ----------
    bound
        No completion of the family's columns scores more, less its multipliers.
    best
        Score of the completion found, less its multipliers; equal to the bound where the search was
        finished.
    work
        Cells that the search has looked at.
    rows, cells
        The rows with missing cells, and the cell of the table (configuration times states plus
        state) each was placed into, shapes (k,).
    charge
        The sum of the multipliers there.
    """

    bound: float
    best: float
    work: int
    rows: NDArray[np.int64]
    cells: NDArray[np.int64]
    charge: float


@in_place_kernel
def _is_dominated(
    incomplete: IncompleteRows, at: NDArray[np.int64], k: int, o: int, work: NDArray[np.int64]
) -> bool:
    """Return whether exchanging a row with one placed before is better, or as good and in order.

    Rows alike differ in their multipliers only. The cells looked at are counted.
    """
    multipliers, first, t = incomplete.multipliers, incomplete.first[k], incomplete.alike[k]
    b = o - first
    while t >= 0:
        work[0] += 1
        other = incomplete.first[t]
        a = at[t] - other
        gain = multipliers[at[t]] + multipliers[o] - multipliers[other + b] - multipliers[first + a]
        if a != b and (gain > MARGIN or (a > b and gain == 0.0)):
            return True
        t = incomplete.alike[t]
    return False


@in_place_kernel
def _rest(
    family: FamilyTable,
    table: MissingCells,
    incomplete: IncompleteRows,
    begin: int,
    earlier: NDArray[np.float64],
    work: NDArray[np.int64],
) -> float:
    """Return the most that the rows from number ``begin`` on can add."""
    total = 0.0
    for k in range(begin, len(incomplete.rows)):
        work[0] += incomplete.end[k] - incomplete.first[k]
        w, most = table.weights[incomplete.rows[k]], -np.inf
        for o in range(incomplete.first[k], incomplete.end[k]):
            place = incomplete.cells[o]
            most = max(
                most, increment_at(family, place, w, earlier[place]) - incomplete.multipliers[o]
            )
            earlier[place] += w
        total += most
    for k in range(begin, len(incomplete.rows)):
        for o in range(incomplete.first[k], incomplete.end[k]):
            earlier[incomplete.cells[o]] = 0.0
    return total


@in_place_kernel
def _best_cell(
    family: FamilyTable,
    incomplete: IncompleteRows,
    at: NDArray[np.int64],
    k: int,
    w: float,
    tried: NDArray[np.bool_],
    work: NDArray[np.int64],
    max_work: int,
) -> tuple[int, float]:
    """Return where among a row's cells not tried it gains most, and what."""
    best, most = -1, -np.inf
    work[0] += incomplete.end[k] - incomplete.first[k]
    for o in range(incomplete.first[k], incomplete.end[k]):
        if not tried[o] and not (work[0] <= max_work and _is_dominated(incomplete, at, k, o, work)):
            gained = increment_at(family, incomplete.cells[o], w, 0.0) - incomplete.multipliers[o]
            if gained > most:
                best, most = o, gained
    return best, most


@kernel
def place_rows(
    i: int, table: MissingCells, terms: FamilyTerms, most_nodes: int, complete: bool
) -> Placement:
    """Place the rows with missing cells so that the family scores most, less its multipliers.

    Parameters
    ----------
    i
        Number of the family in the terms.
    table
        The incomplete table and the Lagrange multipliers.
    terms
        The families and the score.
    most_nodes
        Nodes of the search after which what is left is bounded; at :data:`WORK` cells for each
        node, the search ends with the bound that it began with.
    complete
        Whether a completion is wanted. Where none can be found with so few nodes, there is
        otherwise only the bound that the search begins with, and ``best`` is ``-inf``.
    """
    # count the complete rows, and list the places of the others
    family, score, rows, n_cells = count_rows(i, table, terms)
    incomplete = list_incomplete_rows(family, table, rows, n_cells)
    n = len(incomplete.rows)
    earlier, work = np.zeros(len(family.counts)), np.zeros(1, np.int64)
    # too many places for a search: the bound that it would begin with
    max_work, root = WORK * most_nodes, np.inf
    if not complete and n * n_cells > 2 * max_work:
        root = score + _rest(family, table, incomplete, 0, earlier, work)
        return Placement(root, -np.inf, work[0], incomplete.rows, np.zeros(0, np.int64), 0.0)
    # depth-first search: row k stands at place at[k]
    tried = np.zeros(n_cells, np.bool_)
    at, best_at = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    added = np.zeros(n + 1)
    best, left_open = -np.inf, -np.inf
    k, nodes, entering = 0, 0, True
    while k >= 0:
        if entering:  # bound the node
            nodes += 1
            entering = False
            bound = np.inf  # where there is no more time for bounds, the first leaf ends the search
            if work[0] <= max_work or k == n:
                bound = score + added[k] + _rest(family, table, incomplete, k, earlier, work)
            root = min(root, bound) if nodes == 1 else root
            if k == n and bound > best:
                best = bound
                overwrite(best_at, at)
            if bound <= best + ROUNDING * abs(best):
                k -= 1
                continue
            if work[0] > max_work and best > -np.inf:
                left_open = root
                break
            if nodes > most_nodes and best > -np.inf:
                left_open = max(left_open, bound)
                k -= 1
                continue
            tried[incomplete.first[k] : incomplete.end[k]] = False
        else:  # back from below: take the row out again
            add_weight(family, incomplete.cells[at[k]], -table.weights[incomplete.rows[k]])
        # branch on the best place not tried yet
        w = table.weights[incomplete.rows[k]]
        at[k], gained = _best_cell(family, incomplete, at, k, w, tried, work, max_work)
        if at[k] < 0:
            k -= 1
            continue
        tried[at[k]] = True
        add_weight(family, incomplete.cells[at[k]], w)
        added[k + 1] = added[k] + gained
        k += 1
        entering = True
    # the best completion
    cells, charge = incomplete.cells[best_at], incomplete.multipliers[best_at].sum()
    return Placement(max(best, left_open), best, work[0], incomplete.rows, cells, charge)


def complete_family(
    i: int, table: MissingCells, terms: FamilyTerms, most_nodes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], float]:
    """Return a family's local completion: its missing cells, their states, and the score.

    Missing cells that the node has fixed are among them; the score is without multipliers. The
    parameters are those of :func:`place_rows`; shapes (k,), in the order of the missing cells.
    """
    placed = place_rows(i, table, terms, most_nodes, True)
    columns = columns_of(terms.child[i], terms.members[i])
    codes, number = table.codes[columns], table.number[columns]
    shape = tuple(table.cardinalities[columns].tolist())
    codes[:, placed.rows] = np.unravel_index(placed.cells, shape, order="F")
    cells, states = number[number >= 0], codes[number >= 0].astype(np.int64)
    order = np.argsort(cells)
    return cells[order], states[order], placed.best + placed.charge


@kernel
def bound_families(
    which: NDArray[np.int64], table: MissingCells, terms: FamilyTerms, most_nodes: int
) -> NDArray[np.float64]:
    """Return bounds on the best score of some families, shape (which,).

    Parameters
    ----------
    which
        Numbers of the families, shape (which,).
    table, terms, most_nodes
        As in :func:`place_rows`.
    """
    bounds = np.empty(len(which))
    for t in range(len(which)):
        bounds[t] = place_rows(which[t], table, terms, most_nodes, False).bound
    return bounds
