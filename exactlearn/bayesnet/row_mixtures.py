r"""Mixtures over groups of rows: distributions of some variables, each from the group's own rows.

With the groups the configurations of all variables that every row observes, a mixture is what
deletion estimates under MAR; the rows of each group that observe the variables stand for the
others (Van den Broeck et al., see :mod:`exactlearn.bayesnet.deletion`).

Factored deletion estimates the probability of a set of variables from all its factorisations. Each
order of the variables :math:`Y_1, \dots, Y_k` factorises :math:`P(Y)` into conditional
probabilities, and each factor can be estimated in the rows that observe its own variables. The
:math:`k!` factorisations share the :math:`2^k` nodes of a lattice: node S has an estimate of
:math:`P(Y_S)` from each of its variables i,

.. math:: P(Y_{S \setminus i}) \, \frac{N_S(y_S)}{\sum_{y_i} N_S(y_S)} ,

with :math:`N_S` the weight of the rows that observe S, and aggregates them (Van den Broeck, Mohan,
Choi, Darwiche and Pearl, "Efficient algorithms for Bayesian network parameter learning from
incomplete data", section 3, Figure 2).

The paper leaves open the variances of its inverse-variance weights. Here that of an edge is the
mean relative variance of its estimates, :math:`\sum_y \operatorname{Var}(y) / P(y)`: by the delta
method :math:`(K_S - K_{S \setminus i}) / N_S + v(S \setminus i)`, with K the number of
configurations and :math:`N_S` the weight of all rows that observe S; and v of a node is the
weighted mean of those of its edges, an upper bound whatever their correlation. These weights do not
depend on the estimates, so that they bias none, and edges that sum to one remain so.

With pseudo-counts smoothing each factor is estimated as a distribution of its own,

.. math:: \frac{N_S(y_S) + \alpha}{\sum_{y_i} N_S(y_S) + \alpha r_i} ,

and :math:`N_S + \alpha K_S` stands for :math:`N_S` in the variances: a configuration that no row
has then gets what the factors over fewer variables say of it, in place of the uniform distribution.

Variances are those of the delta method. A parameter
:math:`\theta_{x \mid u} = P(xu) / P(u)` of **direct deletion** is a ratio of weighted frequencies.
With :math:`N_c` the weight of the rows of context c, :math:`n_c` that of those which observe the
family, :math:`q_c` the frequencies in these,
:math:`a_c = q_c(xu) - \theta q_c(u)`, and :math:`s_c^2` the variance of
:math:`1[xu] - \theta 1[u]` over the rows of the context,

.. math:: \operatorname{Var}(\theta) = \frac
    {\sum_c N_c a_c^2 + (N_c^2 - N_c) s_c^2 / n_c}{\left(\sum_c N_c q_c(u)\right)^2} .

With complete rows this is :math:`\theta (1 - \theta) / N_u`. The variance within a context of two
rows or more is estimated without bias; a single row counts in full, which is too much. Estimators
that stand in for each other are taken as independent, which is too little.

The **factored estimators** are at most as variable in large samples, where the rows of a context
are missing completely at random: a factorisation sums the martingale differences
:math:`E[\cdot \mid Y_S] - E[\cdot \mid Y_{S \setminus i}]`, each over :math:`N_S \ge n_c` rows, and
a mean of estimates has at most the mean of their variances. So the variance of direct deletion is
their bound.

Pseudo-counts scale :math:`\theta` by :math:`n_u / (n_u + \alpha r)`. No variance is larger than
:math:`\theta (1 - \theta)`, which is the most that an estimate between zero and one can have: that
is the variance of a distribution without any rows. Where all rows of a configuration agree, the
delta method says zero, however few they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.hash_tables import index_rows
from exactlearn.bayesnet.network import LARGEST_TABLE
from exactlearn.data.counts import configurations, weight_by
from exactlearn.data.dataset import Dataset
from exactlearn.errors import TooLargeError

Floats = NDArray[np.float64]

Aggregation = Literal["mean", "inverse-variance"]

_LEAST_VARIANCE = 1e-30
"""Variance of a certain estimate: its weight stays finite."""


def factored_configurations(
    columns: NDArray[np.integer],
    labels: NDArray[np.integer],
    weights: Floats,
    sizes: Sequence[int],
    aggregation: Aggregation,
    smoothing: float = 0.0,
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Estimate the joint distribution of some variables in each of several groups of rows.

    Parameters
    ----------
    columns
        States of the variables, -1 where missing, shape (variables, rows).
    labels, weights
        Group and weight of each row; each group has a row that observes all the variables.
    sizes
        Numbers of states.
    aggregation
        How the estimates of a node are combined.
    smoothing
        Pseudo-count of each cell of a factor. Only the configurations that a row of the group has
        get a probability, so that with pseudo-counts each has a row, perhaps of weight zero.

    Returns
    -------
    rows, shares, defects
        A row of each group and configuration that has one, its probability in the group, and how
        far the probabilities of each group summed from one before they were normalised.

    Examples
    --------
    >>> columns = np.array([[0, 0, 1, 1], [0, -1, 1, -1]])
    >>> labels, weights = np.zeros(4, np.int64), np.array([2.0, 4.0, 2.0, 0.0])
    >>> factored_configurations(columns, labels, weights, (2, 2), "inverse-variance")[1].round(3)
    array([0.636, 0.364])
    """
    n_groups, observed = int(labels.max(initial=-1)) + 1, np.asarray(columns >= 0)
    strides = np.cumprod([1, *sizes], dtype=np.int64)
    digits = np.where(observed, columns, 0) * strides[:-1, np.newaxis]
    group_digit = labels * strides[-1]

    def index(chosen: NDArray[np.bool_], variables: list[int]) -> tuple[Any, ...]:
        """Index the chosen rows by their groups and the states of some variables."""
        numbers = group_digit + digits[variables].sum(axis=0)
        return index_rows(numbers[chosen][:, np.newaxis])

    def weight_at(chosen: NDArray[np.bool_], variables: list[int]) -> Floats:
        """Return the weight of the chosen rows like each of the complete ones."""
        same, first, _ = index(chosen, variables)
        alike = np.zeros(len(labels))
        alike[chosen] = weight_by(same, weights[chosen], len(first))[same]
        at_rows: Floats = alike[rows]
        return at_rows

    whole = np.asarray(observed.all(axis=0))
    k = len(columns)
    rows = np.flatnonzero(whole)[index(whole, list(range(k)))[1]]
    of_group = labels[rows]
    estimates, variances = [np.ones(len(rows))], [np.zeros(n_groups)]
    for node in range(1, 2**k):
        inside = [i for i in range(k) if node >> i & 1]
        chosen, size = np.asarray(observed[inside].all(axis=0)), prod(sizes[i] for i in inside)
        of_node = weight_by(labels[chosen], weights[chosen], n_groups) + smoothing * size
        seen, inverse, edges, spreads = weight_at(chosen, inside), reciprocal(of_node), [], []
        for i in inside:
            below, others = node ^ 1 << i, [j for j in inside if j != i]
            given = weight_at(chosen, others) + smoothing * sizes[i]
            edges.append(estimates[below] * (seen + smoothing) * reciprocal(given))
            spreads.append((size - size // sizes[i]) * inverse + variances[below])
        spread = np.stack(spreads)
        shares = np.ones_like(spread)
        if aggregation == "inverse-variance":
            shares /= np.maximum(spread, _LEAST_VARIANCE)
        shares /= shares.sum(axis=0)
        estimates.append((shares[:, of_group] * edges).sum(axis=0))
        variances.append((shares * spread).sum(axis=0))
    totals = weight_by(of_group, estimates[-1], n_groups)
    defects = np.where(totals > 0, np.abs(totals - 1.0), 0.0)
    return rows, estimates[-1] * reciprocal(totals)[of_group], defects


def reciprocal(counts: Floats) -> Floats:
    """Return one divided by counts, zero for zero."""
    return np.divide(1.0, counts, out=np.zeros_like(counts), where=counts > 0)


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


def counted_variances(counts: Floats, rows: Floats | None = None) -> Floats:
    """Return the variances of frequencies, the child's axis last.

    Parameters
    ----------
    counts
        In proportion to the distribution given each configuration of the parents.
    rows
        Weight of the rows that estimate it; left out, the sums of the counts.

    Examples
    --------
    >>> counted_variances(np.array([30.0, 10.0]))  # .75 * .25 / 40
    array([0.0046875, 0.0046875])
    """
    total = counts.sum(axis=-1, keepdims=True)
    theta = counts * reciprocal(total)
    return theta * (1 - theta) * reciprocal(total if rows is None else rows)


def direct_variances(sums: Floats, table: Floats) -> Floats:
    """Return the variances of parameters of direct deletion.

    Parameters
    ----------
    sums
        As :func:`second_moments` returns, shape (3, *table).
    table
        Weighted sum of the distributions of the contexts, the child's axis last.

    Examples
    --------
    >>> counts = np.array([30.0, 10.0])  # complete rows, one context each: q is zero or one
    >>> direct_variances(np.array([[0.0, 0.0], counts, counts]), counts)  # .75 * .25 / 40
    array([0.0046875, 0.0046875])
    """
    first, square, product = sums
    of_parents = table.sum(axis=-1, keepdims=True)
    theta = table * reciprocal(of_parents)
    numerator = (1 - 2 * theta) * first + square - 2 * theta * product
    numerator += theta**2 * (first + product).sum(axis=-1, keepdims=True)
    return np.asarray(np.maximum(numerator, 0.0) * reciprocal(of_parents**2))


def smoothed_variances(
    variances: Floats, counts: Floats, table: Floats, smoothing: float
) -> Floats:
    """Return the variances of smoothed parameters.

    Parameters
    ----------
    variances
        Those without pseudo-counts.
    counts
        Counts without pseudo-counts, of the same shape; the child's axis last.
    table
        The smoothed parameters.
    smoothing
        Pseudo-count of each cell.
    """
    rows = counts.sum(axis=-1, keepdims=True)
    share = rows * reciprocal(rows + smoothing * counts.shape[-1])
    most = table * (1 - table)
    return np.where(rows > 0, np.minimum(share**2 * variances, most), most)
