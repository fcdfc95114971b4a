"""Exclude changes of a cell one after the other, where linear relaxations are tight.

The most promising change is looked at alone. Mostly a few subgradient steps
(:mod:`exactlearn.solvers.lowering`) give multipliers that exclude it, and these exclude others;
else its problem, which is small, is solved.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.change_search import ChangeSearch
from exactlearn.augmentation.changes import Changes
from exactlearn.augmentation.pair import Pair
from exactlearn.augmentation.task import pause
from exactlearn.solvers.lowering import lower
from exactlearn.solvers.multipliers import Multipliers

SHRINKS = 0.5
"""Share of the families that may be left when the others are dropped."""

MOST_TRIED = 4
"""Multipliers, the latest ones, that are tried on changes not seen before."""

MARGIN = 0.5
"""How much lower than necessary bounds are made, so that they exclude others, too."""

ROUNDS = 2
"""Rounds of subgradient steps, each on the candidates that the one before leaves."""


def sift(
    search: ChangeSearch,
    changes: NDArray[np.int64],
    others: list[Multipliers],
) -> Pair | None:
    """Return a better pair, or ``None`` when there is none after any of the changes.

    Parameters
    ----------
    search
        A search around the completion, with multipliers.
    changes
        Row, variable and new state of each change, shape (changes, 3), in order of variables.
    others
        Multipliers of completions nearby; those that are found go there.

    Raises
    ------
    LimitReachedError
        When the time is up first.
    """
    known, tried = [search.multipliers, *others[-MOST_TRIED:]], 0
    bounds, nearest = np.full(len(changes), np.inf), np.zeros(len(changes), np.int64)
    while True:
        while tried < len(known) and len(changes):
            search = replace(search, multipliers=known[tried])
            new, close = search.bounds(changes)
            if close.mean() < SHRINKS:
                search = search.near(close)
            nearest[new < bounds] = tried
            bounds = np.minimum(new, bounds)
            left = bounds > search.pair.target
            changes, bounds, nearest = changes[left], bounds[left], nearest[left]
            tried += 1
        if not len(changes):
            return None
        at = int(bounds.argmax())
        search = replace(search, multipliers=known[nearest[at]])
        found = _look(search, changes[at : at + 1])
        if isinstance(found, Pair):
            return found
        if found is not None:
            known.append(found)
            others.append(found)
        bounds, nearest = np.delete(bounds, at), np.delete(nearest, at)
        changes = np.delete(changes, at, axis=0)


def _look(search: ChangeSearch, change: NDArray[np.int64]) -> Pair | Multipliers | None:
    """Return a better pair after a change; if there is none, multipliers if that needs them."""
    pause(search.incumbent)
    group = (Changes(change[:0], change),)
    problem = search.promising(group)
    if problem is None:
        return None
    tighter, target = search.multipliers, search.pair.target
    for _ in range(ROUNDS):
        tighter, left = lower(tighter, problem, target - MARGIN, target)
        problem = problem.select(left)
        if not problem.is_feasible or tighter.bound(problem) <= target:
            return tighter
    parents = search.network_above(problem, tighter)
    better = None if parents is None else search.best_in_order(group, parents)
    return tighter if better is None else better
