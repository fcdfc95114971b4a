"""The best score of a family over all completions of its columns, or a bound on it.

Each row with holes in the family's columns is placed into one of the cells it can be in, which is
done by depth-first branch and bound. Reading a hole as a state may cost a price: with prices on
what the families of each child read, families that read a hole differently can be brought to agree
(:mod:`exactlearn.augmentation.branch_and_bound.lagrangian_dual`).

Bound on what the rows not yet placed add: row after row, each gains at most what it would if all
rows before it that can be in its cell were there, and none were elsewhere in its configuration.
Adding weight w to a cell with n in it, of a configuration with m, changes the score by
``f(n + w) - f(n) - g(m + w) + g(m)``; that grows with n when m grows alike and falls with m,
because f and g are convex, and ``f(n + w) - f(n)`` grows at least as fast at n as
``g(m + w) - g(m)`` does at ``m >= n``.

Rows that can be in the same cells and weigh the same differ in what they pay only: exchanging two
of them changes nothing else, so that placements which an exchange makes cheaper are left out, and
of rows that pay the same all permutations but one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn.augmentation.branch_and_bound.incomplete_rows import (
    FamilyTable,
    OpenRows,
    add_weight,
    columns_of,
    count_rows,
    gain_at,
    lay_out,
    open_rows,
)
from exactlearn.augmentation.branch_and_bound.multipliers import Holes, price_of
from exactlearn.augmentation.families import Growth

ROUNDING = 1e-10
"""Least improvement worth a branch, relative to a family's score."""

WORK = 1_500
"""Cells that may be looked at for each node of a family's search, on average: so that no family
takes long, however many rows have holes."""

MARGIN = 1e-9
"""Least difference of prices by which exchanging two rows is better."""


class Placement(NamedTuple):
    """What :func:`place_rows` found.

    Attributes
    ----------
    bound
        No completion of the family's columns scores more, its prices paid.
    best
        Score of the completion found, its prices paid; equal to the bound where the search was
        finished.
    looked
        Cells that the search has looked at.
    rows, cells
        The rows with holes, and the cell (configuration times states plus state) each was placed
        into, shapes (k,).
    """

    bound: float
    best: float
    looked: int
    rows: NDArray[np.int64]
    cells: NDArray[np.int64]


@kernel
def _is_dominated(
    opened: OpenRows, at: NDArray[np.int64], k: int, o: int, looked: NDArray[np.int64]
) -> bool:
    """Tell whether exchanging a row with one placed before is better, or as good and tried before.

    Rows alike differ in what they pay only. What is looked at is counted.
    """
    own = opened.first[k]
    b, t = o - own, opened.alike[k]
    while t >= 0:
        looked[0] += 1
        other = opened.first[t]
        a = at[t] - other
        if a != b:
            paid = opened.prices[at[t]] + opened.prices[o]
            better = paid - opened.prices[other + b] - opened.prices[own + a]
            if better > MARGIN:
                return True
            if a > b and better == 0.0:
                equal = True
                for place in range(opened.first[k + 1] - own):
                    equal &= opened.prices[other + place] == opened.prices[own + place]
                if equal:
                    return True
        t = opened.alike[t]
    return False


@kernel
def _rest(
    family: FamilyTable,
    table: Holes,
    opened: OpenRows,
    begin: int,
    ahead: NDArray[np.float64],
    looked: NDArray[np.int64],
) -> float:
    """Return the most that the rows from number ``begin`` on can add."""
    total = 0.0
    looked[0] += len(opened.cells) - opened.first[begin]
    for k in range(begin, len(opened.rows)):
        w, most = table.weights[opened.rows[k]], -np.inf
        for o in range(opened.first[k], opened.first[k + 1]):
            cell = opened.cells[o]
            most = max(most, gain_at(family, cell, w, ahead[cell]) - opened.prices[o])
            ahead[cell] += w
        total += most
    for o in range(opened.first[begin], len(opened.cells)):
        ahead[opened.cells[o]] = 0.0
    return total


@kernel
def _best_cell(
    family: FamilyTable,
    opened: OpenRows,
    at: NDArray[np.int64],
    k: int,
    w: float,
    tried: NDArray[np.bool_],
    looked: NDArray[np.int64],
) -> tuple[int, float]:
    """Return where among a row's cells not tried it gains most, and what."""
    best, most = -1, -np.inf
    looked[0] += opened.first[k + 1] - opened.first[k]
    for o in range(opened.first[k], opened.first[k + 1]):
        if not tried[o] and not _is_dominated(opened, at, k, o, looked):
            gained = gain_at(family, opened.cells[o], w, 0.0) - opened.prices[o]
            if gained > most:
                best, most = o, gained
    return best, most


@kernel
def _place_at_once(
    family: FamilyTable, table: Holes, opened: OpenRows, begin: int, at: NDArray[np.int64]
) -> float:
    """Place row after row where it gains most, without a search; return what that adds."""
    total = 0.0
    for k in range(begin, len(opened.rows)):
        w, most = table.weights[opened.rows[k]], -np.inf
        for o in range(opened.first[k], opened.first[k + 1]):
            gained = gain_at(family, opened.cells[o], w, 0.0) - opened.prices[o]
            if gained > most:
                at[k], most = o, gained
        add_weight(family, opened.cells[at[k]], w)
        total += most
    return total


