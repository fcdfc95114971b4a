r"""The equivalent sample size of BDeu by cross-validation.

The network of the highest BDeu score depends on the equivalent sample size (ess): a larger one
means more arcs. No value is best for all tables (Silander, Kontkanen and Myllymaki 2007, "On
sensitivity of the MAP Bayesian network structure to the equivalent sample size parameter"), and the
evidence, the score itself maximised over the ess, is a worse guide than held-out rows
(docs/equivalent-sample-size.md). So the rows are divided into folds at random; for each value, a
network is learned without the rows of each fold, and judged by the log-likelihood of the observed
cells of these rows, with the parameters that `fit` estimates by default. The smallest value is
chosen whose mean log-likelihood is within one standard error of the best one's, by the differences
row by row (Breiman et al. 1984, "Classification and Regression Trees", section 3.4.3).

The networks are those that a short search over orders finds. Where cells are missing, it maximises
the score of the counts that :func:`~exactlearn.structure.learning.learn` uses: expected ones, under
a network that structural EM learns without the rows of the fold, or those of a deletion estimator.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.argument_kinds import all_of, one_of
from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import LOG, SearchControl, is_interrupted
from exactlearn._runtime.display import Displayed
from exactlearn._runtime.files import strict
from exactlearn._runtime.number_arguments import POSITIVE
from exactlearn._runtime.progress import counted
from exactlearn.bayesnet.complete_data import SMOOTHING
from exactlearn.bayesnet.smoothing_choice import Folds, as_good_as_best, divided
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import OptionError, TooLargeError, as_written
from exactlearn.scoring.candidates import candidate_parent_sets, n_families
from exactlearn.scoring.deletion_counts import COUNTS_METHODS, DeletionCounts
from exactlearn.scoring.expected_counts import ExpectedCounts
from exactlearn.scoring.scores import BDeu, ScoreLike, as_score, parse_score
from exactlearn.solvers.ordering import heuristic_network
from exactlearn.structure.learned_counts import learned_counts
from exactlearn.structure.selection import Counts, Scoring, fitted_network

CHOICE_SHARE = 0.3
"""Proportion of the time limit of all learning that the choice may take."""


ESS_VALUES = (0.25, 1.0, 4.0, 16.0, 64.0)
"""Equivalent sample sizes that are tried by default."""

FOLDS = 10
"""Folds of a complete table by default."""

INCOMPLETE_FOLDS = 5
"""Folds of an incomplete table by default: structural EM learns a network without each."""

MIN_FOLDS = 3
"""Folds that :data:`MAX_TOTAL_FAMILIES` leaves at least."""

MAX_TOTAL_FAMILIES = 3_000_000
"""Families to score for each value, all folds together; where there are more, there are fewer
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
class ESSChoice(Displayed, shown="reason"):
    """The smallest equivalent sample size whose networks predict held-out rows as well as any.

    Parameters
    ----------
    ess
        The equivalent sample size: the smallest value within one standard error of the best.
    log_likelihood
        For each value tried, in increasing order: the mean log-likelihood (natural logarithm) of
        the observed cells of a held-out row, under the network learned without the row's fold.
        Minus infinity where cells are missing and inference in a network is too large to judge it.
    folds
        Folds on which these values were tried before the time limit or an interrupt. 0 where there
        was no time to judge two values, or the only one; ``ess`` is the default then.
    max_parents
        Largest number of parents of the networks.

    Examples
    --------
    >>> import exactlearn as el
    >>> choice = ESSChoice(4.0, {1.0: -2.31, 4.0: -2.25, 16.0: -2.24}, folds=10, max_parents=3)
    >>> choice.best, choice.to_dict()["value"]
    (16.0, 4.0)
    >>> print(choice.reason)
    equivalent sample size 4: the smallest of 1, 4, 16 whose networks predict held-out rows within
    one standard error of the best, 16
    """

    ess: float
    log_likelihood: Mapping[float, float]
    folds: int
    max_parents: int

    @property
    def best(self) -> float:
        """The value of the largest mean log-likelihood, the smallest of equal ones."""
        return max(
            self.log_likelihood, key=self.log_likelihood.__getitem__, default=self.ess
        )

    @property
    def reason(self) -> str:
        """Why this value, in one sentence."""
        # Without a fold there was no choice: the default, and what would allow one.
        if not self.folds:
            return (
                f"equivalent sample size {self.ess:g}, the default, as the time was too short to "
                "judge the values; an equal call may have the time and choose another: give more "
                f"time, or a number ({as_written('ess', 1)})"
            )
        tried = ", ".join(f"{value:g}" for value in self.log_likelihood)
        return (
            f"equivalent sample size {self.ess:g}: the smallest of {tried} whose networks predict "
            f"held-out rows within one standard error of the best, {self.best:g}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the choice for a record."""
        tried = {f"{value:g}": mean for value, mean in self.log_likelihood.items()}
        return {
            "value": self.ess,
            "reason": self.reason,
            "held_out_log_likelihood_per_row": strict(tried),
            "folds": self.folds,
            "max_parents": self.max_parents,
        }


@checked_arguments(
    counts=one_of(("expected", *COUNTS_METHODS)), values=all_of(POSITIVE)
)
def choose_ess(
    dataset: DatasetLike,
    *,
    max_parents: int | None = 3,
    counts: Counts = "expected",
    seed: int = 0,
    time_limit: float | None = None,
    values: Sequence[float] = ESS_VALUES,
    folds: int | None = None,
) -> ESSChoice:
    """Return the smallest equivalent sample size whose networks predict held-out rows well.

    That is the smallest value whose mean log-likelihood of held-out rows is within one standard
    error of the best; the default where the time is too short to compare values.

    Parameters
    ----------
    dataset
        Table with or without missing cells; rows count by their weights.
    max_parents
        Largest number of parents of the networks; where there are many variables, they have fewer.
        ``None`` (no limit) counts as 3 here.
    counts
        Where cells are missing, what networks are learned from: ``expected``, or the name of a
        deletion estimator, as ``missing`` of :func:`~exactlearn.structure.learning.learn`.
    seed
        Of the division into folds, the searches, and the expected counts.
    time_limit
        Seconds; when they are over, the finished folds count, or in the first fold the values that
        were tried.
    values
        Equivalent sample sizes to try; equal ones count once.
    folds
        Parts that the rows are divided into, by default 10, or 5 where cells are missing; where
        there are many variables, fewer, down to 3.

    Raises
    ------
    DataError
        If there are fewer than two rows.
    OptionError
        If there are fewer than two folds, or no values.
    TooLargeError
        If cells are missing, and inference is too large under all values.

    Examples
    --------
    >>> copies = np.repeat(np.random.default_rng(1).integers(0, 2, (200, 1)), 3, axis=1)
    >>> data = Dataset(copies, ("a", "b", "c"), (("no", "yes"),) * 3)
    >>> choice = choose_ess(data, values=(1.0, 4.0))
    >>> choice.ess, choice.folds
    (1.0, 10)
    """
    if not values:
        raise OptionError(
            "values: expected at least one equivalent sample size, found none"
        )
    values = tuple(dict.fromkeys(values))
    # A sample of large tables, and few parents of many variables, keep the choice short.
    dataset = dataset.drawn(MAX_ROWS, np.random.default_rng(seed))
    max_parents = _affordable_parents(dataset.n_variables, max_parents)
    division = _division(dataset, folds, max_parents, seed)

    # By value: an array for each fold that was done, the log-likelihoods of its rows.
    rows: dict[float, list[NDArray[np.float64]]] = {}
    weights: list[NDArray[np.float64]] = []
    with SearchControl(time_limit).running() as control:
        for fold in counted("fold", range(division.n), division.n):
            # Networks of all values are learned without the fold, and judged by its rows.
            training = division.part(dataset, division.fold != fold)
            held_out = division.part(dataset, division.fold == fold)
            judged = _log_likelihoods(
                training, held_out, values, max_parents, counts, seed, control
            )
            logs = dict(judged)
            if weights and control.is_over:
                break  # a later fold counts only if it ended in time
            rows = {value: [*rows.get(value, ()), logs[value]] for value in logs}
            weights.append(held_out.row_weights)
            if control.is_over:
                break
    if len(rows) < min(2, len(values)):
        return ESSChoice(BDeu.ess, {}, 0, max_parents)
    return _smallest_good(rows, weights, max_parents)


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
    dataset: Dataset, folds: int | None, max_parents: int, seed: int
) -> Folds:
    """Return the division of the rows; :data:`MAX_TOTAL_FAMILIES` limits the number of folds."""
    default = FOLDS if dataset.is_complete else INCOMPLETE_FOLDS
    affordable = MAX_TOTAL_FAMILIES // n_families(dataset.n_variables, max_parents)
    n_folds = min(folds or default, max(MIN_FOLDS, affordable))
    cure = f"give the equivalent sample size as a number ({as_written('ess', 1)})"
    return divided(dataset.row_weights, n_folds, seed, cure)


