"""Learning by selection of parent sets from a table, within a limit of time.

The counts come first (where cells are missing, under a network that structural EM learns), then the
scores of the parent sets, then the choice among these; each stops in time for the next.
:func:`~exactlearn.structure.learning.learn` and ``exactlearn solve`` both work by it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.argument_kinds import refusal
from exactlearn._runtime.control import LOG, UNLIMITED, Event, OnEvent, SearchControl
from exactlearn._runtime.variable_arguments import arcs_by_index, variables_by_index
from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.deletion import fit_deletion
from exactlearn.bayesnet.em import fit_em
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError
from exactlearn.scoring.candidate_search import Budget
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.deletion_counts import CountsMethod, DeletionCounts
from exactlearn.scoring.expected_counts import ExpectedCounts
from exactlearn.scoring.prior import Prior, prefers_subsets, prior_in_words, with_prior
from exactlearn.scoring.scores import BDeu, Score
from exactlearn.solvers import Problem, Result, solve
from exactlearn.solvers.constraints import (
    Constraint,
    ForbiddenAdjacency,
    Tiers,
    constraints_by_name,
    ruled_out_arcs,
)
from exactlearn.solvers.enumeration import Enumeration, enumerate_networks
from exactlearn.solvers.problem import Arc
from exactlearn.solvers.result import Status
from exactlearn.structure.bounded_cliques import bounded_cliques
from exactlearn.structure.learned_counts import LearnedCounts, learned_counts

SCORING_SHARE = 0.8
"""Share of a time limit after which scoring is stopped, so that a network is found in the rest."""

MIN_SCORING = 1.0
"""Seconds that scoring may take whatever the time limit."""

AFTER_INTERRUPT = 0.5
"""Seconds in which a network is found after Ctrl-C has stopped the scoring."""

Counts = Literal["expected"] | CountsMethod


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A problem, and what is left of the time limit after its scoring.

    Parameters
    ----------
    problem
        Candidates and constraints; ``stopped`` where not all parent sets were scored.
    cardinalities
        Number of states of each variable; ``None`` where local scores were given.
    time_left
        Seconds for the choice among them, or ``None``.
    counts_in_words
        The counts that score, bound and proof refer to, where these are not the table's own.
    interrupted
        Whether Ctrl-C ended the scoring.
    prior_in_words
        The prior whose logarithm scores hold, or the price of size.
    learned
        The counts of families with missing cells, and the network that they are expected under.
    """

    problem: Problem
    cardinalities: NDArray[np.int64] | None = None
    time_left: float | None = None
    counts_in_words: str = ""
    interrupted: bool = False
    prior_in_words: str = ""
    learned: LearnedCounts | None = None

    @property
    def counts_network(self) -> BayesianNetwork | None:
        """The network that counts are expected under, where cells are missing."""
        return None if self.learned is None else self.learned.network

    @property
    def remarks(self) -> list[str]:
        """The counts and the prior that score, bound and proof refer to."""
        return [*filter(None, (self.counts_in_words, self.prior_in_words))]

    def judged(self, result: Result) -> Result:
        """Return the result of the problem as one of the data.

        Where not all parent sets were scored, no bound is known, and nothing is proven.
        """
        if self.problem.complete:
            return result
        # The result is of the parent sets that were scored, not of the data.
        is_interrupted = self.interrupted or result.status == "interrupted"
        status: Status = "interrupted" if is_interrupted else "feasible"
        message = "scoring_time: not all parent sets were scored; no bound is known"
        if self.problem.stopped:
            cause = "Ctrl-C" if self.interrupted else "the time limit"
            message = f"{cause} stopped the scoring: {self.problem.stopped}; no bound is known"
        if result.parents is None:
            message += "; no network of the parent sets scored was found to meet the constraints"
        return replace(result, status=status, bound=inf, message=message)


