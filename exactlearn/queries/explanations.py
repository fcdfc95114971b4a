"""Most probable configurations: of all variables (the k best), or of some with the others summed.

The first is one pass. The second is found by branch and bound over the states of the target
variables (Park and Darwiche 2003, "Solving MAP exactly using systematic search"), from the root of
the forest downwards. Lists and bounds: :mod:`exactlearn.pdg.inference.complete_rows`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import exp, inf, log, log2

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.data.labels import NamedVariables
from exactlearn.errors import OptionError, TooLargeError
from exactlearn.pdg.inference.complete_rows import best_rows, max_sum_bounds
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.evidence import Evidence, ModelLike, conditional
from exactlearn.queries.posteriors import MAX_JOINT, joint_posterior

MOST_BITS = 900.0
"""Largest logarithm to base two of the number of configurations that branch and bound goes over:
a probability as small as that is still a float."""


@dataclass(frozen=True)
class Explanation:
    """A configuration and how probable it is.

    Parameters
    ----------
    states
        State of each target variable.
    probability, log_probability
        Given the evidence.
    """

    states: dict[str, str]
    probability: float
    log_probability: float


@dataclass(frozen=True)
class MapAnswer:
    """The most probable configuration of some variables, or the best found.

    Parameters
    ----------
    best
        The configuration.
    bound
        No configuration is more probable than this; equals ``best.probability`` when proven.
    status
        ``"optimal"`` or ``"feasible"`` (the node limit was reached).
    nodes
        Partial configurations that were bounded.
    """

    best: Explanation
    bound: float
    status: str
    nodes: int


@checked_arguments()
def most_probable_explanations(
    model: ModelLike, evidence: Evidence | None = None, k: int = 1
) -> list[Explanation]:
    """Return the ``k`` most probable configurations of the variables without hard evidence.

    Parameters
    ----------
    model, evidence
        As for :func:`~exactlearn.queries.posteriors.query`; a network is compiled. Of a naive Bayes
        model the component is summed out, by branch and bound where there are more than a million
        configurations.
    k
        How many, at least 1; fewer come back when fewer are possible. Of equally probable ones
        those with lower states of the variables nearest to the root of the forest come first.

    Raises
    ------
    OptionError
        If a variable or state is unknown, or ``k`` is less than 1.
    DataError
        If the evidence has probability zero.
    TooLargeError
        If a network's decision graph would be too large; or for more than one configuration of
        more than a million of a naive Bayes model, or where branch and bound ends unproven.

    Examples
    --------
    >>> import exactlearn as el
    >>> best = el.most_probable_explanations(el.read_network("cancer"), {"Xray": "positive"}, k=2)
    >>> [(each.states["Cancer"], round(each.probability, 4)) for each in best]
    [('False', 0.4233), ('False', 0.1814)]
    """
    if k < 1:
        raise OptionError(f"{k} most probable explanations: ask for at least 1")
    graph, _ = conditional(model, evidence)
    hard = {name for name, value in (evidence or {}).items() if not isinstance(value, Mapping)}
    targets = [v for v, name in enumerate(model.names) if name not in hard]
    if isinstance(model, NaiveBayes):
        return _of_components(model, targets, evidence, k)
    rows, logs = best_rows(graph, k)
    return [
        _explanation(graph, targets, row, value)
        for row, value in zip(rows, logs.tolist(), strict=True)
    ]


@checked_arguments()
def most_probable_states(
    model: ModelLike,
    evidence: Evidence | None,
    targets: str | Sequence[str],
    *,
    node_limit: int = 1_000_000,
) -> MapAnswer:
    """Return the most probable configuration of some variables (MAP), the others summed out.

    Parameters
    ----------
    model, evidence
        As for :func:`~exactlearn.queries.posteriors.query`; a network is compiled.
    targets
        Target variables, each once, at least one.
    node_limit
        Most partial configurations to bound; when they are used up the best configuration found
        comes back with its bound.

    Raises
    ------
    OptionError
        If a variable or state is unknown, or a variable is named twice or none.
    DataError
        If the evidence has probability zero.
    TooLargeError
        If the configurations are too many to have probabilities in floats, or a network's
        decision graph would be too large.

    Examples
    --------
    >>> import exactlearn as el
    >>> asia = el.read_network("asia")
    >>> answer = el.queries.most_probable_states(asia, {"dysp": "yes"}, ["lung", "bronc"])
    >>> answer.best.states, round(answer.best.probability, 4), answer.status
    ({'lung': 'no', 'bronc': 'yes'}, 0.7689, 'optimal')
    """
    if not targets or len(set(targets)) < len(targets):
        raise OptionError("most probable states: name at least one variable, and each once")
    graph, _ = conditional(model, evidence)
    wanted = [graph.index(name) for name in targets]
    bits = float(np.log2(graph.cardinalities[wanted]).sum())
    if bits > MOST_BITS:
        raise TooLargeError(
            f"{len(wanted)} variables have 2^{bits:.0f} configurations, the limit is"
            f" 2^{MOST_BITS:.0f}: ask for fewer variables, or for the most probable explanation"
        )
    row, value, bound, nodes = _branch_and_bound(graph, wanted, node_limit)
    best = _explanation(graph, wanted, row, log(value))
    if bound <= value:
        return MapAnswer(best, best.probability, "optimal", nodes)
    return MapAnswer(best, bound, "feasible", nodes)


def _of_components(
    model: NaiveBayes, targets: Sequence[int], evidence: Evidence | None, k: int
) -> list[Explanation]:
    """Return the most probable configurations of a naive Bayes model, its component summed out."""
    names = [model.names[v] for v in targets]
    bits = float(np.log2(model.cardinalities[targets]).sum())
    if k == 1 and bits > log2(MAX_JOINT):
        found = most_probable_states(model, evidence, names)
        if found.status == "optimal":
            return [found.best]
        raise TooLargeError(
            f"the most probable configuration was not proven in {found.nodes:,} steps (it has at"
            f" most probability {found.bound:.3g}, found: {found.best.probability:.3g}): ask for"
            " that of fewer variables"
        )
    table = joint_posterior(model, evidence, names)
    best = np.argsort(-table, axis=None, kind="stable")[:k]
    rows = np.zeros((len(best), model.n_variables), np.int16)
    rows[:, list(targets)] = np.transpose(np.unravel_index(best, table.shape))
    probabilities = table.ravel()[best]
    return [
        _explanation(model, targets, row, log(value))
        for row, value in zip(rows, probabilities.tolist(), strict=True)
        if value > 0
    ]


def _branch_and_bound(
    graph: DecisionGraph, targets: Sequence[int], node_limit: int
) -> tuple[NDArray[np.int16], float, float, int]:
    """Decide variable after variable, the partial configuration with the best bound first.

    Of equal bounds the one with more decided comes first, so that the search dives. The first
    incumbent is what a dive without looking back finds.
    """
    order = [v for v in graph.order.tolist() if v in set(targets)]
    compared = np.zeros(graph.n_variables, np.bool_)
    compared[order] = True
    best, value, nodes = _dive(graph, order, compared)
    queue: list[tuple[float, int, int, NDArray[np.int16]]] = []
    heappush(queue, (-inf, 0, 0, np.full(graph.n_variables, -1, np.int16)))
    while queue and nodes < node_limit:
        bound, depth, _, row = heappop(queue)
        if -bound <= value:
            return best, value, value, nodes
        rows, bounds = _branches(graph, order[-depth], compared, row)
        for child, child_bound in zip(rows, bounds.tolist(), strict=True):
            nodes += 1
            if child_bound > value and 1 - depth == len(order):
                best, value = child, child_bound
            elif child_bound > value:
                heappush(queue, (-child_bound, depth - 1, nodes, child))
    return best, value, max([value, *(-entry[0] for entry in queue)]), nodes


def _dive(
    graph: DecisionGraph, order: Sequence[int], compared: NDArray[np.bool_]
) -> tuple[NDArray[np.int16], float, int]:
    """Give each variable in turn the state with the best bound."""
    row, value, nodes = np.full(graph.n_variables, -1, np.int16), 1.0, 0
    for v in order:
        rows, bounds = _branches(graph, v, compared, row)
        nodes += len(rows)
        row, value = rows[bounds.argmax()], float(bounds.max())
    return row, value, nodes


def _branches(
    graph: DecisionGraph, v: int, compared: NDArray[np.bool_], row: NDArray[np.int16]
) -> tuple[NDArray[np.int16], NDArray[np.float64]]:
    """Return the row with each state of a variable, and the bounds."""
    rows = np.repeat(row[None], int(graph.cardinalities[v]), axis=0)
    rows[:, v] = np.arange(len(rows))
    bounds = np.empty(len(rows))
    max_sum_bounds(graph.layout, graph.parameters, rows, compared, bounds)
    return rows, bounds


def _explanation(
    graph: NamedVariables, targets: Sequence[int], row: NDArray[np.int16], value: float
) -> Explanation:
    states = {graph.names[v]: graph.states[v][row[v]] for v in targets}
    return Explanation(states, min(1.0, exp(value)), value)
