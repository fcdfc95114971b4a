"""Probabilistic decision graphs: a rooted DAG of local distributions over a forest of variables.

A graph has one or more nodes for each variable. A complete row reaches exactly one node of each
variable: the root of each tree, and from the node of ``X`` the successor that the row's state of
``X`` selects for each child of ``X`` in the forest. The row's probability is the product of the
parameters of the reached nodes at the row's states (PDG-SEM, Definition 2.1 and equation 1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.argument_kinds import instance_of
from exactlearn._runtime.arguments import checked_arguments, register
from exactlearn._runtime.display import ByValue
from exactlearn._runtime.offsets import offsets, owners
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.alignment import aligned_codes
from exactlearn.data.codes import NamedVariables
from exactlearn.data.dataset import DatasetLike
from exactlearn.data.unseen import Unseen
from exactlearn.errors import CheckError
from exactlearn.pdg.inference.block_flows import expect
from exactlearn.pdg.inference.row_blocks import Layout
from exactlearn.pdg.model.forest import forest_children, forest_order

_DTYPES = {
    "forest": np.int32,
    "variable": np.int32,
    "parameters": np.float64,
    "successors": np.int32,
}

SUM_TOLERANCE = 1e-9
"""Largest distance from one that is forgiven in the sum of a node's parameters."""


