"""The network behind an imputation: learned from the table that has the missing cells.

The defaults of `Learning` are those of `impute` and of the benchmark of all imputers
(:mod:`exactlearn.reproduce.imputers`), which measures them. They were chosen on a few tables of
MCAR 10 % and 20 %, not those judged: missing cells are told better by denser networks than the
augmentation paper's equivalent sample size of 1 finds in few rows; two parents are enough for that,
and three take a table such as SPECT ten times the time.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from exactlearn.augmentation import augment
from exactlearn.bayesnet.em import fit_em
from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError
from exactlearn.imputation.imputed import Imputed
from exactlearn.scoring.scores import BDeu, Score, as_score
from exactlearn.solvers.problem import Arc
from exactlearn.solvers.result import OnEvent
from exactlearn.structure.structural_em import structural_em

Learner = Literal[
    "structural-em", "structural-em-hard", "exact", "branching", "gadget", "t-local", "mode"
]


Missingness = Literal["ignored", "learned"]
"""Whether it is learned why cells are missing, or taken to tell nothing about them."""

ESS = 10.0
"""Equivalent sample size of the default score."""


@dataclass(frozen=True, kw_only=True)
class Learning:
    """How a network is learned from a table with missing cells.

    Parameters
    ----------
    learner
        Left out, ``t-local`` for the mode ``augmentation`` and else ``structural-em``.
        ``structural-em`` (expected counts), ``structural-em-hard`` (the most probable completion in
        place of the expectation), or a method of :func:`~exactlearn.augmentation.augment`.
    score
        The score to maximise.
    max_parents
        Largest number of parents.
    t
        Radius, for the learner ``t-local``.
    starts
        Number of starts, for ``t-local`` and structural EM.
    solver
        Solver of every network problem inside.
    time_limit
        Seconds for the structure; the best so far is taken when they are over. Seconds for all
        that a method of a library does.
    seed
        Seed of all that is random.
    required, forbidden
        Arcs (parent, child) by variable index.
    alpha
        Pseudo-count of every parameter of the network.
    networks
        How many networks the mode ``averaged`` learns.
    missingness
        ``learned``: the posteriors are those of a network in which a cell may be missing because of
        its own value or another variable's, :mod:`exactlearn.imputation.mechanism`.
    on_event
        Told of the search's progress.
    """

    learner: Learner | None = None
    score: Score = field(default_factory=lambda: BDeu(ESS))
    max_parents: int = 2
    t: int = 1
    starts: int = 1
    solver: str = "auto"
    time_limit: float | None = None
    seed: int = 0
    required: Collection[Arc] = ()
    forbidden: Collection[Arc] = ()
    alpha: float = 0.3
    networks: int = 10
    missingness: Missingness = "ignored"
    on_event: OnEvent | None = None

    def __post_init__(self) -> None:
        """Take a score by its name, and refuse to average over no network."""
        object.__setattr__(self, "score", as_score(self.score))
        if self.networks < 1:
            raise OptionError(f"networks must be at least 1, found {self.networks}")

    @property
    def chosen(self) -> Learner:
        """The learner, ``structural-em`` where none is named."""
        return self.learner or "structural-em"

    def learned_by(self, learner: Learner) -> "Learning":
        """Return the same with another learner."""
        return replace(self, learner=learner)


def augmented(dataset: Dataset, how: Learning) -> Imputed:
    """Complete a table by augmentation; the network has no parameters yet, so there is none.

    Raises
    ------
    OptionError, TooLargeError, InfeasibleError
        As :func:`~exactlearn.augmentation.augment`.
    """
    found = augment(dataset, how.score, method=how.chosen, t=how.t, **_shared(how))
    return Imputed(
        values=None if found.parents is None else found.values,
        parents=found.parents,
        score=found.score,
        bound=found.bound,
        status=found.status,
    )


def learned(dataset: Dataset, how: Learning) -> Imputed:
    """Learn structure and parameters; the completion is the learner's own.

    After augmentation the parameters are estimated by EM from the incomplete table: those of the
    completed one would be too sure of the values that were filled in.

    Returns
    -------
    imputed
        Without network and values when a limit came before there was any network.

    Raises
    ------
    OptionError
        When an option is wrong.
    TooLargeError, InfeasibleError
        As :func:`~exactlearn.augmentation.augment`.
    """
    if how.chosen in ("structural-em", "structural-em-hard"):
        return _learned_by_em(dataset, how)
    found = augmented(dataset, how)
    if found.parents is None:
        return found
    return replace(found, network=fit_em(dataset, found.parents, alpha=how.alpha).network)


def _learned_by_em(dataset: Dataset, how: Learning) -> Imputed:
    variant = "hard" if how.chosen == "structural-em-hard" else "expected"
    found = structural_em(dataset, how.score, variant=variant, alpha=how.alpha, **_shared(how))
    return Imputed(
        values=None if found.parents is None else found.values,
        parents=found.parents,
        network=found.network,
        score=found.score,
        status=found.status,
    )


def _shared(how: Learning) -> dict[str, Any]:
    """Return the options that augmentation and structural EM take alike."""
    return {
        "max_parents": how.max_parents,
        "starts": how.starts,
        "solver": how.solver,
        "time_limit": how.time_limit,
        "seed": how.seed,
        "required": how.required,
        "forbidden": how.forbidden,
        "on_event": how.on_event,
    }
