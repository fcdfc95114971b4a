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

MAX_PARENTS = {"augmented": 2, "exact": 4}
"""Largest number of parents by structure where none is given."""

ESS = 10.0
"""Equivalent sample size where none is given.

With an equivalent sample size of 1 the log loss was .05 and .08 nats more on nursery and car, .03
less on cmc, with a pseudo-count of 1/4; docs/scikit-learn.md has the figures of the choice.
"""

MAX_FAMILIES = 150_000
"""Families of ``exact`` networks: those of 21 variables with four parents.

Where there are more, the default allows fewer parents, and ``auto`` leaves ``exact`` out: on
dermatology and soybean, of 35 columns, it was chosen in no half and took most of the time.
"""

SMOOTHINGS = (0.01, 0.05, 0.25, 1.0, 4.0)
"""Pseudo-counts that cross-validation chooses from."""

FOLDS = 5
"""Number of folds of that cross-validation."""

CHOICE_SHARE = 0.6
"""Share of a time limit in which structure and pseudo-count are chosen."""


Model = tuple[Structure, float]
"""Structure and pseudo-count, between which cross-validation chooses."""


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
        The :class:`~exactlearn.structure.learned_network.LearnedNetwork`, with the proof state
        of the structure; not of ``naive-bayes``.
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
            class_weights = compute_sample_weight(self.class_weight, y)
            if sample_weight is not None:
                class_weights = class_weights * np.asarray(sample_weight)
            sample_weight = class_weights
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(
                sample_weight, frame, dtype=np.float64, ensure_non_negative=True
            )
            is_used = weights > 0
            frame = frame.loc[is_used]
            y = y[is_used]
            weights = weights[is_used]
        # the labels, and the columns with the bins that tell most about them
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
        # Ctrl-C ends the fit, unless it ends a search that this is a part of
        if control.is_stopped and not is_interrupted():
            raise KeyboardInterrupt
        # the choice, and the network of it from all rows
        default = self._structures(table)[0], self._smoothings[0]
        best = min(losses, key=lambda model: losses[model], default=default)
        self.structure_, self.smoothing_ = best
        self.__dict__.pop("learned_", None)  # that of a fold, or of an earlier fit
        self.network_ = self._network(table, *best, seed, control)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class given the observed cells, shape (rows, classes)."""
        check_is_fitted(self)
        # the class is a missing cell of each row
        rows = self._later_rows(self._frame(X))
        table = self._with_class(rows, np.full((rows.n_rows, 1), MISSING))
        return query_rows(self.network_, table, table.names[-1]).posteriors[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row, shape (rows,)."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[most_probable]
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
        if n_families(table.n_variables, MAX_PARENTS["exact"]) > MAX_FAMILIES:
            return ("augmented", "naive-bayes")
        return ("augmented", "naive-bayes", "exact")

    @property
    def _smoothings(self) -> tuple[float, ...]:
        return SMOOTHINGS if self.smoothing == "cv" else (self.smoothing,)

    def _log_losses(
        self, table: Dataset, seed: int, control: SearchControl
    ) -> dict[Model, float]:
        """Return the cross-validated log loss of each model for which there is time."""
        structures = self._structures(table)
        smoothings = self._smoothings
        log_losses: dict[Model, float] = {}
        # cross-validation needs two rows of a second class
        *_, label = table.names
        rarest = np.sort(np.bincount(table.codes[:, -1], table.row_weights))[-2]
        if len(structures) * len(smoothings) == 1 or rarest < 2:
            return log_losses
        parts = [(_completed(train, seed), test) for train, test in folds(table, seed)]
        for structure in structures:
            # the structure is learned once in each fold, its parameters with each pseudo-count
            losses = np.zeros(len(smoothings))
            for train, test in parts:
                try:
                    network = self._network(train, structure, SMOOTHING, seed, control)
                except SolverError:  # the time is over
                    return log_losses
                if control.is_over:
                    return log_losses
                for k, smoothing in enumerate(smoothings):
                    fit = fit_complete(train, network.parents, smoothing=smoothing)
                    losses[k] += test.total(classify(fit, test, label).losses)
            for smoothing, loss in zip(smoothings, losses.tolist(), strict=True):
                log_losses[structure, smoothing] = loss / table.row_weights.sum()
        return log_losses

    def _network(
        self,
        table: Dataset,
        structure: Structure,
        smoothing: float,
        seed: int,
        control: SearchControl,
    ) -> BayesianNetwork:
        """Return the network of a structure, learned from the coded table."""
        # EM, with missing cells summed out
        if structure == "naive-bayes":
            return _naive_bayes(table, smoothing, control.remaining)
        n = table.n_variables
        max_parents = self.max_parents
        if max_parents is None:
            max_parents = MAX_PARENTS[structure]
            while n_families(n, max_parents) > MAX_FAMILIES:
                max_parents -= 1
        *names, label = table.names
        arcs = [(label, name) for name in names]
        self.learned_ = learn(
            table,
            ess=self.ess,
            max_parents=max_parents,
            required=arcs if structure == "augmented" else [],
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
    # equal rows are merged
    codes, place = np.unique(table.codes, axis=0, return_inverse=True)
    weights = np.bincount(place.ravel(), table.row_weights)
    is_whole = (weights == np.floor(weights)).all()

    # the units are drawn at random, sorted by class, and dealt to the folds in turn
    units = np.repeat(
        np.arange(len(codes)), weights.astype(np.int64) if is_whole else 1
    )
    drawn = np.random.default_rng(seed).permutation(len(units))
    units = units[drawn[np.argsort(codes[units[drawn], -1], kind="stable")]]
    counts = np.zeros((min(FOLDS, len(units)), len(codes)))
    fold = np.arange(len(units)) % len(counts)
    np.add.at(counts, (fold, units), 1.0 if is_whole else weights[units])

    for held_out in counts:
        is_learned = weights > held_out
        # a column without a value among the rows to learn from has no states
        has_values = codes[is_learned].max(axis=0) >= 0
        names = tuple(compress(table.names, has_values))
        states = tuple(compress(table.states, has_values))
        usable = codes[:, has_values].astype(np.int16)
        train = weights[is_learned] - held_out[is_learned]
        is_tested = held_out > 0
        yield (
            Dataset(usable[is_learned], names, states, train),
            Dataset(usable[is_tested], names, states, held_out[is_tested]),
        )


def _naive_bayes(
    table: Dataset, smoothing: float, time_limit: float | None
) -> BayesianNetwork:
    """Return the network in which all columns are independent given the class, the last one."""
    label = table.n_variables - 1
    parents = [*[(label,)] * label, ()]
    return fit_em(table, parents, smoothing=smoothing, time_limit=time_limit).model


def _completed(table: Dataset, seed: int) -> Dataset:
    """Return the table with its missing cells drawn by naive Bayes.

    Structures are learned from it in a hundredth of the time that structural EM takes, and the
    choice was the same on votes and crx.
    """
    if table.is_complete:
        return table
    network = _naive_bayes(table, SMOOTHING, None)
    rng = np.random.default_rng(seed)
    return table.complete(draw_completions(network, table, 1, rng)[0])
