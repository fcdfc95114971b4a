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
    place: int,
    work: NDArray[np.int64],
) -> bool:
    """Return whether exchanging a row with one placed before is better, or as good and in order.

    Rows alike differ in their multipliers only. The cells looked at are counted.
    """
    multipliers = incomplete.multipliers
    first = incomplete.first[k]
    b = place - first
    earlier = incomplete.alike[k]
    while earlier >= 0:
        work[0] += 1
        earlier_first = incomplete.first[earlier]
        a = at[earlier] - earlier_first
        # less multipliers to pay if the two rows exchange their cells
        gain = (
            multipliers[at[earlier]]
            + multipliers[place]
            - multipliers[earlier_first + b]
            - multipliers[first + a]
        )
        if a != b and (gain > MARGIN or (a > b and gain == 0.0)):
            return True
        earlier = incomplete.alike[earlier]
    return False


@in_place_kernel
def _bound_of_rest(
    family: FamilyTable,
    table: MissingCells,
    incomplete: IncompleteRows,
    begin: int,
    earlier: NDArray[np.float64],
    work: NDArray[np.int64],
    max_work: int,
) -> float:
    """Return the most that the rows from number ``begin`` on can add; infinite without time for it.

    ``earlier`` holds the weight of rows before that can be in each cell, 0 before and after.
    """
    if work[0] > max_work and begin < len(incomplete.rows):
        return np.inf
    # each row gains at most what it would beside all rows before it, in its cell and no other
    total = 0.0
    for k in range(begin, len(incomplete.rows)):
        work[0] += incomplete.end[k] - incomplete.first[k]
        w = table.weights[incomplete.rows[k]]
        largest = -np.inf
        for place in range(incomplete.first[k], incomplete.end[k]):
            cell = incomplete.cells[place]
            increment = increment_at(family, cell, w, earlier[cell])
            largest = max(largest, increment - incomplete.multipliers[place])
            earlier[cell] += w
        total += largest
    for k in range(begin, len(incomplete.rows)):
        for place in range(incomplete.first[k], incomplete.end[k]):
            earlier[incomplete.cells[place]] = 0.0
    return total


@in_place_kernel
def _best_place(
    family: FamilyTable,
    incomplete: IncompleteRows,
    at: NDArray[np.int64],
    k: int,
    w: float,
    tried: NDArray[np.bool_],
    work: NDArray[np.int64],
    max_work: int,
) -> tuple[int, float]:
    """Return where among a row's places not tried it gains most, or -1, and what it gains."""
    best = -1
    largest = -np.inf
    work[0] += incomplete.end[k] - incomplete.first[k]
    for place in range(incomplete.first[k], incomplete.end[k]):
        if tried[place]:
            continue
        if work[0] <= max_work and _is_dominated(incomplete, at, k, place, work):
            continue
        increment = increment_at(family, incomplete.cells[place], w, 0.0)
        gain = increment - incomplete.multipliers[place]
        if gain > largest:
            best = place
            largest = gain
    return best, largest


@in_place_kernel
def _search(
    family: FamilyTable,
    table: MissingCells,
    incomplete: IncompleteRows,
    max_nodes: int,
    earlier: NDArray[np.float64],
    tried: NDArray[np.bool_],
    scores: NDArray[np.float64],
    at: NDArray[np.int64],
    best_at: NDArray[np.int64],
    work: NDArray[np.int64],
) -> tuple[float, float]:
    """Place the rows by depth-first search; return a bound, and the score of the best placement.

    Row k stands at place ``at[k]``; ``scores[k]`` is the score with those before it, at first that
    of the complete rows.
    """
    n = len(at)
    max_work = WORK * max_nodes
    root = np.inf
    best = -np.inf
    open_bound = -np.inf
    k = 0
    nodes = 0
    is_entering = True
    while k >= 0:
        if is_entering:
            # bound the node; without time for that, the first leaf ends the search
            nodes += 1
            is_entering = False
            bound = scores[k] + _bound_of_rest(
                family, table, incomplete, k, earlier, work, max_work
            )
            if nodes == 1:
                root = bound
            if k == n and bound > best:
                best = bound
                overwrite(best_at, at)
            # leave it: nothing better is below, or there is no time for it
            if bound <= best + LEAST_IMPROVEMENT + ROUNDING * abs(best):
                k -= 1
                continue
            if best > -np.inf:
                if work[0] > max_work:
                    open_bound = root
                    break
                if nodes > max_nodes:
                    open_bound = max(open_bound, bound)
                    k -= 1
                    continue
            for place in range(incomplete.first[k], incomplete.end[k]):
                tried[place] = False
        else:
            # back from below: take the row out again
            w = table.weights[incomplete.rows[k]]
            add_weight(family, incomplete.cells[at[k]], -w)
        # branch on the best place not tried yet
        w = table.weights[incomplete.rows[k]]
        at[k], gain = _best_place(family, incomplete, at, k, w, tried, work, max_work)
        if at[k] < 0:
            k -= 1
            continue
        tried[at[k]] = True
        add_weight(family, incomplete.cells[at[k]], w)
        scores[k + 1] = scores[k] + gain
        k += 1
        is_entering = True
    return max(best, open_bound), best


