"""What a command returns: the record of its answer, and how it ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exactlearn.errors import ExitStatus

ENDS = {
    "feasible": ExitStatus.LIMITED,
    "infeasible": ExitStatus.INFEASIBLE,
    "interrupted": ExitStatus.INTERRUPTED,
    "failed": ExitStatus.FAILED,
}
"""Exit statuses by the status of a search; 0 for all others."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer of a command, which prints nothing and does not exit by itself.

    Parameters
    ----------
    record
        What ``--json`` prints; empty where there is nothing to print.
    shown
        What is described to people in place of the record: a part of it, or a text.
    status
        How the search ended.
    remarks
        Lines for standard error, after the answer.
    exit_status
        In place of the one that follows from the status.
    failure
        An error to report once the answer is printed, such as of a file that was not written.
    """

    record: Mapping[str, Any]
    shown: Mapping[str, Any] | str | None = None
    status: str = "done"
    remarks: Sequence[str] = ()
    exit_status: int = -1
    failure: Exception | None = None

    def __post_init__(self) -> None:
        """Let the exit status follow from the status unless it is given."""
        if self.exit_status < 0:
            object.__setattr__(self, "exit_status", ENDS.get(self.status, ExitStatus.DONE))


def worst(*statuses: str) -> str:
    """Return the status of several searches together: interrupted, feasible or else the first."""
    return next((end for end in ("interrupted", "feasible") if end in statuses), statuses[0])
