"""Exclude moves: in groups that are halved if need be, or one after the other.

Groups are searched in several threads. Where linear relaxations are tight and several cells may
change, *sequential pruning* takes the most promising move alone. Mostly a few subgradient steps
(:mod:`exactlearn.solvers.lp.dual_bounds`) give multipliers that exclude it, and these exclude
others; else its problem, which is small, is solved. With 3 % of SPECT hidden and t = 2 that takes
38 seconds, groups take 68 (benchmarks/ablation.md); single cells are excluded sooner in groups.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from exactlearn._runtime.executors import in_order, n_threads
from exactlearn.augmentation.incumbent import Ledger, Solution
from exactlearn.augmentation.local_search.move_search import MoveSearch, tightened
from exactlearn.augmentation.local_search.moves import Group, Moves, halves
from exactlearn.solvers.lp.multipliers import Multipliers
from exactlearn.solvers.parameters import SubgradientParameters


def prune_groups(
    search: MoveSearch,
    groups: Sequence[Group],
    *,
    prove: bool = True,
    halve: bool = True,
    ledger: Ledger | None = None,
) -> Solution | None:
    """Return a better solution; ``None`` when no move leads to any, or the search is over.

    Parameters
    ----------
    search
        A search around the completion.
    groups
        The moves.
    prove
        Whether to prove that. Otherwise ``None`` says nothing.
    halve
        Whether to halve groups whose envelopes allow too much, which a proof needs.
    ledger
        Receives the moves that are left.
    """
    tables: list[MoveSearch] = []
    while groups and search.incumbent.goes_on():
        halved: list[Group] = []
        for at, found in enumerate(_looks(search, groups, prove, tables)):
            if isinstance(found, Solution):
                return found
            if search.incumbent.is_over:
                return None
            if found and halve:
                halved += halves(groups[at])
            if ledger is not None:
                left = [*halved, *groups[at + 1 :]]
                ledger.left = [moves.bounds for group in left for moves in group]
        groups = halved
    return None


def _looks(
    search: MoveSearch, groups: Sequence[Group], prove: bool, tables: list[MoveSearch]
) -> Iterator[Solution | bool]:
    """Look at groups in several threads, each with tables of its own.

    The tables are kept for the next time. Without proof, few families are looked at.
    """
    spare = iter(tables.copy())
    keep = np.ones(len(search.rewards), np.bool_) if prove else search.close

    def space() -> MoveSearch:
        tabulated = next(spare, None)
        if tabulated is None:
            tabulated = search if prove and not tables else search.among(keep)
            tables.append(tabulated)
        return tabulated

    def look(number: int, tabulated: MoveSearch) -> Solution | bool:
        return tabulated.look(groups[number], prove)

    return in_order(look, len(groups), space, n_threads(None))


def prune_sequentially(
    search: MoveSearch, moves: Moves, known_multipliers: list[Multipliers], ledger: Ledger
) -> Solution | None:
    """Return a better solution; ``None`` when no move leads to any, or the search is over.

    Parameters
    ----------
    search
        A search around the completion, with multipliers.
    moves
        Moves of one cell, with the bounds that follow from the search's multipliers.
    known_multipliers
        Multipliers of completions nearby; those that are found go there.
    ledger
        Receives the moves that are left.
    """
    tuning = search.task.climbing
    known, tried = [search.multipliers, *known_multipliers[-tuning.most_tried :]], 1
    nearest = np.zeros(len(moves.last), np.int64)
    while search.incumbent.goes_on():
        while tried < len(known) and len(moves.last):
            search = replace(search, multipliers=known[tried])
            best_scores, close = search.bounds(moves.last)
            if search.incumbent.is_over:
                return None
            bounds = best_scores.sum(axis=1) - known[tried].total
            if close.mean() < tuning.shrinking_share:
                search = search.among(close)
            nearest[bounds < moves.bounds] = tried
            moves = moves._replace(bounds=np.minimum(bounds, moves.bounds))
            left = moves.bounds > search.solution.target
            moves, nearest = moves.take(left), nearest[left]
            tried += 1
        ledger.left = [moves.bounds]
        if not len(moves.last):
            return None
        at = int(moves.bounds.argmax())
        found = _look(
            replace(search, multipliers=known[nearest[at]]), moves.take(np.s_[at : at + 1])
        )
        if isinstance(found, Solution):
            return found
        if found is not None:
            known.append(found)
            known_multipliers.append(found)
        kept = np.arange(len(nearest)) != at
        moves, nearest = moves.take(kept), nearest[kept]
    return None


def _look(search: MoveSearch, change: Moves) -> Solution | Multipliers | None:
    """Return a better solution after a move; if there is none, multipliers if that needs them."""
    query = search.promising(search.after((change,)))
    if query is None:
        return None
    for _ in range(search.task.climbing.tightening_rounds):
        if query.problem.is_feasible:
            goal = query.target - search.task.climbing.margin
            query = tightened(query, [goal], SubgradientParameters.steps)
    parents = search.network_above(query)
    better = None if parents is None else search.best_in_order((change,), parents)
    return query.multipliers if better is None else better
