"""Networks learnt from a table, whose graphs the search for a decision graph starts from.

The elimination forest of a network puts each variable below all its parents: a variable of several
parents gets a context of several variables, which tests of single pairs do not find
(`exactlearn.pdg.learn.forest_growth`). Likelihood and size have the weights of the graph's score.
"""

from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.em import fit_em
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.errors import TooLargeError
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.scores import BIC, PenalisedLikelihood, Score
from exactlearn.solvers import solve
from exactlearn.structure.structural_em import structural_em

MAX_PARENTS, SMOOTHING = 3, 1.0
"""Most parents of a variable, and pseudo-counts, of the networks that are learnt."""

MOST_CELLS = 2_000_000
"""Most cells of a start before the nodes without rows are left out."""

LEAST_LAMBDA = 0.5
"""Networks are learnt with at least this weight of the size, that of AIC."""


def learnt_network(
    dataset: Dataset,
    seed: int = 0,
    *,
    score: Score | None = None,
    max_parents: int = MAX_PARENTS,
) -> BayesianNetwork:
    """Return a network with a good score, of complete or incomplete rows, by a search over orders.

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
    The best network so far, perhaps without arcs, once the search around this one is over.
    """
    score, control = BIC() if score is None else score, SearchControl.within()
    independent = ((),) * dataset.n_variables
    if dataset.is_complete:
        problem = candidate_parent_sets(
            dataset, score, max_parents=max_parents, time_limit=control.remaining, control=control
        )
        result = solve(problem, solver="ordering", seed=seed, time_limit=control.remaining)
        return fit_complete(dataset, result.parents or independent, alpha=SMOOTHING)
    found = structural_em(
        dataset,
        score,
        max_parents=max_parents,
        solver="ordering",
        seed=seed,
        time_limit=control.remaining,
    )
    parents = found.parents or independent
    return fit_em(dataset, parents, alpha=SMOOTHING, time_limit=control.remaining).model


def network_start(
    dataset: Dataset, lambda_: float, *, max_parents: int = MAX_PARENTS, seed: int = 0
) -> DecisionGraph:
    """Return the decision graph of a network learnt from complete data.

    Parameters
    ----------
    dataset
        Complete rows.
    lambda_
        Weight of the number of free parameters, see `PenalisedLikelihood`.
    max_parents
        Most parents of a variable; fewer where the graph would be too large to start from.
    seed
        Of the searches.
    """
    score = PenalisedLikelihood(max(lambda_, LEAST_LAMBDA))
    for most in range(max_parents, 1, -1):
        network = learnt_network(dataset, seed, score=score, max_parents=most)
        try:
            return compile_network(network, max_size=MOST_CELLS, seed=seed)
        except TooLargeError:
            continue
    return compile_network(learnt_network(dataset, seed, score=score, max_parents=1), seed=seed)