def _smallest_good(
    rows: dict[float, list[NDArray[np.float64]]],
    weights: list[NDArray[np.float64]],
    max_parents: int,
) -> ESSChoice:
    """Return the smallest value within one standard error of the best.

    Parameters
    ----------
    rows
        For each value, the log-likelihoods of the rows of each fold, shape (rows of the fold,).
    weights
        The weights of the rows of each fold.
    max_parents
        Largest number of parents of the networks.
    """
    tried = sorted(rows)
    weight = np.concatenate(weights)
    logs = np.array([np.concatenate(rows[value]) for value in tried]).round(
        LOG_LIKELIHOOD_DECIMALS
    )
    means = logs @ weight / weight.sum()
    judged = np.isfinite(means)
    if not judged.any():
        raise TooLargeError(
            "inference is too large in the networks by which the equivalent sample size is chosen "
            f"where cells are missing: give it as a number ({as_written('ess', 1)})"
        )
    # The rule of one standard error (Breiman et al. 1984, 3.4.3).
    smallest = np.flatnonzero(judged)[as_good_as_best(logs[judged], weight).argmax()]
    log_likelihood = dict(
        zip(tried, means.round(LOG_LIKELIHOOD_DECIMALS).tolist(), strict=True)
    )
    return ESSChoice(tried[smallest], log_likelihood, len(weights), max_parents)


