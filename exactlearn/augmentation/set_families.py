"""Families whose scores are differences of sums over two sets, and how changed cells change them.

The sets are those of :mod:`exactlearn.scoring.incremental_tables`. For multipliers ``l``
of cluster inequalities (:mod:`exactlearn.solvers.lp.multipliers`) a network on the table with a
change ``c`` scores at most::

    sum_i max_PA [ s_i(PA; c) + sum of l that (i, PA) satisfies ] - sum of all l

whatever the tables are. Only families that hold the changed variable have other scores than before,
so of all others one number for each child and variable is enough: the best family without it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn.augmentation.families import Families
from exactlearn.scoring.incremental_tables import (
    Rows,
    Sets,
    forget,
    gains,
    holders,
    holds,
    selected,
    set_sizes,
)
from exactlearn.scoring.terms import Terms, TermTables


class SetFamilies(NamedTuple):
    """Families, sorted by child, as pairs of sets.

    Attributes
    ----------
    first
        Where each child's families begin, shape (variables + 1,).
    child, family, parents
        Each family's child, and the numbers of the sets of all its variables and of its parents,
        shape (families,).
    penalty
        The penalty of each family, shape (families,); 0 before the score is known.
    holding_first, holding
        The families that hold each variable, shapes (variables + 1,) and (total,).
    """

    first: NDArray[np.int64]
    child: NDArray[np.int32]
    family: NDArray[np.int32]
    parents: NDArray[np.int32]
    penalty: NDArray[np.float64]
    holding_first: NDArray[np.int64]
    holding: NDArray[np.int32]

    @classmethod
    def of(
        cls,
        families: Families,
        members: NDArray[np.int32],
        family: NDArray[np.int32],
        parents: NDArray[np.int32],
        penalty: NDArray[np.float64],
    ) -> "SetFamilies":
        """Index families by variable, given the sets' members and each family's two sets."""
        holding_first, holding, _ = holders(members[family], families.n_variables)
        return cls(families.first, families.child, family, parents, penalty, holding_first, holding)


def paired_sets(families: Families) -> tuple[NDArray[np.int32], SetFamilies]:
    """Return the sets that some families need, the empty one first, and the families as pairs."""
    n, (m, k) = families.n_variables, families.members.shape
    parents = np.pad(families.members, ((0, 0), (0, 1)), constant_values=-1)
    family = parents.copy()
    family[np.arange(m), (parents >= 0).sum(axis=1)] = families.child
    family[family < 0] = n
    family.sort(axis=1)
    family[family == n] = -1
    sets = np.concatenate([np.full((1, k + 1), -1, np.int32), parents, family])
    if (n + 1) ** (k + 1) < 2**63:  # sorting numbers takes less time
        names = (sets + 1) @ (n + 1) ** np.arange(k, -1, -1)
        _, first, number = np.unique(names, return_index=True, return_inverse=True)
        sets = sets[first]
    else:
        sets, number = np.unique(sets, axis=0, return_inverse=True)
    numbers: NDArray[np.int32] = number.reshape(-1)[1:].astype(np.int32)
    return sets, SetFamilies.of(families, sets, numbers[m:], numbers[:m], np.zeros(m))


def some_families(
    sets: Sets, pairs: SetFamilies, families: Families, keep: NDArray[np.bool_]
) -> tuple[Sets, SetFamilies]:
    """Return the sets that some families need, with tables of their own, and them as pairs.

    ``families`` are those kept, and ``keep`` says which of the pairs they are.
    """
    family, parents = pairs.family[keep], pairs.parents[keep]
    needed = np.zeros(len(sets.values), np.bool_)
    needed[0] = needed[family] = needed[parents] = True
    number = (np.cumsum(needed) - 1).astype(np.int32)
    few = selected(sets, np.flatnonzero(needed), families.n_variables)
    return few, SetFamilies.of(
        families, few.members, number[family], number[parents], pairs.penalty[keep]
    )


def with_forms(
    members: NDArray[np.int32],
    families: SetFamilies,
    cardinalities: NDArray[np.int64],
    tables: TermTables,
) -> tuple[NDArray[np.int32], NDArray[np.int64], Terms, SetFamilies]:
    """Return which forms of function families sum over their sets, and give them their penalties.

    Returns the sets, those with several forms several times, the form of each, the tabulated score
    and the families. The first set stays the first.
    """
    sizes = set_sizes(cardinalities, members)
    terms = tables.covering(np.unique(sizes))
    n_forms, states = len(tables.forms), cardinalities[families.child]
    family = families.family * n_forms + terms.cell[states]
    parents = families.parents * n_forms + terms.configuration[states]
    needed = np.unique(np.concatenate([[0], family, parents]))
    at = np.searchsorted(terms.sizes, sizes[families.family])
    return (
        members[needed // n_forms],
        needed % n_forms,
        terms,
        families._replace(
            family=np.searchsorted(needed, family).astype(np.int32),
            parents=np.searchsorted(needed, parents).astype(np.int32),
            penalty=terms.penalty[at, states],
        ),
    )


def family_scores(sets: Sets, families: SetFamilies) -> NDArray[np.float64]:
    """Return the score of each family, shape (families,)."""
    scores: NDArray[np.float64] = sets.values[families.family] - sets.values[families.parents]
    return scores - families.penalty


@in_place_kernel
def best_family(
    sets: Sets, families: SetFamilies, scores: NDArray[np.float64], child: int, without: int
) -> int:
    """Return the first best family of a child that does not hold a variable, or -1."""
    found = -1
    if child == without:
        return found
    for f in range(families.first[child], families.first[child + 1]):
        best = scores[found] if found >= 0 else -np.inf
        if scores[f] > best and not holds(sets, families.family[f], without):
            found = f
    return found


@kernel
def bound_moves(
    sets: Sets,
    rows: Rows,
    families: SetFamilies,
    scores: NDArray[np.float64],
    moves: NDArray[np.int64],
    limit: float,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return each child's best score after each move, shape (moves, children).

    Also return the families that are in some selection whose sum is above the limit after some
    move, with some others, shape (families,).

    Parameters
    ----------
    sets, rows, families
        The tables before any move, and the families.
    scores
        Scores of the families, with what multipliers add; ``-inf`` for those left out.
    moves
        Row, variable and new state of each move, shape (moves, 3), in order of variables.
    limit
        The limit of the sum.
    """
    n = len(families.first) - 1
    child, family, parents = families.child, families.family, families.parents
    # the best of each child's families that do not hold a variable
    without = np.full((n, n), -np.inf)
    for i in range(n):
        top = best_family(sets, families, scores, i, -1)
        for v in range(n):
            f = top
            if f >= 0 and holds(sets, family[f], v):
                f = best_family(sets, families, scores, i, v)
            if f >= 0:
                without[v, i] = scores[f]
    change, best = np.zeros(len(sets.values)), np.empty(n)
    best_scores = np.empty((len(moves), n))
    close = np.zeros(len(child), np.bool_)
    least = np.full((n, n), np.inf)  # of a family that does not hold the variable changed
    for c in range(len(moves)):
        # each child's best score after the move
        u, v, state = moves[c, 0], moves[c, 1], moves[c, 2]
        if c > 0 and v != moves[c - 1, 1]:
            forget(sets, moves[c - 1, 1], change)
        gains(sets, rows, u, v, state, change)
        for i in range(n):
            best[i] = without[v, i]
        best_after(families, scores, change, v, best)
        # families that lose no more than the sum has to spare
        spare = -limit
        for i in range(n):
            best_scores[c, i] = best[i]
            spare += best[i]
        if not spare > 0.0:
            continue
        for i in range(n):
            least[v, i] = min(least[v, i], best[i] - spare)
        for at in range(families.holding_first[v], families.holding_first[v + 1]):
            f = families.holding[at]
            if scores[f] + change[family[f]] - change[parents[f]] >= best[child[f]] - spare:
                close[f] = True
    # the same of families that do not hold the changed variable
    for f in range(len(close)):
        for v in range(n):
            if scores[f] >= least[v, child[f]] and not holds(sets, family[f], v):
                close[f] = True
    return best_scores, close


