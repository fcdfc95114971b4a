"""The base of the estimators: tables as frames, their coding, and checked parameters."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from exactlearn._runtime.argument_kinds import PlainCheck, one_of, refusal
from exactlearn._runtime.arguments import check_fields
from exactlearn.data.dataset import Dataset
from exactlearn.data.frame_coding import FrameCoding
from exactlearn.data.frame_rows import column_names
from exactlearn.data.unseen import UNSEEN, Unseen
from exactlearn.errors import OptionError


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
    unseen: Unseen
    coding_: FrameCoding
    _labels: list[str] | None = None

    def __sklearn_tags__(self) -> Any:
        """Return the tags: missing cells, texts and categories are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _frame(self, X: Any, *, reset: bool = False) -> pd.DataFrame:
        """Return a table as a frame, its shape and names checked or, with ``reset``, noted."""
        if not isinstance(X, pd.DataFrame):
            if isinstance(X, list) and np.asarray(X).dtype.kind in "US":
                # numbers beside texts would become texts
                X = np.array(X, object)
            self._labels = None if reset else self._labels
            array = validate_data(
                self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan"
            )
            return pd.DataFrame(array).infer_objects()
        # frames keep the types of their columns
        validate_data(self, X, reset=reset, skip_check_array=True)
        labels = column_names(X)
        self._labels = labels if reset else self._labels
        # scikit-learn only looks at labels that are texts
        if self._labels not in (None, labels):
            raise ValueError(
                f"expected the columns {self._labels} of fit, found {labels}"
            )
        if X.empty:
            raise ValueError(
                f"expected rows and columns, found a frame of the shape {X.shape}"
            )
        return X

    def _coded(
        self,
        frame: pd.DataFrame,
        rule: str,
        weights: NDArray[np.float64] | None = None,
        classes: NDArray[np.integer] | None = None,
    ) -> Dataset:
        """Fit the coding to rows, and return them coded."""
        one_of(UNSEEN)(self.unseen, "unseen")
        # arrays have no labels: their columns are numbered
        names = self._labels or [f"x{j}" for j in range(self.n_features_in_)]
        self.coding_ = FrameCoding.fit_frame(
            frame, names, rule, weights, classes, self.tidy
        )
        self.left_out_ = self.coding_.left_out
        return self.coding_.dataset(frame, weights)

    def _later_rows(self, frame: pd.DataFrame) -> Dataset:
        """Return rows as they are coded after the fit; values that are no states are reported."""
        return self.coding_.dataset(frame, unseen=self.unseen)

    def _check_parameters(self, **special: PlainCheck) -> None:
        """Refuse parameters that no method could take; they stay as they were given."""
        check_fields(replace(self), discretise=lambda rule, _: rule, **special)

    def _seed(self) -> int:
        if isinstance(self.random_state, bool):
            raise refusal("random_state", "a whole number from 0", self.random_state)
        # any seed of scikit-learn becomes a whole number
        try:
            generator = check_random_state(self.random_state)
        except ValueError as error:
            raise OptionError(
                f"random_state: {error}; pass a whole number from 0"
            ) from None
        return int(generator.randint(np.iinfo(np.int32).max))