@dataclass(frozen=True, kw_only=True, eq=False)
class Scoring:
    """The scoring of a table's parent sets.

    Parameters
    ----------
    dataset, score
        The table, and the score to maximise.
    max_parents
        Largest number of parents, or ``None`` for no limit.
    required, forbidden, constraints
        Constraints that every network satisfies.
    prior
        Prior over networks, whose logarithm scores hold (:mod:`exactlearn.scoring.prior`).
    counts
        How the counts of families with missing cells are estimated; ``None`` where none is missing.
    counts_network
        The network that counts are expected under; learned when left out.
    scoring_time
        Seconds of a search best first, in place of scoring all parent sets.
    every
        Keep parent sets that are never part of a best network, for other networks than that.
    seed
        Seed of all that is random.
    cluster
        A cluster, as in :func:`candidate_parent_sets`.
    """

    dataset: Dataset
    score: Score = field(default_factory=BDeu)
    max_parents: int | None = 3
    required: frozenset[Arc] = frozenset()
    forbidden: frozenset[Arc] = frozenset()
    constraints: tuple[Constraint, ...] = ()
    prior: Prior = "uniform"
    counts: Counts | None = None
    counts_network: BayesianNetwork | None = None
    scoring_time: float | None = None
    every: bool = False
    seed: int = 0
    cluster: Any = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return self.dataset.names

    @property
    def most_parents(self) -> int:
        """Largest number of parents, as a number."""
        if self.max_parents is None:
            return max(0, self.dataset.n_variables - 1)
        return self.max_parents

    @property
    def ruled_out(self) -> frozenset[Arc]:
        """All arcs that no network may have, by one constraint."""
        return ruled_out_arcs(self.forbidden, self.constraints)

    @property
    def keywords(self) -> dict[str, Any]:
        """The score, its search and the constraints as keywords of `learn`."""
        names = ("score", "max_parents", "scoring_time", "prior", "seed")
        constraints = ("required", "forbidden", "constraints")
        return {name: getattr(self, name) for name in (*names, *constraints)}

    def within(self, time_limit: float | None) -> Scored:
        """Score within a part of a time limit, or until Ctrl-C."""
        clock = SearchControl(time_limit)
        with SearchControl().running() as control:
            limit = time_limit
            if limit is not None:
                limit = max(MIN_SCORING, SCORING_SHARE * limit)
            scored = self.scored(limit, control)
        return replace(
            scored,
            time_left=AFTER_INTERRUPT if control.is_stopped else clock.remaining,
            interrupted=control.is_stopped,
        )

    def scored(
        self, limit: float | None = None, control: SearchControl = UNLIMITED
    ) -> Scored:
        """Return the candidate parent sets.

        Parameters
        ----------
        limit, control
            The limits of the scoring, as in :func:`candidate_parent_sets`.
        """
        LOG.info("scoring the parent sets of %d variables", self.dataset.n_variables)
        clock = SearchControl(limit)
        seconds = self.scoring_time and min(self.scoring_time, clock.left)

        # Counts; where the time did not suffice for expected ones, no parent sets are scored.
        learned, counts, counts_in_words = self._estimated(limit)
        if learned is not None and not learned.counts.finished:
            problem = learned.problem(
                self.dataset,
                self.score,
                required=self.required,
                forbidden=self.ruled_out,
            )
            problem = replace(
                problem,
                complete=False,
                stopped="the parent sets are those of the network that structural EM found",
            )
        else:
            # A set that is dominated by a subset is of no use where arcs may always be taken away;
            # a conflict of several constraints is named rightly only where none chose the
            # candidates.
            is_removable = all(c.removable for c in self.constraints)
            is_single = not (self.constraints and self.required)
            prune = (
                not self.every
                and is_removable
                and is_single
                and prefers_subsets(self.prior)
            )
            problem = candidate_parent_sets(
                self.dataset,
                self.score,
                max_parents=self.max_parents,
                budget=Budget(seconds=seconds) if seconds else None,
                counts=counts,
                required=() if self.constraints else self.required,
                forbidden=self.ruled_out if prune or not self.constraints else (),
                prune=prune,
                time_limit=clock.remaining,
                control=control,
                cluster=self.cluster,
            )
        problem = replace(
            problem,
            required=self.required,
            forbidden=self.forbidden,
            constraints=self.constraints,
        )
        return Scored(
            problem=with_prior(problem, self.prior),
            cardinalities=self.dataset.cardinalities,
            prior_in_words=prior_in_words(self.prior),
            counts_in_words=counts_in_words,
            learned=learned,
        )

    def _estimated(
        self, limit: float | None
    ) -> tuple[LearnedCounts | None, DeletionCounts | ExpectedCounts | None, str]:
        """Return the counts of families with missing cells, and how they came about.

        The network of expected counts is learned without the constraints: so scores with and
        without them are of the same counts, and no constraint raises the best one.

        Returns
        -------
        learned, counts, counts_in_words
            Where expected counts come from; the counts, ``None`` where no cell is missing; and in
            words the counts that score and bound refer to.
        """
        if self.counts is None or self.dataset.is_complete:
            return None, None, ""
        # Deletion estimators need no network.
        if self.counts != "expected":
            in_words = (
                "cells are missing: score, bound and proof are those of counts by "
                f"{self.counts}"
            )
            return None, DeletionCounts(self.counts), in_words
        learned = learned_counts(
            self.dataset,
            max_parents=self.most_parents,
            network=self.counts_network,
            seed=self.seed,
            time_limit=limit,
        )
        # Bounds and proofs hold for these counts alone: the result says under which
        # network.
        network = "a network by structural EM, without the constraints"
        if self.counts_network is not None:
            network = "the network given"
        elif learned.status != "converged":
            network = (
                "a network by structural EM that was cut short, without the constraints"
            )
        in_words = (
            "cells are missing: score, bound and proof are those of expected counts, under "
            f"{network}"
        )
        return learned, learned.counts, in_words


