r"""Candidate parent sets of incomplete data, from family counts that deletion estimates.

A family Y counts :math:`N \hat P(Y)`, with N the weight of all rows and :math:`\hat P(Y)` by one
of the estimators of :mod:`exactlearn.bayesnet.deletion`: all families describe the same number of
rows, so that their scores can be compared. Van den Broeck et al. name this use in their section 5.

Families with missing cells are estimated from other rows than their parts. The maximal
log-likelihoods of a family, per row, differ by :math:`O(1 / \sqrt N)` from one set of rows to
another, where a needless parent of complete data gains :math:`O(1 / N)` only. The penalty of BIC,
or the prior of BDeu, does not make up for it (Balov 2013, "Consistent model selection of discrete
Bayesian networks from incomplete data"; Bodewes and Scutari 2021, "Learning Bayesian networks
from incomplete data with the node-average likelihood": the penalty must grow faster than
:math:`\sqrt N`). A family that rows of weight m observe therefore loses, for each parent,

.. math:: s \sqrt{N (N - m) / m} ,

about :math:`s` standard errors of what its log-likelihood gains by the choice of the rows, if the
logarithm of a probability has standard deviation one. Families without missing cells lose nothing.

``node-average`` is the criterion of the two papers themselves: each family's mean log-likelihood in
the rows that observe it (counts as for ``d-mcar``), less :math:`\lambda_N` for each free parameter,
complete data or not; it is consistent under MCAR when :math:`\lambda_N` falls to zero slower than
:math:`N^{-1/2}`. Here :math:`\lambda_N = N^{-a}`, with a at most 1/2, beside what the score itself
takes for parameters.

Counts of a part of a family are not sums of the family's counts, so that no bound on a superset
holds: all families are scored, and dominated ones are dropped afterwards. A family that no row
supports is no candidate.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.argument_kinds import one_of, refusal
from exactlearn._runtime.arguments import check_fields
from exactlearn._runtime.number_arguments import NUMBERS, POSITIVE
from exactlearn.bayesnet.deletion import DeletionMethod, FamilyEstimator
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError
from exactlearn.scoring.candidate_enumeration import (
    Joined,
    Level,
    Scored,
    required_parents,
)
from exactlearn.scoring.expected_counts import ExpectedCounts
from exactlearn.scoring.scores import Score, family_score, total_weight
from exactlearn.solvers.problem import Arc

CountsMethod = Literal[
    "d-mcar", "f-mcar", "d-mar", "f-mar", "id-mar", "if-mar", "node-average"
]
COUNTS_METHODS: tuple[CountsMethod, ...] = get_args(CountsMethod)


@dataclass(frozen=True)
class DeletionCounts:
    """The estimator of the counts of families with missing cells.

    Parameters
    ----------
    method
        The estimator, as in :func:`~exactlearn.bayesnet.deletion.fit_deletion`, or
        ``node-average``.
    standard_errors
        What each parent costs in families with missing cells, s above; at least zero. Not for
        ``node-average``.
    exponent
        For ``node-average``, a above; above zero.

    Raises
    ------
    OptionError
        When there is no such estimator, or the number is negative or not finite.
    """

    method: CountsMethod = "f-mar"
    standard_errors: float = 1.0
    exponent: float = 0.49

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        check_fields(
            self,
            method=one_of(COUNTS_METHODS),
            exponent=POSITIVE,
            standard_errors=NUMBERS["tolerance"],
        )

    @property
    def estimator(self) -> DeletionMethod:
        """The estimator of counts, which for ``node-average`` counts the rows with a family."""
        return "d-mcar" if self.method == "node-average" else self.method


def as_counts(value: Any, name: str = "counts") -> Any:
    """Return an estimator of counts, also by its name.

    Raises
    ------
    OptionError
        When there is no such estimator.
    ArgumentError
        When it is neither.
    """
    if value is None or isinstance(value, DeletionCounts | ExpectedCounts):
        return value
    if isinstance(value, str):
        return DeletionCounts(cast(CountsMethod, value))
    raise refusal(name, "a name or DeletionCounts", value, "pass 'f-mar', say")


class DeletionScorer:
    """Scores families whose counts deletion estimates, each by itself.

    Parameters
    ----------
    dataset, score, counts
        The table, the score, and how counts are estimated.
    required
        Arcs that every network must have.
    """

    block = 64
    """Sets of variables that are scored between two looks at the clock."""

    def __init__(
        self,
        dataset: Dataset,
        score: Score,
        counts: DeletionCounts,
        required: frozenset[Arc],
    ) -> None:
        self.dataset = dataset
        self.score_of = score
        self.counts = counts
        self.order = np.arange(dataset.n_variables, dtype=np.int32)
        variables = range(dataset.n_variables)
        self.smallest = [{v, *required_parents(v, required)} for v in variables]
        self.estimate = FamilyEstimator(dataset, counts.estimator).estimate
        self.total = total_weight(dataset)
        self.of_empty_set = np.zeros(0)
        self.exhausted = True

    def space(self, size: int) -> None:
        """Return nothing: families are scored one by one."""

    def score(
        self,
        joined: Joined,
        level: Level,
        is_scored: NDArray[np.bool_],
        space: None,
    ) -> Scored:
        """Score the families ``is_scored``; those that no row supports have no score.

        Raises
        ------
        DataError
            When no row supports the smallest allowed family of a variable.
        """
        scores = np.full(is_scored.shape, np.nan)
        n = len(is_scored)
        for row in np.flatnonzero(is_scored.any(axis=1)).tolist():
            places = np.flatnonzero(is_scored[row])
            members = tuple(joined.sets[row].tolist())
            children = joined.sets[row, places].tolist()
            family_scores = self._family_scores(members, children)
            if family_scores:
                scores[row, places] = family_scores
                continue
            # Without support a family has no score, which a required one must have.
            self.exhausted = False
            for child in children:
                if self.smallest[child] == {*members}:
                    raise self._unsupported_error(child, members)
        # Counts of different rows bound no supersets.
        return Scored(
            scores=scores,
            ceilings=np.full(scores.shape, np.inf),
            sums=np.empty((n, 0)),
            cells=np.empty(n),
            entropy=np.empty(n),
        )

    def family(self, child: int, parents: Sequence[int]) -> float:
        """Return the score of one family.

        Raises
        ------
        DataError
            When no row supports it.
        """
        members = tuple(sorted((child, *parents)))
        scores = self._family_scores(members, [child])
        if not scores:
            raise self._unsupported_error(child, members)
        return scores[0]

    def _family_scores(
        self,
        members: tuple[int, ...],
        children: Sequence[int],
    ) -> list[float]:
        """Return the scores of some variables given the other members; none without any row."""
        counts, estimate = self.estimate(members[-1], members[:-1])
        weight = float(counts.sum())
        if not (weight > 0 and estimate.observed > 0):
            return []
        # All families describe the same number of rows.
        counts = counts * (self.total / weight)
        scores = []
        for child in children:
            # Configurations of the others by the states of the child.
            table = np.moveaxis(counts, members.index(child), -1)
            table = table.reshape(-1, table.shape[-1])
            loss = self._loss(table, len(members) - 1, estimate.observed)
            score = family_score(table, len(table), self.score_of, self.total)
            scores.append(score - loss)
        return scores

    def _loss(
        self,
        table: NDArray[np.float64],
        n_parents: int,
        observed: float,
    ) -> float:
        """Return the loss of a family for the weight of the rows that observe it."""
        if self.counts.method == "node-average":
            size = table.shape[0] * (table.shape[1] - 1)
            return float(size * self.total ** (1 - self.counts.exponent))
        # The fewer rows observe the family, the larger is its standard error.
        unobserved = self.total - observed
        variance = max(0.0, self.total * unobserved / observed)
        loss_per_parent = self.counts.standard_errors * math.sqrt(variance)
        return n_parents * loss_per_parent

    def _unsupported_error(self, child: int, members: Sequence[int]) -> DataError:
        names = self.dataset.names
        parents = [repr(names[p]) for p in members if p != child]
        given = f" together with {', '.join(parents)}" if parents else ""
        return DataError(
            f"no row observes {names[child]!r}{given}: such a family cannot be scored; "
            + ("require fewer arcs" if parents else "drop the column")
        )
