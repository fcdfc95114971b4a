"""Downwards: the sums that are the in-flows and marginals of a block of rows.

An in-flow (PDG-SEM, equations 18 and 19) is a sum over the arcs into a node, each with the
evidence, its parameter and the out-flows of its siblings, whose products are formed from the front
and from the back, so that an out-flow of zero never divides.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn.pdg.inference.block_out_flow import Branches, Reach, Rows, row_of
from exactlearn.pdg.inference.block_program import Items, Program, append_product, append_sums
from exactlearn.pdg.model.layout import Layout


@kernel
def items_space(layout: Layout) -> Items:
    """Return room for the terms of one variable's sums."""
    most = 0
    for variable in layout.order:
        most = max(most, layout.n_nodes[variable] * layout.cardinality[variable])
    keys, left, right = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    return Items(keys, np.empty(most), left, right)


@in_place_kernel
def descend(
    layout: Layout,
    branches: Branches,
    rows: Rows,
    row: np.int64,
    reach: Reach,
    up: Program,
    wanted: NDArray[np.bool_],
    n_missing: NDArray[np.int64],
    items: Items,
    program: Program,
) -> None:
    """List the sums that are the in-flows of what a block reaches, and its marginals.

    Parameters
    ----------
    row
        The next free row.
    up
        The sums that are the out-flows.
    wanted
        Whether the in-flows below a variable are needed, shape (variables,).
    n_missing
        How many rows miss each variable: without any there are no marginals, shape (variables,).
    """
    key, weight, left, right = items.key, items.weight, items.left, items.right
    up_weight, up_left, up_right = up.weight, up.left, up.right
    tail, up_key, n_children = reach.tail, reach.key, layout.n_children
    program.size[0] = program.size[1] = 0
    for place in range(len(layout.order)):
        variable = layout.order[place]
        begin, n = reach.first_arc[place], reach.last_arc[place] - reach.first_arc[place]
        k, first_state = n_children[variable], layout.first_state[variable]
        if not wanted[variable]:
            continue
        # A term for each arc: its parameter, and the in-flow of its node.
        for a in range(n):
            weight[a], right[a] = up_weight[begin + a], rows.in_flow + tail[begin + a]
        # Marginals: times the out-flow below, summed by state.
        if n_missing[variable] > 0:
            for a in range(n):
                key[a], left[a] = up_left[begin + a] - first_state, up_right[begin + a]
            states = layout.cardinality[variable]
            append_sums(program, items, n, states, rows.marginal + first_state)
        # In-flows of the successors: times the evidence, summed by successor or by branch.
        for a in range(n if k > 0 else 0):
            key[a], left[a] = up_key[begin + a], up_left[begin + a]
        if k == 1:
            below = layout.variable[layout.successors[layout.first_successor[variable]]]
            start = rows.in_flow + layout.first_node[below]
            append_sums(program, items, n, reach.n_waiting[below], start)
        if k > 1:
            size = reach.first_branch[place + 1] - reach.first_branch[place]
            append_sums(program, items, n, size, row)
            row = _share(layout, branches, rows, row, reach, place, items, program)


@in_place_kernel
def _share(
    layout: Layout,
    branches: Branches,
    rows: Rows,
    work: np.int64,
    reach: Reach,
    place: int,
    items: Items,
    program: Program,
) -> np.int64:
    """Share the in-flows of branches, from row ``work`` on, among the successors (equation 19).

    Return the next free row.
    """
    variable, out_flow = layout.order[place], rows.out_flow
    k, first = layout.n_children[variable], reach.first_branch[place]
    n = reach.first_branch[place + 1] - first
    # Products of later siblings' out-flows for all but the last two, then those of all siblings
    # for all but the first and last.
    later = work + n
    for q in range(n):
        s, own = branches.successor[reach.branch[first + q]], later + 2 * q * (k - 2)
        after = row_of(layout, reach, out_flow, layout.successors[s + k - 1])
        for c in range(k - 2, 0, -1):
            before = reach.product[first + q] + c - 2
            if c == 1:
                before = row_of(layout, reach, out_flow, layout.successors[s])
            append_product(program, own + k - 2 + c - 1, before, after)
            at = row_of(layout, reach, out_flow, layout.successors[s + c])
            append_product(program, own + c - 1, at, after)
            after = own + c - 1
    for c in range(k):
        below = layout.variable[layout.successors[layout.first_successor[variable] + c]]
        for q in range(n):
            s, own = branches.successor[reach.branch[first + q]], later + 2 * q * (k - 2)
            items.key[q] = reach.label[layout.successors[s + c]]
            items.weight[q], items.left[q] = 1.0, work + q
            if k == 2:
                sibling = layout.successors[s + 1 - c]
                items.right[q] = row_of(layout, reach, out_flow, sibling)
            elif c == 0:
                items.right[q] = own
            elif c == k - 1:
                items.right[q] = reach.product[first + q] + k - 3
            else:
                items.right[q] = own + k - 2 + c - 1
        start = rows.in_flow + layout.first_node[below]
        append_sums(program, items, n, reach.n_waiting[below], start)
    return np.int64(later + 2 * n * (k - 2))
