"""Parameters of a Bayesian network with a given DAG from incomplete data, by EM.

The steps, and what never falls, are in :mod:`exactlearn.bayesnet.em_steps`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import as_network, checked_arguments
from exactlearn._runtime.ascent import STARTS, best_ascent
from exactlearn._runtime.interrupts import interruptible
from exactlearn.bayesnet.bucket_layout import flat_tables
from exactlearn.bayesnet.em_steps import EMState, NetworkEM
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError

TOLERANCE = 1e-6
"""Gain of the objective for each row (unit of weight) below which EM ends."""

MOST_ITERATIONS = 1000
"""Most iterations from each start."""


@dataclass(frozen=True, eq=False)
class EMResult:
    """Fitted parameters and how EM got there.

    Parameters
    ----------
    network
        The network with the last parameters of the best start.
    log_likelihoods, objectives
        Before the first iteration and after each, of the best start: the log-likelihood of the
        observed cells, and what EM maximised.
    converged
        Whether the gain fell below the tolerance before the iterations ran out.
    starts
        Number of starts.
    symmetric
        Variables in whose states the first start is symmetric: from there EM cannot tell them
        apart.
    """

    network: BayesianNetwork
    log_likelihoods: tuple[float, ...]
    objectives: tuple[float, ...]
    converged: bool
    starts: int = 1
    symmetric: tuple[str, ...] = ()

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood of the observed cells: a total, natural logarithm."""
        return self.log_likelihoods[-1]

    @property
    def iterations(self) -> int:
        """Number of iterations of the best start."""
        return len(self.log_likelihoods) - 1


@checked_arguments(start=as_network)
def fit_em(
    dataset: Dataset,
    parents: Sequence[Sequence[int]],
    *,
    alpha: float = 1.0,
    starts: int | None = None,
    tolerance: float = TOLERANCE,
    iterations: int = MOST_ITERATIONS,
    seed: int = 0,
    on_iteration: Callable[[EMState], None] | None = None,
    start: BayesianNetwork | None = None,
) -> EMResult:
    """Estimate the tables of a network with given parents from data with missing cells.

    Parameters
    ----------
    dataset
        Table with or without missing cells; rows count by their weights.
    parents
        Parents of each variable of the table, by index; their order is that of the table's axes.
    alpha
        Smoothing added to every expected count, finite, at least zero.
    starts
        Number of starts, of which that with the best objective is returned. The first is ``start``
        or, without it, each family's relative frequencies among the rows that observe it, raised
        by ``alpha`` but at least by one; the others are random. Left out, one, or five when the
        first is symmetric in the states of a variable, as in those of one that no row observes.
    tolerance
        EM ends when an iteration gains no more than this per row (unit of weight).
    iterations
        Most iterations from each start.
    seed
        Seed of the random starts; same seed, same network.
    on_iteration
        Called with the first state of each start and after each iteration.
    start
        Network with the same variables, states and parents whose parameters EM starts from.
        Parameters that are zero stay so unless ``alpha`` > 0.

    Returns
    -------
    EMResult
        The best start's network and its ascent.

    Raises
    ------
    OptionError
        When an option is out of range, there is not one parent set of column indices for each
        variable, the parents hold a directed cycle, or ``start`` is another network.
    DataError
        When no row has weight, a variable stands among its own parents or a parent twice, or a
        row is impossible under ``start``.
    TooLargeError
        When a table is too large, or the missing cells of a row depend on each other too much.
    CheckError
        If the objective falls by more than rounding.

    Examples
    --------
    >>> data = Dataset(np.array([[0], [0], [1], [-1]]), ("a",), (("no", "yes"),))
    >>> fit_em(data, [()], alpha=0.0).network.tables[0].round(3)
    array([0.667, 0.333])
    """
    if (starts is not None and starts < 1) or iterations < 0 or not tolerance >= 0 or seed < 0:
        raise OptionError(
            "expected at least 1 start, and iterations, tolerance and seed of at least 0; found "
            f"starts {starts}, iterations {iterations}, tolerance {tolerance}, "
            f"seed {seed}"
        )
    problem = NetworkEM(dataset, parents, alpha)
    first = _first(problem, start)
    symmetric = problem.symmetric(first)
    starts = starts or (STARTS if symmetric else 1)
    with interruptible():
        states, converged = best_ascent(
            map(problem.init, _starts(problem, first, starts, seed)),
            problem.step,
            iterations=iterations,
            least_gain=tolerance * problem.total_weight,
            on_iteration=on_iteration,
        )
    return EMResult(
        problem.network(states[-1].parameters),
        tuple(s.log_likelihood for s in states),
        tuple(s.objective for s in states),
        converged,
        starts,
        symmetric,
    )


def _first(problem: NetworkEM, start: BayesianNetwork | None) -> NDArray[np.float64]:
    """Return the parameters of the first start."""
    if start is None:
        return problem.maximise(problem.available, max(1.0, problem.alpha))
    same = (start.names, start.states, start.parents)
    if same != (problem.dataset.names, problem.dataset.states, problem.families):
        raise OptionError(
            "the network to start from must have the table's variables and states, in its "
            "order, and the same parents in the same order: leave the start out, or change it"
        )
    return flat_tables(start)


def _starts(
    problem: NetworkEM, first: NDArray[np.float64], starts: int, seed: int
) -> list[NDArray[np.float64]]:
    """Return the parameters of each start: the first, then random ones."""
    rng = np.random.default_rng(seed)
    random = (rng.exponential(size=len(first)) for _ in range(starts - 1))
    return [first, *(problem.maximise(counts, 0.0) for counts in random)]
