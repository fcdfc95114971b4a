"""Most probable configurations: of all variables (the k best), or of some with the others summed.

The first is one pass. The second is found by branch and bound over the states of the target
variables (Park and Darwiche 2003, "Solving MAP exactly using systematic search"), from the root of
the forest downwards. Lists and bounds: :mod:`exactlearn.pdg.inference.complete_rows`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import islice
from math import exp, log
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.data.codes import NamedVariables
from exactlearn.errors import OptionError, TooLargeError
from exactlearn.pdg.inference.complete_rows import best_rows
from exactlearn.pdg.inference.passes import expect
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.evidence import Evidence, ModelLike, conditional

MOST_BITS = 900.0
"""Largest logarithm to base two of the number of configurations that branch and bound goes over:
a probability as small as that is still a float."""

NODE_LIMIT = 1_000_000
"""Most partial configurations that branch and bound bounds unless asked."""


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
        model the component is summed out, by branch and bound.
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
        If a network's decision graph would be too large, or where branch and bound ends unproven.

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
    if not isinstance(model, NaiveBayes):
        found = zip(*best_rows(graph, k), strict=True)
        return [_explanation(graph, targets, row, float(value)) for row, value in found]
    search = _BestFirst(graph, targets, NODE_LIMIT)
    best = [_explanation(graph, targets, row, log(value)) for row, value in islice(search, k)]
    if len(best) < k and search.open:
        raise TooLargeError(
            f"{len(best)} of the {k} most probable configurations were proven in {search.nodes:,}"
            " steps: ask for those of fewer variables, or of a naive Bayes model's decision graph,"
            " which has the component as a variable"
        )
    return best


@checked_arguments()
def most_probable_states(
    model: ModelLike,
    evidence: Evidence | None,
    targets: str | Sequence[str],
    *,
    node_limit: int = NODE_LIMIT,
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
    search = _BestFirst(graph, wanted, node_limit)
    proven = next(iter(search), None)
    row, value, bound = (*proven, 0.0) if proven else search.dive()
    best = _explanation(graph, wanted, row, log(value))
    status = "feasible" if bound > value else "optimal"
    return MapAnswer(best, max(bound, best.probability), status, search.nodes)


class _BestFirst:
    """Configurations of some variables from the most probable one on, by branch and bound.

    Variable after variable is decided, the partial configuration with the best bound first; of
    equal bounds the one with more decided.

    Parameters
    ----------
    graph
        Decision graph, in which the other variables are summed out.
    targets
        The variables.
    node_limit
        Most partial configurations that are bounded.
    """

    def __init__(self, graph: DecisionGraph, targets: Sequence[int], node_limit: int) -> None:
        self.graph, self.node_limit, self.nodes = graph, node_limit, 0
        self.order = [v for v in graph.order.tolist() if v in set(targets)]
        self.compared = np.isin(np.arange(graph.n_variables), self.order)
        self.open = [(-1.0, 0, 0, np.full(graph.n_variables, -1, np.int16))]

    def __iter__(self) -> Iterator[tuple[NDArray[np.int16], float]]:
        """Yield configurations with their probabilities until the limit is reached."""
        while self.open and self.nodes < self.node_limit:
            bound, depth, _, row = heappop(self.open)
            if -depth == len(self.order):
                yield row, -bound
                continue
            for child, child_bound in self._branches(row, -depth):
                if child_bound > 0:
                    heappush(self.open, (-child_bound, depth - 1, self.nodes, child))

    def dive(self) -> tuple[NDArray[np.int16], float, float]:
        """Return a configuration, its probability, and a bound on that of all others."""
        bound, depth, _, row = self.open[0]
        value = -bound
        for place in range(-depth, len(self.order)):
            row, value = max(self._branches(row, place), key=itemgetter(1))
        return row, value, -bound

    def _branches(
        self, row: NDArray[np.int16], place: int
    ) -> Iterator[tuple[NDArray[np.int16], float]]:
        """Return the row with each state of the variable at a place, and the bounds."""
        v = self.order[place]
        rows = np.repeat(row[None], int(self.graph.cardinalities[v]), axis=0)
        rows[:, v] = np.arange(len(rows))
        logs = expect(self.graph.layout, self.graph.parameters, rows, maximised=self.compared)
        self.nodes += len(rows)
        return zip(rows, np.exp(logs).tolist(), strict=True)


def _explanation(
    graph: NamedVariables, targets: Sequence[int], row: NDArray[np.int16], value: float
) -> Explanation:
    states = {graph.names[v]: graph.states[v][row[v]] for v in targets}
    return Explanation(states, min(1.0, exp(value)), value)
