"""Posteriors averaged over networks that are learned from bootstrap samples of the rows.

With few rows many networks are about as good as the best one, and each is wrong elsewhere. Breiman
1996, "Bagging predictors"; for networks Friedman, Goldszmidt and Wyner 1999, "Data analysis with
Bayesian networks: a bootstrap approach". Only the structures come from the samples: the parameters
of each are estimated from all rows.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.em import fit_em
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.row_completion import posterior_cells
from exactlearn.data.dataset import Dataset
from exactlearn.imputation.learning import Learning, learned


def bootstrap_networks(dataset: Dataset, how: Learning) -> tuple[tuple[BayesianNetwork, ...], str]:
    """Learn ``how.networks`` networks, each from a sample of the rows with replacement.

    Each gets the same share of the time limit.

    Returns
    -------
    networks
        Fewer, or none, when a limit or an interrupt came first.
    status
        ``heuristic``, or else ``feasible`` or ``interrupted``.

    Raises
    ------
    OptionError, TooLargeError, InfeasibleError
        As :func:`~exactlearn.imputation.learning.learned`.
    """
    share = None if how.time_limit is None else how.time_limit / how.networks
    networks, status = [], "heuristic"
    for k in range(how.networks):
        sample = _sample(dataset, np.random.default_rng((how.seed, k)))
        found = learned(sample, replace(how, time_limit=share))
        if found.parents is not None:
            networks.append(fit_em(dataset, found.parents, alpha=how.alpha).network)
        if found.ended != "heuristic":
            status = found.ended
        if status == "interrupted":
            break
    return tuple(networks), status


def averaged_posterior(
    networks: Sequence[BayesianNetwork], dataset: Dataset
) -> NDArray[np.float64]:
    """Return the mean of the networks' posterior distributions of each missing cell.

    Parameters
    ----------
    networks
        At least one; all over the same variables and states.
    dataset
        As for :func:`~exactlearn.bayesnet.row_completion.posterior_cells`.

    Returns
    -------
    probabilities
        Shape (cells, most states of a variable).

    Raises
    ------
    DataError, TooLargeError
        As :func:`~exactlearn.bayesnet.row_completion.posterior_cells`.
    """
    total = posterior_cells(networks[0], dataset)
    for network in networks[1:]:
        total += posterior_cells(network, dataset)
    return total / len(networks)


def _sample(dataset: Dataset, rng: np.random.Generator) -> Dataset:
    """Draw as many rows as there are, with replacement; equal ones become one row with weight."""
    times = np.bincount(rng.integers(0, dataset.n_rows, dataset.n_rows), minlength=dataset.n_rows)
    weights = times * dataset.row_weights
    drawn = times > 0
    return replace(dataset, codes=dataset.codes[drawn], weights=weights[drawn])
