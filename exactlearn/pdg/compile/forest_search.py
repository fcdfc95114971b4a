"""Search for the forest over which a network's decision graph is smallest.

The smallest of the first forests (`exactlearn.pdg.compile.forest_starts`) are improved by annealing
chains (`exactlearn.pdg.compile.annealing`). After each round, all subtrees that the chains met are
joined to the best forest they make, from which the next chain starts, beside one from another first
forest. All decisions depend on counts and the seed only, so a limit of steps always gives the same
forest; a time limit or Ctrl-C ends with the best forest found so far.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

import numpy as np

from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.graphs.dag import moral_graph
from exactlearn.pdg.compile.annealing import Annealing, SetTables
from exactlearn.pdg.compile.expansion import Expansion
from exactlearn.pdg.compile.forest_starts import Builder, Start, build_starts
from exactlearn.pdg.compile.residuals import Residuals, mask_of
from exactlearn.pdg.compile.variable_forest import VariableForest, forest_over

TRIANGULATION, STARTING = 0.2, 0.4
"""Shares of the seconds after which the clique tree is taken as it is, and the first forests."""

OTHER_STARTS = 1
"""Chains of each later round that start from another first forest, to meet more arrangements."""

STARTS = 4
"""How many forests are improved at first."""

FIRST_STEPS, STEPS = 1000, 2000
"""Moves of each chain in the first round, twice as many in each round, and at most."""

DEFAULT_STEPS = 10_000
"""Moves in each part of a network when neither steps nor seconds are given."""

DEFAULT_WORK = 8_000_000
"""Cells of tables after which the search ends when neither steps nor seconds are given."""

MAX_ANNEALED = 4_000_000
"""Cells before merging of the largest graph whose forest is annealed."""

KEEPING = 2
"""How many times longer a build takes that keeps the signatures, with all that a chain needs."""

TEMPERATURES = ((0.01, 0.0005), (0.02, 0.001), (0.005, 0.0005), (0.1, 0.001))
"""First and last temperatures of the chains, in turn."""


@dataclass(frozen=True)
class IterationBudget:
    """How long to search.

    Parameters
    ----------
    control
        The clock, for all parts together, and the wish to stop.
    steps
        Moves in each connected part; without them the time is used up if ``timed``, else the
        search is short.
    timed
        Whether the control has a time limit that is meant to be used up.
    seed
        Seed of the search.
    on_event
        Called with the effective size of the whole graph whenever a smaller one is found.
    on_graph
        Called with the size of the first graph and each smaller one, and what builds its parts.
    """

    control: SearchControl
    steps: int | None = None
    timed: bool = False
    seed: int = 0
    on_event: Callable[[int], None] | None = None
    on_graph: Callable[[int, Callable[[], Sequence[Expansion]]], None] | None = None

    @property
    def starting_deadline(self) -> float:
        """When to start annealing from the forests that are built, by the monotonic clock."""
        return self.control.begun + STARTING * (self.control.deadline - self.control.begun)


@dataclass(frozen=True)
class Found:
    """What a search found.

    Parameters
    ----------
    built
        The smallest graph found, part by part.
    finished
        Whether the search ended by itself or its limits, not by Ctrl-C.
    steps
        How many moves were made.
    """

    built: tuple[Expansion, ...]
    finished: bool
    steps: int


class ForestSearch:
    """The search over the forests of one network.

    Parameters
    ----------
    network
        The network.
    parts
        As `starts` gives them.
    root
        Variable that must be a root, or -1.
    budget
        How long to search.
    max_cells
        Most cells of a graph before merging.

    Raises
    ------
    TooLargeError
        If no start of some part fits.
    """

    def __init__(
        self,
        network: BayesianNetwork,
        parts: Sequence[Start],
        root: int,
        budget: IterationBudget,
        max_cells: float,
    ) -> None:
        self._budget, self._control = budget, budget.control
        self._root, self._parts = root, parts
        self._adjacency = moral_graph(network.parents)
        self._residuals = Residuals(network)
        self._rng = np.random.default_rng(budget.seed)
        self._steps = 0
        self._builder = Builder(self._residuals, max_cells, self._control)
        self._first = build_starts(
            self._builder,
            parts,
            budget.starting_deadline,
            lambda first: self._report(first, sum(b.effective_size for b in first), lambda: first),
        )
        self._forests = [built[0].forest for built in self._first]
        self._smallest = [built[0].effective_size for built in self._first]

    def run(self) -> Found:
        """Search, part by part, and build the smallest forests."""
        self._report_smaller()
        for i, built in enumerate(self._first):
            if len(built[0].forest.order) < 3:
                continue
            best = min(self._anneal(i, built), key=lambda chain: chain.smallest, default=None)
            if best is not None and best.smallest < built[0].effective_size:
                self._forests[i] = self._forest(i, best)
        return Found(self._built(), not self._control.is_stopped, self._steps)

    def _built(self) -> tuple[Expansion, ...]:
        """Build the smallest forests so far."""
        return tuple(self._rebuilt(i, forest) for i, forest in enumerate(self._forests))

    def _forest(self, part: int, chain: Annealing) -> VariableForest:
        """Return the best forest of a chain."""
        return forest_over(self._adjacency, chain.best, self._parts[part].part)

    def _rebuilt(self, part: int, forest: VariableForest) -> Expansion:
        first = self._first[part][0]
        return first if forest is first.forest else Expansion(self._residuals, forest)

    def _anneal(self, part: int, built: Sequence[Expansion]) -> list[Annealing]:
        """Improve the best starts in rounds; return the chains of the last round."""
        tables, chains = SetTables(self._residuals), list[Annealing]()
        stopped = self._stop(part, chains, tables)
        fresh = [b for b in built if b.cells <= MAX_ANNEALED]
        for start in fresh[:STARTS]:
            if stopped(0) or not self._in_time(start):
                break
            chains.append(Annealing(tables, self._adjacency, start.forest, self._root))
        round_ = 0
        while chains and not stopped(0):
            for k, chain in enumerate(chains):
                steps = min(STEPS, FIRST_STEPS << round_)
                chain.run(self._rng, steps, TEMPERATURES[(round_ + k) % len(TEMPERATURES)], stopped)
                self._update(part, chain)
            if self._control.is_stopped:
                break
            chains[:] = [self._joined(part, tables)]
            self._update(part, chains[0])
            round_ += 1
            for k in range(OTHER_STARTS):
                start = fresh[(STARTS + round_ * OTHER_STARTS + k) % len(fresh)]
                if self._in_time(start):
                    chains.append(Annealing(tables, self._adjacency, start.forest, self._root))
        return chains

    def _in_time(self, start: Expansion) -> bool:
        """Return whether a chain can be prepared before time is up."""
        seconds = KEEPING * self._builder.seconds(start.cells)
        return not self._control.is_stopped and seconds < self._control.left

    def _joined(self, part: int, tables: SetTables) -> Annealing:
        """Return a chain that begins at the best forest of the arrangements that all chains met."""
        variables = self._parts[part].part
        parents = tables.arrangements.smallest(tables.nodes, mask_of(variables), self._root)
        above = [parents.get(v, -1) for v in range(len(self._adjacency))]
        forest = forest_over(self._adjacency, above, variables)
        return Annealing(tables, self._adjacency, forest, self._root)

    def _stop(
        self, part: int, chains: Sequence[Annealing], tables: SetTables
    ) -> Callable[[int], bool]:
        """Return a function that counts moves and returns whether a part's budget is used up."""
        limited = self._budget.steps is not None or self._budget.timed
        left = [(self._budget.steps if limited else DEFAULT_STEPS) or 0]
        counted = not limited or self._budget.steps is not None
        now = monotonic()
        share = self._smallest[part] / max(1, sum(self._smallest[part:]))
        ending = self._builder.seconds(sum(built[0].cells for built in self._first))
        until = now + max(0.0, self._control.left - ending) * share

        def stopped(made: int) -> bool:
            left[0] -= made
            self._steps += made
            tables.drop_unused([chain.tree for chain in chains])
            if (counted and left[0] <= 0) or (not limited and tables.work > DEFAULT_WORK):
                return True
            return self._control.is_stopped or monotonic() > until

        return stopped

    def _update(self, part: int, chain: Annealing) -> None:
        if chain.smallest < self._smallest[part]:
            self._smallest[part] = chain.smallest
            self._forests[part] = self._forest(part, chain)
            if self._budget.on_event is not None:
                self._budget.on_event(sum(self._smallest))
            self._report_smaller()

    def _report_smaller(self) -> None:
        """Report the smallest graph so far."""
        first = [built[0] for built in self._first]
        self._report(first, sum(self._smallest), self._built)

    def _report(
        self, first: Sequence[Expansion], size: int, built: Callable[[], Sequence[Expansion]]
    ) -> None:
        """Report a graph about as large as the first one, if there is time to build it."""
        seconds = KEEPING * self._builder.seconds(sum(b.cells for b in first))
        if self._budget.on_graph is not None and seconds < self._control.left:
            self._budget.on_graph(size, built)
