"""Coordinate ascent over single cells (iterated conditional modes), for a DAG or for an order.

For an order of the variables, every variable is free to take other parents before it: the best
parent set of each is independent of the others, so the best network of the order after a move is
known from the families that hold the changed variable
(:mod:`exactlearn.scoring.incremental_tables`). A fixed DAG is an order with one family
for each variable.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn._runtime.variable_arguments import ParentsLike
from exactlearn.augmentation.families import (
    Dag,
    Families,
    SetFamilies,
    network_problem,
)
from exactlearn.augmentation.family_store import FamilyStore, best_after, best_family
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
)
from exactlearn.scoring.scores import ScoreLike
from exactlearn.scoring.set_tables import set_sizes
from exactlearn.scoring.terms import TermTables
from exactlearn.solvers.ordering import positions

# Least improvement that counts: smaller ones are rounding, and could cycle.
LEAST_RISE = 1e-8
# Stands for a family that was not looked for yet.
UNKNOWN = -2


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
    store = _of_network(dataset, values, parents, tables)
    for _ in ascend(store, parents):
        pass
    return store.values


@checked_arguments()
def cell_losses(
    dataset: DatasetLike,
    score: ScoreLike,
    parents: ParentsLike,
    values: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the loss of score when a single missing cell is given another value.

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
    store = _of_network(dataset, np.asarray(values, np.int64), parents, tables)
    cells = dataset.missing_cells
    total = store.scores.sum()
    losses = np.full((len(cells), int(dataset.cardinalities.max(initial=0))), np.nan)
    losses[np.arange(len(cells)), values] = 0.0
    # each single move, under which only the families that hold the cell change
    number = np.full(dataset.codes.shape, -1)
    number[tuple(cells.T)] = np.arange(len(cells))
    for move in store.single_moves(distinct=False):
        losses[number[move[0], move[1]], move[2]] = (
            total - store.envelope(move[None]).sum()
        )
    return losses


def _of_network(
    dataset: Dataset,
    values: NDArray[np.int64],
    parents: Sequence[Sequence[int]],
    tables: TermTables,
) -> FamilyStore:
    """Return the tables of a network's families."""
    families = Families.listed(network_problem(dataset.names, parents))
    states = set_sizes(dataset.cardinalities, families.members) * dataset.cardinalities
    if states.sum() > MOST_CELLS:
        raise TooLargeError(
            f"the tables of the network's families have {states.sum():.3g} cells, more than "
            f"{MOST_CELLS}: allow fewer parents"
        )
    return FamilyStore.of(dataset, values, tables, families)


def in_order(families: Families, parents: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
    """Return whether each family has its parents before its child in an order, shape (m,)."""
    position = np.append(positions(parents), -1)  # that of the padding comes last
    last_parent = position[families.members].max(axis=1, initial=-1)
    fits: NDArray[np.bool_] = last_parent < position[families.child]
    return fits


def scores_in_order(store: FamilyStore, parents: Dag) -> NDArray[np.float64]:
    """Return the scores of the families that fit a network's order, ``-inf`` for others."""
    return np.where(in_order(store.families, parents), store.scores, -np.inf)


def ascend(store: FamilyStore, parents: Sequence[Sequence[int]]) -> Iterator[Dag]:
    """Change single cells while that raises the best network of a network's order.

    Yields the best network of the order after each sweep over the cells; the last sweep found
    nothing more to change.
    """
    usable = store.select(in_order(store.families, parents))
    scores = usable.scores
    network = usable.families.best(scores)
    changed = 1
    while changed and not store.control.is_over:
        changed = 0
        for cells in usable.blocks(usable.cells):
            changed += sweep(
                usable.sets, usable.rows, usable.pairs, scores, network, cells
            )
        store.move_to(usable.values)
        yield usable.families.flat.parent_sets(network)


@kernel
def sweep(
    sets: Sets,
    rows: Rows,
    families: SetFamilies,
    scores: NDArray[np.float64],
    network: NDArray[np.int64],
    cells: NDArray[np.int64],
) -> int:
    """Give each cell its best state once, in place; return how many cells have a new one.

    Parameters
    ----------
    sets, rows, families
        The tables, which are kept up to date.
    scores
        Scores of the families, kept up to date, shape (families,).
    network
        Each child's best family, shape (variables,), kept up to date.
    cells
        Row and variable of each cell, shape (cells, 2), in order of variables.
    """
    n = len(network)
    change = np.zeros(len(sets.values))
    best = np.zeros(n)
    # each child's best family without the variable
    without = np.full(n, UNKNOWN)
    changed = 0
    for c in range(len(cells)):
        u = cells[c, 0]
        v = cells[c, 1]
        if c > 0 and v != cells[c - 1, 1]:
            without[:] = UNKNOWN
        # the state after which the order's best network rises most
        largest = LEAST_RISE
        best_state = -1
        for state in range(rows.cardinalities[v]):
            if state == rows.codes[u, v]:
                continue
            gains(sets, rows, u, v, state, change)
            gain = _gain_in_order(
                sets, families, scores, network, change, v, without, best
            )
            if gain > largest:
                largest = gain
                best_state = state
        # take it, and bring tables, scores and network up to date
        if best_state >= 0:
            gains(sets, rows, u, v, best_state, change)
            change_cell(sets, rows, u, v, best_state, change)
            for at in range(families.holding_first[v], families.holding_first[v + 1]):
                f = families.holding[at]
                scores[f] += change[families.family[f]] - change[families.parents[f]]
            for i in range(n):
                network[i] = best_family(sets, families, scores, i, -1)
            without[:] = UNKNOWN
            changed += 1
        forget(sets, v, change)
    return changed


@in_place_kernel
def _gain_in_order(
    sets: Sets,
    families: SetFamilies,
    scores: NDArray[np.float64],
    network: NDArray[np.int64],
    change: NDArray[np.float64],
    v: int,
    without: NDArray[np.int64],
    best: NDArray[np.float64],
) -> float:
    """Return by how much the best network rises when tables that hold a variable change.

    ``without`` keeps each child's best family that does not hold the variable, once it is looked
    for; ``best`` is room for each child's best score.
    """
    for i in range(len(best)):
        best[i] = -np.inf
    best_after(families, scores, change, v, best)
    gain = 0.0
    for i in range(len(best)):
        current = scores[network[i]]
        if best[i] < current:
            # a family that does not hold the variable stays as it is
            if not holds(sets, families.family[network[i]], v):
                continue
            if without[i] == UNKNOWN:
                without[i] = best_family(sets, families, scores, i, v)
            if without[i] >= 0:
                best[i] = max(best[i], scores[without[i]])
        gain += best[i] - current
    return gain
