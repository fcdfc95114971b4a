r"""Scores of families by their local models: a table, or a log-linear distribution.

A table of conditional probabilities has a parameter for each configuration of the parents; a
log-linear distribution (:mod:`exactlearn.bayesnet.log_linear`) one for each state of each parent.
Both have scores on one scale (Friedman and Goldszmidt 1996, "Learning Bayesian networks with local
structure"):

- with BDeu a log-linear family has the logarithm of its evidence, as tables have of theirs;
- with BIC, AIC and penalised likelihood it has its log-likelihood, less the penalty of its own
  number of free parameters.

Where many parents are allowed, many sets of them are tried, and the best of many looks better than
it is. So every family also has the prior probability of its parent set, uniform over the sizes and
over the sets of one size: of k among n - 1 variables, :math:`-\log \binom{n - 1}{k}` (Friedman and
Koller 2003, "Being Bayesian about network structure"; with BIC it is the extended BIC of Chen and
Chen 2008).

The candidates are those of tables and what is found for each variable by itself: each parent, the
pairs of the best ones, and all sets on the way when parents are added or taken away one by one as
long as the score rises. Sets that this search passes by are missing, so an optimum is one over the
candidates.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from math import inf, lgamma, prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import (
    ArcsLike,
    ByName,
    ParentsLike,
    VariableLike,
    VariablesLike,
    checked_arguments,
)
from exactlearn._runtime.arguments import family as as_family
from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.display import Displayed
from exactlearn._runtime.row_table import group_rows
from exactlearn.bayesnet.complete_data import SMOOTHING, checked_families, full_counts, smoothed
from exactlearn.bayesnet.log_linear import LogLinear, fit_log_linear
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.counts import n_configurations, require_complete, total_weight, weight_by
from exactlearn.data.dataset import DatasetLike
from exactlearn.errors import OptionError
from exactlearn.scoring.expected_counts import ExpectedCounts
from exactlearn.scoring.scores import (
    AIC,
    BIC,
    BDeu,
    PenalisedLikelihood,
    ScoreLike,
    family_score,
)
from exactlearn.solvers.problem import Problem

Floats = NDArray[np.float64]
ParentSet = tuple[int, ...]

LocalModel = Literal["log-linear", "best"]
"""Which local models families may have: log-linear ones, or whichever has the better score."""


@dataclass(frozen=True)
class LocalModelParameters:
    """Constants of the search for the parents of log-linear families.

    Parameters
    ----------
    pairs
        Parents, the best ones alone, of which all pairs are scored.
    promising
        Parents, the best ones alone, that may be added.
    weights
        Most weights of a log-linear distribution, whose square is the memory it takes.
    table
        Most entries of the table that a log-linear family becomes.
    """

    pairs: int = 10
    promising: int = 20
    weights: int = 2**10
    table: int = 2**16


PARAMETERS = LocalModelParameters()


class LocalModels(Displayed, shown="score models"):
    """Scores and parameters of families by their local models, tables or log-linear.

    Parameters
    ----------
    dataset
        Complete data, but for ``counts``; rows count by their weights.
    score
        BDeu, BIC, AIC or penalised likelihood.
    models
        Which local models families may have.
    table_parents
        Most parents of a table; ``None`` for no limit.
    log_linear_parents
        Most parents of a log-linear family.
    counts
        The expected counts of a table with missing cells; no family has more parents than these.
    parameters
        Constants of the search.

    Raises
    ------
    DataError
        When a cell is missing without expected counts.
    OptionError
        When log-linear families have no such score.

    Examples
    --------
    >>> rows = np.array([[0, 0], [1, 1], [0, 0], [1, 1]] * 5, np.int8)
    >>> from exactlearn.data.dataset import Dataset
    >>> data = Dataset(rows, ("a", "b"), (("n", "y"), ("n", "y")))
    >>> models = LocalModels(data, BDeu())
    >>> [parents for parents, _ in models.problem().candidates(0)]
    [(1,), ()]
    >>> models.fit([(), (0,)]).tables[1].round(2)
    array([[0.98, 0.02],
           [0.02, 0.98]])
    >>> models.is_log_linear(1, [0]), round(models.family(1, [0]), 3)
    (False, -2.577)
    """

    @checked_arguments()
    @checked_arguments()
    def __init__(
        self,
        dataset: DatasetLike,
        score: ScoreLike,
        models: LocalModel = "best",
        *,
        table_parents: int | None = 3,
        log_linear_parents: int = 8,
        counts: ExpectedCounts | None = None,
        parameters: LocalModelParameters = PARAMETERS,
    ) -> None:
        if counts is None:
            require_complete(
                dataset,
                "log-linear families need",
                "fill them, or give the counts that `learned_counts` expects",
            )
        if not isinstance(score, BDeu | BIC | AIC | PenalisedLikelihood):
            raise OptionError(
                f"log-linear families have no score {score.name!r}; expected bdeu, bic, aic or "
                "penalised: choose one of these, or tables alone"
            )
        self.dataset, self.score, self.models = dataset, score, models
        self.table_parents = inf if table_parents is None else table_parents
        self.log_linear_parents = log_linear_parents
        if counts is not None:
            self.log_linear_parents = min(log_linear_parents, counts.most - 1)
        self.counts = counts
        self.parameters = parameters
        self._codes = np.ascontiguousarray(dataset.codes, np.int32)
        self._rows = total_weight(dataset)
        used = self._codes[dataset.row_weights > 0].T
        self._varies = np.array([len(np.unique(column[column >= 0])) > 1 for column in used])
        self._scores: dict[tuple[int, tuple[int, ...]], tuple[float, float]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables.

        Examples
        --------
        >>> import exactlearn as el
        >>> el.LocalModels(el.read_dataset("cancer-mcar-complete"), "bic").names[:2]
        ('Pollution', 'Smoker')
        """
        return self.dataset.names

    @checked_arguments(parents=ByName(as_family))
    def family(self, child: VariableLike, parents: VariablesLike) -> float:
        """Return the score of a family with the better of its local models.

        Parameters
        ----------
        child, parents
            Variable indices.
        """
        return max(self._both(child, parents))

    @checked_arguments(parents=ByName(as_family))
    def is_log_linear(self, child: VariableLike, parents: VariablesLike) -> bool:
        """Return whether the log-linear distribution of a family is better than its table."""
        table, log_linear = self._both(child, parents)
        return log_linear > table

    @checked_arguments()
    def problem(
        self,
        tables: Problem | None = None,
        *,
        prune: bool = True,
        required: ArcsLike = (),
        forbidden: ArcsLike = (),
        time_limit: float | None = None,
        control: SearchControl = UNLIMITED,
    ) -> Problem:
        """Return candidate parent sets with the scores of the better local models.

        Parameters
        ----------
        tables
            Candidates by their tables, which are among those returned unless dominated.
        prune
            Whether to drop the sets that score no better than a subset.
        required, forbidden
            Arcs (parent, child) that every, or no, set that is added has.
        time_limit
            Seconds after which the search stops; what is left out then stands in ``stopped``.
        control
            Its search's end stops this one.

        Returns
        -------
        Problem
            Never ``complete``.
        """
        control = SearchControl(time_limit, outer=control)
        required, forbidden = frozenset(required), frozenset(forbidden)
        n, stopped = self.dataset.n_variables, "" if tables is None else tables.stopped
        candidates: list[Mapping[Iterable[int], float]] = []
        for child in range(n):
            least = tuple(sorted(p for p, c in required if c == child))
            ruled_out = {child, *least} | {p for p, c in forbidden if c == child}
            others = [p for p in range(n) if p not in ruled_out]
            listed = () if tables is None else (own for own, _ in tables.candidates(child))
            found = {least: self.family(child, least)}
            for parents in chain(listed, self._searched(child, least, others)):
                if control.is_over:
                    stopped = stopped or f"the families of {child} of {n} variables were searched"
                    break
                if self.models == "best" or self._both(child, parents)[1] > -inf:
                    found[parents] = max(self._both(child, parents))
            candidates.append(_sorted(_undominated(found) if prune else found))
        found_problem = Problem.from_candidates(
            self.dataset.names, candidates, required=required, forbidden=forbidden
        )
        return replace(found_problem, complete=False, stopped=stopped)

    @checked_arguments()
    def fit(self, parents: ParentsLike, *, smoothing: float = SMOOTHING) -> BayesianNetwork:
        """Estimate the better local model of each family, as a table.

        Parameters
        ----------
        parents
            Parents of each variable, by index, in the order of the table's axes.
        smoothing
            Smoothing of families that are tables.

        Raises
        ------
        OptionError, TooLargeError
            As :func:`~exactlearn.bayesnet.complete_data.fit_complete`.
        """
        data = self.dataset
        families = checked_families(data, parents, smoothing)
        tables = tuple(
            self._log_linear(child, family)[0].table(data.cardinalities[list(family)].tolist())
            if self.is_log_linear(child, family)
            else smoothed(self._full_counts(child, family), smoothing)
            for child, family in enumerate(families)
        )
        return BayesianNetwork(data.names, data.states, families, tables)

    def _searched(self, child: int, least: ParentSet, others: Sequence[int]) -> Iterator[ParentSet]:
        """Yield parent sets that log-linear families may have, on the way to the best one."""

        def value(parents: ParentSet) -> float:
            return self._both(child, parents)[1]

        def joined(parents: ParentSet, *more: int) -> ParentSet:
            return tuple(sorted((*parents, *more)))

        def possible(sets: Iterable[ParentSet]) -> list[ParentSet]:
            return [s for s in sets if len(s) <= self.log_linear_parents and value(s) > -inf]

        ranked = sorted(others, key=lambda p: -value(joined(least, p)))
        yield from possible(joined(least, p) for p in ranked)
        for pair in combinations(ranked[: self.parameters.pairs], 2):
            yield from possible([joined(least, *pair)])
        current = least
        while True:
            promising = ranked[: self.parameters.promising]
            added = (joined(current, p) for p in promising if p not in current)
            removed = (tuple(k for k in current if k != p) for p in current if p not in least)
            moves = possible(chain(added, removed))
            yield from moves
            best = max(moves, key=value, default=current)
            if value(best) <= value(current):
                return
            current = best

    def _both(self, child: int, parents: Sequence[int]) -> tuple[float, float]:
        """Return the scores of the table and of the log-linear distribution, -inf for neither."""
        key = child, tuple(sorted(parents))
        if key not in self._scores:
            self._scores[key] = self._scored(*key)
        return self._scores[key]

    def _scored(self, child: int, parents: ParentSet) -> tuple[float, float]:
        n, k = self.dataset.n_variables, len(parents)
        r, *sizes = self.dataset.cardinalities[[child, *parents]].tolist()
        table = log_linear = -inf
        is_small = (
            r * (1 + sum(sizes)) <= self.parameters.weights
            and r * prod(sizes) <= self.parameters.table
        )
        # A column of one state would only widen the prior of the other one's distribution.
        says_something = k == 0 or self._varies[[child, *parents]].all()
        if k <= self.log_linear_parents and is_small and says_something:
            found, counts = self._log_linear(child, parents)
            if isinstance(self.score, BDeu):
                log_linear = found.log_evidence
            else:
                share = 1 - getattr(self.score, "size_weight", 0.0)
                free = 1 + sum(sizes) - k
                penalty = self.score.penalty(r, free, self._rows)
                log_linear = share * found.log_likelihood - penalty
        else:
            counts = self._counted(child, parents)[0]
        if log_linear == -inf or (self.models == "best" and k <= self.table_parents):
            q = n_configurations(self.dataset, parents)
            table = family_score(counts, q, self.score, self._rows)
        prior = lgamma(k + 1) + lgamma(n - k) - lgamma(n)
        return table + prior, log_linear + prior

    def _log_linear(self, child: int, parents: Sequence[int]) -> tuple[LogLinear, Floats]:
        """Return the log-linear distribution of a family, and the counts it is fitted to."""
        counts, configurations = self._counted(child, parents)
        sizes = self.dataset.cardinalities[list(parents)].tolist()
        return fit_log_linear(counts, configurations, sizes), counts

    def _counted(self, child: int, parents: Sequence[int]) -> tuple[Floats, NDArray[np.int32]]:
        """Return counts by observed configuration and state, and the configurations."""
        if self.counts is not None:
            table = self._full_counts(child, parents)
            everything = np.array(list(np.ndindex(*table.shape[:-1])), np.int32)
            return table.reshape(-1, table.shape[-1]), everything
        r = int(self.dataset.cardinalities[child])
        states = np.ascontiguousarray(self._codes[:, list(parents)])
        labels, first = group_rows(states)
        cells = labels.astype(np.int64) * r + self._codes[:, child]
        counts = weight_by(cells, self.dataset.row_weights, len(first) * r)
        return counts.reshape(-1, r), states[first]

    def _full_counts(self, child: int, parents: Sequence[int]) -> Floats:
        """Return the counts of a family, an axis for each parent and one for the child."""
        if self.counts is None:
            return full_counts(self.dataset, child, parents)
        return np.ascontiguousarray(self.counts.family(child, parents))


def _undominated(found: Mapping[ParentSet, float]) -> dict[ParentSet, float]:
    """Return the parent sets that score better than all their subsets that were found."""
    kept: dict[ParentSet, float] = {}
    for parents in sorted(found, key=len):
        own = set(parents)
        if all(s < found[parents] or not own.issuperset(p) for p, s in kept.items()):
            kept[parents] = found[parents]
    return kept


def _sorted(found: Mapping[ParentSet, float]) -> Mapping[Iterable[int], float]:
    """Return parent sets by falling score, ties by size, then lexicographically."""
    return {own: found[own] for own in sorted(found, key=lambda own: (-found[own], len(own), own))}
