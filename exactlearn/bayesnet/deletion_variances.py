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
are missing completely at random: a factorisation sums the martingale differences
:math:`E[\cdot \mid Y_S] - E[\cdot \mid Y_{S \setminus i}]`, each over :math:`N_S \ge n_c` rows, and
a mean of estimates has at most the mean of their variances. So the variance of direct deletion is
their bound.

Pseudo-counts scale :math:`\theta` by :math:`n_u / (n_u + \alpha r)`. No variance is larger than
:math:`\theta (1 - \theta)`, which is the most that an estimate between zero and one can have: that
is the variance of a distribution without any rows. Where all rows of a configuration agree, the
delta method says zero, however few they are.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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
    theta = _ratio(counts, total)
    return _ratio(theta * (1 - theta), total if rows is None else rows)


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