class Placement(NamedTuple):
    """A bound on a family's score, less its multipliers, and the best local completion met.

    Attributes
    ----------
    bound
        No completion of the family's columns scores more.
    score
        Score of the local completion, equal to the bound where the search was finished; ``-inf``
        where there is only the bound that the search would begin with.
    rows, cells
        The rows with missing cells in the columns, and the cell of the table (configuration times
        states plus state) each was placed into, shapes (k,).
    charge
        The sum of the multipliers there.
    work
        Cells that the search has looked at.
    """

    bound: float
    score: float
    rows: NDArray[np.int64]
    cells: NDArray[np.int64]
    charge: float
    work: int


@kernel
def bound_families(
    families: NDArray[np.int64],
    table: MissingCells,
    terms: FamilyTerms,
    max_nodes: int,
) -> NDArray[np.float64]:
    """Return a bound on the score of each of some families, less its multipliers, shape (k,).

    The parameters are those of :func:`best_placement`, but for the numbers of the families.
    """
    bounds = np.empty(len(families))
    for k, family in enumerate(families):
        bounds[k] = best_placement(family, table, terms, max_nodes, False).bound
    return bounds


@kernel
def best_placement(
    number: int,
    table: MissingCells,
    terms: FamilyTerms,
    max_nodes: int,
    is_complete: bool,
) -> Placement:
    """Place the rows with missing cells so that a family scores most, less its multipliers.

    Parameters
    ----------
    number
        The family's number in the terms.
    table
        The incomplete table and the Lagrange multipliers.
    terms
        The families and the score.
    max_nodes
        Nodes of the search after which what is left is bounded; at :data:`WORK` cells for each
        node, the search ends with the bound that it began with.
    is_complete
        Whether a completion is needed. Otherwise there is none where so few nodes find none.
    """
    max_work = WORK * max_nodes
    # count the rows that are complete in the family's columns
    columns = terms.columns[number, : terms.size[number]]
    size = 1
    for v in columns:
        size *= table.cardinalities[v]
    states = table.cardinalities[columns[0]]
    family = FamilyTable(
        columns,
        states,
        terms.functions,
        terms.cell[number],
        terms.configuration[number],
        np.zeros(size),
        np.zeros(size // states),
    )
    rows = np.empty(len(table.weights), np.int64)
    score, n, n_places = count_rows(family, table, rows)
    score -= terms.penalty[number]
    # list the places of the others
    incomplete = IncompleteRows(
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.zeros(n_places, np.int64),
        np.zeros(n_places),
        np.empty(n, np.int64),
    )
    scores = np.zeros(n + 1)
    at = np.empty(n, np.int64)
    payers = payers_of(table.payers, columns)
    list_places(family, table, payers, rows, incomplete, scores[1:], at)
    earlier = np.zeros(size)
    work = np.zeros(1, np.int64)
    if not is_complete and n * n_places > 2 * max_work:
        # too many places for a search: the bound that it would begin with
        bound = score + _bound_of_rest(
            family, table, incomplete, 0, earlier, work, max_work
        )
        return Placement(bound, -np.inf, rows[:0], rows[:0], 0.0, work[0])
    # place them by branch and bound
    scores[0] = score
    best_at = np.zeros(n, np.int64)
    tried = np.empty(n_places, np.bool_)
    bound, best = _search(
        family,
        table,
        incomplete,
        max_nodes,
        earlier,
        tried,
        scores,
        at,
        best_at,
        work,
    )
    charge = 0.0
    for place in best_at:
        charge += incomplete.multipliers[place]
    cells = incomplete.cells[best_at]
    return Placement(bound, best, incomplete.rows, cells, charge, work[0])
