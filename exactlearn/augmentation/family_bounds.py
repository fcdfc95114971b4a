"""The best score of a family over all completions of its columns, or a bound on it.

Each row with holes in the family's columns is placed into one of the cells it can be in, which is
done by depth-first branch and bound. Reading a hole as a state may cost a price: with prices on
what the families of each child read, families that read a hole differently can be brought to agree
(:mod:`exactlearn.augmentation.agreement`).

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

from exactlearn.augmentation.growth import Growth, gain
from exactlearn.augmentation.prices import Prices, price_of
from exactlearn.data import Dataset
from exactlearn.kernel import kernel

ROUNDING = 1e-10
"""Least improvement worth a branch, relative to a family's score."""

MARGIN = 1e-9
"""Least difference of prices by which exchanging two rows is better."""


class Holes(NamedTuple):
    """An incomplete table, and what reading its holes costs.

    Attributes
    ----------
    codes
        States, -1 in the holes, shape (variables, rows).
    weights
        Weight of each row, shape (rows,).
    cardinalities
        Number of states of each variable, shape (variables,).
    number
        Number of each hole, filled ones too, -1 elsewhere, shape (variables, rows).
    variables, rows
        Where each hole is, shapes (holes,).
    prices
        What reading a hole costs.
    """

    codes: NDArray[np.int16]
    weights: NDArray[np.float64]
    cardinalities: NDArray[np.int64]
    number: NDArray[np.int64]
    variables: NDArray[np.int64]
    rows: NDArray[np.int64]
    prices: Prices

    @classmethod
    def of(cls, dataset: Dataset) -> "Holes":
        """Return the missing cells of a table; reading them costs nothing."""
        rows, variables = dataset.missing_cells.T.copy()
        codes = np.ascontiguousarray(dataset.codes.T.astype(np.int16))
        number = np.full(codes.shape, -1)
        number[variables, rows] = np.arange(len(rows))
        most = int(dataset.cardinalities.max(initial=0))
        return cls(
            codes,
            dataset.row_weights,
            dataset.cardinalities,
            number,
            variables,
            rows,
            Prices.none(dataset.n_variables, len(rows), most),
        )

    @property
    def states(self) -> NDArray[np.int64]:
        """Number of states of each hole, shape (holes,)."""
        return self.cardinalities[self.variables]

    @property
    def filled(self) -> NDArray[np.int64]:
        """State of each hole, -1 where it is open, shape (holes,)."""
        return self.codes[self.variables, self.rows].astype(np.int64)

    def fill(self, values: NDArray[np.int64]) -> "Holes":
        """Return the holes with other states, -1 where they shall be open, shape (holes,)."""
        codes = self.codes.copy()
        codes[self.variables, self.rows] = values
        return self._replace(codes=codes)


class Placement(NamedTuple):
    """What :func:`place_rows` found.

    Attributes
    ----------
    bound
        No completion of the family's columns scores more, its prices paid.
    best
        Score of the completion found, its prices paid; equal to the bound where the search was
        finished.
    rows, cells
        The rows with holes, and the cell (configuration times states plus state) each was placed
        into, shapes (k,).
    """

    bound: float
    best: float
    rows: NDArray[np.int64]
    cells: NDArray[np.int64]


class _Open(NamedTuple):
    """The rows with holes, those whose place is clearest first.

    Attributes
    ----------
    rows
        Their numbers, shape (k,).
    first, cells, prices
        The cells each can be placed into and what that costs, shapes (k + 1,) and (total,).
    alike
        For each row the last one before it that has the same cells and weight, or -1, shape (k,).
    """

    rows: NDArray[np.int64]
    first: NDArray[np.int64]
    cells: NDArray[np.int64]
    prices: NDArray[np.float64]
    alike: NDArray[np.int64]


class _Family(NamedTuple):
    """The columns of a family, child first, its growth, and its contingency table so far."""

    columns: NDArray[np.int64]
    states: int
    f: NDArray[np.float64]
    g: NDArray[np.float64]
    alphas: NDArray[np.float64]
    kind: int
    a: float
    counts: NDArray[np.float64]
    sums: NDArray[np.float64]


@kernel
def _gain(family: _Family, cell: int, w: float, ahead: float) -> float:
    """Return what weight adds to a cell that has some more in it than counted so far."""
    j = cell // family.states
    n, m = family.counts[cell] + ahead, family.sums[j] + ahead
    return gain(n, w, family.f, family.alphas[0], family.kind, family.a) - gain(
        m, w, family.g, family.alphas[1], family.kind, family.a
    )


