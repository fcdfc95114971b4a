"""Classifier: the posterior of the class under a network of all columns."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import compress
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from exactlearn._runtime.argument_kinds import one_of
from exactlearn._runtime.control import SearchControl, is_interrupted
from exactlearn._runtime.number_arguments import POSITIVE
from exactlearn.bayesnet.complete_data import SMOOTHING, fit_complete
from exactlearn.bayesnet.em import fit_em
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.row_completion import draw_completions
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset
from exactlearn.data.frame_coding import ENTROPY
from exactlearn.data.labels import label_of
from exactlearn.data.unseen import Unseen
from exactlearn.errors import SolverError
from exactlearn.queries.posteriors import classify, query_rows
from exactlearn.scoring.candidates import n_families
from exactlearn.sklearn.estimator import TableEstimator
from exactlearn.structure.learning import learn

Structure = Literal["naive-bayes", "augmented", "exact"]

STRUCTURES: tuple[Structure, ...] = get_args(Structure)

MAX_PARENTS, ESS = {"naive-bayes": 1, "augmented": 2, "exact": 4}, 10.0
"""Most parents and equivalent sample size where none are given.

With an equivalent sample size of 1 the log loss was .05 and .08 nats more on nursery and car, .03
less on cmc, with a pseudo-count of 1/4; docs/scikit-learn.md has the figures of the choice.
"""

MOST_FAMILIES = 150_000
"""Families of ``exact`` networks: those of 21 variables with four parents.

Where there are more, the default allows fewer parents, and ``auto`` leaves ``exact`` out: on
dermatology and soybean, of 35 columns, it was chosen in no half and took most of the time.
"""

SMOOTHINGS = (0.01, 0.05, 0.25, 1.0, 4.0)
"""Pseudo-counts that cross-validation chooses from."""

FOLDS = 5

CHOICE_SHARE = 0.6
"""Share of a time limit in which structure and pseudo-count are chosen."""


Model = tuple[Structure, float]
"""Structure and pseudo-count, of what the choice by cross-validation is made among."""


@dataclass(kw_only=True, eq=False, repr=False)
class BayesianNetworkClassifier(ClassifierMixin, TableEstimator):
    """Classify by a Bayesian network of all columns and the class, its structure learned exactly.

    Missing cells of rows are summed out, when learning by EM and when predicting.

    Parameters
    ----------
    structure
        ``auto``: what predicts the class of held-out rows best (log loss, by cross-validation);
        ``exact`` takes part up to 20 columns.
        ``augmented``: the best network among those in which the class is a parent of every column,
        and the columns may be parents of each other. ``exact``: the best network of all.
        ``naive-bayes``: the columns are independent given the class.
    ess
        Equivalent sample size of the score BDeu, or ``auto`` to choose it by the likelihood of
        held-out rows.
    max_parents
        Most parents of a variable, the class included. Left out, 2 for ``augmented``, and for
        ``exact`` 4, fewer where there are many columns.
    smoothing
        Pseudo-count of every parameter, above 0; ``cv`` chooses it by the log loss of held-out
        rows.
    discretise
        How numbers are cut into bins: ``entropy`` (where they tell most about the class), or
        ``frequency:BINS`` or ``width:BINS``. Integers with up to 20 values are not cut.
    tidy
        Whether columns with fewer than two values, or another one in every row, are left out, with
        one warning; else they are refused.
    unseen
        What becomes of a value that no training row had: ``missing`` counts it as missing, with one
        warning, ``refuse`` raises. Numbers are compared by value, whatever their type.
    class_weight
        Weights of the classes, by label, or ``balanced``.
    time_limit
        Seconds for learning; the best so far is taken when they are over.
    random_state
        Seed of the division of the rows for cross-validation, and of what is random where cells are
        missing.

    Attributes
    ----------
    classes_
        Labels, shape (classes,).
    network_
        Network of the columns used and, last, the class: by the name of y, else ``class``; its
        states are the labels.
    structure_, smoothing_
        The structure and the pseudo-count.
    log_losses_
        Cross-validated log loss by structure and pseudo-count, in nats; empty where both are given,
        a class has one row only, or the time was too short.
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

    structure: Structure | Literal["auto"] = "auto"
    ess: float | Literal["auto"] = ESS
    max_parents: int | None = None
    smoothing: float | Literal["cv"] = "cv"
    discretise: str = ENTROPY
    tidy: bool = True
    unseen: Unseen = "missing"
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
        self._check_parameters(
            structure=one_of(("auto", *STRUCTURES)),
            smoothing=POSITIVE.or_word("cv"),  # with 0, rows could be impossible
        )
        frame = self._frame(X, reset=True)
        self._class_name = str(getattr(y, "name", None) or "class")
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_consistent_length(frame, y)
        check_classification_targets(y)
        if self.class_weight is not None:
            own = compute_sample_weight(self.class_weight, y)
            sample_weight = (
                own if sample_weight is None else own * np.asarray(sample_weight)
            )
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(
                sample_weight, frame, dtype=np.float64, ensure_non_negative=True
            )
            frame, y, weights = (
                frame.loc[weights > 0],
                y[weights > 0],
                weights[weights > 0],
            )
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"expected two classes or more, found one class: {self.classes_[0]!r}"
            )
        coded = self._coded(frame, self.discretise, weights, labels)
        table = self._with_class(coded, labels[:, None])
        seed = self._seed()
        control = SearchControl.within(self.time_limit)
        with control.running(), control.part(CHOICE_SHARE).running() as choosing:
            self.log_losses_ = losses = self._log_losses(table, seed, choosing)
        if control.is_stopped and not is_interrupted():
            raise KeyboardInterrupt
        first = self._structures(table)[0], self._smoothings[0]
        chosen = min(losses, key=lambda model: losses[model], default=first)
        self.structure_, self.smoothing_ = chosen
        self.__dict__.pop("learned_", None)  # that of a fold, or of an earlier fit
        self.network_ = self._network(table, *chosen, seed, control)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class given the observed cells, shape (rows, classes)."""
        check_is_fitted(self)
        rows = self._later_rows(self._frame(X))
        table = self._with_class(rows, np.full((rows.n_rows, 1), MISSING))
        return query_rows(self.network_, table, table.names[-1]).posteriors[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row, shape (rows,)."""
        check_is_fitted(self)
        predicted: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return predicted

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
        )

    def _structures(self, table: Dataset) -> tuple[Structure, ...]:
        """Return the structures to choose among; the first is that of no choice."""
        if self.structure != "auto":
            return (self.structure,)
        has_few = n_families(table.n_variables, MAX_PARENTS["exact"]) <= MOST_FAMILIES
        return (
            ("augmented", "naive-bayes", "exact")
            if has_few
            else ("augmented", "naive-bayes")
        )

    @property
    def _smoothings(self) -> tuple[float, ...]:
        return SMOOTHINGS if self.smoothing == "cv" else (self.smoothing,)

    def _log_losses(
        self, table: Dataset, seed: int, control: SearchControl
    ) -> dict[Model, float]:
        """Return the cross-validated log loss of the models, of those for which there is time."""
        structures, smoothings = self._structures(table), self._smoothings
        found = dict[Model, float]()
        rarest = np.sort(np.bincount(table.codes[:, -1], table.row_weights))[-2]
        if len(structures) * len(smoothings) == 1 or rarest < 2:
            return found
        parts = [(_completed(train, seed), test) for train, test in folds(table, seed)]
        for structure in structures:
            losses = np.zeros(len(smoothings))
            for train, test in parts:
                try:
                    network = self._network(train, structure, SMOOTHING, seed, control)
                except SolverError:  # the time is over
                    return found
                if control.is_over:
                    return found
                fits = (
                    fit_complete(train, network.parents, smoothing=a)
                    for a in smoothings
                )
                losses += [held_out_loss(fit, test) for fit in fits]
            means = losses / table.row_weights.sum()
            found |= {
                (structure, a): float(m) for a, m in zip(smoothings, means, strict=True)
            }
        return found

    def _network(
        self,
        table: Dataset,
        structure: Structure,
        smoothing: float,
        seed: int,
        control: SearchControl,
    ) -> BayesianNetwork:
        """Return the network of a structure, learned from the coded table."""
        last = table.n_variables - 1
        most = MAX_PARENTS[structure] if self.max_parents is None else self.max_parents
        if structure == "naive-bayes":
            return _naive_bayes(table, smoothing, control.remaining)
        while self.max_parents is None and n_families(last + 1, most) > MOST_FAMILIES:
            most -= 1
        *names, label = table.names
        self.learned_ = learn(
            table,
            ess=self.ess,
            max_parents=most,
            required=[(label, name) for name in names]
            if structure == "augmented"
            else [],
            smoothing=smoothing,
            time_limit=control.remaining,
            seed=seed,
        )
        return self.learned_.network


