"""Structural EM for decision graphs (PDG-SEM, Algorithm 1).

An iteration fits the parameters by EM, takes the expected counts of all edges in one pass, and
improves the expected score

    Q = (1-lambda) E[L] - lambda size        (PDG-SEM, equation 8)

by splits from the roots down and merges from the leaves up (equations 13 and 15). Neither Q nor the
score of the observed cells falls (theorem *Splits and merges by counts*,
docs/theory/decision_graphs.md), which is monitored. The search ends when no split or merge gains.

The forest is that of Chow and Liu from the mutual information of pairs by EM (Algorithm 2), a
tree as in the paper or, by default, a forest that leaves out edges which do not pay for their
parameters. The first parameters are those of the pairs, where the paper draws them.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from exactlearn._runtime.argument_kinds import one_of
from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.ascent import ascend
from exactlearn.bayesnet.complete_data import check_smoothing
from exactlearn.bayesnet.network import draw
from exactlearn.data.counts import bic_size_weight
from exactlearn.data.dataset import Dataset, DatasetLike, require_weight
from exactlearn.errors import DataError, OptionError, as_written
from exactlearn.pdg.inference.flows import (
    log_likelihood_rows,
    posteriors,
    refuse_impossible,
)
from exactlearn.pdg.learn.edge_counts import (
    EdgeTables,
    LearnedGraph,
    OnModel,
    Size,
    StructureScore,
    expected_edge_counts,
    improved_by_counts,
    merged_rows,
)
from exactlearn.pdg.learn.parameters import (
    node_counts,
    refine,
    smoothed_by_em,
    smoothed_once,
)
from exactlearn.pdg.learn.starts import chow_liu_forest, markov_forest, network_start
from exactlearn.pdg.model.decision_graph import DecisionGraph, as_graph
from exactlearn.pdg.model.forest import checked_forest

Estimator = Literal["em", "available", "complete"]
"""Parameters by EM, from available cases (ACA), or from complete cases only, rows without missing
cells (CCA)."""

ROUNDS = 3
"""Most networks that are learned."""

ITERATIONS = 100
"""Most iterations (PDG-SEM, section 6)."""

EM_ITERATIONS = 10
"""Most iterations of EM for parameters in each iteration (PDG-SEM, section 6)."""


@dataclass(frozen=True, eq=False, repr=False)
class StructuralEMGraph(
    LearnedGraph, shown="graph size_weight size score converged finished"
):
    """A decision graph learned by structural EM.

    Parameters
    ----------
    graph
        The model, its parameters fitted a last time and smoothed.
    size_weight, size, score, log_likelihood
        As of the last of the ``models``.
    models
        The first model and that after each iteration, not smoothed.
    converged
        Whether no split or merge gained at the end.
    finished
        Whether neither limit nor interrupt cut the search short.
    """

    models: tuple[LearnedGraph, ...]
    converged: bool
    finished: bool


class StructuralEMState(NamedTuple):
    """A model with fitted parameters after so many changes of the structure, and its counts.

    The objective, which no iteration lowers, is the score, or the iteration where parameters are
    not those of EM.
    """

    iteration: int
    model: LearnedGraph
    tables: EdgeTables
    objective: float


@checked_arguments(start=as_graph, parameters=one_of(get_args(Estimator)))
def structural_em_graph(
    dataset: DatasetLike,
    *,
    parameters: Estimator = "em",
    forest: Literal["forest", "tree"] | ArrayLike = "forest",
    start: DecisionGraph | None = None,
    size_weight: float | None = None,
    size: Size = "effective",
    smoothing: float = 1.0,
    iterations: int = ITERATIONS,
    time_limit: float | None = None,
    on_model: OnModel | None = None,
) -> StructuralEMGraph:
    """Learn a decision graph from rows with missing cells (PDG-SEM, Algorithm 1).

    Parameters
    ----------
    dataset
        Rows, possibly with missing cells and weights.
    parameters
        ``em``, or ``available`` or ``complete`` in its place in line 5 of the algorithm: the
        parameters are those of the available or complete cases with ``smoothing``, while the
        structure changes by the expected counts under them. Then nothing is monitored.
    forest
        ``forest`` or ``tree`` of largest mutual information, or the parent of each variable, -1
        for a root.
    start
        The graph to start from in place of that of a forest, such as that of a learned network,
        over the table's variables, in any order; every row must be possible under it.
    size_weight
        Weight of the size in the score; left out, that of BIC.
    size
        ``effective`` or ``representational``; the paper counts free parameters.
    smoothing
        Pseudo-count of every parameter of the result, as in the paper's experiments.
    iterations
        Most changes of the structure.
    time_limit
        Seconds after which no other one is made.
    on_model
        Called with the first model and that after each iteration.

    Returns
    -------
    StructuralEMGraph
        The last model, also after a limit or an interrupt.

    Raises
    ------
    DataError
        If there are no rows, none is complete with ``parameters="complete"``, a row is impossible
        under the start, or the forest does not fit the table.
    OptionError
        If an option is wrong, or the start has other variables or states.
    CheckError
        If a score falls by more than rounding.

    Examples
    --------
    >>> rows = np.array([[0, 0], [1, 1], [0, -1], [-1, 1]] * 20)
    >>> found = structural_em_graph(Dataset(rows, ("a", "b"), (("n", "y"),) * 2))
    >>> found.converged, found.graph.effective_size
    (True, 6)
    """
    check_smoothing(smoothing)
    weight = require_weight(dataset)
    if size_weight is None:
        size_weight = bic_size_weight(weight)
    score = StructureScore(size_weight, size)
    rows = merged_rows(dataset)
    # The start: a Markov forest, or a given graph, under which every row must be
    # possible.
    if start is None:
        start = _first_graph(forest, rows, score)
    else:
        start = start.reordered(rows)
        refuse_impossible(log_likelihood_rows(start, dataset.codes), dataset.lines)
    # Complete rows only count the parameters; the structure changes by all rows.
    cases = rows.part(rows.complete_rows) if parameters == "complete" else rows
    if cases.n_rows == 0:
        raise DataError(
            "no row is complete: use the available cases of each node"
            f" ({as_written('parameters', 'available')}) or EM ({as_written('parameters', 'em')})"
        )
    is_em = parameters == "em"
    models: list[LearnedGraph] = []
    with SearchControl.within(time_limit).running() as control:

        def fitted(iteration: int, graph: DecisionGraph) -> StructuralEMState:
            """Fit parameters (Algorithm 1, line 5), and count."""
            if is_em:
                graph = refine(
                    graph,
                    rows,
                    iterations=EM_ITERATIONS,
                    smoothing=0.0,
                    time_limit=control.remaining,
                ).model
            else:
                graph = graph.with_counts(node_counts(graph, cases) + smoothing)
            tables, likelihood = expected_edge_counts(graph, rows)
            model = score.learned(graph, likelihood)
            objective = model.score if is_em else float(iteration)
            return StructuralEMState(iteration, model, tables, objective)

        def step(state: StructuralEMState) -> StructuralEMState | None:
            """Split and merge nodes (Algorithm 1, line 6), and fit anew."""
            changed = improved_by_counts(state.model.graph, state.tables, score)
            return None if changed is None else fitted(state.iteration + 1, changed[0])

        def report(state: StructuralEMState) -> None:
            models.append(state.model)
            if on_model is not None:
                on_model(state.model, partial(smoothed, state.model.graph))

        def smoothed(graph: DecisionGraph) -> DecisionGraph:
            return smoothed_once(graph, rows, smoothing) if is_em else graph

        # The rounds of both steps; with EM the objective is the score, which must not
        # fall.
        last, converged = ascend(
            fitted(0, start),
            step,
            iterations=iterations,
            on_iteration=report,
            control=control,
        )
        finished = converged or not control.is_over
        # Pseudo-counts come last, so that they do not disturb the ascent.
        graph = last.model.graph
        if is_em:
            graph = smoothed_by_em(graph, rows, smoothing, control.remaining)
    fields = vars(last.model) | {"graph": graph}
    return StructuralEMGraph(
        **fields,
        models=tuple(models),
        converged=converged,
        finished=finished,
    )


def _first_graph(
    forest: Literal["forest", "tree"] | ArrayLike,
    rows: Dataset,
    score: StructureScore,
) -> DecisionGraph:
    """Return the graph over a forest of largest mutual information, or one that is given."""
    if not isinstance(forest, str):
        return markov_forest(rows, checked_forest(forest, rows.n_variables))
    if forest not in ("forest", "tree"):
        raise OptionError(f"forest {forest!r}: give 'forest', 'tree' or parents")
    rate = score.rate if forest == "forest" and score.size_weight < 1 else None
    return markov_forest(rows, chow_liu_forest(rows, rate))


def structural_em_rounds(
    dataset: Dataset,
    *,
    seed: int = 0,
    **options: Any,
) -> StructuralEMGraph:
    """Return the best model of structural EM from a forest, a tree and networks.

    In a tree a variable depends on two others through chains of nodes only. So the missing cells
    are drawn from their posteriors under the best model; a network is learned from that table; and
    structural EM starts again from the network's graph, on the incomplete table. Rounds end when
    the score no longer rises.

    Parameters
    ----------
    dataset
        As for `structural_em_graph`, and so are other ``options``.
    seed
        Of the drawn cells, and of the searches for networks.

    Returns
    -------
    StructuralEMGraph
        The best model, also after the search around this one is over.
    """
    rng = np.random.default_rng(seed)
    with SearchControl.within().running() as control:
        best = structural_em_graph(dataset, **options)
        # An edge that does not pay for all its parameters may pay once nodes are merged: a tree.
        if not control.is_over:
            tree = structural_em_graph(dataset, forest="tree", **options)
            best = _better(best, tree)
        for _ in range(ROUNDS):
            if control.is_over:
                break
            completed = drawn_completion(best.graph, dataset, rng)
            start = network_start(completed, best.size_weight, seed)
            model = structural_em_graph(dataset, start=start, **options)
            has_risen = model.score > best.score
            best = _better(best, model)
            if not has_risen:
                break
        return replace(best, finished=best.finished and not control.is_over)


def _better(best: StructuralEMGraph, model: StructuralEMGraph) -> StructuralEMGraph:
    """Return the model of the higher score, finished if the last search is."""
    if model.score > best.score:
        return model
    return replace(best, finished=model.finished)


def drawn_completion(
    graph: DecisionGraph,
    dataset: Dataset,
    rng: np.random.Generator,
) -> Dataset:
    """Return a table whose missing cells are drawn, each by the cell's posterior distribution."""
    first_states = np.cumsum(dataset.cardinalities)[:-1]
    marginals = np.split(posteriors(graph, dataset.codes), first_states, axis=1)
    codes = dataset.codes.astype(np.int16)
    for v, posterior in enumerate(marginals):
        rows = np.flatnonzero(codes[:, v] < 0)
        states = np.empty(len(rows), np.int16)
        cumulative = posterior[rows].cumsum(axis=1)
        draw(
            cumulative,
            np.arange(len(rows)),
            rng.random(len(rows)),
            states,
        )
        codes[rows, v] = states
    return Dataset(codes, dataset.names, dataset.states, dataset.weights)
