"""Parts of the set of all networks: described by conditions, bounded, and parted by cases."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..candidate_table import CandidateTable, Parents
from ..constraints import Clause, Condition, Constraint, ForbiddenAdjacency, RequiredAdjacency

Case = Condition | ForbiddenAdjacency
"""What one branch demands; the branches after it demand the opposite."""


class Step(NamedTuple):
    """A condition or constraint of a part, and those before it."""

    before: "Step | None"
    taken: Condition | Constraint


class FoundNetwork(NamedTuple):
    """A network that satisfies all constraints, with its score."""

    score: float = -inf
    parents: Parents | None = None


NOTHING = FoundNetwork()


@dataclass(eq=False)
class Node:
    """A part of the set of all networks; with ``best`` once its best network is known."""

    bound: float
    steps: Step | None = None
    window: float = inf
    start: Parents | None = None
    best: FoundNetwork | None = None


def parted(table: CandidateTable, node: Node, cases: Sequence[Case]) -> Iterator[Node]:
    """Yield the parts of a node, one for each case, that hold any network.

    Later parts demand the opposite of the earlier cases. Cases that cost much come first, so that
    those that cost little inherit many opposites.
    """
    keep, _ = restrictions(table, node.steps)
    best, steps = table.best(keep), node.steps
    for case in sorted(cases, key=lambda case: _bound_with(table, case, keep, best)):
        bound = min(node.bound, _bound_with(table, case, keep, best))
        if bound > -inf:
            taken = steps
            for condition in _conditions(case):
                taken = Step(taken, condition)
            yield Node(bound, taken)
        if isinstance(case, ForbiddenAdjacency):
            steps = Step(steps, RequiredAdjacency(case.a, case.b))
            continue
        steps = Step(steps, case.opposite)
        rows = table.rows(case.variable)
        keep[rows] &= ~table.holds(case)
        best[:, case.variable] = table.best_of(case.variable, keep[rows])
        if not keep[rows].any():
            return


def _bound_with(
    table: CandidateTable, case: Case, keep: NDArray[np.bool_], best: NDArray[np.float64]
) -> float:
    best = best.copy()
    for condition in _conditions(case):
        rows = table.rows(condition.variable)
        left = keep[rows] & table.holds(condition)
        best[:, condition.variable] = table.best_of(condition.variable, left)
    return table.bound(best)


def restrictions(
    table: CandidateTable, steps: Step | None
) -> tuple[NDArray[np.bool_], list[Constraint]]:
    """Return which candidates the conditions of a part leave, and its further constraints."""
    keep = np.ones(table.problem.n_candidates, np.bool_)
    extras: list[Constraint] = []
    while steps is not None:
        if isinstance(steps.taken, Condition):
            keep[table.rows(steps.taken.variable)] &= table.holds(steps.taken)
        else:
            extras.append(steps.taken)
        steps = steps.before
    return keep, extras


def between(met: Parents | None, violating: Parents) -> Clause | None:
    """Part a network with too many or too few arcs from a cheaper one that has not.

    Either is in one branch only.
    """
    if met is None:
        return None
    apart = [len(a) - len(b) for a, b in zip(met, violating, strict=True)]
    v = int(np.argmax(np.abs(apart)))
    if apart[v] == 0:
        return None
    size = min(len(met[v]), len(violating[v]))
    return Condition(v, "at most", size=size), Condition(v, "at least", size=size + 1)


def _conditions(case: Case) -> tuple[Condition, ...]:
    if isinstance(case, Condition):
        return (case,)
    return (
        Condition(case.b, "none", frozenset({case.a})),
        Condition(case.a, "none", frozenset({case.b})),
    )
