"""The result of a search for the best selection, which checks itself against the problem."""

from dataclasses import dataclass
from math import fsum, inf
from typing import TYPE_CHECKING, Literal

import numpy as np

from exactlearn._runtime.display import Displayed
from exactlearn._runtime.tolerance import TOLERANCE, gap_between, rounding
from exactlearn.errors import CheckError, OptionError
from exactlearn.graphs.dag import topological_order
from exactlearn.graphs.equivalence import Structured

from .problem import Problem

if TYPE_CHECKING:
    from .certificate import Certificate

Status = Literal["optimal", "feasible", "infeasible", "interrupted"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Result(
    Structured, Displayed, shown="status score bound gap solver seconds nodes"
):
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
        Difference of bound and score, in nats, at which the selection was to count as optimal.
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
        """Difference of bound and score in nats; infinite while nothing was found."""
        return gap_between(self.score, self.bound)

    @property
    def is_certified(self) -> bool:
        """Whether there is a certificate that leaves no gap above `gap_limit`."""
        return self.certificate is not None and self.certificate.is_within(
            self.gap_limit
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
                raise CheckError(
                    "'infeasible' was claimed, but an acyclic selection exists"
                )
            return
        if self.parents is None:
            if self.status == "optimal":
                raise CheckError("'optimal' was claimed without a selection")
            return
        if len(self.parents) != problem.n_variables:
            raise CheckError(
                f"{len(self.parents)} parent sets for {problem.n_variables} variables"
            )
        # score, acyclicity, constraints, bound: in that order
        self._check_score(problem)
        _check_acyclic(problem, self.parents)
        violated = problem.violations(self.parents)
        if violated:
            raise CheckError(f"the selection violates: {', '.join(violated)}")
        self._check_bound()

    def _check_score(self, problem: Problem) -> None:
        assert self.parents is not None
        best = problem.family_scores(self.parents)
        for i in np.flatnonzero(best == -inf):
            listed = ", ".join(problem.names[p] for p in self.parents[i]) or "nothing"
            raise CheckError(
                f"{{{listed}}} is no admissible parent set of {problem.names[i]!r}"
            )
        total = fsum(best.tolist())
        if abs(total - self.score) > TOLERANCE + rounding(*best.tolist()):
            raise CheckError(f"the score is {total!r}, not {self.score!r}")

    def _check_bound(self) -> None:
        slack = TOLERANCE + rounding(self.score, self.bound)
        if self.score > self.bound + slack:
            raise CheckError(
                f"the score {self.score!r} exceeds its bound {self.bound!r}"
            )
        if (
            self.status == "optimal"
            and self.bound - self.score > self.gap_limit + slack
        ):
            raise CheckError(
                f"'optimal' was claimed, but the score {self.score!r} is further below its bound "
                f"{self.bound!r} than the gap of {self.gap_limit:g} nats that was asked for"
            )


def infeasible_result(
    solver: str, message: str, seconds: float = 0.0, nodes: int = 0
) -> Result:
    """Return the result that no selection exists, for the reason that the message names."""
    return Result(
        parents=None,
        score=-inf,
        bound=-inf,
        status="infeasible",
        solver=solver,
        seconds=seconds,
        nodes=nodes,
        message=message,
    )


def _check_acyclic(problem: Problem, parents: tuple[tuple[int, ...], ...]) -> None:
    try:
        topological_order(parents, problem.names)
    except OptionError as error:
        raise CheckError(f"the selection is not acyclic: {error}") from None
