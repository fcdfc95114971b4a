"""Most probable configurations: of all variables (the k best), or of some with the others summed.

The first is one pass. The second is found by branch and bound over the states of the target
variables (Park and Darwiche 2003, "Solving MAP exactly using systematic search"), from the root of
the forest downwards. Lists and bounds: :mod:`exactlearn.pdg.inference.flows`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import islice
from math import exp, inf

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.data.codes import NamedVariables
from exactlearn.errors import OptionError, TooLargeError
from exactlearn.pdg.inference.block_flows import expect
from exactlearn.pdg.inference.flows import best_rows
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.posteriors import Evidence, ModelLike, conditional

MOST_BITS = 900.0
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
    unobserved = [
        v for v, name in enumerate(model.names) if name not in (evidence or {})
    ]
    if isinstance(model, NaiveBayes):
        return _best_of(graph, unobserved, k)
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
    graph: DecisionGraph, targets: Sequence[int], k: int
) -> list[Explanation]:
    """Return the ``k`` most probable configurations of some variables, if not too many."""
    bits = float(np.log2(graph.cardinalities[list(targets)]).sum())
    if bits > MOST_BITS:
        raise TooLargeError(
            f"{len(targets)} variables have 2^{bits:.0f} configurations, the limit is"
            f" 2^{MOST_BITS:.0f}: ask for fewer variables, or for the most probable explanation"
        )
    return _best_of(graph, targets, k)


def _best_of(graph: DecisionGraph, targets: Sequence[int], k: int) -> list[Explanation]:
    """Return the ``k`` most probable configurations of some variables, by branch and bound."""
    search = _BestFirst(graph, targets)
    best = [
        _explanation(graph, targets, row, value) for row, value in islice(search, k)
    ]
    if len(best) < k and search.queue:
        raise TooLargeError(
            f"{len(best)} of the {k} most probable configurations were proven in {search.nodes:,}"
            " steps: ask for those of fewer variables, or of a naive Bayes model's decision graph,"
            " which has the component as a variable"
        )
    return best


class _BestFirst:
    """Configurations of some variables from the most probable one on, by branch and bound.

    Variable after variable is decided, the partial configuration with the best bound first; of
    equal bounds the one with lower states of the variables decided first.

    Parameters
    ----------
    graph
        Decision graph, in which the other variables are summed out.
    targets
        The variables.
    """

    def __init__(self, graph: DecisionGraph, targets: Sequence[int]) -> None:
        self.graph = graph
        self.nodes = 0
        self.order = [v for v in graph.order.tolist() if v in set(targets)]
        self.maximised = np.isin(np.arange(graph.n_variables), self.order)
        # Minus the bound on the log-probability, and the states of the first variables.
        self.queue = [(0.0, tuple[int, ...]())]

    def __iter__(self) -> Iterator[tuple[NDArray[np.int16], float]]:
        """Yield configurations with their log-probabilities until the limit is reached."""
        while self.queue and self.nodes < NODE_LIMIT:
            _, states = heappop(self.queue)
            if len(states) == len(self.order):
                yield self._row(states), self._bounds([states])[0]
                continue
            variable = self.order[len(states)]
            children = [
                (*states, x) for x in range(int(self.graph.cardinalities[variable]))
            ]
            for child, bound in zip(children, self._bounds(children), strict=True):
                if bound > -inf:
                    heappush(self.queue, (-round(bound, LOG_DIGITS), child))
            self.nodes += len(children)

    def _row(self, states: tuple[int, ...]) -> NDArray[np.int16]:
        """Return the states of the first variables as a row, -1 for the other variables."""
        row = np.full(self.graph.n_variables, -1, np.int16)
        row[self.order[: len(states)]] = states
        return row

    def _bounds(self, configurations: Sequence[tuple[int, ...]]) -> list[float]:
        """Return the upper bound on the log-probability of each partial configuration."""
        rows = np.array([self._row(states) for states in configurations])
        layout = self.graph.layout
        logs = expect(layout, self.graph.parameters, rows, maximised=self.maximised)
        bounds: list[float] = logs.tolist()
        return bounds


def _explanation(
    graph: NamedVariables, targets: Sequence[int], row: NDArray[np.int16], value: float
) -> Explanation:
    states = {graph.names[v]: graph.states[v][row[v]] for v in targets}
    return Explanation(states, min(1.0, exp(value)), value)
