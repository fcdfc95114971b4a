"""How well missing cells were completed, and methods of completion side by side."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan, sqrt

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset, aligned_codes
from exactlearn.errors import DataError
from exactlearn.graphs.equivalence import cpdag, structural_hamming_distance
from exactlearn.imputation.imputed import Imputed


def imputation_accuracy(incomplete: Dataset, values: Sequence[int], truth: Dataset) -> float:
    """Return the share of missing cells that were given their true state.

    Parameters
    ----------
    incomplete
        The table with missing cells.
    values
        State of each missing cell, in the order of ``incomplete.missing_cells``.
    truth
        The same rows without missing cells; variables and states are matched by name.

    Returns
    -------
    accuracy
        From 0 to 1; NaN when no cell is missing.

    Raises
    ------
    DataError
        When the tables have different rows, bins or observed cells, or the truth misses a
        variable or a cell.
    """
    _require_same_table(incomplete, truth)
    true = _true_codes(incomplete, truth)
    _require_same_cells(incomplete, true)
    if incomplete.is_complete:
        return nan
    rows, columns = incomplete.missing_cells.T
    return float(np.mean(true[rows, columns] == np.asarray(values)))


LEAST_PROBABILITY = float(np.finfo(np.float64).eps)
"""What the logarithmic loss counts a smaller probability as: else one cell could make it infinite.
"""


def logarithmic_loss(
    incomplete: Dataset, probabilities: NDArray[np.float64], truth: Dataset
) -> float:
    """Return the mean of minus the logarithm of the probability of each cell's true state.

    Parameters
    ----------
    incomplete
        The table with missing cells.
    probabilities
        Distribution of each missing cell over its variable's states, in the order of
        ``incomplete.missing_cells``, shape (cells, at least most states); what is less than
        `LEAST_PROBABILITY` counts as that.
    truth
        As for :func:`imputation_accuracy`.

    Returns
    -------
    loss
        In nats per cell; NaN when no cell is missing.

    Raises
    ------
    DataError
        As :func:`imputation_accuracy`.
    """
    _require_same_table(incomplete, truth)
    true = _true_codes(incomplete, truth)
    _require_same_cells(incomplete, true)
    if incomplete.is_complete:
        return nan
    state = true[tuple(incomplete.missing_cells.T)]
    # A true state that the incomplete table does not know has no probability at all.
    known = np.pad(
        probabilities, ((0, 0), (0, max(0, int(state.max()) + 1 - probabilities.shape[1])))
    )
    given = known[np.arange(len(state)), state]
    return float(-np.log(np.maximum(given, LEAST_PROBABILITY)).mean())


@dataclass(frozen=True)
class Comparison:
    """One method's completion of one table.

    Parameters
    ----------
    method, status
        The method and how its search ended.
    accuracy
        Share of missing cells given their true state; NaN when the truth is not known.
    score, bound, gap
        Score reached, proven bound, and their relative gap; NaN or infinite for a method without.
    seconds
        Wall time.
    log_loss
        Mean of minus the logarithm of the true states' probabilities; NaN for a method without.
    test_log_likelihood, cpdag_shd
        Of the learnt network: log-likelihood per row of rows drawn from the true one, in nats, and
        structural Hamming distance of the CPDAGs; NaN without a learnt or a true network.
    """

    method: str
    status: str
    accuracy: float
    score: float
    bound: float
    gap: float
    seconds: float

    log_loss: float = nan
    test_log_likelihood: float = nan
    cpdag_shd: float = nan

    @classmethod
    def of(
        cls,
        method: str,
        dataset: Dataset,
        found: Imputed,
        truth: Dataset | None,
        seconds: float,
    ) -> "Comparison":
        """Judge a method's completion of a table."""
        accuracy = log_loss = nan
        if truth is not None and found.values is not None:
            accuracy = imputation_accuracy(dataset, found.values.tolist(), truth)
            if found.probabilities is not None:
                log_loss = logarithmic_loss(dataset, found.probabilities, truth)
        return cls(
            method=method,
            status=found.status,
            accuracy=accuracy,
            score=found.score,
            bound=found.bound,
            gap=found.gap,
            seconds=seconds,
            log_loss=log_loss,
        )

    def beside_truth(
        self,
        dataset: Dataset,
        found: Imputed,
        network: BayesianNetwork,
        test: Dataset,
        alpha: float,
    ) -> "Comparison":
        """Judge the network that the method learnt, too, if it learnt one.

        Parameters
        ----------
        dataset, found
            The incomplete table, and its completion.
        network, test
            The true network, and rows drawn from it.
        alpha
            Pseudo-count of the parameters, where the method estimated none.
        """
        if found.parents is None or found.values is None:
            return self
        learnt = found.network
        if learnt is None:
            learnt = fit_complete(dataset.complete(found.values), found.parents, alpha=alpha)
        rows = learnt.log_likelihood_rows(test)
        return replace(
            self,
            test_log_likelihood=float(rows.mean()),
            cpdag_shd=structural_hamming_distance(cpdag(found.parents), cpdag(network.parents)),
        )


