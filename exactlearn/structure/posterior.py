"""The posterior over all networks: the certainty of a structure, exactly.

The best network is often one of very many that are nearly as probable. Its score says nothing of
that; the sum over all networks does (:mod:`exactlearn.solvers.posterior`): it gives the probability
of each arc, parent set and ancestor, and of a network with its Markov class.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from exactlearn._runtime.argument_kinds import one_of
from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import SearchControl
from exactlearn.data.dataset import Dataset
from exactlearn.scoring.candidates import n_families
from exactlearn.scoring.prior import Prior, with_prior
from exactlearn.scoring.scores import BDeu, ScoreLike
from exactlearn.solvers import solve
from exactlearn.solvers.gibbs import SAMPLING_TIME, sample_networks
from exactlearn.solvers.posterior import LIMIT, largest_part, posterior_of_selections
from exactlearn.solvers.problem import Arc, Problem
from exactlearn.structure.completion_posterior import (
    AVERAGES,
    average_over_completions,
    counts_for,
)
from exactlearn.structure.completion_sampling import sampled_average
from exactlearn.structure.ess_choice import with_score
from exactlearn.structure.learning import scoring_of
from exactlearn.structure.network_distribution import (
    NetworkDistribution,
    SummedNetworks,
    unfinished,
)
from exactlearn.structure.selection import Counts, Scoring
from exactlearn.structure.structure_posterior import StructurePosterior
from exactlearn.structure.structure_search import LearnedStructure

if TYPE_CHECKING:
    import pandas as pd


COUNTS = ("expected", "d-mcar", "f-mcar", "d-mar", "f-mar", "id-mar", "if-mar")
"""What missing cells may be counted by, but for means, which have no probability."""

Method = Literal["auto", "exact", "sampled"]
"""Sums over all networks, or Markov chains; ``auto`` for sums where they are possible."""

METHODS = get_args(Method)

START_FRACTION = 0.2
"""Proportion of the time in which the network is searched that a Markov chain starts from."""


@checked_arguments(
    missing=one_of((*AVERAGES, *COUNTS)),
    method=one_of(METHODS),
    **dict.fromkeys(
        ("score", "required", "forbidden", "tiers", "prior"), lambda value, name: value
    ),
)
def posterior(
    data: "Problem | Dataset | pd.DataFrame | Any",
    *,
    score: ScoreLike = "bdeu",
    ess: float = BDeu.ess,
    max_parents: int | None = 3,
    required: Collection[tuple[str, str] | Arc] = (),
    forbidden: Collection[tuple[str, str] | Arc] = (),
    tiers: Sequence[Collection[str] | Collection[int]] = (),
    missing: Counts | Literal["auto", "average"] = "auto",
    prior: Prior = "uniform",
    method: Method = "auto",
    tidy: bool = False,
    time_limit: float | None = None,
    seed: int = 0,
    on_progress: Callable[[float], None] | None = None,
    **coding: Any,
) -> StructurePosterior:
    """Return the posterior over all networks of a table, or of a problem.

    Up to 20 variables that may form cycles with each other it is exact: all networks are summed.
    Beyond, two Markov chains over networks estimate it (blocked Gibbs sampling with exact sums for
    each block of eight variables), until the largest standard error of an arc is below .01 or the
    time is over; Ctrl-C keeps what was sampled.

    Parameters
    ----------
    data
        A table, as for :func:`exactlearn.learn`; or a :class:`Problem` whose candidates are all
        parent sets that a network may have (``candidate_parent_sets(..., prune=False)``), which
        comes with its scores and constraints.
    score, ess, max_parents
        The score, and the largest number of parents.
    required, forbidden, tiers
        What every network must satisfy, as for :func:`exactlearn.learn`; other constraints are
        refused.
    missing
        ``average``: over all completions of the missing cells, exactly
        (:mod:`exactlearn.structure.completion_posterior`) where that takes a minute or two at most
        and rounding changes no probability by more than 1e-6; else by two Markov chains over
        completions and networks, up to 12 variables that may form cycles with each other
        (:mod:`exactlearn.structure.completion_sampling`). Else how the counts of families with
        missing cells are estimated: ``expected``, or a deletion estimator; the answer is then one
        for these counts, and too sure of them. ``auto``: the exact average where it takes some ten
        seconds at most, else ``expected``.
    prior
        ``uniform`` over all networks, ``fair`` over numbers of parents, or probabilities of arcs: a
        mapping of pairs (parent, child), or a frame with the columns ``parent``, ``child`` and
        ``probability`` (:mod:`exactlearn.scoring.prior`).
    method
        ``exact`` for sums over all networks, ``sampled`` for Markov chains, ``auto`` for sums where
        they are possible.
    tidy, coding
        As for :func:`exactlearn.learn`; ``coding`` stands for ``states``, ``discretise`` and
        ``drop``.
    time_limit
        Seconds for all; without it, Markov chains take at most 60.
    seed
        Seed of the network that expected counts are under, and of Markov chains.
    on_progress
        Called with the proportion that is done.

    Returns
    -------
    StructurePosterior
        Probabilities of arcs, edges, ancestors, parent sets and networks.

    Raises
    ------
    ArgumentError, OptionError
        When an argument is of the wrong kind or out of range, or a constraint concerns the whole
        network.
    InfeasibleError
        When the constraints exclude every network.
    TooLargeError
        When the time is too short; or when more than 20 variables may form cycles with each other
        for exact sums, or more than 12 for an average over drawn completions.
    SolverError
        When rounding may change a probability by more than 1e-6.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("cancer-mcar-complete")
    >>> sure = el.posterior(table, max_parents=2)
    >>> sure.status, sure.error < 1e-12, len(sure.sample(3))
    ('exact', True, 3)
    >>> incomplete = el.read_dataset("asia-mnar").to_frame()[["smoke", "lung", "bronc"]]
    >>> averaged = el.posterior(incomplete)
    >>> averaged.status, averaged.error < 1e-6
    ('exact over completions', True)
    >>> averaged.cells.head(2).round(2)
       row variable value  probability
    0   17    smoke    no         0.21
    1   17    smoke   yes         0.79
    """
    control = SearchControl(time_limit)
    if isinstance(data, Problem):
        return posterior_of_listed(data, prior, control, on_progress, method, seed)
    scoring = scoring_of(
        data,
        tidy=tidy,
        max_parents=max_parents,
        required=required,
        forbidden=forbidden,
        tiers=tiers,
        prior=prior,
        missing=counts_for(missing),
        seed=seed,
        **coding,
    )
    scoring, _ = with_score(scoring, score, ess=ess)
    return posterior_of_scoring(scoring, control, on_progress, missing, method, seed)


def posterior_of_listed(
    problem: Problem,
    prior: Prior,
    control: SearchControl,
    on_progress: Callable[[float], None] | None = None,
    method: Method = "auto",
    seed: int = 0,
) -> StructurePosterior:
    """Return the posterior over all networks of the parent sets that a problem lists."""
    problem = with_prior(problem, prior)
    result = posterior_of_problem(problem, prior, control, on_progress, method, seed)
    return replace(result, unlisted=unlisted_parent_sets(problem))


def unlisted_parent_sets(problem: Problem) -> int:
    """Return the number of parent sets, as large as those of a problem, that it does not list."""
    n_parents = np.diff(problem.member_first)
    possible = n_families(problem.n_variables, int(n_parents.max(initial=0)))
    return possible - problem.n_candidates


def posterior_of_structure(
    structure: LearnedStructure, control: SearchControl
) -> StructurePosterior:
    """Return the posterior over all networks among which a structure was learned.

    Where cells are missing, it is that of the counts which the structure was learned from.
    """
    scored = structure.scored
    scoring = structure.scoring
    if scoring is not None:
        # All parent sets are scored, whatever the search took; its cluster may be closed.
        network = None if scored is None else scored.counts_network
        scoring = replace(
            scoring, counts_network=network, scoring_time=None, cluster=None
        )
        return posterior_of_scoring(scoring, control, method="exact")
    assert scored is not None
    # Given scores hold the prior by now.
    return posterior_of_listed(scored.problem, "uniform", control, method="exact")


def posterior_of_scoring(
    scoring: Scoring,
    control: SearchControl,
    on_progress: Callable[[float], None] | None = None,
    missing: str = "expected",
    method: Method = "auto",
    seed: int = 0,
) -> StructurePosterior:
    """Return the posterior over all networks of a table, whose parent sets are all scored.

    Parameters
    ----------
    scoring, control, on_progress
        The table and its score, the clock, and what is called with the proportion that is done.
    missing, method, seed
        As for :func:`posterior`.
    """
    dataset = scoring.dataset
    limit = control.remaining
    on_progress = on_progress or (lambda done: None)
    # The average over completions, where it is asked for and affordable.
    average = None
    is_averaged = missing == "average" or (missing == "auto" and method != "sampled")
    if is_averaged and not dataset.is_complete:
        with SearchControl(limit).running() as summing:
            average = average_over_completions(scoring, missing, summing, on_progress)
            if average is None and missing == "average":
                average = sampled_average(scoring, summing, on_progress, seed)
    # Else the counts of the table, or those that are estimated.
    if average is not None:
        problem = average.selections.problem
        result = _around(average, problem, scoring.prior, control)
    else:
        with SearchControl(limit).running() as scoring_control:
            scored = replace(scoring, every=True).scored(limit, scoring_control)
        problem = scored.problem
        if problem.stopped:
            raise unfinished(f"the scoring: {problem.stopped}", scoring_control)
        result = replace(
            posterior_of_problem(
                problem, scoring.prior, control, on_progress, method, seed
            ),
            counts=None if dataset.is_complete else scoring.counts,
            learned=scored.learned,
        )
    return replace(
        result,
        dataset=dataset,
        score=scoring.score,
        left_out=dataset.left_out,
    )


def posterior_of_problem(
    problem: Problem,
    prior: Prior,
    control: SearchControl,
    on_progress: Callable[[float], None] | None = None,
    method: Method = "auto",
    seed: int = 0,
) -> StructurePosterior:
    """Return the posterior over all networks of a problem whose scores hold the prior."""
    on_progress = on_progress or (lambda done: None)
    is_large = method == "auto" and largest_part(problem) > LIMIT
    if method == "sampled" or is_large:
        return _sampled(problem, prior, control, on_progress, seed)
    with SearchControl(control.remaining).running() as summing:
        selections = posterior_of_selections(
            problem, control=summing, on_progress=on_progress
        )
    # Small sums end before they look at the wish to stop.
    if selections is None or summing.is_stopped:
        raise unfinished("the sums over all networks", summing)
    return _around(SummedNetworks(selections), problem, prior, control)


def _around(
    networks: NetworkDistribution,
    problem: Problem,
    prior: Prior,
    control: SearchControl,
    best: tuple[tuple[int, ...], ...] | None = None,
) -> StructurePosterior:
    """Return the posterior with the best network of a problem, which is searched if not given."""
    if best is None:
        with SearchControl(control.remaining).running() as solving:
            result = solve(problem, time_limit=solving.remaining)
        best = result.parents
        if best is None or result.status != "optimal":
            raise unfinished("the search for the best network", solving)
    return StructurePosterior(
        names=problem.names,
        networks=networks,
        best=best,
        prior=prior if isinstance(prior, str) else "beliefs",
        seconds=control.seconds,
    )


def _sampled(
    problem: Problem,
    prior: Prior,
    control: SearchControl,
    on_progress: Callable[[float], None],
    seed: int,
) -> StructurePosterior:
    """Return the posterior by Markov chains, with the best network that the search has."""
    limit = SAMPLING_TIME if control.remaining is None else control.remaining
    with SearchControl(limit).running() as sampling:
        best = solve(problem, time_limit=START_FRACTION * sampling.left).parents
        networks = None
        if best is not None:
            networks = sample_networks(
                problem, best, seed=seed, control=sampling, on_progress=on_progress
            )
    if networks is None:
        raise unfinished("the Markov chains", sampling)
    return _around(networks, problem, prior, control, best)
