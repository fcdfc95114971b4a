"""A posterior over networks, as one way to sum over them, or to sample them, gives it.

:class:`StructurePosterior` asks it for what people want to know, whatever the way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, isfinite
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.display import ByValue
from exactlearn.errors import TooLargeError
from exactlearn.graphs.dag import ancestor_matrix
from exactlearn.solvers.dag_samples import sample_selections
from exactlearn.solvers.posterior import SelectionPosterior

ANCESTOR_SAMPLES = 2_000
"""Networks drawn for ancestors in other parts: a probability has a standard error of .011."""

ANCESTOR_ERROR = 0.5 / ANCESTOR_SAMPLES**0.5
"""Largest standard error of a probability that is counted in these networks."""

Parents = Sequence[Sequence[int]]
"""Parents of each variable, by index."""


class NetworkDistribution(Protocol):
    """A probability of each network over some variables."""

    @property
    def status(self) -> str:
        """The way to the probabilities, as in ``exact``."""

    @property
    def log_evidence(self) -> float:
        """Logarithm of the sum of ``exp(score)`` over all networks; ``nan`` where unknown."""

    @property
    def error(self) -> float:
        """Largest error of the probability of an arc: a bound, or a standard error."""

    @property
    def arcs(self) -> NDArray[np.float64]:
        """Probability of each arc ``[parent, child]``, shape (n, n)."""

    @property
    def arc_errors(self) -> NDArray[np.float64]:
        """Error of the probability of each arc, shape (n, n)."""

    @property
    def ancestors(self) -> NDArray[np.float64]:
        """Probability that ``[ancestor, descendant]`` are such, shape (n, n)."""

    @property
    def diagnostics(self) -> dict[str, NDArray[np.float64]]:
        """Figures of the certainty of estimates by name, shape (n, n); empty for sums."""
        return {}

    def parent_sets(self, variable: int) -> dict[tuple[int, ...], float]:
        """Return the probability of each parent set of a variable, by index."""

    def probability(self, parents: Parents) -> float:
        """Return the probability of one network."""

    def mass(self, networks: Sequence[Parents]) -> float:
        """Return the probability that some different networks have together."""
        return sum(map(self.probability, networks))

    def draw(
        self, n: int, rng: np.random.Generator
    ) -> list[tuple[tuple[int, ...], ...]]:
        """Return the parents of each variable in ``n`` networks drawn independently."""


def unfinished(part: str, control: SearchControl) -> BaseException:
    """Return the error of sums that a limit, or Ctrl-C, ended: unfinished ones say nothing."""
    if control.is_stopped:
        return KeyboardInterrupt()
    return TooLargeError(
        f"the time limit ended {part}, and unfinished sums say nothing; allow more time, or"
        " fewer parents"
    )


@dataclass(frozen=True, eq=False, repr=False)
class SummedNetworks(NetworkDistribution, ByValue, shown="log_evidence error"):
    """The posterior by sums over all networks of a problem.

    Parameters
    ----------
    selections
        The sums.
    status
        The way to the probabilities; ``exact``: all networks are summed, up to rounding.
    """

    selections: SelectionPosterior
    status: str = "exact"

    @property
    def log_evidence(self) -> float:
        """Logarithm of the sum of ``exp(score)`` over all networks."""
        return self.selections.log_sum

    @property
    def error(self) -> float:
        """Bound on the error of a probability by rounding."""
        return self.selections.error

    @property
    def arcs(self) -> NDArray[np.float64]:
        """Probability of each arc ``[parent, child]``, shape (n, n)."""
        return self.selections.arcs

    @property
    def arc_errors(self) -> NDArray[np.float64]:
        """Bound on the error of the probability of each arc, shape (n, n)."""
        return np.full_like(self.arcs, self.error)

    @cached_property
    def ancestors(self) -> NDArray[np.float64]:
        """Probability that ``[ancestor, descendant]`` are such, shape (n, n).

        It is exact for variables that may form cycles with each other; others are counted in 2,000
        networks drawn from the posterior, which gives a standard error of at most .011.
        """
        ancestors = self.selections.ancestors.copy()
        apart = np.isnan(ancestors)
        if apart.any():
            # NaN where there is no exact sum: drawn networks are counted.
            drawn = self.draw(ANCESTOR_SAMPLES, np.random.default_rng(0))
            proportions = np.mean(
                [ancestor_matrix(parents) for parents in drawn], axis=0
            )
            ancestors[apart] = proportions[apart]
        return ancestors

    def parent_sets(self, variable: int) -> dict[tuple[int, ...], float]:
        """Return the probability of each parent set of a variable, by index."""
        selections = self.selections
        return selections.problem.by_parent_set(variable, selections.candidates)

    def probability(self, parents: Parents) -> float:
        """Return the probability of one network; 0 where it is not allowed."""
        score = self.selections.problem.total(parents)
        # By rounding a score may exceed the evidence a little.
        return exp(min(score - self.log_evidence, 0.0)) if isfinite(score) else 0.0

    def draw(
        self, n: int, rng: np.random.Generator
    ) -> list[tuple[tuple[int, ...], ...]]:
        """Return the parents of each variable in ``n`` networks drawn independently."""
        problem = self.selections.problem
        with SearchControl().running() as control:
            drawn = sample_selections(self.selections, n, rng, control)
        return list(map(problem.parent_sets, drawn))
