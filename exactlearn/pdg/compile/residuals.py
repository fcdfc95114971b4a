"""What remains of a network's tables once some of their variables have got states.

Conditioning a family's table on some of its variables leaves a table over the others, its residual.
Residuals that are multiples of each other say the same about the rest, so each class of them has a
number, and the factor between them goes where the last variable was fixed: a family's table becomes
a small edge-valued decision diagram, for every order of its variables at once. Configurations above
a set with the same numbers for all families across its border are equivalent (theorem *Signatures*,
docs/theory/decision_graphs.md); THESIS, Algorithm 4.17, distinguishes more of them. Two numbers
count as equal when they differ by rounding only.
"""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.hash_tables import index_rows
from exactlearn._runtime.kernel import kernel
from exactlearn.bayesnet.network import BayesianNetwork

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
        self._used = 0
        self._members: list[tuple[int, ...]] = []
        self._tables: list[NDArray[np.float64]] = []
        self._levels: dict[tuple[int, int], _Level] = {}
        self._across: dict[int, tuple[int, ...]] = {}
        self._steps: dict[tuple[int, int, int], int] = {}
        for variable, (parents, table) in enumerate(
            zip(network.parents, network.tables, strict=True)
        ):
            axes = (*parents, variable)
            members = tuple(sorted(axes))
            exact = table / table.sum(axis=-1, keepdims=True)
            self._members.append(members)
            self._tables.append(exact.transpose([axes.index(v) for v in members]))
            self.families.append(mask_of(members))
            for member in members:
                self.touching[member].append(variable)

    def count(self, family: int, fixed: int) -> int:
        """Return how many different residuals a family's table has, zero left out."""
        return len(self._level(family, fixed).representatives)

    def families_across(self, inside: int) -> tuple[int, ...]:
        """Return the families that reach across a set's border and have several residuals."""
        if inside not in self._across:
            self._across[inside] = tuple(
                family
                for family, members in enumerate(self.families)
                if members & inside
                and (above := members & ~inside)
                and self.count(family, above) > 1
            )
        return self._across[inside]

    def step(self, family: int, fixed: int, variable: int) -> int:
        """Return where in `numbers` and `weights` conditioning on one more variable begins."""
        key = (family, fixed, variable)
        if key not in self._steps:
            self._steps[key] = self._make_step(*key)
        return self._steps[key]

    def _level(self, family: int, fixed: int) -> _Level:
        key = (family, fixed)
        if key not in self._levels:
            self._levels[key] = self._make_level(*key)
        return self._levels[key]

    def _make_level(self, family: int, fixed: int) -> _Level:
        members = self._members[family]
        table = self._tables[family]
        inside = [i for i, v in enumerate(members) if fixed >> v & 1]
        outside = [i for i, v in enumerate(members) if not fixed >> v & 1]
        configurations = prod(table.shape[i] for i in inside)
        rows = table.transpose(inside + outside).reshape(configurations, -1)
        scales = rows.max(axis=1)
        possible = np.flatnonzero(scales > 0)
        labels, first = index_rows(
            equal_values(rows[possible] / scales[possible, None])
        )
        numbers = np.full(len(rows), -1, np.int32)
        numbers[possible] = labels
        return _Level(numbers, scales, possible[first])

    def _make_step(self, family: int, fixed: int, variable: int) -> int:
        before = self._level(family, fixed)
        after = self._level(family, fixed | 1 << variable)
        r = self.cardinalities[variable]
        inner = 1
        for v in self._members[family]:
            inner *= self.cardinalities[v] if v > variable and fixed >> v & 1 else 1
        first = (
            before.representatives // inner * (r * inner)
            + before.representatives % inner
        )
        at = (first[:, None] + np.arange(r) * inner).ravel()

        start = self._used
        size = len(before.representatives) * r
        self._reserve(size)
        self.numbers[start : start + size] = after.numbers[at]
        scales = np.repeat(before.scales[before.representatives], r)
        self.weights[start : start + size] = after.scales[at] / scales
        self._used += size
        return start

    def _reserve(self, size: int) -> None:
        while self._used + size > len(self.numbers):
            self.numbers = np.concatenate((self.numbers, np.empty_like(self.numbers)))
            self.weights = np.concatenate((self.weights, np.empty_like(self.weights)))


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
    return number_values(np.ascontiguousarray(values).ravel()).reshape(values.shape)


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
