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
from exactlearn.augmentation.families import FamilyRules, ParentSets, parent_sets, subset_without
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
from exactlearn.solvers.lp.multipliers import Multipliers, rewards
from exactlearn.solvers.problem import Problem, offsets


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

    def of_child(self, child: int) -> slice:
        """Return where a child's families are."""
        return slice(int(self.first[child]), int(self.first[child + 1]))


def all_families(n: int, rules: FamilyRules) -> tuple[NDArray[np.int32], SetFamilies]:
    """Return all sets of the variables of a family, and every family that the rules allow."""
    sets = parent_sets(n + 1, n, min(rules.max_parents, n - 1) + 1)
    child, family, parents = _list_families(sets, n)
    allowed = np.ones(len(child), np.bool_)
    for i in range(n):
        own = np.flatnonzero(child == i)
        allowed[own] = rules.allowed(i, sets.members[parents[own]])
    return sets.members, _family_table(
        sets.members, n, child[allowed], family[allowed], parents[allowed]
    )


@kernel
def _list_families(
    sets: ParentSets, n: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the child, the set and the parents' set of each family."""
    total = 0
    for size in range(1, len(sets.first) - 1):
        total += size * (sets.first[size + 1] - sets.first[size])
    child, family = np.empty(total, np.int32), np.empty(total, np.int32)
    parents, count = np.empty(total, np.int32), 0
    for size in range(1, len(sets.first) - 1):
        for s in range(sets.first[size], sets.first[size + 1]):
            for p in range(size):
                child[count] = sets.members[s, p]
                family[count] = s
                parents[count] = subset_without(sets, s, size, p, n)
                count += 1
    return child, family, parents


def listed_families(
    child: NDArray[np.integer], parents: NDArray[np.int32], n: int
) -> tuple[NDArray[np.int32], SetFamilies]:
    """Return the sets that some families need, the empty one first, and the families.

    Parameters
    ----------
    child, parents
        Child and parents of each, increasing and padded with at least one -1, shapes (families,)
        and (families, largest size + 1).
    n
        Number of variables.
    """
    m, width = parents.shape
    family = parents.copy()
    family[np.arange(m), (parents >= 0).sum(axis=1)] = child
    family[family < 0] = n
    family.sort(axis=1)
    family[family == n] = -1
    empty = np.full((1, width), -1, np.int32)
    sets, number = np.unique(np.concatenate([empty, parents, family]), axis=0, return_inverse=True)
    number = number.reshape(-1)[1:]
    return sets, _family_table(sets, n, child, number[m:], number[:m])


def padded_members(problem: Problem) -> NDArray[np.int32]:
    """Return the parents of each candidate, padded with at least one -1."""
    sizes = np.diff(problem.member_first)
    parents = np.full((problem.n_candidates, int(sizes.max(initial=0)) + 1), -1, np.int32)
    owner = np.repeat(np.arange(problem.n_candidates), sizes)
    parents[owner, np.arange(len(owner)) - problem.member_first[owner]] = problem.members
    return parents


def _family_table(
    sets: NDArray[np.int32],
    n: int,
    child: NDArray[np.integer],
    family: NDArray[np.integer],
    parents: NDArray[np.integer],
) -> SetFamilies:
    """Sort families by child, then by their parents' set, and index them by variable."""
    order = np.lexsort((parents, child))
    child, family, parents = child[order], family[order], parents[order]
    holding_first, holding, _ = holders(sets[family], n)
    return SetFamilies(
        first=offsets(np.bincount(child, minlength=n)),
        child=child.astype(np.int32),
        family=family.astype(np.int32),
        parents=parents.astype(np.int32),
        penalty=np.zeros(len(child)),
        holding_first=holding_first,
        holding=holding,
    )


def some_families(
    sets: Sets, families: SetFamilies, keep: NDArray[np.bool_]
) -> tuple[Sets, SetFamilies]:
    """Return some of the families, in the same order, and the sets that they need."""
    n = len(families.first) - 1
    family, parents = families.family[keep], families.parents[keep]
    needed = np.zeros(len(sets.values), np.bool_)
    needed[0] = needed[family] = needed[parents] = True
    number = np.cumsum(needed) - 1
    few = selected(sets, np.flatnonzero(needed), n)
    child = families.child[keep]
    chosen = _family_table(few.members, n, child, number[family], number[parents])
    return few, chosen._replace(penalty=families.penalty[keep])


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


def rewarded(
    multipliers: Multipliers, sets: NDArray[np.int32], families: SetFamilies
) -> NDArray[np.float64]:
    """Return the multipliers of the clusters that each family satisfies, summed."""
    parents = sets[families.parents]
    return rewards(
        families.child.astype(np.int64),
        offsets((parents >= 0).sum(axis=1)),
        parents[parents >= 0].astype(np.int64),
        multipliers.clusters,
        multipliers.counts,
        multipliers.values,
    )


def selection_problem(
    names: tuple[str, ...],
    sets: NDArray[np.int32],
    families: SetFamilies,
    keep: NDArray[np.bool_],
    scores: NDArray[np.float64],
) -> Problem:
    """Return the problem of choosing among some of the families."""
    parents = sets[families.parents[keep]]
    return Problem(
        names=names,
        first=offsets(np.bincount(families.child[keep], minlength=len(names))),
        scores=scores[keep],
        member_first=offsets((parents >= 0).sum(axis=1)),
        members=parents[parents >= 0],
    )


@kernel
def best_without(
    sets: Sets, families: SetFamilies, scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the best score of each child's families that do not hold a variable.

    Shape (variables, children); ``-inf`` where all hold it, as do the variable's own.
    """
    n = len(families.first) - 1
    best = np.full((n, n), -np.inf)
    for i in range(n):
        top = best_family(sets, families, scores, i, -1)
        for v in range(n):
            f = top
            if f >= 0 and holds(sets, families.family[f], v):
                f = best_family(sets, families, scores, i, v)
            if f >= 0:
                best[v, i] = scores[f]
    return best


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
    without = best_without(sets, families, scores)
    child, family, parents = families.child, families.family, families.parents
    change, best = np.zeros(len(sets.values)), np.empty(n)
    tops = np.empty((len(moves), n))
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
            tops[c, i] = best[i]
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
    return tops, close


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
