"""The posterior of parent sets, arcs and ancestors: sums over all DAGs of a problem.

A DAG has the weight ``exp(score)``; its posterior probability is its share of the sum over all DAGs
of allowed candidates. As a directed cycle never leaves a strongly connected part of the candidates'
graph, the sum is the product of those of the parts (:mod:`exactlearn.solvers.sums`), in which
parents outside of the part are granted. Required and forbidden arcs, tiers and largest numbers of
parents leave candidates out; other constraints have no sum of this kind.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import fsum

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.display import ByValue
from exactlearn._runtime.offsets import offsets, owners
from exactlearn._runtime.tolerance import EPSILON
from exactlearn.errors import OptionError, SolverError, TooLargeError

from .components import strong_parts
from .parent_set_sums import POWERS, add_probabilities
from .problem import Problem
from .sums import PartSums, split_weights, sum_over_dags, sum_parent_sets

LIMIT = 20
"""Most variables of one part: 20 take a minute and 0.7 GB, each further one three times as long."""

MAX_ERROR = 1e-6
"""Largest error of a probability that is answered with."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Part(ByValue, shown="variables=n_variables candidates=candidate"):
    """A strongly connected part of a problem, with the sums over its DAGs.

    Parameters
    ----------
    variables
        Index in the problem of each variable, shape (n,).
    candidate
        Row in the problem of each candidate, shape (m,), sorted by child.
    child, parents
        Variable of each candidate, and its parents inside the part as bits, shape (m,).
    mantissa, exponent
        Weight of each candidate, relative to the best one of its variable, shape (m,).
    sums
        The sums over DAGs.
    """

    variables: NDArray[np.int64]
    candidate: NDArray[np.int64]
    child: NDArray[np.int64]
    parents: NDArray[np.int64]
    mantissa: NDArray[np.float64]
    exponent: NDArray[np.int64]
    sums: PartSums

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.variables)

    @property
    def first(self) -> NDArray[np.int64]:
        """Where each variable's candidates begin, shape (n + 1,)."""
        return offsets(np.bincount(self.child, minlength=self.n_variables))

    def probabilities(self) -> NDArray[np.float64]:
        """Return the posterior probability of each candidate, shape (m,).

        It is the sum over all sets of non-descendants that hold its parents, of their probability
        times its share of the parent sets inside.
        """
        probabilities = np.zeros(len(self.candidate))
        add_probabilities(
            self.first[:-1],
            self.first[1:],
            self.parents,
            self.mantissa,
            self.exponent,
            self.sums.parent_sums.exponent,
            self.sums.non_descendants.copy(),
            POWERS,
            probabilities,
        )
        return probabilities

    def ancestors(self) -> NDArray[np.float64]:
        """Return the probability that ``[i, j]`` are ancestor and descendant, shape (n, n)."""
        return ancestor_probabilities(
            self.sums.non_descendants * self.sums.parent_sums.high
        )


