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

from exactlearn.bayesnet.factorisation_lattice import Aggregation, factored_distributions
from exactlearn.bayesnet.network import LARGEST_TABLE
from exactlearn.data.dataset import Dataset
from exactlearn.errors import TooLargeError

Floats = NDArray[np.float64]

_BLOCK = 2**22
"""Cells of the counts of a block of groups (32 MiB)."""


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

    def table_of(self, part: NDArray[np.intp], numbers: Floats) -> Floats:
        """Sum numbers of some groups by the configuration of the other variables.

        Parameters
        ----------
        part
            The groups.
        numbers
            Shape (groups, columns).

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
    alpha: float = 0.0,
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
    alpha
        Pseudo-count of each cell of a factor. Above zero, groups without a row that observes all
        the variables count, too.

    Raises
    ------
    TooLargeError
        When the counts of one group would have more than
        :data:`~exactlearn.bayesnet.network.LARGEST_TABLE` entries.
    """
    shape = (groups.n_rest, prod(dataset.cardinalities[variables].tolist()))
    table, defect, supported = np.zeros(shape), 0.0, np.zeros(len(groups.weights), np.bool_)
    for part, counts in group_counts(dataset, variables, groups, aggregation is not None, alpha):
        shares, defects = _distributions(counts, aggregation, alpha)
        weights, supported[part] = groups.weights[part], True
        table += groups.table_of(part, weights[:, np.newaxis] * shares)
        defect += float(defects @ weights)
    return Mixture(table, supported, defect)


def group_counts(
    dataset: Dataset,
    variables: Sequence[int],
    groups: Groups,
    with_missing: bool,
    alpha: float = 0.0,
) -> Iterator[tuple[NDArray[np.intp], Floats]]:
    """Yield blocks of the groups with a weight that have a row that observes some variables.

    Parameters
    ----------
    dataset, variables, groups
        As for :func:`mixture`.
    with_missing
        Whether the last place of the axis of each variable counts the rows that lack it; else
        only the rows that observe all the variables count.
    alpha
        As for :func:`mixture`.

    Yields
    ------
    part, counts
        The groups, and the weights of their rows by configuration, shape (groups, sizes).
    """
    columns, row_weights = dataset.codes.T[list(variables)], dataset.row_weights
    used = (columns >= 0).all(axis=0)
    supported = np.bincount(groups.labels[used], minlength=len(groups.weights)) > 0
    supported = (supported | (alpha > 0)) & (groups.weights > 0)
    sizes = (dataset.cardinalities[variables] + with_missing).tolist()
    _check_size([dataset.names[v] for v in variables], prod(sizes))
    labels, chosen = groups.labels, np.flatnonzero(supported)
    used = (used | with_missing) & supported[labels]
    if not used.all():
        columns, row_weights, labels = columns[:, used], row_weights[used], labels[used]
    if len(chosen) < len(supported):
        labels = (np.cumsum(supported) - 1)[labels]
    for block, inside, places in _blocks(labels, len(chosen), prod(sizes)):
        part = chosen[block]
        cells = configurations(columns[:, inside].T, sizes, places)
        counts = weight_by(cells, row_weights[inside], len(part) * prod(sizes))
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


def _distributions(
    counts: Floats, aggregation: Aggregation | None, alpha: float
) -> tuple[Floats, Floats]:
    """Return the distribution of each group, one a line, and its defect."""
    if aggregation is not None:
        shares, defects = factored_distributions(counts, aggregation, alpha)
        return shares.reshape(len(counts), prod(shares.shape[1:])), defects
    shares = counts.reshape(len(counts), prod(counts.shape[1:]))
    return shares / shares.sum(axis=1, keepdims=True), np.zeros(len(counts))


def configurations(
    codes: NDArray[np.integer],
    sizes: Sequence[int] | NDArray[np.int64],
    first: NDArray[np.integer] | None = None,
) -> NDArray[np.int64]:
    """Return the number of each row's configuration; a missing cell has the last state.

    Parameters
    ----------
    codes
        Shape (rows, columns).
    sizes
        Number of states of each column.
    first
        A number of each row that comes before the columns.
    """
    numbers = np.zeros(len(codes), np.int64) if first is None else first.astype(np.int64)
    for column, size in zip(codes.T, sizes, strict=True):
        numbers *= size
        numbers += np.where(column < 0, size - 1, column)
    return numbers


def weight_by(labels: NDArray[np.integer], weights: Floats, n: int) -> Floats:
    """Return the weight of the rows of each label below n."""
    return np.bincount(labels, weights, n).astype(np.float64, copy=False)
