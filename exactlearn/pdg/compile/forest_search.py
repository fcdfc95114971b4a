"""Search for the forest over which a network's decision graph is smallest.

The smallest of the first forests (`exactlearn.pdg.compile.forest_starts`) are improved by annealing
chains (`exactlearn.pdg.compile.annealing`). After each round, all subtrees that the chains met are
joined to the best forest they make, from which the next chain starts, beside one from another first
forest. All decisions depend on counts and the seed only, so a limit of steps always gives the same
forest; a time limit or Ctrl-C ends with the best forest found so far.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from exactlearn._runtime.compilation_notice import clock
from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.graphs.dag import moral_graph
from exactlearn.pdg.compile.annealing import Annealing, AnnealingParameters, SetTables
from exactlearn.pdg.compile.expansion import Expansion
from exactlearn.pdg.compile.forest_starts import Builder, Start, StartParameters, build_starts
from exactlearn.pdg.compile.residuals import Residuals, mask_of
from exactlearn.pdg.compile.variable_forest import VariableForest, forest_over


@dataclass(frozen=True, kw_only=True)
class ForestSearchParameters:
    """Tuning constants of the search for a forest.

    Parameters
    ----------
    triangulation, starting
        Shares of the time limit after which the clique tree is taken as it is, and the first
        forests.
    starts, other_starts
        How many forests are improved at first; chains of each later round that start from another
        first forest, to meet more arrangements.
    first_steps, most_steps
        Moves of each chain in the first round, twice as many in each round, and at most.
    default_steps, default_work
        Moves in each part of a network, and cells of tables, after which the search ends when
        neither steps nor seconds are given.
    most_annealed
        Cells before merging of the largest graph whose forest is annealed.
    keeping_factor
        Time of a build that keeps the signatures for a chain, as a multiple of one that does not.
    start, annealing
        Those of the first forests, and of the chains.
    """

    triangulation: float = 0.2
    starting: float = 0.4
    starts: int = 4
    other_starts: int = 1
    first_steps: int = 1000
    most_steps: int = 2000
    default_steps: int = 10_000
    default_work: int = 8_000_000
    most_annealed: int = 4_000_000
    keeping_factor: float = 2.0
    start: StartParameters = field(default_factory=StartParameters)
    annealing: AnnealingParameters = field(default_factory=AnnealingParameters)


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
    on_first
        Called once there is a graph, which the search returns from then on.
    on_graph
        Called with the size of the first graph and each smaller one, and what builds its parts;
        not where there is no time for that.
    after
        Seconds that each cell of the graph takes after the search: of a time limit they are kept.
    parameters
        Tuning constants.
    """

    control: SearchControl
    steps: int | None = None
    timed: bool = False
    seed: int = 0
    on_event: Callable[[int], None] | None = None
    on_first: Callable[[], None] | None = None
    on_graph: Callable[[int, Callable[[], Sequence[Expansion]]], None] | None = None
    after: float = 0.0
    parameters: ForestSearchParameters = field(default_factory=ForestSearchParameters)

    @property
    def starting_deadline(self) -> float:
        """When to start annealing from the forests that are built, by the clock of the control."""
        begun, share = self.control.begun, self.parameters.starting
        return begun + share * (self.control.deadline - begun)


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
        self._root, self._parts, self._parameters = root, parts, budget.parameters
        self._adjacency = moral_graph(network.parents)
        self._residuals = Residuals(network)
        self._rng = np.random.default_rng(budget.seed)
        self._steps = 0
        self._builder = Builder(self._residuals, max_cells, self._control, self._parameters.start)
        self._first = build_starts(
            self._builder, parts, budget.starting_deadline, self._report_first
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
        parameters, chains = self._parameters, list[Annealing]()
        tables = SetTables(self._residuals, parameters.annealing)
        temperatures = parameters.annealing.temperatures
        stopped = self._stop(part, chains, tables)
        fresh = [b for b in built if b.cells <= parameters.most_annealed]
        for start in fresh[: parameters.starts]:
            if stopped(0) or not self._in_time(start):
                break
            chains.append(Annealing(tables, self._adjacency, start.forest, self._root))
        round_ = 0
        while chains and not stopped(0):
            for k, chain in enumerate(chains):
                steps = min(parameters.most_steps, parameters.first_steps << round_)
                cooling = temperatures[(round_ + k) % len(temperatures)]
                chain.run(self._rng, steps, cooling, stopped)
                self._update(part, chain)
            if self._control.is_stopped:
                break
            chains[:] = [self._joined(part, tables)]
            self._update(part, chains[0])
            round_ += 1
            others = parameters.other_starts
            for k in range(others):
                start = fresh[(parameters.starts + round_ * others + k) % len(fresh)]
                if self._in_time(start):
                    chains.append(Annealing(tables, self._adjacency, start.forest, self._root))
        return chains

    def _in_time(self, start: Expansion) -> bool:
        """Return whether a chain can be prepared before time is up."""
        seconds = self._parameters.keeping_factor * self._builder.seconds(start.cells)
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
        left = [(self._budget.steps if limited else self._parameters.default_steps) or 0]
        counted = not limited or self._budget.steps is not None
        now = clock()
        share = self._smallest[part] / max(1, sum(self._smallest[part:]))
        ending = self._builder.seconds(sum(built[0].cells for built in self._first))
        ending += self._budget.after * sum(self._smallest)
        until = now + max(0.0, self._control.left - ending) * share

        def stopped(made: int) -> bool:
            left[0] -= made
            self._steps += made
            tables.drop_unused([chain.tree for chain in chains])
            if (counted and left[0] <= 0) or (
                not limited and tables.work > self._parameters.default_work
            ):
                return True
            return self._control.is_stopped or clock() > until

        return stopped

    def _update(self, part: int, chain: Annealing) -> None:
        if chain.smallest < self._smallest[part]:
            self._smallest[part] = chain.smallest
            self._forests[part] = self._forest(part, chain)
            if self._budget.on_event is not None:
                self._budget.on_event(sum(self._smallest))
            self._report_smaller()

    def _report_first(self, first: Sequence[Expansion]) -> None:
        if self._budget.on_first is not None:
            self._budget.on_first()
        self._report(first, sum(b.effective_size for b in first), lambda: first)

    def _report_smaller(self) -> None:
        """Report the smallest graph so far."""
        first = [built[0] for built in self._first]
        self._report(first, sum(self._smallest), self._built)

    def _report(
        self, first: Sequence[Expansion], size: int, built: Callable[[], Sequence[Expansion]]
    ) -> None:
        """Report a graph about as large as the first one, if there is time to build and keep it."""
        cells = sum(b.cells for b in first)
        seconds = self._builder.seconds(cells) + self._budget.after * size
        seconds *= self._parameters.keeping_factor
        if self._budget.on_graph is not None and seconds < self._control.left:
            self._budget.on_graph(size, built)
