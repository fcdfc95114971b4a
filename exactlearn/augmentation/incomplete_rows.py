"""The rows with missing cells in a family's columns, and the cells of its table they can be in.

Adding weight ``w`` to cell ``(j, k)`` of a family's table changes its score by the *increment*
``f(n_jk + w) - f(n_jk) - g(n_j + w) + g(n_j)``, with the functions ``f`` of cells and ``g`` of
configurations (:mod:`exactlearn.scoring.scores`). Bounds need this difference as a whole, so a
family has a table of its own here, not one for each of its two sets.

Lagrange multipliers make families agree on the states of missing cells. A set of variables, of
which one or two besides the column of a missing cell, has at most one member in a DAG that has all
others as parents: its *sink*. So the state of a missing cell has a multiplier for each *payer*: for
each child whose family has the cell, and for the sink of each such set.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn.augmentation.families import FamilyTerms
from exactlearn.data.dataset import Dataset
from exactlearn.scoring.terms import Functions, rise


def payer_numbers(n: int) -> NDArray[np.int64]:
    """Return the payer that is the sink of the cell's column with one variable, or with two others.

    The first ``n`` payers are the children; then follow the sets of one variable ``a``, found at
    ``[a, a]``, and of two. Shape (n, n).
    """
    a, b = np.indices((n, n))
    high = np.maximum(a, b)
    low = np.minimum(a, b)
    return np.where(a == b, n + a, 2 * n + high * (high - 1) // 2 + low)


@kernel
def payers_of(
    number: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the payers that a family is for each of its columns.

    The child pays for all of them. The sets besides the child's column are one or two parents;
    besides a parent's, the child alone or with another parent.

    Parameters
    ----------
    number
        What :func:`payer_numbers` returns.
    columns
        The family, child first, shape (k,).

    Returns
    -------
    payers
        Shape (k, most payers), padded with -1.
    """
    k = len(columns)
    payers = np.full((k, 1 + max(k, k * (k - 1) // 2)), -1)
    payers[:, 0] = columns[0]
    count = 1
    for p in range(1, k):
        for q in range(1, p + 1):
            payers[0, count] = number[columns[p], columns[q]]
            count += 1
        for q in range(k):
            if q != p:
                payers[p, 1 + q] = number[columns[0], columns[q]]
    return payers


class MissingCells(NamedTuple):
    """An incomplete table, its missing cells, some of them fixed, and their multipliers.

    Attributes
    ----------
    codes
        States, -1 in the missing cells, shape (variables, rows).
    weights
        Weight of each row, shape (rows,).
    cardinalities
        Number of states of each variable, shape (variables,).
    number
        Number of each missing cell, fixed ones too, -1 elsewhere, shape (variables, rows).
    variables, rows
        Where each missing cell is, shapes (cells,).
    payers
        What :func:`payer_numbers` returns, shape (n, n).
    multipliers
        Lagrange multipliers of their states, never less than 0, shape (payers, cells, most states).
    """

    codes: NDArray[np.int16]
    weights: NDArray[np.float64]
    cardinalities: NDArray[np.int64]
    number: NDArray[np.int64]
    variables: NDArray[np.int64]
    rows: NDArray[np.int64]
    payers: NDArray[np.int64]
    multipliers: NDArray[np.float64]

    @classmethod
    def of(cls, dataset: Dataset) -> "MissingCells":
        """Return the missing cells of a table, all multipliers being 0."""
        rows, variables = dataset.missing_cells.T.copy()
        codes = np.ascontiguousarray(dataset.codes.T.astype(np.int16))
        number = np.full(codes.shape, -1)
        number[variables, rows] = np.arange(len(rows))
        n = dataset.n_variables
        max_states = int(dataset.cardinalities.max(initial=0))
        return cls(
            codes,
            dataset.row_weights,
            dataset.cardinalities,
            number,
            variables,
            rows,
            payer_numbers(n),
            np.zeros((2 * n + n * (n - 1) // 2, len(rows), max_states)),
        )

    @property
    def states(self) -> NDArray[np.int64]:
        """Number of states of each missing cell, shape (cells,)."""
        return self.cardinalities[self.variables]

    @property
    def filled(self) -> NDArray[np.int64]:
        """State of each missing cell, -1 where it is not fixed, shape (cells,)."""
        return self.codes[self.variables, self.rows].astype(np.int64)

    def fill(self, values: NDArray[np.int64]) -> "MissingCells":
        """Return the missing cells with other states, -1 where not fixed, shape (cells,)."""
        codes = self.codes.copy()
        codes[self.variables, self.rows] = values
        return self._replace(codes=codes)


@kernel
def family_charges(
    terms: FamilyTerms, number: NDArray[np.int64], charges: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the sum of charges of each family, over its columns, shape (m,).

    Parameters
    ----------
    terms
        The families.
    number
        What :func:`payer_numbers` returns.
    charges
        Charge of each payer for each column, shape (payers, n).
    """
    total = np.zeros(len(terms.size))
    for f in range(len(total)):
        columns = terms.columns[f, : terms.size[f]]
        payers = payers_of(number, columns)
        for p in range(len(columns)):
            for payer in payers[p]:
                if payer >= 0:
                    total[f] += charges[payer, columns[p]]
    return total


class FamilyTable(NamedTuple):
    """The columns of a family, child first, its two functions, and its counts so far."""

    columns: NDArray[np.int64]
    states: int
    functions: Functions
    f: int
    g: int
    counts: NDArray[np.float64]
    sums: NDArray[np.float64]


@in_place_kernel
def increment_at(family: FamilyTable, cell: int, w: float, earlier: float) -> float:
    """Return the score increment of weight in a cell that has more in it than counted so far."""
    j = cell // family.states
    n = family.counts[cell] + earlier
    m = family.sums[j] + earlier
    return rise(family.functions, family.f, n, w) - rise(
        family.functions, family.g, m, w
    )


@in_place_kernel
def add_weight(family: FamilyTable, cell: int, w: float) -> None:
    """Count weight in a cell."""
    family.counts[cell] += w
    family.sums[cell // family.states] += w


@in_place_kernel
def count_rows(
    family: FamilyTable, table: MissingCells, rows: NDArray[np.int64]
) -> tuple[float, int, int]:
    """Count the rows that are complete in a family's columns.

    Write down the numbers of the others; return the score of the rows counted, how many others
    there are, and in how many places they can be.
    """
    score = 0.0
    n_rows = 0
    n_places = 0
    for u in range(len(table.weights)):
        cell = 0
        stride = 1
        places = 1
        is_complete = (
            True  # a missing cell of a variable with one state has one place, too
        )
        for v in family.columns:
            state = table.codes[v, u]
            if state < 0:
                places *= table.cardinalities[v]
                is_complete = False
            cell += state * stride
            stride *= table.cardinalities[v]
        if is_complete:
            score += increment_at(family, cell, table.weights[u], 0.0)
            add_weight(family, cell, table.weights[u])
        else:
            rows[n_rows] = u
            n_rows += 1
            n_places += places
    return score, n_rows, n_places


class IncompleteRows(NamedTuple):
    """The rows with missing cells, those whose place is clearest first.

    Attributes
    ----------
    rows
        Their numbers, shape (k,).
    first, end, cells, multipliers
        The cells of the table that each can be placed into, ``cells[first[k] : end[k]]``, with the
        sum of its multipliers there, shapes (k,) and (total,).
    alike
        For each row the last one before it that has the same cells and weight, or -1, shape (k,).
    """

    rows: NDArray[np.int64]
    first: NDArray[np.int64]
    end: NDArray[np.int64]
    cells: NDArray[np.int64]
    multipliers: NDArray[np.float64]
    alike: NDArray[np.int64]


@in_place_kernel
def list_places(
    family: FamilyTable,
    table: MissingCells,
    payers: NDArray[np.int64],
    rows: NDArray[np.int64],
    incomplete: IncompleteRows,
    keys: NDArray[np.float64],
    order: NDArray[np.int64],
) -> None:
    """List where rows can be placed, the row whose best place is clearest first.

    The last two arrays are room to sort in, shape (k,).
    """
    ordered, first, end, cells, multipliers, alike = incomplete
    for t in range(len(keys)):
        begin = end[t - 1] if t else 0
        end[t] = _list_places_of_row(
            family, table, payers, rows[t], begin, cells, multipliers
        )
        # by how much the second best place is behind
        best = -np.inf
        second = -np.inf
        for place in range(begin, end[t]):
            w = table.weights[rows[t]]
            gain = increment_at(family, cells[place], w, 0.0) - multipliers[place]
            second = max(second, min(best, gain))
            best = max(best, gain)
        order[t] = t
        keys[t] = second - best
    sort_by(keys, order)
    # ends are kept elsewhere until all of them were read
    for k in range(len(keys)):
        ordered[k] = rows[order[k]]
        first[k] = end[order[k] - 1] if order[k] else 0
        alike[k] = end[order[k]]
    # rows alike stand together: the first and the last cell tell which others a row has
    for k in range(len(keys)):
        end[k] = alike[k]
        alike[k] = -1
        order[k] = k
        keys[k] = cells[first[k]] * len(family.counts) + cells[end[k] - 1]
    sort_by(keys, order)
    for at in range(1, len(keys)):
        k = order[at]
        before = order[at - 1]
        has_equal_weight = table.weights[ordered[k]] == table.weights[ordered[before]]
        if keys[k] == keys[before] and has_equal_weight:
            alike[k] = before


@in_place_kernel
def _list_places_of_row(
    family: FamilyTable,
    table: MissingCells,
    payers: NDArray[np.int64],
    row: int,
    begin: int,
    cells: NDArray[np.int64],
    multipliers: NDArray[np.float64],
) -> int:
    """List the cells that a row can be in, and their multipliers, from ``begin`` on.

    Both are 0 there before. Return where the list ends.
    """
    count = 1
    stride = 1
    # column by column, each missing cell multiplies the places by its states
    for p in range(len(family.columns)):
        v = family.columns[p]
        state = table.codes[v, row]
        r = table.cardinalities[v]
        if state >= 0:
            for k in range(begin, begin + count):
                cells[k] += state * stride
        else:
            for state in range(r - 1, -1, -1):
                total = 0.0
                for payer in payers[p]:
                    if payer >= 0:
                        cell = table.number[v, row]
                        total += table.multipliers[payer, cell, state]
                for k in range(begin, begin + count):
                    cells[state * count + k] = cells[k] + state * stride
                    multipliers[state * count + k] = multipliers[k] + total
            count *= r
        stride *= r
    return begin + count


@in_place_kernel
def sort_by(keys: NDArray[np.float64], places: NDArray[np.int64]) -> None:
    """Sort places by their keys, equal ones by number (Shell's sort, which compiles soonest)."""
    gap = 1
    while gap < len(places) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, len(places)):
            place = places[i]
            k = i
            while k >= gap and (keys[place], place) < (
                keys[places[k - gap]],
                places[k - gap],
            ):
                places[k] = places[k - gap]
                k -= gap
            places[k] = place
        gap //= 3
