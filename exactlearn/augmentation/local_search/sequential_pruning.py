"""Exclude changes of a cell one after the other, where linear relaxations are tight.

The most promising change is looked at alone. Mostly a few subgradient steps
(:mod:`exactlearn.solvers.lp.subgradient`) give multipliers that exclude it, and these exclude
others; else its problem, which is small, is solved.
"""

from dataclasses import replace

import numpy as np

from exactlearn.augmentation.local_search.bound_tightening import tightened
from exactlearn.augmentation.local_search.move_search import ChangeSearch
from exactlearn.augmentation.local_search.moves import Changes
from exactlearn.augmentation.local_search.unproven import Ledger
from exactlearn.augmentation.solution import Pair
from exactlearn.augmentation.task import pause
from exactlearn.solvers.lp.multipliers import Multipliers
from exactlearn.solvers.lp.subgradient import MOST_STEPS

SHRINKS = 0.5
"""Share of the families that may be left when the others are dropped."""

MOST_TRIED = 4
"""Multipliers, the latest ones, that are tried on changes not seen before."""

ROUNDS = 2
"""Rounds of subgradient steps, each on the candidates that the one before leaves."""

MARGIN = 0.5
"""How much lower than necessary bounds are made, so that they exclude others, too."""


def sift(
    search: ChangeSearch, changes: Changes, others: list[Multipliers], ledger: Ledger
) -> Pair | None:
    """Return a better pair, or ``None`` when there is none after any of the changes.

    Parameters
    ----------
    search
        A search around the completion, with multipliers.
    changes
        Changes of one cell, with the bounds that follow from the search's multipliers.
    others
        Multipliers of completions nearby; those that are found go there.
    ledger
        Is told which changes are left.

    Raises
    ------
    LimitReachedError
        When the time is up first.
    """
    known, tried = [search.multipliers, *others[-MOST_TRIED:]], 1
    nearest = np.zeros(len(changes.last), np.int64)
    while True:
        while tried < len(known) and len(changes.last):
            search = replace(search, multipliers=known[tried])
            tops, close = search.bounds(changes.last)
            bounds = tops.sum(axis=1) - known[tried].total
            if close.mean() < SHRINKS:
                search = search.near(close)
            nearest[bounds < changes.bounds] = tried
            changes = changes._replace(bounds=np.minimum(bounds, changes.bounds))
            left = changes.bounds > search.pair.target
            changes, nearest = changes.take(left), nearest[left]
            tried += 1
        ledger.left = [changes.bounds]
        if not len(changes.last):
            return None
        at = int(changes.bounds.argmax())
        found = _look(
            replace(search, multipliers=known[nearest[at]]), changes.take(np.s_[at : at + 1])
        )
        if isinstance(found, Pair):
            return found
        if found is not None:
            known.append(found)
            others.append(found)
        kept = np.arange(len(nearest)) != at
        changes, nearest = changes.take(kept), nearest[kept]


def _look(search: ChangeSearch, change: Changes) -> Pair | Multipliers | None:
    """Return a better pair after a change; if there is none, multipliers if that needs them."""
    pause(search.incumbent)
    question = search.promising(search.after((change,)))
    if question is None:
        return None
    for _ in range(ROUNDS):
        if question.problem.is_feasible:
            question = tightened(question, [question.target - MARGIN], MOST_STEPS)
    parents = search.network_above(question)
    better = None if parents is None else search.best_in_order((change,), parents)
    return question.multipliers if better is None else better