def auto_ess(
    dataset: Dataset,
    *,
    score: str,
    max_parents: int | None,
    counts: Counts = "expected",
    seed: int,
    time_limit: float | None,
) -> ESSChoice:
    """Return the choice that ``ess="auto"`` stands for, made within a part of the time limit.

    Parameters
    ----------
    dataset
        The table that is learned from.
    score
        Name of the score.
    max_parents, counts, seed
        As for :func:`choose_ess`.
    time_limit
        Seconds for the choice and for what is learned with it; the choice may take
        :data:`CHOICE_SHARE` of them.

    Raises
    ------
    OptionError
        When the score has no equivalent sample size.
    KeyboardInterrupt
        After Ctrl-C, unless an enclosing search handles it and ends with its best result so far.
    """
    if score != BDeu.name:
        raise OptionError(
            f"{as_written('ess', 'auto')} is for {as_written('score', 'bdeu')}, found "
            f"{score!r}; leave one of the two out"
        )
    with SearchControl().running() as control:
        LOG.info("choosing the equivalent sample size")
        choice = choose_ess(
            dataset,
            max_parents=max_parents,
            counts=counts,
            seed=seed,
            time_limit=None if time_limit is None else CHOICE_SHARE * time_limit,
        )
    # An interrupt ends the command, not only the choice, unless a search around it
    # takes note.
    if control.is_stopped and not is_interrupted():
        raise KeyboardInterrupt
    return choice


def with_score(
    scoring: Scoring,
    score: ScoreLike,
    *,
    ess: float | Literal["auto"] = BDeu.ess,
    size_weight: float | None = None,
    time_limit: float | None = None,
) -> tuple[Scoring, ESSChoice | None]:
    """Return the scoring with a score, and the choice of its equivalent sample size.

    Parameters
    ----------
    scoring
        The table, its counts and limits; its score is replaced.
    score
        A score, or the name of one.
    ess, size_weight
        Of a name, as for :func:`~exactlearn.scoring.scores.parse_score`; with ``ess="auto"`` the
        equivalent sample size is chosen by :func:`auto_ess`.
    time_limit
        As for :func:`auto_ess`.

    Returns
    -------
    scoring
        With the score.
    choice
        ``None`` where ``ess`` is a number.

    Raises
    ------
    OptionError
        When an equivalent sample size is given beside a score that is no name.
    """
    if not isinstance(score, str):
        if ess != BDeu.ess:
            raise OptionError(
                f"ess: the score {score!r} was given as such; pass score='bdeu', or leave ess out"
            )
        return replace(scoring, score=as_score(score)), None
    # The sample size is chosen first: a score is frozen with it.
    choice = None
    if ess == "auto":
        choice = auto_ess(
            scoring.dataset,
            score=score,
            max_parents=scoring.max_parents,
            counts=scoring.counts or "expected",
            seed=scoring.seed,
            time_limit=time_limit,
        )
        ess = choice.ess
    named = parse_score(score, ess=ess, size_weight=size_weight)
    return replace(scoring, score=named), choice


def _log_likelihoods(
    training: Dataset,
    held_out: Dataset,
    values: Sequence[float],
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
    # By default 1, 4, 16, 64, then .25: values below one are chosen least often, so they come last,
    # where the time may be over.
    for value in sorted(values, key=lambda value: (value < 1, value)):
        problem = candidate_parent_sets(
            training,
            BDeu(value),
            max_parents=max_parents,
            counts=counts,
            control=control,
        )
        parents, _ = heuristic_network(
            problem, None, seed=seed, control=control, **SEARCH_LENGTH
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
