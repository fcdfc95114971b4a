"""Residuals: the tables of a network conditioned on some of their variables.

Conditioning a family's table on some of its variables leaves a table over the others, its residual.
Residuals that are multiples of each other say the same about the rest, so each class of them has a
number, and the factor between them goes where the last variable was fixed: a family's table becomes
a small edge-valued decision diagram, for every order of its variables at once. Configurations above
a set with the same numbers for all families across its border are equivalent (theorem *Signatures*,
docs/theory/decision_graphs.md); THESIS, Algorithm 4.17, distinguishes more of them. Two numbers
count as equal when they differ by rounding only.
"""

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.hash_tables import index_rows
from exactlearn._runtime.kernel import kernel
from exactlearn.bayesnet.network import BayesianNetwork, normalised

TOLERANCE = 1e-13
"""Relative difference up to which two parameters count as equal: rounding, nothing more."""


class _Level(NamedTuple):
    """The residuals of one table for one set of fixed variables.

    Attributes
    ----------
    numbers
        Number of the residual of each configuration, -1 where it is zero.
    scales
        Largest entry of each configuration's residual.
    representatives
        First configuration of each number.
    """

    numbers: NDArray[np.int32]
    scales: NDArray[np.float64]
    representatives: NDArray[np.int64]


class Residuals:
    """The residuals of all tables of a network, computed when first used.

    Sets of variables are bit masks: bit v stands for variable v.

    Parameters
    ----------
    network
        Its tables' rows are normalised first.

    Attributes
    ----------
    families
        Mask of each family; family v is the one of variable v's table.
    touching
        Families that each variable belongs to.
    families_across
        Function of a set: the families across its border (see `_families_across`), cached.
    step
        Function of a family, its fixed variables and one more: where conditioning on that one
        begins in the two arrays below (see `_step`), cached.
    numbers, weights
        For all steps made so far, one after the other, for each residual and state: the number
        of the residual after fixing one more variable, and the factor that comes out of it.
    """

    def __init__(self, network: BayesianNetwork) -> None:
        self.cardinalities: tuple[int, ...] = tuple(network.cardinalities.tolist())
        self.families: list[int] = []
        self.touching: list[list[int]] = [[] for _ in network.names]
        self.numbers = np.empty(1024, np.int32)
        self.weights = np.empty(1024)
        self.families_across = cache(self._families_across)
        self.step = cache(self._step)
        self._level = cache(self._make_level)
        self._used = 0
        self._members: list[list[int]] = []
        self._tables: list[NDArray[np.float64]] = []
        # Axes in the order of the variables: then a set of fixed ones is read off as a
        # bit mask.
        exact = normalised(network)
        for variable, table in enumerate(exact.tables):
            axes = (*network.parents[variable], variable)
            members = sorted(axes)
            self._members.append(members)
            self._tables.append(table.transpose([axes.index(v) for v in members]))
            self.families.append(mask_of(members))
            for member in members:
                self.touching[member].append(variable)

    def _families_across(self, inside: int) -> tuple[int, ...]:
        """Return the families that reach across a set's border and have several residuals."""
        across = []
        for family, members in enumerate(self.families):
            above = members & ~inside
            is_across = members & inside and above
            # A family with one residual gives a constant factor, which tells no
            # signatures apart.
            if is_across and len(self._level(family, above).representatives) > 1:
                across.append(family)
        return tuple(across)

    def _step(self, family: int, fixed: int, variable: int) -> int:
        """Return where in `numbers` and `weights` conditioning on one more variable begins."""
        before = self._level(family, fixed)
        after = self._level(family, fixed | 1 << variable)
        # Rows after the step lie by the fixed variables in order: `inner` is the stride
        # of the new one.
        r = self.cardinalities[variable]
        inner = prod(
            self.cardinalities[v]
            for v in self._members[family]
            if v > variable and fixed >> v & 1
        )

        def by_states(values: NDArray[Any]) -> NDArray[Any]:
            """Return the values after the step for each residual and state before it."""
            places = values.reshape(-1, r, inner).swapaxes(1, 2).reshape(-1, r)
            return places[before.representatives].ravel()

        # Room for the step, in arrays that double, so that kernels see all steps as two
        # flat arrays.
        scales = before.scales[before.representatives].repeat(r)
        start = self._used
        self._used += len(scales)
        while self._used > len(self.numbers):
            self.numbers = np.concatenate((self.numbers, np.empty_like(self.numbers)))
            self.weights = np.concatenate((self.weights, np.empty_like(self.weights)))
        # A step's factor is the scale after it over that before it: along any order
        # they multiply to the same value.
        self.numbers[start : self._used] = by_states(after.numbers)
        self.weights[start : self._used] = by_states(after.scales) / scales
        return start

    def _make_level(self, family: int, fixed: int) -> _Level:
        """Return the residuals of a family's table for a set of fixed variables."""
        # One row for each configuration of the fixed variables, over the free ones.
        table = self._tables[family]
        is_outside = [not fixed >> v & 1 for v in self._members[family]]
        axes = np.argsort(is_outside, kind="stable")
        n_fixed = len(axes) - sum(is_outside)
        shape = [table.shape[axis] for axis in axes[:n_fixed]]
        rows = table.transpose(axes).reshape(prod(shape), -1)
        # Rows that are proportional are one residual: divide by the largest entry, then
        # compare.
        scales = rows.max(axis=1)
        possible = np.flatnonzero(scales > 0)
        numbers = np.full(len(rows), -1, np.int32)
        labels, first = index_rows(
            equal_values(rows[possible] / scales[possible, None])
        )
        numbers[possible] = labels
        return _Level(numbers, scales, possible[first])


def mask_of(variables: Sequence[int]) -> int:
    """Return a set of variables as a bit mask."""
    mask = 0
    for variable in variables:
        mask |= 1 << variable
    return mask


def equal_values(values: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the same number for values >= 0 that differ only by rounding, shape as ``values``.

    Numbers rise with the values; those within `TOLERANCE` of the smallest of a number share it.
    """
    flat = np.ascontiguousarray(values).ravel()
    return number_values(flat).reshape(values.shape)


@kernel
def number_values(values: NDArray[np.float64]) -> NDArray[np.int32]:
    """Give a vector's values >= 0 their numbers, in rising order."""
    order = np.argsort(values)
    numbers = np.empty(len(values), np.int32)
    number = np.int32(0)
    first = values.min() if len(values) else 0.0
    for i in order:
        if values[i] - first > TOLERANCE * first:
            number = number + 1
            first = values[i]
        numbers[i] = number
    return numbers
