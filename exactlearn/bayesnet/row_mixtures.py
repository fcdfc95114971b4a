"""Mixtures over groups of rows: distributions of some variables, each from the group's own rows.

With the groups the configurations of all variables that every row observes, a mixture is what
deletion estimates under MAR; the rows of each group that observe the variables stand for the
others (Van den Broeck et al., see :mod:`exactlearn.bayesnet.deletion`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.hash_tables import index_rows
from exactlearn.bayesnet.factorisation_lattice import Aggregation, factored_configurations
from exactlearn.bayesnet.network import LARGEST_TABLE
from exactlearn.data.counts import configurations, weight_by
from exactlearn.data.dataset import Dataset
from exactlearn.errors import TooLargeError

Floats = NDArray[np.float64]


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
    rows = _distinct_rows(dataset, variables, groups, aggregation is not None, smoothing)
    sizes = dataset.cardinalities[variables].tolist()
    weights, rest = groups.weights[rows.groups], groups.rest[rows.groups]
    supported = np.zeros(len(groups.weights), np.bool_)
    supported[rows.groups] = True
    columns, labels, defect = rows.columns, rows.labels, 0.0
    if aggregation is None:
        shares = rows.weights / weight_by(labels, rows.weights, len(weights))[labels]
    else:
        at, shares, defects = factored_configurations(*rows[:3], sizes, aggregation, smoothing)
        columns, labels, defect = columns[:, at], labels[at], float(defects @ weights)
    table = groups.table_of(columns, sizes, rest[labels], shares * weights[labels])
    return Mixture(table, supported, defect)


class _DistinctRows(NamedTuple):
    """Distinct rows of groups: states of some variables, the place of each one's group, weights.

    Last are the groups, by their numbers.
    """

    columns: NDArray[np.integer]
    labels: NDArray[np.integer]
    weights: Floats
    groups: NDArray[np.intp]


def _distinct_rows(
    dataset: Dataset, variables: Sequence[int], groups: Groups, with_missing: bool, smoothing: float
) -> _DistinctRows:
    """Return the rows of the groups with a weight and a row that observes some variables.

    With pseudo-counts each group has a row of each configuration, without a weight if need be.
    """
    columns, weights, labels = dataset.codes.T[list(variables)], dataset.row_weights, groups.labels
    used = (columns >= 0).all(axis=0)
    supported = np.bincount(labels[used], minlength=len(groups.weights)) > 0
    supported = (supported | (smoothing > 0)) & (groups.weights > 0)
    chosen = np.flatnonzero(supported)
    sizes = (dataset.cardinalities[variables] + with_missing).tolist()
    if (size := prod(sizes)) > LARGEST_TABLE:
        names = ", ".join(dataset.names[v] for v in variables)
        raise TooLargeError(
            f"the factorisations of {names} would take {size} counts, more than "
            f"{LARGEST_TABLE}: use fewer parents, or a method of direct deletion"
        )
    used = (used | with_missing) & supported[labels]
    columns, weights = columns[:, used], weights[used]
    labels = (np.cumsum(supported) - 1)[labels[used]]
    if smoothing > 0:
        every = np.indices((len(chosen), *dataset.cardinalities[variables]))
        every = every.reshape(len(every), -1)
        labels, columns = np.append(labels, every[0]), np.hstack((columns, every[1:]))
        weights = np.append(weights, np.zeros(every.shape[1]))
    same, first, _ = index_rows(configurations(columns.T, sizes, labels)[:, np.newaxis])
    merged = weight_by(same, weights, len(first))
    return _DistinctRows(columns[:, first], labels[first], merged, chosen)


def second_moments(
    dataset: Dataset, variables: Sequence[int], groups: Groups, child: int
) -> Floats:
    """Return the sums over contexts that the variances of direct deletion are made of.

    Parameters
    ----------
    dataset, variables, groups
        As for :func:`mixture`; the groups are the contexts.
    child
        The variable whose parameters are estimated.

    Returns
    -------
    sums
        Those of ``g q(xu)``, ``h q(xu)^2`` and ``h q(xu) q(u)``, where the numerator of the
        variance is the sum over contexts of ``g E[b^2] + h a^2`` with ``b = 1[xu] - theta 1[u]``;
        shape (3, configurations of the other variables, configurations of these).
    """
    columns, labels, weights, chosen = _distinct_rows(dataset, variables, groups, False, 0.0)
    n, total = weight_by(labels, weights, len(chosen)), groups.weights[chosen]
    within = np.maximum(total * total - total, 0.0) / n
    within *= np.where(n >= 2, n / np.maximum(n - 1, 1), 1.0)
    g, h = within[labels], (total - np.where(n >= 2, within, 0.0))[labels]
    of_parents = np.where(np.array(variables)[:, np.newaxis] == child, 0, columns)
    numbers = configurations(of_parents.T, dataset.cardinalities[variables], labels)
    same = index_rows(numbers[:, np.newaxis])[0]
    q, q_u = weights / n[labels], weight_by(same, weights, 0)[same] / n[labels]
    sizes, rest = dataset.cardinalities[variables].tolist(), groups.rest[chosen][labels]
    return np.stack(
        [groups.table_of(columns, sizes, rest, x) for x in (g * q, h * q * q, h * q * q_u)]
    )
