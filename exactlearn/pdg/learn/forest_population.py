"""Learning of decision graphs from complete data: a population of forests, pruned along lambda.

THESIS, Algorithm 4.6. Forests are grown by tests at several significance levels; to these come
the forest of largest mutual information and those of networks learnt from the rows, which the
tests of single pairs do not find. A short search over each forest tells, by BIC, which half of
them is better; for each lambda, the largest first, a graph is learnt over these, starting from
that of the lambda before, and the best one is kept. After each lambda up to that of BIC the worse
half goes: larger ones would keep the forests that tell nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from exactlearn._runtime.arguments import as_graphs, checked_arguments
from exactlearn._runtime.interrupts import interruptible
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError
from exactlearn.pdg.learn.learning import LearntGraph
from exactlearn.pdg.learn.network_starts import MAX_PARENTS
from exactlearn.pdg.learn.population import CompleteRows
from exactlearn.pdg.learn.smoothing import check_alpha, tuned_smoothing
from exactlearn.pdg.learn.successive_halving import ForestContest, OnProgress
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.pdg.model.structure_score import Size, StructureScore, bic_lambda

SIGNIFICANCES = (0.001, 0.01, 0.1, 0.3, 1.0)
"""Levels of the tests that forests are grown by; with the last one every tree is a chain."""


@dataclass(frozen=True)
class LearntGraphs:
    """The best graph found for each lambda.

    Parameters
    ----------
    models
        One for each lambda, in falling order.
    finished
        Whether an interrupt did not cut the search short.
    """

    models: tuple[LearntGraph, ...]
    finished: bool


@checked_arguments(starts=as_graphs)
def learn_pdg(
    dataset: Dataset,
    *,
    lambdas: Sequence[float] | None = None,
    size: Size = "effective",
    significances: Sequence[float] = SIGNIFICANCES,
    max_parents: int = MAX_PARENTS,
    starts: Sequence[DecisionGraph] = (),
    alpha: float | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> LearntGraphs:
    """Learn decision graphs with their forests from complete data (THESIS, Algorithm 4.6).

    Parameters
    ----------
    dataset
        Complete data, possibly weighted.
    lambdas
        Weights of the size in the score, from 0 to 1; left out, that of BIC.
    size
        ``effective`` or ``representational``.
    significances
        Levels of the tests, a forest for each; a level may stand several times.
    max_parents
        Of the networks that are learnt with the largest and the smallest lambda, whose graphs
        join the ``starts``; 0 for none.
    starts
        Decision graphs over the table's variables, such as that of a learnt network: their
        forests join the population, and their structures are searched from too.
    alpha
        Pseudo-count of every parameter; left out, tuned by cross-validation.
    seed
        Of the draws of the variables that branches begin with, and of the folds.
    on_progress
        Called after each forest.

    Returns
    -------
    LearntGraphs
        An interrupt after the first graph ends the search with what there is.

    Raises
    ------
    DataError
        If a cell is missing, there are no rows, or a start has other variables or states.
    OptionError
        If a lambda, a significance, the size or ``alpha`` is wrong.
    """
    rows = CompleteRows.of(dataset)
    given = [bic_lambda(rows.total_weight)] if lambdas is None else lambdas
    scores = [StructureScore(x, size) for x in sorted(given, reverse=True)]
    if not scores:
        raise OptionError("no lambda was given: give one at least, or leave them out for BIC")
    if not all(0 <= t <= 1 for t in significances):
        raise OptionError(f"significances {list(significances)} must be from 0 to 1")
    if alpha is not None:
        check_alpha(alpha)
    for graph in starts:
        if (graph.names, graph.states) != (dataset.names, dataset.states):
            raise DataError("a start has other variables or states than the table: align them")
    search = ForestContest(dataset, rows, size, seed, on_progress)
    finished = True
    try:
        with interruptible():
            search.grow(starts, significances, max_parents, scores)
            search.screen()
            for score in scores:
                search.learn(score)
    except KeyboardInterrupt:
        if search.screened is None:
            raise
        finished = False
    learnt = search.models or ([] if search.screened is None else [search.screened])
    return LearntGraphs(tuple(_smoothed(m, dataset, alpha, seed) for m in learnt), finished)


def _smoothed(model: LearntGraph, dataset: Dataset, alpha: float | None, seed: int) -> LearntGraph:
    tuned = tuned_smoothing(model.graph, dataset, alpha=alpha, seed=seed)
    return replace(model, graph=tuned.graph)
