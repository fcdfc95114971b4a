"""What is known so far while a problem is being solved, and who hears of it."""

from collections.abc import Callable, Sequence
from math import inf
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from .components import Component, bits_to_matrix, split
from .problem import Problem
from .result import Event, OnEvent

STEADY = 0.4
"""Seconds after which a running solver is heard of even when nothing improves."""

SOON = 0.05
"""Seconds between two reports of a bound that improves all the time."""

LEAST = 1e-12
"""Smallest relative change of a score that counts as one."""


Pause = Callable[[], None]
"""Called between blocks of work; may raise to make an end."""


def no_pause() -> None:
    """Do not pause."""


class OutOfTime(Exception):  # noqa: N818  (a signal between our own functions, not an error)
    """Raised inside a solver when the time limit is reached."""


class Progress:
    """The incumbent and the bound of every component, their totals over time, and the clock.

    A component may be refined into smaller ones; it then counts no more, they do.

    Attributes
    ----------
    notes
        What a solver wants the user to know.

    Parameters
    ----------
    problem, components
        What is solved, and its pieces.
    time_limit
        Seconds from now, or ``None``.
    on_event
        Called with an :class:`Event` at each improvement and at a steady rate.
    """

    def __init__(
        self,
        problem: Problem,
        components: Sequence[Component],
        time_limit: float | None,
        on_event: OnEvent | None,
    ) -> None:
        self.problem = problem
        self.components = list(components)
        self.begun = monotonic()
        self.deadline = inf if time_limit is None else self.begun + time_limit
        self.on_event = on_event
        self.bounds = [component.relaxation for component in components]
        self.scores = [-inf for _ in components]
        self._without_incumbent = len(components)
        self.closed = [False for _ in components]
        self.refined = [False for _ in components]
        self.nodes = [0 for _ in components]
        self.chosen = np.full(problem.n_variables, -1, np.int64)
        self.selected = [np.zeros(0, np.int64) for _ in components]
        self.values = np.zeros(len(problem.options), np.int64)
        self.trace: list[tuple[float, float, float]] = []
        self.notes: list[str] = []
        self._lowest = inf
        self._told = self.begun

    @property
    def seconds(self) -> float:
        """Wall time since the start."""
        return monotonic() - self.begun

    @property
    def left(self) -> float:
        """Seconds until the time limit; infinite without one."""
        return max(0.0, self.deadline - monotonic())

    @property
    def score(self) -> float:
        """Total score of the incumbent, recomputed; ``-inf`` while a component has none."""
        if self._without_incumbent:
            return -inf
        return float(self.problem.scores[self.chosen].sum())

    @property
    def bound(self) -> float:
        """Lowest sum of the bounds so far, never below the score."""
        now = sum(
            bound for bound, refined in zip(self.bounds, self.refined, strict=True) if not refined
        )
        self._lowest = min(self._lowest, float(now))
        return max(self.score, self._lowest)

    @property
    def parents(self) -> tuple[tuple[int, ...], ...] | None:
        """The incumbent's parent sets."""
        if self._without_incumbent:
            return None
        return tuple(self.problem.parent_set(int(c)) for c in self.chosen)

    def incumbent(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Return the selection of component ``k`` in its own numbers, with its choices' values."""
        if self.scores[k] == -inf:
            return None
        component = self.components[k]
        return self.selected[k], self.values[component.choices]

    def improve(
        self, k: int, chosen: NDArray[np.int64], values: NDArray[np.int64] | None = None
    ) -> bool:
        """Take a selection of component ``k`` as the incumbent if it is better."""
        component = self.components[k]
        score = component.total(chosen)
        if score <= self.scores[k] + LEAST * abs(score):
            return False
        self._without_incumbent -= self.scores[k] == -inf
        self.scores[k] = score
        self.selected[k] = chosen
        self.chosen[component.variables] = component.candidate[chosen]
        if values is not None:
            self.values[component.choices] = values
        self._record()
        return True

    def prove(self, k: int, bound: float, nodes: int = 0, *, closed: bool = True) -> None:
        """Take a valid bound on component ``k``; it never falls below the incumbent's score.

        ``closed`` tells that the component is done.
        """
        self.closed[k] = closed
        self.nodes[k] = max(self.nodes[k], nodes)
        bound = max(bound, self.scores[k])
        if bound < self.bounds[k]:
            self.bounds[k] = bound
            if monotonic() - self._told >= SOON:
                self._record()

    def refine(self, k: int, candidates: NDArray[np.int64]) -> list[int]:
        """Replace component ``k``, which has an incumbent, by what is left of it; return its parts.

        Parameters
        ----------
        k
            Number of the component.
        candidates
            Its candidates, in its own numbers, that a better selection may choose. The
            incumbent's are kept besides.
        """
        old = self.components[k]
        kept = np.union1d(candidates, self.selected[k])
        parts = split(self.problem, old.candidate[kept])
        self.refined[k] = self.closed[k] = True
        numbers = []
        for part in parts:
            self.components.append(part)
            self.scores.append(-inf)
            self.bounds.append(part.relaxation)
            self.closed.append(False)
            self.refined.append(False)
            self.nodes.append(0)
            self.selected.append(self._inherited(old, k, part))
            self.scores[-1] = part.total(self.selected[-1])
            self.chosen[part.variables] = part.candidate[self.selected[-1]]
            numbers.append(len(self.components) - 1)
        self.bounds[k] = self.scores[k] = sum(self.scores[number] for number in numbers)
        self._record()
        return numbers

    def _inherited(self, old: Component, k: int, part: Component) -> NDArray[np.int64]:
        """Return the part's best candidates within the incumbent's parent sets."""
        n = old.n_variables
        place = np.searchsorted(old.variables, part.variables)
        is_parent = bits_to_matrix(old.parents[self.selected[k]], n)[np.ix_(place, place)]
        asked = bits_to_matrix(part.parents, part.n_variables)
        inside = ~(asked & ~is_parent[part.child]).any(axis=1)
        at = np.flatnonzero(inside)
        return at[np.searchsorted(part.child[at], np.arange(part.n_variables))]

    def note(self, text: str) -> None:
        """Keep a message for the result."""
        if text not in self.notes:
            self.notes.append(text)

    def finish(self) -> None:
        """Report the last state."""
        self._record()

    def look(self) -> None:
        """Let the listener hear of us now and then."""
        if monotonic() - self._told >= STEADY:
            self._tell()

    def pause(self) -> None:
        """Look, and stop a solver that watches no clock of its own.

        Raises
        ------
        OutOfTime
            When the time limit is reached.
        """
        self.look()
        if monotonic() >= self.deadline:
            raise OutOfTime

    def _record(self) -> None:
        if self._without_incumbent:  # thousands of components have their first selections to come
            self.look()
            return
        score, bound = self.score, self.bound
        if score > -inf and (not self.trace or self.trace[-1][1:] != (score, bound)):
            self.trace.append((self.seconds, score, bound))
        self._tell()

    def _tell(self) -> None:
        self._told = monotonic()
        if self.on_event is not None:
            values = tuple(self.values.tolist())
            self.on_event(
                Event(self.seconds, self.score, self.bound, sum(self.nodes), self.parents, values)
            )
