"""Augmentation: missing cells are completed and the network learned together, by any method."""

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
from exactlearn.scoring.prior import Prior, priced
from exactlearn.scoring.scores import BDeu, ScoreLike
from exactlearn.solvers import Problem

METHODS: dict[str, Callable[[Task, Incumbent], Augmentation]] = {
    "branching": augment_branching,
    "exact": augment_exact,
    "gadget": augment_gadget,
    "t-local": augment_local,
    "mode": augment_mode,
}
"""The methods of :func:`augment` by name: three that prove optimality, the hill-climber, and the
baseline.

Each is a function of the task and of the incumbent, which it improves with every better solution.
"""


BDEU = BDeu()
"""The score that is maximised by default."""


@checked_arguments(method=one_of(METHODS), prior=lambda value, name: value)
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
    prior: Prior = "uniform",
    cell_weight: float = 0.0,
    start: Sequence[int] | NDArray[np.integer] | None = None,
    on_event: OnEvent | None = None,
    checkpoint: str | Path | None = None,
    tidy: bool = False,
) -> Augmentation:
    """Complete the missing cells and learn the network together: the pair of the highest score.

    Among all DAGs and all completions, that is Eq. (1) of Adel and de Campos, "Learning Bayesian
    networks with incomplete data by augmentation".

    Parameters
    ----------
    dataset
        The table; one without missing cells is an ordinary structure-learning problem.
    score
        The decomposable score to maximise.
    method
        ``branching`` (branch and bound over the states of the missing cells, which bounds families
        instead of enumerating their completions), ``gadget`` (the paper's reduction), ``exact``
        (``branching`` where the score allows it, else ``gadget``), ``t-local`` (the hill-climber)
        or ``mode`` (fill in each variable's most frequent state, then learn).
    max_parents
        Largest number of parents.
    t, starts
        Of the hill-climber, which also precedes the exact methods: how many cells a move may change
        (``t-local`` only), and the number of completions from which it starts. They are ``start``
        if it is given, then the mode completion, then what hard EM makes of the mode completion and
        of random ones.
    solver
        Solver of the network problems inside a method: ``auto``, ``scip``, ``dynamic``, or
        ``ordering`` (``t-local`` only, and nothing is proven then).
    time_limit
        Seconds; when they are over, the best solution so far is returned.
    seed
        Seed of the random starts.
    required, forbidden
        Arcs (parent, child) by variable index.
    prior
        ``uniform`` over all networks, ``fair`` over numbers of parents, or probabilities of arcs,
        as for :func:`exactlearn.posterior`; score and bound hold its logarithm.
    cell_weight
        Price in nats of each cell of the network's tables, which score and bound hold: a larger one
        gives smaller networks.
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
        When no row has weight. Also for ``exact`` and ``gadget``, when the score is not convex, all
        weights are whole numbers and that of an incomplete row is above 1: the best completions of
        the rows that it stands for may differ, but a row has one completion.
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
    prior = priced(prior, cell_weight, dataset.cardinalities)
    rules = FamilyRules.of(max_parents, required, forbidden, prior)
    values = _checked_start(start, dataset)
    task = Task(dataset, score, rules, solver, seed, values, t, starts)
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


def _checked_start(
    start: Sequence[int] | NDArray[np.integer] | None, dataset: Dataset
) -> NDArray[np.int64] | None:
    """Return the start as an array, shape (missing cells,); ``None`` where there is none.

    Raises
    ------
    OptionError
        When it is no completion of the table.
    """
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
        The best score of a network in it is the best score of the augmentation minus a constant,
        ``Gadget.penalty``, for each missing cell (:mod:`exactlearn.augmentation.gadget`).

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
    assert gadget is not None, "only a time limit ends the reduction, and there is none"
    return gadget.problem