def select(
    scored: Scored,
    *,
    best: int | None = None,
    classes: bool = False,
    on_event: OnEvent | None = None,
    certify: bool = False,
    gap: float = 0.0,
    max_clique: int | None = None,
    **options: Any,
) -> tuple[Result, Enumeration | None]:
    """Select parent sets that were scored.

    Parameters
    ----------
    scored
        The problem.
    best
        How many networks to list; all parent sets must be scored then.
    classes
        List Markov equivalence classes in place of networks.
    on_event
        Called with the events of the search.
    certify, gap
        As in :func:`exactlearn.solvers.solve`; for one network only, and a certificate only where
        all parent sets were scored: it would be about those that were.
    max_clique
        Configurations that a clique may have, as in
        :func:`~exactlearn.structure.bounded_cliques.bounded_cliques`; for a table, and for one
        network only.
    options
        Others of that function.

    Returns
    -------
    result, listed
        The best network, and the list where one is wanted.
    """
    problem = scored.problem
    if not problem.complete and on_event is not None:
        options["on_event"] = partial(_report_without_bound, on_event)
    else:
        options["on_event"] = on_event
    # One network, with small cliques or without that bound, or the list of the best ones.
    if max_clique is not None:
        assert scored.cardinalities is not None
        options |= {"gap": gap}
        small = bounded_cliques(problem, scored.cardinalities, max_clique, **options)
        return scored.judged(small), None
    if best is None:
        certify = certify and problem.complete
        result = solve(problem, certify=certify, gap=gap, **options)
        return scored.judged(result), None
    listed = enumerate_networks(problem, k=best, classes=classes, **options)
    result = scored.judged(listed.best)
    if not problem.complete:
        listed = replace(listed, best=result, status=result.status, bound=inf)
    return result, listed


