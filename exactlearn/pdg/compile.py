"""Compilation of a Bayesian network to the smallest decision graph over a searched forest.

A clique tree of the network gives forests of variables, one for each clique as its root (THESIS,
Algorithms 4.13 and 4.14). Over a forest, nodes are the configurations of each variable's context;
equivalent ones are merged while they are made. The smallest of the most promising forests is kept:
the choice of the root decides more than anything else.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from exactlearn.cliques import CliqueTree, clique_tree
from exactlearn.data import Dataset
from exactlearn.errors import DataError, TooLargeError
from exactlearn.network import BayesianNetwork
from exactlearn.pdg.decision_graph import DecisionGraph, assemble
from exactlearn.pdg.flows import log_likelihood_rows
from exactlearn.pdg.forest_search import tree_searches

MAX_SIZE = 30_000_000
"""Largest effective size of an expanded graph that is written out, in table cells."""

CHECK_ROWS = 1000
"""Rows of each kind on which a compilation is compared with its network."""


@dataclass(frozen=True)
class Compilation:
    """A compiled network with its sizes and its measured error.

    Parameters
    ----------
    graph
        The decision graph.
    nodes, effective_size, representational_size
        Sizes of the graph; effective and representational by THESIS (3.52) and (3.53).
    expanded_size
        Effective size before merging, over the same forest.
    clique_tree_size
        Effective size of the clique tree that the forest came from, THESIS (3.20).
    max_error
        Largest relative difference of the two probabilities of a row, over rows drawn from the
        network and rows drawn uniformly; infinite if only one of them is zero.
    message
        What a user should know: whether merging paid.
    """

    graph: DecisionGraph
    nodes: int
    effective_size: int
    representational_size: int
    expanded_size: int
    clique_tree_size: int
    max_error: float
    message: str


def compile_network(
    network: BayesianNetwork,
    *,
    root: str | None = None,
    tree: CliqueTree | None = None,
    max_size: int = MAX_SIZE,
) -> DecisionGraph:
    """Return a decision graph of the network's joint distribution.

    Parameters
    ----------
    network
        Network to represent; rows of its tables that sum to one only nearly are normalised.
    root
        A variable that becomes a root of the forest; otherwise many are tried, the same ones
        every time.
    tree
        Clique tree to start from instead of the best one found.
    max_size
        Largest expanded effective size to write out.

    Raises
    ------
    TooLargeError
        If every forest found is larger than ``max_size``; raised before memory is taken.
    OptionError
        If ``root`` is not a variable.
    DataError
        If the network has no variables.
    CheckError
        If ``tree`` is no clique tree of the network.
    """
    return _compile(network, root, _tree(network, tree), max_size)[0]


def compile_and_check(
    network: BayesianNetwork,
    *,
    root: str | None = None,
    tree: CliqueTree | None = None,
    max_size: int = MAX_SIZE,
    seed: int = 0,
) -> Compilation:
    """Return what `compile_network` returns with its sizes, compared with the network on rows.

    Parameters
    ----------
    network, root, tree, max_size
        As in `compile_network`.
    seed
        Seed of the rows that are drawn for the comparison.
    """
    tree = _tree(network, tree)
    graph, expanded = _compile(network, root, tree, max_size)
    clique_size = tree.size(network.cardinalities)
    return Compilation(
        graph,
        graph.n_nodes,
        graph.effective_size,
        graph.representational_size,
        expanded,
        clique_size,
        max_error(network, graph, np.random.default_rng(seed)),
        _message(graph.effective_size, expanded, clique_size),
    )


def max_error(
    network: BayesianNetwork, graph: DecisionGraph, rng: np.random.Generator, rows: int = CHECK_ROWS
) -> float:
    """Return the largest relative difference between the two probabilities of a row.

    The network's tables count as normalised: a file's rows may sum to one only to six digits.

    Parameters
    ----------
    rows
        How many rows to draw from the network, and again uniformly from all states.
    """
    exact = normalised(network)
    likely = exact.sample(rows, rng).codes
    uniform = rng.integers(0, exact.cardinalities, (rows, exact.n_variables)).astype(np.int16)
    codes = np.concatenate((likely, uniform)).astype(np.int16)
    expected = exact.log_likelihood_rows(Dataset(codes, exact.names, exact.states))
    found = log_likelihood_rows(graph, codes)
    possible = np.isfinite(expected)
    if (possible != np.isfinite(found)).any():
        return float("inf")
    return float(np.abs(np.expm1(found[possible] - expected[possible])).max(initial=0.0))


def normalised(network: BayesianNetwork) -> BayesianNetwork:
    """Return the network with every row of its tables divided by its sum."""
    tables = tuple(t / t.sum(axis=-1, keepdims=True) for t in network.tables)
    return replace(network, tables=tables)


def _tree(network: BayesianNetwork, tree: CliqueTree | None) -> CliqueTree:
    if network.n_variables == 0:
        raise DataError("the network has no variables: nothing to compile")
    if tree is None:
        return clique_tree(network)
    tree.check(network)
    return tree


def _compile(
    network: BayesianNetwork, root: str | None, tree: CliqueTree, max_size: int
) -> tuple[DecisionGraph, int]:
    """Compile each connected part over its own best forest; return the expanded size too."""
    first = -1 if root is None else network.index(root)
    searches = tree_searches(network, tree, first)
    smallest = sum(search.smallest_expanded for search in searches)
    if smallest > max_size:
        raise TooLargeError(
            f"before merging the decision graph would have {smallest:,} cells, the limit is"
            f" {max_size:,}; the best clique tree found has {tree.size(network.cardinalities):,}."
            " Raise max_size if memory allows about 60 bytes for each cell of the largest clique,"
            " or give each variable fewer parents when learning"
        )
    expansions = [search.smallest(network) for search in searches]
    parent = np.full(network.n_variables, -1, np.int32)
    parameters: dict[int, NDArray[np.float64]] = {}
    successors: dict[int, NDArray[np.int32]] = {}
    for expansion in expansions:
        part = list(expansion.forest.order)
        parent[part] = [expansion.forest.parents[v] for v in part]
        parameters |= expansion.parameters
        successors |= expansion.successors
    expanded = sum(e.forest.expanded_size(network.cardinalities.tolist()) for e in expansions)
    return assemble(network.names, network.states, parent, parameters, successors), expanded


def _message(size: int, expanded: int, clique_size: int) -> str:
    if size < expanded:
        return f"merging equivalent nodes saved {1 - size / expanded:.0%} of {expanded:,} cells"
    text = "nothing merged: no determinism or context-specific independence was found"
    if clique_size < size:
        text += f"; a clique tree would be smaller, {clique_size:,} cells against {size:,}"
    return text
