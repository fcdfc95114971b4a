r"""Factored deletion: the probability of a set of variables from all its factorisations at once.

Each order of the variables :math:`Y_1, \dots, Y_k` factorises :math:`P(Y)` into conditional
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
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.hash_tables import index_rows
from exactlearn.data.counts import weight_by

Floats = NDArray[np.float64]

Aggregation = Literal["mean", "median", "inverse-variance"]

_LEAST_VARIANCE = 1e-30
"""Variance of a certain estimate: its weight stays finite."""


def factored_distributions(
    counts: Floats, aggregation: Aggregation, smoothing: float = 0.0
) -> tuple[Floats, Floats]:
    """Estimate the joint distribution of some variables in each of several groups of rows.

    Parameters
    ----------
    counts
        Weight of the rows of each group and configuration, shape (groups, r_1 + 1, ..., r_k + 1);
        the last place of an axis counts the rows in which that variable is missing. Overwritten.
    aggregation
        How the estimates of a node are combined.
    smoothing
        Pseudo-count of each cell of a factor.

    Returns
    -------
    distributions, defects
        Shape (groups, r_1, ..., r_k), each normalised, without pseudo-counts all zero in a group
        where no row observes all the variables; and how far each summed from one before that,
        shape (groups,).

    Examples
    --------
    >>> counts = np.array([[[2.0, 0.0, 4.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]])
    >>> factored_distributions(counts, "inverse-variance")[0].round(3)
    array([[[0.636, 0.   ],
            [0.   , 0.364]]])
    """
    k = counts.ndim - 1
    _sum_over_missing(counts)
    axes = tuple(range(1, k + 1))
    ones = np.ones((len(counts),) + (1,) * k)
    estimates, variances = [ones], [0.0 * ones]
    for node in range(1, 2**k):
        seen = counts[_places(node, k)] + smoothing
        rows = reciprocal(seen.sum(axis=axes, keepdims=True))
        size, edges, spreads = seen[0].size, [], []
        for i in range(k):
            if node >> i & 1:
                below, given = node ^ 1 << i, reciprocal(seen.sum(axis=i + 1, keepdims=True))
                edges.append(estimates[below] * (seen * given))
                added = size - size // seen.shape[i + 1]
                spreads.append(added * rows + variances[below])
        estimate, variance = _AGGREGATIONS[aggregation](np.stack(edges), np.stack(spreads))
        estimates.append(estimate)
        variances.append(variance)
    return _normalised(estimates[-1])


def factored_configurations(
    columns: NDArray[np.integer],
    labels: NDArray[np.integer],
    weights: Floats,
    sizes: Sequence[int],
    aggregation: Aggregation,
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Compute :func:`factored_distributions` where groups have few rows for their configurations.

    Without pseudo-counts only the configurations that a row of the group has are possible.

    Parameters
    ----------
    columns
        States of the variables, -1 where missing, shape (variables, rows).
    labels, weights
        Group and weight of each row; each group has a row that observes all the variables.
    sizes
        Numbers of states.
    aggregation
        As for :func:`factored_distributions`.

    Returns
    -------
    rows, shares, defects
        A row of each group and configuration that has one, its probability in the group, and how
        far the probabilities of each group summed from one.
    """
    k, n_groups = len(columns), int(labels.max(initial=-1)) + 1

    def weight_at(chosen: NDArray[np.bool_], variables: list[int]) -> Floats:
        """Return, for rows that are chosen, the weight of those alike, with zeros for others."""
        keys = np.concatenate([labels[np.newaxis, chosen], columns[variables][:, chosen]])
        same, _, _ = index_rows(np.ascontiguousarray(keys.T, np.int32))
        alike = np.zeros(len(labels))
        alike[chosen] = weight_by(same, weights[chosen], 0)[same]
        at_rows: Floats = alike[rows]
        return at_rows

    observed: NDArray[np.bool_] = columns >= 0
    complete = np.flatnonzero(observed.all(axis=0))
    keys = np.concatenate([labels[np.newaxis, complete], columns[:, complete]])
    rows = complete[index_rows(np.ascontiguousarray(keys.T, np.int32))[1]]
    of_group = labels[rows]
    estimates, variances = [np.ones(len(rows))], [np.zeros(n_groups)]
    for node in range(1, 2**k):
        inside = [i for i in range(k) if node >> i & 1]
        chosen = np.asarray(observed[inside].all(axis=0))
        seen = weight_at(chosen, inside)
        inverse = reciprocal(weight_by(labels[chosen], weights[chosen], n_groups))
        size, edges, spreads = prod(sizes[i] for i in inside), [], []
        for i in inside:
            below, others = node ^ 1 << i, [j for j in inside if j != i]
            edges.append(estimates[below] * seen * reciprocal(weight_at(chosen, others)))
            spreads.append((size - size // sizes[i]) * inverse + variances[below])
        spread = np.stack(spreads)
        average = _AGGREGATIONS[aggregation]
        estimates.append(average(np.stack(edges), spread[:, of_group])[0])
        variances.append(average(spread, spread)[1])
    totals = weight_by(of_group, estimates[-1], n_groups)
    shares = estimates[-1] * reciprocal(totals)[of_group]
    return rows, shares, np.where(totals > 0, np.abs(totals - 1.0), 0.0)


def lattice_sums(
    counts: Floats, moments: Sequence[Floats], aggregation: Aggregation, smoothing: float
) -> Floats:
    """Sum increments of the nodes along the lattice, divided by their rows and averaged as edges.

    Parameters
    ----------
    counts
        As for :func:`factored_distributions`, of one group, without its axis.
    moments
        An array for each node, all of one shape: an edge adds the difference of those at its ends
        divided by the weight of the rows that observe the upper one.
    aggregation, smoothing
        As for :func:`factored_distributions`; the median is taken as the mean.
    """
    counts = counts[np.newaxis].copy()
    _sum_over_missing(counts)
    k, average = counts.ndim - 1, "mean" if aggregation == "median" else aggregation
    sums, variances = [0.0 * moments[0]], [np.zeros(())]
    for node in range(1, 2**k):
        seen = counts[_places(node, k)] + smoothing
        rows, size = reciprocal(seen.sum(keepdims=True)).reshape(()), seen.size
        edges, spreads = [], []
        for i in range(k):
            if node >> i & 1:
                below = node ^ 1 << i
                edges.append(sums[below] + (moments[node] - moments[below]) * rows)
                spreads.append((size - size // seen.shape[i + 1]) * rows + variances[below])
        total, variance = _AGGREGATIONS[average](
            np.stack(edges), np.stack(spreads).reshape(-1, *[1] * moments[0].ndim)
        )
        sums.append(total)
        variances.append(variance.reshape(()))
    return sums[-1]


def _sum_over_missing(counts: Floats) -> None:
    """Let the last place of each axis count all rows, whether they observe its variable or not."""
    for axis in range(1, counts.ndim):
        np.moveaxis(counts, axis, 0)[-1] = counts.sum(axis=axis)


def _places(node: int, k: int) -> tuple[slice, ...]:
    """Return where the counts of a node stand: all rows for the variables outside it."""
    inside = (slice(0, -1) if node >> i & 1 else slice(-1, None) for i in range(k))
    return (slice(None), *inside)


def reciprocal(counts: Floats) -> Floats:
    """Return one divided by counts, zero for zero."""
    return np.divide(1.0, counts, out=np.zeros_like(counts), where=counts > 0)


def _mean(edges: Floats, variances: Floats) -> tuple[Floats, Floats]:
    return edges.mean(axis=0), variances.mean(axis=0)


def _median(edges: Floats, variances: Floats) -> tuple[Floats, Floats]:
    return np.median(edges, axis=0), variances.mean(axis=0)


def _inverse_variance(edges: Floats, variances: Floats) -> tuple[Floats, Floats]:
    weights = 1.0 / np.maximum(variances, _LEAST_VARIANCE)
    weights /= weights.sum(axis=0)
    return (weights * edges).sum(axis=0), (weights * variances).sum(axis=0)


_AGGREGATIONS: dict[Aggregation, Callable[[Floats, Floats], tuple[Floats, Floats]]] = {
    "mean": _mean,
    "median": _median,
    "inverse-variance": _inverse_variance,
}


def _normalised(estimate: Floats) -> tuple[Floats, Floats]:
    total = estimate.sum(axis=tuple(range(1, estimate.ndim)), keepdims=True)
    defects = np.where(total > 0, np.abs(total - 1.0), 0.0).reshape(-1)
    return estimate * reciprocal(total), defects
