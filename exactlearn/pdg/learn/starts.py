"""Starts of the searches for decision graphs: forests of variables, and learned networks.

Forests are those of largest mutual information (Chow and Liu 1968). The joint distribution of each
pair of variables is estimated by EM (PDG-SEM, Algorithm 2), on the pair's table of counts, in which
a missing cell is a state of its own: all that EM needs of the rows. The paper starts at random;
here the start is the table of the rows that have both cells. The decision graph that structural EM
starts from has a node for each state of the parent, whose parameters are the conditional
distributions of the pairs (PDG-SEM, section 4).

The elimination forest of a network puts each variable below all its parents: a variable of several
parents gets a context of several variables, which mutual information of pairs does not show.
Likelihood and size have the weights of the graph's score.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from math import log
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn.bayesnet.complete_data import smoothed
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.errors import TooLargeError
from exactlearn.pdg.compile.compile import MAX_SIZE, compile_network
from exactlearn.pdg.model.decision_graph import DecisionGraph, assemble
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.scores import PenalisedLikelihood, Score, total_weight
from exactlearn.solvers import solve
from exactlearn.solvers.component_solver import INNER_SEARCH
from exactlearn.structure.selection import fitted_network
from exactlearn.structure.structural_em import structural_em

Model = TypeVar("Model")

ITERATIONS = 500
TOLERANCE = 1e-9
"""Most iterations of EM for a pair, and the relative gain of its likelihood that ends it."""

TINY = float(np.finfo(float).tiny)

SHARE = 0.01
"""Weight of the uniform distribution in the first parameters: EM never leaves a zero."""

MAX_PARENTS = 3
SMOOTHING = 0.25
"""Most parents of a variable, and pseudo-counts, of the networks that are learned."""

EXACT_VARIABLES = 18
"""Most variables of a table whose network dynamic programming finds in some hundredths of a second,
where the search over orders takes half a second."""

MOST_CELLS = 2_000_000
"""Most cells of a start before the nodes without rows are left out."""

LEAST_SIZE_WEIGHT = 0.5
"""Networks are learned with at least this weight of the size, that of AIC."""


@kernel
def mutual_information(
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
    cardinalities: NDArray[np.int64],
    iterations: int,
    tolerance: float,
) -> NDArray[np.float64]:
    """Return the mutual information of each pair of variables (PDG-SEM, equation 24), in nats.

    Parameters
    ----------
    codes
        State numbers, shape (rows, variables); -1 for a missing cell.
    weights
        Of the rows, shape (rows,).
    cardinalities
        Number of states of each variable.
    iterations, tolerance
        EM ends after so many iterations, or when a pair gains less per row.
    """
    n = codes.shape[1]
    information = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            table = np.zeros((cardinalities[i] + 1, cardinalities[j] + 1))
            for d in range(len(codes)):
                # The code -1 is the last row or column.
                table[codes[d, i], codes[d, j]] += weights[d]
            joint = pair_probabilities(table, iterations, tolerance)
            # Equation 24, with the margins in the last row and column.
            value = 0.0
            for h in range(cardinalities[i]):
                for k in range(cardinalities[j]):
                    if joint[h, k] > 0.0:
                        independent = joint[h, -1] * joint[-1, k]
                        value += joint[h, k] * log(joint[h, k] / independent)
            information[i, j] = max(value, 0.0)
            information[j, i] = information[i, j]
    return information


@kernel
def pair_probabilities(
    table: NDArray[np.float64],
    iterations: int,
    tolerance: float,
) -> NDArray[np.float64]:
    """Return the distribution of two variables, with its margins, by EM (PDG-SEM, Algorithm 2).

    Parameters
    ----------
    table
        Counts, shape (states + 1, states + 1): in the last row the first variable is missing, in
        the last column the second one.
    iterations, tolerance
        As for `mutual_information`.

    Returns
    -------
    Probabilities, shape as ``table``: the last row and column hold the distributions of one
    variable, the last cell is one.
    """
    r = table.shape[0] - 1
    s = table.shape[1] - 1
    n_complete = table[:r, :s].sum()
    n_half = table[:r, s].sum() + table[r, :s].sum()
    n_observed = n_complete + n_half
    # The rows that have both cells, with one more row for each pair of states.
    joint = np.ones(table.shape)
    joint[:r, :s] = (table[:r, :s] + 1.0) / (n_complete + r * s)
    add_margins(joint)
    before = -np.inf
    # Without half-observed rows, one step leads to the maximum; without rows, none.
    if n_half == 0.0:
        iterations = 1 if n_observed > 0.0 else 0
    for _ in range(iterations):
        # The likelihood of complete and half-observed rows; a small gain ends EM.
        likelihood = 0.0
        for h in range(r + 1):
            for k in range(s + 1):
                likelihood += table[h, k] * log(max(joint[h, k], TINY))
        if likelihood - before <= tolerance * n_observed:
            break
        before = likelihood
        # Distribute half-observed rows by the joint distribution (E-step); normalise (M-step).
        for h in range(r):
            for k in range(s):
                first_only = table[h, s] / max(joint[h, s], TINY)
                second_only = table[r, k] / max(joint[r, k], TINY)
                expected = table[h, k] + joint[h, k] * (first_only + second_only)
                joint[h, k] = expected / n_observed
        add_margins(joint)
    return joint


@in_place_kernel
def add_margins(joint: NDArray[np.float64]) -> None:
    """Fill in the last row and column, the distributions of one variable, of a joint one."""
    joint[:-1, -1] = 0.0
    joint[-1, :-1] = 0.0
    for h in range(len(joint) - 1):
        for k in range(joint.shape[1] - 1):
            joint[h, -1] += joint[h, k]
            joint[-1, k] += joint[h, k]


def pair_joint(
    table: NDArray[np.float64],
    iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE,
) -> NDArray[np.float64]:
    """Return the joint distribution of two variables: `pair_probabilities` without margins."""
    return pair_probabilities(table, iterations, tolerance)[:-1, :-1]


def pairwise_information(dataset: Dataset) -> NDArray[np.float64]:
    """Return the mutual information of each pair of columns by EM, in nats; zero with itself."""
    codes = np.ascontiguousarray(dataset.codes, np.int16)
    weights = dataset.row_weights
    return mutual_information(
        codes,
        weights,
        dataset.cardinalities,
        ITERATIONS,
        TOLERANCE,
    )


def chow_liu_forest(dataset: Dataset, rate: float | None = None) -> NDArray[np.int32]:
    """Return the tree, or forest, whose edges have the largest mutual information in all.

    Parameters
    ----------
    dataset
        Rows, possibly weighted and with missing cells.
    rate
        Log-likelihood in nats that a parameter must gain: an edge counts for its mutual
        information times the weight of the rows, less this for each of its (states - 1) x
        (states - 1) parameters, and edges that count for nothing are left out. Without it the
        result is one tree.

    Returns
    -------
    Parent of each variable, -1 for a root; the root of each tree is the variable with the largest
    sum over its edges.
    """
    r = dataset.cardinalities
    gain = pairwise_information(dataset)
    min_gain = -1.0
    if rate is not None:
        gain = total_weight(dataset) * gain - rate * np.multiply.outer(r - 1, r - 1)
        min_gain = 0.0
    # The largest edges of all: of a positive cost each, which is no missing edge for scipy.
    cost = np.where(gain > min_gain, gain.max() + 1.0 - gain, 0.0)
    np.fill_diagonal(cost, 0.0)
    # The spanning forest without directions.
    edges = minimum_spanning_tree(np.triu(cost)).toarray() > 0
    edges |= edges.T
    total = np.where(edges, gain, 0.0).sum(axis=1)
    # Each tree hangs from the variable with the largest sum over its edges.
    forest = np.full(len(r), -1, np.int32)
    seen = np.zeros(len(r), np.bool_)
    for root in np.argsort(-total, kind="stable").tolist():
        if not seen[root]:
            tree, parents = breadth_first_order(edges, root, directed=False)
            seen[tree] = True
            forest[tree[1:]] = parents[tree[1:]]
    return forest


def chow_liu_parents(
    dataset: Dataset, rate: float | None = None
) -> tuple[tuple[int, ...], ...]:
    """Return the parent sets of a network over `chow_liu_forest`."""
    parents: list[tuple[int, ...]] = [()] * dataset.n_variables
    for v, parent in enumerate(chow_liu_forest(dataset, rate).tolist()):
        if parent >= 0:
            parents[v] = (parent,)
    return tuple(parents)


def markov_forest(dataset: Dataset, forest: NDArray[np.int32]) -> DecisionGraph:
    """Return the graph in which each variable depends on its forest parent alone.

    Parameters
    ----------
    dataset
        Rows, possibly weighted and with missing cells.
    forest
        Parent of each variable, -1 for a root.
    """
    codes = dataset.codes
    parameters = {}
    successors = {}
    for v, parent in enumerate(forest.tolist()):
        r = len(dataset.states[v])
        # A missing cell is a last state; a root has one row.
        above = len(dataset.states[parent]) if parent >= 0 else 1
        table = np.zeros((above + 1, r + 1))
        first = codes[:, parent] if parent >= 0 else np.zeros(len(codes), np.int16)
        np.add.at(table, (first, codes[:, v]), dataset.row_weights)
        joint = pair_joint(table)
        parameters[v] = (1 - SHARE) * smoothed(joint, 0.0) + SHARE / r
        # The node of each child is that of the state.
        successors[v] = np.tile(np.arange(r)[:, None], (len(joint), 1, 1))
    return assemble(dataset.names, dataset.states, forest, parameters, successors)


def learned_network(
    dataset: Dataset,
    seed: int = 0,
    *,
    score: Score,
    max_parents: int = MAX_PARENTS,
) -> BayesianNetwork:
    """Return a network with a good score, of complete or incomplete rows.

    Parent sets are selected exactly for few variables, else by a search over orders.

    Parameters
    ----------
    dataset
        The rows; with missing cells the network is learned by structural EM.
    seed
        Of the search.
    score
        What is maximised.
    max_parents
        Most parents of a variable.

    Returns
    -------
    The best network so far, once the search around this one is over; a tree where the scoring of
    complete rows was cut short; perhaps without arcs for incomplete rows.
    """
    control = SearchControl.within()
    solver = "dynamic" if dataset.n_variables <= EXACT_VARIABLES else "ordering"
    parents: Sequence[tuple[int, ...]] | None
    if not dataset.is_complete:
        parents = structural_em(
            dataset,
            score,
            max_parents=max_parents,
            solver=solver,
            seed=seed,
            time_limit=control.remaining,
        ).parents
    else:
        problem = candidate_parent_sets(
            dataset,
            score,
            max_parents=max_parents,
            time_limit=control.remaining,
            control=control,
        )
        if problem.stopped and control.is_over:  # perhaps before any arc was scored
            parents = chow_liu_parents(dataset)
        else:
            parents = solve(
                problem,
                solver=solver,
                seed=seed,
                time_limit=control.remaining,
                parameters=INNER_SEARCH,
            ).parents
    network, _ = fitted_network(
        dataset,
        parents or ((),) * dataset.n_variables,
        smoothing=SMOOTHING,
        time_limit=control.remaining,
    )
    return network


def with_fewer_parents(build: Callable[[int], Model], min_parents: int = 0) -> Model:
    """Return the model that is built from a network of at most `MAX_PARENTS` parents.

    Where that is too large, the network has one parent less, and so on.

    Parameters
    ----------
    build
        Takes the largest number of parents; raises `TooLargeError` for a model that is too large.
    min_parents
        The last number to try, whose error is raised.
    """
    for max_parents in range(MAX_PARENTS, min_parents, -1):
        with suppress(TooLargeError):
            return build(max_parents)
    return build(min_parents)


def network_start(dataset: Dataset, size_weight: float, seed: int = 0) -> DecisionGraph:
    """Return the decision graph of a network learned from complete data.

    Parameters
    ----------
    dataset
        Complete rows.
    size_weight
        Weight of the number of free parameters, see `PenalisedLikelihood`.
    seed
        Of the searches.

    Returns
    -------
    The graph of a network of at most `MAX_PARENTS` parents, or fewer where it would be too large to
    start from.
    """
    score = PenalisedLikelihood(max(size_weight, LEAST_SIZE_WEIGHT))

    def compiled(max_parents: int) -> DecisionGraph:
        network = learned_network(dataset, seed, score=score, max_parents=max_parents)
        max_size = MOST_CELLS if max_parents > 1 else MAX_SIZE
        return compile_network(network, max_size=max_size, seed=seed)

    return with_fewer_parents(compiled, 1)
