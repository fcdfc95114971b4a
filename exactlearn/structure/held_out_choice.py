"""A number that learning takes, by cross-validation: the simplest that predicts as well as any.

The rows are divided into folds at random; for each value, a network is learned without the rows of
each fold, and judged by the log-likelihood of the observed cells of these rows, with the parameters
that `fit` estimates by default. Of the values whose mean log-likelihood is within one standard
error of the best one's, by the differences row by row (Breiman et al. 1984, "Classification and
Regression Trees", section 3.4.3), the simplest is chosen.

The networks are those that a short search over orders finds. Where cells are missing, it maximises
the score of the counts that :func:`~exactlearn.structure.learning.learn` uses: expected ones, under
a network that structural EM learns without the rows of the fold, or those of a deletion estimator.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import LOG, SearchControl, is_interrupted
from exactlearn._runtime.display import Displayed
from exactlearn._runtime.files import strict
from exactlearn._runtime.progress import counted
from exactlearn.bayesnet.complete_data import SMOOTHING
from exactlearn.bayesnet.smoothing_choice import Folds, as_good_as_best, divided
from exactlearn.data.dataset import Dataset
from exactlearn.errors import TooLargeError, as_written
from exactlearn.scoring.candidates import candidate_parent_sets, n_families
from exactlearn.scoring.deletion_counts import DeletionCounts
from exactlearn.scoring.expected_counts import ExpectedCounts
from exactlearn.scoring.prior import Prior, with_prior
from exactlearn.scoring.scores import Score
from exactlearn.solvers.ordering import heuristic_network
from exactlearn.structure.learned_counts import learned_counts
from exactlearn.structure.selection import Counts, fitted_network

Objective = tuple[Score, Prior]
"""What the networks of a value maximise: a score, and the logarithm of a prior."""

CHOICE_SHARE = 0.3
"""Proportion of the time limit of all learning that the choice may take."""

FOLDS = 10
"""Folds of a complete table by default."""

INCOMPLETE_FOLDS = 5
"""Folds of an incomplete table by default: structural EM learns a network without each."""

MIN_FOLDS = 3
"""Folds that :data:`MAX_TOTAL_FAMILIES` leaves at least."""

MAX_TOTAL_FAMILIES = 15_000_000
"""Families to score for all scores and folds together; where there are more, there are fewer
folds."""

MAX_FAMILIES = 5_000_000
"""Families to score for each value and fold; where there are more, the networks have fewer
parents."""

MAX_ROWS = 20_000
"""Rows that the choice takes; from a longer table, so many are drawn at random."""

SEARCH_LENGTH = {"budget": 2_000_000, "perturbations": 20}
"""Length of each search over orders: candidates scored in all, perturbed orders per variable."""

LOG_LIKELIHOOD_DECIMALS = 9
"""Decimals that log-likelihoods are rounded to, so that equal networks are judged equal."""


@dataclass(frozen=True, repr=False)
class HeldOutChoice(Displayed, shown="reason"):
    """A number whose networks predict held-out rows as well as any.

    Parameters
    ----------
    value
        The number: of those within one standard error of the best one, the simplest.
    log_likelihood
        For each value tried, the simplest first: the mean log-likelihood (natural logarithm) of
        the observed cells of a held-out row, under the network learned without the row's fold.
        Minus infinity where cells are missing and inference in a network is too large to judge it.
    folds
        Folds on which these values were tried before the time limit or an interrupt. 0 where there
        was no time to judge two values, or the only one; ``value`` is the default then.
    max_parents
        Largest number of parents of the networks.
    """

    value: float
    log_likelihood: Mapping[float, float]
    folds: int
    max_parents: int

    # The name of the number in a sentence; which of several values is the simplest, "smallest" or
    # "largest"; the value where there is no time for a choice; and the argument that it is.
    quantity: ClassVar[str]
    simplest: ClassVar[str] = "smallest"
    default: ClassVar[float] = 0.0
    argument: ClassVar[str]

    @property
    def best(self) -> float:
        """The value of the largest mean log-likelihood, the simplest of equal ones."""
        return max(
            self.log_likelihood,
            key=self.log_likelihood.__getitem__,
            default=self.value,
        )

    @property
    def reason(self) -> str:
        """Why this value, in one sentence."""
        # Without a fold there was no choice: the default, and what would allow one.
        if not self.folds:
            return (
                f"{self.quantity} {self.value:g}, the default, as the time was too short to "
                "judge the values; an equal call may have the time and choose another: give more "
                f"time, or a number ({as_written(self.argument, 1)})"
            )
        tried = ", ".join(f"{value:g}" for value in sorted(self.log_likelihood))
        return (
            f"{self.quantity} {self.value:g}: the {self.simplest} of {tried} whose networks "
            f"predict held-out rows within one standard error of the best, {self.best:g}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the choice for a record."""
        tried = {f"{value:g}": mean for value, mean in self.log_likelihood.items()}
        return {
            "value": self.value,
            "reason": self.reason,
            "held_out_log_likelihood_per_row": strict(tried),
            "folds": self.folds,
            "max_parents": self.max_parents,
        }