def folds(table: Dataset, seed: int) -> Iterator[tuple[Dataset, Dataset]]:
    """Yield rows to learn from and rows held out, each class divided evenly among the folds.

    A row of whole weight is divided as that many rows; the order of the rows does not matter.
    Columns without a value in the rows to learn from are left out.
    """
    codes, place = np.unique(table.codes, axis=0, return_inverse=True)
    weights = np.bincount(place.ravel(), table.row_weights)
    whole = (weights == np.floor(weights)).all()
    units = np.repeat(np.arange(len(codes)), weights.astype(np.int64) if whole else 1)
    drawn = np.random.default_rng(seed).permutation(len(units))
    units = units[drawn[np.argsort(codes[units[drawn], -1], kind="stable")]]
    counts = np.zeros((min(FOLDS, len(units)), len(codes)))
    share = np.ones(len(units)) if whole else weights[units]
    np.add.at(counts, (np.arange(len(units)) % len(counts), units), share)
    for held_out in counts:
        known = codes[weights > held_out].max(axis=0) >= 0
        names, states = (
            tuple(compress(table.names, known)),
            tuple(compress(table.states, known)),
        )
        first, second = (
            Dataset(
                codes[own > 0][:, known].astype(np.int16), names, states, own[own > 0]
            )
            for own in (weights - held_out, held_out)
        )
        yield first, second


def _naive_bayes(
    table: Dataset, smoothing: float, time_limit: float | None
) -> BayesianNetwork:
    last = table.n_variables - 1
    parents = [*[(last,)] * last, ()]
    return fit_em(table, parents, smoothing=smoothing, time_limit=time_limit).model


def _completed(table: Dataset, seed: int) -> Dataset:
    """Return the table with its missing cells drawn by naive Bayes.

    Structures are learned from it in a hundredth of the time that structural EM takes, and the
    choice was the same on votes and crx.
    """
    if table.is_complete:
        return table
    network = _naive_bayes(table, SMOOTHING, None)
    return table.complete(
        draw_completions(network, table, 1, np.random.default_rng(seed))[0]
    )


def held_out_loss(network: BayesianNetwork, table: Dataset) -> float:
    """Return the sum of -log probability of the class, the last column, over weighted rows."""
    found = classify(network, table, table.names[-1])
    shares = found.posterior[np.arange(table.n_rows), found.labels]
    return -table.total(np.log(shares))
