"""The result of structural EM, and the score of a fitted network on incomplete rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.display import ByValue
from exactlearn.augmentation.solutions import require_score
from exactlearn.bayesnet.buckets import flat_tables
from exactlearn.bayesnet.em import NetworkEM
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.row_completion import most_probable_completion
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import CheckError
from exactlearn.graphs.dag import topological_order
from exactlearn.graphs.equivalence import Structured
from exactlearn.scoring.scores import Score, family_score, total_score, total_weight

if TYPE_CHECKING:
    import pandas as pd

Parents = tuple[tuple[int, ...], ...]
"""Parents of each variable."""


@dataclass(frozen=True, eq=False, repr=False)
class FittedNetwork(ByValue, shown="network score expected_score observed_score"):
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
    def of(
        cls, network: BayesianNetwork, dataset: Dataset, score: Score
    ) -> "FittedNetwork":
        """Score a network on a table with missing cells."""
        # One E-step: the expected counts, and the log-likelihood of the observed cells.
        values = most_probable_completion(network, dataset)
        problem = NetworkEM(dataset, network.parents, leaves_out_barren=False)
        parameters = flat_tables(network.tables)
        state = problem.e_step(0, parameters)
        counts = problem.tables(state.counts)
        expected_score = sum(family_scores(counts, score, total_weight(dataset)))
        # Cheeseman and Stutz: in place of the expected log-likelihood of the completed rows, that
        # of the observed cells.
        expected_log_likelihood = float(xlogy(state.counts, parameters).sum())
        return cls(
            network=network,
            values=values,
            score=total_score(dataset.complete(values), network.parents, score),
            expected_score=expected_score,
            observed_score=expected_score
            - expected_log_likelihood
            + state.log_likelihood,
        )


def family_scores(
    counts: Iterable[NDArray[np.float64]], score: Score, total: float
) -> list[float]:
    """Return the score of each family from its counts, the child's axis last."""
    tables = [table.reshape(-1, table.shape[-1]) for table in counts]
    return [family_score(table, float(len(table)), score, total) for table in tables]


StructuralStatus = Literal["converged", "feasible", "interrupted"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StructuralEM(
    Structured,
    ByValue,
    shown="status arcs score observed_score values iterations seconds",
):
    """The best network that structural EM met, with its most probable completion.

    Parameters
    ----------
    parents, network
        Parents of each variable, and the fitted network; ``None`` when the limit came before any
        was found.
    values
        The network's most probable completion: a state index for each missing cell, in the order
        of ``Dataset.missing_cells``.
    score
        Score of the DAG on the completed table.
    expected_score
        Score of the DAG's expected counts under the network.
    observed_score
        ``expected_score`` less the expected log-likelihood of the completed rows, plus the
        log-likelihood of the observed cells (Cheeseman and Stutz 1996, "Bayesian classification
        (AutoClass): theory and results"); without smoothing the BIC or AIC of the observed cells
        itself. The best network is that of the largest one.
    status
        ``converged`` (no start went on), ``feasible`` (a limit was reached) or ``interrupted``.
    iterations
        M-steps over all starts.
    seconds, nodes
        Wall time, and nodes of all search trees.
    trace
        Improvements over time as ``(seconds, observed score, inf)``; of hard EM the score.
    drawn_rows
        Distinct rows whose expected counts were averages over draws: they had too many completions.
    message
        Remarks beside the status: starts that had not converged, M-steps that are not proven.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("cancer-mcar").part(slice(60))
    >>> found = el.structural_em(table, "bdeu", max_parents=1)
    >>> found.status, found.bound, found.completed(table).is_complete
    ('converged', inf, True)
    >>> found.check(table, el.BDeu())
    """

    parents: tuple[tuple[int, ...], ...] | None
    network: BayesianNetwork | None
    values: NDArray[np.int64]
    score: float
    expected_score: float
    observed_score: float
    status: StructuralStatus
    iterations: int
    seconds: float = 0.0
    nodes: int = 0
    trace: tuple[tuple[float, float, float], ...] = ()
    drawn_rows: int = 0
    message: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables; none where there is no network.

        Examples
        --------
        >>> import exactlearn as el
        >>> el.structural_em(el.read_dataset("cancer-mcar"), "bdeu", max_parents=1).names[:2]
        ('Pollution', 'Smoker')
        """
        return () if self.network is None else self.network.names

    @property
    def bound(self) -> float:
        """Infinite: structural EM proves no bound on any score."""
        return inf

    @checked_arguments()
    def completed(self, dataset: DatasetLike) -> Dataset:
        """Return the table with its missing cells filled."""
        return dataset.complete(self.values)

    @checked_arguments()
    def to_frame(self, dataset: DatasetLike) -> "pd.DataFrame":
        """Return the values of the missing cells as a pandas frame: row, variable, value.

        Examples
        --------
        >>> import exactlearn as el
        >>> table = el.read_dataset("cancer-mcar").part(slice(60))
        >>> el.structural_em(table, "bdeu", max_parents=1).to_frame(table).head(2)
           row  variable  value
        0    2  Dyspnoea  False
        1    3    Cancer  False
        """
        return dataset.completion_frame(self.values)

    def check(self, dataset: Dataset, score: Score) -> None:
        """Recompute completion and score from the incomplete table.

        Raises
        ------
        CheckError
            When the arcs close a cycle or are not the network's, the values are not its most
            probable completion, or the score is not that of the completed table.
        """
        if self.parents is None or self.network is None:
            return
        topological_order(self.parents)
        if self.network.parents != self.parents:
            raise CheckError("the network's parents are not those of the answer")
        # The completion is found anew by inference in the network.
        if not np.array_equal(
            most_probable_completion(self.network, dataset), self.values
        ):
            raise CheckError(
                "the values are not the network's most probable completion"
            )
        completed = self.completed(dataset)
        require_score(self.score, completed, self.parents, score, "completed table")
