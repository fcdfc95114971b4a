"""Accuracy and loss of completed cells, tests of methods side by side, divergence of models.

The logarithmic loss of a cell is minus the logarithm of the probability that its true state was
given. Methods are compared by a permutation test over rows (:class:`ClusteredTest`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from math import inf, isnan, nan, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.cliques import clique_tree
from exactlearn.bayesnet.network import BayesianNetwork, normalised
from exactlearn.data.alignment import aligned_codes
from exactlearn.data.codes import MISSING, find_states, states_by_name
from exactlearn.data.counts import weighted_mean
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, TooLargeError
from exactlearn.pdg.inference.flows import sample_rows
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.information import kl_divergence
from exactlearn.queries.model_graphs import Model
from exactlearn.queries.posteriors import ModelLike

LEAST_PROBABILITY = float(np.finfo(np.float64).eps)
"""The smallest probability in the logarithmic loss: else one cell could make it infinite."""


@dataclass(frozen=True, eq=False)
class JudgedCells:
    """The missing cells whose true state is known: right or wrong, and the loss of each.

    Parameters
    ----------
    rows
        Row of each of these cells, in the order of ``incomplete.missing_cells``.
    weights
        Weight of each row, by which accuracy and loss count its cells.
    right
        Whether it was given its true state.
    losses
        Minus the logarithm of the probability that its true state was given, in nats; a probability
        of less than `LEAST_PROBABILITY` counts as that. ``None`` without probabilities.
    """

    rows: NDArray[np.int64]
    weights: NDArray[np.float64]
    right: NDArray[np.bool_]
    losses: NDArray[np.float64] | None

    @classmethod
    def of(
        cls,
        incomplete: Dataset,
        values: ArrayLike,
        truth: Dataset,
        probabilities: NDArray[np.float64] | None = None,
    ) -> "JudgedCells":
        """Compare a completion with the truth.

        Parameters
        ----------
        incomplete
            The table with missing cells.
        values
            State of each missing cell, in the order of ``incomplete.missing_cells``.
        truth
            The same rows; variables and states are matched by name. A cell that is missing there,
            too, is not judged.
        probabilities
            Those of the states of each missing cell, shape (cells, states).

        Raises
        ------
        DataError
            When the tables have different rows, bins or observed cells, or the truth misses a
            variable, or the cell of one observed in the incomplete table.
        """
        true = _true_codes(incomplete, truth)
        cells = incomplete.missing_cells
        states = true[tuple(cells.T)].astype(np.int64)
        is_judged = states != MISSING
        states = states[is_judged]
        losses = None
        if probabilities is not None:
            # A true state that the incomplete table does not know has no probability at all.
            has_probability = states < probabilities.shape[1]
            true_probability = np.zeros(len(states))
            true_probability[has_probability] = probabilities[
                np.flatnonzero(is_judged)[has_probability], states[has_probability]
            ]
            losses = -np.log(np.maximum(true_probability, LEAST_PROBABILITY))
        rows = cells[is_judged, 0]  # of the cells whose true state is known
        return cls(
            rows=rows,
            weights=incomplete.row_weights[rows],
            right=np.asarray(values)[is_judged] == states,
            losses=losses,
        )

    @property
    def accuracy(self) -> float:
        """The share of the cells given their true state, from 0 to 1; NaN without cells."""
        return weighted_mean(self.right, self.weights)

    @property
    def log_loss(self) -> float:
        """The mean loss in nats; NaN without cells or probabilities."""
        return nan if self.losses is None else weighted_mean(self.losses, self.weights)


@dataclass(frozen=True)
class Mean:
    """A mean over repetitions with its standard error.

    Parameters
    ----------
    value, error
        Mean and standard error of the known entries; NaN when there are none, and the error also
        when there is only one, or an infinite one.
    """

    value: float
    error: float

    @classmethod
    def of(cls, entries: Iterable[float | None]) -> "Mean":
        """Return the mean of the entries that are neither NaN nor ``None``.

        Examples
        --------
        >>> Mean.of([1.0, 3.0, None])
        Mean(value=2.0, error=1.0)
        """
        numbers = np.array([x for x in entries if x is not None and not isnan(x)])
        if len(numbers) < 2:
            return cls(float(numbers.sum()) if len(numbers) else nan, nan)
        with np.errstate(invalid="ignore"):  # infinite entries
            deviation = float(numbers.std(ddof=1))
        return cls(float(numbers.mean()), deviation / sqrt(len(numbers)))


MAX_ENUMERATED = 12
"""Most rows that differ whose signs are enumerated."""


@dataclass(frozen=True)
class ClusteredTest:
    """Paired test of two methods by the rows of a table, over all its repetitions.

    Repetitions on one table overlap, so that their differences are not independent, and a t-test
    over two of them has one degree of freedom and finds nothing. This test takes each row that was
    drawn as one unit: whatever is hidden of it, in whichever repetition, counts together. Its
    hypothesis is that exchanging the two methods in any row changes nothing, so that every row's
    sum of differences may have either sign. With few rows that differ the p-value comes from all
    signs; else from Student's t of the sum divided by the root of the sum of squares.

    What is tested is which of the two completes the rows of such a table better after learning from
    these; that learning from other rows might give another answer is not part of it. A loss is thus
    found sooner than by a test over many independent tables.

    Parameters
    ----------
    difference
        Mean of the first method's numbers less the second's, over the cells; NaN without cells.
    p_value
        Two-sided; NaN without cells.
    """

    difference: float
    p_value: float

    @classmethod
    def of(
        cls,
        differences: Sequence[NDArray[np.float64]],
        cells: float,
        units: Sequence[Sequence[Any]],
        weights: Sequence[NDArray[np.float64]] | None = None,
    ) -> "ClusteredTest":
        """Compare two methods.

        Parameters
        ----------
        differences
            For each repetition the sum of the differences of each row's cells, shape (rows,).
        cells
            Number of cells over all repetitions, by the weights of their rows.
        units
            For each repetition the name of each row, shape (rows,): equal names are the same row.
        weights
            For each repetition the weight of each row, shape (rows,); 1 when left out. Where all
            are whole numbers, a row stands for that many units; otherwise it is one unit, whose
            sum counts by its weight.

        Examples
        --------
        >>> ClusteredTest.of([np.array([1.0]), np.array([1.0])], 2, [["u"], ["v"]])
        ClusteredTest(difference=1.0, p_value=0.5)
        """
        if not cells:
            return cls(nan, nan)
        # The sum of the differences of each unit, and the number of units that it stands for.
        _, first, unit = np.unique(
            np.concatenate(units), return_index=True, return_inverse=True
        )
        sums = np.bincount(unit, np.concatenate(differences)).astype(np.float64)
        multiplicity = np.ones(len(sums))
        if weights is not None:
            multiplicity = np.concatenate(weights)[first]
        if (multiplicity % 1 != 0).any():
            sums = sums * multiplicity
            multiplicity = np.ones(len(sums))
        # A unit without a difference has the same sum with either sign.
        differs = (abs(sums) > _ROUNDING) & (multiplicity > 0)
        sums = sums[differs]
        multiplicity = multiplicity[differs]
        total = float(sums @ multiplicity)
        n = int(multiplicity.sum())
        if n <= MAX_ENUMERATED:
            # Exactly: the p-value is the part of all signs with as large a sum.
            sums = np.repeat(sums, multiplicity.astype(np.int64))
            signs = 1 - 2 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)
            p_value = float(np.mean(abs(signs @ sums) >= abs(total) - _ROUNDING))
        else:
            # By Student's t of the sum divided by the root of the sum of squares.
            from scipy.stats import t  # takes long to import

            squares = float(sums**2 @ multiplicity)
            p_value = float(2 * t.sf(abs(total) / sqrt(squares), n - 1))
        return cls(total / cells, p_value)

    @property
    def significant(self) -> bool:
        """Whether the methods differ at the level of 5 %."""
        return self.p_value < 0.05


_ROUNDING = 1e-12


def _true_codes(incomplete: Dataset, truth: Dataset) -> NDArray[np.int16]:
    """Return the true states as codes of the incomplete table, states it lacks coming last."""
    if truth.n_rows != incomplete.n_rows:
        raise DataError(
            f"the true table has {truth.n_rows} rows, the incomplete one {incomplete.n_rows}; "
            "expected the same rows in the same order"
        )
    true_states = states_by_name(truth)
    states = []
    for name, labels in states_by_name(incomplete).items():
        if name not in true_states:
            raise DataError(
                f"the true table has no column {name!r}; expected the same columns"
            )
        is_new = find_states(true_states[name], labels) == MISSING
        states.append((*labels, *compress(true_states[name], is_new)))
    # Every cell that is observed in the incomplete table must have its true state.
    true = aligned_codes(truth, incomplete.names, states)
    differs = (true != incomplete.codes) & (incomplete.codes != MISSING)
    for row, v in np.argwhere(differs).tolist():
        raise DataError(
            f"{incomplete.row_place(row)}, column {incomplete.names[v]!r}: the true table differs "
            "from an observed cell of the incomplete one; expected the same rows in the same order"
        )
    return true


SAMPLES = 10_000
"""Rows from which a divergence is estimated."""

QUANTILE = 1.959963984540054
"""Standard errors on each side of a 95 % interval."""


@checked_arguments()
def effective_size(model: ModelLike) -> int:
    """Return the cost of belief updating: of a network, the size of its clique tree (3.20).

    Parameters
    ----------
    model
        A network, a decision graph or a naive Bayes model.

    Examples
    --------
    >>> import exactlearn as el
    >>> network = el.read_network("asia")
    >>> el.effective_size(network), el.effective_size(el.compile_network(network))
    (40, 40)
    """
    if isinstance(model, BayesianNetwork):
        return clique_tree(model).size(model.cardinalities)
    return model.effective_size


@checked_arguments()
def draw_rows(model: ModelLike, rows: int, rng: np.random.Generator) -> Dataset:
    """Draw complete rows from a model.

    Parameters
    ----------
    model
        A network, a decision graph or a naive Bayes model.
    rows
        How many.
    rng
        Source of randomness; same generator state, same rows.

    Examples
    --------
    >>> import exactlearn as el
    >>> el.draw_rows(el.read_network("asia"), 5, np.random.default_rng(0)).n_rows
    5
    """
    if isinstance(model, DecisionGraph):
        return Dataset(sample_rows(model, rows, rng), model.names, model.states)
    return model.sample(rows, rng)


@dataclass(frozen=True)
class Divergence:
    """The Kullback-Leibler divergence of a model from a reference.

    Parameters
    ----------
    value
        In nats, at least 0; infinite where a row is possible under the reference only.
    method
        ``exact``, or ``sampled``: the mean over rows drawn from the reference.
    interval
        A 95 % confidence interval by the normal approximation, cut off at 0; the value twice
        where that is exact or infinite.
    """

    value: float
    method: Literal["exact", "sampled"]
    interval: tuple[float, float]


def divergence(reference: Model, model: Model, *, seed: int = 0) -> Divergence:
    """Return KL(reference, model): exact where that is feasible, else estimated.

    Parameters
    ----------
    reference, model
        Networks or decision graphs; variables and states are matched by name.
    seed
        Seed of the rows drawn from the reference where an estimate is needed.

    Raises
    ------
    OptionError
        When the models do not have the same variables and states.
    """
    try:
        value = kl_divergence(reference, model)
    except TooLargeError:
        return _estimated(reference, model, np.random.default_rng(seed))
    return Divergence(value, "exact", (value, value))


def _estimated(reference: Model, model: Model, rng: np.random.Generator) -> Divergence:
    """Return the mean log ratio of the probabilities of rows drawn from the reference."""
    if isinstance(reference, BayesianNetwork):
        reference = normalised(reference)
    if isinstance(model, BayesianNetwork):
        model = normalised(model)
    rows = draw_rows(reference, SAMPLES, rng)
    logs = model.log_likelihood_rows(rows)
    if np.isneginf(logs).any():  # a proof: the reference has drawn such a row
        return Divergence(inf, "sampled", (inf, inf))
    mean = Mean.of(reference.log_likelihood_rows(rows) - logs)
    # A divergence is at least 0, whatever the estimate.
    margin = QUANTILE * mean.error
    interval = (max(0.0, mean.value - margin), max(0.0, mean.value + margin))
    return Divergence(max(0.0, mean.value), "sampled", interval)
