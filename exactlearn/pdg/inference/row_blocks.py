"""A block of rows side by side: its evidence, and the nodes of a graph that it reaches.

The evidence allows each row some states; under the evidence of all rows of a block few nodes are
reachable. They are listed level by level, so parents come before children in the list.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel


class Layout(NamedTuple):
    """Structure of a decision graph without its parameters, as kernels read it.

    Attributes
    ----------
    order
        Variables, parents before children, shape (variables,).
    forest, cardinality, n_children, first_node, n_nodes
        As in `DecisionGraph`, shape (variables,).
    first_state
        Where each variable's states begin in a row of posteriors, shape (variables,).
    variable, parameter, successor
        Variable of each node, and where its parameters and successors begin, shape (nodes,).
    successors
        Flat successor nodes.
    """

    order: NDArray[np.int64]
    forest: NDArray[np.int32]
    cardinality: NDArray[np.int64]
    n_children: NDArray[np.int64]
    first_node: NDArray[np.int64]
    n_nodes: NDArray[np.int64]
    first_state: NDArray[np.int64]
    variable: NDArray[np.int32]
    parameter: NDArray[np.int64]
    successor: NDArray[np.int64]
    successors: NDArray[np.int32]


class Block(NamedTuple):
    """The evidence of a block of rows, what it reaches, and its flows.

    Attributes
    ----------
    evidence
        One of the semiring where a row allows a state, else zero, shape (all states, rows).
    allowed
        Whether some row allows a state, shape (all states,).
    observed
        Whether some row observes a variable in the subtree, or one there is maximised over, shape
        (variables,).
    mark, queue
        ``mark[node]`` is the number of the last block that reached a node; and the nodes reached.
    out_flow, in_flow
        Shape (nodes, rows).
    product
        Products of the out-flows of the last children of a state, for each number of them, shape
        (most children + 2, rows).
    """

    evidence: NDArray[np.float64]
    allowed: NDArray[np.bool_]
    observed: NDArray[np.bool_]
    mark: NDArray[np.int64]
    queue: NDArray[np.int64]
    out_flow: NDArray[np.float64]
    in_flow: NDArray[np.float64]
    product: NDArray[np.float64]


@kernel
def block_space(layout: Layout, size: int) -> Block:
    """Return room for a block of so many rows."""
    nodes = len(layout.variable)
    variables = len(layout.order)
    states = (layout.first_state + layout.cardinality).max()
    return Block(
        np.empty((states, size)),
        np.empty(states, np.bool_),
        np.empty(variables, np.bool_),
        np.full(nodes, -1, np.int64),
        np.empty(nodes, np.int64),
        np.empty((nodes, size)),
        np.empty((nodes, size)),
        np.empty((layout.n_children.max() + 2, size)),
    )


@in_place_kernel
def enter_evidence(
    layout: Layout,
    codes: NDArray[np.int16],
    start: int,
    n: int,
    zero: float,
    unit: float,
    maximised: NDArray[np.bool_],
    block: Block,
) -> None:
    """Enter the evidence of the rows ``codes[:, start:start + n]``."""
    evidence = block.evidence
    allowed = block.allowed
    observed = block.observed
    # A variable that is maximised over needs its subtree's out-flows, as an observed
    # one does.
    for variable in layout.order:
        observed[variable] = maximised[variable]
    # Children before parents: a variable is observed if anything in its subtree is.
    for place in range(len(layout.order) - 1, -1, -1):
        variable = layout.order[place]
        parent = layout.forest[variable]
        first = layout.first_state[variable]
        for b in range(n):
            observed[variable] |= codes[variable, start + b] >= 0
        # A missing cell allows every state.
        for h in range(layout.cardinality[variable]):
            is_allowed = False
            for b in range(n):
                possible = codes[variable, start + b] in (h, -1)
                evidence[first + h, b] = unit if possible else zero
                is_allowed |= possible
            allowed[first + h] = is_allowed
        if parent >= 0:
            observed[parent] |= observed[variable]


@in_place_kernel
def is_possible(is_allowed: bool, parameter: float) -> bool:
    """Return whether a row passes through a state of a node with positive probability."""
    return is_allowed and parameter > 0.0


@in_place_kernel
def reach(
    layout: Layout,
    parameters: NDArray[np.float64],
    number: int,
    everything: bool,
    block: Block,
) -> int:
    """List the nodes reachable with positive probability under a block's evidence.

    Parameters
    ----------
    number
        Of the block: another one each time.
    everything
        Whether to list the nodes of subtrees without observations.

    Returns
    -------
    Their number; in the queue parents stand before children.
    """
    # Taken out of the tuples first: inside of loops that costs more than the loops.
    variables = layout.variable
    parameter = layout.parameter
    successor = layout.successor
    successors = layout.successors
    cardinality = layout.cardinality
    n_children = layout.n_children
    first_state = layout.first_state
    allowed = block.allowed
    observed = block.observed
    mark = block.mark
    queue = block.queue
    # The roots, then breadth first what the nodes in the queue lead to.
    tail = 0
    head = 0
    for variable in layout.order:
        if layout.forest[variable] < 0:
            queue[tail] = layout.first_node[variable]
            tail += 1
    while head < tail:
        node = queue[head]
        head += 1
        variable = np.int64(variables[node])
        k = n_children[variable]
        # Below a subtree without observations out-flows are one: only in-flows need its
        # nodes.
        if k == 0 or not (everything or observed[variable]):
            continue
        p = parameter[node]
        s = successor[node]
        for h in range(cardinality[variable]):
            if is_possible(allowed[first_state[variable] + h], parameters[p + h]):
                for c in range(s + h * k, s + h * k + k):
                    child = np.int64(successors[c])
                    if mark[child] != number:
                        mark[child] = number
                        queue[tail] = child
                        tail += 1
    return tail
