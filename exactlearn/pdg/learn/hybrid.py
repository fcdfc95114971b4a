"""Hybrid learning: a network becomes a decision graph, which data then make smaller.

THESIS, section 4.6 and Algorithm 4.18. The network is compiled; nodes that no row reaches are left
out; all other nodes get the parameters that maximise the likelihood; and nodes with the same
successors are merged, those first that lose least per cell of size. The sequence of merges is the
whole path of size against likelihood; each lambda is a point of it, up to which no merge lets
(1-lambda) L - lambda size fall.

Where the thesis sends all edges to unreached nodes to one "garbage" node with uniform parameters
for each variable, they lead to the node here below which the network says the most similar things.
And without a given pseudo-count the network has a say besides: every edge may lead to any node of
its variable, and a node goes when it costs more than it gains, by the network's distribution and
the rows, mixed (:mod:`exactlearn.pdg.learn.redirections`), so that a node that few rows reach does
not lead elsewhere by chance. Cross-validation of the whole of learning chooses the share of the
network, how far parameters are shrunk to the mixture's, and lambda where none is given.

The compiled graph has its equivalent nodes merged; the thesis begins with the expanded one
(Algorithms 4.13 to 4.17). Over the same forest both end alike, as nodes that are equal under the
network are nearly so by its own rows: on four tables, sizes at equal likelihood differed by less
than 1 in 1,000.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.complete_data import check_smoothing, fit_complete
from exactlearn.bayesnet.network import BayesianNetwork, NetworkLike
from exactlearn.bayesnet.smoothing_choice import SmoothingChoice
from exactlearn.data.alignment import aligned_codes, aligned_table
from exactlearn.data.counts import bic_size_weight, size_weight_of
from exactlearn.data.dataset import (
    Dataset,
    DatasetLike,
    require_complete,
    require_weight,
)
from exactlearn.errors import OptionError, TooLargeError
from exactlearn.pdg.compile.approximation import MergeSequence
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.inference.flows import (
    expected_counts,
    log_likelihood,
    node_probabilities,
)
from exactlearn.pdg.learn.edge_counts import (
    LearnedGraph,
    LearnedGraphs,
    OnModel,
    StructureScore,
    merged_rows,
    structure_of,
)
from exactlearn.pdg.learn.parameters import (
    Validation,
    choose_graph_smoothing,
    cross_validated,
    estimated,
    refine,
    smoothed_by_em,
    tuned_smoothing,
)
from exactlearn.pdg.learn.redirections import Reference, compacted, populate
from exactlearn.pdg.learn.starts import SMOOTHING
from exactlearn.pdg.model.decision_graph import DecisionGraph, assemble
from exactlearn.scoring.scores import total_weight

RATES = (0.06, 0.12, 0.25, 0.5, 1.0, 2.0)
"""What a cell of size must gain in nats, of which validation chooses one, or BIC's."""

SHARES = (0.5, 1.0)
MIN_EXPECTED = 0.05
"""Shares of the network's distribution, beside the rows', in the weight of what a redirection
gains, of which validation chooses one: rows count for most where they are few (soybean), the
network where it is good (alarm). And from how many expected rows on a node that no row reaches
stays."""

MOST_DIVERGENCES = 50_000_000
"""Most pairs of nodes of one variable whose divergence is computed."""

TINY = float(np.finfo(float).tiny)


