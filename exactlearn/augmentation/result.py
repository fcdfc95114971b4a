"""The result of an augmentation method, and its check."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isclose
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments, instance_of, register
from exactlearn._runtime.control import relative_gap
from exactlearn._runtime.display import ByValue
from exactlearn.augmentation.families import FamilyRules
from exactlearn.augmentation.incumbent import Incumbent, Unproven, total_score
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import CheckError
from exactlearn.graphs.dag import topological_order
from exactlearn.graphs.equivalence import Structured
from exactlearn.scoring.scores import Score, ScoreLike

if TYPE_CHECKING:
    import pandas as pd

AugmentationStatus = Literal[
    "optimal", "t-local", "heuristic", "feasible", "infeasible", "interrupted"
]

TOLERANCE = 1e-6
"""Largest difference of scores, relative to their size, that a check forgives."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Augmentation(Structured, ByValue, shown="status score bound method t values seconds"):
    """A DAG and a completion of all missing cells, with the proof state of the solution.

    Parameters
    ----------
    parents
        Parents of each variable, or ``None`` when the limit came before any network was found.
    values
        State index of each missing cell, in the order of ``Dataset.missing_cells``.
    score
        Score of the DAG on the completed table.
    bound
        No DAG and completion score more; ``inf`` where the method proves no such bound.
    status
        ``optimal`` (over all DAGs and completions), ``t-local`` (over all DAGs and all completions
        within Hamming distance ``t``), ``heuristic`` (the method proves nothing), ``feasible``
        (a limit was reached), ``infeasible`` or ``interrupted``.
    method
        The method that found it.
    t
        Radius of the local optimality, for the method ``t-local``.
    seconds, nodes
        Wall time, and nodes of all search trees.
    trace
        Improvements over time as ``(seconds, score, bound)``.
    message
        What a user should know beyond the status.
    unproven
        What a proof of t-local optimality that was stopped has left open, if it had begun.
    names
        Names of the table's variables.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("cancer-mcar").part(slice(20))
    >>> found = el.augment(table, "bdeu", max_parents=1)
    >>> found.status, found.method, found.gap, found.arcs
    ('optimal', 'branching', 0.0, ())
    >>> found.completed(table).is_complete
    True
    """

    parents: tuple[tuple[int, ...], ...] | None
    values: NDArray[np.int64]
    score: float
    bound: float
    status: AugmentationStatus
    method: str
    t: int | None = None
    seconds: float = 0.0
    nodes: int = 0
    trace: tuple[tuple[float, float, float], ...] = ()
    message: str = ""
    unproven: Unproven | None = None
    names: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        incumbent: Incumbent,
        status: AugmentationStatus,
        method: str,
        *,
        t: int | None = None,
        message: str = "",
        unproven: Unproven | None = None,
    ) -> "Augmentation":
        """Return the result of a search: its best solution and its bound."""
        return cls(
            parents=incumbent.parents,
            values=incumbent.values,
            score=incumbent.score,
            bound=incumbent.bound,
            status=status,
            method=method,
            t=t,
            seconds=incumbent.seconds,
            nodes=incumbent.nodes,
            trace=tuple(incumbent.trace),
            message=message,
            unproven=unproven,
        )

    @property
    def gap(self) -> float:
        """Relative gap ``(bound - score) / |score|``; infinite without a bound."""
        return relative_gap(self.score, self.bound)

    @checked_arguments()
    def completed(self, dataset: DatasetLike) -> Dataset:
        """Return the table with its missing cells filled."""
        return dataset.complete(self.values)

    @checked_arguments()
    def to_frame(self, dataset: DatasetLike, score: ScoreLike | None = None) -> "pd.DataFrame":
        """Return the values of the missing cells as a pandas frame: row, variable, value.

        With the score that was maximised, ``next_best`` and ``loss_of_next_best`` say what each
        cell's next best value loses while network and other cells stay
        (:func:`~exactlearn.augmentation.local_search.coordinate_ascent.cell_losses`).

        Examples
        --------
        >>> import exactlearn as el
        >>> table = el.read_dataset("cancer-mcar").part(slice(20))
        >>> found = el.augment(table, "bdeu", max_parents=1)
        >>> found.to_frame(table, "bdeu").round(3).head(2)
           row  variable  value next_best  loss_of_next_best
        0    2  Dyspnoea  False      True              0.511
        1    3    Cancer  False      True              3.664
        """
        if score is None or self.parents is None:
            return dataset.completion_frame(self.values)
        from exactlearn.augmentation.local_search.coordinate_ascent import cell_losses

        losses = cell_losses(dataset, score, self.parents, self.values)
        return dataset.completion_frame(self.values, losses=losses)

    def check_score(self, dataset: Dataset, score: Score, rules: FamilyRules) -> None:
        """Recompute the score from the incomplete table.

        Raises
        ------
        CheckError
            When a family breaks the rules, the arcs close a cycle, the score is not that of the
            completed table, the score exceeds the bound, or ``optimal`` is claimed with a gap.

        Examples
        --------
        >>> import exactlearn as el
        >>> from exactlearn.augmentation import FamilyRules
        >>> table = el.read_dataset("cancer-mcar").part(slice(20))
        >>> found = el.augment(table, "bdeu", max_parents=1)
        >>> found.check_score(table, el.BDeu(), FamilyRules.of(1, (), ()))
        """
        if self.parents is None:
            return
        topological_order(self.parents)
        _check_rules(self.parents, rules, dataset.names)
        total = total_score(self.completed(dataset), self.parents, score)
        if not isclose(total, self.score, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            raise CheckError(f"the score of the completed table is {total!r}, not {self.score!r}")
        slack = TOLERANCE * max(1.0, abs(self.score))
        if self.score > self.bound + slack:
            raise CheckError(f"the score {self.score!r} exceeds its bound {self.bound!r}")
        if self.status == "optimal" and self.bound > self.score + slack:
            raise CheckError(f"'optimal' was claimed with the gap {self.gap:.3g}")


def _check_rules(
    parents: tuple[tuple[int, ...], ...], rules: FamilyRules, names: Sequence[str]
) -> None:
    arcs = {(p, child) for child, ps in enumerate(parents) for p in ps}
    for p, child in (rules.required - arcs) | (rules.forbidden & arcs):
        raise CheckError(f"the arc {names[p]} -> {names[child]} breaks a constraint")
    for child, ps in enumerate(parents):
        if len(ps) > rules.max_parents:
            raise CheckError(
                f"{names[child]!r} has {len(ps)} parents; at most {rules.max_parents} are allowed"
            )


register(
    best=instance_of(Augmentation, "an Augmentation", "pass what augment(dataset, score) returned")
)
