"""The pairs that a search is to find: the best one, or several."""

from dataclasses import dataclass, field
from math import inf

from exactlearn.augmentation.progress import Incumbent
from exactlearn.augmentation.solution import Pair

TOLERANCE = 1e-9
"""Relative difference of a bound and the answers below which no better one is looked for."""

_Key = tuple[tuple[tuple[int, ...], ...] | None, bytes]


@dataclass
class Answers:
    """The best pairs so far.

    Parameters
    ----------
    incumbent
        Holds the best one, and the clock.
    k
        How many are looked for.
    by_completion
        Whether each completion is wanted once only, with its best DAG.
    """

    incumbent: Incumbent
    k: int = 1
    by_completion: bool = False
    _found: dict[_Key, Pair] = field(default_factory=dict, repr=False)

    def take(self, pair: Pair) -> None:
        """Keep a pair if it is among the best."""
        self.incumbent.offer(pair)
        if self.k == 1:
            return
        key = (None if self.by_completion else pair.parents, pair.values.tobytes())
        known = self._found.get(key)
        if known is None or pair.score > known.score:
            self._found[key] = pair
        if len(self._found) > self.k:
            del self._found[min(self._found, key=lambda key: self._found[key].score)]

    @property
    def ranked(self) -> tuple[Pair, ...]:
        """The pairs, the best first; equal scores in the order of parents and values."""
        best = self.incumbent
        if self.k == 1:
            assert best.parents is not None
            return (Pair(best.parents, best.working_values, best.score),)
        order = sorted(self._found.values(), key=lambda p: (p.parents, p.values.tolist()))
        return tuple(sorted(order, key=lambda p: -round(p.score, 9)))

    @property
    def target(self) -> float:
        """What another pair must score more than to be among the answers."""
        if self.k == 1:
            floor = self.incumbent.score
        elif len(self._found) == self.k:
            floor = min(pair.score for pair in self._found.values())
        else:
            return -inf
        return floor + TOLERANCE * max(1.0, abs(floor))
