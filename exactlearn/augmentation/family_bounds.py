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

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel, overwrite
from exactlearn._runtime.tolerance import EPSILON
from exactlearn.augmentation.families import FamilyTerms
from exactlearn.augmentation.incomplete_rows import (
    FamilyTable,
    IncompleteRows,
    MissingCells,
    add_weight,
    count_rows,
    increment_at,
    list_places,
    payers_of,
)

# Least improvement worth a branch, in nats, and by how many units in the last place a family's
# score is off: a bound that is lower than the best score by less is no bound of a proof.
LEAST_IMPROVEMENT = 1e-8
ROUNDING = 8.0 * EPSILON

# Cells that may be looked at for each node of a family's search, on average.
#
# So no family takes long, however many rows have missing cells.
WORK = 1_500

# Least difference of multipliers by which exchanging two rows is better.
MARGIN = 1e-9


@in_place_kernel
def _is_dominated(
    incomplete: IncompleteRows,
    at: NDArray[np.int64],
    k: int,
    o: int,
    work: NDArray[np.int64],
) -> bool:
    """Return whether exchanging a row with one placed before is better, or as good and in order.

    Rows alike differ in their multipliers only. The cells looked at are counted.
    """
    multipliers = incomplete.multipliers
    first = incomplete.first[k]
    t = incomplete.alike[k]
    b = o - first
    while t >= 0:
        work[0] += 1
        other = incomplete.first[t]
        a = at[t] - other
        gain = (
            multipliers[at[t]]
            + multipliers[o]
            - multipliers[other + b]
            - multipliers[first + a]
        )
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
        w = table.weights[incomplete.rows[k]]
        most = -np.inf
        for o in range(incomplete.first[k], incomplete.end[k]):
            place = incomplete.cells[o]
            most = max(
                most,
                increment_at(family, place, w, earlier[place])
                - incomplete.multipliers[o],
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
    best = -1
    most = -np.inf
    work[0] += incomplete.end[k] - incomplete.first[k]
    for o in range(incomplete.first[k], incomplete.end[k]):
        if not tried[o] and not (
            work[0] <= max_work and _is_dominated(incomplete, at, k, o, work)
        ):
            gained = (
                increment_at(family, incomplete.cells[o], w, 0.0)
                - incomplete.multipliers[o]
            )
            if gained > most:
                best = o
                most = gained
    return best, most


@in_place_kernel
def _search(
    family: FamilyTable,
    table: MissingCells,
    incomplete: IncompleteRows,
    most_nodes: int,
    earlier: NDArray[np.float64],
    tried: NDArray[np.bool_],
    added: NDArray[np.float64],
    at: NDArray[np.int64],
    best_at: NDArray[np.int64],
    work: NDArray[np.int64],
) -> tuple[float, float]:
    """Place the rows by depth-first search; return a bound, and the score of the best placement.

    Row k stands at place ``at[k]``; ``added[k]`` is the score with those before it, at first that
    of the complete rows.
    """
    n = len(at)
    max_work = WORK * most_nodes
    root = np.inf
    best = -np.inf
    left_open = -np.inf
    k = 0
    nodes = 0
    entering = True
    while k >= 0:
        if entering:  # bound the node
            nodes += 1
            entering = False
            bound = (
                np.inf
            )  # where there is no more time for bounds, the first leaf ends the search
            if work[0] <= max_work or k == n:
                bound = added[k] + _rest(family, table, incomplete, k, earlier, work)
            root = min(root, bound) if nodes == 1 else root
            if k == n and bound > best:
                best = bound
                overwrite(best_at, at)
            if bound <= best + LEAST_IMPROVEMENT + ROUNDING * abs(best):
                k -= 1
                continue
            if work[0] > max_work and best > -np.inf:
                left_open = root
                break
            if nodes > most_nodes and best > -np.inf:
                left_open = max(left_open, bound)
                k -= 1
                continue
            for o in range(incomplete.first[k], incomplete.end[k]):
                tried[o] = False
        else:  # back from below: take the row out again
            add_weight(
                family, incomplete.cells[at[k]], -table.weights[incomplete.rows[k]]
            )
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
    return max(best, left_open), best


@kernel
def place_rows(
    which: NDArray[np.int64],
    table: MissingCells,
    terms: FamilyTerms,
    most_nodes: int,
    complete: bool,
) -> tuple[
    NDArray[np.float64], float, int, NDArray[np.int64], NDArray[np.int64], float
]:
    """Place the rows with missing cells so that families score most, less their multipliers.

    Parameters
    ----------
    which
        Numbers of the families in the terms, at least one.
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

    Returns
    -------
    bounds
        No completion of a family's columns scores more, less its multipliers, shape (which,).
    best
        Score of the completion found for the last family, less its multipliers; equal to the bound
        where the search was finished.
    work
        Cells that its search has looked at.
    rows, cells
        Its rows with missing cells, and the cell of the table (configuration times states plus
        state) each was placed into, shapes (k,).
    charge
        The sum of the multipliers there.
    """
    bounds = np.empty(len(which))
    max_work = WORK * most_nodes
    work = np.zeros(1, np.int64)
    rows = cells = work[1:]
    best = charge = 0.0
    for number, i in enumerate(which):
        # count the complete rows, and list the places of the others
        columns = terms.columns[i, : terms.size[i]]
        size = 1
        r = table.cardinalities[columns[0]]
        for v in columns:
            size *= table.cardinalities[v]
        f = terms.cell[i]
        g = terms.configuration[i]
        counts = np.zeros(size)
        sums = np.zeros(size // r)
        earlier = np.zeros(size)
        family = FamilyTable(columns, r, terms.functions, f, g, counts, sums)
        found = np.empty(len(table.weights), np.int64)
        work[0] = 0
        score, n, n_places = count_rows(family, table, found)
        score -= terms.penalty[i]
        rows = np.empty(n, np.int64)
        first = np.empty(n, np.int64)
        end = np.empty(n, np.int64)
        places = np.zeros(n_places, np.int64)
        multipliers = np.zeros(n_places)
        alike = np.empty(n, np.int64)
        at = np.empty(n, np.int64)
        best_at = np.zeros(n, np.int64)
        incomplete = IncompleteRows(rows, first, end, places, multipliers, alike)
        added = np.zeros(n + 1)
        payers = payers_of(table.payers, columns)
        list_places(family, table, payers, found, incomplete, added[1:], at)
        if not complete and n * n_places > 2 * max_work:
            # too many places for a search: the bound that it would begin with
            bounds[number] = score + _rest(family, table, incomplete, 0, earlier, work)
            best = -np.inf
            cells = rows[:0]
            continue
        added[0], tried = score, np.empty(n_places, np.bool_)
        bounds[number], best = _search(
            family,
            table,
            incomplete,
            most_nodes,
            earlier,
            tried,
            added,
            at,
            best_at,
            work,
        )
        cells = places[best_at]
        charge = 0.0
        for o in best_at:
            charge += multipliers[o]
    return bounds, best, work[0], rows, cells, charge
