r"""The steps of EM for the parameters of a Bayesian network with a given DAG.

The E-step computes the expected counts of every family, exactly: with :math:`N_{u,x}` the sum over
the rows of :math:`P(u, x \mid \text{observed cells})`, the M-step is that of complete data, with
:math:`\alpha` added to every count (Lauritzen 1995, "The EM algorithm for graphical association
models with missing data"; lecture "Learning Bayesian networks from incomplete data", Freiburg
2004, lemma 2). Each iteration raises, or leaves, the *objective*

.. math:: \log P(\text{observed cells}) + \alpha \sum_{i,u,x} \log P_i(x \mid u) ;

without :math:`\alpha` that is the log-likelihood of the observed cells itself, which may fall a
little when :math:`\alpha > 0`.

Families without a missing cell in a row are counted once for all iterations, and inference visits
each distinct part of the incomplete rows once (:mod:`exactlearn.bayesnet.missing_parts`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from exactlearn.bayesnet.bucket_layout import buckets
from exactlearn.bayesnet.bucket_rows import NO_POSTERIOR, expect_families
from exactlearn.bayesnet.bucket_space import space_for
from exactlearn.bayesnet.complete_data import checked_families, full_counts, smoothed
from exactlearn.bayesnet.missing_parts import missing_parts
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError

EQUAL = 1e-9
"""Difference of two probabilities that is rounding."""


class EMState(NamedTuple):
    """Where EM stands: parameters and what the E-step found under them.

    Attributes
    ----------
    iteration
        M-steps done so far.
    parameters, counts
        Conditional probabilities and expected counts of all families, the table of one variable
        after the other.
    log_likelihood
        Log-likelihood of the observed cells under ``parameters``, natural logarithm, total over
        rows.
    objective
        What never falls: ``log_likelihood`` plus ``alpha`` times the sum of all log parameters.
    """

    iteration: int
    parameters: NDArray[np.float64]
    counts: NDArray[np.float64]
    log_likelihood: float
    objective: float


class NetworkEM:
    """The EM problem: ``init`` gives a first state, ``step`` the next one.

    Parameters
    ----------
    dataset
        Rows with missing cells, possibly weighted.
    parents
        Parents of each variable of the table, by index.
    alpha
        Pseudo-count of every parameter.
    """

    def __init__(
        self, dataset: Dataset, parents: Sequence[Sequence[int]], alpha: float = 1.0
    ) -> None:
        self.families = checked_families(dataset, parents, alpha)
        self.dataset, self.alpha = dataset, alpha
        weights = dataset.row_weights
        self.total_weight = float(weights.sum())
        if self.total_weight <= 0:
            raise DataError("the table has no rows of positive weight: nothing to learn from")
        counts = [full_counts(dataset, child, ps) for child, ps in enumerate(self.families)]
        self._shapes = [table.shape for table in counts]
        self._ends = np.cumsum([table.size for table in counts])[:-1]
        self.available = np.concatenate([table.ravel() for table in counts])
        # Refuses directed cycles, and parents that stand twice, before anything is inferred.
        self.network(self.maximise(np.ones_like(self.available)))
        self._cells = dataset.missing_cells[weights[dataset.missing_cells[:, 0]] > 0]
        missing = set(self._cells[:, 1].tolist())
        self._layout = buckets(self.families, dataset.cardinalities, missing)
        rows = np.unique(self._cells[:, 0])
        codes = dataset.codes[rows].astype(np.int16)
        self._parts = missing_parts(self._layout, codes, weights[rows])
        self._space = space_for(self._layout, self._parts.codes)

    def network(self, parameters: NDArray[np.float64]) -> BayesianNetwork:
        """Return the network with these flat parameters."""
        dataset = self.dataset
        tables = tuple(self.tables(parameters))
        return BayesianNetwork(dataset.names, dataset.states, self.families, tables)

    def maximise(
        self, counts: NDArray[np.float64], alpha: float | None = None
    ) -> NDArray[np.float64]:
        """Return the parameters that maximise the objective given flat expected counts."""
        alpha = self.alpha if alpha is None else alpha
        return np.concatenate([smoothed(t, alpha).ravel() for t in self.tables(counts)])

    def init(self, parameters: NDArray[np.float64]) -> EMState:
        """Return the state at some parameters.

        Raises
        ------
        DataError
            If a row is impossible under them.
        """
        return self._expect(0, parameters)

    def step(self, state: EMState) -> EMState:
        """Return the state after one M-step and the E-step under its parameters."""
        return self._expect(state.iteration + 1, self.maximise(state.counts))

    def tables(self, flat: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Return a view of each variable's table among flat numbers."""
        parts = zip(np.split(flat, self._ends), self._shapes, strict=True)
        return [part.reshape(shape) for part, shape in parts]

    def symmetric(self, parameters: NDArray[np.float64]) -> tuple[str, ...]:
        """Return the variables in whose states parameters are symmetric, and remain so under EM.

        They have missing cells and children, and no child depends on them, neither now nor after
        a step: nothing tells their states apart, as those of a variable that no row observes.

        Raises
        ------
        DataError
            If a row is impossible under the parameters.
        """
        found = self._without_dependents(parameters)
        if found:
            found &= self._without_dependents(self.maximise(self.init(parameters).counts))
        return tuple(self.dataset.names[v] for v in sorted(found))

    def _without_dependents(self, parameters: NDArray[np.float64]) -> set[int]:
        """Return the variables with missing cells and children, none of which depends on them."""
        missing = np.unique(self._cells[:, 1]).tolist()
        ranges: dict[int, list[float]] = {v: [] for v in missing}
        for table, family in zip(self.tables(parameters), self.families, strict=True):
            for axis, parent in enumerate(family):
                if parent in ranges:
                    ranges[parent].append(float(np.ptp(table, axis=axis).max()))
        return {v for v, own in ranges.items() if own and max(own) <= EQUAL}

    def _expect(self, iteration: int, parameters: NDArray[np.float64]) -> EMState:
        parts, counts = self._parts, self.available.copy()
        logs = np.empty(len(parts.codes))
        expect_families(
            self._layout,
            parameters,
            parts.codes,
            parts.weights,
            self._space,
            logs,
            counts,
            NO_POSTERIOR,
        )
        log_likelihood = float(xlogy(self.available, parameters).sum() + parts.weights @ logs)
        if log_likelihood == -np.inf:
            self._refuse(parameters, logs)
        with np.errstate(divide="ignore"):
            prior = self.alpha * float(np.log(parameters).sum()) if self.alpha else 0.0
        return EMState(iteration, parameters, counts, log_likelihood, log_likelihood + prior)

    def _refuse(self, parameters: NDArray[np.float64], logs: NDArray[np.float64]) -> None:
        """Raise and tell where the observed cells have probability zero."""
        names, dead = self.dataset.names, np.isneginf(logs)[self._parts.of_cell]
        if dead.any():
            row, variable = self._cells[dead.argmax()].tolist()
            where = f"row {row}, around the missing cell of {names[variable]!r}"
        else:
            impossible = np.flatnonzero((self.available > 0) & (parameters == 0))
            family = int(np.searchsorted(self._ends, impossible[0], side="right"))
            where = f"a row in which {names[family]!r} and its parents are observed"
        raise DataError(
            f"{where}: the observed cells have probability zero under the parameters to start "
            "from; use a network with smoothed parameters, or leave the start out"
        )
