"""Mixtures over groups of rows: distributions of some variables, each from the group's own rows.

With the groups the configurations of all variables that every row observes, a mixture is what
deletion estimates under MAR; the rows of each group that observe the variables stand for the
others (Van den Broeck et al., see :mod:`exactlearn.bayesnet.deletion`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.factorisation_lattice import (
    Aggregation,
    factored_configurations,
    factored_distributions,
)
from exactlearn.bayesnet.network import LARGEST_TABLE
from exactlearn.data.counts import configurations, weight_by
from exactlearn.data.dataset import Dataset
from exactlearn.errors import TooLargeError

Floats = NDArray[np.float64]

_BLOCK = 2**22
"""Cells of the counts of a block of groups (32 MiB)."""

_SPARSE = 16
"""Cells for each row beyond which only the configurations that rows have are computed."""


@dataclass(frozen=True)
class Groups:
    """Groups of rows whose distributions are mixed.

    Parameters
    ----------
    labels
        The group of each row.
    rest
        The configuration of other variables that all rows of a group have, shape (groups,).
    weights
        The weight of each group in the mixture, shape (groups,).
    n_rest
        Number of configurations of the other variables.
    """

    labels: NDArray[np.integer]
    rest: NDArray[np.integer]
    weights: Floats
    n_rest: int

    def table_of(
        self,
        columns: NDArray[np.integer],
        sizes: Sequence[int],
        rest: NDArray[np.integer],
        weights: Floats,
    ) -> Floats:
        """Sum weights by the configurations of the other variables and of some variables.

        Parameters
        ----------
        columns
            States of some variables, shape (variables, rows).
        sizes
            Their numbers of states.
        rest, weights
            Configuration of the other variables, and weight, of each row.

        Returns
        -------
        table
            Shape (configurations of the other variables, configurations).
        """
        cells = configurations(columns.T, sizes, rest)
        return weight_by(cells, weights, self.n_rest * prod(sizes)).reshape(self.n_rest, -1)

    def sums_by_rest(self, part: NDArray[np.intp], numbers: Floats) -> Floats:
        """Sum numbers of some groups, shape (groups, columns), by the other variables.

        Returns
        -------
        table
            Shape (configurations of the other variables, columns).
        """
        width = numbers.shape[1]
        entries = self.rest[part, np.newaxis] * width + np.arange(width)
        sums = weight_by(entries.ravel(), numbers.ravel(), self.n_rest * width)
        return sums.reshape(self.n_rest, width)

    def by_rest(self, chosen: NDArray[np.bool_], labels: NDArray[np.int64]) -> "Groups":
        """Merge groups with the same configuration of the other variables.

        Parameters
        ----------
        chosen
            The groups that have a weight in the new ones.
        labels
            The configuration of the other variables in each row.
        """
        weights = weight_by(self.rest[chosen], self.weights[chosen], self.n_rest)
        return Groups(labels, np.arange(self.n_rest), weights, self.n_rest)


@dataclass(frozen=True)
class Mixture:
    """A mixture of the distributions of some variables.

    Parameters
    ----------
    table
        Weights, shape (configurations of the other variables, configurations of these).
    supported
        Which groups have a weight and a row that observes the variables: the others add nothing.
    defect
        Weighted sum of how far factored distributions summed from one.
    """

    table: Floats
    supported: NDArray[np.bool_]
    defect: float


def mixture(
    dataset: Dataset,
    variables: Sequence[int],
    groups: Groups,
    aggregation: Aggregation | None,
    smoothing: float = 0.0,
) -> Mixture:
    """Sum the weighted distributions of some variables in groups of rows.

    Parameters
    ----------
    dataset
        The rows.
    variables
        Variables, by index; rows may lack them.
    groups
        Groups of the rows.
    aggregation
        ``None``: the distributions are frequencies in the rows that observe all the variables;
        else all their factorisations are aggregated so.
    smoothing
        Pseudo-count of each cell of a factor. Above zero, groups without a row that observes all
        the variables count, too.

    Raises
    ------
    TooLargeError
        When the counts of one group would have more than
        :data:`~exactlearn.bayesnet.network.LARGEST_TABLE` entries.
    """
    rows = _used_rows(dataset, variables, groups, aggregation is not None, smoothing)
    sizes = dataset.cardinalities[variables].tolist()
    weights, rest = groups.weights[rows.chosen], groups.rest[rows.chosen]
    supported = np.zeros(len(groups.weights), np.bool_)
    supported[rows.chosen] = True
    if aggregation is None:
        scales = weights / weight_by(rows.labels, rows.weights, len(weights))
        table = groups.table_of(
            rows.columns, sizes, rest[rows.labels], rows.weights * scales[rows.labels]
        )
        return Mixture(table, supported, 0.0)
    cells = len(weights) * prod(size + 1 for size in sizes)
    if smoothing == 0 and cells > _SPARSE * len(rows.labels):
        at, shares, defects = factored_configurations(
            rows.columns, rows.labels, rows.weights, sizes, aggregation
        )
        labels = rows.labels[at]
        table = groups.table_of(rows.columns[:, at], sizes, rest[labels], shares * weights[labels])
        return Mixture(table, supported, float(defects @ weights))
    table, defect = np.zeros((groups.n_rest, prod(sizes))), 0.0
    for part, counts in _dense_counts(rows, [size + 1 for size in sizes]):
        shares, defects = factored_distributions(counts, aggregation, smoothing)
        weighted = groups.weights[part, np.newaxis] * shares.reshape(len(part), prod(sizes))
        table += groups.sums_by_rest(part, weighted)
        defect += float(defects @ groups.weights[part])
    return Mixture(table, supported, defect)


@dataclass(frozen=True)
class _Rows:
    """Rows of groups: the columns of some variables, the place of each row's group, weights.

    The groups are the chosen ones, in order.
    """

    columns: NDArray[np.integer]
    labels: NDArray[np.integer]
    weights: Floats
    chosen: NDArray[np.intp]


def _used_rows(
    dataset: Dataset, variables: Sequence[int], groups: Groups, with_missing: bool, smoothing: float
) -> _Rows:
    """Return the rows of the groups with a weight and a row that observes some variables."""
    columns, weights = dataset.codes.T[list(variables)], dataset.row_weights
    used = (columns >= 0).all(axis=0)
    supported = np.bincount(groups.labels[used], minlength=len(groups.weights)) > 0
    supported = (supported | (smoothing > 0)) & (groups.weights > 0)
    sizes = (dataset.cardinalities[variables] + with_missing).tolist()
    _check_size([dataset.names[v] for v in variables], prod(sizes))
    labels, used = groups.labels, (used | with_missing) & supported[groups.labels]
    if not used.all():
        columns, weights, labels = columns[:, used], weights[used], labels[used]
    if not supported.all():
        labels = (np.cumsum(supported) - 1)[labels]
    return _Rows(columns, labels, weights, np.flatnonzero(supported))


def group_counts(
    dataset: Dataset,
    variables: Sequence[int],
    groups: Groups,
    with_missing: bool,
    smoothing: float = 0.0,
) -> Iterator[tuple[NDArray[np.intp], Floats]]:
    """Count blocks of the groups with a weight that have a row that observes some variables.

    Parameters
    ----------
    dataset, variables, groups
        As for :func:`mixture`.
    with_missing
        Whether the last place of the axis of each variable counts the rows that lack it; else
        only the rows that observe all the variables count.
    smoothing
        As for :func:`mixture`.

    Returns
    -------
    blocks
        Of groups: their numbers, and the weights of their rows by configuration, shape
        (groups, sizes).
    """
    sizes = (dataset.cardinalities[variables] + with_missing).tolist()
    return _dense_counts(_used_rows(dataset, variables, groups, with_missing, smoothing), sizes)


def _dense_counts(rows: _Rows, sizes: Sequence[int]) -> Iterator[tuple[NDArray[np.intp], Floats]]:
    """Yield blocks of groups, and the weights of their rows, shape (groups, sizes)."""
    for block, inside, places in _blocks(rows.labels, len(rows.chosen), prod(sizes)):
        part = rows.chosen[block]
        cells = configurations(rows.columns[:, inside].T, sizes, places)
        counts = weight_by(cells, rows.weights[inside], len(part) * prod(sizes))
        yield part, counts.reshape(len(part), *sizes)


def _check_size(names: Sequence[str], size: int) -> None:
    if size > LARGEST_TABLE:
        raise TooLargeError(
            f"the factorisations of {', '.join(names)} would take {size} counts, more than "
            f"{LARGEST_TABLE}: use fewer parents, or a method of direct deletion"
        )


def _blocks(
    labels: NDArray[np.integer], n: int, width: int
) -> Iterator[tuple[slice, slice | NDArray[np.int64], NDArray[np.integer]]]:
    """Yield blocks of labels below n, their rows, and the labels in these, from zero."""
    step = max(1, _BLOCK // width)
    if 0 < n <= step:
        yield slice(0, n), slice(None), labels
        return
    order = np.argsort(labels, kind="stable")
    starts = range(0, n, step)
    ends = np.searchsorted(labels[order], [*starts, n])
    for start, first, last in zip(starts, ends, ends[1:], strict=False):
        inside = order[first:last]
        yield slice(start, min(n, start + step)), inside, labels[inside] - start
