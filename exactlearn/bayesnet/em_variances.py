r"""Standard errors of the parameters that EM estimates, by the observed information.

In the logits of the distributions, :math:`\theta \propto \exp \eta`, the score of the observed
cells is that of the expected counts (Fisher's identity; Louis 1982, "Finding the observed
information matrix when using the EM algorithm"),

.. math:: S_{u,x}(\eta) = E[N_{u,x}] - \theta_{x \mid u} E[N_u] ,

so that one E-step gives all of it, and its central differences the observed information
:math:`I = -\partial S / \partial \eta`. With :math:`J` the derivative of :math:`\theta` by
:math:`\eta`, blocks :math:`\operatorname{diag} \theta - \theta \theta^T`, and :math:`D` the
information of the pseudo-counts, blocks :math:`\alpha r` times those of J, the covariance of the
estimates is :math:`J (I + D)^+ I (I + D)^+ J`. With complete rows and without pseudo-counts that is
:math:`\theta (1 - \theta) / N_u`.

No variance is larger than :math:`\theta (1 - \theta)`, as for the deletion estimators
(:mod:`~exactlearn.bayesnet.deletion_variances`); it is that where the observed cells do not
determine a parameter: I is singular there, or negative, as before EM has converged.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.complete_data import SMOOTHING
from exactlearn.bayesnet.em import NetworkEM
from exactlearn.bayesnet.network import NetworkLike
from exactlearn.data.dataset import DatasetLike
from exactlearn.errors import TooLargeError, as_written

Floats = NDArray[np.float64]

MOST_PARAMETERS = 5000
"""Most cells of the tables: the E-step is done twice for each, and the information is dense."""

STEP = 1e-5
"""Change of a logit whose effect on the scores is measured."""

SINGULAR = 1e-7
"""Share of the largest eigenvalue of the information below which one counts as zero."""

MIXED = 1e-3
"""Share of a parameter's own derivative, of its change along such a direction, that is rounding."""


@checked_arguments()
def em_standard_errors(
    dataset: DatasetLike, network: NetworkLike, *, smoothing: float = SMOOTHING
) -> list[Floats] | None:
    """Return the standard errors of a network's parameters that EM has estimated.

    Parameters
    ----------
    dataset
        The rows, with or without missing cells.
    network
        What EM found, over the variables of the table.
    smoothing
        The pseudo-count that EM added.

    Returns
    -------
    errors
        For each variable an array of the shape of its table; ``None`` where Ctrl-C or a time limit
        of the thread ended the computation.

    Raises
    ------
    TooLargeError
        When the tables have too many cells together, or inference is too large.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.Dataset(np.array([[0], [0], [0], [1], [-1]]), ("a",), (("no", "yes"),))
    >>> found = el.fit_em(table, [()], smoothing=0.0).model
    >>> em_standard_errors(table, found, smoothing=0.0)[0].round(3)  # sqrt(.75 * .25 / 4)
    array([0.217, 0.217])
    """
    parameters = np.concatenate([table.ravel() for table in network.tables])
    if len(parameters) > MOST_PARAMETERS:
        raise TooLargeError(
            f"standard errors of {len(parameters)} parameters: expected at most {MOST_PARAMETERS} "
            "by the observed information; use a deletion estimator "
            f"({as_written('method', 'd-mar')})"
        )
    control = SearchControl.within()
    problem = NetworkEM(dataset, network.parents, smoothing, control=control)
    distributions = [t for table in network.tables for t in table.reshape(-1, table.shape[-1])]
    jacobian = block_diag(*(np.diag(t) - np.outer(t, t) for t in distributions))
    information = np.empty_like(jacobian)
    for k in range(len(parameters)):
        if control.is_over:
            return None
        before, after = (_scores(problem, parameters, k, step) for step in (-STEP, STEP))
        information[k] = (before - after) / (2 * STEP)
    priors = np.concatenate([np.full(len(t), smoothing * len(t)) for t in distributions])
    variances = _variances(information, jacobian, priors)
    return problem.tables(np.sqrt(np.clip(variances, 0.0, parameters * (1 - parameters))))


def _scores(problem: NetworkEM, parameters: Floats, k: int, step: float) -> Floats:
    """Return the scores where one logit is changed."""
    changed = parameters.copy()
    changed[k] *= np.exp(step)
    changed = problem.normalised(changed)
    counts = problem.tables(problem.e_step(0, changed).counts)
    pairs = zip(counts, problem.tables(changed), strict=True)
    return np.concatenate([(n - n.sum(axis=-1, keepdims=True) * t).ravel() for n, t in pairs])


def _variances(information: Floats, jacobian: Floats, priors: Floats) -> Floats:
    """Return the diagonal of the covariance; infinity where the information is singular."""
    information = (information + information.T) / 2
    values, vectors = np.linalg.eigh(information)
    free = jacobian @ vectors[:, values <= SINGULAR * values[-1]]
    is_free = np.abs(free).max(axis=1, initial=0.0) > MIXED * jacobian.diagonal()
    penalised = information + priors[:, np.newaxis] * jacobian
    inverse = jacobian @ np.linalg.pinv(penalised, rcond=SINGULAR, hermitian=True)
    return np.where(is_free, np.inf, np.einsum("ij,jk,ik->i", inverse, information, inverse))
