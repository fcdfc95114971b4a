"""Hybrid learning: a network becomes a decision graph, which data then make smaller.

THESIS, section 4.6 and Algorithm 4.18. The network is compiled; for each variable the nodes that no
row reaches become one "garbage" node with uniform parameters; all other nodes get the parameters
that maximise the likelihood; and nodes with the same successors are merged, those first that lose
least per cell of size. The sequence of merges is the whole path of size against likelihood; each
lambda is a point of it, up to which no merge lets (1-lambda) L - lambda size fall.

The compiled graph has its equivalent nodes merged; the thesis begins with the expanded one
(Algorithms 4.13 to 4.17). Over the same forest both end alike, as nodes that are equal under the
network are nearly so by its own rows: on four tables, sizes at equal likelihood differed by less
than 1 in 1,000.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.complete_data import check_alpha
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.counts import require_complete
from exactlearn.data.dataset import Dataset, aligned_codes
from exactlearn.data.trade_off import bic_lambda
from exactlearn.errors import DataError, OptionError
from exactlearn.pdg.compile.approximation import Frontier, MergeSequence
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.compile.expanded_graph import expanded_graph
from exactlearn.pdg.inference.flows import (
    expected_counts,
    log_likelihood,
    node_probabilities,
)
from exactlearn.pdg.learn.populated_graph import structure_of
from exactlearn.pdg.learn.refine import smoothed_by_em
from exactlearn.pdg.learn.smoothing import tuned_smoothing
from exactlearn.pdg.model.decision_graph import DecisionGraph, assemble
from exactlearn.pdg.model.structure_score import StructureScore


@dataclass(frozen=True, eq=False)
class HybridGraph:
    """One point of the path.

    Parameters
    ----------
    graph
        With smoothed parameters.
    lambda_
        Up to which was merged: the score is (1-lambda) L - lambda effective size, with the total
        log-likelihood L.
    log_likelihood
        Of the observed cells under ``graph``, total, natural logarithm.
    loss
        Total log-likelihood that merging lost, before smoothing; with missing cells, of the
        expected one.
    """

    graph: DecisionGraph
    lambda_: float
    log_likelihood: float
    loss: float


@dataclass(frozen=True, eq=False)
class HybridGraphs:
    """The path of size against likelihood.

    Parameters
    ----------
    models
        One for each lambda, in rising order.
    frontier
        Sizes and losses per record after every merge, down to one node per variable if the
        merges lead there; it begins with the collapsed graph.
    compiled_size
        Effective size of the network's graph, or the expanded one, before nodes were collapsed.
    finished
        Whether neither limit nor interrupt cut the path short.
    """

    models: tuple[HybridGraph, ...]
    frontier: Frontier
    compiled_size: int
    finished: bool

    @property
    def score(self) -> float:
        """Sum of the scores of all models, each by its own lambda."""
        return sum(StructureScore(m.lambda_).of(m.graph, m.log_likelihood) for m in self.models)


@checked_arguments()
def learn_hybrid(
    network: BayesianNetwork,
    dataset: Dataset,
    *,
    lambdas: Sequence[float] | None = None,
    alpha: float | None = None,
    expanded: bool = False,
    seed: int = 0,
    time_limit: float | None = None,
    on_model: Callable[[HybridGraph], None] | None = None,
) -> HybridGraphs:
    """Learn decision graphs along lambda from a network (THESIS, Algorithm 4.18).

    Parameters
    ----------
    network
        Any network over the table's variables, such as one learnt from it.
    dataset
        Rows, possibly weighted and with missing cells; matched by names.
    lambdas
        Weights of the size, from 0 to 1; left out, that of BIC.
    alpha
        Pseudo-count of every parameter; left out, tuned by cross-validation on complete data, and
        1 with missing cells, where EM fits the parameters.
    expanded
        Begin with the fully expanded graph, as the thesis does.
    seed
        Of the search for a forest, and of the folds.
    time_limit
        Seconds after which the path ends.
    on_model
        Called at each lambda.

    Returns
    -------
    HybridGraphs
        One model at least; after a limit or an interrupt the path ends where it is.

    Raises
    ------
    DataError
        If the table does not fit the network, is empty, or a row is impossible under it.
    OptionError
        If a lambda or ``alpha`` is wrong.
    TooLargeError
        If the network's decision graph, or the number of pairs to merge, is too large.

    Examples
    --------
    >>> from exactlearn.bayesnet.complete_data import fit_complete
    >>> kinds = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    >>> rows = np.repeat(kinds, [9, 11, 11, 9], axis=0)
    >>> data = Dataset(rows, ("a", "b", "c"), (("n", "y"),) * 3)
    >>> found = learn_hybrid(fit_complete(data, [(), (0,), (0, 1)]), data)
    >>> found.compiled_size, found.models[0].graph.effective_size
    (12, 10)
    """
    total = float(dataset.row_weights.sum())
    given = [bic_lambda(total)] if lambdas is None else sorted(lambdas)
    scores = [StructureScore(x) for x in given]
    if not scores:
        raise OptionError("no lambda was given: give one at least, or leave them out for BIC")
    check_alpha(alpha)
    models: list[HybridGraph] = []
    with SearchControl.within(time_limit).running() as control:
        compiled = _compiled(network, seed, expanded)
        merges = data_merges(compiled, dataset)
        for score in scores:
            if models and control.is_over:
                break
            merges.merge_until(rate=score.rate / total, control=control)
            graph = smoothed_on(merges.merged(), dataset, alpha, seed, control.remaining)
            likelihood = log_likelihood(graph, dataset)
            models.append(HybridGraph(graph, score.lambda_, likelihood, merges.loss * total))
            if on_model is not None:
                on_model(models[-1])
        merges.merge_until(control=control)
        finished = not control.is_over
    return HybridGraphs(tuple(models), merges.frontier, compiled.effective_size, finished)


class SmallestHybrid(NamedTuple):
    """The smallest graph of the path with at least a given log-likelihood.

    Attributes
    ----------
    graph
        With the parameters that are most probable given the records, not smoothed.
    log_likelihood
        Of the records under it, total, natural logarithm.
    compiled_size, collapsed_size
        Effective sizes of the network's graph, and of that with its unreached nodes collapsed.
    """

    graph: DecisionGraph
    log_likelihood: float
    compiled_size: int
    collapsed_size: int


@checked_arguments()
def smallest_as_likely(
    network: BayesianNetwork,
    dataset: Dataset,
    least: float,
    *,
    expanded: bool = False,
    seed: int = 0,
) -> SmallestHybrid:
    """Merge as far as a log-likelihood allows (the "best" graph of THESIS, 5.5.1).

    Parameters
    ----------
    network, dataset, expanded, seed
        As for `learn_hybrid`; the data are complete.
    least
        Log-likelihood, total, that the graph is to have at least. Where not even the first graph
        has it, that one is returned.

    Raises
    ------
    DataError
        If a cell is missing, or the table does not fit the network or is empty.
    TooLargeError
        If the network's decision graph, or the number of pairs to merge, is too large.
    """
    require_complete(
        dataset, "a graph as likely as its network needs", "`learn_hybrid` takes missing cells"
    )
    compiled = _compiled(network, seed, expanded)
    merges = data_merges(compiled, dataset)
    collapsed = merges.effective_size
    first = log_likelihood(merges.merged(), dataset)
    merges.merge_until(loss=max(0.0, first - least) / float(dataset.row_weights.sum()))
    graph = merges.merged()
    reached = log_likelihood(graph, dataset)
    return SmallestHybrid(graph, reached, compiled.effective_size, collapsed)


def _compiled(network: BayesianNetwork, seed: int, expanded: bool) -> DecisionGraph:
    compiled = compile_network(network, seed=seed)
    return expanded_graph(network, compiled) if expanded else compiled


def smoothed_on(
    graph: DecisionGraph,
    dataset: Dataset,
    alpha: float | None,
    seed: int,
    time_limit: float | None = None,
) -> DecisionGraph:
    """Return a graph with smoothed parameters: by counts of complete data, else by EM."""
    if dataset.is_complete:
        return tuned_smoothing(graph, dataset, alpha=alpha, seed=seed).graph
    return smoothed_by_em(graph, dataset, 1.0 if alpha is None else alpha, time_limit)


def data_merges(graph: DecisionGraph, dataset: Dataset, alpha: float = 0.0) -> MergeSequence:
    """Return the merges of a graph whose unreached nodes are collapsed, weighed by records.

    With missing cells, records count for what they are expected to reach under the graph. The
    parameters of merged nodes are estimated from the records, and from ``alpha`` records more that
    are distributed as the graph is.

    Raises
    ------
    DataError
        If the table does not fit the graph, is empty, or a record is impossible under it.
    """
    if dataset.n_rows == 0:
        raise DataError("the table has no rows: nothing to merge by")
    small = collapse_unreached(graph, dataset)
    codes = aligned_codes(dataset, small.names, small.states)
    counts = expected_counts(small, codes, dataset.weights)
    # Each variable's counts add up to the weight of all records.
    per_record = small.n_variables / counts.sum()
    pseudo = alpha * per_record * node_probabilities(small) if alpha else None
    return MergeSequence(small, counts * per_record, pseudo=pseudo)


def reached_nodes(graph: DecisionGraph, dataset: Dataset) -> NDArray[np.bool_]:
    """Return for each node whether some row reaches it, shape (nodes,).

    A row with missing cells reaches the nodes that it can reach with positive probability.

    Raises
    ------
    DataError
        If the table does not fit the graph, or a row is impossible under it.
    """
    counts = expected_counts(
        graph, aligned_codes(dataset, graph.names, graph.states), dataset.weights
    )
    reached: NDArray[np.bool_] = np.add.reduceat(counts, graph.parameter_offsets[:-1]) > 0
    return reached


def collapse_unreached(pdg: DecisionGraph, dataset: Dataset) -> DecisionGraph:
    """Return the graph with one uniform node in place of all unreached nodes of each variable.

    Its successors are the garbage nodes of the children; for a child without one, those that the
    first unreached node had.

    Parameters
    ----------
    dataset
        Rows, possibly with missing cells; matched by names.

    Raises
    ------
    DataError
        If the table does not fit the graph, or a row is impossible under it.
    """
    nodes = reached_nodes(pdg, dataset)
    reached = {v: nodes[pdg.variable == v] for v in range(pdg.n_variables)}
    # Reached nodes keep their order; the garbage node comes last.
    numbers = {v: np.where(kept, kept.cumsum() - 1, kept.sum()) for v, kept in reached.items()}
    structure, parameters, successors = structure_of(pdg), {}, {}
    for v, kept in reached.items():
        new = structure[v]
        for place, child in enumerate(pdg.children[v]):
            new[:, :, place] = numbers[child][new[:, :, place]]
            if not reached[child].all():
                new[~kept, :, place] = reached[child].sum()
        chosen = np.append(np.flatnonzero(kept), np.flatnonzero(~kept)[:1])
        successors[v], parameters[v] = new[chosen], pdg.parameters_of(v)[chosen]
        parameters[v][kept.sum() :] = 1 / pdg.cardinalities[v]
    return assemble(pdg.names, pdg.states, pdg.forest, parameters, successors)
