"""A fitted network judged on incomplete rows: its completion and its scores."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from exactlearn.bayesnet.bucket_layout import flat_tables
from exactlearn.bayesnet.complete_data import full_counts
from exactlearn.bayesnet.em_steps import NetworkEM
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.row_completion import most_probable_completion
from exactlearn.data.counts import total_weight
from exactlearn.data.dataset import Dataset
from exactlearn.scoring.scores import Score, family_score

Parents = tuple[tuple[int, ...], ...]
"""Parents of each variable."""


@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """A network with its most probable completion of a table, and its scores there.

    Parameters
    ----------
    network
        The network, over the table's variables and states.
    values
        State of each missing cell in the network's most probable completion.
    score
        Score of the DAG on the table so completed.
    expected_score
        Score of the DAG from the expected counts of its families, which are exact.
    observed_score
        ``expected_score`` less the expected log-likelihood of the completed rows, plus the
        log-likelihood of the observed cells (Cheeseman and Stutz 1996).
    """

    network: BayesianNetwork
    values: NDArray[np.int64]
    score: float
    expected_score: float
    observed_score: float

    @classmethod
    def of(cls, network: BayesianNetwork, dataset: Dataset, score: Score) -> "FittedNetwork":
        """Judge a network on a table with missing cells."""
        values = most_probable_completion(network, dataset)
        problem = NetworkEM(dataset, network.parents)
        parameters = flat_tables(network)
        state = problem.init(parameters)
        expected = _score(problem.tables(state.counts), score, total_weight(dataset))
        completed = float(xlogy(state.counts, parameters).sum())
        return cls(
            network,
            values,
            complete_score(dataset.complete(values), network.parents, score),
            expected,
            expected - completed + state.log_likelihood,
        )


def complete_score(table: Dataset, parents: Parents, score: Score) -> float:
    """Return the score of a DAG on complete, perhaps weighted, rows.

    What :func:`~exactlearn.augmentation.incumbent.total_score` returns, fast on many rows.
    """
    counts = [full_counts(table, child, family) for child, family in enumerate(parents)]
    return _score(counts, score, total_weight(table))


def _score(counts: Sequence[NDArray[np.float64]], score: Score, total: float) -> float:
    """Return the sum of the families' scores from their counts, the child's axis last."""
    kind, a, b = score.compiled(total)
    return sum(family_score(table.reshape(-1, table.shape[-1]), kind, a, b) for table in counts)
