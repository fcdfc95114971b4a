"""Classifiers: the posterior of the class under a network, or a decision graph, of all columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.complete_data import SMOOTHING
from exactlearn.bayesnet.em import fit_em
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.codes import MISSING
from exactlearn.data.column_coding import ENTROPY
from exactlearn.data.dataset import Dataset
from exactlearn.data.labels import label_of
from exactlearn.errors import OptionError, did_you_mean
from exactlearn.evaluation.learners import learn_graph
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.table_queries import query_rows
from exactlearn.sklearn.estimator import TableEstimator, checked_smoothing, learned

Structure = Literal["augmented", "exact", "naive-bayes"]

STRUCTURES: tuple[Structure, ...] = get_args(Structure)
METHODS = ("compiled", "learned")


@dataclass(kw_only=True, eq=False, repr=False)
class BayesianNetworkClassifier(ClassifierMixin, TableEstimator):
    """Classify by a Bayesian network of all columns and the class, its structure learned exactly.

    Missing cells of rows are summed out, when learning by EM and when predicting; a value that no
    training row had counts as missing.

    Parameters
    ----------
    structure
        ``augmented``: the best network among those in which the class is a parent of every column,
        and the columns may be parents of each other. ``exact``: the best network of all.
        ``naive-bayes``: the columns are independent given the class.
    ess
        Equivalent sample size of the score BDeu, or ``auto`` to choose it by cross-validation. Left
        out, it is 1, and chosen where cells are missing.
    max_parents
        Most parents of a variable, the class included.
    smoothing
        Pseudo-count of every parameter, above 0.
    discretise
        How numbers are cut into bins: ``entropy`` (where they tell most about the class), or
        ``frequency:BINS`` or ``width:BINS``. Integers with up to 20 values are not cut.
    class_weight
        Weights of the classes, by label, or ``balanced``.
    time_limit
        Seconds for learning the structure; the best so far is taken when they are over.
    random_state
        Seed of what is random where cells are missing.

    Attributes
    ----------
    classes_
        Labels, shape (classes,).
    network_
        Network of the columns used and, last, the class: by the name of y, else ``class``; its
        states are the labels.
    learned_
        The :class:`~exactlearn.structure.learning.LearnedNetwork`, with the proof state of the
        structure; not of ``naive-bayes``.
    coding_, left_out_, n_features_in_, feature_names_in_
        As :class:`~exactlearn.sklearn.estimator.TableEstimator`.

    Examples
    --------
    >>> X = [["sunny", 30.5], ["rain", 12.0], ["sunny", 28.1], ["rain", 9.5]] * 5
    >>> y = ["out", "in", "out", "in"] * 5
    >>> model = BayesianNetworkClassifier().fit(X, y)
    >>> model.predict([["rain", None], [None, 31]]).tolist()
    ['in', 'out']
    """

    structure: Structure = "augmented"
    ess: float | Literal["auto"] | None = None
    max_parents: int = 2
    smoothing: float = SMOOTHING
    discretise: str = ENTROPY
    class_weight: Any = None
    time_limit: float | None = None
    random_state: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows and their classes.

        Parameters
        ----------
        X
            Array or frame, shape (rows, columns).
        y
            Labels, shape (rows,).
        sample_weight
            How often each row counts, shape (rows,).

        Raises
        ------
        ValueError
            When there is but one class, a number is infinite, or shapes do not fit.
        """
        self._learn(self._labelled(X, y, sample_weight))
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class given the observed cells, shape (rows, classes)."""
        check_is_fitted(self)
        rows = self._rows(X)
        labels = np.full((rows.n_rows, 1), MISSING)
        table = self._with_class(rows, labels)
        return query_rows(self._model, table, table.names[-1]).posteriors[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row, shape (rows,)."""
        check_is_fitted(self)
        predicted: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return predicted

    @property
    def _model(self) -> BayesianNetwork | DecisionGraph:
        return self.network_

    def _labelled(self, X: Any, y: Any, sample_weight: Any) -> Dataset:
        """Return the coded table with the class as its last column."""
        check_known("structure", self.structure, STRUCTURES)
        frame = self._frame(X, reset=True)
        self._class_name = str(getattr(y, "name", None) or "class")
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_consistent_length(frame, y)
        check_classification_targets(y)
        if self.class_weight is not None:
            given = 1.0 if sample_weight is None else np.asarray(sample_weight)
            sample_weight = given * compute_sample_weight(self.class_weight, y)
        frame, y, weights = self._weighted(frame, y, sample_weight)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"expected rows of two classes or more, found one class: {self.classes_[0]!r}"
            )
        table = self._coded(frame, self.discretise, weights, labels)
        return self._with_class(table, labels[:, None])

    def _with_class(self, table: Dataset, labels: NDArray[np.integer]) -> Dataset:
        """Return the table with a last column, whose name is no other's."""
        name = self._class_name
        while name in table.names:
            name += "_"
        return Dataset(
            np.hstack((table.codes, labels)),
            (*table.names, name),
            (*table.states, tuple(map(label_of, self.classes_))),
            table.weights,
            table.edges,
        )

    def _learn(self, table: Dataset) -> None:
        """Learn the model from the coded table."""
        last = table.n_variables - 1
        if self.structure == "naive-bayes":
            parents = [*[(last,)] * last, ()]
            smoothing = checked_smoothing(self.smoothing)
            self.network_ = fit_em(table, parents, smoothing=smoothing).model
            return
        required = [(last, v) for v in range(last)] if self.structure == "augmented" else []
        self.learned_ = learned(table, self, seed=self._seed(), required=required)
        self.network_ = self.learned_.network


@dataclass(kw_only=True, eq=False, repr=False)
class DecisionGraphClassifier(BayesianNetworkClassifier):
    """Classify by a probabilistic decision graph of all columns and the class.

    Parameters
    ----------
    method
        ``compiled``: the network of :class:`BayesianNetworkClassifier`, compiled. ``learned``: a
        graph learned from the rows, which takes more time; by structural EM where cells are
        missing.
    structure, ess, max_parents, smoothing, time_limit
        Of the network that is compiled; ``smoothing`` also of the graph that is learned.
    discretise, class_weight, random_state
        As for :class:`BayesianNetworkClassifier`.

    Attributes
    ----------
    classes_
        Labels, shape (classes,).
    graph_
        Decision graph of the columns used and the class.
    coding_, left_out_, n_features_in_, feature_names_in_
        As :class:`~exactlearn.sklearn.estimator.TableEstimator`.

    Examples
    --------
    >>> X = [["sunny", 30.5], ["rain", 12.0], ["sunny", 28.1], ["rain", 9.5]] * 5
    >>> model = DecisionGraphClassifier().fit(X, ["out", "in", "out", "in"] * 5)
    >>> model.predict([["rain", None], [None, 31]]).tolist()
    ['in', 'out']
    """

    method: Literal["compiled", "learned"] = "compiled"

    @property
    def _model(self) -> DecisionGraph:
        return self.graph_

    def _learn(self, table: Dataset) -> None:
        check_known("method", self.method, METHODS)
        if self.method == "compiled":
            super()._learn(table)
            self.graph_ = compile_network(self.network_, seed=self._seed())
            return
        with SearchControl.within(self.time_limit).running():
            self.graph_ = learn_graph(
                table, seed=self._seed(), smoothing=checked_smoothing(self.smoothing)
            )


def check_known(what: str, chosen: str, known: Sequence[str]) -> None:
    """Raise an `OptionError` unless a choice is known."""
    if chosen not in known:
        raise OptionError(f"there is no {what} {chosen!r}{did_you_mean(str(chosen), known)}")