@checked_arguments()
def learn_hybrid(
    network: NetworkLike,
    dataset: DatasetLike,
    *,
    size_weights: Sequence[float] | None = None,
    smoothing: float | None = None,
    relearn: Callable[[Dataset], BayesianNetwork] | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    on_model: OnModel | None = None,
) -> LearnedGraphs:
    """Learn decision graphs along lambda from a network (THESIS, Algorithm 4.18).

    Parameters
    ----------
    network
        Any network over the table's variables, such as one learned from it.
    dataset
        Rows, possibly weighted and with missing cells; matched by names.
    size_weights
        Weights of the size, from 0 to 1; left out, that of BIC, or on complete data without
        ``smoothing`` one that cross-validation chooses.
    smoothing
        Pseudo-count of every parameter; left out, parameters of complete data are counts shrunk to
        those of the network as far as cross-validation chooses; 1 with missing cells, where EM
        fits them.
    relearn
        Learns the network from other rows, for cross-validation; left out, the network gets other
        parameters only.
    seed
        Of the search for a forest, and of the folds.
    time_limit
        Seconds after which the path ends.
    on_model
        Called at each lambda.

    Returns
    -------
    LearnedGraphs
        In rising order of lambda, with the log-likelihood of their smoothed parameters; one at
        least: after a limit or an interrupt the path ends where it is.

    Raises
    ------
    DataError
        If the table does not fit the network, is empty, or a row is impossible under it.
    OptionError
        If a size weight or ``smoothing`` is wrong.
    TooLargeError
        If the network's decision graph, or the number of pairs to merge, is too large.

    Examples
    --------
    >>> from exactlearn.bayesnet.complete_data import fit_complete
    >>> kinds = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    >>> rows = np.repeat(kinds, [9, 11, 11, 9], axis=0)
    >>> data = Dataset(rows, ("a", "b", "c"), (("n", "y"),) * 3)
    >>> found = learn_hybrid(fit_complete(data, [(), (0,), (0, 1)]), data)
    >>> found.models[0].graph.effective_size
    8
    """
    dataset = aligned_table(dataset, network)  # folds refit its families by index
    check_smoothing(smoothing)
    total = total_weight(dataset)
    is_validated = smoothing is None and dataset.is_complete
    default = (
        validated_size_weights(total) if is_validated else [bic_size_weight(total)]
    )
    scores = _scores(default if size_weights is None else size_weights)
    models: list[LearnedGraph] = []
    graphs: Iterable[tuple[int, DecisionGraph]]
    with SearchControl.within(time_limit).running() as control:
        options: dict[str, Any] = {"scores": scores, "seed": seed, "control": control}
        if is_validated:
            learn = relearn or partial(
                fit_complete,
                parents=network.parents,
                smoothing=SMOOTHING,
            )
            path = partial(_redirected_graphs, **options)
            candidates, choice = _validated(
                path, network, dataset, learn, seed, control
            )
            numbers = [choice.smallest]
            if size_weights is not None:
                numbers = choice.best_of_each(len(scores))
            strengths = choice.strengths
            graphs = (
                (k % len(scores), estimated(candidates[k], dataset, strengths[k], seed))
                for k in numbers
            )
        else:
            merged = _merged_graphs(network, dataset, **options)
            graphs = _smoothed(merged, dataset, smoothing, control)
        for k, graph in graphs:
            model = scores[k].learned(graph, log_likelihood(graph, dataset))
            models.append(model)
            if on_model is not None:
                on_model(model, partial(getattr, model, "graph"))
            if control.is_over:
                break
        finished = not control.is_over
    return LearnedGraphs(tuple(models), finished)


def _scores(size_weights: Sequence[float]) -> list[StructureScore]:
    """Return the scores of some weights of the size, in rising order; refuse none at all."""
    if not len(size_weights):
        raise OptionError(
            "no size_weight was given: give one at least, or leave them out"
        )
    return [StructureScore(weight) for weight in sorted(size_weights)]


def _merged_graphs(
    network: BayesianNetwork,
    rows: Dataset,
    *,
    scores: Sequence[StructureScore],
    seed: int,
    control: SearchControl,
) -> list[DecisionGraph]:
    """Return the merged graph of a network for each score (Algorithm 4.18), one at least.

    Parameters
    ----------
    network, rows
        The network that is compiled, and the rows that say what a merge loses.
    scores
        In rising order of lambda.
    seed
        Of the search for a forest.
    control
        Once it is over, the path ends.
    """
    graph = compile_network(network, seed=seed)
    merges = data_merges(graph, rows)
    weight = total_weight(rows)
    merged: list[DecisionGraph] = []
    for score in scores:
        if merged and control.is_over:
            break
        merges.merge_until(rate=score.rate / weight, control=control)
        merged.append(merges.merged())
    return merged


def _redirected_graphs(
    network: BayesianNetwork,
    rows: Dataset,
    *,
    scores: Sequence[StructureScore],
    seed: int,
    control: SearchControl,
) -> list[DecisionGraph]:
    """Return the redirected graph of a network for each share and score, one at least.

    Parameters
    ----------
    network, scores, seed, control
        As for `_merged_graphs`.
    rows
        Complete rows, which say beside the network what a redirection loses.
    """
    require_weight(rows, "merge by")
    graph = compile_network(network, seed=seed)
    small = collapse_unreached(graph, rows, MIN_EXPECTED)
    weight = total_weight(rows)
    graphs: list[DecisionGraph] = []
    for model_share in SHARES:
        reference = Reference.of_graph(graph, model_share * weight)
        if model_share < 1.0:
            merged = merged_rows(rows)
            subrows = Reference.of_rows(merged, graph.forest, 1.0 - model_share)
            reference = reference.joined(subrows)
        populated = populate(reference, structure_of(small))
        for score in scores:
            if graphs and control.is_over:
                break
            populated = compacted(populated, reference, score, control)
            graphs.append(populated.graph)
    return graphs


