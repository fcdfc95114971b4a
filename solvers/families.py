"""The candidates of a problem or of one of its components as bare arrays, which kernels take."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from exactlearn.errors import OptionError


class Candidates(Protocol):
    """What problems and components have in common; see :class:`Families` for the arrays."""

    @property
    def first(self) -> NDArray[np.int64]: ...  # noqa: D102
    @property
    def scores(self) -> NDArray[np.float64]: ...  # noqa: D102
    @property
    def child(self) -> NDArray[np.integer]: ...  # noqa: D102
    @property
    def member_first(self) -> NDArray[np.int64]: ...  # noqa: D102
    @property
    def members(self) -> NDArray[np.integer]: ...  # noqa: D102
    @property
    def literals(self) -> NDArray[np.integer]: ...  # noqa: D102


class Families(NamedTuple):
    """Candidate parent sets without choices or constraints.

    Attributes
    ----------
    first
        Where each variable's candidates begin, shape (n + 1,).
    scores, child
        Score and variable of each candidate, shape (m,).
    member_first, members
        The parents of each candidate, shapes (m + 1,) and (total,).
    """

    first: NDArray[np.int64]
    scores: NDArray[np.float64]
    child: NDArray[np.int64]
    member_first: NDArray[np.int64]
    members: NDArray[np.int64]

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.first) - 1


def families_of(problem: Candidates) -> Families:
    """Return the arrays of a problem or component; what its candidates read is left out."""
    return Families(
        problem.first,
        problem.scores,
        problem.child.astype(np.int64, copy=False),
        problem.member_first,
        problem.members.astype(np.int64, copy=False),
    )


def families_without_choices(problem: Candidates) -> Families:
    """Return the arrays of a problem or component, or raise when its candidates read choices."""
    if len(problem.literals):
        raise OptionError(
            "the linear relaxation knows no choices, and candidates of the problem read some: give "
            "it the problem without literals for a bound, or solve it with SCIP"
        )
    return families_of(problem)
