r"""Variances of the parameters that deletion estimates, by the delta method.

A parameter :math:`\theta_{x \mid u} = P(xu) / P(u)` of **direct deletion** is a ratio of weighted
frequencies. With :math:`N_c` the weight of the rows of context c, :math:`n_c` that of those which
observe the family, :math:`q_c` the frequencies in these,
:math:`a_c = q_c(xu) - \theta q_c(u)`, and :math:`s_c^2` the variance of
:math:`1[xu] - \theta 1[u]` over the rows of the context,

.. math:: \operatorname{Var}(\theta) = \frac
    {\sum_c N_c a_c^2 + (N_c^2 - N_c) s_c^2 / n_c}{\left(\sum_c N_c q_c(u)\right)^2} .

With complete rows this is :math:`\theta (1 - \theta) / N_u`. The variance within a context of two
rows or more is estimated without bias; a single row counts in full, which is too much. Estimators
that stand in for each other are taken as independent, which is too little.

The **factored estimators** are at most as variable in large samples, where the rows of a context
are missing completely at random: a factorisation sums the same martingale differences
:math:`E[\cdot \mid Y_S] - E[\cdot \mid Y_{S \setminus i}]`, each over :math:`N_S \ge n_c` rows, and
a mean of estimates has at most the mean of their variances. For ``f-mar`` and ``if-mar`` the
variance of direct deletion is that bound. For ``f-mcar`` it is computed along the lattice,

.. math:: V_S = \sum_i w_i \left( V_{S \setminus i} + \frac{m_S - m_{S \setminus i}}{N_S} \right) ,
    \qquad m_S = \sum_{x'} \frac{\theta_x^2 (1[x' = x] - \theta_{x'})^2}{P(x' u_S)}

with w the weights of the aggregation (for the median: equal ones), and m_S zero where the variable
itself is not in S.

Pseudo-counts scale :math:`\theta` by :math:`n_u / (n_u + \alpha r)`. No variance is larger than
:math:`\theta (1 - \theta)`, which is the most that an estimate between zero and one can have: that
is the variance of a distribution without any rows. Where all rows of a configuration agree, the
delta method says zero, however few they are.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.factorisation_lattice import Aggregation, lattice_sums
from exactlearn.bayesnet.row_mixtures import Groups, group_counts
from exactlearn.data.dataset import Dataset

Floats = NDArray[np.float64]


def second_moments(
    dataset: Dataset, variables: Sequence[int], groups: Groups, child: int
) -> Floats:
    """Return the sums over contexts that the variances of direct deletion are made of.

    Parameters
    ----------
    dataset, variables, groups
        As for :func:`~exactlearn.bayesnet.row_mixtures.mixture`; the groups are the contexts.
    child
        The variable whose parameters are estimated.

    Returns
    -------
    sums
        Those of ``g q(xu)``, ``h q(xu)^2`` and ``h q(xu) q(u)``, where the numerator of the
        variance is the sum over contexts of ``g E[b^2] + h a^2`` with ``b = 1[xu] - theta 1[u]``;
        shape (3, configurations of the other variables, configurations of these).
    """
    width = int(np.prod(dataset.cardinalities[variables]))
    sums = np.zeros((3, groups.n_rest, width))
    for part, counts in group_counts(dataset, variables, groups, False):
        n = counts.reshape(len(part), -1).sum(axis=1)
        total = groups.weights[part]
        within = np.maximum(total * total - total, 0.0) / n
        several = n >= 2
        within = np.where(several, within * n / np.maximum(n - 1, 1), within)
        g, h = within[:, np.newaxis], (total - np.where(several, within, 0.0))[:, np.newaxis]
        shares = counts / n.reshape(-1, *[1] * (counts.ndim - 1))
        given = shares
        if child in variables:
            axis = 1 + list(variables).index(child)
            given = np.broadcast_to(shares.sum(axis=axis, keepdims=True), shares.shape)
        q, q_u = shares.reshape(len(part), width), given.reshape(len(part), width)
        for k, numbers in enumerate((g * q, h * q * q, h * q * q_u)):
            sums[k] += groups.sums_by_rest(part, numbers)
    return sums


def counted_variances(counts: Floats) -> Floats:
    """Return the variances of frequencies, the child's axis last.

    Examples
    --------
    >>> counted_variances(np.array([30.0, 10.0]))  # .75 * .25 / 40
    array([0.0046875, 0.0046875])
    """
    rows = counts.sum(axis=-1, keepdims=True)
    theta = _ratio(counts, rows)
    return _ratio(theta * (1 - theta), rows)


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
    theta = _ratio(table, of_parents)
    numerator = (1 - 2 * theta) * first + square - 2 * theta * product
    numerator += theta**2 * (first + product).sum(axis=-1, keepdims=True)
    return _ratio(np.maximum(numerator, 0.0), of_parents**2)


def factored_variances(
    counts: Floats, joint: Floats, aggregation: Aggregation, smoothing: float
) -> Floats:
    """Return bounds on the variances of parameters of factored deletion under MCAR.

    Parameters
    ----------
    counts
        Weight of the rows of each configuration of a family, the child last; the last place of an
        axis counts those in which that variable is missing.
    joint
        The estimated distribution of the family.
    aggregation, smoothing
        As for :func:`~exactlearn.bayesnet.factorisation_lattice.factored_distributions`.

    Examples
    --------
    >>> counts = np.zeros((3, 3))
    >>> counts[:2, :2] = [[30, 10], [10, 50]]  # complete rows
    >>> factored_variances(counts, counts[:2, :2] / 100, "mean", 0.0)[0]  # .75 * .25 / 40
    array([0.0046875, 0.0046875])
    """
    theta = _ratio(joint, joint.sum(axis=-1, keepdims=True))
    axes = range(joint.ndim)

    def moment(node: int) -> Floats:
        if not node >> (joint.ndim - 1) & 1:
            return np.zeros(joint.shape)
        outside = tuple(i for i in axes if not node >> i & 1)
        inverse = _ratio(np.ones(()), joint.sum(axis=outside, keepdims=True))
        of_parents = (theta**2 * inverse).sum(axis=-1, keepdims=True)
        moments: Floats = theta**2 * (of_parents + (1 - 2 * theta) * inverse)
        return moments

    nodes = [moment(node) for node in range(2**joint.ndim)]
    return lattice_sums(counts, nodes, aggregation, smoothing)


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
    share = _ratio(rows, rows + smoothing * counts.shape[-1])
    most = table * (1 - table)
    return np.where(rows > 0, np.minimum(share**2 * variances, most), most)


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Return the quotient, zero where the denominator is."""
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    quotient = np.zeros(shape)
    np.divide(numerator, denominator, out=quotient, where=denominator > 0)
    return quotient
