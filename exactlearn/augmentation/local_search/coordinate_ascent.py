"""Coordinate ascent over single cells (iterated conditional modes), for a DAG or for an order.

For an order of the variables, every variable is free to take other parents before it: the best
parent set of each is independent of the others, so the best network of the order after a move is
known from the families that hold the changed variable
(:mod:`exactlearn.scoring.incremental_tables`). A fixed DAG is an order with one family
for each variable.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import ParentsLike, checked_arguments
from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn.augmentation.local_search.set_families import (
    SetFamilies,
    best_after,
    best_family,
    family_scores,
    listed_families,
    with_forms,
)
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import TooLargeError
from exactlearn.scoring.incremental_tables import (
    MOST_CELLS,
    Rows,
    Sets,
    change_cell,
    forget,
    gains,
    holds,
    rows_of,
    set_sizes,
    tabulate,
)
from exactlearn.scoring.scores import ScoreLike
from exactlearn.scoring.terms import TermTables

LEAST_RISE = 1e-8
"""Least improvement that counts: smaller ones are rounding, and could cycle."""


def coordinate_ascent(
    dataset: Dataset,
    values: NDArray[np.int64],
    parents: Sequence[Sequence[int]],
    tables: TermTables,
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
    tables
        The score, tabulated for the table.
    """
    sets, rows, families = _of_network(dataset, values, parents, tables)
    chosen, cells = np.arange(dataset.n_variables), dataset.missing_cells
    scores = family_scores(sets, families)
    while sweep(sets, rows, families, scores, chosen, cells):
        pass
    return rows.codes[cells[:, 0], cells[:, 1]].astype(np.int64)


@checked_arguments()
def cell_losses(
    dataset: DatasetLike,
    score: ScoreLike,
    parents: ParentsLike,
    values: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return what the score loses when a single missing cell is given another value.

    The network and all other cells stay; learning these again would lose as much at most.

    Parameters
    ----------
    dataset
        The incomplete table.
    score
        What was maximised.
    parents
        Parents of each variable.
    values
        The completion: state of each missing cell, in the order of ``dataset.missing_cells``.

    Returns
    -------
    losses
        Shape (cells, most states); 0 for a cell's own value, negative where another one scores
        more, not a number for states that a variable does not have.

    Examples
    --------
    >>> from exactlearn.scoring.scores import BDeu
    >>> table = Dataset(np.array([[0, 0], [1, 1], [1, -1]]), ("a", "b"), (("no", "yes"),) * 2)
    >>> cell_losses(table, BDeu(1.0), ((), (0,)), np.array([1])).round(3).tolist()
    [[1.609, 0.0]]
    """
    tables = TermTables(score, dataset.cardinalities, dataset.row_weights)
    sets, rows, families = _of_network(dataset, np.asarray(values, np.int64), parents, tables)
    cells, most = dataset.missing_cells, int(dataset.cardinalities.max(initial=0))
    losses = np.full((len(cells), most), np.nan)
    _single_changes(sets, rows, families, cells, losses)
    return losses


def _of_network(
    dataset: Dataset,
    values: NDArray[np.int64],
    parents: Sequence[Sequence[int]],
    tables: TermTables,
) -> tuple[Sets, Rows, SetFamilies]:
    """Return the tables of a network's families, and the completed rows."""
    n, rows = dataset.n_variables, rows_of(dataset, values)
    padded = np.full((n, 1 + max(map(len, parents))), -1, np.int32)
    for child, own in enumerate(parents):
        padded[child, : len(own)] = sorted(own)
    listed = listed_families(np.arange(n), padded, n)
    members, forms, terms, families = with_forms(*listed, rows.cardinalities, tables)
    if (cells := set_sizes(rows.cardinalities, members).sum()) > MOST_CELLS:
        raise TooLargeError(
            f"the tables of the network's families have {cells:.3g} cells, more than {MOST_CELLS}: "
            "allow fewer parents"
        )
    return tabulate(rows, members, forms, terms), rows, families


@kernel
def _single_changes(
    sets: Sets,
    rows: Rows,
    families: SetFamilies,
    cells: NDArray[np.int64],
    losses: NDArray[np.float64],
) -> None:
    """Fill in what each state of each cell loses, shape (cells, most states)."""
    change = np.zeros(len(sets.values))
    for c in range(len(cells)):
        u, v = cells[c, 0], cells[c, 1]
        losses[c, rows.codes[u, v]] = 0.0
        for state in range(rows.cardinalities[v]):
            if state != rows.codes[u, v]:
                gains(sets, rows, u, v, state, change)
                losses[c, state] = 0.0
                for at in range(families.holding_first[v], families.holding_first[v + 1]):
                    f = families.holding[at]
                    losses[c, state] -= change[families.family[f]] - change[families.parents[f]]
        forget(sets, v, change)


@kernel
def in_order(sets: Sets, families: SetFamilies, position: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which families have all parents before their child, shape (families,).

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
