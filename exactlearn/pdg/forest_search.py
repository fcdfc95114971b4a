"""Search for the forest over which a network's decision graph is smallest.

Expanded sizes are cheap to compute and merged sizes are what counts: every clique is tried as a
root, the best orders are improved by climbing, and the forests with the smallest expanded sizes
are built and merged, until a budget of cells is used up. The best of them are built once more
with children moved below leaves, which helps unless it prevents merging. All budgets are counts,
so the same network always gives the same graph.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from exactlearn.cliques import CliqueTree
from exactlearn.graph import moral_graph
from exactlearn.network import BayesianNetwork
from exactlearn.pdg.expansion import Expansion
from exactlearn.pdg.forest_climb import climb
from exactlearn.pdg.residuals import Residuals
from exactlearn.pdg.variable_forest import (
    VariableForest,
    chained,
    clique_orders,
    components,
    variable_forest,
)

MAX_FORESTS = 32
"""Most forests that are built for one connected part."""

MAX_CLIMBS = 16
"""Most orders that are improved by climbing, for one connected part."""

MAX_EVALUATED_PAIRS = 100_000_000
"""Work of all climbs of a part together: orders evaluated, times the square of their length."""

MAX_CHAINED = 8
"""Most of the built forests that are built again with children moved below leaves."""

MAX_CELLS = 5_000_000
"""Expanded cells, all forests of a part together, after which no other is built."""


@dataclass(frozen=True)
class TreeSearch:
    """The forests to try for one connected part of a network.

    Parameters
    ----------
    candidates
        Expanded size and forest, smallest first.
    """

    candidates: tuple[tuple[int, VariableForest], ...]

    @property
    def smallest_expanded(self) -> int:
        """Smallest expanded size."""
        return self.candidates[0][0]

    def smallest(self, network: BayesianNetwork) -> Expansion:
        """Build the most promising forests and return the smallest result, the first if equal."""
        first = _built(network, [forest for _, forest in self.candidates], MAX_FORESTS)
        chains = [chained(built.forest) for built in first[:MAX_CHAINED]]
        second = _built(network, chains, MAX_CHAINED)
        return min(first[:1] + second[:1], key=lambda built: built.effective_size)


def _built(
    network: BayesianNetwork, forests: Sequence[VariableForest], most: int
) -> list[Expansion]:
    """Build forests within the budget of cells, at least one; return them smallest first."""
    cardinalities = network.cardinalities.tolist()
    residuals = Residuals(network)
    built: list[Expansion] = []
    cells = 0
    for forest in list(dict.fromkeys(forests))[:most]:
        cells += forest.expanded_size(cardinalities)
        if built and cells > MAX_CELLS:
            break
        built.append(Expansion(residuals, forest))
    return sorted(built, key=lambda expansion: expansion.effective_size)


def tree_searches(network: BayesianNetwork, tree: CliqueTree, root: int) -> list[TreeSearch]:
    """Return the forests to try for each connected part of a network.

    Parameters
    ----------
    tree
        Clique tree of the network.
    root
        Variable that must be a root, or -1.
    """
    adjacency = moral_graph(network.parents)
    return [
        _tree_search(network, adjacency, tree, part, root if root in part else -1)
        for part in components(adjacency)
    ]


def _tree_search(
    network: BayesianNetwork,
    adjacency: Sequence[frozenset[int]],
    tree: CliqueTree,
    part: tuple[int, ...],
    root: int,
) -> TreeSearch:
    """Size the forests of all cliques as roots, and those that climbing makes of the best."""
    cardinalities = network.cardinalities.tolist()

    def sized(orders: Iterable[tuple[int, ...]]) -> list[tuple[int, VariableForest]]:
        forests = [variable_forest(adjacency, order) for order in dict.fromkeys(orders)]
        found = [(forest.expanded_size(cardinalities), forest) for forest in forests]
        return sorted(found, key=lambda pair: pair[0])

    plain = sized(clique_orders(tree, cardinalities, part, root))
    best = [f.order for _, f in plain][:MAX_CLIMBS]
    climbed = sized(_climb(adjacency, best, cardinalities, int(root >= 0)))
    return TreeSearch(tuple(sorted(climbed + plain, key=lambda pair: pair[0])))


def _climb(
    adjacency: Sequence[frozenset[int]],
    orders: Sequence[tuple[int, ...]],
    cardinalities: Sequence[int],
    fixed: int,
) -> list[tuple[int, ...]]:
    matrix = np.zeros((len(adjacency), len(adjacency)), np.bool_)
    for variable, neighbours in enumerate(adjacency):
        matrix[variable, list(neighbours)] = True
    budget = MAX_EVALUATED_PAIRS // len(orders[0]) ** 2
    found = []
    for start in orders:
        order = np.array(start, np.int64)
        budget -= climb(matrix, order, np.array(cardinalities, np.float64), fixed, budget)
        found.append(tuple(order.tolist()))
    return found
