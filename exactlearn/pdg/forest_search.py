"""Search for the forest over which a network's decision graph is smallest.

Expanded sizes are cheap to compute and merged sizes are what counts: the forests with the smallest
expanded sizes are built and merged, until a budget of cells is used up. The budget is a count, so
the same network always gives the same graph.
"""

from dataclasses import dataclass

from exactlearn.cliques import CliqueTree
from exactlearn.graph import moral_graph
from exactlearn.network import BayesianNetwork
from exactlearn.pdg.expansion import Expansion
from exactlearn.pdg.variable_forest import (
    VariableForest,
    clique_orders,
    components,
    variable_forest,
)

MAX_FORESTS = 32
"""Most forests that are built for one connected part."""

MAX_CELLS = 1_500_000
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
        size, forest = self.candidates[0]
        best = Expansion(network, forest)
        cells = size
        for size, forest in self.candidates[1:MAX_FORESTS]:
            cells += size
            if cells > MAX_CELLS:
                break
            found = Expansion(network, forest)
            if found.effective_size < best.effective_size:
                best = found
        return best


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
    cardinalities = network.cardinalities.tolist()
    searches = []
    for part in components(adjacency):
        orders = clique_orders(tree, cardinalities, part, root if root in part else -1)
        forests = [variable_forest(adjacency, order) for order in dict.fromkeys(orders)]
        sized = [(forest.expanded_size(cardinalities), forest) for forest in forests]
        searches.append(TreeSearch(tuple(sorted(sized, key=lambda pair: pair[0]))))
    return searches
