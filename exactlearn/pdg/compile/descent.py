"""The way down a forest: the keys of each variable's subtree, and what fixing it does to them."""

import numpy as np
from numpy.typing import NDArray

from exactlearn.pdg.compile.conditioning import fix, fixing, key_families, sources
from exactlearn.pdg.compile.residuals import Residuals, mask_of
from exactlearn.pdg.compile.variable_forest import VariableForest


class Descent:
    """A network's residuals over a forest: what fixing its variables downwards does to them.

    Parameters
    ----------
    residuals
        The network's residuals.
    forest
        A tree in which each family lies on one path from the root.

    Attributes
    ----------
    families
        For each variable the families that reach across the border of its subtree: the columns of
        its keys.
    """

    def __init__(self, residuals: Residuals, forest: VariableForest) -> None:
        self.residuals, self.forest = residuals, forest
        self._inside = subtree_masks(forest)
        self.families = {v: key_families(residuals, self._inside[v]) for v in forest.order}

    def fix(
        self, variable: int, keys: NDArray[np.int32]
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], dict[int, NDArray[np.int64]]]:
        """Fix a variable in all ways, for all its keys.

        Returns
        -------
        weights, after
            As `exactlearn.pdg.compile.conditioning.fix` gives them.
        sources
            Where the keys of each child come from.
        """
        residuals, families = self.residuals, self.families[variable]
        touched, (columns, steps) = fixing(residuals, self._inside[variable], families, variable)
        r = residuals.cardinalities[variable]
        weights, after = fix(keys, columns, steps, r, residuals.numbers, residuals.weights)
        below = self.forest.children[variable]
        return weights, after, {c: sources(families, touched, self.families[c]) for c in below}


def subtree_masks(forest: VariableForest) -> dict[int, int]:
    """Return for each variable the mask of itself and all below."""
    masks: dict[int, int] = {}
    for v in reversed(forest.order):
        masks[v] = mask_of([v])
        for child in forest.children[v]:
            masks[v] |= masks[child]
    return masks
