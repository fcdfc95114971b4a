"""The forests that a search begins with: one for each clique of a clique tree as its root.

Each connected part of the network has a tree of its own (`exactlearn.pdg.compile.variable_forest`).
Those with the smallest expanded sizes are built, as long as there is time, and the smallest graphs
win.

Before a graph is built, samples bound its cells from below: few equal pairs of sampled signatures
show that there are many signatures (theorem *Few equal samples*, docs/theory/decision_graphs.md).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.compilation_notice import clock
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.hash_tables import index_rows
from exactlearn.bayesnet.cliques import CliqueTree
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.errors import TooLargeError
from exactlearn.graphs.dag import moral_graph
from exactlearn.pdg.compile.expansion import Descent, Expansion
from exactlearn.pdg.compile.residuals import Residuals
from exactlearn.pdg.compile.variable_forest import (
    VariableForest,
    clique_orders,
    components,
    variable_forest,
)


@dataclass(frozen=True, kw_only=True)
class StartParameters:
    """Tuning constants of the forests that a search begins with.

    Parameters
    ----------
    most_built
        Most forests that are built to find where to start.
    most_cells
        Cells before merging, all forests together, after which no other is built to find these.
    time_share
        Share of the time left that a build may take by the speed of those before.
    samples
        More samples bound larger graphs: by about half of their square, over
        ``expected_pairs``.
    expected_pairs
        Equal pairs of samples to expect at least where there is none: with 30 that has a
        probability of 1e-13.
    """

    most_built: int = 24
    most_cells: int = 3_000_000
    time_share: float = 0.5
    samples: int = 30_000
    expected_pairs: float = 30.0


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


class Builder:
    """Builds graphs over forests, and predicts how long that takes.

    Parameters
    ----------
    residuals
        The network's residuals.
    max_cells
        Most cells of a graph before merging.
    control
        The clock of the search, and the wish to stop it.
    parameters
        Tuning constants.
    """

    def __init__(
        self,
        residuals: Residuals,
        max_cells: float,
        control: SearchControl,
        parameters: StartParameters,
    ) -> None:
        self.residuals, self.control, self.parameters = residuals, control, parameters
        self._max_cells = max_cells
        self._cells, self._seconds = 0, 0.0

    def build(self, forest: VariableForest, *, in_time: bool = False) -> Expansion | None:
        """Return the expansion of a forest.

        Parameters
        ----------
        in_time
            Give up, and return nothing, where the limit would be missed or it is too large.

        Raises
        ------
        TooLargeError
            When there would be too many cells, unless it is to be ``in_time``.
        """
        started = clock()
        left = self._max_cells
        if in_time and self.control.left < np.inf:
            speed = self._cells / max(self._seconds, 1e-9)
            left = self.parameters.time_share * self.control.left * speed
        if left <= 0:
            return None
        if not in_time:
            self._refuse(forest)
        try:
            built = Expansion(self.residuals, forest, min(self._max_cells, left))
        except TooLargeError:
            if in_time:
                return None
            raise
        self._cells += built.cells
        self._seconds += clock() - started
        return built

    def _refuse(self, forest: VariableForest) -> None:
        """Raise before a graph is built that is too large almost surely."""
        if forest.expanded_size(self.residuals.cardinalities) <= self._max_cells:
            return
        samples = least_cells(
            Descent(self.residuals, forest), np.random.default_rng(0), self.parameters
        )
        if any(cells > self._max_cells for cells in samples):
            raise TooLargeError(f"more than {self._max_cells:,} cells before merging, by samples")

    def seconds(self, cells: int) -> float:
        """Return about how long it takes to build so many cells before merging."""
        return cells * self._seconds / max(1, self._cells)

    def first(self, start: Start) -> Expansion:
        """Build the most promising forest."""
        built = self.build(start.forests[0][1])
        assert built is not None, "only what is to be in time is given up"
        return built

    def others(self, start: Start, first: Expansion, until: float) -> list[Expansion]:
        """Build further promising forests, up to a moment; return all, smallest first."""
        built = [first]
        for _, forest in start.forests[1 : self.parameters.most_built]:
            enough = sum(b.cells for b in built) > self.parameters.most_cells
            if enough or self.control.is_stopped or clock() > until:
                break
            made = self.build(forest, in_time=True)
            if made is None:
                break
            built.append(made)
        return sorted(built, key=lambda expansion: expansion.effective_size)


def build_starts(
    builder: Builder,
    parts: Sequence[Start],
    until: float,
    on_first: Callable[[Sequence[Expansion]], None],
) -> list[list[Expansion]]:
    """Build the starts of all parts; return them smallest first.

    The most promising one of each part comes first, with which ``on_first`` is called; after the
    moment ``until``, or when the search is stopped, no others are built.
    """
    first = [builder.first(part) for part in parts]
    on_first(first)
    return [builder.others(part, own, until) for part, own in zip(parts, first, strict=True)]


def least_cells(
    descent: Descent, rng: np.random.Generator, parameters: StartParameters
) -> Iterator[float]:
    """Yield how many cells the variables so far have at least, almost surely.

    Parameters
    ----------
    descent
        The network's residuals over a forest.
    rng
        Draws the states.
    parameters
        How many samples, and the equal pairs to expect among them.

    Yields
    ------
    A rising bound after each variable, in the forest's order.
    """
    forest, cells = descent.forest, 0.0
    none = np.empty((parameters.samples, 0), np.int32)
    signatures = {v: none for v in forest.order if forest.parents[v] < 0}
    for v in forest.order:
        mine = signatures.pop(v)
        children = forest.children[v]
        width = descent.residuals.cardinalities[v] * max(1, len(children))
        cells += least_signatures(mine, parameters.expected_pairs) * width
        yield cells
        conditioned = descent.condition(v, mine)
        live = rng.random(conditioned.weights.shape) * (conditioned.weights > 0)
        drawn = (live == live.max(axis=1, keepdims=True)) * live
        for child in children:
            signatures[child] = conditioned.below(descent.families[child], drawn)[0]


def least_signatures(met: NDArray[np.int32], expected_pairs: float) -> float:
    """Return how many different signatures there are at least, almost surely, by samples."""
    labels, first, _ = index_rows(met)
    visits = np.bincount(labels).astype(np.float64)
    n, meetings = len(met), float((visits * (visits - 1)).sum()) / 2
    return max(float(len(first)), n * (n - 1) / (2 * (2 * meetings + expected_pairs)))
