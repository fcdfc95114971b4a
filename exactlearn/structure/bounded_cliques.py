"""The best network whose cliques are small: a search with a proven gap.

Exact inference in a network takes time and space in proportion to the cliques of its triangulated
moral graph. So the largest one is bounded by a number of configurations K, in the choice of parent
sets (learning with bounded treewidth: Elidan and Gould 2008; anytime with weights of the cliques:
Peruvemba Ramaswamy and Szeider 2021, "Learning fast-inference Bayesian networks").

The best network without that bound, of families with at most K configurations each, bounds the
score, and is the answer where it fits. Otherwise :mod:`exactlearn.structure.clique_annealing`
searches, in rounds that grow longer. The clique tree of the answer proves that K holds; theory:
``docs/theory/inference.md``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import Event, OnEvent, SearchControl
from exactlearn._runtime.tolerance import TOLERANCE, gap_between
from exactlearn.bayesnet.cliques import CliqueTree
from exactlearn.bayesnet.triangulation import best_elimination_order
from exactlearn.errors import CheckError, OptionError
from exactlearn.graphs.dag import moral_graph
from exactlearn.scoring.prior import family_cells
from exactlearn.solvers import Problem, Result, solve
from exactlearn.solvers.candidate_table import CandidateTable
from exactlearn.structure.clique_annealing import (
    Candidates,
    Chain,
    anneal,
    is_within_along,
)

BOUND_SHARE = 0.5
"""Share of a time limit for the best network without a bound on cliques."""

FIRST_MOVES = 100_000
"""Moves of the first round; each round has twice as many."""

MAX_MOVES = 1_600_000
"""Moves of a chain in the last round of a search without a time limit."""

BLOCK = 10_000
"""Moves between two looks at the control."""

HEAT = 0.1
"""Temperature at which a round begins, in the mean loss of a candidate."""

COLD = 0.05
"""Temperature at which it ends, as a share of that."""


@dataclass(frozen=True, kw_only=True, repr=False)
class BoundedCliques(
    Result, shown="status score bound gap largest_clique max_clique seconds nodes"
):
    """A network whose cliques stay within a number of configurations, with its proof state.

    Parameters
    ----------
    max_clique
        Configurations that a clique may have.
    cardinalities
        Number of states of each variable.
    clique_tree
        Cliques of the triangulated moral graph; ``None`` where no network was found.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("asia-mnar-complete")
    >>> problem = el.candidate_parent_sets(table, "bdeu")
    >>> result = bounded_cliques(problem, table.cardinalities, 4)
    >>> result.largest_clique, max(map(len, result.parents))
    (4, 1)
    >>> result.check(problem)
    """

    max_clique: int = 0
    cardinalities: tuple[int, ...] = ()
    clique_tree: CliqueTree | None = None

    @property
    def largest_clique(self) -> int:
        """Configurations of the largest clique; 0 where no network was found."""
        tree = self.clique_tree or CliqueTree((), ())
        return max(tree.clique_sizes(self.cardinalities), default=0)

    @property
    def cliques(self) -> list[tuple[str, ...]]:
        """The variables of each clique, by name."""
        tree = self.clique_tree or CliqueTree((), ())
        names = np.array(self.names, object)
        return [tuple(names[list(clique)]) for clique in tree.cliques]

    def check(self, problem: Problem) -> None:
        """Recompute everything from the problem.

        Raises
        ------
        CheckError
            As for other results; and when the clique tree is none of the network, or one of its
            cliques has more configurations than allowed.
        """
        sizes = np.array(self.cardinalities)
        super().check(small_families(problem, sizes, self.max_clique))
        if self.parents is not None:
            tree = self.clique_tree or CliqueTree((), ())
            tree.check(self)
        if self.largest_clique > self.max_clique:
            raise CheckError(
                f"a clique has {self.largest_clique} configurations, but {self.max_clique} are "
                "allowed"
            )


def bounded_cliques(
    problem: Problem,
    cardinalities: Sequence[int] | NDArray[np.int64],
    max_clique: int,
    *,
    time_limit: float | None = None,
    gap: float = 0.0,
    seed: int = 0,
    on_event: OnEvent | None = None,
    **options: Any,
) -> BoundedCliques:
    """Search for the best network whose triangulated moral graph has small cliques only.

    Parameters
    ----------
    problem
        Candidates and constraints on arcs.
    cardinalities
        Number of states of each variable, shape (n,).
    max_clique
        Configurations that a clique may have: product of the numbers of states of its variables.
    time_limit
        Seconds, which are used up unless the gap is closed; without it, the search ends by itself.
    gap, seed, on_event, options
        As for :func:`~exactlearn.solvers.solve`, which bounds the score.

    Returns
    -------
    BoundedCliques
        ``optimal`` when the score meets the bound, else ``feasible``, or ``interrupted``.

    Raises
    ------
    OptionError
        When a variable has more states than a clique may have configurations, or a constraint is
        not on arcs.
    """
    sizes = np.asarray(cardinalities)
    _require_suitable(problem, sizes, max_clique)
    control = SearchControl(time_limit, on_event)
    with control.running():
        # The best network without a bound on cliques bounds the score.
        small = small_families(problem, sizes, max_clique)
        limit = control.part(BOUND_SHARE).remaining
        unbounded = solve(small, time_limit=limit, gap=gap, seed=seed, **options)
        search = CliqueSearch(small, sizes, max_clique, unbounded.bound, control)

        # It is the answer if its cliques are small; else annealing begins with few arcs.
        if unbounded.parents is not None and not search.begin(unbounded.parents):
            n_parents = np.diff(search.problem.member_first)
            sparse = solve(replace(search.problem, scores=-1.0 * n_parents))
            search.begin(sparse.parents or ())
        rng = np.random.default_rng(seed)
        is_over = search.chain is None
        while not is_over and search.gap > gap and control.goes_on():
            search.step(rng)
            is_over = time_limit is None and search.length > MAX_MOVES
    result = search.result(unbounded)
    result.check(problem)
    return result


def small_families(
    problem: Problem, cardinalities: NDArray[np.int64], max_clique: int
) -> Problem:
    """Return the problem with the candidates whose families have few enough configurations."""
    return problem.select(family_cells(problem, cardinalities) <= max_clique)


def _require_suitable(
    problem: Problem, cardinalities: NDArray[np.int64], max_clique: int
) -> None:
    """Refuse a bound that no network meets, and constraints on the whole network."""
    largest = int(cardinalities.argmax())
    if max_clique < cardinalities[largest]:
        raise OptionError(
            f"max_clique: expected at least the {cardinalities[largest]:g} states of "
            f"{problem.names[largest]!r}, found {max_clique}; pass a larger number"
        )
    for constraint in problem.overall_constraints:
        described = constraint.describe(problem.names)
        raise OptionError(
            f"max_clique: expected constraints on arcs, found {described!r}; leave out one of both"
        )


class CliqueSearch:
    """The state of an annealing search between two rounds.

    Attributes
    ----------
    problem
        The candidates, those of each variable by falling score.
    chain
        The best network so far; ``None`` before the first.
    length
        Moves of the next round.
    nodes
        Moves so far.

    Parameters
    ----------
    problem, cardinalities, max_clique
        As for :func:`bounded_cliques`.
    bound
        No network scores more.
    control
        Limits and reports.
    """

    def __init__(
        self,
        problem: Problem,
        cardinalities: NDArray[np.int64],
        max_clique: int,
        bound: float,
        control: SearchControl,
    ) -> None:
        self.problem = CandidateTable.by_score(problem).problem
        self.cardinalities = cardinalities
        self.max_clique = max_clique
        self.bound = bound
        self.control = control
        self.chain: Chain | None = None
        self.length = FIRST_MOVES
        self.nodes = 0
        control.state = self.event
        # Families in rows of one length, filled up with their children.
        sizes = np.diff(self.problem.member_first)
        families = np.repeat(self.problem.child[:, None], sizes.max(initial=0) + 1, 1)
        families[np.arange(families.shape[1]) < sizes[:, None]] = self.problem.members
        self.candidates = Candidates(
            first=self.problem.first,
            losses=-self.problem.relative.scores,
            families=families.astype(np.int64),
            cardinalities=cardinalities.astype(np.float64),
        )

    @property
    def parents(self) -> tuple[tuple[int, ...], ...] | None:
        """Parents of each variable in the best network so far."""
        if self.chain is None:
            return None
        return self.problem.parent_sets(self.chain.best[0])

    @property
    def score(self) -> float:
        """Score of the best network so far."""
        return -inf if self.parents is None else self.problem.total(self.parents)

    @property
    def gap(self) -> float:
        """Difference of bound and score in nats."""
        return gap_between(self.score, self.bound)

    def event(self) -> Event:
        """Return the state of the search, to be reported."""
        seconds = self.control.seconds
        return Event(seconds, self.score, self.bound, self.nodes, self.parents)

    def begin(self, parents: Sequence[Sequence[int]]) -> bool:
        """Begin at a network if its cliques are small; return whether they are."""
        order = best_elimination_order(moral_graph(parents), self.cardinalities)
        network = np.array([self.problem.selection(parents), order])
        if not is_within_along(
            self.candidates, network[0], network[1], self.max_clique
        ):
            return False
        loss = self.candidates.losses[network[0]].sum(keepdims=True)
        self.chain = Chain(network, network.copy(), loss)
        self.control.record()
        return True

    def step(self, rng: np.random.Generator) -> None:
        """Do one round: heat the network, and let it cool down again."""
        assert self.chain is not None
        begun = self.control.seconds
        heat = HEAT * self.candidates.losses.mean() + TOLERANCE
        temperatures = np.geomspace(heat, COLD * heat, self.length)
        for block in np.array_split(temperatures, self.length // BLOCK + 1):
            before = float(self.chain.loss[0])
            anneal(self.candidates, self.chain, float(self.max_clique), block, rng)
            self.nodes += len(block)
            if self.chain.loss[0] < before:
                self.control.record()
            if not self.control.goes_on():
                return
        # Twice as many moves, but no more than there is time for.
        pace = self.length / (self.control.seconds - begun)
        self.length = int(min(2 * self.length, pace * self.control.left)) + 1

    def result(self, unbounded: Result) -> BoundedCliques:
        """Return the result, given that without a bound on cliques."""
        fields = vars(unbounded) | {"parents": self.parents, "score": self.score}
        fields |= {"seconds": self.control.seconds, "trace": tuple(self.control.trace)}
        # Without any network, there is no solution, or the time was too short.
        if self.chain is not None and self.parents is not None:
            order = self.chain.best[1].tolist()
            fields["clique_tree"] = CliqueTree.along(self.parents, order)
            is_closed = self.gap <= unbounded.gap_limit
            fields["status"] = "optimal" if is_closed else self.control.status
        elif unbounded.parents is not None:
            fields["status"] = self.control.status
            fields["message"] = "no network was found with cliques as small as that"
        if self.nodes:
            message = "the bound is of all networks of families as small as that"
            fields |= {"solver": "annealing", "nodes": self.nodes, "message": message}
        return BoundedCliques(
            **fields,
            max_clique=self.max_clique,
            cardinalities=tuple(self.cardinalities.tolist()),
        )
