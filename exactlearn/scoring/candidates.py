"""Candidate parent sets of a table: every set up to a size, less the dominated ones.

All sets of variables of one size after another are tabulated; each table yields the score of every
variable in it given the others. Parent sets that a subset dominates are dropped, and branches that
bounds close are skipped (:mod:`exactlearn.scoring.set_sums`). Of incomplete data the counts of
each family are estimated by itself (:mod:`exactlearn.scoring.deletion_counts`).
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.argument_kinds import instance_of
from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.executors import Workers, n_threads, running
from exactlearn._runtime.offsets import offsets
from exactlearn._runtime.progress import counting
from exactlearn._runtime.variable_arguments import ArcsLike
from exactlearn.data.dataset import Dataset, DatasetLike, require_weight
from exactlearn.errors import InfeasibleError, OptionError, TooLargeError
from exactlearn.scoring.candidate_enumeration import (
    Enumeration,
    Progress,
    SizedCandidates,
    required_parents,
)
from exactlearn.scoring.candidate_search import Budget, CandidateSearch
from exactlearn.scoring.deletion_counts import DeletionCounts, DeletionScorer, as_counts
from exactlearn.scoring.expected_counts import ExpectedCounts
from exactlearn.scoring.scores import ScoreLike, scored_family
from exactlearn.scoring.set_sums import SetSums, TableScorer
from exactlearn.solvers.problem import Arc, Problem

FAMILY_LIMIT = 2**30
"""Most families that may have to be looked at when dominated ones are dropped."""
LISTED_LIMIT = 2**25
"""Most families that may be returned when none is dropped."""
ESTIMATED_LIMIT = 2**23
"""Most families whose counts may be estimated by deletion."""


@checked_arguments(
    control=instance_of(SearchControl, "a SearchControl", "leave it out"),
    counts=as_counts,
)
def candidate_parent_sets(
    dataset: DatasetLike,
    score: ScoreLike,
    *,
    max_parents: int | None = 3,
    required: ArcsLike = (),
    forbidden: ArcsLike = (),
    prune: bool = True,
    budget: Budget | None = None,
    counts: DeletionCounts | ExpectedCounts | None = None,
    threads: int | None = None,
    on_progress: Progress | None = None,
    time_limit: float | None = None,
    control: SearchControl = UNLIMITED,
    cluster: Any = None,
    tidy: bool = False,
) -> Problem:
    """Score the parent sets of every variable and keep those that could be optimal.

    Parameters
    ----------
    dataset
        Complete data, but for ``counts``; row weights count as repetitions.
    score
        The score.
    max_parents
        Largest size of a parent set, or ``None`` for no limit.
    required, forbidden
        Arcs ``(parent, child)`` that every, or no, network must have. Only parent sets that
        respect them are returned, and only those can dominate others.
    prune
        Whether to drop the parent sets that score no better than one of their proper subsets.
    budget
        Search best first for each variable, so long, instead of enumerating: for many variables,
        or large parent sets. The problem then says whether it is still complete.
    counts
        How the counts of families with missing cells are estimated: an estimator by its name, such
        as ``"f-mar"``, or :class:`DeletionCounts`; the problem is not ``complete`` where no row
        supports some family. Or the expected counts under a network. Complete data are counted
        whatever this says.
    threads
        Number of threads, on which the outcome does not depend; all cores when not given.
    on_progress
        Called now and then with the numbers of variable sets, or with a budget of variables, done
        and of all.
    time_limit
        Seconds after which scoring stops with the candidates so far; each variable has at least
        its smallest allowed parent set. The problem then says in ``stopped`` how far it came.
    control
        Its search's end stops the scoring as the limit does, but at once.
    cluster
        A Dask cluster whose workers score: ``"local"`` (a process for each core), ``"local:2"``,
        the address of a scheduler, or a ``distributed.Client``. The outcome does not depend on it.
        Counts that deletion estimates are made in this process whatever this says.
    tidy
        For a frame or an array: as for :meth:`Dataset.from_frame`.

    Returns
    -------
    Problem
        The candidates of each variable by falling score, ties by size, then lexicographically.

    Raises
    ------
    DataError
        When a cell is missing without ``counts``, no row supports the smallest family of a
        variable, or the score cannot be had from so few rows.
    OptionError
        When ``max_parents`` or an arc is none, or a budget is given with ``prune=False`` or for
        estimated counts.
    InfeasibleError
        When an arc is both required and forbidden, or more are required than ``max_parents``.
    TooLargeError
        When there are too many parent sets to enumerate.

    Examples
    --------
    >>> from exactlearn.scoring.scores import BDeu
    >>> rows = np.array([[0, 0], [1, 1], [0, 0], [1, 1]], np.int8)
    >>> data = Dataset(rows, ("a", "b"), (("n", "y"), ("n", "y")))
    >>> problem = candidate_parent_sets(data, BDeu())
    >>> [parents for parents, _ in problem.candidates(0)]
    [(1,), ()]
    """
    # The size of parent sets and the arcs, or a refusal.
    arcs = frozenset(required), frozenset(forbidden)
    limited = SearchControl(time_limit, outer=control)
    require_weight(dataset)
    estimated = None if dataset.is_complete else counts
    k = _checked_size(dataset, max_parents, prune, estimated, budget)
    _check_arcs(dataset, *arcs, k)
    # The search: of estimated families, of all sets, or best first within a budget.
    search: CandidateSearch | Enumeration
    singles: list[SizedCandidates] = []
    with running(cluster) as client, counting("parent set") as loop:
        on_progress = on_progress or loop.report
        workers = None if client is None else Workers(client, limited)
        n = n_threads(threads) if workers is None else workers.number
        if isinstance(estimated, DeletionCounts):
            deletion = DeletionScorer(dataset, score, estimated, arcs[0])
            family: Callable[[int, Sequence[int]], float] = deletion.family
            search = Enumeration(deletion, k, *arcs, prune)
            pieces = search.run(on_progress)
        else:
            if estimated is None:
                family = partial(scored_family, dataset, score=score)
                sums = SetSums.of(dataset, score, k + 1)
            else:
                family = partial(estimated.score, score=score)
                sums = SetSums(score, estimated.order, estimated.rows, k + 1)
            if budget is None:
                scorer = TableScorer(sums, prune, arcs[0])
                search = Enumeration(scorer, k, *arcs, prune)
                pieces = search.run(on_progress, n, workers)
            else:
                clock = SearchControl(budget.seconds, outer=limited)
                singles, is_done = _single_parents(sums, k, arcs, n, clock)
                if is_done:
                    return _problem(dataset.names, singles, *arcs)
                left = budget.within(clock.left)
                search = CandidateSearch(sums, k, *arcs, left, n)
                pieces = search.run(on_progress, workers, lambda: limited.is_over)
        tables, finished = _collected(pieces, search, control, limited)
    # The candidates, with the smallest parent set of each variable that has none.
    tables += _not_among(tables, singles)
    if finished and not search.is_cut_short:
        problem = _problem(dataset.names, tables, *arcs)
        return replace(problem, complete=search.exhausted)
    tables += _smallest(dataset.n_variables, family, tables, arcs[0])
    problem = _problem(dataset.names, tables, *arcs)
    return replace(problem, complete=False, stopped=search.how_far)


def _single_parents(
    sums: SetSums,
    max_parents: int,
    arcs: tuple[frozenset[Arc], frozenset[Arc]],
    threads: int,
    clock: SearchControl,
) -> tuple[list[SizedCandidates], bool]:
    """Return the candidates of at most one parent, and whether those are all candidates.

    They come before a search in limited time: a variable whose share of it is short would have no
    parents at all, and a tree would score more than the best network over such candidates.
    """
    if clock.left == math.inf:
        return [], False
    scorer = TableScorer(sums, True, arcs[0])
    search = Enumeration(scorer, min(max_parents, 1), *arcs, True)
    singles, finished = _collected(search.run(None, threads), search, clock, clock)
    return singles, finished and max_parents <= 1 and search.exhausted


def _not_among(
    tables: list[SizedCandidates], singles: list[SizedCandidates]
) -> list[SizedCandidates]:
    """Return the candidates of at most one parent that are not among those of a search."""

    def families(table: SizedCandidates) -> NDArray[np.int64]:
        parent = table.parents.max(axis=1, initial=-1).astype(np.int64)
        # One number for a family of at most one parent, -1 for all others.
        sizes = (table.parents >= 0).sum(axis=1)
        return np.where(sizes <= 1, parent * 2**32 + table.child, -1)

    present = np.concatenate([np.zeros(0, np.int64), *map(families, tables)])
    missing = []
    for table in singles:
        is_missing = ~np.isin(families(table), present)
        candidates = SizedCandidates(
            child=table.child[is_missing],
            parents=table.parents[is_missing],
            scores=table.scores[is_missing],
        )
        missing.append(candidates)
    return missing


def _collected(
    pieces: Generator[SizedCandidates, None, None],
    search: CandidateSearch | Enumeration,
    control: SearchControl,
    limited: SearchControl,
) -> tuple[list[SizedCandidates], bool]:
    """Return the candidates that come before the scoring ends, and whether that is all.

    At the time limit there must be enough; a stop ends the scoring at once.
    """
    tables: list[SizedCandidates] = []
    with closing(pieces):
        while not (control.is_over or (limited.is_over and search.has_enough)):
            piece = next(pieces, None)
            if piece is None:
                return tables, True
            tables.append(piece)
    return tables, False


def _smallest(
    n: int,
    family: Callable[[int, Sequence[int]], float],
    tables: Sequence[SizedCandidates],
    required: frozenset[Arc],
) -> list[SizedCandidates]:
    """Return the smallest parent sets of the variables that have no candidate yet."""
    with_candidates: set[int] = set()
    for table in tables:
        with_candidates.update(table.child.tolist())
    smallest = []
    for child in range(n):
        if child in with_candidates:
            continue
        parents = required_parents(child, required)
        candidate = SizedCandidates(
            child=np.array([child], np.int32),
            parents=np.array([parents], np.int32),
            scores=np.array([family(child, parents)]),
        )
        smallest.append(candidate)
    return smallest


def _checked_size(
    dataset: Dataset,
    max_parents: int | None,
    prune: bool,
    estimated: DeletionCounts | ExpectedCounts | None,
    budget: Budget | None,
) -> int:
    """Return the largest size of a parent set, or refuse what could not be enumerated."""
    if max_parents is not None and max_parents < 0:
        raise OptionError(f"max_parents must be at least 0, found {max_parents}")
    n = dataset.n_variables
    k = max(0, n - 1)
    if max_parents is not None:
        k = min(max_parents, k)
    # A time budget searches best first, so that no number is too large.
    if budget is not None:
        _check_budget(prune, estimated)
        return k
    limit = FAMILY_LIMIT if prune else LISTED_LIMIT
    limit = ESTIMATED_LIMIT if isinstance(estimated, DeletionCounts) else limit
    families = n_families(n, k)
    if families <= limit or (max_parents is None and prune):
        return k
    # The largest size whose families are within the limit.
    too_large = bisect_right(range(k), limit, key=partial(n_families, n))
    fitting = max(0, too_large - 1)
    cure = (
        "give scoring_time to search"
        if prune
        else "let dominated parent sets be dropped"
    )
    raise TooLargeError(
        f"{n} variables with up to {k} parents have {families:,} families, more than the "
        f"limit of {limit:,}; set max_parents to at most {fitting}, or {cure}"
    )


def _check_budget(
    prune: bool, estimated: DeletionCounts | ExpectedCounts | None
) -> None:
    """Refuse a budget where families are enumerated: for estimates, or to keep dominated ones."""
    if estimated is not None:
        reason = "cells are missing: all families are estimated, without a search in a budget"
    elif not prune:
        reason = "dominated parent sets were to be kept, but a search within a budget drops them"
    else:
        return
    raise OptionError(
        f"{reason}; leave the budget (scoring_time) out, and lower max_parents if that takes "
        "too long"
    )


def n_families(n_variables: int, max_parents: int) -> int:
    """Return the number of families of ``n_variables`` variables with up to ``max_parents``.

    Examples
    --------
    >>> n_families(37, 3)
    288859
    """
    allowed = n_variables - 1
    sizes = range(min(max_parents, allowed) + 1)
    return n_variables * sum(math.comb(allowed, size) for size in sizes)


def _check_arcs(
    dataset: Dataset,
    required: frozenset[Arc],
    forbidden: frozenset[Arc],
    max_parents: int,
) -> None:
    """Refuse arcs that no network over the table can have."""
    names = dataset.names
    for parent, child in sorted(required | forbidden):
        if parent == child:
            raise OptionError(
                f"the constraint on {parent} -> {child} names no arc between two"
            )
    for parent, child in sorted(required & forbidden):
        raise InfeasibleError(
            f"the arc {names[parent]} -> {names[child]} is both required and forbidden, "
            "by itself or by another constraint such as tiers; drop one"
        )
    # Required parents alone must not be too many.
    for child, name in enumerate(names):
        parents = required_parents(child, required)
        if len(parents) > max_parents:
            raise InfeasibleError(
                f"variable {name!r} is required to have {len(parents)} parents "
                f"({', '.join(names[p] for p in parents)}) but may have at most {max_parents}; "
                "raise max_parents or require fewer arcs"
            )


def _problem(
    names: tuple[str, ...],
    tables: list[SizedCandidates],
    required: frozenset[Arc],
    forbidden: frozenset[Arc],
) -> Problem:
    """Sort the candidates by variable, score, size and parents into one problem."""
    # Parents of all sizes in one table, filled up with -1.
    widest = max((table.parents.shape[1] for table in tables), default=0)
    child = np.zeros(0, np.int32)
    scores = np.zeros(0)
    if tables:
        child = np.concatenate([table.child for table in tables])
        scores = np.concatenate([table.scores for table in tables])
    parents = np.full((len(child), widest), -1, np.int32)
    start = 0
    for table in tables:
        n_sets, size = table.parents.shape
        parents[start : start + n_sets, :size] = table.parents
        start += n_sets
    # By child, then the best score, the fewest parents, the first names.
    sizes = (parents >= 0).sum(axis=1)
    order = np.lexsort((*parents.T[::-1], sizes, -scores, child))
    members = parents[order]
    first = np.searchsorted(child[order], np.arange(len(names) + 1))
    return Problem(
        names=names,
        first=first.astype(np.int64),
        scores=scores[order],
        member_first=offsets(sizes[order]),
        members=members[members >= 0],
        required=required,
        forbidden=forbidden,
    )
