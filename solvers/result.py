"""What a solver answers, and how the answer is checked."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isclose
from typing import Literal, NamedTuple

import numpy as np

from exactlearn.errors import CheckError
from exactlearn.solvers.problem import Problem

Status = Literal["optimal", "feasible", "infeasible", "interrupted"]

TOLERANCE = 1e-6
"""Largest difference of scores, relative to their size, that a check forgives."""


class Event(NamedTuple):
    """What a running solver reports: whenever the score or the bound improves, and now and then.

    Attributes
    ----------
    seconds
        Wall time since the start.
    score, bound
        The best score found and the best bound proven so far.
    nodes
        Nodes of the search tree processed so far.
    parents, values
        The best selection so far (``None`` before the first) and its choices.
    """

    seconds: float
    score: float
    bound: float
    nodes: int
    parents: tuple[tuple[int, ...], ...] | None
    values: tuple[int, ...] = ()


OnEvent = Callable[[Event], None]


@dataclass(frozen=True, kw_only=True)
class Result:
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
        ``optimal`` (score equals bound up to the gap asked for), ``feasible`` (a limit was
        reached), ``infeasible`` or ``interrupted``.
    solver
        Which solver answered.
    seconds, nodes
        Wall time, and nodes of the search tree (states, for dynamic programming).
    values
        Value of each choice of the problem; empty for an ordinary problem.
    trace
        Improvements over time as ``(seconds, score, bound)``.
    message
        What a user should know beyond the status: the limit that was hit, the conflict found.
    """

    parents: tuple[tuple[int, ...], ...] | None
    score: float
    bound: float
    status: Status
    solver: str
    seconds: float = 0.0
    nodes: int = 0
    values: tuple[int, ...] = ()
    trace: tuple[tuple[float, float, float], ...] = ()
    message: str = ""

    @property
    def gap(self) -> float:
        """Relative gap ``(bound - score) / |score|``; infinite while nothing was found."""
        if self.parents is None:
            return inf
        return max(0.0, self.bound - self.score) / max(abs(self.score), 1e-9)

    def check(self, problem: Problem) -> None:
        """Recompute everything from the problem.

        Raises
        ------
        CheckError
            When a parent set is no candidate, breaks a constraint or closes a cycle, when the
            choices disagree, when the score is not the sum of the chosen candidates, when the
            score exceeds the bound, or when ``optimal`` is claimed with a gap.
        """
        if self.status == "infeasible":
            if problem._feasible() and not len(problem.options):
                raise CheckError("'infeasible' was claimed, but an acyclic selection exists")
            return
        if self.parents is None:
            if self.status == "optimal":
                raise CheckError("'optimal' was claimed without a selection")
            return
        if len(self.parents) != problem.n_variables:
            raise CheckError(
                f"{len(self.parents)} parent sets for {problem.n_variables} variables"
            )
        if len(self.values) != len(problem.options):
            raise CheckError(f"{len(self.values)} values for {len(problem.options)} choices")
        total = sum(self._score_of(problem, i) for i in range(problem.n_variables))
        if not isclose(total, self.score, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            raise CheckError(f"the score is {total!r}, not {self.score!r}")
        _check_acyclic(problem, self.parents)
        slack = TOLERANCE * max(1.0, abs(self.score))
        if self.score > self.bound + slack:
            raise CheckError(f"the score {self.score!r} exceeds its bound {self.bound!r}")

    def _score_of(self, problem: Problem, variable: int) -> float:
        """Return the best score of the chosen parent set among candidates the choices admit."""
        assert self.parents is not None
        chosen = tuple(sorted(self.parents[variable]))
        matching = [
            float(problem.scores[c])
            for c in range(problem.first[variable], problem.first[variable + 1])
            if problem.allowed[c]
            and problem.parent_set(c) == chosen
            and all(self.values[choice] == v for choice, v in problem.reads(c).items())
        ]
        if not matching:
            told = ", ".join(problem.names[p] for p in chosen) or "nothing"
            raise CheckError(
                f"{{{told}}} is no admissible parent set of {problem.names[variable]!r}"
            )
        return max(matching)


def _check_acyclic(problem: Problem, parents: tuple[tuple[int, ...], ...]) -> None:
    placed = np.zeros(len(parents), np.bool_)
    while not placed.all():
        ready = [i for i, ps in enumerate(parents) if not placed[i] and placed[list(ps)].all()]
        if not ready:
            told = ", ".join(problem.names[i] for i in np.flatnonzero(~placed))
            raise CheckError(f"the selection has a directed cycle among {told}")
        placed[ready] = True