@in_place_kernel
def best_after(
    families: SetFamilies,
    scores: NDArray[np.float64],
    change: NDArray[np.float64],
    v: int,
    best: NDArray[np.float64],
) -> None:
    """Raise each child's best score to that of its families that hold ``v``, after a move."""
    child, family, parents = families.child, families.family, families.parents
    for at in range(families.holding_first[v], families.holding_first[v + 1]):
        f = families.holding[at]
        score = scores[f] + change[family[f]] - change[parents[f]]
        if score > best[child[f]]:
            best[child[f]] = score


@kernel
def envelope(
    sets: Sets,
    rows: Rows,
    families: SetFamilies,
    scores: NDArray[np.float64],
    moves: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return each family's best score after any one of some moves, shape (families,).

    The parameters are those of :func:`bound_moves`; there is one move at least.
    """
    child, family, parents = families.child, families.family, families.parents
    holding = families.holding
    change, best = np.zeros(len(sets.values)), np.full(len(scores), -np.inf)
    n_held, n_variables = np.zeros(len(child), np.int64), 0
    for c in range(len(moves)):
        u, v, state = moves[c, 0], moves[c, 1], moves[c, 2]
        is_new = c == 0 or v != moves[c - 1, 1]
        if c > 0 and is_new:
            forget(sets, moves[c - 1, 1], change)
        n_variables += is_new
        gains(sets, rows, u, v, state, change)
        for at in range(families.holding_first[v], families.holding_first[v + 1]):
            f = holding[at]
            n_held[f] += is_new
            best[f] = max(best[f], scores[f] + change[family[f]] - change[parents[f]])
    for f in range(len(best)):
        if n_held[f] < n_variables:  # some change leaves it as it is
            best[f] = max(best[f], scores[f])
    return best
