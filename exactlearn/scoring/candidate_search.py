"""Anytime search for candidate parent sets, best first, for one child after another.

Each is searched for in the tree of its parent sets (:mod:`exactlearn.scoring.parent_set_tree`).

Every child gets the same effort, or the same share of the time that is left (single parents of all
of them are scored before, :mod:`exactlearn.scoring.candidates`). What is found are
exact scores; sets that were never reached are missing, so an optimum is one over the candidates.
"""

import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from typing import Self

from exactlearn._runtime.argument_kinds import instance_of
from exactlearn._runtime.arguments import check_fields, register
from exactlearn._runtime.compilation_notice import clock
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.executors import Workers, in_order
from exactlearn._runtime.number_arguments import COUNT, POSITIVE
from exactlearn.errors import OptionError
from exactlearn.scoring.candidate_enumeration import (
    Progress,
    SizedCandidates,
    required_parents,
)
from exactlearn.scoring.parent_set_tree import ParentSetTree
from exactlearn.scoring.set_sums import SetSums
from exactlearn.scoring.set_tables import Space
from exactlearn.solvers.problem import Arc

MIN_SECONDS = 1e-9
"""Least seconds that a budget of time has left."""
DEEPEST = 24
"""Most parents a search considers."""
PAIR_SHARE = 2
"""One part in so many of the effort may go to scoring pairs."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The effort, or the time, of a search for candidate parent sets.

    Parameters
    ----------
    tables
        Contingency tables to count for each variable, about; the same data and effort give the
        same candidates.
    seconds
        Wall time for all variables together. What is found then depends on the machine's speed.

    Raises
    ------
    OptionError
        When neither is given, or one is not positive.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("asia-mnar-complete")
    >>> el.candidate_parent_sets(table, "bdeu", max_parents=2, budget=Budget(tables=50))
    Problem(variables=8, candidates=59)
    """

    tables: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        """Refuse a budget without limit."""
        if self.tables is None and self.seconds is None:
            raise OptionError(
                "a budget needs a number of tables or of seconds; give one"
            )
        check_fields(self, tables=COUNT, seconds=POSITIVE)

    def within(self, seconds: float) -> Self:
        """Return the budget with less time, where it has a time."""
        if self.seconds is None:
            return self
        return replace(self, seconds=max(seconds, MIN_SECONDS))


class CandidateSearch:
    """The searches for the parent sets of all variables.

    Parameters
    ----------
    sums
        Counts sets of complete data.
    max_parents
        Largest size of a parent set.
    required, forbidden
        Arcs that every, or no, network must have.
    budget
        The effort, or the time.
    threads
        How many variables are searched for at once.

    Attributes
    ----------
    exhausted
        Whether nothing was left to be searched, so far.
    n_searched
        Of how many variables.
    """

    has_enough = True

    def __init__(
        self,
        sums: SetSums,
        max_parents: int,
        required: frozenset[Arc],
        forbidden: frozenset[Arc],
        budget: Budget,
        threads: int = 1,
    ) -> None:
        self.sums = sums
        self.n = len(sums.order)
        self.budget = budget
        self.threads = threads
        self.required = required
        self.forbidden = forbidden
        self.max_parents = min(max_parents, DEEPEST)
        self.n_searched = 0
        self.exhausted = max_parents <= DEEPEST

    @property
    def is_cut_short(self) -> bool:
        """Whether the workers of a cluster were stopped before the end."""
        return self.n_searched < self.n

    @property
    def how_far(self) -> str:
        """The progress of the search, in a sentence."""
        return (
            f"the parent sets of {self.n_searched} of {self.n} variables were searched"
        )

    def run(
        self,
        on_progress: Progress | None = None,
        workers: Workers | None = None,
        is_over: Callable[[], bool] = lambda: False,
    ) -> Generator[SizedCandidates, None, None]:
        """Yield the candidates of each variable, found by the workers of a cluster if given."""
        start = clock()

        def identify(variable: int, space: Space) -> tuple[SizedCandidates, bool]:
            deadline = self._deadline(start, variable)
            return self._search(variable, space, deadline, is_over)

        searches: Iterator[tuple[SizedCandidates, bool]]
        if workers is None:
            searches = in_order(identify, self.n, self._space, self.threads)
        else:
            searches = workers.pieces(CandidateSearch.alone, (self,), self.n)
        # Searches come in the order of the variables, whoever ends first.
        for candidates, is_exhausted in searches:
            self.exhausted &= is_exhausted
            self.n_searched += 1
            yield candidates
            if on_progress is not None:
                on_progress(self.n_searched, self.n)

    def alone(self, variable: int) -> tuple[SizedCandidates, bool]:
        """Search for one variable, in its share of the time, for a worker."""
        deadline = self._deadline(clock(), 0)
        control = SearchControl.within()
        return self._search(
            variable,
            self._space(),
            deadline,
            lambda: control.is_stopped,
        )

    def _space(self) -> Space:
        """Return the scratch space that one thread counts in."""
        return self.sums.space(self.max_parents + 1)

    def _deadline(self, start: float, variable: int) -> float:
        """Return the clock at the end of a variable's search: the time left, shared evenly."""
        now = clock()
        seconds = self.budget.seconds or math.inf
        left = max(0.0, start + seconds - now)
        rounds = (self.n - variable) / self.threads
        return now + left / max(1.0, rounds)

    def _search(
        self,
        variable: int,
        space: Space,
        deadline: float,
        is_over: Callable[[], bool],
    ) -> tuple[SizedCandidates, bool]:
        """Return the candidates of a variable, and whether nothing was left to be searched."""
        required = required_parents(variable, self.required)
        forbidden = {p for p, c in self.forbidden if c == variable}
        barred = {variable, *required, *forbidden}
        tree = ParentSetTree(
            self.sums,
            space,
            self.max_parents,
            variable,
            required,
            barred,
        )
        limit = self.budget.tables or 2**62
        start = clock()

        def goes_on() -> bool:
            return tree.n_tables < limit and clock() < deadline and not is_over()

        # Single parents first: their pace tells how many pairs there is time for.
        tree.score_singles(goes_on)
        tables = limit
        if deadline < math.inf:  # the tables that there is time for, at the pace so far
            now = clock()
            seconds_per_table = max(1e-7, (now - start) / tree.n_tables)
            seconds_left = max(0.0, deadline - now)
            tables = min(limit, int(seconds_left / seconds_per_table))
        tree.score_pairs(math.isqrt(2 * tables // PAIR_SHARE), goes_on)
        # Then best first, until the budget or the queue is empty.
        while tree.queue.size and goes_on():
            tree.advance(limit - tree.n_tables)
        return tree.candidates(), not (tree.queue.size or tree.is_cut)


register(budget=instance_of(Budget, "a Budget", "pass Budget(seconds=60), say"))
