"""Search for the forest over which a network's decision graph is smallest.

Each connected part of the network begins with the forest of a clique tree that has the smallest
expanded size, over all cliques as its root. For a small part, a dynamic program over all
arrangements of all sets finds the smallest forest (theorem *Groupings of components*,
docs/theory/decision_graphs.md). Otherwise an annealing chain improves the first one
(`exactlearn.pdg.compile.annealing`) in rounds; after each one all subtrees that were met are joined
to the best forest they make, from which the next one starts. All decisions depend on counts and
the seed only, so a limit of steps always gives the same forest; a time limit or Ctrl-C ends with
the best forest found so far.

Chains from 4 of the best of 24 such forests, half as long, found no smaller graphs on the whole:
ALARM 1,026 (as now), CHILD 614 (606), HAILFINDER 7,486 (7,506), INSURANCE 14,121 (14,091), WIN95PTS
2,406 (2,188).

Exact windows in place of annealing (two to four variables at the top of a subtree, or a single one
anywhere in it, solved by branch and bound over sets) found, in the same time and by the means of
three seeds, CHILD 611 (606 by annealing), HAILFINDER 7,744 (7,519), INSURANCE 14,093 (14,091),
PATHFINDER 13,808 (13,803), but HEPAR2 4,133 (4,210), WATER 27,140 (29,600), WIN95PTS 2,290 (2,352),
in 80 lines more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle
from math import inf, prod

import numpy as np

from exactlearn._runtime.compilation_notice import clock
from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.cliques import CliqueTree
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.errors import TooLargeError
from exactlearn.graphs.dag import moral_graph
from exactlearn.pdg.compile.annealing import TEMPERATURES, Annealing, SetTables
from exactlearn.pdg.compile.expansion import Expansion, least_cells
from exactlearn.pdg.compile.residuals import Residuals, mask_of
from exactlearn.pdg.model.forest import (
    VariableForest,
    clique_orders,
    components,
    forest_over,
    variable_forest,
)

ROUND = 2000
"""Moves of each round."""

STEPS = 30_000
STEPS_EACH = 1_000
WORK = 24_000_000
"""Moves in each part of a network and for each of its variables, and cells of tables, after which
the search ends when neither steps nor seconds are given."""

MOST_PROVEN = 8
MOST_JOINT = 10_000
"""Variables of a part, and cells of its joint distribution, up to which all forests are looked at:
it takes a quarter of a second at most."""

MOST_ANNEALED = 4_000_000
"""Cells before merging of the largest graph whose forest is annealed."""

KEEPING = 2.0
"""Time of a build that keeps the signatures for a chain, as a multiple of one that does not."""


@dataclass(frozen=True)
class IterationBudget:
    """Limits of a search.

    Parameters
    ----------
    control
        The clock, for all parts together, and the wish to stop.
    steps, time_limit
        Moves in each connected part; without them the time limit, which is that of the control, is
        used up, and without either the search is short.
    seed
        Seed of the search.
    on_event
        Called with the effective size of the first graph, which the search returns from then on,
        and of each smaller one.
    on_graph
        Called at the same moments with the size and what builds the graph's parts; not where there
        is no time for that.
    after
        Seconds that each cell of the graph takes after the search: of a time limit they are kept.
    """

    control: SearchControl
    steps: int | None = None
    time_limit: float | None = None
    seed: int = 0
    on_event: Callable[[int], None] | None = None
    on_graph: Callable[[int, Callable[[], tuple[Expansion, ...]]], None] | None = None
    after: float = 0.0


@dataclass(frozen=True)
class ForestResult:
    """The result of a search for a forest.

    Parameters
    ----------
    built
        The smallest graph found, part by part.
    finished
        Whether the search ended by itself or its limits, not by Ctrl-C.
    steps
        How many moves were made.
    is_optimal
        Whether no forest has a smaller graph.
    """

    built: tuple[Expansion, ...]
    finished: bool
    steps: int
    is_optimal: bool = False

    @property
    def status(self) -> str:
        """``optimal``, ``feasible`` or ``interrupted``."""
        if self.is_optimal:
            return "optimal"
        return "feasible" if self.finished else "interrupted"


def first_forests(
    network: BayesianNetwork,
    tree: CliqueTree,
    until: float = np.inf,
) -> list[VariableForest]:
    """Return the best forest of a clique tree for each connected part, largest part first.

    Parameters
    ----------
    tree
        Clique tree of the network.
    until
        Time of the clock from which the first clique of a part is its root.
    """
    adjacency = moral_graph(network.parents)
    r = network.cardinalities.tolist()
    best = []
    for part in sorted(components(adjacency), key=len, reverse=True):
        forests: list[VariableForest] = []
        for order in clique_orders(tree, r, part):
            if forests and clock() > until:
                break
            forests.append(variable_forest(adjacency, order))
        best.append(min(forests, key=lambda forest: forest.expanded_size(r)))
    return best


class ForestSearch:
    """The search over the forests of one network.

    Parameters
    ----------
    network
        The network.
    forests
        A tree of each part, or several together, to start from.
    budget
        How long to search.
    max_cells
        Most cells of a graph before merging.
    until
        Time of the clock when graphs to start from that are not built are given up.

    Raises
    ------
    TooLargeError
        If the graph over some tree does not fit, or is not built in time.
    """

    def __init__(
        self,
        network: BayesianNetwork,
        forests: Sequence[VariableForest],
        budget: IterationBudget,
        max_cells: float,
        *,
        until: float = np.inf,
    ) -> None:
        self._network = network
        self._budget = budget
        self._control = budget.control
        self._adjacency = moral_graph(network.parents)
        self._residuals = Residuals(network)
        self._rng = np.random.default_rng(budget.seed)
        self._steps = 0
        started = clock()
        self._first = [self._build(forest, max_cells, until) for forest in forests]
        self._cells = sum(built.cells for built in self._first)
        self._seconds = clock() - started
        self._forests = list(forests)
        self._smallest = [built.effective_size for built in self._first]
        self._report()

    def run(self) -> ForestResult:
        """Search, part by part, and build the smallest forests."""
        is_optimal = self._budget.steps != 0
        for i, built in enumerate(self._first if is_optimal else ()):
            if not self._prove(i):
                is_optimal = False
                if built.cells <= MOST_ANNEALED:
                    self._anneal(i)
        return ForestResult(
            self._built(),
            not self._control.is_stopped,
            self._steps,
            is_optimal,
        )

    def _build(
        self,
        forest: VariableForest,
        max_cells: float,
        until: float,
    ) -> Expansion:
        """Build a graph, unless samples say that it is too large almost surely."""
        if forest.expanded_size(self._residuals.cardinalities) > max_cells:
            for cells in least_cells(self._residuals, forest, np.random.default_rng(0)):
                if cells > max_cells:
                    raise TooLargeError(
                        f"more than {max_cells:,} cells before merging, by samples"
                    )
                if clock() > until:
                    raise TooLargeError(
                        "the time is up before the cells are counted by samples"
                    )
        return Expansion(self._residuals, forest, max_cells, until=until)

    def _built(self) -> tuple[Expansion, ...]:
        """Build the smallest forests so far."""
        built = list(self._first)
        for i, forest in enumerate(self._forests):
            if forest is not built[i].forest:
                built[i] = Expansion(self._residuals, forest)
        return tuple(built)

    def _prove(self, part: int) -> bool:
        """Find the smallest forest of a part, if it is small enough for all to be looked at."""
        order = sorted(self._forests[part].order)
        cells = prod(self._residuals.cardinalities[v] for v in order)
        if len(order) > MOST_PROVEN or cells > MOST_JOINT or self._control.is_over:
            return False
        tables = SetTables(self._residuals)
        tables.meet_all(self._network, order, self._adjacency)
        self._update(part, tables)
        return True

    def _anneal(self, part: int) -> None:
        """Improve the forest of a part in rounds."""
        tables = SetTables(self._residuals)
        is_stopped = self._stop(part, tables)
        fraction = self._first[part].cells / max(1, self._cells)
        if KEEPING * self._seconds * fraction >= self._control.left:
            return
        for temperatures in cycle(TEMPERATURES):
            if is_stopped(0):
                return
            chain = Annealing(tables, self._adjacency, self._forests[part])
            chain.run(self._rng, ROUND, temperatures, is_stopped)
            self._update(part, tables)

    def _stop(self, part: int, tables: SetTables) -> Callable[[int], bool]:
        """Return a function that counts moves and returns whether a part's budget is used up."""
        budget = self._budget
        is_short = budget.steps is None and budget.time_limit is None
        left = inf if budget.steps is None else budget.steps
        if is_short:
            left = min(STEPS, STEPS_EACH * len(self._forests[part].order))
        # The parts that are left get time by their sizes; building and what follows comes off.
        fraction = self._smallest[part] / max(1, sum(self._smallest[part:]))
        ending = self._seconds + budget.after * sum(self._smallest)
        until = clock() + max(0.0, self._control.left - ending) * fraction

        def is_stopped(moves: int) -> bool:
            nonlocal left
            left -= moves
            self._steps += moves
            is_spent = left <= 0 or (is_short and tables.work > WORK)
            return is_spent or self._control.is_stopped or clock() > until

        return is_stopped

    def _update(self, part: int, tables: SetTables) -> None:
        """Take over the smallest forest that the arrangements met make, if it is smaller."""
        variables = sorted(self._forests[part].order)
        size, parents = tables.smallest(mask_of(variables))
        if size < self._smallest[part]:
            self._smallest[part] = size
            self._forests[part] = forest_over(self._adjacency, parents, variables)
            self._report()

    def _report(self) -> None:
        """Report the smallest graph so far, if there is time to build and keep it."""
        size = sum(self._smallest)
        if self._budget.on_event is not None:
            self._budget.on_event(size)
        seconds = KEEPING * (self._seconds + self._budget.after * size)
        if self._budget.on_graph is not None and seconds < self._control.left:
            self._budget.on_graph(size, self._built)
