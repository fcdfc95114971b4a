"""Exclude moves in groups, which are halved if need be, in several threads."""

from collections.abc import Iterator, Sequence

import numpy as np

from exactlearn._runtime.threads import in_order, n_threads
from exactlearn.augmentation.incumbent import Ledger, Solution
from exactlearn.augmentation.local_search.move_search import Group, MoveSearch, halves


def prune_groups(
    search: MoveSearch,
    groups: Sequence[Group],
    *,
    prove: bool = True,
    halve: bool = True,
    ledger: Ledger | None = None,
) -> Solution | None:
    """Return a better solution, or ``None`` when there is none after any of the moves.

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

    Raises
    ------
    LimitReachedError
        When the time is up first.
    """
    tables: list[MoveSearch] = []
    while groups:
        halved: list[Group] = []
        for at, found in enumerate(_looks(search, groups, prove, tables)):
            if isinstance(found, Solution):
                return found
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
        own = next(spare, None)
        if own is None:
            own = search if prove and not tables else search.near(keep)
            tables.append(own)
        return own

    def look(number: int, own: MoveSearch) -> Solution | bool:
        return own.look(groups[number], prove)

    return in_order(look, len(groups), space, n_threads(None))
