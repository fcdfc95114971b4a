"""Which sets of variables a reading is the sink of, for the links of the linear program."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.branch_and_bound.incomplete_families import OpenFamilies
from exactlearn.augmentation.branch_and_bound.multipliers import (
    Charges,
    charges,
    others_members,
    others_numbers,
)
from exactlearn.augmentation.branch_and_bound.node_relaxation import Reading

Link = tuple[int, int, int]
"""A variable, or a set of others, a hole and a state."""

LEAST_VIOLATION = 1e-3
"""Violation from which a sink link enters."""


class SinkLinks:
    """Rows of links that keep all who are the sink of one set below the state of a hole.

    Parameters
    ----------
    families
        All families.
    variables
        The column of each hole, shape (holes,).
    """

    def __init__(self, families: OpenFamilies, variables: NDArray[np.int64]) -> None:
        self._families = families
        self._variables = variables
        self._number = others_numbers(families.n_variables)
        self._others = others_members(families.n_variables)
        self.rows: dict[Link, int] = {}

    def __len__(self) -> int:
        """Return the number of sets besides the column of a hole."""
        return len(self._others)

    def charges(self, reading: Reading) -> Charges:
        """Return the sets that a reading is the sink of."""
        members = self._families.members[reading.number]
        return charges(
            self._number,
            int(self._families.child[reading.number]),
            members[members >= 0],
            self._variables[reading.holes],
            reading.holes,
            reading.states,
        )

    def rows_of(self, reading: Reading) -> list[int]:
        """Return the rows that a reading is part of."""
        if not self.rows:
            return []
        links = zip(*(part.tolist() for part in self.charges(reading)), strict=True)
        return [self.rows[link] for link in links if link in self.rows]

    def violated(
        self,
        readings: Sequence[Reading],
        chosen: NDArray[np.float64],
        shares: NDArray[np.float64],
        most: int,
    ) -> list[Link]:
        """Return the new links that a solution violates most.

        Parameters
        ----------
        readings, chosen
            The readings and how far each is chosen, shape (readings,).
        shares
            How far each hole has each state, shape (holes, states).
        most
            Most links to return.
        """
        mass = np.zeros((len(self), *shares.shape))
        for k in np.flatnonzero(chosen > LEAST_VIOLATION).tolist():
            mass[tuple(self.charges(readings[k]))] += chosen[k]
        excess = mass - shares
        excess[tuple(np.array(list(self.rows), np.int64).reshape(-1, 3).T)] = 0.0
        worst = np.argsort(-excess, axis=None, kind="stable")[:most]
        worst = worst[excess.flat[worst] > LEAST_VIOLATION]
        s, hole, state = (part.tolist() for part in np.unravel_index(worst, excess.shape))
        return list(zip(s, hole, state, strict=True))

    def members(self, link: Link) -> NDArray[np.bool_]:
        """Return the members of a link's set, the hole's column among them, shape (n,)."""
        others, hole, _ = link
        members: NDArray[np.bool_] = self._others[others].copy()
        members[self._variables[hole]] = True
        return members

    def sinks(self, link: Link, numbers: Iterable[int], readings: Sequence[Reading]) -> list[int]:
        """Return those of some readings whose families are the sink of a link's set."""
        members = self.members(link)
        return [k for k in numbers if self._families.has[readings[k].number][members].all()]