Choice = TypeVar("Choice", bound=HeldOutChoice)


def choose(
    kind: type[Choice],
    dataset: Dataset,
    objectives: Mapping[float, Objective],
    *,
    max_parents: int | None,
    counts: Counts,
    seed: int,
    time_limit: float | None,
    folds: int | None = None,
) -> Choice:
    """Return the simplest value whose networks predict held-out rows as well as the best.

    Parameters
    ----------
    kind
        The class of the choice.
    dataset
        The table; a sample of it is taken where it is long.
    objectives
        What the networks of each value maximise.
    max_parents, counts, seed, time_limit, folds
        As for :func:`~exactlearn.structure.ess_choice.choose_ess`.

    Raises
    ------
    DataError, TooLargeError
        As for that function.
    """
    # A sample of large tables, and few parents of many variables, keep the choice short.
    dataset = dataset.drawn(MAX_ROWS, np.random.default_rng(seed))
    max_parents = _affordable_parents(dataset.n_variables, max_parents)
    cure = f"give the {kind.quantity} as a number ({as_written(kind.argument, 1)})"
    n_scores = len({id(score) for score, _ in objectives.values()})
    division = _division(dataset, folds, n_scores, max_parents, seed, cure)

    # By value: an array for each fold that was done, the log-likelihoods of its rows.
    rows: dict[float, list[NDArray[np.float64]]] = {}
    weights: list[NDArray[np.float64]] = []
    with SearchControl(time_limit).running() as control:
        for fold in counted("fold", range(division.n), division.n):
            # Networks of all values are learned without the fold, and judged by its rows.
            training = division.part(dataset, division.fold != fold)
            held_out = division.part(dataset, division.fold == fold)
            judged = _log_likelihoods(
                training, held_out, objectives, max_parents, counts, seed, control
            )
            logs = dict(judged)
            if weights and control.is_over:
                break  # a later fold counts only if it ended in time
            rows = {value: [*rows.get(value, ()), logs[value]] for value in logs}
            weights.append(held_out.row_weights)
            if control.is_over:
                break
    if len(rows) < min(2, len(objectives)):
        return kind(kind.default, {}, 0, max_parents)
    return _simplest_good(kind, rows, weights, max_parents, cure)


def _affordable_parents(n_variables: int, max_parents: int | None) -> int:
    """Return the largest number of parents for which :data:`MAX_FAMILIES` suffice, at least one."""
    limit = 3 if max_parents is None else max_parents
    sizes = range(max(0, min(limit, n_variables - 1)) + 1)
    return max(
        size
        for size in sizes
        if size <= 1 or n_families(n_variables, size) <= MAX_FAMILIES
    )


def _division(
    dataset: Dataset,
    folds: int | None,
    n_scores: int,
    max_parents: int,
    seed: int,
    cure: str,
) -> Folds:
    """Return the division of the rows; :data:`MAX_TOTAL_FAMILIES` limits the number of folds."""
    default = FOLDS if dataset.is_complete else INCOMPLETE_FOLDS
    families = n_scores * n_families(dataset.n_variables, max_parents)
    affordable = MAX_TOTAL_FAMILIES // families
    n_folds = min(folds or default, max(MIN_FOLDS, affordable))
    return divided(dataset.row_weights, n_folds, seed, cure)


