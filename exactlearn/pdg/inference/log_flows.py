"""In-flow and out-flow as logarithms, for rows whose probability is too small for a float.

The same passes as `exactlearn.pdg.inference.row_flows`, several times slower; they also tell rows
that are impossible from rows that are merely very improbable.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn.pdg.inference.row_flows import allowed_states, reach
from exactlearn.pdg.model.layout import Layout


@kernel
def log_expectation(
    layout: Layout,
    parameters: NDArray[np.float64],
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
    result: NDArray[np.float64],
    counts: NDArray[np.float64],
    posterior: NDArray[np.float64],
) -> None:
    """Do what `exactlearn.pdg.inference.block_flows.block_flows` does, for rows of any probability.

    Impossible rows get a log-likelihood of ``-inf`` and add nothing.
    """
    mark = np.full(len(layout.variable), -1, np.int64)
    queue = np.empty(len(layout.variable), np.int32)
    out_flow = np.empty(len(layout.variable))
    in_flow = np.empty(len(layout.variable))
    suffix = np.empty(layout.n_children.max() + 1)
    for i in range(len(codes)):
        n = reach(layout, parameters, codes[i], i, mark, queue)
        result[i] = _out_flows(layout, parameters, codes[i], queue, n, out_flow)
        if result[i] == -np.inf or (counts.size == 0 and posterior.size == 0):
            continue
        marginal = posterior[i] if posterior.size > 0 else posterior[0]
        _in_flows(
            layout, parameters, codes[i], weights[i], queue, n, out_flow, in_flow, suffix, counts,
            marginal,
        )  # fmt: skip


@kernel
def _log_add(a: float, b: float) -> float:
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + np.log1p(np.exp(b - a))


@kernel
def _out_flows(
    layout: Layout,
    parameters: NDArray[np.float64],
    row: NDArray[np.int16],
    queue: NDArray[np.int32],
    n: int,
    out_flow: NDArray[np.float64],
) -> float:
    total = 0.0
    for i in range(n - 1, -1, -1):
        node = queue[i]
        variable = layout.variable[node]
        k = layout.n_children[variable]
        p, s = layout.parameter[node], layout.successor[node]
        first, last = allowed_states(layout.cardinality, row, variable)
        flow = -np.inf
        for h in range(first, last):
            if parameters[p + h] > 0.0:
                product = np.log(parameters[p + h])
                for c in range(k):
                    product += out_flow[layout.successors[s + h * k + c]]
                flow = _log_add(flow, product)
        out_flow[node] = flow
        if layout.forest[variable] < 0:
            total += flow
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
    for i in range(n):
        root = layout.forest[layout.variable[queue[i]]] < 0
        in_flow[queue[i]] = -out_flow[queue[i]] if root else -np.inf
    for i in range(n):
        node = queue[i]
        variable = layout.variable[node]
        k = layout.n_children[variable]
        p, s = layout.parameter[node], layout.successor[node]
        first, last = allowed_states(layout.cardinality, row, variable)
        for h in range(first, last):
            if parameters[p + h] > 0.0 and in_flow[node] > -np.inf:
                flow = in_flow[node] + np.log(parameters[p + h])
                q = s + h * k
                suffix[k] = 0.0
                for c in range(k - 1, -1, -1):
                    suffix[c] = suffix[c + 1] + out_flow[layout.successors[q + c]]
                for c in range(k):
                    child = layout.successors[q + c]
                    in_flow[child] = _log_add(in_flow[child], flow + suffix[c + 1])
                    flow += out_flow[child]
                if counts.size > 0:
                    counts[p + h] += weight * np.exp(flow)
                if marginal.size > 0:
                    marginal[layout.first_state[variable] + h] += weight * np.exp(flow)
