r"""Parameters of a naive Bayes model by expectation maximisation (THESIS, 4.31 to 4.34).

The E-step gives each row to the components by their posterior (4.32, as corrected: the expected
count of a state is a sum over the rows that have it), the M-step takes relative expected counts,
raised by ``smoothing`` each. That maximises the log-likelihood plus ``smoothing`` times the sum of
all log
parameters, which never falls; this is monitored. Equal rows are merged first.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn.bayesnet.complete_data import check_smoothing
from exactlearn.bayesnet.em_result import EMResult, EMState, fitted, is_over
from exactlearn.bayesnet.naive_bayes import (
    NaiveBayes,
    as_naive_bayes,
    count_rows,
    in_pieces,
    shares_of,
)
from exactlearn.data.counts import distinct_weighted
from exactlearn.data.dataset import Dataset, DatasetLike, aligned_codes
from exactlearn.errors import DataError

Floats = NDArray[np.float64]

SMOOTHING = 0.1
"""Pseudo-count of every parameter."""

ITERATIONS, TOLERANCE = 50, 1e-4
"""Most iterations of EM for each number of components, and the gain per row that ends it."""


class ComponentEM:
    """The EM problem: the E-step and the M-step, for any number of components.

    Parameters
    ----------
    dataset
        Rows, possibly weighted and with missing cells.
    smoothing
        Pseudo-count of every parameter.
    control
        Ends an E-step but that of a start.
    """

    def __init__(
        self, dataset: Dataset, smoothing: float, control: SearchControl = UNLIMITED
    ) -> None:
        check_smoothing(smoothing)
        self.names, self.states, self.smoothing = dataset.names, dataset.states, smoothing
        codes = dataset.codes.astype(np.int16)
        self.codes, self.weights, _ = distinct_weighted(codes, dataset.weights)
        self.total_weight = float(self.weights.sum())
        if not self.total_weight > 0:
            raise DataError("the table has no rows of positive weight: nothing to learn from")
        self._sizes = dataset.cardinalities
        self.starts = np.cumsum(self._sizes) - self._sizes
        self.n_states = int(self._sizes.sum())
        self._control = control

    def model(self, parameters: Floats) -> NaiveBayes:
        """Return the model with these parameters."""
        table = self.table(parameters)
        return NaiveBayes(self.names, self.states, table[0], table[1:])

    def table(self, parameters: Floats) -> Floats:
        """Return parameters with a column for each component, shape (1 + states, components)."""
        return parameters.reshape(1 + self.n_states, -1)

    def start(self, model: NaiveBayes) -> Floats:
        """Return the parameters of a model to begin with; with smoothing none is zero."""
        least = np.finfo(np.float64).tiny if self.smoothing else 0.0
        return self.normalised(np.maximum(model.table, least).ravel())

    def e_step(self, iteration: int, parameters: Floats) -> EMState:
        """Return the state at some parameters, after so many iterations.

        Raises
        ------
        DataError
            If a row is impossible under them.
        """
        table = self.table(parameters)

        def expect(rows: slice) -> tuple[Floats, Floats]:
            shares, logs = shares_of(table, self.starts, self.codes[rows])
            shares *= self.weights[rows, np.newaxis]
            counts = np.zeros(table.shape)
            counts[0] = shares.sum(axis=0)
            count_rows(shares, self.starts, self.codes[rows], counts)
            return counts, logs

        counts, logs = np.zeros(table.shape), list[Floats]()
        for piece, own in in_pieces(expect, self.codes):
            counts += piece
            logs.append(own)
            if iteration and is_over(self._control):
                return EMState(iteration, parameters, counts.ravel(), np.nan, np.nan)
        of_rows = np.concatenate(logs)
        log_likelihood = float(self.weights @ of_rows)
        if log_likelihood == -np.inf:
            row = self.codes[np.isneginf(of_rows)][0]
            shown = ", ".join(
                f"{name}={own[code]}"
                for name, own, code in zip(self.names, self.states, row, strict=True)
                if code >= 0
            )
            raise DataError(
                f"the row {shown} has probability zero under the model, so nothing can be inferred"
                " from it; correct the row or use a model with smoothed parameters"
            )
        penalty = self.smoothing * float(np.log(parameters).sum()) if self.smoothing else 0.0
        objective = log_likelihood + penalty
        return EMState(iteration, parameters, counts.ravel(), log_likelihood, objective)

    def m_step(self, state: EMState) -> Floats:
        """Return relative counts, raised by the pseudo-count."""
        return self.normalised(state.counts + self.smoothing)

    def normalised(self, parameters: Floats) -> Floats:
        """Return parameters in proportion to some; those of a variable without any are equal."""
        table = self.table(parameters).copy()
        table[0] /= table[0].sum()
        totals = np.repeat(np.add.reduceat(table[1:], self.starts), self._sizes, axis=0)
        uniform = np.repeat(1 / self._sizes, self._sizes)[:, None]
        table[1:] = np.where(totals > 0, table[1:] / np.where(totals > 0, totals, 1.0), uniform)
        return table.ravel()


@checked_arguments(model=as_naive_bayes)
def fit_naive_bayes(
    model: NaiveBayes,
    dataset: DatasetLike,
    *,
    iterations: int = 100,
    tolerance: float = 1e-6,
    smoothing: float = SMOOTHING,
    on_iteration: Callable[[EMState], None] | None = None,
    time_limit: float | None = None,
) -> EMResult[NaiveBayes]:
    """Fit the parameters of a naive Bayes model by EM, from those it has.

    Parameters
    ----------
    model
        Number of components, and first parameters.
    dataset
        Rows, possibly weighted and with missing cells; matched by names.
    iterations
        Most iterations.
    tolerance
        EM ends when an iteration gains less than this per row (unit of weight).
    smoothing
        Pseudo-count of every parameter.
    on_iteration
        Called with the first state and after each iteration.
    time_limit
        Seconds after which EM ends.

    Raises
    ------
    OptionError
        If ``smoothing`` is wrong.
    DataError
        If the table does not fit the model, or a row is impossible under it.

    Examples
    --------
    >>> from exactlearn import learn_naive_bayes
    >>> rows = Dataset(np.array([[0, 0], [1, 1], [0, -1]] * 9), ("a", "b"), (("n", "y"),) * 2)
    >>> model = learn_naive_bayes(rows).model
    >>> fit_naive_bayes(model, rows, smoothing=0.0).log_likelihood <= 0
    True
    """
    control = SearchControl(time_limit)
    codes = aligned_codes(dataset, model.names, model.states)
    rows = Dataset(codes, model.names, model.states, dataset.weights)
    problem = ComponentEM(rows, smoothing, control)
    return fitted(
        problem,
        [problem.start(model)],
        iterations=iterations,
        tolerance=tolerance,
        on_iteration=on_iteration,
        control=control,
    )


def by_em(
    problem: ComponentEM, parameters: Floats, control: SearchControl = UNLIMITED
) -> EMResult[NaiveBayes]:
    """Return the model after EM from some parameters, as long as the growth of a model takes it."""
    return fitted(
        problem, [parameters], iterations=ITERATIONS, tolerance=TOLERANCE, control=control
    )
