"""The independences that a decision graph states (THESIS, section 3.3.1).

Given the node of a variable that a row reaches, the variable and all below it in the forest are
independent of all other variables (Jaeger 2004, Proposition 3.3; THESIS, 3.38). Which node that is
depends on the states of some ancestors, often on fewer of them in some contexts. A state of
probability zero leads nowhere, so no statement takes notice of it. The proof is in section
*Independences* of docs/theory/decision_graphs.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.display import Displayed
from exactlearn.bayesnet.answers import Evidence
from exactlearn.pdg.inference.flows import node_probabilities
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.pdg.model.node_functions import (
    Cube,
    NodeFunction,
    node_contexts,
    without_redundant,
)
from exactlearn.queries.model_graphs import as_graph
from exactlearn.queries.posteriors import ModelLike, conditional

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
    """Independences of a variable from its ancestors that a graph states.

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
        """Return the fields as JSON holds them."""
        return asdict(self)

    def describe(self, most: int = 10) -> str:
        """Return the independences in words, at most so many names and contexts in a list."""
        line = self.variable
        if self.below:
            line += f", with {_listed(self.below, most)} below it"
        stated = []
        if self.always_independent_of:
            stated.append(f"independent of {_listed(self.always_independent_of, most)}")
        ancestors = ", ".join(self.depends_on)
        if self.independent_of:
            independent = _listed(self.independent_of, most)
            stated.append(f"given {ancestors}, independent of {independent}")
        elif self.depends_on:
            stated.append(f"depends on {ancestors}")
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
            contexts = [_conditions(context) for context in node.contexts[:most]]
            if len(contexts) > 1:
                contexts = [f"({context})" for context in contexts]
            if len(node.contexts) > most:
                contexts.append(f"{len(node.contexts) - most} more contexts")
            given = " | " * bool(contexts[0]) + " or ".join(contexts)
            law = f"P({self.variable}{given})"
            probabilities = [f"{p:.4g}" for p in node.probabilities]
            yield str(node.node), law, " ".join(probabilities)


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
    >>> (of_c,) = independences(network, targets="c")
    >>> print(of_c.describe())
    c: depends on a, b
    >>> [law for _, law, _ in of_c.rows()]
    ['P(c | (a = n) or (a = y, b = n))', 'P(c | a = y, b = y)']
    """
    graph = conditional(model, evidence) if evidence else as_graph(model)
    names = graph.names if targets is None else targets
    variables = [graph.index(name) for name in names]
    # The ancestors of each variable in the forest, nearest first.
    ancestors: dict[int, list[int]] = {}
    for v in graph.order.tolist():
        parent = int(graph.forest[v])
        ancestors[v] = [parent, *ancestors[parent]] if parent >= 0 else []
    # Nodes that some row reaches; where a variable has one, all rows reach it.
    first_parameters = graph.parameter_offsets[:-1]
    reach = np.add.reduceat(node_probabilities(graph), first_parameters)
    n_reached = np.bincount(graph.variable[reach > 0], minlength=graph.n_variables)
    return [_of_variable(graph, v, ancestors, n_reached == 1) for v in variables]


def _of_variable(
    graph: DecisionGraph,
    v: int,
    ancestors: Mapping[int, list[int]],
    has_one_node: NDArray[np.bool_],
) -> VariableIndependences:
    """Return the independences of a variable.

    Parameters
    ----------
    graph, v
        The graph, and the variable.
    ancestors
        The ancestors of each variable in the forest, nearest first.
    has_one_node
        Whether all rows reach one node of a variable, shape (variables,).
    """
    deciding, nodes, is_complete = _nodes(graph, v, ancestors[v])
    descendants = _below(v, ancestors)
    # All rows reach one node of the top, so nothing beside its subtree matters within it.
    upwards = (v, *ancestors[v])
    top = next(u for u in upwards if has_one_node[u])
    inside = {top, *_below(top, ancestors)}
    outside = [u for u in range(graph.n_variables) if u not in inside]
    named = {v, *descendants, *deciding, *outside}
    independent = [u for u in range(graph.n_variables) if u not in named]

    def listed(variables: Sequence[int]) -> tuple[str, ...]:
        return tuple(graph.names[u] for u in variables)

    return VariableIndependences(
        variable=graph.names[v],
        below=listed(descendants),
        always_independent_of=listed(outside),
        depends_on=listed(deciding),
        independent_of=listed(independent),
        nodes=nodes,
        complete=is_complete,
    )


def _nodes(
    graph: DecisionGraph,
    v: int,
    ancestors: Sequence[int],
) -> tuple[list[int], tuple[NodeContexts, ...], bool]:
    """Return the ancestors that decide a variable's node, the nodes, and whether these are all.

    There are no nodes where the ancestors have too many configurations.
    """
    # The decision diagram of the variable's node names the ancestors that it asks for.
    function = NodeFunction(graph, v, ancestors)
    deciding = function.needed
    if prod(int(graph.cardinalities[u]) for u in deciding) > MAX_CONFIGURATIONS:
        return deciding, (), False
    # Some of them are determined by the others as far as it matters.
    deciding, table = without_redundant(deciding, function.table())
    contexts, is_complete = node_contexts(table, MAX_CONTEXTS)

    def named(cube: Cube) -> Context:
        context: dict[str, tuple[str, ...]] = {}
        for axis in sorted(cube):
            u = deciding[axis]
            states = graph.states[u]
            context[graph.names[u]] = tuple(states[x] for x in cube[axis])
        return context

    parameters = graph.parameters_of(v)
    nodes = []
    for k in sorted(contexts):
        node = NodeContexts(
            node=int(graph.first_nodes[v]) + k,
            contexts=tuple(map(named, contexts[k])),
            probabilities=tuple(parameters[k].tolist()),
        )
        nodes.append(node)
    return deciding, tuple(nodes), is_complete


def _below(v: int, ancestors: Mapping[int, list[int]]) -> list[int]:
    """Return the descendants of a variable in the forest."""
    return [u for u in sorted(ancestors) if v in ancestors[u]]


def _listed(names: Sequence[str], limit: int) -> str:
    """Return the first names, and the number of the others where there are several."""
    if len(names) <= limit + 1:
        return ", ".join(names)
    first = ", ".join(names[:limit])
    return f"{first} and {len(names) - limit} more"


def _conditions(context: Context) -> str:
    """Return a context as conditions on its variables."""
    conditions = []
    for name, states in context.items():
        conditions.append(f"{name} = {'|'.join(states)}")
    return ", ".join(conditions)
