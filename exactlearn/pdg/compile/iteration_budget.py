"""How long a search for a forest may take, and when its parts have to end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic

import numpy as np

from exactlearn.pdg.compile.expansion import Expansion

TRIANGULATION, STARTING = 0.2, 0.4
"""Shares of the seconds after which the clique tree is taken as it is, and the first forests."""


@dataclass(frozen=True)
class Effort:
    """How long to search.

    Parameters
    ----------
    steps
        Moves in each connected part; no limit when left out and a time limit is given.
    time_limit
        Seconds for all parts together.
    seed
        Seed of all walks.
    on_event
        Told the effective size of the whole graph whenever a smaller one is found.
    on_graph
        Told the same of the first graph and of each smaller one, with what builds all its parts.
    started
        When the time began to run, by the monotonic clock.
    """

    steps: int | None = None
    time_limit: float | None = None
    seed: int = 0
    on_event: Callable[[int], None] | None = None
    on_graph: Callable[[int, Callable[[], Sequence[Expansion]]], None] | None = None
    started: float = field(default_factory=monotonic)

    @property
    def deadline(self) -> float:
        """When time is up, by the monotonic clock."""
        return self._after(1.0)

    @property
    def triangulation_deadline(self) -> float:
        """When to go on with the best clique tree found, by the monotonic clock."""
        return self._after(TRIANGULATION)

    @property
    def starting_deadline(self) -> float:
        """When to walk on from the forests that are built, by the monotonic clock."""
        return self._after(STARTING)

    def _after(self, share: float) -> float:
        return self.started + (np.inf if self.time_limit is None else share * self.time_limit)