@kernel
def place_rows(
    i: int,
    child: int,
    members: NDArray[np.int32],
    table: Holes,
    growth: Growth,
    most_nodes: int,
    complete: bool,
) -> Placement:
    """Place the rows with holes of one family so that it scores most, its prices paid.

    Parameters
    ----------
    i, child, members
        Number of the family in the growth, its child, its parents padded with -1.
    table
        The incomplete table and the prices.
    growth
        The score.
    most_nodes
        Nodes of the search after which what is left is bounded; at :data:`WORK` cells for each
        node, the search ends with the bound that it began with.
    complete
        Whether a completion is wanted. Where none can be found with so few nodes, there is
        otherwise only the bound that the search begins with, and ``best`` is ``-inf``.
    """
    family, score = lay_out(i, child, members, table, growth)
    counted, rows, n_cells = count_rows(family, table)
    score += counted
    opened = open_rows(family, table, rows, n_cells)
    n = len(opened.rows)
    ahead, looked = np.zeros(len(family.counts)), np.zeros(1, np.int64)
    most_looks, root = WORK * most_nodes, np.inf
    if not complete and n * n_cells > 2 * most_looks:
        root = score + _rest(family, table, opened, 0, ahead, looked)
        return Placement(root, -np.inf, looked[0], opened.rows, np.zeros(0, np.int64))
    tried = np.zeros(n_cells, np.bool_)
    at, found = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    added = np.zeros(n + 1)
    best, left_open = -np.inf, -np.inf
    k, nodes, entering = 0, 0, True
    while k >= 0:
        if entering:
            nodes += 1
            entering = False
            bound = score + added[k] + _rest(family, table, opened, k, ahead, looked)
            root = min(root, bound) if nodes == 1 else root
            if k == n and bound > best:
                best = bound
                found[:] = at
            if bound <= best + ROUNDING * abs(best):
                k -= 1
                continue
            if looked[0] > most_looks:
                if best == -np.inf:
                    best = score + added[k] + _place_at_once(family, table, opened, k, at)
                    found[:] = at
                left_open = root
                break
            if nodes > most_nodes and best > -np.inf:
                left_open = max(left_open, bound)
                k -= 1
                continue
            tried[opened.first[k] : opened.first[k + 1]] = False
        else:
            add_weight(family, opened.cells[at[k]], -table.weights[opened.rows[k]])
        w = table.weights[opened.rows[k]]
        at[k], gained = _best_cell(family, opened, at, k, w, tried, looked)
        if at[k] < 0:
            k -= 1
            continue
        tried[at[k]] = True
        add_weight(family, opened.cells[at[k]], w)
        added[k + 1] = added[k] + gained
        k += 1
        entering = True
    cells = np.empty(n, np.int64)
    for r in range(n):
        cells[r] = opened.cells[found[r]]
    return Placement(max(best, left_open), best, looked[0], opened.rows, cells)


@kernel
def read_family(
    i: int,
    child: int,
    members: NDArray[np.int32],
    table: Holes,
    growth: Growth,
    most_nodes: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], float]:
    """Return the holes of a family, filled ones too, their best states, and the score unpaid.

    The parameters are those of :func:`place_rows`; shapes (k,), in the order of the holes.
    """
    placed = place_rows(i, child, members, table, growth, most_nodes, True)
    columns = columns_of(child, members)
    state = np.full(len(table.rows), -1, np.int64)
    for v in columns:
        for u in range(len(table.weights)):
            if table.number[v, u] >= 0:
                state[table.number[v, u]] = table.codes[v, u]
    score = placed.best
    for k in range(len(placed.rows)):
        cell = placed.cells[k]
        for v in columns:
            hole = table.number[v, placed.rows[k]]
            if hole >= 0 and table.codes[v, placed.rows[k]] < 0:
                state[hole] = cell % table.cardinalities[v]
                score += price_of(columns, table.prices, v, hole, state[hole])
            cell //= table.cardinalities[v]
    holes = np.flatnonzero(state >= 0)
    return holes, state[holes], score


@kernel
def bound_families(
    which: NDArray[np.int64],
    children: NDArray[np.int32],
    members: NDArray[np.int32],
    table: Holes,
    growth: Growth,
    most_nodes: int,
) -> NDArray[np.float64]:
    """Return bounds on the best score of some families, shape (which,).

    Parameters
    ----------
    which
        Numbers of the families, shape (which,).
    children, members
        Child and parents of all families, padded with -1, shapes (m,) and (m, most parents).
    table, growth, most_nodes
        As in :func:`place_rows`.
    """
    bounds = np.empty(len(which))
    for t in range(len(which)):
        i = which[t]
        bounds[t] = place_rows(i, children[i], members[i], table, growth, most_nodes, False).bound
    return bounds
