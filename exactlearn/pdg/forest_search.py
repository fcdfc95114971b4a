"""Search for the forest over which a network's decision graph is smallest.

Each connected part of the network has a tree of its own. Every clique of a clique tree gives a
forest with it as the root (`exactlearn.pdg.variable_forest`); those with the smallest expanded
sizes are built, and the smallest of these are improved by annealing (`exactlearn.pdg.
forest_anneal`). After each round of walks, all pieces that they met are joined to the best forest
they make (`exactlearn.pdg.forest_pieces`), from where the next walk begins, beside one from
another start. All decisions depend on counts and the seed only, so a limit of steps always gives
the same forest; a time limit or Ctrl-C keeps the best forest found so far.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

import numpy as np

from exactlearn.cliques import CliqueTree
from exactlearn.graph import moral_graph
from exactlearn.network import BayesianNetwork
from exactlearn.pdg.expansion import Expansion
from exactlearn.pdg.forest_anneal import Annealing, SetTables
from exactlearn.pdg.residuals import Residuals, mask_of
from exactlearn.pdg.variable_forest import (
    VariableForest,
    clique_orders,
    components,
    forest_over,
    variable_forest,
)

RIVALS = 1
"""How many other forests walk beside the best one in later rounds, to find more pieces."""

STARTS = 4
"""How many forests are improved at first."""

MAX_BUILT = 24
"""Most forests that are built to find these."""

MAX_BUILT_CELLS = 3_000_000
"""Cells before merging, all forests together, after which no other is built to find these."""

STEPS = 5000
"""Moves of one walk."""

DEFAULT_STEPS = 10_000
"""Moves in each part of a network when neither steps nor seconds are given."""

DEFAULT_WORK = 8_000_000
"""Cells of tables after which walks end when neither steps nor seconds are given."""

MAX_WALKED = 4_000_000
"""Cells before merging of the largest graph that is improved by walks."""

HEATS = ((0.01, 0.0005), (0.02, 0.001), (0.005, 0.0005))
"""First and last heat of walks, one after the other."""


@dataclass(frozen=True)
class Effort:
    """How long to search.

    Parameters
    ----------
    steps
        Moves in each connected part; no limit when left out and a time limit is given.
    time_limit
        Seconds for all parts together.
    seed
        Seed of all walks.
    on_event
        Told the effective size of the whole graph whenever a smaller one is found.
    """

    steps: int | None = None
    time_limit: float | None = None
    seed: int = 0
    on_event: Callable[[int], None] | None = None


@dataclass(frozen=True)
class Start:
    """The forests of one connected part before anything is built.

    Parameters
    ----------
    part
        Its variables.
    forests
        Expanded size and forest, smallest first.
    """

    part: tuple[int, ...]
    forests: tuple[tuple[int, VariableForest], ...]


def starts(network: BayesianNetwork, tree: CliqueTree, root: int) -> list[Start]:
    """Return the forests that a clique tree gives for each connected part, largest part first.

    Parameters
    ----------
    tree
        Clique tree of the network.
    root
        Variable that must be a root, or -1.
    """
    adjacency = moral_graph(network.parents)
    cardinalities = network.cardinalities.tolist()
    found = []
    for part in sorted(components(adjacency), key=len, reverse=True):
        orders = clique_orders(tree, cardinalities, part, root if root in part else -1)
        forests = {variable_forest(adjacency, order): 0 for order in orders}
        sized = [(forest.expanded_size(cardinalities), forest) for forest in forests]
        found.append(Start(part, tuple(sorted(sized, key=lambda pair: pair[0]))))
    return found


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
    effort
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
        effort: Effort,
        max_cells: float,
    ) -> None:
        limit = np.inf if effort.time_limit is None else effort.time_limit
        self._deadline = monotonic() + limit
        self._effort, self._root, self._max_cells = effort, root, max_cells
        self._adjacency = moral_graph(network.parents)
        self._residuals = Residuals(network)
        self._rng = np.random.default_rng(effort.seed)
        self._steps = 0
        self._parts = parts
        self._first = [self._build_starts(part) for part in parts]
        self._smallest = [built[0].effective_size for built in self._first]

    def run(self) -> Found:
        """Search, part by part, and build the smallest forests."""
        finished, forests = True, [built[0].forest for built in self._first]
        for i, built in enumerate(self._first):
            if not finished or len(built[0].forest.order) < 3:
                continue
            walks: list[Annealing] = []
            try:
                self._walk(i, walks, built)
            except KeyboardInterrupt:
                finished = False
            best = min(walks, key=lambda walk: walk.smallest, default=None)
            if best is not None and best.smallest < built[0].effective_size:
                forests[i] = forest_over(self._adjacency, best.best, forests[i].order)
        return Found(
            tuple(self._rebuilt(i, f) for i, f in enumerate(forests)), finished, self._steps
        )

    def _rebuilt(self, part: int, forest: VariableForest) -> Expansion:
        first = self._first[part][0]
        return first if forest is first.forest else Expansion(self._residuals, forest)

    def _build_starts(self, start: Start) -> list[Expansion]:
        """Build the most promising forests, at least one; return them smallest first."""
        built: list[Expansion] = []
        cells = 0
        for _, forest in start.forests[:MAX_BUILT]:
            built.append(Expansion(self._residuals, forest, self._max_cells))
            cells += built[-1].cells
            if cells > MAX_BUILT_CELLS or monotonic() > self._deadline:
                break
        return sorted(built, key=lambda expansion: expansion.effective_size)

    def _walk(self, part: int, walks: list[Annealing], built: Sequence[Expansion]) -> None:
        """Improve the best starts in rounds; ``walks`` is filled for the case of Ctrl-C."""
        tables = SetTables(self._residuals)
        stopped = self._stop(part, walks, tables)
        fresh = [b.forest for b in built if b.cells <= MAX_WALKED]
        for forest in fresh[:STARTS]:
            if stopped(0):
                break
            walks.append(Annealing(tables, self._adjacency, forest, self._root))
        round_ = 0
        while walks and not stopped(0):
            for k, walk in enumerate(walks):
                walk.run(self._rng, STEPS, HEATS[(round_ + k) % len(HEATS)], stopped)
                self._tell(part, walk.smallest)
            walks[:] = [self._joined(part, tables)]
            self._tell(part, walks[0].smallest)
            round_ += 1
            for k in range(RIVALS):
                forest = fresh[(STARTS + round_ * RIVALS + k) % len(fresh)]
                walks.append(Annealing(tables, self._adjacency, forest, self._root))

    def _joined(self, part: int, tables: SetTables) -> Annealing:
        """Return a walk that begins at the best forest that the pieces of all walks make."""
        variables = self._parts[part].part
        parents = tables.pieces.smallest(tables.nodes, mask_of(variables), self._root)
        above = [parents.get(v, -1) for v in range(len(self._adjacency))]
        forest = forest_over(self._adjacency, above, variables)
        return Annealing(tables, self._adjacency, forest, self._root)

    def _stop(
        self, part: int, walks: Sequence[Annealing], tables: SetTables
    ) -> Callable[[int], bool]:
        """Return what counts moves, and tells that a part's share of the effort is used up."""
        limited = self._effort.steps is not None or self._effort.time_limit is not None
        left = [(self._effort.steps if limited else DEFAULT_STEPS) or 0]
        counted = not limited or self._effort.steps is not None
        now = monotonic()
        share = self._smallest[part] / max(1, sum(self._smallest[part:]))
        until = now + max(0.0, self._deadline - now) * share

        def stopped(made: int) -> bool:
            left[0] -= made
            self._steps += made
            tables.drop_unused([walk.tree for walk in walks])
            if (counted and left[0] <= 0) or (not limited and tables.work > DEFAULT_WORK):
                return True
            return monotonic() > until

        return stopped

    def _tell(self, part: int, size: int) -> None:
        if size < self._smallest[part]:
            self._smallest[part] = size
            if self._effort.on_event is not None:
                self._effort.on_event(sum(self._smallest))