@dataclass(frozen=True)
class Mean:
    """A mean over repetitions with its standard error.

    Parameters
    ----------
    value, error
        Mean and standard error of the finite entries; NaN when there are none, and the error also
        when there is only one.
    """

    value: float
    error: float

    @classmethod
    def of(cls, entries: Iterable[float]) -> "Mean":
        """Return the mean of the finite entries.

        Examples
        --------
        >>> Mean.of([1.0, 3.0])
        Mean(value=2.0, error=1.0)
        """
        finite = np.array([x for x in entries if isfinite(x)])
        if not len(finite):
            return cls(nan, nan)
        error = float(finite.std(ddof=1)) / sqrt(len(finite)) if len(finite) > 1 else nan
        return cls(float(finite.mean()), error)


LEVEL = 0.05
"""Level of significance of the paired test."""


@dataclass(frozen=True)
class PairedTest:
    """Student's t-test of two methods on the same tables, by the differences of each table.

    Parameters
    ----------
    difference
        Mean of the first method's numbers less the second's; NaN without any pair.
    p_value
        Two-sided; NaN with fewer than two pairs.
    """

    difference: float
    p_value: float

    @classmethod
    def of(cls, first: Iterable[float], second: Iterable[float]) -> "PairedTest":
        """Compare numbers of the same tables; pairs with a number that is not finite are left out.

        Where all differences are the same, the p-value is 1 if they are zero, else 0.

        Examples
        --------
        >>> PairedTest.of([0.9, 0.8, 0.9], [0.5, 0.6, 0.6]).significant
        True
        """
        pairs = np.array(list(zip(first, second, strict=True)), np.float64).reshape(-1, 2)
        pairs = pairs[np.isfinite(pairs).all(axis=1)]
        differences = pairs[:, 0] - pairs[:, 1]
        if len(differences) < 2:
            return cls(float(differences.mean()) if len(differences) else nan, nan)
        if np.ptp(differences) <= _ROUNDING:
            return cls(float(differences.mean()), float(abs(differences.mean()) <= _ROUNDING))
        from scipy.stats import ttest_rel  # takes long to import

        return cls(float(differences.mean()), float(ttest_rel(pairs[:, 0], pairs[:, 1]).pvalue))

    @property
    def significant(self) -> bool:
        """Whether the methods differ at the level of 5 %."""
        return self.p_value < LEVEL


_ROUNDING = 1e-12


def _require_same_table(incomplete: Dataset, truth: Dataset) -> None:
    if truth.n_rows != incomplete.n_rows:
        raise DataError(
            f"the true table has {truth.n_rows} rows, the incomplete one {incomplete.n_rows}; "
            "expected the same rows in the same order"
        )
    for name in incomplete.names:
        if name not in truth.names:
            raise DataError(f"the true table has no column {name!r}; expected the same columns")
    for name, edges in incomplete.edges.items():
        if truth.edges.get(name, edges) != edges:
            raise DataError(
                f"column {name!r} has other bins in the true table than in the incomplete one; "
                "discretise the complete table first, and hide cells then"
            )


def _true_codes(incomplete: Dataset, truth: Dataset) -> NDArray[np.int16]:
    """Return the true states as codes of the incomplete table, states it lacks coming last."""
    own = dict(zip(truth.names, truth.states, strict=True))
    states = [
        tuple(dict.fromkeys((*known, *own[name])))
        for name, known in zip(incomplete.names, incomplete.states, strict=True)
    ]
    return aligned_codes(truth, incomplete.names, states)


def _require_same_cells(incomplete: Dataset, true: NDArray[np.int16]) -> None:
    """Refuse another state in an observed cell, and none in a missing one."""
    differs = (true != incomplete.codes) & (incomplete.codes != MISSING)
    for row, v in np.argwhere(differs).tolist():
        raise DataError(
            f"row {row}, column {incomplete.names[v]!r}: the true table differs from an observed "
            "cell of the incomplete one; expected the same rows in the same order"
        )
    for row, v in np.argwhere(true == MISSING).tolist():
        raise DataError(
            f"row {row}, column {incomplete.names[v]!r}: the cell is missing in the true table too"
        )
