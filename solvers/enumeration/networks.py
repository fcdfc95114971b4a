"""The k best networks, the k best equivalence classes, and all within a factor of the best.

After each network (or class) that was found, the part of the search it was the best of is taken
apart without it (:mod:`exactlearn.solvers.enumeration.partition`): a network by its parent sets, of
which one must differ; a class by its adjacencies and v-structures
(:mod:`exactlearn.graphs.equivalence`), so that its other members are never met.

The answer is over the candidates of the problem. Where dominated parent sets were dropped from
these, networks that have them are not counted, although they may be among the best.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import combinations
from math import inf, isfinite, log
from typing import Any, NamedTuple

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import ROUNDING, OnEvent, SearchControl
from exactlearn._runtime.display import Displayed
from exactlearn.errors import OptionError
from exactlearn.graphs.equivalence import cpdag
from exactlearn.graphs.partially_directed import PartiallyDirectedGraph, v_structures

from ..candidate_table import Parents, neighbours
from ..constrained import answer, conflict
from ..constraints import Condition, ForbiddenAdjacency
from ..problem import Problem
from ..result import Result, Status
from ..select import solve
from ..strategy import COMPONENT_SOLVERS
from .partition import Partition
from .subproblems import Case, FoundNetwork


class ScoredNetwork(NamedTuple):
    """A network and its score; of an equivalence class, its best member."""

    parents: Parents
    score: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Enumeration(Displayed, shown="status networks best bound seconds"):
    """Networks, or classes, in the order of their scores.

    Parameters
    ----------
    networks
        What was found, the best first; equal scores in the order of the parents. Where a limit
        came before the first one was proven to be the best, the best one known.
    best
        The result of looking for the best one only.
    status
        ``optimal`` when all that was wanted is proven to be there, ``feasible`` after a limit,
        ``interrupted`` after Ctrl-C, ``infeasible`` when no network satisfies the constraints.
    bound
        No other network (or class) of the candidates scores more; ``-inf`` when there is none.
    seconds
        Wall time.
    solved
        Number of problems that were solved on the way.
    """

    networks: tuple[ScoredNetwork, ...]
    best: Result
    status: Status
    bound: float
    seconds: float
    solved: int

    @property
    def complete(self) -> bool:
        """Whether all that was wanted is proven to be there."""
        return self.status in ("optimal", "infeasible")

    @property
    def ties(self) -> int:
        """Number of those found that have the best score."""
        return sum(
            found.score >= self.networks[0].score - _rounding(self.networks[0].score)
            for found in self.networks
        )


@checked_arguments()
def enumerate_networks(
    problem: Problem,
    *,
    k: int | None = None,
    factor: float | None = None,
    classes: bool = False,
    solver: str = "auto",
    time_limit: float | None = None,
    on_event: OnEvent | None = None,
    **options: Any,
) -> Enumeration:
    """Return the best networks, or Markov equivalence classes, over the candidates of a problem.

    Parameters
    ----------
    problem
        A problem, with any constraints.
    k
        How many.
    factor
        All whose probability is at least that of the best one divided by this: scores are
        logarithms. 1 gives all networks that tie for the best score.
    classes
        Return the best equivalence classes, each by its best network over the candidates.
        Constraints hold for the networks that are returned, not for all members of their classes.
    solver, time_limit, on_event, options
        As in :func:`exactlearn.solvers.solve`; the solver must be exact.

    Raises
    ------
    OptionError
        When neither ``k`` nor ``factor`` is given, or one is none.

    Examples
    --------
    >>> problem = Problem.from_candidates("ab", [{(): -2.0, (1,): -1.0}, {(): -2.0, (0,): -1.5}])
    >>> [(found.parents, found.score) for found in enumerate_networks(problem, k=2).networks]
    [(((1,), ()), -3.0), (((), (0,)), -3.5)]
    >>> len(enumerate_networks(problem, k=2, classes=True).networks)
    2
    """
    _check(problem, k, factor, solver)
    with SearchControl(time_limit, on_event).running() as control:
        others = _other_class if classes else _other_network
        search = _search(problem, others, solver, control, options)
        return _enumerate(search, cpdag if classes else lambda parents: parents, k, factor)


def _check(problem: Problem, k: int | None, factor: float | None, solver: str) -> None:
    if k is None and factor is None:
        raise OptionError("say how many networks are wanted (k), or within which factor (factor)")
    if k is not None and k < 1:
        raise OptionError(f"k must be at least 1, not {k!r}")
    if factor is not None and not (isfinite(factor) and factor >= 1):
        raise OptionError(f"factor must be a finite number of at least 1, not {factor!r}")
    if solver in COMPONENT_SOLVERS and not COMPONENT_SOLVERS[solver].is_exact:
        raise OptionError(
            f"the best networks cannot be distinguished from others by {solver!r}, which proves "
            "nothing but a bound: use solver='auto'"
        )


def _search(
    problem: Problem,
    exclude: Callable[[Parents], Sequence[Case]],
    solver: str,
    control: SearchControl,
    options: dict[str, Any],
) -> Partition:
    return Partition(
        problem=problem,
        solve=solve,
        exclude=exclude,
        control=control,
        options={"solver": solver, **options},
    )


def _enumerate(
    search: Partition,
    kind: Callable[[Parents], Hashable],
    k: int | None,
    factor: float | None,
) -> Enumeration:
    """Search on until enough of different kinds are found; parts may share a class."""
    found: dict[Hashable, ScoredNetwork] = {}
    if k is not None:
        search.on_network = _Known(search, kind, k).learn
    _collect(search, kind, k, factor, found)
    status: Status = search.ended or "optimal"
    best = _best(search, list(found.values()), status)
    if not found and best.parents is not None:  # a limit came before anything was proven
        found[kind(best.parents)] = ScoredNetwork(best.parents, best.score)
    return Enumeration(
        networks=tuple(
            sorted(found.values(), key=lambda network: (-network.score, network.parents))
        ),
        best=best,
        status=best.status if best.status == "infeasible" else status,
        bound=search.bound,
        seconds=search.control.seconds,
        solved=search.solved,
    )


def _collect(
    search: Partition,
    kind: Callable[[Parents], Hashable],
    k: int | None,
    factor: float | None,
    found: dict[Hashable, ScoredNetwork],
) -> None:
    """Take networks one after the other, as many as are wanted, in place."""
    while k is None or len(found) < k:
        following = search.advance()
        if following is None:
            break
        assert following.parents is not None
        if not found and factor is not None:
            least = following.score - log(factor) - _rounding(following.score)
            search.floor = max(search.floor, least)
        network = ScoredNetwork(following.parents, following.score)
        found.setdefault(kind(following.parents), network)
        search.go_on()


class _Known:
    """Different networks or classes known so far; the k-th best of them is the score to reach."""

    def __init__(self, search: Partition, kind: Callable[[Parents], Hashable], k: int) -> None:
        self._search, self._kind, self._k = search, kind, k
        self._scores: dict[Hashable, float] = {}

    def learn(self, found: FoundNetwork) -> None:
        """Take note of a network and its neighbours."""
        assert found.parents is not None
        self._note(found.parents, found.score)
        self._raise_floor()
        search = self._search
        near = neighbours(search.table, found.parents, found.score, search.floor, self._k)
        for parents, score in near:
            if not search.problem.violations(parents):
                self._note(parents, score)
        self._raise_floor()

    def _note(self, parents: Parents, score: float) -> None:
        kind = self._kind(parents)
        self._scores[kind] = max(score, self._scores.get(kind, -inf))

    def _raise_floor(self) -> None:
        if len(self._scores) >= self._k:
            kth = nlargest(self._k, self._scores.values())[-1]
            self._search.floor = max(self._search.floor, kth - _rounding(kth))


def _best(search: Partition, found: Sequence[ScoredNetwork], status: Status) -> Result:
    """Return what the search says about the best network alone."""
    problem = search.problem
    if not found and status == "optimal":
        message = conflict(problem, solve, search.control)
        return Result(
            parents=None, score=-inf, bound=-inf, status="infeasible", solver="", message=message
        )
    result = answer(search, "optimal" if found else status, found[0].score if found else None)
    result.check(problem)
    return result


def _other_network(parents: Parents) -> list[Case]:
    """Return the cases of all networks but one: some variable has other parents."""
    return [Condition(v, "other", frozenset(family)) for v, family in enumerate(parents)]


def _other_class(parents: Parents) -> list[Case]:
    """Return the cases of all networks that are not equivalent to one.

    Some variable has a parent that it is not adjacent to here; or some adjacency is missing; or,
    with the same adjacencies, some v-structure is new or missing.
    """
    graph, structures = PartiallyDirectedGraph.of(parents), v_structures(parents)
    links, variables = graph.skeleton, frozenset(range(len(parents)))
    strangers = [variables - near - {v} for v, near in enumerate(graph.adjacencies)]
    cases: list[Case] = [Condition(v, "any", others) for v, others in enumerate(strangers)]
    cases += [ForbiddenAdjacency(a, b) for a, b in sorted(links)]
    for child, near in enumerate(graph.adjacencies):
        for a, b in combinations(sorted(near), 2):
            if (a, b) not in links:
                collides = (a, child, b) in structures
                case = Condition(child, "all", frozenset({a, b}))
                cases.append(case.opposite if collides else case)
    return cases


def _rounding(score: float) -> float:
    return ROUNDING * max(1.0, abs(score))