def _simplest_good(
    kind: type[Choice],
    rows: Mapping[float, list[NDArray[np.float64]]],
    weights: list[NDArray[np.float64]],
    max_parents: int,
    cure: str,
) -> Choice:
    """Return the simplest value within one standard error of the best.

    Parameters
    ----------
    kind
        The class of the choice.
    rows
        For each value, the log-likelihoods of the rows of each fold, shape (rows of the fold,).
    weights
        The weights of the rows of each fold.
    max_parents
        Largest number of parents of the networks.
    cure
        How the choice is avoided, in words.
    """
    tried = sorted(rows, reverse=kind.simplest == "largest")
    weight = np.concatenate(weights)
    logs = np.array([np.concatenate(rows[value]) for value in tried]).round(
        LOG_LIKELIHOOD_DECIMALS
    )
    means = logs @ weight / weight.sum()
    judged = np.isfinite(means)
    if not judged.any():
        raise TooLargeError(
            "inference is too large in the networks that are judged where cells are missing: "
            f"{cure}"
        )
    # The rule of one standard error (Breiman et al. 1984, 3.4.3).
    simplest = np.flatnonzero(judged)[as_good_as_best(logs[judged], weight).argmax()]
    log_likelihood = dict(
        zip(tried, means.round(LOG_LIKELIHOOD_DECIMALS).tolist(), strict=True)
    )
    return kind(tried[simplest], log_likelihood, len(weights), max_parents)


def choose_within_share(
    kind: type[Choice],
    dataset: Dataset,
    objectives: Mapping[float, Objective],
    *,
    time_limit: float | None,
    **options: Any,
) -> Choice:
    """Return a choice that is made within a part of the time limit.

    Parameters
    ----------
    kind, dataset, objectives, options
        As for :func:`choose`.
    time_limit
        Seconds for the choice and for what is learned with it; the choice may take
        :data:`CHOICE_SHARE` of them.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, unless an enclosing search handles it and ends with its best result so far.
    """
    if time_limit is not None:
        time_limit *= CHOICE_SHARE
    with SearchControl().running() as control:
        LOG.info("choosing the %s", kind.quantity)
        choice = choose(kind, dataset, objectives, time_limit=time_limit, **options)
    # An interrupt ends the command, not only the choice, unless a search around it
    # takes note.
    if control.is_stopped and not is_interrupted():
        raise KeyboardInterrupt
    return choice


def _log_likelihoods(
    training: Dataset,
    held_out: Dataset,
    objectives: Mapping[float, Objective],
    max_parents: int,
    method: Counts,
    seed: int,
    control: SearchControl,
) -> Iterator[tuple[float, NDArray[np.float64]]]:
    """Yield each value that is tried in time, with the log-likelihood of each row held out."""
    # Counts of the families with missing cells, without the rows that are held out.
    counts: DeletionCounts | ExpectedCounts | None = None
    if not training.is_complete and method != "expected":
        counts = DeletionCounts(method)
    elif not training.is_complete:
        learned = learned_counts(
            training,
            max_parents=max_parents,
            seed=seed,
            time_limit=control.remaining,
        )
        counts = learned.counts
        if not counts.finished:
            return
    # By default an ess of 1, 4, 16, 64, then .25: values below one are chosen least often, so they
    # come last, where the time may be over.
    scored = None
    for value in sorted(objectives, key=lambda value: (value < 1, value)):
        score, prior = objectives[value]
        if score is not scored:
            scored = score
            problem = candidate_parent_sets(
                training,
                score,
                max_parents=max_parents,
                counts=counts,
                control=control,
            )
        parents, _ = heuristic_network(
            with_prior(problem, prior),
            None,
            seed=seed,
            control=control,
            **SEARCH_LENGTH,
        )
        network, _ = fitted_network(
            training,
            parents,
            smoothing=SMOOTHING,
            counts=method,
            time_limit=control.remaining,
        )
        try:
            log_likelihoods = network.log_likelihood_rows(held_out)
        except TooLargeError:
            log_likelihoods = np.full(held_out.n_rows, -inf)
        if control.is_over:
            return
        yield value, log_likelihoods