def _smoothed(
    graphs: Sequence[DecisionGraph],
    dataset: Dataset,
    smoothing: float | None,
    control: SearchControl,
) -> Iterator[tuple[int, DecisionGraph]]:
    """Yield the number of each graph, and the graph with smoothed parameters."""
    for k, graph in enumerate(graphs):
        if dataset.is_complete:
            yield k, tuned_smoothing(graph, dataset, smoothing=smoothing)
        else:
            count = 1.0 if smoothing is None else smoothing
            yield k, smoothed_by_em(graph, dataset, count, control.remaining)


def _validated(
    path: Callable[[BayesianNetwork, Dataset], list[DecisionGraph]],
    network: BayesianNetwork,
    dataset: Dataset,
    learn: Callable[[Dataset], BayesianNetwork],
    seed: int,
    control: SearchControl,
) -> tuple[list[DecisionGraph], Validation]:
    """Return graphs, and what validation chooses among them.

    Parameters
    ----------
    path
        Returns the redirected graphs of a network by some rows.
    network, dataset
        The network of all rows, and the rows, complete.
    learn
        Learns the network of the rows of other folds.
    seed
        Of the folds.
    control
        Once it is over, nothing is validated.
    """
    graphs = path(network, dataset)
    validation = Validation.default(len(graphs))
    # A zero of the network would make some held-out row impossible.
    if all((graph.parameters > 0).all() for graph in graphs):
        validation = cross_validated(
            lambda rows: path(learn(rows), rows),
            dataset,
            len(graphs),
            seed=seed,
            control=control,
        )
    return graphs, validation


def validated_size_weights(total_weight: float) -> list[float]:
    """Return the weights of the size of which validation chooses one, in rising order."""
    return [
        size_weight_of(rate)
        for rate in sorted({*RATES, log(max(total_weight, 1.0)) / 2})
    ]


@checked_arguments()
def smallest_as_likely(
    network: NetworkLike,
    dataset: DatasetLike,
    least: float,
    *,
    seed: int = 0,
) -> DecisionGraph:
    """Merge as far as a log-likelihood allows (the "best" graph of THESIS, 5.5.1).

    Parameters
    ----------
    network, dataset, seed
        As for `learn_hybrid`; the data are complete.
    least
        Log-likelihood, total, that the graph is to have at least. Where not even the first graph
        has it, that one is returned.

    Returns
    -------
    DecisionGraph
        With parameters shrunk to those of the network, as in `shrunk_to`, so that no row that the
        network holds possible is impossible; the log-likelihood is that before.

    Raises
    ------
    DataError
        If a cell is missing, or the table does not fit the network or is empty.
    TooLargeError
        If the network's decision graph, or the number of pairs to merge, is too large.

    Examples
    --------
    >>> import exactlearn as el
    >>> network, table = el.read_network("asia"), el.read_dataset("asia-mnar-complete")
    >>> least = network.log_likelihood(table) / table.n_rows
    >>> el.smallest_as_likely(network, table, least)
    DecisionGraph(variables=8, nodes=19, effective_size=38)
    """
    require_complete(
        dataset,
        "a graph as likely as its network needs",
        "`learn_hybrid` takes missing cells",
    )
    graph = compile_network(network, seed=seed)
    merges = data_merges(graph, dataset)
    first = log_likelihood(merges.merged(), dataset)
    merges.merge_until(loss=max(0.0, first - least) / total_weight(dataset))
    return shrunk_to(graph, merges.merged(), dataset, seed)[0]


def shrunk_to(
    original: DecisionGraph,
    graph: DecisionGraph,
    dataset: Dataset,
    seed: int = 0,
) -> tuple[DecisionGraph, SmoothingChoice]:
    """Return a graph with parameters of the rows shrunk to those of another graph.

    Parameters
    ----------
    original
        Gives the parameters that all others are shrunk to: the means of its nodes' over the rows
        that reach them and a node of the ``graph`` together.
    graph
        The structure, over the same forest.
    dataset
        The rows; with missing cells, parameters are fitted by EM.
    seed
        Of the folds.

    Returns
    -------
    graph, choice
        The graph, and how many pseudo-rows of the original predict held-out rows best.
    """
    start = populate(Reference.of_graph(original, 1.0), structure_of(graph)).graph
    choice = choose_graph_smoothing(start, dataset, prior="start", seed=seed)
    return refine(start, dataset, smoothing=choice.smoothing).model, choice


