r"""Log-linear conditional distributions: each state's weight is a product of one factor a parent.

For the state k of a variable and the states :math:`u_1, u_2, \ldots` of its parents,

.. math:: P(k \mid u) = \exp(w_{k0} + \sum_j w_{k j u_j})
          / \sum_l \exp(w_{l0} + \sum_j w_{l j u_j}) ,

a multinomial logistic regression on indicators of the parents' states (Agresti 2013, "Categorical
data analysis", ch. 8). It has :math:`(r - 1)(1 + \sum_j (r_j - 1))` free parameters where a table
has :math:`(r - 1) \prod_j r_j`: many parents that each add a little fit into few rows.

The weights have independent normal prior distributions with mean zero; those that maximise
likelihood times prior are found by Newton's method, in a strictly concave function. With H the
second derivative there, precisions included, and P those precisions, the logarithm of the evidence,
likelihood times prior integrated over the weights, is by Laplace's method (MacKay 1992, "Bayesian
interpolation")

.. math:: \log L(w) - \tfrac12 w' P w + \tfrac12 \log\det P - \tfrac12 \log\det H .

The same number added to the weights of all states changes no distribution; the prior counts such a
direction with the same factor in both determinants.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.special import softmax

from exactlearn._runtime.kernel import in_place_kernel
from exactlearn.errors import DataError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class WeightPrior:
    """Prior of the weights of a log-linear distribution, and when their search ends.

    Parameters
    ----------
    precision
        Inverse variance of the weight of a parent's state; above zero. A half did not predict
        better (``docs/additive-families.md``).
    intercept
        Inverse variance of the weight of a state alone; above zero.
    gain
        Largest gain expected of a further step, in nats, that ends the search.
    steps
        Most steps of Newton's method.
    """

    precision: float = 1.0
    intercept: float = 0.1
    gain: float = 1e-8
    steps: int = 100


PRIOR = WeightPrior()


class LogLinear(NamedTuple):
    """A log-linear conditional distribution.

    Attributes
    ----------
    weights
        By state of the variable, shape (r, 1 + states of all parents): first that of the state
        alone, then one for each state of each parent.
    log_likelihood
        Of the rows it was fitted to, in nats.
    log_evidence
        Logarithm of the probability of these rows when the weights are not known.
    """

    weights: Floats
    log_likelihood: float
    log_evidence: float

    def table(self, sizes: Sequence[int]) -> Floats:
        """Return the conditional probabilities, one axis a parent and the variable's own last.

        Parameters
        ----------
        sizes
            Number of states of each parent.
        """
        own, *others = np.split(self.weights.T, np.cumsum([1, *sizes])[:-1])
        total = own.reshape((1,) * len(sizes) + (-1,))
        for axis, weights in enumerate(others):
            shape = [1] * len(sizes) + [weights.shape[1]]
            shape[axis] = len(weights)
            total = total + weights.reshape(shape)
        found: Floats = softmax(total, axis=-1)
        return found


def fit_log_linear(
    counts: Floats,
    configurations: NDArray[np.integer],
    sizes: Sequence[int],
    prior: WeightPrior = PRIOR,
) -> LogLinear:
    """Fit a log-linear distribution to the counts of a family.

    Parameters
    ----------
    counts
        Weight of the rows by observed configuration of the parents and state, shape
        (configurations, r).
    configurations
        The parents' states in each configuration, shape (configurations, parents).
    sizes
        Number of states of each parent.
    prior
        Prior of the weights.

    Returns
    -------
    LogLinear
        The most probable weights.

    Raises
    ------
    DataError
        When the counts are too large beside the precisions for floating point.

    Examples
    --------
    >>> found = fit_log_linear(np.array([[8.0, 2.0], [2.0, 8.0]]), np.array([[0], [1]]), [2])
    >>> found.table([2]).round(2)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    first = np.cumsum([1, *sizes])
    columns = np.zeros((len(counts), 1 + len(sizes)), np.int64)
    columns[:, 1:] = configurations + first[:-1]
    r, width = counts.shape[1], int(first[-1])
    precision = np.tile(np.append(prior.intercept, np.full(width - 1, prior.precision)), r)
    weights = base = step = np.zeros(r * width)
    best, probabilities = -np.inf, np.empty(r)
    for _ in range(prior.steps):
        gradient, hessian = -precision * weights, np.diag(precision)
        likelihood = _derivatives(
            columns, counts, weights.reshape(r, width), probabilities, gradient, hessian
        )
        value = likelihood - precision @ (weights * weights) / 2
        if value < best - prior.gain:  # beyond the maximum: half the way
            step = step / 2
            weights = base + step
            continue
        # The lower triangle of a matrix is the upper one of its transpose, in LAPACK's layout.
        factor, failed = dpotrf(hessian.T, lower=0, clean=0, overwrite_a=1)
        if failed:
            raise DataError(
                f"expected row weights that a log-linear distribution can be fitted to, found "
                f"{counts.sum():g} in all; divide them by a number"
            )
        step, _ = dpotrs(factor, gradient, lower=0)
        if step @ gradient <= 2 * prior.gain:
            break
        base, best = weights, value
        weights = base + step
    evidence = value + np.log(precision).sum() / 2 - np.log(np.diag(factor)).sum()
    return LogLinear(weights.reshape(r, width), float(likelihood), float(evidence))


@in_place_kernel
def _derivatives(
    columns: NDArray[np.int64],
    counts: Floats,
    weights: Floats,
    probabilities: Floats,
    gradient: Floats,
    hessian: Floats,
) -> float:
    """Return the log-likelihood; add its gradient, and minus its second derivative below.

    Parameters
    ----------
    columns
        Which columns of the weights each configuration adds up.
    counts, weights
        As above.
    probabilities
        Room for one distribution.
    gradient
        By weight, shape (r * columns of weights,).
    hessian
        By two weights; of blocks above the diagonal nothing is written.
    """
    r, width = weights.shape
    likelihood = 0.0
    for c in range(len(counts)):
        largest, rows, total = -np.inf, 0.0, 0.0
        for a in range(r):
            sum_ = 0.0
            for f in columns[c]:
                sum_ += weights[a, f]
            probabilities[a] = sum_
            largest = max(largest, sum_)
            rows += counts[c, a]
        for a in range(r):
            likelihood += counts[c, a] * (probabilities[a] - largest)
            probabilities[a] = np.exp(probabilities[a] - largest)
            total += probabilities[a]
        likelihood -= rows * np.log(total)
        for a in range(r):
            probabilities[a] /= total
        for a in range(r):
            for f in columns[c]:
                gradient[a * width + f] += counts[c, a] - rows * probabilities[a]
            for b in range(a + 1):
                share = probabilities[b]
                curvature = rows * probabilities[a] * ((1.0 - share) if a == b else -share)
                for f in columns[c]:
                    for g in columns[c]:
                        hessian[a * width + f, b * width + g] += curvature
    return likelihood
