"""Learning of decision graphs from complete data: a search over a few forests, for each lambda.

THESIS, Algorithm 4.6. The forests are those of networks learned from the rows, and one chain, in
which a variable may depend on all before it: a relation of many variables, such as parity, shows in
no pair of them. For each lambda, the largest first, a graph is learned over each forest, starting
from those of all larger lambdas as well, and the best graph is kept. The forest that the thesis
grows by tests of independence (:mod:`~exactlearn.pdg.learn.forest_growth`) is one more where a
significance is given. The forest of largest mutual information led to the same graphs on ASIA,
CHILD, ALARM and INSURANCE, 500 and 1,000 rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.complete_data import check_smoothing
from exactlearn.data.counts import bic_size_weight
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import OptionError
from exactlearn.pdg.learn.edge_counts import (
    LearnedGraph,
    LearnedGraphs,
    OnModel,
    Size,
    StructureScore,
    Successors,
    structure_of,
)
from exactlearn.pdg.learn.forest_growth import grown_forest
from exactlearn.pdg.learn.parameters import tuned_smoothing
from exactlearn.pdg.learn.redirections import PopulatedGraph
from exactlearn.pdg.learn.starts import network_start
from exactlearn.pdg.learn.structure_search import (
    best_improved,
    complete_rows,
    first_structures,
)
from exactlearn.pdg.model.decision_graph import DecisionGraph, as_graph
from exactlearn.scoring.scores import total_weight


@checked_arguments(start=as_graph)
def learn_direct(
    dataset: DatasetLike,
    *,
    size_weights: Sequence[float] | None = None,
    size: Size = "effective",
    start: DecisionGraph | None = None,
    significance: float | None = None,
    smoothing: float | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    on_model: OnModel | None = None,
) -> LearnedGraphs:
    """Learn decision graphs with their forests from complete data (THESIS, Algorithm 4.6).

    Parameters
    ----------
    dataset
        Complete data, possibly weighted.
    size_weights
        Weights of the size in the score, from 0 to 1; left out, that of BIC.
    size
        ``effective`` or ``representational``.
    start
        A decision graph over the table's variables, in any order: the search goes over its
        forest too, and starts from its structure.
    significance
        Level of the tests of independence by which a forest is grown (THESIS, Algorithms 4.11 and
        4.12) that the search goes over, too, from 0 to 1; left out, none is grown. It seldom helps:
        with shuffled columns it raised the score of 2 of 8 tables of Logic3 (THESIS, 4.5.2; 2,000
        rows) by 5 and 9 nats, and of Logic1, parity, ASIA and SURVEY by less than 1; on SACHS,
        CHILD, ALARM and a random graph it scored 44 to 1,400 nats below the forest of a network.
    smoothing
        Pseudo-count of every parameter; left out, tuned by cross-validation.
    seed
        Of the searches for networks, of the roots of the forest that is grown, and of the folds.
    time_limit
        Seconds for the search; the pseudo-counts that are chosen after it take no limit.
    on_model
        Called with the best model so far of a weight after each forest.

    Returns
    -------
    LearnedGraphs
        In falling order of the weights; a limit or an interrupt ends the search with what there is.

    Raises
    ------
    DataError
        If a cell is missing, or there are no rows.
    OptionError
        If the start has other variables or states, or a size weight, the size, ``significance`` or
        ``smoothing`` is wrong.

    Examples
    --------
    >>> import exactlearn as el
    >>> found = el.learn_direct(el.read_dataset("cancer-mcar-complete"), size_weights=[0.1])
    >>> found.models[0].graph
    DecisionGraph(variables=5, nodes=12, effective_size=24)
    """
    rows = complete_rows(dataset)
    if size_weights is None:
        size_weights = [bic_size_weight(total_weight(rows))]
    scores = [StructureScore(x, size) for x in sorted(size_weights, reverse=True)]
    if not scores:
        raise OptionError(
            "no size_weight was given: give one at least, or leave them out for BIC"
        )
    check_smoothing(smoothing)
    reported_smoothing = 1.0 if smoothing is None else smoothing
    models: list[LearnedGraph] = []
    with SearchControl.within(time_limit).running() as control:
        structures = _start_structures(
            rows,
            dataset,
            start,
            scores,
            significance,
            seed,
            control,
        )
        # One model for each weight, the best over all forests; the first one is always found.
        for score in scores:
            if models and control.is_over:
                break
            candidates: list[LearnedGraph] = []
            for populated in _improved(rows, score, structures, control):
                candidates.append(
                    score.learned(populated.graph, populated.log_likelihood)
                )
                best = max(candidates, key=lambda model: model.score)
                if on_model is not None:
                    smoothed = partial(
                        tuned_smoothing,
                        best.graph,
                        dataset,
                        smoothing=reported_smoothing,
                    )
                    on_model(best, smoothed)
            models.append(best)
        # Pseudo-counts are tuned for the chosen models alone.
        finished = not control.is_over
        for k, model in enumerate(models):
            graph = tuned_smoothing(
                model.graph,
                dataset,
                smoothing=smoothing,
                seed=seed,
            )
            models[k] = replace(model, graph=graph)
    return LearnedGraphs(tuple(models), finished)


def _start_structures(
    rows: Dataset,
    dataset: Dataset,
    start: DecisionGraph | None,
    scores: Sequence[StructureScore],
    significance: float | None,
    seed: int,
    control: SearchControl,
) -> dict[bytes, list[Successors]]:
    """Return the structures to start from over each forest that the search goes over."""
    # Graphs to start from: the given one, and those of networks.
    graphs = [] if start is None else [start.reordered(dataset)]
    extremes = sorted({scores[0].size_weight, scores[-1].size_weight})
    for size_weight in extremes:
        if not control.is_over:
            graphs.append(network_start(dataset, size_weight, seed))
    # Their forests, the chain, and the forest that is grown.
    forests = [graph.forest for graph in graphs]
    forests.append(np.arange(-1, rows.n_variables - 1, dtype=np.int32))
    if significance is not None:
        rng = np.random.default_rng(seed)
        forests.append(grown_forest(rows, significance, scores[0], rng, control))
    # The first structures over each different forest, and those of the graphs over theirs.
    structures: dict[bytes, list[Successors]] = {}
    for forest in forests:
        if forest.tobytes() not in structures:
            structures[forest.tobytes()] = first_structures(rows, forest)
    for graph in graphs:
        structures[graph.forest.tobytes()].append(structure_of(graph))
    return structures


def _improved(
    rows: Dataset,
    score: StructureScore,
    structures: dict[bytes, list[Successors]],
    control: SearchControl,
) -> Iterator[PopulatedGraph]:
    """Yield the best graph found over each forest, and add it to that forest's starts."""
    for k, (forest, starts) in enumerate(structures.items()):
        if k > 0 and control.is_over:
            break
        parents = np.frombuffer(forest, np.int32)
        populated = best_improved(rows, parents, score, starts, control)
        starts.append(structure_of(populated.graph))
        yield populated