@kernel
def _add(family: _Family, cell: int, w: float) -> None:
    family.counts[cell] += w
    family.sums[cell // family.states] += w


@kernel
def columns_of(child: int, members: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the columns of a family, child first; parents are padded with -1."""
    count = 1
    while count <= len(members) and members[count - 1] >= 0:
        count += 1
    columns = np.empty(count, np.int64)
    columns[0] = child
    for p in range(1, count):
        columns[p] = members[p - 1]
    return columns


@kernel
def _lay_out(
    i: int, child: int, members: NDArray[np.int32], table: Holes, growth: Growth
) -> tuple[_Family, float]:
    """Return family number ``i`` with an empty table, and the score of no rows at all."""
    columns = columns_of(child, members)
    r, q = table.cardinalities[child], 1
    for p in range(1, len(columns)):
        q *= table.cardinalities[columns[p]]
    alphas = np.array([growth.a / (q * r), growth.a / q])
    f, g = growth.tables[growth.rows[i, 0]], growth.tables[growth.rows[i, 1]]
    family = _Family(columns, r, f, g, alphas, growth.kind, growth.a, np.zeros(q * r), np.zeros(q))
    return family, -growth.b * q * (r - 1)


@kernel
def _count(family: _Family, table: Holes) -> tuple[float, NDArray[np.int64], int]:
    """Count the complete rows; return what they score, the rows with holes, and their cells."""
    score, n_rows, n_cells = 0.0, 0, 0
    rows = np.empty(len(table.weights), np.int64)
    for u in range(len(table.weights)):
        cell, stride, places = 0, 1, 1
        for v in family.columns:
            state = table.codes[v, u]
            if state < 0:
                places *= table.cardinalities[v]
            cell += state * stride
            stride *= table.cardinalities[v]
        if places == 1:
            score += _gain(family, cell, table.weights[u], 0.0)
            _add(family, cell, table.weights[u])
        else:
            rows[n_rows] = u
            n_rows += 1
            n_cells += places
    return score, rows[:n_rows].copy(), n_cells


@kernel
def _fill(
    family: _Family,
    table: Holes,
    row: int,
    cells: NDArray[np.int64],
    prices: NDArray[np.float64],
) -> int:
    """Fill in the cells a row can be placed into and what they cost; return their number."""
    cells[0], prices[0] = 0, 0.0
    count, stride = 1, 1
    for v in family.columns:
        state, hole = table.codes[v, row], table.number[v, row]
        if state >= 0:
            for k in range(count):
                cells[k] += state * stride
        else:
            for other in range(table.cardinalities[v] - 1, -1, -1):
                paid = price_of(family.columns, table.prices, v, hole, other)
                for k in range(count):
                    cells[other * count + k] = cells[k] + other * stride
                    prices[other * count + k] = prices[k] + paid
            count *= table.cardinalities[v]
        stride *= table.cardinalities[v]
    return count


@kernel
def _open_rows(family: _Family, table: Holes, rows: NDArray[np.int64], n_cells: int) -> _Open:
    """List where the rows can be placed, the row whose best place is clearest first."""
    cells, prices = np.empty(n_cells, np.int64), np.empty(n_cells)
    first = np.zeros(len(rows) + 1, np.int64)
    clear = np.empty(len(rows))
    for k in range(len(rows)):
        at = first[k]
        first[k + 1] = at + _fill(family, table, rows[k], cells[at:], prices[at:])
        best, second = -np.inf, -np.inf
        for o in range(at, first[k + 1]):
            gained = _gain(family, cells[o], table.weights[rows[k]], 0.0) - prices[o]
            second = max(second, min(best, gained))
            best = max(best, gained)
        clear[k] = best - second
    order = np.argsort(-clear, kind="mergesort")
    sorted_first = np.zeros(len(rows) + 1, np.int64)
    sorted_cells, sorted_prices = np.empty(n_cells, np.int64), np.empty(n_cells)
    for k in range(len(rows)):
        at, size = first[order[k]], first[order[k] + 1] - first[order[k]]
        to = sorted_first[k]
        sorted_first[k + 1] = to + size
        for o in range(size):
            sorted_cells[to + o], sorted_prices[to + o] = cells[at + o], prices[at + o]
    alike = np.full(len(rows), -1)
    for k in range(len(rows)):
        for t in range(k - 1, -1, -1):
            if _are_alike(table.weights, rows[order], sorted_first, sorted_cells, t, k):
                alike[k] = t
                break
    return _Open(rows[order], sorted_first, sorted_cells, sorted_prices, alike)


@kernel
def _are_alike(
    weights: NDArray[np.float64],
    rows: NDArray[np.int64],
    first: NDArray[np.int64],
    cells: NDArray[np.int64],
    t: int,
    k: int,
) -> bool:
    """Tell whether two rows have the same cells and weight: first and last cell tell the others."""
    return bool(
        cells[first[t]] == cells[first[k]]
        and cells[first[t + 1] - 1] == cells[first[k + 1] - 1]
        and weights[rows[t]] == weights[rows[k]]
    )


@kernel
def _is_dominated(opened: _Open, at: NDArray[np.int64], k: int, o: int) -> bool:
    """Tell whether exchanging a row with one placed before is better, or as good and tried before.

    Rows alike differ in what they pay only.
    """
    own = opened.first[k]
    b, t = o - own, opened.alike[k]
    while t >= 0:
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
    family: _Family,
    table: Holes,
    opened: _Open,
    begin: int,
    ahead: NDArray[np.float64],
) -> float:
    """Return the most that the rows from number ``begin`` on can add."""
    total = 0.0
    for k in range(begin, len(opened.rows)):
        w, most = table.weights[opened.rows[k]], -np.inf
        for o in range(opened.first[k], opened.first[k + 1]):
            cell = opened.cells[o]
            most = max(most, _gain(family, cell, w, ahead[cell]) - opened.prices[o])
            ahead[cell] += w
        total += most
    for o in range(opened.first[begin], len(opened.cells)):
        ahead[opened.cells[o]] = 0.0
    return total


@kernel
def _best_cell(
    family: _Family,
    opened: _Open,
    at: NDArray[np.int64],
    k: int,
    w: float,
    tried: NDArray[np.bool_],
) -> tuple[int, float]:
    """Return where among a row's cells not tried it gains most, and what."""
    best, most = -1, -np.inf
    for o in range(opened.first[k], opened.first[k + 1]):
        if not tried[o] and not _is_dominated(opened, at, k, o):
            gained = _gain(family, opened.cells[o], w, 0.0) - opened.prices[o]
            if gained > most:
                best, most = o, gained
    return best, most


@kernel
def place_rows(
    i: int,
    child: int,
    members: NDArray[np.int32],
    table: Holes,
    growth: Growth,
    most_nodes: int,
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
        Nodes of the search after which what is left is bounded.
    """
    family, score = _lay_out(i, child, members, table, growth)
    counted, rows, n_cells = _count(family, table)
    score += counted
    opened = _open_rows(family, table, rows, n_cells)
    n = len(opened.rows)
    ahead = np.zeros(len(family.counts))
    tried = np.zeros(n_cells, np.bool_)
    at, found = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    added = np.zeros(n + 1)
    best, left_open = -np.inf, -np.inf
    k, nodes, entering = 0, 0, True
    while k >= 0:
        if entering:
            nodes += 1
            entering = False
            bound = score + added[k] + _rest(family, table, opened, k, ahead)
            if k == n and bound > best:
                best = bound
                found[:] = at
            if bound <= best + ROUNDING * abs(best):
                k -= 1
                continue
            if nodes > most_nodes and best > -np.inf:
                left_open = max(left_open, bound)
                k -= 1
                continue
            tried[opened.first[k] : opened.first[k + 1]] = False
        else:
            _add(family, opened.cells[at[k]], -table.weights[opened.rows[k]])
        w = table.weights[opened.rows[k]]
        at[k], gained = _best_cell(family, opened, at, k, w, tried)
        if at[k] < 0:
            k -= 1
            continue
        tried[at[k]] = True
        _add(family, opened.cells[at[k]], w)
        added[k + 1] = added[k] + gained
        k += 1
        entering = True
    cells = np.empty(n, np.int64)
    for r in range(n):
        cells[r] = opened.cells[found[r]]
    return Placement(max(best, left_open), best, opened.rows, cells)


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
    placed = place_rows(i, child, members, table, growth, most_nodes)
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
        bounds[t] = place_rows(i, children[i], members[i], table, growth, most_nodes).bound
    return bounds
