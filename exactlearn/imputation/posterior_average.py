"""Each cell's most probable state, averaged over all networks.

Where few cells are missing, the average is over all completions as well, and exact
(:mod:`exactlearn.structure.completion_posterior`). Else networks are drawn from the posterior for
expected counts, and the cells' distributions under these are averaged.
"""

from dataclasses import replace

import numpy as np

from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.row_completion import posterior_cells
from exactlearn.data.dataset import Dataset
from exactlearn.errors import TooLargeError
from exactlearn.imputation.learning import (
    Imputed,
    Learning,
    averaged_posterior,
    independent,
)
from exactlearn.structure.completion_posterior import CompletionAverage
from exactlearn.structure.posterior import posterior

N_NETWORKS = 100
"""Networks that are drawn."""


def impute(dataset: Dataset, learning: Learning) -> Imputed:
    """Complete a table; by the most frequent states, as ``feasible``, where the time is too short.

    Score and number of parents are those of augmentation, unless others are given.

    Raises
    ------
    TooLargeError
        When there are too many variables.
    """
    settled = replace(learning, learner="exact").settled
    control = SearchControl.within(learning.time_limit)
    try:
        sure = posterior(
            dataset,
            score=settled.score,
            max_parents=settled.max_parents,
            required=learning.required,
            forbidden=learning.forbidden,
            missing="auto" if dataset.weights is None else "expected",
            time_limit=control.remaining,
            seed=learning.seed,
        )
    except TooLargeError:
        if not control.is_over:
            raise
        frequent = averaged_posterior([independent(dataset)], dataset)
        return replace(Imputed.of(frequent), status="feasible")
    if isinstance(sure.networks, CompletionAverage):
        cells = sure.networks.cell_figures["probability"]
        return replace(Imputed.of(cells), parents=sure.best)
    # Networks for expected counts, with the means of their parameters.
    mixture = sure.mixture(N_NETWORKS, smoothing=settled.smoothing, seed=learning.seed)
    distributions = [posterior_cells(network, dataset) for network in mixture.networks]
    probabilities = np.tensordot(mixture.weights, distributions, 1)
    return replace(Imputed.of(probabilities), parents=sure.best)
