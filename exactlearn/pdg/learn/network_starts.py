"""Networks learnt from a table, whose graphs the search for a decision graph starts from.

The elimination forest of a network puts each variable below all its parents: a variable of several
parents gets a context of several variables, which mutual information of pairs does not show.
Likelihood and size have the weights of the graph's score.

In the tree of Chow and Liu, that PDG-SEM starts from, a variable depends on two others through
chains of nodes only. So the missing cells are drawn from their posteriors under the model found; a
network is learnt from that table; and structural EM starts again from the network's graph, on the
incomplete table. Rounds end when the score no longer rises.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.em import fit_em
from exactlearn.bayesnet.network import BayesianNetwork, draw
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import TooLargeError
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.inference.flows import posteriors
from exactlearn.pdg.learn.chow_liu import chow_liu_parents
from exactlearn.pdg.learn.structural_em import (
    OnGraph,
    StructuralEMGraph,
    StructuralEMState,
    structural_em_graph,
)
from exactlearn.pdg.learn.structure_score import Size
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.scores import BIC, PenalisedLikelihood, Score
from exactlearn.solvers import solve
from exactlearn.solvers.component_solver import INNER_SEARCH
from exactlearn.structure.structural_em import structural_em

MAX_PARENTS, SMOOTHING = 3, 0.25
"""Most parents of a variable, and pseudo-counts, of the networks that are learnt."""

EXACT_VARIABLES = 18
"""Most variables of a table whose network dynamic programming finds in some hundredths of a second,
where the search over orders takes half a second."""

MOST_CELLS = 2_000_000
"""Most cells of a start before the nodes without rows are left out."""

LEAST_SIZE_WEIGHT = 0.5
"""Networks are learnt with at least this weight of the size, that of AIC."""


def learnt_network(
    dataset: Dataset,
    seed: int = 0,
    *,
    score: Score | None = None,
    max_parents: int = MAX_PARENTS,
) -> BayesianNetwork:
    """Return a network with a good score, of complete or incomplete rows.

    Parent sets are selected exactly for few variables, else by a search over orders.

    Parameters
    ----------
    dataset
        The rows; with missing cells the network is learnt by structural EM.
    seed
        Of the search.
    score
        What is maximised; left out, BIC.
    max_parents
        Most parents of a variable.

    Returns
    -------
    The best network so far, once the search around this one is over; a tree where the scoring of
    complete rows was cut short; perhaps without arcs for incomplete rows.
    """
    score, control = BIC() if score is None else score, SearchControl.within()
    solver = "dynamic" if dataset.n_variables <= EXACT_VARIABLES else "ordering"
    independent = ((),) * dataset.n_variables
    if dataset.is_complete:
        problem = candidate_parent_sets(
            dataset, score, max_parents=max_parents, time_limit=control.remaining, control=control
        )
        if problem.stopped and control.is_over:  # perhaps before any arc was scored
            return fit_complete(dataset, chow_liu_parents(dataset), smoothing=SMOOTHING)
        result = solve(
            problem,
            solver=solver,
            seed=seed,
            time_limit=control.remaining,
            parameters=INNER_SEARCH,
        )
        return fit_complete(dataset, result.parents or independent, smoothing=SMOOTHING)
    found = structural_em(
        dataset,
        score,
        max_parents=max_parents,
        solver=solver,
        seed=seed,
        time_limit=control.remaining,
    )
    parents = found.parents or independent
    return fit_em(dataset, parents, smoothing=SMOOTHING, time_limit=control.remaining).model


def network_start(
    dataset: Dataset, size_weight: float, *, max_parents: int = MAX_PARENTS, seed: int = 0
) -> DecisionGraph:
    """Return the decision graph of a network learnt from complete data.

    Parameters
    ----------
    dataset
        Complete rows.
    size_weight
        Weight of the number of free parameters, see `PenalisedLikelihood`.
    max_parents
        Most parents of a variable; fewer where the graph would be too large to start from.
    seed
        Of the searches.
    """
    score = PenalisedLikelihood(max(size_weight, LEAST_SIZE_WEIGHT))
    for most in range(max_parents, 1, -1):
        network = learnt_network(dataset, seed, score=score, max_parents=most)
        try:
            return compile_network(network, max_size=MOST_CELLS, seed=seed)
        except TooLargeError:
            continue
    return compile_network(learnt_network(dataset, seed, score=score, max_parents=1), seed=seed)


ROUNDS = 3
"""Most networks that are learnt."""


@checked_arguments()
def structural_em_rounds(
    dataset: DatasetLike,
    *,
    forest: Literal["forest", "tree"] = "forest",
    size_weight: float | None = None,
    size: Size = "effective",
    smoothing: float = 1.0,
    rounds: int = ROUNDS,
    max_parents: int = MAX_PARENTS,
    seed: int = 0,
    time_limit: float | None = None,
    on_iteration: Callable[[StructuralEMState], None] | None = None,
    on_graph: OnGraph | None = None,
) -> StructuralEMGraph:
    """Return the best model of structural EM from a forest, a tree and networks.

    Parameters
    ----------
    dataset, forest, size_weight, size, smoothing, on_iteration, on_graph
        As for `structural_em_graph`.
    rounds
        Most networks that are learnt; 0 for none.
    max_parents
        Of the networks.
    seed
        Of the drawn cells, and of the searches for networks.
    time_limit
        Seconds for the whole search.

    Returns
    -------
    StructuralEMGraph
        The best model, also after a limit or an interrupt.

    Raises
    ------
    DataError, OptionError, CheckError
        As `structural_em_graph`.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("cancer-mcar").part(slice(80))
    >>> structural_em_rounds(table, size_weight=0.2, rounds=1).graph
    DecisionGraph(variables=5, nodes=8, effective_size=16)
    """
    rng = np.random.default_rng(seed)

    def search(
        start: DecisionGraph | None, kind: Literal["forest", "tree"] = forest
    ) -> StructuralEMGraph:
        return structural_em_graph(
            dataset,
            forest=kind,
            start=start,
            size_weight=size_weight,
            size=size,
            smoothing=smoothing,
            on_iteration=on_iteration,
            on_graph=on_graph,
        )

    with SearchControl.within(time_limit).running() as control:
        best = search(None)
        # An edge that does not pay for all its parameters may pay once nodes are merged: a tree.
        if forest == "forest" and not control.is_over:
            best, _ = _better(best, search(None, "tree"))
        for _ in range(rounds):
            if control.is_over:
                break
            table = drawn_completion(best.graph, dataset, rng)
            start = network_start(table, best.size_weight, max_parents=max_parents, seed=seed)
            best, risen = _better(best, search(start))
            if not risen:
                break
        return replace(best, finished=best.finished and not control.is_over)


def _better(best: StructuralEMGraph, found: StructuralEMGraph) -> tuple[StructuralEMGraph, bool]:
    """Return the model of the higher score, finished if the last search is, and whether it rose."""
    risen = found.score > best.score
    return (found if risen else replace(best, finished=found.finished)), risen


def drawn_completion(graph: DecisionGraph, dataset: Dataset, rng: np.random.Generator) -> Dataset:
    """Return a table whose missing cells are drawn, each by its own posterior distribution."""
    shares = posteriors(graph, dataset.codes)
    codes, start = dataset.codes.astype(np.int16), 0
    for v, states in enumerate(dataset.states):
        rows = np.flatnonzero(codes[:, v] < 0)
        cumulative = np.ascontiguousarray(shares[rows, start : start + len(states)].cumsum(axis=1))
        drawn = np.empty(len(rows), np.int16)
        draw(cumulative, np.arange(len(rows)), rng.random(len(rows)), drawn)
        codes[rows, v] = drawn
        start += len(states)
    return Dataset(codes, dataset.names, dataset.states, dataset.weights)
