"""Most probable configurations: of all variables (the k best), or of some with the others summed.

The first is one pass. The second is found by branch and bound over the states of the target
variables (Park and Darwiche 2003, "Solving MAP exactly using systematic search"), from the root of
the forest downwards. Lists and bounds: :mod:`exactlearn.pdg.inference.flows`; theorem *Best
configurations*, docs/theory/decision_graphs.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import exp, inf

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.answers import Evidence
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.data.codes import MISSING, NamedVariables
from exactlearn.errors import OptionError, TooLargeError
from exactlearn.pdg.inference.block_flows import expect
from exactlearn.pdg.inference.flows import best_rows
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.posteriors import ModelLike, conditional

MAX_BITS = 900.0
"""Largest logarithm to base two of the number of configurations that branch and bound goes over:
a probability as small as that is still a float."""

NODE_LIMIT = 1_000_000
"""Most partial configurations that branch and bound bounds."""

LOG_DIGITS = 12
"""Decimals of log-probabilities that are compared: those that differ by less are equal."""


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


@checked_arguments()
def most_probable_explanations(
    model: ModelLike,
    evidence: Evidence | None = None,
    k: int = 1,
    *,
    targets: str | Sequence[str] | None = None,
) -> list[Explanation]:
    """Return the ``k`` most probable configurations of the variables without evidence, or of some.

    Parameters
    ----------
    model, evidence
        As for :func:`~exactlearn.queries.posteriors.query`; a network is compiled. Of a naive Bayes
        model the component is summed out, by branch and bound.
    k
        How many, at least 1; fewer come back when fewer are possible. Of equally probable ones
        those with lower states of the variables nearest to the root of the forest come first.
    targets
        The variables whose states together are wanted (MAP), the others summed out; by default all
        variables without evidence.

    Raises
    ------
    OptionError
        If a variable or state is unknown, ``k`` is less than 1, or a target is named twice or none.
    DataError
        If the evidence has probability zero.
    TooLargeError
        If a network's decision graph would be too large, where branch and bound ends unproven, or
        the configurations of the targets are too many to have probabilities in floats.

    Examples
    --------
    >>> import exactlearn as el
    >>> best = el.most_probable_explanations(el.read_network("cancer"), {"Xray": "positive"}, k=2)
    >>> [(each.states["Cancer"], round(each.probability, 4)) for each in best]
    [('False', 0.4233), ('False', 0.1814)]
    """
    if targets is not None and (not targets or len(set(targets)) < len(targets)):
        raise OptionError(
            "most probable states: name at least one variable, and each once"
        )
    graph = conditional(model, evidence)
    if targets is not None:
        return _most_probable(graph, [graph.index(name) for name in targets], k)
    observed = evidence or {}
    unobserved = [v for v, name in enumerate(model.names) if name not in observed]
    if isinstance(model, NaiveBayes):
        return _branch_and_bound(graph, unobserved, k)
    # All variables: one pass over the graph.
    best = zip(*best_rows(graph, k), strict=True)
    return [_explanation(graph, unobserved, row, float(value)) for row, value in best]


@checked_arguments()
def most_probable_states(
    model: ModelLike,
    evidence: Evidence | None,
    targets: str | Sequence[str],
) -> Explanation:
    """Return the most probable configuration of some variables (MAP), the others summed out.

    Parameters
    ----------
    model, evidence
        As for :func:`~exactlearn.queries.posteriors.query`; a network is compiled.
    targets
        Target variables, each once, at least one.

    Raises
    ------
    OptionError
        If a variable or state is unknown, or a variable is named twice or none.
    DataError
        If the evidence has probability zero.
    TooLargeError
        If the configurations are too many to have probabilities in floats, branch and bound ends
        unproven, or a network's decision graph would be too large.

    Examples
    --------
    >>> import exactlearn as el
    >>> asia = el.read_network("asia")
    >>> best = el.queries.most_probable_states(asia, {"dysp": "yes"}, ["lung", "bronc"])
    >>> best.states, round(best.probability, 4)
    ({'lung': 'no', 'bronc': 'yes'}, 0.7689)
    """
    return most_probable_explanations(model, evidence, targets=targets)[0]


def _most_probable(
    graph: DecisionGraph,
    targets: Sequence[int],
    k: int,
) -> list[Explanation]:
    """Return the ``k`` most probable configurations of some variables, if not too many."""
    # The probability of one of so many configurations must be a float.
    cardinalities = graph.cardinalities[list(targets)]
    bits = float(np.log2(cardinalities).sum())
    if bits > MAX_BITS:
        raise TooLargeError(
            f"{len(targets)} variables have 2^{bits:.0f} configurations, the limit is"
            f" 2^{MAX_BITS:.0f}: ask for fewer variables, or for the most probable explanation"
        )
    return _branch_and_bound(graph, targets, k)


def _branch_and_bound(
    graph: DecisionGraph,
    targets: Sequence[int],
    k: int,
) -> list[Explanation]:
    """Return the ``k`` most probable configurations of some variables, the others summed out.

    Variable after variable is decided, the partial configuration with the best bound first; of
    equal bounds the one with lower states of the variables decided first.
    """
    order = [v for v in graph.order.tolist() if v in set(targets)]
    is_maximised = np.isin(np.arange(graph.n_variables), order)
    best: list[Explanation] = []
    nodes = 0
    # Minus the rounded bound on the log-probability, the states of the first variables, the bound.
    queue: list[tuple[float, tuple[int, ...], float]] = [(0.0, (), 0.0)]
    while queue and len(best) < k and nodes < NODE_LIMIT:
        _, states, bound = heappop(queue)
        depth = len(states)
        # A whole configuration has its probability as its bound: none that is left has more.
        if depth == len(order):
            row = np.full(graph.n_variables, MISSING, np.int16)
            row[order] = states
            best.append(_explanation(graph, targets, row, bound))
            continue
        # Branch on the states of the next variable, and bound each branch.
        v = order[depth]
        cardinality = int(graph.cardinalities[v])
        rows = np.full((cardinality, graph.n_variables), MISSING, np.int16)
        rows[:, order[:depth]] = states
        rows[:, v] = range(cardinality)
        bounds = expect(graph.layout, graph.parameters, rows, maximised=is_maximised)
        # Bounds that differ by rounding only are equal.
        for state, bound in enumerate(bounds.tolist()):
            if bound > -inf:
                rank = -round(bound, LOG_DIGITS)
                heappush(queue, (rank, (*states, state), bound))
        nodes += cardinality
    if len(best) < k and queue:
        raise TooLargeError(
            f"{len(best)} of the {k} most probable configurations were proven in {nodes:,}"
            " steps: ask for those of fewer variables, or of a naive Bayes model's decision graph,"
            " which has the component as a variable"
        )
    return best


def _explanation(
    graph: NamedVariables,
    targets: Sequence[int],
    row: NDArray[np.int16],
    value: float,
) -> Explanation:
    """Return the targets' states in a row of codes with a log-probability."""
    states = {graph.names[v]: graph.states[v][row[v]] for v in targets}
    # Rounding may leave a probability just above 1.
    return Explanation(
        states=states,
        probability=min(1.0, exp(value)),
        log_probability=value,
    )
