"""In-flow and out-flow row by row over the nodes that a row can reach.

With most cells of a row observed, few nodes are reachable under its evidence: one or a handful
per variable. They are listed level by level, so parents come before children in the list.

The flows are sums of products over one of two semirings: (+, x) of probabilities, or (log-add, +)
of their logarithms, several times slower, for rows whose probability is too small for a float. Only
logarithms distinguish impossible rows from very improbable ones.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn.pdg.inference.block_flows import SMALLEST
from exactlearn.pdg.model.layout import Layout


@in_place_kernel
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
        ``mark[node] == stamp`` marks the nodes listed; ``stamp`` must differ from row to row.
    queue
        Receives the nodes, parents before children; the number of nodes is returned.
    """
    # Taken out of the tuple first: inside of loops that costs more than the loops.
    variables, parameter, successor = layout.variable, layout.parameter, layout.successor
    successors, cardinality, n_children = layout.successors, layout.cardinality, layout.n_children
    # The roots first.
    tail = 0
    for variable in layout.order:
        if layout.forest[variable] < 0:
            queue[tail] = layout.first_node[variable]
            tail += 1
    # Then the successors of each listed node at its allowed states.
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
    logs: bool | None,
    result: NDArray[np.float64],
    counts: NDArray[np.float64],
    posterior: NDArray[np.float64],
) -> None:
    """Do what `exactlearn.pdg.inference.block_flows.block_flows` does, row by row.

    Parameters
    ----------
    logs
        True to compute with logarithms: then rows of any probability get their result, ``-inf``
        an impossible one, which adds nothing. None, not False, to compute with probabilities: the
        compiler leaves out the branches of the other semiring by the type of the argument.
    """
    downwards = counts.size > 0 or posterior.size > 0
    mark = np.full(len(layout.variable), -1, np.int64)
    queue = np.empty(len(layout.variable), np.int32)
    out_flow = np.empty(len(layout.variable))
    in_flow = np.empty(len(layout.variable))
    suffix = np.empty(len(layout.n_children))
    for i in range(len(codes)):
        n = reach(layout, parameters, codes[i], i, mark, queue)
        total = _out_flows(layout, parameters, codes[i], queue, n, logs, out_flow)
        if logs is None:
            result[i] = np.log(total) if total >= SMALLEST else np.nan
        else:
            result[i] = total
        if not (result[i] > -np.inf and downwards):
            continue
        marginal = posterior[turns[i]] if posterior.size > 0 else posterior[0]
        _in_flows(
            layout, parameters, codes[i], weights[i], queue, n, logs, out_flow, in_flow, suffix,
            counts, marginal,
        )  # fmt: skip


@in_place_kernel
def allowed_states(
    cardinality: NDArray[np.int64], row: NDArray[np.int16], variable: int | np.int64
) -> tuple[np.int64, np.int64]:
    """Return the range of states that the row allows."""
    code = np.int64(row[variable])
    if code >= 0:
        return code, code + 1
    return np.int64(0), cardinality[variable]


@in_place_kernel
def _plus(a: float, b: float, logs: bool | None) -> float:
    """Add two numbers of the semiring."""
    if logs is None:
        return a + b
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + np.log1p(np.exp(b - a))


@in_place_kernel
def _times(a: float, b: float, logs: bool | None) -> float:
    """Multiply two numbers of the semiring."""
    return a * b if logs is None else a + b


@in_place_kernel
def _out_flows(
    layout: Layout,
    parameters: NDArray[np.float64],
    row: NDArray[np.int16],
    queue: NDArray[np.int32],
    n: int,
    logs: bool | None,
    out_flow: NDArray[np.float64],
) -> float:
    """Fill the out-flows of the listed nodes, last first; return the product of the roots'."""
    variables, parameter, successor = layout.variable, layout.parameter, layout.successor
    successors, cardinality, n_children = layout.successors, layout.cardinality, layout.n_children
    forest = layout.forest
    zero, total = (0.0, 1.0) if logs is None else (-np.inf, 0.0)
    for i in range(n - 1, -1, -1):
        node = queue[i]
        variable = np.int64(variables[node])
        k = n_children[variable]
        p, s = parameter[node], successor[node]
        first, last = allowed_states(cardinality, row, variable)
        flow = zero
        for h in range(first, last):
            if parameters[p + h] > 0.0:
                product = parameters[p + h] if logs is None else np.log(parameters[p + h])
                for c in range(k):
                    product = _times(product, out_flow[successors[s + h * k + c]], logs)
                flow = _plus(flow, product, logs)
        out_flow[node] = flow
        if forest[variable] < 0:
            total = _times(total, flow, logs)
    return total


@in_place_kernel
def _in_flows(
    layout: Layout,
    parameters: NDArray[np.float64],
    row: NDArray[np.int16],
    weight: float,
    queue: NDArray[np.int32],
    n: int,
    logs: bool | None,
    out_flow: NDArray[np.float64],
    in_flow: NDArray[np.float64],
    suffix: NDArray[np.float64],
    counts: NDArray[np.float64],
    marginal: NDArray[np.float64],
) -> None:
    """Fill the in-flows of the listed nodes, first first, and add what flows through each state."""
    variables, parameter, successor = layout.variable, layout.parameter, layout.successor
    successors, cardinality, n_children = layout.successors, layout.cardinality, layout.n_children
    forest, first_state = layout.forest, layout.first_state
    zero, one = (0.0, 1.0) if logs is None else (-np.inf, 0.0)
    # The weight goes in at the roots, or with logarithms at the end, where it may be zero.
    for i in range(n):
        node = queue[i]
        in_flow[node] = zero
        if forest[variables[node]] < 0:
            in_flow[node] = weight / out_flow[node] if logs is None else -out_flow[node]
    for i in range(n):
        node = queue[i]
        variable = np.int64(variables[node])
        k = n_children[variable]
        p, s = parameter[node], successor[node]
        first, last = allowed_states(cardinality, row, variable)
        for h in range(first, last):
            theta = parameters[p + h] if logs is None else np.log(parameters[p + h])
            flow = _times(in_flow[node], theta, logs)
            if flow > zero:
                # To each child goes the product of the out-flows of its siblings.
                q = s + h * k
                suffix[k] = one
                for c in range(k - 1, -1, -1):
                    suffix[c] = _times(suffix[c + 1], out_flow[successors[q + c]], logs)
                for c in range(k):
                    child = successors[q + c]
                    through = _times(flow, suffix[c + 1], logs)
                    in_flow[child] = _plus(in_flow[child], through, logs)
                    flow = _times(flow, out_flow[child], logs)
                added = flow if logs is None else weight * np.exp(flow)
                if counts.size > 0:
                    counts[p + h] += added
                if marginal.size > 0:
                    marginal[first_state[variable] + h] += added
