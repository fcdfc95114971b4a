"""The independences that a decision graph states (THESIS, section 3.3.1).

Given the node of a variable that a row reaches, the variable and all below it in the forest are
independent of all other variables (Jaeger 2004, Proposition 3.3; THESIS, 3.38). Which node that is
depends on the states of some ancestors, often on fewer of them in some contexts. A state of
probability zero leads nowhere, so no statement takes notice of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.display import Displayed
from exactlearn.pdg.inference.flows import node_probabilities
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.pdg.model.node_functions import (
    Cube,
    NodeFunction,
    node_contexts,
    without_redundant,
)
from exactlearn.queries.posteriors import Evidence, ModelLike, as_graph, conditional

MAX_CONFIGURATIONS = 100_000
"""Most configurations of the ancestors that a variable depends on; above, no context is sought."""

MAX_CONTEXTS = 1_000
"""Most contexts of all nodes of a variable together."""

Context = Mapping[str, tuple[str, ...]]
"""For each of some variables, the states that it may have."""


@dataclass(frozen=True)
class NodeContexts:
    """The configurations of ancestors that reach a node.

    Parameters
    ----------
    node
        Number of the node in the graph.
    contexts
        Together the configurations, none in two of them.
    probabilities
        Of the variable's states, given any of the contexts.
    """

    node: int
    contexts: tuple[Context, ...]
    probabilities: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class VariableIndependences(
    Displayed, shown="variable depends_on independent_of nodes"
):
    """What a graph states on a variable and its ancestors.

    Parameters
    ----------
    variable
        Its name.
    below
        All below it in the forest.
    always_independent_of
        Variables that it is independent of, together with all below it, without a condition.
    depends_on
        Ancestors that decide which node is reached, from the root on. Given their states, the
        variable with all below it is independent of all other variables.
    independent_of
        These other variables, without ``always_independent_of``.
    nodes
        The variable's nodes that some row reaches, each with its contexts.
    complete
        Whether no limit left out any of the contexts of ``nodes``.
    """

    variable: str
    below: tuple[str, ...]
    always_independent_of: tuple[str, ...]
    depends_on: tuple[str, ...]
    independent_of: tuple[str, ...]
    nodes: tuple[NodeContexts, ...]
    complete: bool

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return asdict(self)

    def describe(self, most: int = 10) -> str:
        """Return the independences in words, at most so many names and contexts in a list."""
        line = self.variable
        if self.below:
            line += f", with {_listed(self.below, most)} below it"
        stated = []
        if self.always_independent_of:
            stated.append(f"independent of {_listed(self.always_independent_of, most)}")
        if self.independent_of:
            others = _listed(self.independent_of, most)
            stated.append(f"given {_listed(self.depends_on)}, independent of {others}")
        elif self.depends_on:
            stated.append(f"depends on {_listed(self.depends_on)}")
        line += f": {'; '.join(stated) or 'no independence'}"
        if not self.complete:
            line += (
                "\n  not all contexts were looked at: there are too many configurations"
            )
        return line

    def rows(self, most: int = 10) -> Iterator[tuple[str, str, str]]:
        """Yield for each node its number, P(X | contexts) and the probabilities, as texts.

        Of each node at most so many contexts are shown.
        """
        for node in self.nodes:
            shown = [_shown(one) for one in node.contexts[:most]]
            shown = [f"({x})" if len(shown) > 1 else x for x in shown]
            if len(node.contexts) > most:
                shown.append(f"{len(node.contexts) - most} more contexts")
            given = " or ".join(shown)
            law = f"P({self.variable} | {given})" if given else f"P({self.variable})"
            yield str(node.node), law, " ".join(f"{p:.4g}" for p in node.probabilities)


@checked_arguments()
def independences(
    model: ModelLike,
    evidence: Evidence | None = None,
    targets: str | Sequence[str] | None = None,
) -> list[VariableIndependences]:
    """Return the independences that a decision graph states, variable by variable.

    Parameters
    ----------
    model, evidence
        As for :func:`~exactlearn.queries.posteriors.query`; a network is compiled.
    targets
        Variables; all when left out.

    Returns
    -------
    list of VariableIndependences
        In the order of the targets, or of the model. Where no parameter is zero, they are all
        independences of a variable with all below it from its ancestors that the structure
        implies in any context, up to the limits.

    Raises
    ------
    OptionError, DataError, TooLargeError
        As :func:`~exactlearn.queries.posteriors.joint_posterior` does.

    Examples
    --------
    >>> from exactlearn import BayesianNetwork
    >>> coin, sure = np.array([0.5, 0.5]), np.array([0.9, 0.1])
    >>> table = np.array([[coin, coin], [coin, sure]])  # c depends on b if a is y
    >>> network = BayesianNetwork(
    ...     ("a", "b", "c"), (("n", "y"),) * 3, ((), (), (0, 1)), (sure, coin, table)
    ... )
    >>> (found,) = independences(network, targets="c")
    >>> print(found.describe())
    c: depends on a, b
    >>> [law for _, law, _ in found.rows()]
    ['P(c | (a = n) or (a = y, b = n))', 'P(c | a = y, b = y)']
    """
    graph = conditional(model, evidence) if evidence else as_graph(model)
    names = [targets] if isinstance(targets, str) else targets
    wanted = (
        range(graph.n_variables) if names is None else [graph.index(x) for x in names]
    )
    paths: dict[
        int, list[int]
    ] = {}  # the ancestors of each variable in the forest, nearest first
    for v in graph.order.tolist():
        above = int(graph.forest[v])
        paths[v] = [above, *paths[above]] if above >= 0 else []
    reached = (
        np.add.reduceat(node_probabilities(graph), graph.parameter_offsets[:-1]) > 0
    )
    single = np.bincount(graph.variable[reached], minlength=graph.n_variables) == 1
    return [_of_variable(graph, v, paths, single) for v in wanted]


def _of_variable(
    graph: DecisionGraph,
    v: int,
    paths: Mapping[int, list[int]],
    single: NDArray[np.bool_],
) -> VariableIndependences:
    function = NodeFunction(graph, v, paths[v])
    above = function.needed
    names = graph.names
    contexts: dict[int, list[Cube]] = {}
    complete = prod(int(graph.cardinalities[u]) for u in above) <= MAX_CONFIGURATIONS

    def listed(variables: Sequence[int]) -> tuple[str, ...]:
        return tuple(names[u] for u in variables)

    def named(cube: Cube) -> Context:
        axes = ((above[axis], cube[axis]) for axis in sorted(cube))
        return {names[u]: tuple(graph.states[u][x] for x in own) for u, own in axes}

    if complete:
        above, table = without_redundant(above, function.table())
        contexts, complete = node_contexts(table, MAX_CONTEXTS)
    below = [u for u, path in sorted(paths.items()) if v in path]
    # All rows reach one node of the top, so nothing beside its subtree matters within it.
    top = next(u for u in (v, *paths[v]) if single[u])
    always = [u for u, path in sorted(paths.items()) if u != top and top not in path]
    rest = [
        u for u in range(graph.n_variables) if u not in (v, *below, *above, *always)
    ]
    first = int(graph.first_nodes[v])
    parameters = graph.parameters_of(v)
    nodes = (
        NodeContexts(first + k, tuple(map(named, cubes)), tuple(parameters[k].tolist()))
        for k, cubes in sorted(contexts.items())
    )
    own = names[v], listed(below), listed(always), listed(above), listed(rest)
    return VariableIndependences(*own, tuple(nodes), complete)


def _listed(names: Sequence[str], most: int | None = None) -> str:
    if most is None or len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def _shown(context: Context) -> str:
    return ", ".join(f"{name} = {'|'.join(states)}" for name, states in context.items())