def proofs_in_words(
    status: str, max_parents: int | None, max_clique: int | None = None
) -> list[str]:
    """Return the claim that a proof of optimality makes, where there is one."""
    if status != "optimal":
        return []
    limit = "any number of" if max_parents is None else f"at most {max_parents}"
    cliques = ""
    if max_clique is not None:
        cliques = f" and cliques of at most {max_clique} configurations"
    return [f"no network with {limit} parents a variable{cliques} scores more"]


def _report_without_bound(on_event: OnEvent, event: Event) -> None:
    """Report an event of a search among some of the parent sets: its bound is none of the data."""
    on_event(event._replace(bound=inf))


def tiers_by_index(groups: Any, names: Sequence[str]) -> Tiers:
    """Return the constraint of tiers, groups of variables by name or by index."""
    if isinstance(groups, str | Mapping) or not isinstance(groups, Collection):
        expected = "groups of variables in order"
        instead = "[['smoke'], ['lung', 'bronc']]"
        raise refusal("tiers", expected, groups, f"pass {instead}, say")
    return Tiers(tuple(variables_by_index(group, "tiers", names) for group in groups))


def limits_by_name(options: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the constraints among options of :func:`learn`, with their variables by name."""
    by_name = dict(options)
    # Names stay right when columns are left out; indices would shift.
    for key in {"required", "forbidden"} & options.keys():
        arcs = arcs_by_index(options[key], key, names)
        by_name[key] = [(names[parent], names[child]) for parent, child in arcs]
    if options.get("tiers"):
        groups = tiers_by_index(options["tiers"], names).groups
        by_name["tiers"] = [list(map(names.__getitem__, group)) for group in groups]
    if "constraints" in options:
        by_name["constraints"] = constraints_by_name(
            options["constraints"], "constraints", names
        )
    return by_name


def single_arcs(
    names: Sequence[str],
    required: Iterable[Arc],
    forbidden: Iterable[Arc],
    constraints: Iterable[Constraint],
) -> tuple[frozenset[Arc], frozenset[Arc]]:
    """Return the arcs that all constraints together require and forbid.

    Raises
    ------
    OptionError
        When a constraint is not on single arcs: tables are not completed under those.
    """
    # Forbidden adjacencies and tiers are sets of forbidden arcs.
    ruled_out = set(forbidden)
    for constraint in constraints:
        if not isinstance(constraint, Tiers | ForbiddenAdjacency):
            raise OptionError(
                f"'{constraint.describe(names)}' cannot be honoured while missing cells are "
                "completed; there, arcs, forbidden adjacencies and tiers can. Complete the table "
                "first (augment -o completed.csv), and solve that with the constraint"
            )
        ruled_out |= constraint.forbidden_arcs
    return frozenset(required), frozenset(ruled_out)


def fitted_network(
    dataset: Dataset,
    parents: Sequence[Sequence[int]],
    *,
    smoothing: float,
    counts: Counts | None = "expected",
    time_limit: float | None = None,
) -> tuple[BayesianNetwork, str]:
    """Return a DAG with parameters from a table, and a remark if EM was cut short.

    Parameters
    ----------
    dataset
        The table, complete or not.
    parents
        Parents of each variable, by index.
    smoothing
        Pseudo-count of each parameter.
    counts
        The counts that the DAG was learned from, where cells are missing: those of an estimator
        give the parameters, too; else EM.
    time_limit
        Seconds for EM.
    """
    if dataset.is_complete:
        return fit_complete(dataset, parents, smoothing=smoothing), ""
    if counts is not None and counts != "expected":
        method = DeletionCounts(counts).estimator
        estimate = fit_deletion(dataset, parents, method=method, smoothing=smoothing)
        return estimate.model, ""
    fit = fit_em(dataset, parents, smoothing=smoothing, time_limit=time_limit)
    if fit.is_complete:
        return fit.model, ""
    return (
        fit.model,
        f"EM for the parameters was cut short after {fit.iterations} iterations",
    )