def ancestor_probabilities(
    non_descendants: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the probability that ``[i, j]`` are ancestor and descendant, shape (n, n).

    Parameters
    ----------
    non_descendants
        Probability that each set are all variables that do not descend from a variable, shape
        (n, 2 ** (n - 1)).
    """
    n = len(non_descendants)
    ancestors = np.zeros((n, n))
    for i in range(n):
        for bit, j in enumerate(np.delete(np.arange(n), i)):
            # the sets of non-descendants without j
            halves = non_descendants[i].reshape(-1, 2, 1 << bit)
            ancestors[i, j] = halves[:, 0].sum()
    return ancestors


def parents_as_bits(problem: Problem, place: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the parents of each candidate as bits, shape (m,).

    Parameters
    ----------
    problem
        The problem.
    place
        The bit of each variable, negative for those that are left out, shape (n,).
    """
    row = owners(problem.member_first)
    inside = place[problem.members] >= 0
    bits = np.zeros(problem.n_candidates, np.int64)
    np.add.at(bits, row[inside], 1 << place[problem.members[inside]])
    return bits


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SelectionPosterior(ByValue, shown="problem parts log_sum error"):
    """The posterior over the acyclic selections of a problem.

    Parameters
    ----------
    problem
        The problem.
    parts
        Its strongly connected parts, with their sums.
    log_sum
        Logarithm of the sum of ``exp(score)`` over all DAGs.
    candidates
        Posterior probability of each candidate, shape (m,).
    arcs
        Posterior probability of each arc ``[parent, child]``, shape (n, n).
    ancestors
        Probability that ``[ancestor, descendant]`` are such, shape (n, n); ``nan`` for variables of
        different parts.
    error
        How far a probability is off at most, by rounding.
    """

    problem: Problem
    parts: tuple[Part, ...]
    log_sum: float
    candidates: NDArray[np.float64]
    arcs: NDArray[np.float64]
    ancestors: NDArray[np.float64]
    error: float


def posterior_of_selections(
    problem: Problem,
    *,
    control: SearchControl = UNLIMITED,
    threads: int | None = None,
    on_progress: Callable[[float], None] = lambda done: None,
) -> SelectionPosterior | None:
    """Sum over all DAGs of a problem; ``None`` if the control ends it before.

    Parameters
    ----------
    problem
        The problem; its candidates are all parent sets that a DAG may have.
    control
        The clock.
    threads
        How many threads to use; ``None`` for as many as there are cores.
    on_progress
        Called with the proportion that is done; never for parts of some ten variables.

    Raises
    ------
    OptionError
        When a constraint concerns the whole network.
    InfeasibleError
        When the constraints exclude every network.
    TooLargeError
        When more than ``LIMIT`` variables may form cycles with each other.
    SolverError
        When rounding may change a probability by more than ``MAX_ERROR``.

    Examples
    --------
    >>> problem = Problem.from_candidates(["a", "b"], [{(): 0.0, (1,): 0.0}, {(): 0.0, (0,): 0.0}])
    >>> posterior = posterior_of_selections(problem)
    >>> posterior.arcs.round(3).tolist()
    [[0.0, 0.333], [0.333, 0.0]]
    >>> bool(abs(posterior.log_sum - np.log(3)) < 1e-12)
    True
    """
    require_sums(problem)
    labels = strong_parts(problem.select(problem.allowed))
    largest = largest_part(problem)
    if largest > LIMIT:
        raise TooLargeError(
            f"sums over all networks would visit 3^{largest} pairs of sets of {largest} variables"
            f" that may form cycles with each other; the limit is {LIMIT} variables: sample"
            " networks by a Markov chain, give tiers, forbid arcs, or leave variables out"
        )
    # A part takes time in proportion to the pairs of disjoint sets of its variables.
    work = 3.0 ** np.bincount(labels)
    parts: list[Part] = []
    for label, proportion in enumerate(work / work.sum()):
        done_before = work[:label].sum() / work.sum()

        def of_all(
            done: float, before: float = done_before, size: float = proportion
        ) -> None:
            on_progress(before + done * size)

        part = _summed(
            problem, np.flatnonzero(labels == label), control, threads, of_all
        )
        if part is None:
            return None
        parts.append(part)
    return _combined(problem, tuple(parts))


def require_sums(problem: Problem) -> None:
    """Refuse constraints on the whole network, and problems without an acyclic selection."""
    if problem.overall_constraints:
        described = problem.overall_constraints[0].describe(problem.names)
        raise OptionError(
            f"constraint {described!r} concerns the whole network; sums over all networks"
            " take required and forbidden arcs, tiers and largest numbers of parents"
        )
    problem.require_feasible()


def largest_part(problem: Problem) -> int:
    """Return the largest number of variables that may form cycles with each other."""
    labels = strong_parts(problem.select(problem.allowed))
    return int(np.bincount(labels).max(initial=0))


def _summed(
    problem: Problem,
    variables: NDArray[np.int64],
    control: SearchControl,
    threads: int | None,
    on_progress: Callable[[float], None],
) -> Part | None:
    """Return a part with its sums, parents outside of it granted."""
    n = len(variables)
    local = np.full(problem.n_variables, -1)
    local[variables] = np.arange(n)
    candidate = np.flatnonzero(problem.allowed & (local[problem.child] >= 0))
    parents = parents_as_bits(problem, local)[candidate]
    child = local[problem.child[candidate]]
    mantissa, exponent = split_weights(problem.relative.scores[candidate])
    parent_sums = sum_parent_sets(n, child, parents, mantissa, exponent)
    n_parent_sets = np.bincount(child, minlength=n)
    sums = sum_over_dags(parent_sums, n_parent_sets, control, threads, on_progress)
    if sums is None:
        return None
    return Part(
        variables=variables,
        candidate=candidate,
        child=child,
        parents=parents,
        mantissa=mantissa,
        exponent=exponent,
        sums=sums,
    )


def _combined(problem: Problem, parts: tuple[Part, ...]) -> SelectionPosterior:
    """Return the posterior from the sums of all parts."""
    n = problem.n_variables
    candidates = np.zeros(problem.n_candidates)
    ancestors = np.full((n, n), np.nan)
    for part in parts:
        candidates[part.candidate] = part.probabilities()
        ancestors[np.ix_(part.variables, part.variables)] = part.ancestors()
    # weights are off by half a unit of the loss each, and by that of their exponential
    expected_loss = -float(candidates @ problem.relative.scores)
    of_weights = 2.0 * EPSILON * (expected_loss + 4.0 * n)
    error = 2.0 * max((part.sums.error for part in parts), default=0.0) + of_weights
    if error > MAX_ERROR:
        raise SolverError(
            f"rounding may change probabilities by {error:.1g}, more than {MAX_ERROR:g}:"
            " too many networks of equal weight have to be told from each other; give"
            " tiers, forbid arcs, or leave variables out"
        )
    return SelectionPosterior(
        problem=problem,
        parts=parts,
        log_sum=problem.offset + fsum(part.sums.log_sum for part in parts),
        candidates=candidates,
        arcs=problem.sum_by_arc(candidates),
        ancestors=ancestors,
        error=error,
    )
