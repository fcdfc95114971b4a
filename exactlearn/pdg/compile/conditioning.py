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
    """A network's residuals over a forest, and conditioning on its variables downwards.

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
        its signatures.
    """

    def __init__(self, residuals: Residuals, forest: VariableForest) -> None:
        self.residuals, self.forest = residuals, forest
        self._inside = subtree_masks(forest)
        self.families = {v: signature_families(residuals, self._inside[v]) for v in forest.order}

    def condition(
        self, variable: int, signatures: NDArray[np.int32]
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], dict[int, NDArray[np.int64]]]:
        """Condition all signatures of a variable on each of its states.

        Returns
        -------
        weights, after
            As `exactlearn.pdg.compile.conditioning.condition_signatures` gives them.
        sources
            Where the signatures of each child come from.
        """
        residuals, families = self.residuals, self.families[variable]
        touched, (columns, steps) = conditioning_steps(
            residuals, self._inside[variable], families, variable
        )
        r = residuals.cardinalities[variable]
        weights, after = condition_signatures(
            signatures, columns, steps, r, residuals.numbers, residuals.weights
        )
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


class ConditioningSteps(NamedTuple):
    """How the states of one variable change the residuals that a set's signatures hold.

    Attributes
    ----------
    columns
        For each family with the variable, its place in the signatures, -1 where it had no choice.
    steps
        For each of them, where its step begins in `Residuals.numbers` and `weights`.
    """

    columns: NDArray[np.int64]
    steps: NDArray[np.int64]


def signature_families(residuals: Residuals, inside: int) -> tuple[int, ...]:
    """Return the families that reach across the border of a set and have several residuals."""
    return tuple(
        family
        for family, members in enumerate(residuals.families)
        if members & inside and (above := members & ~inside) and residuals.count(family, above) > 1
    )


def conditioning_steps(
    residuals: Residuals, inside: int, families: Sequence[int], variable: int
) -> tuple[list[int], ConditioningSteps]:
    """Return the families with a variable of a set, and how conditioning on it changes them."""
    touched = residuals.touching[variable]
    columns = [families.index(f) if f in families else -1 for f in touched]
    steps = [residuals.step(f, residuals.families[f] & ~inside, variable) for f in touched]
    return touched, ConditioningSteps(np.array(columns, np.int64), np.array(steps, np.int64))


def sources(
    families: Sequence[int], touched: Sequence[int], below: Sequence[int]
) -> NDArray[np.int64]:
    """Return the source of each column of signatures below: touched family, or -1 - old column."""
    places = [touched.index(f) if f in touched else -1 - families.index(f) for f in below]
    return np.array(places, np.int64)


@kernel
def condition_signatures(
    signatures: NDArray[np.int32],
    columns: NDArray[np.int64],
    steps: NDArray[np.int64],
    r: int,
    numbers: NDArray[np.int32],
    factors: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Condition all signatures on each state of a variable.

    Returns
    -------
    weights
        What the families give, shape (signatures, r).
    after
        The touched families' residuals then, shape (signatures, r, families); arbitrary where the
        weight is zero.
    """
    n, width = len(signatures), len(columns)
    weights = np.ones((n, r))
    after = np.empty((n, r, width), np.int32)
    for i in range(n):
        for t in range(width):
            number = signatures[i, columns[t]] if columns[t] >= 0 else 0
            start = steps[t] + number * r
            for x in range(r):
                weights[i, x] *= factors[start + x]
                after[i, x, t] = numbers[start + x]
    return weights, after


@kernel
def signatures_below(
    signatures: NDArray[np.int32],
    weights: NDArray[np.float64],
    after: NDArray[np.int32],
    source: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the signatures of a set below, and the place in ``weights`` (not 0) of each."""
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
                    rows[k, j] = after[i, x, s] if s >= 0 else signatures[i, -1 - s]
                places[k] = i * r + x
                k += 1
    return rows, places
