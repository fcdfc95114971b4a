"""Local scores as columns, one row per candidate: checked, ordered, and made a problem.

Every reader of score files brings its candidates into this form, so that what makes a list of
candidates unusable is written down once.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.errors import InfeasibleError, OptionError
from exactlearn.solvers.problem import Problem, offsets


class Fault(NamedTuple):
    """What is wrong with a candidate.

    Attributes
    ----------
    row
        The candidate, counted from 0.
    field
        What of it: 0 the score, 1 the number of parents, 2 the first parent, and so on.
    message
        What was expected, and what to do.
    """

    row: int
    field: int
    message: str


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Candidates in the order of their file.

    Parameters
    ----------
    names
        Variable names, all different.
    child
        Variable of each candidate, shape (m,).
    scores
        Score of each candidate, shape (m,).
    sizes
        Number of parents of each candidate, shape (m,).
    parents
        Parents of all candidates, one candidate after the other, shape (total,); -1 is unknown.
    """

    names: tuple[str, ...]
    child: NDArray[np.int64]
    scores: NDArray[np.float64]
    sizes: NDArray[np.int64]
    parents: NDArray[np.int64]

    def faults(self) -> list[Fault]:
        """Return the first candidate with itself, or one twice, or with a set that stood before.

        Unknown parents and scores that are not finite are reported by the reader.
        """
        first = offsets(self.sizes)
        row = np.repeat(np.arange(len(self.sizes)), self.sizes)
        found: list[Fault] = []
        own = np.flatnonzero(self.parents == self.child[row])
        if len(own):
            at = int(own[0])
            name = self.names[self.child[row[at]]]
            message = f"variable {name!r} is its own parent; drop this candidate"
            found.append(Fault(int(row[at]), 2 + at - int(first[row[at]]), message))
        ordered = self._increasing()
        again = np.flatnonzero((np.diff(ordered) == 0) & (np.diff(row) == 0) & (ordered[1:] >= 0))
        if len(again):
            at = int(again[0])
            message = f"parent {self.names[ordered[at]]!r} stands here twice; name it once"
            found.append(Fault(int(row[at]), 2, message))
        if len(rows := self._stood_before()):
            message = "this parent set stood before for this variable; keep one of the two"
            found.append(Fault(int(rows[0]), 2, message))
        return found

    def by_variable(self) -> "ScoreTable":
        """Return the table in the order of the variables, each one's candidates as they stood."""
        order = np.argsort(self.child, kind="stable")
        sizes = self.sizes[order]
        begins = np.repeat(offsets(self.sizes)[order] - offsets(sizes)[:-1], sizes)
        parents = self.parents[np.arange(len(self.parents)) + begins]
        return ScoreTable(self.names, self.child[order], self.scores[order], sizes, parents)

    def problem(self) -> Problem:
        """Return the problem of a table without faults that is in the order of the variables."""
        return Problem(
            names=self.names,
            first=offsets(np.bincount(self.child, minlength=len(self.names))),
            scores=self.scores,
            member_first=offsets(self.sizes),
            members=self._increasing().astype(np.int32),
        )

    def _increasing(self) -> NDArray[np.int64]:
        """Return the parents, each candidate's in increasing order."""
        width = len(self.names) + 1
        row = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return np.sort(row * width + self.parents + 1) - row * width - 1

    def _stood_before(self) -> NDArray[np.int64]:
        """Return the candidates whose variable has an earlier one with the same parents.

        Candidates of one set have one hash, so only those with an equal hash are looked at.
        """
        words = np.random.default_rng(0).integers(0, 2**63, len(self.names) + 1, np.uint64)
        sums = np.zeros(len(self.parents) + 1, np.uint64)
        np.cumsum(words[self.parents], out=sums[1:])
        first = offsets(self.sizes)
        hashes = sums[first[1:]] - sums[first[:-1]] + words[self.child] * np.uint64(3)
        order = np.argsort(hashes, kind="stable")
        same = np.diff(hashes[order]) == 0
        suspects = np.sort(order[np.concatenate([[False], same]) | np.concatenate([same, [False]])])
        seen: set[tuple[int, tuple[int, ...]]] = set()
        repeated = []
        for row in suspects.tolist():
            members = sorted(self.parents[first[row] : first[row + 1]].tolist())
            key = (int(self.child[row]), tuple(members))
            if key in seen:
                repeated.append(row)
            seen.add(key)
        return np.array(repeated, np.int64)


def writable_problem(problem: Problem) -> Problem:
    """Return the candidates that the constraints allow, which is what a score file holds.

    Raises
    ------
    OptionError
        When the problem has choices, constraints on the whole network, or no variables.
    InfeasibleError
        When the constraints leave a variable without candidates, or had it none.
    """
    if len(problem.options):
        raise OptionError(
            f"a score file cannot hold the {len(problem.options)} choices of this problem; "
            "write the problem of the gadget formulation, which has none"
        )
    for constraint in problem.overall_constraints[:1]:
        raise OptionError(
            f"a score file cannot hold the constraint '{constraint.describe(problem.names)}', "
            "which concerns the whole network; write the scores without it, and give it "
            "when solving"
        )
    if not problem.names:
        raise OptionError("a score file needs a variable, but the problem has none")
    kept = problem.select(problem.allowed)
    bare = np.flatnonzero(np.diff(kept.first) == 0)
    if len(bare):
        raise InfeasibleError(
            f"variable {problem.names[bare[0]]!r} has no candidate parent set that the constraints "
            "allow; drop one of its constraints, or allow more parents"
        )
    return kept