@dataclass(frozen=True, eq=False, repr=False)
class DecisionGraph(
    NamedVariables, ByValue, shown="n_variables n_nodes effective_size"
):
    """A probabilistic decision graph as flat arrays.

    Nodes are numbered so that all nodes of a variable stand together and those of a parent
    variable before those of its children.

    Parameters
    ----------
    names, states
        Variable names and the state names of each variable.
    forest
        Parent of each variable in the forest, -1 for a root, shape (variables,), int32.
    variable
        Variable of each node, shape (nodes,), int32.
    parameters
        Local distributions, node after node, one probability per state, float64.
    successors
        Successor nodes, node after node: for each state, for each child of the node's variable
        in variable order, the number of a node of that child, int32. Where a state has
        probability zero its successors are arbitrary.

    Examples
    --------
    >>> import exactlearn as el
    >>> graph = el.compile_network(el.read_network("asia"))
    >>> graph
    DecisionGraph(variables=8, nodes=20, effective_size=40)
    >>> graph.n_nodes, graph.node_counts.tolist(), graph.representational_size, graph.effective_size
    (20, [1, 2, 3, 2, 4, 2, 2, 4], 20, 40)
    >>> graph.forest.tolist(), graph.children[0], graph.child_counts.tolist(), graph.n_states
    ([-1, 0, 3, 1, 2, 7, 5, 4], (1,), [1, 1, 1, 1, 1, 1, 0, 1], 16)
    >>> graph.check()
    """

    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    forest: NDArray[np.int32]
    variable: NDArray[np.int32]
    parameters: NDArray[np.float64]
    successors: NDArray[np.int32]

    def __post_init__(self) -> None:
        """Bring the arrays into the one memory layout that the kernels are compiled for."""
        for name, dtype in _DTYPES.items():
            array = np.require(getattr(self, name), dtype, ["C", "W"])
            object.__setattr__(self, name, array)

    @cached_property
    def n_states(self) -> int:
        """Number of states of all variables together."""
        return int(self.cardinalities.sum())

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.variable)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Children of each variable in the forest, in variable order."""
        return forest_children(self.forest)

    @cached_property
    def child_counts(self) -> NDArray[np.int64]:
        """Number of children of each variable in the forest, shape (variables,)."""
        return np.array([len(children) for children in self.children], np.int64)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The variables in the order in which their nodes stand, shape (variables,).

        Examples
        --------
        >>> import exactlearn as el
        >>> graph = el.compile_network(el.read_network("asia"))
        >>> [graph.names[v] for v in graph.order.tolist()]
        ['asia', 'tub', 'lung', 'smoke', 'bronc', 'dysp', 'either', 'xray']
        """
        return self.variable[self._starts].astype(np.int64)

    @property
    def _starts(self) -> NDArray[np.int64]:
        """Numbers of the nodes at which those of another variable begin."""
        return np.flatnonzero(np.diff(self.variable, prepend=-1))

    @cached_property
    def node_counts(self) -> NDArray[np.int64]:
        """Number of nodes of each variable, shape (variables,)."""
        return np.bincount(self.variable, minlength=self.n_variables).astype(np.int64)

    @cached_property
    def first_nodes(self) -> NDArray[np.int64]:
        """Number of the first node of each variable, shape (variables,).

        Examples
        --------
        >>> import exactlearn as el
        >>> graph = el.compile_network(el.read_network("asia"))
        >>> graph.first_nodes[graph.order].tolist()
        [0, 1, 3, 5, 8, 12, 16, 18]
        """
        first = np.zeros(self.n_variables, np.int64)
        first[self.order] = self._starts
        return first

    @cached_property
    def parameter_offsets(self) -> NDArray[np.int64]:
        """Where each node's parameters begin, and the end, shape (nodes + 1,)."""
        return offsets(self.cardinalities[self.variable])

    @cached_property
    def successor_offsets(self) -> NDArray[np.int64]:
        """Where each node's successors begin, and the end, shape (nodes + 1,)."""
        n_successors = self.cardinalities * self.child_counts
        return offsets(n_successors[self.variable])

    @cached_property
    def effective_size(self) -> int:
        """Cost of one pass of inference: states x nodes x max(1, children), THESIS (3.52)."""
        widths = np.maximum(1, self.child_counts)
        return int((self.cardinalities * self.node_counts * widths).sum())

    @cached_property
    def representational_size(self) -> int:
        """Number of free parameters, THESIS (3.53)."""
        return int(((self.cardinalities - 1) * self.node_counts).sum())

    @cached_property
    def layout(self) -> Layout:
        """The arrays that the inference kernels read."""
        return Layout(
            order=self.order,
            forest=self.forest,
            cardinality=self.cardinalities,
            n_children=self.child_counts,
            first_node=self.first_nodes,
            n_nodes=self.node_counts,
            first_state=offsets(self.cardinalities)[:-1],
            variable=self.variable,
            parameter=self.parameter_offsets,
            successor=self.successor_offsets,
            successors=self.successors,
        )

    def parameters_of(self, variable: int) -> NDArray[np.float64]:
        """Return the local distributions of a variable's nodes, shape (its nodes, states).

        Examples
        --------
        >>> import exactlearn as el
        >>> graph = el.compile_network(el.read_network("asia"))
        >>> graph.parameters_of(graph.index("tub")).round(3).tolist()
        [[0.05, 0.95], [0.01, 0.99]]
        """
        part: NDArray[np.float64]
        part = self._part(self.parameters, self.parameter_offsets, variable)
        return part[:, :, 0]

    def successors_of(self, variable: int) -> NDArray[np.int32]:
        """Return the successors of a variable's nodes, shape (its nodes, states, children).

        Examples
        --------
        >>> import exactlearn as el
        >>> graph = el.compile_network(el.read_network("asia"))
        >>> graph.successors_of(graph.index("asia"))[:, :, 0].tolist()
        [[1, 2]]
        """
        part: NDArray[np.int32]
        part = self._part(self.successors, self.successor_offsets, variable)
        return part

    def _part(
        self,
        array: NDArray[Any],
        offsets: NDArray[np.int64],
        variable: int,
    ) -> NDArray[Any]:
        """Return the part of a flat array that belongs to a variable's nodes.

        Its shape is (nodes, states, entries of each state).
        """
        first = self.first_nodes[variable]
        nodes = self.node_counts[variable]
        part = array[offsets[first] : offsets[first + nodes]]
        return part.reshape(nodes, self.cardinalities[variable], -1)

    def edges_into(self, variable: int) -> NDArray[np.int32]:
        """Return the node that each edge into a variable leads to.

        Returns
        -------
        Places among the variable's nodes, shape (nodes of the forest parent, states of the
        parent); a root has one edge, shape (1, 1).

        Examples
        --------
        >>> import exactlearn as el
        >>> graph = el.compile_network(el.read_network("asia"))
        >>> graph.edges_into(graph.index("tub")).tolist()
        [[0, 1]]
        """
        parent = int(self.forest[variable])
        if parent < 0:
            return np.zeros((1, 1), np.int32)
        column = self.children[parent].index(variable)
        nodes = self.successors_of(parent)[:, :, column]
        heads: NDArray[np.int32] = nodes - np.int32(self.first_nodes[variable])
        return heads

    def with_parameters(self, parameters: NDArray[np.float64]) -> "DecisionGraph":
        """Return the same structure with other parameters, shape as ``parameters``.

        Examples
        --------
        >>> import exactlearn as el
        >>> graph = el.compile_network(el.read_network("asia"))
        >>> graph.with_parameters(graph.parameters) == graph
        True
        """
        return replace(self, parameters=parameters)

    def with_counts(self, counts: NDArray[np.float64]) -> "DecisionGraph":
        """Return the same structure with relative counts; nodes without any keep parameters.

        Parameters
        ----------
        counts
            Laid out as ``parameters``; with pseudo-counts added, the smoothing of THESIS (4.15).

        Examples
        --------
        >>> import exactlearn as el
        >>> graph = el.compile_network(el.read_network("asia"))
        >>> graph.with_counts(10 * graph.parameters).parameters_of(0).round(3).tolist()
        [[0.01, 0.99]]
        """
        return self.with_parameters(self.relative(counts, self.parameters))

    def relative(
        self,
        counts: NDArray[np.float64],
        otherwise: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return the relative counts of each node; where it has none, other parameters.

        Examples
        --------
        >>> import exactlearn as el
        >>> graph = el.compile_network(el.read_network("asia"))
        >>> graph.relative(np.zeros(len(graph.parameters)), graph.parameters)[:2].tolist()
        [0.01, 0.99]
        """
        first = self.parameter_offsets
        totals = np.add.reduceat(counts, first[:-1])[owners(first)]
        parameters = otherwise.copy()
        np.divide(counts, totals, out=parameters, where=totals > 0)
        return parameters

    def reordered(self, like: NamedVariables) -> "DecisionGraph":
        """Return the graph with the variables and states of another model in its order.

        Raises
        ------
        OptionError
            When the models do not have the same variables and states.

        Examples
        --------
        >>> import exactlearn as el
        >>> network = el.read_network("asia")
        >>> graph = el.compile_network(network)
        >>> graph.reordered(network).names == network.names
        True
        """
        if (self.names, self.states) == (like.names, like.states):
            return self
        places, states = self.places(like)
        # Number of each variable in the other model, and of a root's parent.
        number = np.full(self.n_variables + 1, -1)
        number[places] = np.arange(self.n_variables)
        parameters = []
        successors = []
        for v, states_of_v in zip(places, states, strict=True):
            children = sorted(self.children[v], key=number.__getitem__)
            heads = [self.edges_into(child)[:, states_of_v] for child in children]
            shape = (len(children), self.node_counts[v], len(states_of_v))
            parameters.append(self.parameters_of(v)[:, states_of_v])
            successors.append(np.reshape(heads, shape).transpose(1, 2, 0))
        forest = number[self.forest[places]].astype(np.int32)
        return assemble(like.names, like.states, forest, parameters, successors)

    @checked_arguments()
    def log_likelihood_rows(
        self,
        dataset: DatasetLike,
        *,
        unseen: Unseen = "refuse",
    ) -> NDArray[np.float64]:
        """Return the natural logarithm of the probability of each row's observed cells.

        Parameters
        ----------
        dataset
            A :class:`~exactlearn.data.dataset.Dataset`, a frame or an array; its variables and
            states are matched by name. Missing cells are summed out, weights ignored.
        unseen
            What becomes of a state that the model does not know: ``"refuse"`` raises, ``"missing"``
            counts it as missing, with one warning.

        Returns
        -------
        log_likelihoods
            Shape (rows,); minus infinity for a row of probability zero.

        Raises
        ------
        DataError
            When a variable is absent, or a row has a state that the model does not know.

        Examples
        --------
        >>> import exactlearn as el
        >>> table = el.read_dataset("asia-mnar")
        >>> graph = el.compile_network(el.read_network("asia"))
        >>> graph.log_likelihood_rows(table)[:3].round(3).tolist()
        [-1.237, -1.892, -1.786]
        """
        codes = aligned_codes(dataset, self.names, self.states, unseen)
        return expect(self.layout, self.parameters, codes)

    def check(self) -> None:
        """Check that the arrays form a decision graph (PDG-SEM, Definition 2.1).

        Raises
        ------
        CheckError
            If the forest has a cycle, nodes are misplaced or unreachable, a root has several
            nodes, a successor belongs to the wrong variable, or parameters are no distribution.
        """
        forest_order(self.forest)
        _check_nodes(self)
        _check_parameters(self)
        _check_successors(self)


def assemble(
    names: tuple[str, ...],
    states: tuple[tuple[str, ...], ...],
    forest: NDArray[np.int32],
    parameters: Sequence[NDArray[np.float64]] | Mapping[int, NDArray[np.float64]],
    successors: Sequence[NDArray[np.integer]] | Mapping[int, NDArray[np.integer]],
) -> DecisionGraph:
    """Join the nodes of each variable into one graph.

    Parameters
    ----------
    names, states, forest
        As in `DecisionGraph`.
    parameters
        For each variable, its nodes' distributions, shape (nodes, states).
    successors
        For each variable, shape (nodes, states, children), or (nodes, states, 1) where that of
        all children is the same; a node is given by its place within its variable.
    """
    order = forest_order(forest)
    children = forest_children(forest)
    # Nodes are numbered variable by variable, parents first: places become numbers by
    # an offset.
    counts = [len(parameters[v]) for v in order]
    first = np.zeros(len(order), np.int64)
    first[list(order)] = offsets(counts)[:-1]
    heads = [successors[v] + first[list(children[v])] for v in order]
    return DecisionGraph(
        names=names,
        states=states,
        forest=forest,
        variable=np.repeat(order, counts),
        parameters=np.concatenate([parameters[v].ravel() for v in order]),
        successors=np.concatenate([nodes.ravel() for nodes in heads]),
    )


def _check_nodes(graph: DecisionGraph) -> None:
    """Check that each variable has nodes, in place, and each root one."""
    names = graph.names
    for variable in np.flatnonzero(graph.node_counts == 0).tolist():
        raise CheckError(
            f"variable {names[variable]!r} has no node: give it at least one"
        )
    if len(graph.order) != len(names):
        raise CheckError("the nodes of some variable do not stand together")
    # A root has one node, and flows need the nodes of parents before those of children.
    for variable, parent in enumerate(graph.forest.tolist()):
        if parent < 0 and graph.node_counts[variable] != 1:
            raise CheckError(
                f"root variable {names[variable]!r} has {graph.node_counts[variable]} nodes,"
                " not one"
            )
        if parent >= 0 and graph.first_nodes[parent] > graph.first_nodes[variable]:
            raise CheckError(
                f"nodes of {names[variable]!r} stand before those of its forest parent"
                f" {names[parent]!r}"
            )


def _check_parameters(graph: DecisionGraph) -> None:
    """Check that each node has a distribution."""
    parameters = graph.parameters
    first = graph.parameter_offsets
    if len(parameters) != first[-1]:
        raise CheckError(
            f"{len(parameters)} parameters, not one per node and state: {first[-1]}"
        )
    if not (np.isfinite(parameters).all() and (parameters >= 0).all()):
        raise CheckError("some parameter is negative or not a number")
    # Sums of floats are one only up to rounding.
    sums = np.add.reduceat(parameters, first[:-1])
    for node in np.flatnonzero(np.abs(sums - 1) > SUM_TOLERANCE).tolist():
        raise CheckError(
            f"parameters of {_node_in_words(graph, node)} sum to {float(sums[node])!r},"
            " not to one"
        )


def _check_successors(graph: DecisionGraph) -> None:
    """Check that successors are nodes of the right variable, and that each node is one."""
    if len(graph.successors) != graph.successor_offsets[-1]:
        raise CheckError(
            f"{len(graph.successors)} successors, not one per node, state and child:"
            f" {graph.successor_offsets[-1]}"
        )
    # Nodes of roots are reached by themselves, others by an edge of their forest
    # parent.
    is_reached = graph.forest[graph.variable] < 0
    for child, parent in enumerate(graph.forest.tolist()):
        if parent < 0:
            continue
        nodes = graph.edges_into(child) + graph.first_nodes[child]
        if not np.isin(nodes, np.flatnonzero(graph.variable == child)).all():
            raise CheckError(
                f"a successor of {graph.names[parent]!r} for its child {graph.names[child]!r}"
                " is a node of another variable"
            )
        is_reached[nodes] = True
    for node in np.flatnonzero(~is_reached).tolist():
        raise CheckError(
            f"{_node_in_words(graph, node)} is no successor of any node: remove it"
        )


def _node_in_words(graph: DecisionGraph, node: int) -> str:
    return f"node {node} ({graph.names[graph.variable[node]]!r})"


as_graph = instance_of(
    DecisionGraph,
    "a DecisionGraph",
    "read a file with read_model(path), or compile a network with compile_network(network)",
)


as_model = instance_of(
    (BayesianNetwork, DecisionGraph, NaiveBayes),
    "a BayesianNetwork, a DecisionGraph or a NaiveBayes",
    "read a file with read_model(path)",
)
register(pdg=as_graph, graph=as_graph, model=as_model, p=as_model, q=as_model)
