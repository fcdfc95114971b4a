"""The search among groups of changes: each looked at in some thread, and halved if need be."""

from collections.abc import Iterator, Sequence

import numpy as np

from exactlearn._runtime.threads import in_order, n_threads
from exactlearn.augmentation.local_search.move_search import ChangeSearch
from exactlearn.augmentation.local_search.moves import Group, halves
from exactlearn.augmentation.local_search.unproven import Ledger
from exactlearn.augmentation.solution import Pair


def better_in_groups(
    search: ChangeSearch,
    groups: Sequence[Group],
    *,
    prove: bool = True,
    halve: bool = True,
    ledger: Ledger | None = None,
) -> Pair | None:
    """Return a better pair, or ``None`` when there is none after any of the changes.

    Parameters
    ----------
    search
        A search around the completion.
    groups
        The changes.
    prove
        Whether to prove that. Otherwise ``None`` says nothing.
    halve
        Whether to halve groups whose envelopes allow too much, which a proof needs.
    ledger
        Is told which changes are left.

    Raises
    ------
    LimitReachedError
        When the time is up first.
    """
    tables: list[ChangeSearch] = []
    while groups:
        halved: list[Group] = []
        for at, found in enumerate(_looks(search, groups, prove, tables)):
            if isinstance(found, Pair):
                return found
            if found and halve:
                halved += halves(groups[at])
            if ledger is not None:
                left = [*halved, *groups[at + 1 :]]
                ledger.left = [changes.bounds for group in left for changes in group]
        groups = halved
    return None


def _looks(
    search: ChangeSearch, groups: Sequence[Group], prove: bool, tables: list[ChangeSearch]
) -> Iterator[Pair | bool]:
    """Look at groups in several threads, each with tables of its own.

    The tables are kept for the next time. Without proof, few families are looked at.
    """
    spare = iter(tables.copy())
    keep = np.ones(len(search.rewards), np.bool_) if prove else search.close

    def space() -> ChangeSearch:
        own = next(spare, None)
        if own is None:
            own = search if prove and not tables else search.near(keep)
            tables.append(own)
        return own

    def look(number: int, own: ChangeSearch) -> Pair | bool:
        return own.look(groups[number], prove)

    return in_order(look, len(groups), space, n_threads(None))
