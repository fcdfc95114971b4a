"""Exact augmentation by branching on the values of cells.

Relax the agreement between families: let every family have the completion of its columns that it
likes best among those still allowed, and solve ordinary parent-set selection. If the chosen
families agree on every cell, that is the optimum of the node; otherwise its score is a bound, and
the search branches on a cell they disagree on, best bound first. Each node is a plain problem, so
any solver will do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.columns import all_completions, place_values
from exactlearn.augmentation.completions import completion_problem
from exactlearn.augmentation.progress import Incumbent
from exactlearn.augmentation.settle import settle
from exactlearn.augmentation.task import LimitReachedError, Task, require_proof
from exactlearn.kernel import kernel
from exactlearn.solvers import Problem

TOLERANCE = 1e-9
"""Relative difference of a bound and the incumbent below which a node is closed."""

Fixed = tuple[tuple[int, int], ...]
"""Cells that a node has fixed, as (cell, state) pairs."""


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The candidates of all completions, grouped by child and parent set.

    Parameters
    ----------
    problem
        The problem with one choice for each column.
    first
        Where each variable's options begin, shape (variables + 1,).
    group
        Number of each candidate's (child, parent set), shape (m,).
    n_groups
        Number of groups.
    variable, place, states
        For each missing cell: its variable, what its state adds to the number of an option of the
        column, and its number of states.
    """

    problem: Problem
    first: NDArray[np.int64]
    group: NDArray[np.int64]
    n_groups: int
    variable: NDArray[np.int64]
    place: NDArray[np.int64]
    states: NDArray[np.int64]

    @classmethod
    def of(cls, task: Task) -> "Relaxation":
        """Enumerate the completions of a task's families."""
        dataset = task.dataset
        columns = all_completions(dataset)
        problem = completion_problem(dataset, columns, task.score, task.rules)
        sizes = np.diff(problem.member_first)
        key = np.full((problem.n_candidates, int(sizes.max(initial=0)) + 1), -1, np.int64)
        key[:, 0] = problem.child
        owner = np.repeat(np.arange(problem.n_candidates), sizes)
        key[owner, 1 + np.arange(len(owner)) - problem.member_first[owner]] = problem.members
        distinct, group = np.unique(key, axis=0, return_inverse=True)
        variable = dataset.missing_cells[:, 1]
        place = np.zeros(len(variable), np.int64)
        for v, r in enumerate(dataset.cardinalities.tolist()):
            place[variable == v] = place_values(int((variable == v).sum()), r)
        return cls(
            problem,
            columns.first,
            group.reshape(-1).astype(np.int64),
            len(distinct),
            variable,
            place,
            dataset.cardinalities[variable],
        )

    def state(self, cell: int, options: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the state of a cell under options of its column (literals of the problem)."""
        local = options - self.first[self.variable[cell]]
        found: NDArray[np.int64] = local // self.place[cell] % self.states[cell]
        return found

    def relaxed(self, fixed: Fixed) -> Problem:
        """Give each group the completion it likes best among those that keep the fixed cells.

        The candidates still know what they read.
        """
        assert self.problem.literal_first is not None
        is_open = np.ones(int(self.first[-1]), np.bool_)
        for cell, state in fixed:
            v = self.variable[cell]
            options = np.arange(self.first[v], self.first[v + 1])
            is_open[options[self.state(cell, options) != state]] = False
        best = _best_of_groups(
            self.problem.scores, self.group, self.n_groups, self.problem.literal_first,
            self.problem.literals, is_open,
        )  # fmt: skip
        keep = np.zeros(self.problem.n_candidates, np.bool_)
        keep[best[best >= 0]] = True
        return self.problem.select(keep)

    def votes(self, relaxed: Problem, parents: Sequence[Sequence[int]]) -> NDArray[np.int64]:
        """Count, for each cell and state, the chosen families that read it, (cells, states)."""
        literals = np.concatenate([_reads(relaxed, i, ps) for i, ps in enumerate(parents)])
        votes = np.zeros((len(self.variable), int(self.states.max())), np.int64)
        for cell, v in enumerate(self.variable):
            read = literals[(literals >= self.first[v]) & (literals < self.first[v + 1])]
            np.add.at(votes[cell], self.state(cell, read), 1)
        return votes


def branch(task: Task, incumbent: Incumbent) -> None:
    """Search for the optimum; the best pair and the bound go to the incumbent.

    Raises
    ------
    LimitReachedError
        When the time is up first; the bound is then that of the open nodes.
    """
    relaxation = Relaxation.of(task)
    queue: list[tuple[float, int, Fixed]] = [(-inf, 0, ())]
    made = 1
    while queue and not _closed(-queue[0][0], incumbent):
        priority, _, fixed = heappop(queue)
        incumbent.prove(-priority)
        if incumbent.out_of_time:
            raise LimitReachedError("feasible")
        bound, cell = _visit(task, incumbent, relaxation, fixed)
        if cell is None:
            continue
        for state in range(relaxation.states[cell]):
            heappush(queue, (max(priority, -bound), made, (*fixed, (cell, state))))
            made += 1
    incumbent.prove(incumbent.score)


def _closed(bound: float, incumbent: Incumbent) -> bool:
    return bound <= incumbent.score + TOLERANCE * max(1.0, abs(incumbent.score))


def _visit(
    task: Task, incumbent: Incumbent, relaxation: Relaxation, fixed: Fixed
) -> tuple[float, int | None]:
    """Solve a node's relaxation; return its bound and the cell its families disagree on most."""
    relaxed = relaxation.relaxed(fixed)
    if not relaxed.is_feasible:
        return -inf, None
    nodes = incumbent.nodes
    result = task.solve(relaxed.without_literals(), incumbent)
    incumbent.nodes = nodes + 1  # of this search, not of the searches inside
    assert result.parents is not None
    require_proof(result)
    votes = relaxation.votes(relaxed, result.parents)
    values = votes.argmax(axis=1)
    settled = settle(task.dataset, values, result.parents, task.score)
    incumbent.offer(task.pair(result.parents, settled))
    dissent = votes.sum(axis=1) - votes.max(axis=1)
    return result.score, int(dissent.argmax()) if dissent.any() else None


def _reads(problem: Problem, child: int, parents: Sequence[int]) -> NDArray[np.int64]:
    """Return the literals that a variable's chosen candidate reads."""
    assert problem.literal_first is not None
    chosen = tuple(sorted(parents))
    for c in range(problem.first[child], problem.first[child + 1]):
        if problem.parent_set(c) == chosen:
            read = problem.literals[problem.literal_first[c] : problem.literal_first[c + 1]]
            return read.astype(np.int64)
    raise AssertionError("a solver chose a parent set that is no candidate")


@kernel
def _best_of_groups(
    scores: NDArray[np.float64],
    group: NDArray[np.int64],
    n_groups: int,
    literal_first: NDArray[np.int64],
    literals: NDArray[np.int32],
    is_open: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Return the best candidate of each group that reads open literals only, or -1."""
    best = np.full(n_groups, -1, np.int64)
    for c in range(len(scores)):
        if best[group[c]] >= 0 and scores[c] <= scores[best[group[c]]]:
            continue
        fits = True
        for at in range(literal_first[c], literal_first[c + 1]):
            fits = fits and is_open[literals[at]]
        if fits:
            best[group[c]] = c
    return best
