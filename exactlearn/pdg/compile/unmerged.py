"""The decision graph of a clique tree without any merging (THESIS, Algorithms 4.13 to 4.17).

The variables of each clique that stand in no clique above it, new(C) (4.55), make a chain, below
the last variable of the clique above (Algorithm 4.14). A variable has a node for each configuration
of the clique's variables that come before it (Algorithms 4.16 and 4.17), with its distribution
given that configuration. Merging starts from this graph in the thesis (Figure 5.10); compilation
proper never builds it (:mod:`exactlearn.pdg.compile.expansion`).
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.cliques import CliqueTree, clique_tree
from exactlearn.bayesnet.complete_data import smoothed
from exactlearn.bayesnet.network import BayesianNetwork, NetworkLike, normalised
from exactlearn.bayesnet.variable_elimination import eliminate_to_joint
from exactlearn.errors import TooLargeError
from exactlearn.pdg.compile.compile import Compilation, max_error
from exactlearn.pdg.model.decision_graph import DecisionGraph, assemble
from exactlearn.pdg.model.forest import VariableForest

MAX_SIZE = 10_000_000
"""Most cells of the graph: its nodes are made one configuration at a time, without merging."""


@checked_arguments()
def unmerged_graph(
    network: NetworkLike,
    *,
    root: str | None = None,
    tree: CliqueTree | None = None,
    max_size: int = MAX_SIZE,
) -> DecisionGraph:
    """Return the decision graph of a clique tree, with a node for each configuration.

    Parameters
    ----------
    network
        Network to represent; rows of its tables that sum to one only nearly are normalised.
    root
        Variable at the top: its tree hangs from the first clique that holds it. The first clique of
        each tree when left out.
    tree
        A clique tree of the network; the smallest of many heuristics when left out.
    max_size
        Most cells (effective size) of the graph.

    Raises
    ------
    TooLargeError
        When the graph would have more cells; raised before they take memory.
    OptionError
        When the network has no such variable.
    CheckError
        When ``tree`` is no clique tree of the network.

    Examples
    --------
    >>> import exactlearn as el
    >>> asia = el.read_network("asia")
    >>> el.unmerged_graph(asia, root="smoke").effective_size
    62
    >>> el.compile_network(asia).effective_size
    40
    """
    exact = normalised(network)
    cliques = clique_tree(exact) if tree is None else tree
    cliques.check(exact)
    # The tree of the root hangs from a clique that holds it; other trees stay.
    first = None if root is None else exact.index(root)
    if first is not None:
        holder = next(k for k, clique in enumerate(cliques.cliques) if first in clique)
        cliques = cliques.rooted_at(holder)
    forest = _forest(cliques, exact.n_variables, first)
    # Refused before anything of that size is made.
    size = forest.expanded_size(exact.cardinalities.tolist())
    if size > max_size:
        raise TooLargeError(
            f"the graph without merging would have {size:,} cells, the limit is {max_size:,}: "
            "raise max_size, or compile the network with merging"
        )
    # A node for each configuration of the variables above that the subtree depends on.
    parameters = _distributions(exact, cliques, forest)
    successors = {v: _successors(forest, v, exact.cardinalities) for v in forest.order}
    parents = np.array(forest.parents, np.int32)
    return assemble(exact.names, exact.states, parents, parameters, successors)


def compile_unmerged(
    network: BayesianNetwork,
    *,
    root: str | None = None,
    max_size: int = MAX_SIZE,
    seed: int = 0,
) -> Compilation:
    """Return the graph of :func:`unmerged_graph` with its sizes, compared with the network on rows.

    Parameters
    ----------
    network, root, max_size
        As in :func:`unmerged_graph`.
    seed
        Seed of the rows that are drawn for the comparison.
    """
    tree = clique_tree(network)
    graph = unmerged_graph(network, root=root, tree=tree, max_size=max_size)
    clique_size = tree.size(network.cardinalities)
    return Compilation(
        graph=graph,
        expanded_size=graph.effective_size,
        clique_tree_size=clique_size,
        max_error=max_error(network, graph, np.random.default_rng(seed)),
        message=f"the graph of a clique tree without merging: {graph.effective_size:,} cells, "
        f"the clique tree has {clique_size:,}",
    )


def _forest(cliques: CliqueTree, n_variables: int, first: int | None) -> VariableForest:
    """Return the variable forest of a clique tree (Algorithm 4.14), with contexts (4.16).

    Parameters
    ----------
    cliques
        The clique tree, each tree with its root.
    n_variables
        Number of variables.
    first
        The variable that stands first in its root clique; any if not given.
    """
    order: list[int] = []
    contexts: list[tuple[int, ...]] = [()] * n_variables
    parents = [-1] * n_variables
    last_of = {
        -1: -1
    }  # the last variable of the chain of each clique, none above a root
    for clique in cliques.top_down:
        context = cliques.separators[clique]
        parent = last_of[cliques.parent[clique]]
        new = [v for v in cliques.cliques[clique] if v not in context]
        for v in sorted(new, key=lambda v: v != first):
            contexts[v] = context
            parents[v] = parent
            order.append(v)
            context = (*context, v)
            parent = v
        last_of[clique] = parent
    return VariableForest(tuple(order), tuple(contexts), tuple(parents))


def _distributions(
    network: BayesianNetwork,
    cliques: CliqueTree,
    forest: VariableForest,
) -> dict[int, NDArray[np.float64]]:
    """Return P(variable | configuration of its context) for each variable, shape (nodes, states).

    A configuration of probability zero has the uniform distribution: no row reaches its node.
    """
    nothing_observed = np.full(network.n_variables, -1, np.int16)
    distributions = {}
    for clique in cliques.top_down:
        # The context of a clique's last variable holds all others; the first ones are done.
        last = max(cliques.cliques[clique], key=forest.order.index)
        members = (*forest.contexts[last], last)
        joint, _ = eliminate_to_joint(network, nothing_observed, members)
        while joint.ndim and members[joint.ndim - 1] not in distributions:
            v = members[joint.ndim - 1]
            masses = joint.reshape(-1, joint.shape[-1])
            distributions[v] = smoothed(masses, 0.0)
            joint = joint.sum(axis=-1)
    return distributions


def _successors(
    forest: VariableForest,
    variable: int,
    cardinalities: NDArray[np.int64],
) -> NDArray[np.int32]:
    """Return the places of the successors of a variable's nodes, shape (nodes, states, children).

    The node of a child is that of the configuration of its context (Algorithm 4.17).
    """
    scope = (*forest.contexts[variable], variable)
    states = np.indices(cardinalities[list(scope)].tolist())
    children = forest.children[variable]
    r = int(cardinalities[variable])
    table = np.empty((states[0].size // r, r, len(children)), np.int32)
    for k, child in enumerate(children):
        places = np.zeros_like(states[0])
        for v in forest.contexts[child]:
            places = places * cardinalities[v] + states[scope.index(v)]
        table[:, :, k] = places.reshape(-1, r)
    return table
