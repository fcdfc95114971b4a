"""Out-flows of many rows side by side (PDG-SEM, equation 17), and the sums that flows consist of.

Each pass over the rows does all it can: loading and storing costs more than arithmetic. Elements
are addressed as ``rows[i, b]``: a view of a row costs more than the arithmetic, too.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn.kernel import kernel
from exactlearn.pdg.block_space import Space
from exactlearn.pdg.branches import Branches
from exactlearn.pdg.layout import Layout


@kernel
def fill_out_flows(
    layout: Layout, branches: Branches, parameters: NDArray[np.float64], n: int, space: Space
) -> None:
    """Fill the out-flows of a block of rows, from the leaves of the forest to its roots."""
    for place in range(len(layout.order) - 1, -1, -1):
        variable = layout.order[place]
        k = layout.n_children[variable]
        if k == 1:
            _chain_out_flows(layout, variable, parameters, n, space)
            continue
        if k > 1:
            branch_out_flows(layout, branches, place, n, space)
        first = layout.first_node[variable]
        weighted_sums(
            space.out_flow, first, first + layout.n_nodes[variable], 0, layout.parameter,
            branches.branch, parameters, space.through if k > 1 else space.evidence,
            0 if k > 1 else layout.first_state[variable], n,
        )  # fmt: skip


@kernel
def _chain_out_flows(
    layout: Layout, variable: int, parameters: NDArray[np.float64], n: int, space: Space
) -> None:
    """Fill the out-flows of a variable with one child, up to three states in each pass."""
    out, evidence, successors = space.out_flow, space.evidence, layout.successors
    r, state = layout.cardinality[variable], layout.first_state[variable]
    first = layout.first_node[variable]
    p, s = layout.first_parameter[variable], layout.first_successor[variable]
    head = (r - 1) % 3 + 1
    for node in range(first, first + layout.n_nodes[variable]):
        i, u = successors[s], parameters[p]
        if head == 1:
            for b in range(n):
                out[node, b] = u * evidence[state, b] * out[i, b]
        elif head == 2:
            j, v = successors[s + 1], parameters[p + 1]
            for b in range(n):
                out[node, b] = (
                    u * evidence[state, b] * out[i, b] + v * evidence[state + 1, b] * out[j, b]
                )
        else:
            j, v = successors[s + 1], parameters[p + 1]
            k, w = successors[s + 2], parameters[p + 2]
            for b in range(n):
                out[node, b] = (
                    u * evidence[state, b] * out[i, b]
                    + v * evidence[state + 1, b] * out[j, b]
                    + w * evidence[state + 2, b] * out[k, b]
                )
        for h in range(head, r, 3):
            i, u = successors[s + h], parameters[p + h]
            j, v = successors[s + h + 1], parameters[p + h + 1]
            k, w = successors[s + h + 2], parameters[p + h + 2]
            for b in range(n):
                out[node, b] += (
                    u * evidence[state + h, b] * out[i, b]
                    + v * evidence[state + h + 1, b] * out[j, b]
                    + w * evidence[state + h + 2, b] * out[k, b]
                )
        p += r
        s += r


@kernel
def branch_out_flows(layout: Layout, branches: Branches, place: int, n: int, space: Space) -> None:
    """Multiply, for each branch of a variable, evidence with the successors' out-flows."""
    out_flow, through, evidence = space.out_flow, space.through, space.evidence
    k, first = layout.n_children[layout.order[place]], branches.first[place]
    for q in range(branches.first[place + 1] - first):
        state, s = branches.state[first + q], branches.successor[first + q]
        if k == 0:
            for b in range(n):
                through[q, b] = evidence[state, b]
        elif k == 1:
            child = layout.successors[s]
            for b in range(n):
                through[q, b] = evidence[state, b] * out_flow[child, b]
        else:
            child, other = layout.successors[s], layout.successors[s + 1]
            for b in range(n):
                through[q, b] = evidence[state, b] * out_flow[child, b] * out_flow[other, b]
        for c in range(s + 2, s + k):
            child = layout.successors[c]
            for b in range(n):
                through[q, b] *= out_flow[child, b]


@kernel
def weighted_sums(
    target: NDArray[np.float64],
    first: int,
    last: int,
    shift: int,
    offsets: NDArray[np.int64],
    places: NDArray[np.int64],
    weights: NDArray[np.float64],
    rows: NDArray[np.float64],
    from_: int,
    n: int,
) -> None:
    """Let row t of the target be the sum of rows ``from_ + places[i]``, i between t's offsets.

    Row t stands at place t - ``shift`` of the target.
    """
    for t in range(first, last):
        begin, end = offsets[t], offsets[t + 1]
        to = t - shift
        several = begin + (end - begin) % 4
        if several == begin + 1:
            i, u = from_ + places[begin], weights[begin]
            for b in range(n):
                target[to, b] = u * rows[i, b]
        elif several == begin + 2:
            i, j = from_ + places[begin], from_ + places[begin + 1]
            u, v = weights[begin], weights[begin + 1]
            for b in range(n):
                target[to, b] = u * rows[i, b] + v * rows[j, b]
        elif several == begin + 3:
            i, j = from_ + places[begin], from_ + places[begin + 1]
            k = from_ + places[begin + 2]
            u, v, w = weights[begin], weights[begin + 1], weights[begin + 2]
            for b in range(n):
                target[to, b] = u * rows[i, b] + v * rows[j, b] + w * rows[k, b]
        else:
            for b in range(n):
                target[to, b] = 0.0
        for a in range(several, end, 4):
            i, j = from_ + places[a], from_ + places[a + 1]
            k, m = from_ + places[a + 2], from_ + places[a + 3]
            u, v, w, x = weights[a], weights[a + 1], weights[a + 2], weights[a + 3]
            for b in range(n):
                target[to, b] += u * rows[i, b] + v * rows[j, b] + w * rows[k, b] + x * rows[m, b]
