"""Posterior marginals of the rows of a table, by the way that suits model and rows.

Rows are answered on all cores, in pieces of one size, so that answers do not depend on the number
of threads. Elimination and its pruning: docs/theory/inference.md.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from math import inf

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.executors import in_order
from exactlearn._runtime.offsets import offsets, owners
from exactlearn.bayesnet.buckets import LARGEST_ROW
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork, subnetwork
from exactlearn.bayesnet.row_completion import eliminated, elimination_cells, prepared
from exactlearn.bayesnet.variable_elimination import (
    Elimination,
    eliminate_to_joint,
    plan_elimination,
)
from exactlearn.errors import TooLargeError
from exactlearn.graphs.dag import ancestors
from exactlearn.pdg.inference.flows import posteriors_and_log_likelihoods
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.model_graphs import GRAPHS, Answering, compiled_once
from exactlearn.structure.averaged_prediction import NetworkMixture

PIECE = 16_384
"""Rows that a thread answers at a time."""

QUICK_CELLS = 20_000_000
"""Table cells of all rows up to which elimination takes less time than to compile the network."""

MAX_PASSES = 8
"""Most targets of one case to which variables are eliminated one by one."""

MAX_ELIMINATED = 4_000_000_000
"""Most table cells that the elimination to each target of one case may take: half a minute."""

Rows = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Posteriors of all states, shape (rows, states), and log-likelihoods, shape (rows,)."""


def marginals(
    model: Answering,
    codes: NDArray[np.int16],
    variables: Sequence[int],
    threads: int,
) -> tuple[tuple[NDArray[np.float64], ...], NDArray[np.float64]]:
    """Return the posterior of each variable, and the log-likelihoods, in pieces of rows.

    Parameters
    ----------
    model, variables, threads
        The model, the variables, and the number of threads.
    codes
        The rows, shape (rows, variables).

    Returns
    -------
    posteriors, log_likelihoods
        For each variable shape (rows, states), NaN of an impossible row; shape (rows,).
    """
    n_rows = len(codes)
    posteriors_of = _row_posteriors(model, codes, variables)
    # Where the states of each variable stand among those of all, and its own array.
    first = offsets(model.cardinalities)
    columns = [slice(first[v], first[v + 1]) for v in variables]
    posteriors = tuple(np.empty((n_rows, model.cardinalities[v])) for v in variables)
    logs = np.empty(n_rows)

    def answer(piece: int, _: None) -> int:
        rows = slice(piece * PIECE, (piece + 1) * PIECE)
        states, logs[rows] = posteriors_of(codes[rows])
        states[np.isneginf(logs[rows])] = np.nan
        for posterior, column in zip(posteriors, columns, strict=True):
            posterior[rows] = states[:, column]
        return piece

    # Pieces of one size, so that answers do not depend on the number of threads.
    n_pieces = -(-n_rows // PIECE)
    for _ in in_order(answer, n_pieces, lambda: None, threads):
        pass
    return posteriors, logs


def _row_posteriors(
    model: Answering,
    codes: NDArray[np.int16],
    variables: Sequence[int],
) -> Callable[[NDArray[np.int16]], Rows]:
    """Return the function from rows to posteriors and log-likelihoods that suits these rows.

    The posteriors of other variables than these may be missing.
    """
    if isinstance(model, NaiveBayes | NetworkMixture):
        return model.row_posteriors
    if isinstance(model, DecisionGraph):
        return partial(posteriors_and_log_likelihoods, model)
    network = prepared(model)
    if elimination_cells(network, codes) <= QUICK_CELLS:
        return partial(eliminated, network)
    # One case: eliminate to each target, where that takes little time.
    unobserved = [v for v in variables if codes[0, v] < 0]
    if len(codes) == 1 and len(unobserved) <= MAX_PASSES and model not in GRAPHS:
        plans = [plan_elimination(network, codes[0], [v]) for v in unobserved]
        if is_affordable(plans):
            return partial(_of_one_row, network, unobserved, plans)
    # Only the ancestors of targets and evidence matter; these are compiled.
    observed = np.flatnonzero((codes >= 0).any(axis=0)).tolist()
    part = sorted(ancestors(model.parents, [*variables, *observed]))
    if len(part) < model.n_variables:
        return _of_part(model, codes, part)
    with suppress(TooLargeError):
        return partial(posteriors_and_log_likelihoods, compiled_once(model))
    return partial(eliminated, network)


def is_affordable(plans: Sequence[Elimination]) -> bool:
    """Return whether the targets of a query are eliminated one by one, and nothing compiled."""
    cells = sum(plan.cells for plan in plans)
    largest = max((plan.largest for plan in plans), default=inf)
    return cells <= MAX_ELIMINATED and largest <= LARGEST_ROW


def _of_one_row(
    network: BayesianNetwork,
    targets: Sequence[int],
    plans: Sequence[Elimination],
    codes: NDArray[np.int16],
) -> Rows:
    """Return the posteriors of the targets and the log-likelihood of one row, 0 elsewhere."""
    (row,) = codes
    first = offsets(network.cardinalities)
    posterior = np.zeros((1, first[-1]))
    # An observed variable has its state, a target the joint of one variable.
    observed = np.flatnonzero(row >= 0)
    posterior[0, first[observed] + row[observed]] = 1.0
    log_likelihood = -inf
    for v, plan in zip(targets, plans, strict=True):
        states = slice(first[v], first[v + 1])
        posterior[0, states], log_likelihood = eliminate_to_joint(
            network,
            row,
            [v],
            plan,
        )
    return posterior, np.array([log_likelihood])


def _of_part(
    model: BayesianNetwork,
    codes: NDArray[np.int16],
    part: Sequence[int],
) -> Callable[[NDArray[np.int16]], Rows]:
    """Return the function for an ancestral subset of the variables, with 0 for the others."""
    network = subnetwork(model, part)
    posteriors_of_part = _row_posteriors(network, codes[:, part], range(len(part)))
    # The columns of the states of the subset's variables, among those of all.
    variable = owners(offsets(model.cardinalities))
    columns = np.isin(variable, part)

    def posteriors_of(rows: NDArray[np.int16]) -> Rows:
        rows_of_part = np.ascontiguousarray(rows[:, part])
        posterior = np.zeros((len(rows), len(variable)))
        posterior[:, columns], logs = posteriors_of_part(rows_of_part)
        return posterior, logs

    return posteriors_of
