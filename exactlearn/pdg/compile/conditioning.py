"""Conditioning on the variables of a forest from its roots downwards, and the signatures it leaves.

The signature of a configuration above a set of variables holds, for each family that reaches across
the border of the set, the number of its residual (`exactlearn.pdg.compile.residuals`). Conditioning
on the set's top variable gives each signature a weight for each state, and the signatures of the
sets below.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
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


class Fixing(NamedTuple):
    """How the states of one variable change the residuals that a set's keys hold.

    Attributes
    ----------
    columns
        For each family with the variable, its place in the keys, -1 where it had no choice.
    steps
        For each of them, where its step begins in `Residuals.numbers` and `weights`.
    """

    columns: NDArray[np.int64]
    steps: NDArray[np.int64]


def key_families(residuals: Residuals, inside: int) -> tuple[int, ...]:
    """Return the families that reach across the border of a set and have several residuals."""
    return tuple(
        family
        for family, members in enumerate(residuals.families)
        if members & inside and (above := members & ~inside) and residuals.count(family, above) > 1
    )


def fixing(
    residuals: Residuals, inside: int, families: Sequence[int], variable: int
) -> tuple[list[int], Fixing]:
    """Return which families hold a variable of a set, and what fixing it first does to them."""
    touched = residuals.touching[variable]
    columns = [families.index(f) if f in families else -1 for f in touched]
    steps = [residuals.step(f, residuals.families[f] & ~inside, variable) for f in touched]
    return touched, Fixing(np.array(columns, np.int64), np.array(steps, np.int64))


def sources(
    families: Sequence[int], touched: Sequence[int], below: Sequence[int]
) -> NDArray[np.int64]:
    """Return where the keys of a set below come from: a touched family (from 0), or a key (-1-)."""
    places = [touched.index(f) if f in touched else -1 - families.index(f) for f in below]
    return np.array(places, np.int64)


@kernel
def fix(
    keys: NDArray[np.int32],
    columns: NDArray[np.int64],
    steps: NDArray[np.int64],
    r: int,
    numbers: NDArray[np.int32],
    factors: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Fix a variable in all ways, for all keys.

    Returns
    -------
    weights
        What the families give, shape (keys, r).
    after
        The touched families' residuals then, shape (keys, r, families); arbitrary where the
        weight is zero.
    """
    n, width = len(keys), len(columns)
    weights = np.ones((n, r))
    after = np.empty((n, r, width), np.int32)
    for i in range(n):
        for t in range(width):
            number = keys[i, columns[t]] if columns[t] >= 0 else 0
            start = steps[t] + number * r
            for x in range(r):
                weights[i, x] *= factors[start + x]
                after[i, x, t] = numbers[start + x]
    return weights, after


@kernel
def keys_below(
    keys: NDArray[np.int32],
    weights: NDArray[np.float64],
    after: NDArray[np.int32],
    source: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the keys of a set below, and for which key and state, where the weight is not zero."""
    n, r = weights.shape
    count = 0
    for i in range(n):
        for x in range(r):
            count += weights[i, x] > 0
    rows = np.empty((count, len(source)), np.int32)
    places = np.empty(count, np.int64)
    k = 0
    for i in range(n):
        for x in range(r):
            if weights[i, x] > 0:
                for j in range(len(source)):
                    s = source[j]
                    rows[k, j] = after[i, x, s] if s >= 0 else keys[i, -1 - s]
                places[k] = i * r + x
                k += 1
    return rows, places
