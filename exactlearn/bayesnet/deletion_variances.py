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

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.row_mixtures import Aggregation, lattice_average
from exactlearn.data.counts import weight_by

Floats = NDArray[np.float64]


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
        As :func:`~exactlearn.bayesnet.row_mixtures.second_moments` returns, shape (3, *table).
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
    observed: NDArray[np.bool_],
    weights: Floats,
    joint: Floats,
    aggregation: Aggregation,
    smoothing: float,
) -> Floats:
    """Return bounds on the variances of parameters of factored deletion under MCAR.

    Parameters
    ----------
    observed, weights
        Whether each row observes each variable of a family, the child last, shape (variables,
        rows); and the weights of the rows.
    joint
        The estimated distribution of the family, or in proportion to it.
    aggregation, smoothing
        As for :func:`~exactlearn.bayesnet.row_mixtures.factored_configurations`; the
        median is taken as the mean.

    Examples
    --------
    >>> counts = np.array([[30.0, 10.0], [10.0, 50.0]])
    >>> observed = np.ones((2, 100), np.bool_)  # complete rows: .75 * .25 / 40
    >>> factored_variances(observed, np.ones(100), counts, "mean", 0.0)[0]
    array([0.0046875, 0.0046875])
    """
    joint = joint / max(float(joint.sum()), 1e-300)
    theta = _ratio(joint, joint.sum(axis=-1, keepdims=True))

    places = np.arange(joint.ndim)
    patterns = np.arange(2**joint.ndim)
    of_pattern = weight_by(2**places @ observed, weights, len(patterns))

    def rows_of(inside: list[int]) -> Floats:
        size, node = np.prod([joint.shape[i] for i in inside]), sum(1 << i for i in inside)
        return np.array([of_pattern[patterns & node == node].sum() + smoothing * size])

    def moment(inside: list[int]) -> Floats:
        if joint.ndim - 1 not in inside:
            return np.zeros(joint.size)
        outside = tuple(i for i in places if i not in inside)
        inverse = _ratio(np.ones(()), joint.sum(axis=outside, keepdims=True))
        of_parents = (theta**2 * inverse).sum(axis=-1, keepdims=True)
        return np.ravel(theta**2 * (of_parents + (1 - 2 * theta) * inverse))

    def edges(inside: list[int], inverse: Floats, below: list[Floats]) -> list[Floats]:
        upper = moment(inside)
        lower = [moment([j for j in inside if j != i]) for i in inside]
        return [v + (upper - m) * inverse for v, m in zip(below, lower, strict=True)]

    one_group, by_mean = np.zeros(joint.size, np.int64), aggregation == "median"
    return lattice_average(
        joint.shape,
        rows_of,
        edges,
        np.zeros(joint.size),
        one_group,
        "mean" if by_mean else aggregation,
    ).reshape(joint.shape)


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
