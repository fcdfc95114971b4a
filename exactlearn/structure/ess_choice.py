r"""The equivalent sample size of BDeu by cross-validation.

The network of the highest BDeu score depends on the equivalent sample size (ess): a larger one
means more arcs. No value is best for all tables (Silander, Kontkanen and Myllymaki 2007, "On
sensitivity of the MAP Bayesian network structure to the equivalent sample size parameter"), and the
evidence, the score itself maximised over the ess, is a worse guide than held-out rows
(docs/equivalent-sample-size.md). So the smallest value is chosen whose networks predict held-out
rows as well as any (:mod:`exactlearn.structure.held_out_choice`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from exactlearn._runtime.argument_kinds import all_of, one_of
from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.number_arguments import POSITIVE
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import OptionError, as_written
from exactlearn.scoring.deletion_counts import COUNTS_METHODS
from exactlearn.scoring.scores import BDeu, ScoreLike, as_score, parse_score
from exactlearn.structure.held_out_choice import (
    HeldOutChoice,
    Objective,
    choose,
    choose_within_share,
)
from exactlearn.structure.selection import Counts, Scoring

ESS_VALUES = (0.25, 1.0, 4.0, 16.0, 64.0)
"""Equivalent sample sizes that are tried by default."""


@dataclass(frozen=True, repr=False)
class ESSChoice(HeldOutChoice):
    """The smallest equivalent sample size whose networks predict held-out rows as well as any.

    Parameters
    ----------
    value
        The equivalent sample size: the smallest value within one standard error of the best.
    log_likelihood
        For each value tried, in increasing order: the mean log-likelihood (natural logarithm) of
        the observed cells of a held-out row, under the network learned without the row's fold.
        Minus infinity where cells are missing and inference in a network is too large to judge it.
    folds
        Folds on which these values were tried before the time limit or an interrupt. 0 where there
        was no time to judge two values, or the only one; ``value`` is the default then.
    max_parents
        Largest number of parents of the networks.

    Examples
    --------
    >>> import exactlearn as el
    >>> choice = ESSChoice(4.0, {1.0: -2.31, 4.0: -2.25, 16.0: -2.24}, folds=10, max_parents=3)
    >>> choice.best, choice.ess, choice.to_dict()["value"]
    (16.0, 4.0, 4.0)
    >>> print(choice.reason)
    equivalent sample size 4: the smallest of 1, 4, 16 whose networks predict held-out rows within
    one standard error of the best, 16
    """

    quantity = "equivalent sample size"
    default = BDeu.ess
    argument = "ess"

    @property
    def ess(self) -> float:
        """The equivalent sample size."""
        return self.value


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
    >>> import numpy as np
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
    return choose(
        ESSChoice,
        dataset,
        _objectives(values),
        max_parents=max_parents,
        counts=counts,
        seed=seed,
        time_limit=time_limit,
        folds=folds,
    )


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
    return choose_within_share(
        ESSChoice,
        dataset,
        _objectives(ESS_VALUES),
        max_parents=max_parents,
        counts=counts,
        seed=seed,
        time_limit=time_limit,
    )


def _objectives(values: Sequence[float]) -> dict[float, Objective]:
    """Return the score and the prior that networks of each equivalent sample size maximise."""
    return {value: (BDeu(value), "uniform") for value in values}


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
