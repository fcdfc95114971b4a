"""Is there a selection above a target? The question, and its multipliers made to fit it better."""

from collections.abc import Sequence
from typing import NamedTuple

from exactlearn.solvers import Problem
from exactlearn.solvers.lp.multipliers import Multipliers
from exactlearn.solvers.lp.subgradient import lower


class Question(NamedTuple):
    """What is asked of a problem.

    Attributes
    ----------
    problem
        The problem; when it has no selection at all, the answer is no.
    multipliers
        Clusters of its variables with multipliers.
    target
        What a selection must score more than.
    """

    problem: Problem
    multipliers: Multipliers
    target: float

    @property
    def is_open(self) -> bool:
        """Whether the multipliers leave room for a selection above the target."""
        return self.problem.is_feasible and self.multipliers.bound(self.problem) > self.target


def tightened(question: Question, goals: Sequence[float], steps: int) -> Question:
    """Lower a question's bound from goal to goal, and drop what no selection above the target has.

    The first goal that is not reached is the last one that is tried: where there is an integrality
    gap, steps towards a bound far below it lead nowhere.

    Parameters
    ----------
    question
        The question, its problem feasible.
    goals
        Bounds to reach, none above the one before it, nor below the target but the last.
    steps
        Subgradient steps for each.
    """
    problem, multipliers, target = question
    bound = multipliers.bound(problem)
    for goal in goals:
        if bound <= goal:
            continue
        multipliers, left = lower(multipliers, problem, goal, target, steps)
        problem = problem.select(left)
        if not problem.is_feasible:
            break
        bound = multipliers.bound(problem)
        if bound > goal:
            break
    return Question(problem, multipliers, target)
