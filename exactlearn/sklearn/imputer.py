"""Imputer: missing cells of tables filled by the models of ``exactlearn impute``."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from exactlearn._runtime.argument_kinds import one_of
from exactlearn._runtime.number_arguments import POSITIVE, SIZE
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.row_completion import draw_completions
from exactlearn.data.dataset import Dataset
from exactlearn.data.discretisation import EMPTY
from exactlearn.data.unseen import Unseen
from exactlearn.imputation.learning import Learning
from exactlearn.imputation.methods import MODES, Imputer, Mode
from exactlearn.scoring.scores import BDeu
from exactlearn.sklearn.estimator import TableEstimator


@dataclass(kw_only=True, eq=False, repr=False)
class ExactImputer(TransformerMixin, TableEstimator):
    """Fill missing cells by :class:`exactlearn.Imputer`.

    Columns have the types that they had in training, whatever those of later rows. Observed cells
    keep their values; one that no row had in training stays where the type can hold it (a text, a
    number), else it is filled (a new category). A column without any observed cell in training is
    dropped, with a warning.

    Parameters
    ----------
    mode
        ``stacked``, ``averaged``, ``posterior``, ``mpe``, ``multiple``, ``augmentation`` or
        ``mode``, as for :class:`exactlearn.Imputer`.
    ess
        Equivalent sample size of the score BDeu.
    max_parents
        Most parents of a variable.
    networks
        How many networks ``stacked`` and ``averaged`` learn.
    discretise
        How numbers are cut into bins: ``frequency:BINS`` or ``width:BINS``. Integers with up to 20
        values are not cut.
    tidy
        Whether columns with fewer than two values, or another one in every row, are left out, with
        one warning; else they are refused.
    unseen
        What becomes of a value that no training row had: ``missing`` counts it as missing, with one
        warning, ``refuse`` raises. Numbers are compared by value, whatever their type.
    time_limit
        Seconds for learning; the best so far is taken when they are over.
    random_state
        Seed of what is random.

    Attributes
    ----------
    imputer_
        The fitted :class:`exactlearn.Imputer`.
    network_
        Its network, of several the first.
    coding_, left_out_, n_features_in_, feature_names_in_
        As :class:`~exactlearn.sklearn.estimator.TableEstimator`.

    Examples
    --------
    >>> rows = [["no", 1.5], ["yes", 9.5], ["no", 1.0], ["yes", 9.0]] * 10
    >>> imputer = ExactImputer(mode="posterior").fit(rows)
    >>> imputer.transform([["no", None], [None, 9.1]]).tolist()
    [['no', 1.0], ['yes', 9.1]]
    """

    mode: Mode = "stacked"
    ess: float = 10.0
    max_parents: int = 2
    networks: int = 6
    discretise: str = "frequency:5"
    tidy: bool = True
    unseen: Unseen = "missing"
    time_limit: float | None = None
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows with or without missing cells.

        Parameters
        ----------
        X
            Array or frame, shape (rows, columns).
        y
            Ignored.
        """
        self._check_parameters(ess=POSITIVE, mode=one_of(MODES))
        table = self._coded(self._frame(X, reset=True), self.discretise)
        learning = Learning(
            score=BDeu(self.ess),
            max_parents=self.max_parents,
            networks=self.networks,
            time_limit=self.time_limit,
            seed=self._seed(),
        )
        self.imputer_ = Imputer(self.mode, learning)
        # where every column is left out there is nothing to learn
        if table.n_variables:
            self.imputer_.fit(table)
        self.network_ = self.imputer_.network
        return self

    def transform(self, X: Any) -> Any:
        """Return the table with its missing cells filled: a frame where X is one, else an array.

        Numbers that were cut get the median of the bin.
        """
        table, like = self._rows(X)
        return like(
            self.imputer_.transform(table).codes if table.n_variables else table.codes
        )

    def sample(self, X: Any, n_draws: int = 5, random_state: Any = None) -> list[Any]:
        """Return completed tables, drawn from the joint posterior under ``network_``.

        Parameters
        ----------
        X
            Array or frame, shape (rows, columns).
        n_draws
            Number of tables.
        random_state
            Seed of the draws.
        """
        n_draws = SIZE(n_draws, "n_draws")
        table, like = self._rows(X)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        # a table without variables is complete
        if not table.n_variables:
            return [like(table.codes)] * n_draws
        drawn = draw_completions(
            cast(BayesianNetwork, self.network_), table, n_draws, rng
        )
        return [like(table.complete(values).codes) for values in drawn]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns that :meth:`transform` returns."""
        check_is_fitted(self)
        names: NDArray[Any] = _check_feature_names_in(self, input_features)
        return names[self._kept]

    @property
    def _kept(self) -> list[int]:
        names = self.coding_.names
        return [j for j, name in enumerate(names) if self.left_out_.get(name) != EMPTY]

    def _rows(self, X: Any) -> tuple[Dataset, Callable[[NDArray[Any]], Any]]:
        """Return the coded rows, and a function that returns X with its cells filled from codes."""
        check_is_fitted(self)
        frame = self._frame(X)
        table = self._later_rows(frame)

        def like(codes: NDArray[Any]) -> Any:
            filled = self.coding_.filled(frame, codes).iloc[:, self._kept]
            return filled if isinstance(X, pd.DataFrame) else filled.to_numpy()

        return table, like
