"""What the estimators share: reading of tables, learning of a network, answers for rows."""

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, validate_data

from exactlearn.data.column_coding import FrameCoding
from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError
from exactlearn.structure.learning import LearnedNetwork, learn


class TableEstimator(BaseEstimator):
    """An estimator that codes the columns of tables, and learns from the codes.

    Attributes
    ----------
    coding_
        States and bins of the columns.
    left_out_
        Why each column that is no variable of the model is left out, by name.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    """

    tidy: bool
    coding_: FrameCoding
    _labels: list[str] | None = None

    def __sklearn_tags__(self) -> Any:
        """Return the tags: missing cells, texts and categories are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    @property
    def left_out_(self) -> dict[str, str]:
        """Why each column that is no variable of the model is left out, by name."""
        return self.coding_.left_out

    def _frame(self, X: Any, *, reset: bool = False) -> pd.DataFrame:
        """Return a table as a frame, its shape and names checked or, with ``reset``, noted."""
        if not isinstance(X, pd.DataFrame):
            if isinstance(X, list) and np.asarray(X).dtype.kind in "US":
                X = np.array(X, object)  # texts beside numbers: these would become texts
            self._labels = None if reset else self._labels
            array = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
            return pd.DataFrame(array).infer_objects()
        validate_data(self, X, reset=reset, skip_check_array=True)
        labels = [*map(str, X.columns)]
        self._labels = labels if reset else self._labels
        if self._labels not in (None, labels):  # scikit-learn only looks at labels that are texts
            raise ValueError(f"expected the columns {self._labels} of fit, found {labels}")
        if X.empty:
            raise ValueError(f"expected rows and columns, found a frame of the shape {X.shape}")
        return X

    def _names(self) -> list[str]:
        """Return the names of the columns, ``x0``, ``x1``, ... where they have none."""
        return self._labels or [f"x{j}" for j in range(self.n_features_in_)]

    def _weighted(
        self, frame: pd.DataFrame, y: NDArray[Any] | None, sample_weight: Any
    ) -> tuple[pd.DataFrame, NDArray[Any] | None, NDArray[np.float64] | None]:
        """Return the rows that count, with their targets and weights."""
        if sample_weight is None:
            return frame, y, None
        weights = _check_sample_weight(
            sample_weight, frame, dtype=np.float64, ensure_non_negative=True
        )
        kept = weights > 0
        return frame.loc[kept], None if y is None else y[kept], weights[kept]

    def _coded(
        self,
        frame: pd.DataFrame,
        rule: str,
        weights: NDArray[np.float64] | None = None,
        classes: NDArray[np.integer] | None = None,
    ) -> Dataset:
        """Fit the coding to rows, and return them coded."""
        names = self._names()
        self.coding_ = FrameCoding.fit(frame, names, rule, weights, classes, self.tidy)
        return self.coding_.dataset(frame, weights)

    def _rows(self, X: Any) -> Dataset:
        """Return rows in the fitted coding."""
        return self.coding_.dataset(self._frame(X))

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))


def learned(
    table: Dataset, estimator: Any, *, seed: int, required: Collection[tuple[str, str]] = ()
) -> LearnedNetwork:
    """Learn a network by an estimator's options ``ess``, ``max_parents`` and so on.

    Raises
    ------
    OptionError
        When the smoothing is not above 0: rows to predict could then be impossible.
    SolverError
        When the time limit came before there was any network.
    """
    return learn(
        table,
        ess=estimator.ess,
        max_parents=estimator.max_parents,
        required=required,
        smoothing=checked_smoothing(estimator.smoothing),
        time_limit=estimator.time_limit,
        seed=seed,
    )


def checked_smoothing(smoothing: float) -> float:
    """Return a pseudo-count above 0; with 0, rows to predict could be impossible."""
    if not smoothing > 0:
        raise OptionError(f"smoothing is {smoothing}: give a number above 0")
    return smoothing
