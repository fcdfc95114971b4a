"""What is known so far while a problem is being solved: incumbent and bound of every component."""

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import Event, SearchControl

from .components import Component, bits_to_matrix, split
from .problem import Problem

SOON = 0.05
"""Seconds between two reports of a bound that improves all the time."""

LEAST = 1e-12
"""Smallest relative change of a score that counts as one."""


class Progress:
    """The incumbent and the bound of every component; their totals go to the search control.

    A component may be refined into smaller ones; it then counts no more, they do.

    Attributes
    ----------
    notes
        What a solver wants the user to know.

    Parameters
    ----------
    problem, components
        What is solved, and its pieces.
    control
        The control of the whole search.
    """

    def __init__(
        self,
        problem: Problem,
        components: Sequence[Component],
        control: SearchControl,
    ) -> None:
        self.problem = problem
        self.components = list(components)
        self.control = control
        control.state = self._event
        self.bounds = [component.relaxation for component in components]
        self.scores = [-inf for _ in components]
        self._without_incumbent = len(components)
        self.closed = [False for _ in components]
        self.refined = [False for _ in components]
        self.nodes = [0 for _ in components]
        self.chosen = np.full(problem.n_variables, -1, np.int64)
        self.selected = [np.zeros(0, np.int64) for _ in components]
        self.values = np.zeros(len(problem.options), np.int64)
        self.notes: list[str] = []
        self._lowest = inf

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

        ``closed``: the component is done.
        """
        self.closed[k] = closed
        self.nodes[k] = max(self.nodes[k], nodes)
        bound = max(bound, self.scores[k])
        if bound < self.bounds[k]:
            self.bounds[k] = bound
            if self.control.is_due(SOON):
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
        parents = bits_to_matrix(part.parents, part.n_variables)
        inside = ~(parents & ~is_parent[part.child]).any(axis=1)
        at = np.flatnonzero(inside)
        return at[np.searchsorted(part.child[at], np.arange(part.n_variables))]

    def note(self, text: str) -> None:
        """Keep a message for the result."""
        if text not in self.notes:
            self.notes.append(text)

    def _record(self) -> None:
        if self._without_incumbent:  # thousands of components have their first selections to come
            self.control.look()
        else:
            self.control.record()

    def _event(self) -> Event:
        values = tuple(self.values.tolist())
        nodes = sum(self.nodes)
        return Event(self.control.seconds, self.score, self.bound, nodes, self.parents, values)
