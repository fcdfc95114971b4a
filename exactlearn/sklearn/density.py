"""The joint distribution of the columns of a table, by a Bayesian network."""

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from exactlearn.bayesnet.complete_data import SMOOTHING
from exactlearn.errors import DataError
from exactlearn.queries.table_queries import query_rows
from exactlearn.sklearn.estimator import TableEstimator, learned


@dataclass(kw_only=True, eq=False, repr=False)
class BayesianNetworkDensity(DensityMixin, TableEstimator):
    """Learn the distribution of rows by a Bayesian network, its structure learned exactly.

    Missing cells are summed out; a value that no row had in training counts as missing.

    Parameters
    ----------
    ess, max_parents, smoothing, time_limit, random_state
        As for :class:`~exactlearn.sklearn.BayesianNetworkClassifier`.
    discretise
        How numbers are cut into bins: ``frequency:BINS`` or ``width:BINS``. Integers with up to 20
        values are not cut.
    tidy
        Whether columns with fewer than two values, or another one in every row, are left out, with
        one warning; else they are refused.

    Attributes
    ----------
    network_
        Network of the columns used.
    learned_
        The :class:`~exactlearn.structure.learning.LearnedNetwork`, with the proof state of the
        structure.
    coding_, left_out_, n_features_in_, feature_names_in_
        As :class:`~exactlearn.sklearn.estimator.TableEstimator`.

    Examples
    --------
    >>> model = BayesianNetworkDensity().fit([["no", "no"], ["yes", "yes"]] * 20)
    >>> np.exp(model.score_samples([["no", "no"], ["no", "yes"], ["no", None]])).round(2).tolist()
    [0.49, 0.01, 0.5]
    """

    ess: float | Literal["auto"] = 1.0
    max_parents: int = 3
    smoothing: float = SMOOTHING
    discretise: str = "frequency:5"
    tidy: bool = True
    time_limit: float | None = None
    random_state: Any = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X
            Array or frame, shape (rows, columns).
        y
            Ignored.
        sample_weight
            How often each row counts, shape (rows,).
        """
        frame, _, weights = self._weighted(self._frame(X, reset=True), None, sample_weight)
        self._is_frame = isinstance(X, pd.DataFrame)
        table = self._coded(frame, self.discretise, weights)
        if not table.n_variables:
            raise DataError(
                f"no column has two different values (n_samples={table.n_rows}): give more rows"
            )
        self.learned_ = learned(table, self, seed=self._seed())
        self.network_ = self.learned_.network
        return self

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return the natural log probability of the observed cells of each row, shape (rows,).

        Of a number that is cut, that of its bin: not a density.
        """
        check_is_fitted(self)
        rows, first = self._rows(X), self.network_.names[0]
        return query_rows(self.network_, rows, first).log_probability_of_evidence

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of :meth:`score_samples`."""
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Any:
        """Draw rows: a frame where it was fitted to one, else an array.

        Numbers are the medians of their bins; a column that was left out has its only value.
        """
        check_is_fitted(self)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        drawn = self.network_.sample(n_samples, rng)
        frame = self.coding_.decoded(drawn.codes)
        return frame if self._is_frame else frame.to_numpy()
