"""Long jumps of a few variables towards the root, to leave a valley that walks do not leave.

Which variables stand near the root decides most about the size of a decision graph, and single
rotations bring a variable there only through forests that are much larger. So a piece of a path is
moved above one of its ancestors at once, and a walk puts the rest in order; what it left alone is
joined again from known pieces (`exactlearn.pdg.compile.forest_pieces`).
"""

from collections.abc import Sequence

import numpy as np

from exactlearn.pdg.compile.variable_forest import VariableForest, variable_forest

LONGEST = 3
"""Most variables that jump together."""


def jumped(
    adjacency: Sequence[frozenset[int]],
    forest: VariableForest,
    rng: np.random.Generator,
    root: int = -1,
) -> VariableForest:
    """Return the forest with a variable, and up to two above it, moved above an ancestor of these.

    Parameters
    ----------
    adjacency
        Neighbours of each variable in the moral graph.
    forest
        A tree.
    root
        Variable that must stay the root, or -1.
    """
    variable = forest.order[int(rng.integers(len(forest.order)))]
    path = [variable]
    while forest.parents[path[-1]] >= 0:
        path.append(forest.parents[path[-1]])
    if root >= 0:
        path.pop()
    length = int(rng.integers(1, LONGEST + 1))
    group, above = path[:length], path[length:]
    if not above:
        return forest
    place = above[int(rng.integers(len(above)))]
    order = [v for v in forest.order if v not in group]
    at = order.index(place)
    return variable_forest(adjacency, [*order[:at], *reversed(group), *order[at:]])
