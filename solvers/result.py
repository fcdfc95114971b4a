"""What a solver answers, and how the answer is checked."""

from dataclasses import dataclass
from math import inf, isclose
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import ROUNDING, relative_gap
from exactlearn._runtime.display import Displayed
from exactlearn.errors import CheckError, OptionError
from exactlearn.graphs.dag import topological_order
from exactlearn.graphs.equivalence import Structured

from .problem import Problem

if TYPE_CHECKING:
    from .certificate import Certificate

Status = Literal["optimal", "feasible", "infeasible", "interrupted"]

TOLERANCE = 1e-6
"""Largest gap, relative to the score, that a proof in floating point leaves open."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Result(Structured, Displayed, shown="status score bound gap solver seconds nodes"):
    """A selection of parent sets with its proof state.

    Parameters
    ----------
    parents
        Parents of each variable, or ``None`` when nothing was found.
    score
        Total score of the selection; ``-inf`` when nothing was found.
    bound
        No selection scores more than this.
    status
        ``optimal`` (score equals bound up to ``gap_limit``), ``feasible`` (a limit was
        reached), ``infeasible`` or ``interrupted``.
    solver
        Which solver answered.
    seconds, nodes
        Wall time, and nodes of the search tree (states, for dynamic programming).
    trace
        Improvements over time as ``(seconds, score, bound)``.
    message
        What a user should know beyond the status: the limit that was hit, the conflict found.
    gap_limit
        Relative gap at which the selection was to count as optimal.
    certificate
        The proof of the bound, which :mod:`exactlearn.solvers.certificate_checker` verifies with
        exact fractions; ``None`` unless it was asked for.
    names
        Names of the problem's variables.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("asia-mnar-complete")
    >>> problem = el.candidate_parent_sets(table, "bdeu", max_parents=2)
    >>> result = el.solve(problem)
    >>> result.status, round(result.score, 3), result.gap
    ('optimal', -229.985, 0.0)
    >>> result.arcs[:2]
    (('lung', 'tub'), ('either', 'tub'))
    >>> result.parents
    ((), (3, 5), (7,), (2, 5), (), (), (3,), (4, 5))
    >>> result.is_certified
    False
    >>> result.check(problem)
    """

    parents: tuple[tuple[int, ...], ...] | None
    score: float
    bound: float
    status: Status
    solver: str
    seconds: float = 0.0
    nodes: int = 0
    trace: tuple[tuple[float, float, float], ...] = ()
    message: str = ""
    gap_limit: float = 0.0
    certificate: "Certificate | None" = None
    names: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        """Relative gap ``(bound - score) / |score|``; infinite while nothing was found."""
        return relative_gap(self.score, self.bound)

    @property
    def is_certified(self) -> bool:
        """Whether there is a certificate that leaves no gap above `gap_limit`."""
        proof = self.certificate
        return (
            proof is not None
            and relative_gap(float(proof.score), float(proof.bound)) <= self.gap_limit
        )

    def check(self, problem: Problem) -> None:
        """Recompute everything from the problem.

        Raises
        ------
        CheckError
            When a parent set is no candidate, breaks a constraint or closes a cycle, when the score
            is not the sum of the chosen candidates, when the score exceeds the bound, or when
            ``optimal`` is claimed with a gap.
        """
        if self.status == "infeasible":
            if problem.is_feasible and not problem.overall_constraints:
                raise CheckError("'infeasible' was claimed, but an acyclic selection exists")
            return
        if self.parents is None:
            if self.status == "optimal":
                raise CheckError("'optimal' was claimed without a selection")
            return
        if len(self.parents) != problem.n_variables:
            raise CheckError(f"{len(self.parents)} parent sets for {problem.n_variables} variables")
        self._check_score(problem)
        _check_acyclic(problem, self.parents)
        violated = problem.violations(self.parents)
        if violated:
            raise CheckError(f"the selection violates: {', '.join(violated)}")
        self._check_bound()

    def _check_score(self, problem: Problem) -> None:
        best = self._scores_of(problem)
        for i in np.flatnonzero(best == -inf):
            assert self.parents is not None
            listed = ", ".join(problem.names[p] for p in self.parents[i]) or "nothing"
            raise CheckError(f"{{{listed}}} is no admissible parent set of {problem.names[i]!r}")
        total = float(best.sum())
        if not isclose(total, self.score, rel_tol=ROUNDING, abs_tol=ROUNDING):
            raise CheckError(f"the score is {total!r}, not {self.score!r}")

    def _check_bound(self) -> None:
        if self.score > self.bound + ROUNDING * max(1.0, abs(self.score)):
            raise CheckError(f"the score {self.score!r} exceeds its bound {self.bound!r}")
        open_gap = TOLERANCE * max(1.0, abs(self.score)) + self.gap_limit * abs(self.score)
        if self.status == "optimal" and self.bound - self.score > open_gap:
            raise CheckError(
                f"'optimal' was claimed, but the score {self.score!r} is further below its bound "
                f"{self.bound!r} than the gap of {self.gap_limit:g} that was asked for"
            )

    def _scores_of(self, problem: Problem) -> NDArray[np.float64]:
        """Return each variable's best score among the chosen parent set's admissible candidates."""
        assert self.parents is not None
        n, m = problem.n_variables, problem.n_candidates
        is_parent = np.zeros((n, n), np.bool_)
        for child, parents in enumerate(self.parents):
            is_parent[child, list(parents)] = True
        sizes = np.diff(problem.member_first)
        row = np.repeat(np.arange(m), sizes)
        inside = np.bincount(row, is_parent[problem.child[row], problem.members], m)
        same = (inside == sizes) & (sizes == is_parent.sum(axis=1)[problem.child])
        admissible = same & problem.allowed
        best = np.full(n, -inf)
        np.maximum.at(best, problem.child[admissible], problem.scores[admissible])
        return best


def _check_acyclic(problem: Problem, parents: tuple[tuple[int, ...], ...]) -> None:
    try:
        topological_order(parents, problem.names)
    except OptionError as error:
        raise CheckError(f"the selection is not acyclic: {error}") from None
