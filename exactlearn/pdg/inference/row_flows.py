"""In-flow and out-flow row by row over the nodes that a row can reach.

With most cells of a row observed, few nodes are reachable under its evidence: one or a handful
per variable. They are listed level by level, so parents come before children in the list.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn.pdg.inference.block_flows import SMALLEST
from exactlearn.pdg.model.layout import Layout


@kernel
def reach(
    layout: Layout,
    parameters: NDArray[np.float64],
    row: NDArray[np.int16],
    stamp: int,
    mark: NDArray[np.int64],
    queue: NDArray[np.int32],
) -> int:
    """List the nodes reachable with positive probability under a row's evidence.

    Parameters
    ----------
    stamp, mark
        ``mark[node] == stamp`` tells the nodes listed; ``stamp`` must differ from row to row.
    queue
        Receives the nodes, parents before children; the number of nodes is returned.
    """
    # Taken out of the tuple first: inside of loops that costs more than the loops.
    variables, parameter, successor = layout.variable, layout.parameter, layout.successor
    successors, cardinality, n_children = layout.successors, layout.cardinality, layout.n_children
    tail = 0
    for variable in layout.order:
        if layout.forest[variable] < 0:
            queue[tail] = layout.first_node[variable]
            tail += 1
    head = 0
    while head < tail:
        node = queue[head]
        head += 1
        variable = np.int64(variables[node])
        k = n_children[variable]
        if k == 0:
            continue
        first, last = allowed_states(cardinality, row, variable)
        p, s = parameter[node], successor[node]
        for h in range(first, last):
            if parameters[p + h] > 0.0:
                for c in range(k):
                    child = successors[s + h * k + c]
                    if mark[child] != stamp:
                        mark[child] = stamp
                        queue[tail] = child
                        tail += 1
    return tail


@kernel
def count_reached(layout: Layout, parameters: NDArray[np.float64], codes: NDArray[np.int16]) -> int:
    """Return how many nodes all rows reach, each on its own."""
    mark = np.full(len(layout.variable), -1, np.int64)
    queue = np.empty(len(layout.variable), np.int32)
    total = 0
    for i in range(len(codes)):
        total += reach(layout, parameters, codes[i], i, mark, queue)
    return total


@kernel
def row_flows(
    layout: Layout,
    parameters: NDArray[np.float64],
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
    turns: NDArray[np.int64],
    result: NDArray[np.float64],
    counts: NDArray[np.float64],
    posterior: NDArray[np.float64],
) -> None:
    """Do what `exactlearn.pdg.inference.block_flows.block_flows` does, row by row."""
    downwards = counts.size > 0 or posterior.size > 0
    mark = np.full(len(layout.variable), -1, np.int64)
    queue = np.empty(len(layout.variable), np.int32)
    out_flow = np.empty(len(layout.variable))
    in_flow = np.empty(len(layout.variable))
    suffix = np.empty(layout.n_children.max() + 1)
    for i in range(len(codes)):
        n = reach(layout, parameters, codes[i], i, mark, queue)
        total = _out_flows(layout, parameters, codes[i], queue, n, out_flow)
        result[i] = np.log(total) if total >= SMALLEST else np.nan
        if total < SMALLEST or not downwards:
            continue
        marginal = posterior[turns[i]] if posterior.size > 0 else posterior[0]
        _in_flows(
            layout, parameters, codes[i], weights[i], queue, n, out_flow, in_flow, suffix, counts,
            marginal,
        )  # fmt: skip


@kernel
def allowed_states(
    cardinality: NDArray[np.int64], row: NDArray[np.int16], variable: int | np.int64
) -> tuple[np.int64, np.int64]:
    """Return the range of states that the row allows."""
    code = np.int64(row[variable])
    if code >= 0:
        return code, code + 1
    return np.int64(0), cardinality[variable]


@kernel
def _out_flows(
    layout: Layout,
    parameters: NDArray[np.float64],
    row: NDArray[np.int16],
    queue: NDArray[np.int32],
    n: int,
    out_flow: NDArray[np.float64],
) -> float:
    """Fill the out-flows of the listed nodes, last first; return the product of the roots'."""
    variables, parameter, successor = layout.variable, layout.parameter, layout.successor
    successors, cardinality, n_children = layout.successors, layout.cardinality, layout.n_children
    forest = layout.forest
    total = 1.0
    for i in range(n - 1, -1, -1):
        node = queue[i]
        variable = np.int64(variables[node])
        k = n_children[variable]
        p, s = parameter[node], successor[node]
        first, last = allowed_states(cardinality, row, variable)
        flow = 0.0
        for h in range(first, last):
            product = parameters[p + h]
            if product > 0.0:
                for c in range(k):
                    product *= out_flow[successors[s + h * k + c]]
                flow += product
        out_flow[node] = flow
        if forest[variable] < 0:
            total *= flow
    return total


@kernel
def _in_flows(
    layout: Layout,
    parameters: NDArray[np.float64],
    row: NDArray[np.int16],
    weight: float,
    queue: NDArray[np.int32],
    n: int,
    out_flow: NDArray[np.float64],
    in_flow: NDArray[np.float64],
    suffix: NDArray[np.float64],
    counts: NDArray[np.float64],
    marginal: NDArray[np.float64],
) -> None:
    variables, parameter, successor = layout.variable, layout.parameter, layout.successor
    successors, cardinality, n_children = layout.successors, layout.cardinality, layout.n_children
    forest, first_state = layout.forest, layout.first_state
    for i in range(n):
        root = forest[variables[queue[i]]] < 0
        in_flow[queue[i]] = weight / out_flow[queue[i]] if root else 0.0
    for i in range(n):
        node = queue[i]
        variable = np.int64(variables[node])
        k = n_children[variable]
        p, s = parameter[node], successor[node]
        first, last = allowed_states(cardinality, row, variable)
        for h in range(first, last):
            flow = in_flow[node] * parameters[p + h]
            if flow > 0.0:
                q = s + h * k
                suffix[k] = 1.0
                for c in range(k - 1, -1, -1):
                    suffix[c] = suffix[c + 1] * out_flow[successors[q + c]]
                for c in range(k):
                    child = successors[q + c]
                    in_flow[child] += flow * suffix[c + 1]
                    flow *= out_flow[child]
                if counts.size > 0:
                    counts[p + h] += flow
                if marginal.size > 0:
                    marginal[first_state[variable] + h] += flow
