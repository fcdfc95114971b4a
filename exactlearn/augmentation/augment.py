"""The one entry to all augmentation methods."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.argument_kinds import one_of
from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.checkpoint import Checkpoint
from exactlearn._runtime.control import OnEvent
from exactlearn._runtime.variable_arguments import ArcsLike
from exactlearn.augmentation.exact import (
    augment_branching,
    augment_exact,
    augment_gadget,
)
from exactlearn.augmentation.families import FamilyRules
from exactlearn.augmentation.gadget import reduced
from exactlearn.augmentation.hill_climber import augment_local, augment_mode
from exactlearn.augmentation.solutions import Augmentation, Incumbent
from exactlearn.augmentation.task import Task
from exactlearn.data.dataset import Dataset, DatasetLike, require_weight
from exactlearn.errors import DataError, OptionError
from exactlearn.scoring.scores import BDeu, ScoreLike
from exactlearn.solvers import Problem

METHODS: dict[str, Callable[[Task, Incumbent], Augmentation]] = {
    "branching": augment_branching,
    "exact": augment_exact,
    "gadget": augment_gadget,
    "t-local": augment_local,
    "mode": augment_mode,
}
"""The methods of :func:`augment` by name, from the strongest to the weakest claim.

A method gets the task and the incumbent to improve. A new one is one function and one entry here.
"""


BDEU = BDeu()
"""The score that is maximised unless one is named."""


@checked_arguments(method=one_of(METHODS))
def augment(
    dataset: DatasetLike,
    score: ScoreLike = BDEU,
    *,
    method: str = "branching",
    max_parents: int = 3,
    t: int = 1,
    starts: int = 10,
    solver: str = "auto",
    time_limit: float | None = None,
    seed: int = 0,
    required: ArcsLike = (),
    forbidden: ArcsLike = (),
    start: Sequence[int] | NDArray[np.integer] | None = None,
    on_event: OnEvent | None = None,
    checkpoint: str | Path | None = None,
    tidy: bool = False,
) -> Augmentation:
    """Find a DAG and a completion of the missing cells with the highest score together.

    Eq. (1) of Adel and de Campos, "Learning Bayesian networks with incomplete data by
    augmentation".

    Parameters
    ----------
    dataset
        The table; one without missing cells is an ordinary structure-learning problem.
    score
        The decomposable score to maximise.
    method
        ``branching`` (a search over the cells' values that bounds families instead of enumerating
        their completions), ``gadget`` (the paper's reduction), ``exact`` (``branching`` where the
        score allows it, else ``gadget``), ``t-local`` (the hill-climber) or ``mode`` (fill in each
        variable's most frequent state, then learn).
    max_parents
        Largest number of parents.
    t, starts
        Radius and number of starts of the hill-climber: a start that is given, the mode completion,
        and where hard EM leads from that and from random ones.
    solver
        Solver inside: ``auto``, ``scip``, ``dynamic``, or ``ordering`` (``t-local`` only, and
        nothing is proven then).
    time_limit
        Seconds; when they are over, the best solution so far is returned.
    seed
        Seed of the random starts.
    required, forbidden
        Arcs (parent, child) by variable index.
    start
        A state index for each missing cell, in the order of ``Dataset.missing_cells``, that the
        climber begins with.
    on_event
        Called with every improvement; its values are the states of the missing cells.
    checkpoint
        Folder that keeps the results of parent-set selections inside, as for
        :func:`exactlearn.solve`; the search over completions begins anew.
    tidy
        For a frame or an array: as for :meth:`Dataset.from_frame`.

    Returns
    -------
    Augmentation
        Checked: its score is recomputed from the completed table.

    Raises
    ------
    DataError
        When no row has weight; when an incomplete row has a whole weight above 1, the score is not
        convex, and the method is exact: the rows that it stands for may be completed differently.
    OptionError
        When a method or an option is unknown, or the start does not match the missing cells.
    TooLargeError
        When ``gadget`` has too many completions, or ``branching`` too many families.
    InfeasibleError
        When the constraints exclude every network.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("cancer-mcar").part(slice(20))
    >>> result = el.augment(table, "bdeu", max_parents=1)
    >>> result.status, result.parents
    ('optimal', ((), (), (), (), ()))
    >>> result.completed(table)
    Dataset(rows=20, variables=5)
    """
    require_weight(dataset)
    rules = FamilyRules.of(max_parents, required, forbidden)
    task = Task(
        dataset, score, rules, solver, seed, _matching(start, dataset), t, starts
    )
    with Incumbent(
        time_limit, on_event, Checkpoint(checkpoint).folder
    ).running() as incumbent:
        incumbent.stage(
            "completing %d missing cells by %s", len(dataset.missing_cells), method
        )
        result = replace(METHODS[method](task, incumbent), names=dataset.names)
        incumbent.stage(
            "%s: score %.10g, bound %.10g", result.status, result.score, result.bound
        )
    result.check_score(dataset, score, rules)
    return result


def _matching(
    start: Sequence[int] | NDArray[np.integer] | None, dataset: Dataset
) -> NDArray[np.int64] | None:
    """Return a start, or raise where it is no completion of the table."""
    if start is None:
        return None
    try:
        dataset.complete(start)
    except DataError as error:
        raise OptionError(
            f"the start does not match the missing cells: {error}"
        ) from None
    return np.asarray(start, np.int64)


@checked_arguments()
def gadget_problem(
    dataset: DatasetLike,
    score: ScoreLike,
    *,
    max_parents: int = 3,
    required: ArcsLike = (),
    forbidden: ArcsLike = (),
) -> Problem:
    """Return the paper's reduction: a plain problem with artificial variables for any solver.

    Parameters
    ----------
    dataset, score, max_parents, required, forbidden
        As for :func:`augment`.

    Returns
    -------
    Problem
        Its optimum is the optimum of the augmentation minus one penalty for each missing cell.

    Raises
    ------
    TooLargeError
        When the families have too many completions to enumerate.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("cancer-mcar").part(slice(12))
    >>> problem = el.augmentation.gadget_problem(table, el.BDeu(), max_parents=1)
    >>> problem.n_variables
    13
    """
    rules = FamilyRules.of(max_parents, required, forbidden)
    gadget = reduced(Task(dataset, score, rules))
    assert gadget is not None, "no limit"
    return gadget.problem
