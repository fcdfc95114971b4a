"""Upwards: the nodes that a block of rows reaches, and the sums that are their out-flows.

Sorted rows reach few nodes together, and all flows elsewhere are zero or not needed. States that
no row of the block allows, or of probability zero, are left out as well.

Nodes of one variable often lead from a state to the same successors and differ in their parameters
only: such a pair of state and successors is a branch. Products of the out-flows of several children
are formed once for each branch: out-flows are sums over the branches of a node, in-flows of a
branch are sums over its nodes (PDG-SEM, equations 17 to 19).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.hash_tables import index_rows
from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn.pdg.inference.block_program import Program, append_product
from exactlearn.pdg.model.layout import Layout


class Branches(NamedTuple):
    """Branches of a decision graph, those of each variable together.

    A variable with fewer than two children has none: there is nothing to multiply.

    Attributes
    ----------
    first
        Where each variable's branches begin, by its place in `Layout.order`, and the end, shape
        (variables + 1,).
    successor
        Where the successors of each branch begin in `Layout.successors`, shape (branches,).
    branch
        Branch of each parameter among those of its variable, if any, shape (parameters,).
    """

    first: NDArray[np.int64]
    successor: NDArray[np.int64]
    branch: NDArray[np.int64]


@kernel
def branches_of(layout: Layout) -> Branches:
    """Return the branches of a decision graph."""
    variables, size = len(layout.order), layout.parameter[len(layout.variable)]
    first = np.zeros(variables + 1, np.int64)
    successor = np.empty(size, np.int64)
    branch = np.empty(size, np.int64)
    total = 0
    for place in range(variables):
        variable = layout.order[place]
        r, k = layout.cardinality[variable], layout.n_children[variable]
        first[place + 1] = total
        if k < 2:
            continue
        start, from_ = layout.first_parameter[variable], layout.first_successor[variable]
        cells = layout.n_nodes[variable] * r
        keys = np.empty((cells, 1 + k), np.int32)
        for i in range(cells):
            keys[i, 0] = i % r
            for c in range(k):
                keys[i, 1 + c] = layout.successors[from_ + i * k + c]
        labels, origin, _ = index_rows(keys)
        for i in range(cells):
            branch[start + i] = labels[i]
        for j in range(len(origin)):
            successor[total + j] = from_ + origin[j] * k
        total += len(origin)
        first[place + 1] = total
    return Branches(first, successor, branch)


class Rows(NamedTuple):
    """Where things stand in the table of flows: evidence from 0 on, a row for each state.

    Attributes
    ----------
    out_flow, in_flow
        A row for each node, those of a variable in the order in which they were met.
    marginal
        A row for each state.
    product
        Where products of out-flows begin, and in-flows of branches.
    end
        Number of rows.
    """

    out_flow: np.int64
    in_flow: np.int64
    marginal: np.int64
    product: np.int64
    end: np.int64


class Reach(NamedTuple):
    """What one block reaches: variables in `Layout.order`; an arc is a node with a state.

    Attributes
    ----------
    first_arc, last_arc
        Where the terms of each variable's arcs begin and end, by its place.
    tail, parameter, key
        Of each term that is an arc: its node's place among those met, variables by their first
        nodes; the place of its parameter; and the place of its successor among those of the only
        child, or of its branch.
    branch, first_branch
        Branches of variables with several children, and where each variable's begin by its place,
        and the end.
    product
        Row of the first product of each branch.
    met, label
        The block in which a node or branch was met last, and its place among those of its
        variable, branches behind nodes.
    waiting, n_waiting
        Nodes met, those of a variable from its first node's number on, and how many these are.
    """

    first_arc: NDArray[np.int64]
    last_arc: NDArray[np.int64]
    tail: NDArray[np.int64]
    parameter: NDArray[np.int64]
    key: NDArray[np.int64]
    branch: NDArray[np.int64]
    first_branch: NDArray[np.int64]
    product: NDArray[np.int64]
    met: NDArray[np.int64]
    label: NDArray[np.int64]
    waiting: NDArray[np.int64]
    n_waiting: NDArray[np.int64]


@kernel
def reach_space(layout: Layout, branches: Branches, terms: int) -> Reach:
    """Return room for what a block reaches."""
    nodes, variables = len(layout.variable), len(layout.order)
    n_branches = branches.first[variables]
    return Reach(
        np.empty(variables, np.int64),
        np.empty(variables, np.int64),
        np.empty(terms, np.int64),
        np.empty(terms, np.int64),
        np.empty(terms, np.int64),
        np.empty(n_branches, np.int64),
        np.empty(variables + 1, np.int64),
        np.empty(n_branches, np.int64),
        np.full(nodes + n_branches, -1, np.int64),
        np.empty(nodes + n_branches, np.int64),
        np.empty(nodes, np.int64),
        np.empty(variables, np.int64),
    )


@in_place_kernel
def ascend(
    layout: Layout,
    branches: Branches,
    parameters: NDArray[np.float64],
    allowed: NDArray[np.bool_],
    number: int,
    rows: Rows,
    reach: Reach,
    program: Program,
) -> np.int64:
    """List the sums that are the out-flows of what a block reaches, to be computed backwards.

    Parameters
    ----------
    allowed
        Whether some row allows a state, shape (states of all variables,).
    number
        Of the block: another one each time.

    Returns
    -------
    The next free row.
    """
    # Taken out of the tuples first: inside of loops that costs more than the loops.
    order, first_node, cardinality = layout.order, layout.first_node, layout.cardinality
    n_children, first_state, parameter = layout.n_children, layout.first_state, layout.parameter
    variable_of, successor, successors = layout.variable, layout.successor, layout.successors
    first_branch, branch_of = branches.first, branches.branch
    met, label, waiting, n_waiting = reach.met, reach.label, reach.waiting, reach.n_waiting
    tail, of_parameter, key, product = reach.tail, reach.parameter, reach.key, reach.product
    target, first, weight = program.target, program.first, program.weight
    left, right, shift, row = program.left, program.right, len(variable_of), rows.product
    # The roots are reached.
    for variable in order:
        n_waiting[variable] = layout.forest[variable] < 0
        waiting[first_node[variable]] = first_node[variable]
    sums = terms = made = 0
    for place in range(len(order)):
        variable = order[place]
        r, k, states = cardinality[variable], n_children[variable], first_state[variable]
        start, first_made = first_node[variable], made
        reach.first_arc[place], reach.first_branch[place] = terms, made
        # A sum for each node that was met, with a term for each allowed state.
        for i in range(start, start + n_waiting[variable]):
            node = waiting[i]
            p, s = parameter[node], successor[node]
            target[sums] = rows.out_flow + i
            for h in range(r):
                theta = parameters[p + h]
                if not (allowed[states + h] and theta > 0.0):
                    continue
                tail[terms], of_parameter[terms], weight[terms] = i, p + h, theta
                left[terms] = right[terms] = states + h
                # A branch met for the first time gets rows for the products of its out-flows.
                new = k == 1
                if k > 1:
                    q = shift + first_branch[place] + branch_of[p + h]
                    if met[q] != number:
                        met[q], label[q], new = number, made - first_made, True
                        reach.branch[made], product[made] = q - shift, row
                        row += k - 1
                        made += 1
                    key[terms] = label[q]
                    right[terms] = product[first_made + label[q]] + k - 2
                # Successors met for the first time wait for their variable's turn.
                for c in range(s + h * k, s + h * k + (k if new else 0)):
                    child = np.int64(successors[c])
                    below = np.int64(variable_of[child])
                    if met[child] != number:
                        met[child], label[child] = number, n_waiting[below]
                        waiting[first_node[below] + n_waiting[below]] = child
                        n_waiting[below] += 1
                    if k == 1:
                        key[terms] = label[child]
                        right[terms] = rows.out_flow + first_node[below] + label[child]
                terms += 1
            sums += 1
            first[sums] = terms
        reach.last_arc[place] = terms
        program.size[0], program.size[1] = sums, terms
        # The products of the out-flows of each branch, from the last child to the first.
        for q in range(first_made, made):
            s = branches.successor[reach.branch[q]]
            for c in range(k - 1, 0, -1):
                before = product[q] + c - 2
                if c == 1:
                    before = row_of(layout, reach, rows.out_flow, successors[s])
                after = row_of(layout, reach, rows.out_flow, successors[s + c])
                append_product(program, product[q] + c - 1, before, after)
        sums, terms = program.size[0], program.size[1]
    reach.first_branch[len(order)] = made
    return row


@in_place_kernel
def row_of(layout: Layout, reach: Reach, start: np.int64, node: np.int32) -> np.int64:
    """Return the row of a node that was met, where those of all nodes begin."""
    return np.int64(start + layout.first_node[layout.variable[node]] + reach.label[node])
