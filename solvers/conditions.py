"""Conditions on the parents of one variable, and the clauses they make."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

Kind = Literal["all", "not all", "any", "none", "same", "other", "at most", "at least"]

_OPPOSITE: dict[Kind, Kind] = {
    "all": "not all", "not all": "all", "any": "none", "none": "any", "same": "other",
    "other": "same", "at most": "at least", "at least": "at most",
}  # fmt: skip


@dataclass(frozen=True)
class Condition:
    """A condition on the parents of one variable.

    Parameters
    ----------
    variable
        The variable.
    kind
        The variable has all, not all, any or none of ``parents``; the same parents or others; at
        most or at least ``size`` parents.
    parents, size
        What ``kind`` compares with.
    """

    variable: int
    kind: Kind
    parents: frozenset[int] = frozenset()
    size: int = 0

    @property
    def opposite(self) -> "Condition":
        """The condition that holds exactly when this one does not."""
        step = {"at most": 1, "at least": -1}.get(self.kind, 0)
        return Condition(self.variable, _OPPOSITE[self.kind], self.parents, self.size + step)

    def holds(self, family: Collection[int]) -> bool:
        """Tell whether a parent set satisfies the condition."""
        chosen = frozenset(family)
        if self.kind in ("all", "not all"):
            return (self.parents <= chosen) == (self.kind == "all")
        if self.kind in ("any", "none"):
            return bool(self.parents & chosen) == (self.kind == "any")
        if self.kind in ("same", "other"):
            return (self.parents == chosen) == (self.kind == "same")
        return len(chosen) <= self.size if self.kind == "at most" else len(chosen) >= self.size


Clause = tuple[Condition, ...]
"""Conditions of which one holds at least."""