def data_merges(
    graph: DecisionGraph,
    dataset: Dataset,
) -> MergeSequence:
    """Return the merges of a graph without its unreached nodes, weighed by records.

    With missing cells, records count for what they are expected to reach under the graph. The
    parameters of all nodes are estimated from the records alone.

    Raises
    ------
    DataError
        If the table does not fit the graph, is empty, or a record is impossible under it.
    TooLargeError
        If some variable has too many nodes to compare.
    """
    require_weight(dataset, "merge by")
    small = collapse_unreached(graph, dataset)
    codes = aligned_codes(dataset, small.names, small.states)
    counts = expected_counts(small, codes, dataset.weights)
    # Each variable's counts add up to the weight of all records.
    per_record = small.n_variables / counts.sum()
    return MergeSequence(small, per_record * counts)


def collapse_unreached(
    pdg: DecisionGraph,
    dataset: Dataset,
    least: float = inf,
) -> DecisionGraph:
    """Return the graph without the nodes that no row reaches: edges lead to the most similar ones.

    A row with missing cells reaches the nodes that it can reach with positive probability.
    The most similar node of the same variable is the one under which the distribution of all that
    is below has the smallest Kullback-Leibler divergence.

    Parameters
    ----------
    dataset
        Rows, possibly with missing cells; matched by names.
    least
        A node also stays when the graph expects that many of the rows to reach it, or four times,
        sixteen times as many and so on where there would be too many pairs of nodes to compare.

    Raises
    ------
    DataError
        If the table does not fit the graph, or a row is impossible under it.
    TooLargeError
        If some variable has too many pairs of nodes to compare.
    """
    threshold = least
    stays = _staying_nodes(pdg, dataset, threshold)
    while (n_pairs := _n_pairs(stays)) > MOST_DIVERGENCES and threshold < inf:
        is_reached = threshold < total_weight(dataset)
        threshold = 4 * threshold if is_reached else inf
        stays = _staying_nodes(pdg, dataset, threshold)
    kept = {v: np.flatnonzero(stays[v]) for v in stays}
    if n_pairs > MOST_DIVERGENCES:
        raise TooLargeError(
            f"{n_pairs:,} pairs of a variable's nodes to compare, the limit is"
            f" {MOST_DIVERGENCES:,}: give a network of fewer parents"
        )
    parameters = {}
    successors = {}
    divergence: dict[int, NDArray[np.float64]] = {}
    nearest: dict[int, NDArray[np.int64]] = {}
    for v in reversed(pdg.order.tolist()):
        p = pdg.parameters_of(v)
        staying = kept[v]
        # Divergence of the distribution below each node from that below each staying one; a state
        # that is impossible below counts as one of the smallest probability there is.
        entropies = xlogy(p, p).sum(axis=1)
        divergences = entropies[:, None] - p @ np.log(p[staying] + TINY).T
        heads = np.empty((*p.shape, len(pdg.children[v])), np.int64)
        for place, child in enumerate(pdg.children[v]):
            edges = pdg.edges_into(child)
            heads[:, :, place] = nearest[child][edges]
            for x in range(p.shape[1]):
                pairs = np.ix_(edges[:, x], heads[staying, x, place])
                divergences += p[:, x, None] * divergence[child][pairs]
            del divergence[child]
        divergence[v] = divergences
        nearest[v] = divergences.argmin(axis=1)
        nearest[v][staying] = np.arange(len(staying))
        parameters[v] = p[staying]
        successors[v] = heads[staying]
    return assemble(pdg.names, pdg.states, pdg.forest, parameters, successors)


def _n_pairs(stays: Mapping[int, NDArray[np.bool_]]) -> int:
    """Return the most pairs, of a node that stays and any other one, of a variable."""
    return max(int(mask.sum()) * len(mask) for mask in stays.values())


def _staying_nodes(
    pdg: DecisionGraph,
    dataset: Dataset,
    min_expected: float,
) -> dict[int, NDArray[np.bool_]]:
    """Return for each variable which of its nodes stay, roots first, shape (nodes,).

    Those stay that some row reaches, or that the graph expects ``min_expected`` rows to reach, and
    to which an edge leads from a node that stays.
    """
    codes = aligned_codes(dataset, pdg.names, pdg.states)
    counts = pdg.with_parameters(expected_counts(pdg, codes, dataset.weights))
    total = total_weight(dataset)
    expected = pdg.with_parameters(node_probabilities(pdg, total))
    stays = {-1: np.ones(1, np.bool_)}  # above the roots
    for v in pdg.order.tolist():
        is_reached = counts.parameters_of(v).sum(axis=1) > 0
        is_expected = expected.parameters_of(v).sum(axis=1) >= min_expected
        parent = int(pdg.forest[v])
        heads = pdg.edges_into(v)[stays[parent]]
        has_edge = np.isin(np.arange(len(is_reached)), heads)
        stays[v] = (is_reached | is_expected) & has_edge
    del stays[-1]
    return stays
