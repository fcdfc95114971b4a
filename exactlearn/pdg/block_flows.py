"""In-flow and out-flow for many rows side by side: every node once, rows in the inner loops.

Out-flow (PDG-SEM, equation 17) goes up, in-flow (18, 19) goes down; products over the siblings
of a child are formed by prefix and suffix, so that an out-flow of zero never divides.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn.kernel import kernel, overwrite
from exactlearn.pdg.layout import Layout

SMALLEST = 1e-250
"""Rows less probable than this are left to `exactlearn.pdg.log_flows`: a flow that underflows is
below 1e-307, so in all other rows what is lost is beyond the last digit."""


@kernel
def block_log_likelihoods(
    layout: Layout,
    parameters: NDArray[np.float64],
    codes: NDArray[np.int16],
    block: int,
    result: NDArray[np.float64],
) -> None:
    """Write each row's log-likelihood, or NaN where it is below `SMALLEST`, into ``result``."""
    evidence = np.empty((layout.cardinality.sum(), block))
    out_flow = np.empty((len(layout.variable), block))
    product = np.empty(block)
    total = np.empty(block)
    observed = np.empty(len(layout.order), np.bool_)
    for start in range(0, len(codes), block):
        rows = codes[start : start + block]
        _upward(
            layout, parameters, rows, evidence, observed, out_flow, product, total, result[start:]
        )


@kernel
def block_expectation(
    layout: Layout,
    parameters: NDArray[np.float64],
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
    block: int,
    result: NDArray[np.float64],
    counts: NDArray[np.float64],
    posterior: NDArray[np.float64],
) -> None:
    """Add expected counts, or write posterior marginals; log-likelihoods as above.

    ``counts``, shape as ``parameters``, gains each row's weight times the probability of (node
    reached, state) given the row (PDG-SEM, equations 21 and 22). ``posterior``, shape (rows,
    states of all variables), gets the weighted marginals. One of them may be empty; rows below
    `SMALLEST` add nothing.
    """
    evidence = np.empty((layout.cardinality.sum(), block))
    out_flow = np.empty((len(layout.variable), block))
    in_flow = np.empty((len(layout.variable), block))
    marginal = np.empty((posterior.shape[1], block))
    product = np.empty(block)
    work = np.empty((layout.n_children.max() + 1, block))
    total = np.empty(block)
    observed = np.empty(len(layout.order), np.bool_)
    for start in range(0, len(codes), block):
        rows = codes[start : start + block]
        _upward(
            layout, parameters, rows, evidence, observed, out_flow, product, total, result[start:]
        )
        _root_in_flows(layout, out_flow, weights[start : start + block], total, in_flow)
        marginal[:] = 0.0
        _in_flows(
            layout, parameters, evidence, len(rows), out_flow, in_flow, work, counts, marginal
        )
        for b in range(len(rows) if posterior.size > 0 else 0):
            overwrite(posterior[start + b], marginal[:, b])


@kernel
def _upward(
    layout: Layout,
    parameters: NDArray[np.float64],
    rows: NDArray[np.int16],
    evidence: NDArray[np.float64],
    observed: NDArray[np.bool_],
    out_flow: NDArray[np.float64],
    product: NDArray[np.float64],
    total: NDArray[np.float64],
    result: NDArray[np.float64],
) -> None:
    """Fill the out-flows of a block of rows, their probabilities and log-likelihoods."""
    _enter_evidence(layout, rows, evidence, observed)
    _out_flows(layout, parameters, evidence, observed, len(rows), out_flow, product)
    _root_product(layout, out_flow, len(rows), total)
    for b in range(len(rows)):
        result[b] = np.log(total[b]) if total[b] >= SMALLEST else np.nan


@kernel
def _enter_evidence(
    layout: Layout,
    rows: NDArray[np.int16],
    evidence: NDArray[np.float64],
    observed: NDArray[np.bool_],
) -> None:
    """Set 0/1 indicators of states that a row allows; mark trees below which anything is seen."""
    observed[:] = False
    for variable in layout.order[::-1]:
        first = layout.first_state[variable]
        for h in range(layout.cardinality[variable]):
            for b in range(len(rows)):
                evidence[first + h, b] = rows[b, variable] == h or rows[b, variable] < 0
        for b in range(len(rows)):
            if rows[b, variable] >= 0:
                observed[variable] = True
                break
        if observed[variable] and layout.forest[variable] >= 0:
            observed[layout.forest[variable]] = True


@kernel
def _out_flows(
    layout: Layout,
    parameters: NDArray[np.float64],
    evidence: NDArray[np.float64],
    observed: NDArray[np.bool_],
    n: int,
    out_flow: NDArray[np.float64],
    product: NDArray[np.float64],
) -> None:
    # Elements are addressed as out_flow[node, b]: a view of a row costs more than the arithmetic.
    for variable in layout.order[::-1]:
        k = layout.n_children[variable]
        first = layout.first_node[variable]
        p = layout.first_parameter[variable]
        s = layout.first_successor[variable]
        for node in range(first, first + layout.n_nodes[variable]):
            if not observed[variable]:
                for b in range(n):
                    out_flow[node, b] = 1.0
                continue
            for b in range(n):
                out_flow[node, b] = 0.0
            for h in range(layout.cardinality[variable]):
                theta, state = parameters[p], layout.first_state[variable] + h
                if theta > 0.0 and k == 0:
                    for b in range(n):
                        out_flow[node, b] += theta * evidence[state, b]
                elif theta > 0.0 and k == 1:
                    child = layout.successors[s]
                    for b in range(n):
                        out_flow[node, b] += theta * evidence[state, b] * out_flow[child, b]
                elif theta > 0.0 and k == 2:
                    child, other = layout.successors[s], layout.successors[s + 1]
                    for b in range(n):
                        out_flow[node, b] += (
                            theta * evidence[state, b] * out_flow[child, b] * out_flow[other, b]
                        )
                elif theta > 0.0:
                    for b in range(n):
                        product[b] = theta * evidence[state, b]
                    for c in range(k - 1):
                        child = layout.successors[s + c]
                        for b in range(n):
                            product[b] *= out_flow[child, b]
                    child = layout.successors[s + k - 1]
                    for b in range(n):
                        out_flow[node, b] += product[b] * out_flow[child, b]
                p += 1
                s += k


@kernel
def _root_product(
    layout: Layout, out_flow: NDArray[np.float64], n: int, total: NDArray[np.float64]
) -> None:
    total[:n] = 1.0
    for variable in layout.order:
        if layout.forest[variable] < 0:
            for b in range(n):
                total[b] *= out_flow[layout.first_node[variable], b]


@kernel
def _root_in_flows(
    layout: Layout,
    out_flow: NDArray[np.float64],
    weights: NDArray[np.float64],
    total: NDArray[np.float64],
    in_flow: NDArray[np.float64],
) -> None:
    """Start in-flows at weight over row probability, so that flows add up to weighted posteriors.

    Equation 18 divided by the row's probability leaves one over the root's own out-flow.
    """
    in_flow[:] = 0.0
    for variable in layout.order:
        if layout.forest[variable] < 0:
            root = layout.first_node[variable]
            for b in range(len(weights)):
                if total[b] >= SMALLEST:
                    in_flow[root, b] = weights[b] / out_flow[root, b]


@kernel
def _in_flows(
    layout: Layout,
    parameters: NDArray[np.float64],
    evidence: NDArray[np.float64],
    n: int,
    out_flow: NDArray[np.float64],
    in_flow: NDArray[np.float64],
    work: NDArray[np.float64],
    counts: NDArray[np.float64],
    marginal: NDArray[np.float64],
) -> None:
    # Each pass over the rows does all it can: loading and storing costs more than arithmetic.
    counting = counts.size > 0
    for variable in layout.order:
        k = layout.n_children[variable]
        p = layout.first_parameter[variable]
        s = layout.first_successor[variable]
        first = layout.first_node[variable]
        for node in range(first, first + layout.n_nodes[variable]):
            for h in range(layout.cardinality[variable]):
                theta, state = parameters[p], layout.first_state[variable] + h
                if theta > 0.0 and k == 0 and not counting:
                    for b in range(n):
                        marginal[state, b] += in_flow[node, b] * theta * evidence[state, b]
                elif theta > 0.0 and k == 1 and not counting:
                    child = layout.successors[s]
                    for b in range(n):
                        flow = in_flow[node, b] * theta * evidence[state, b]
                        in_flow[child, b] += flow
                        marginal[state, b] += flow * out_flow[child, b]
                elif theta > 0.0:
                    for b in range(n):
                        work[0, b] = in_flow[node, b] * theta * evidence[state, b]
                    _share(layout.successors, s, k, n, out_flow, in_flow, work)
                    for b in range(n if marginal.size > 0 else 0):
                        marginal[state, b] += work[0, b]
                    if counting:
                        counts[p] += _sum_first(work, n)
                p += 1
                s += k


@kernel
def _share(
    successors: NDArray[np.int32],
    s: int,
    k: int,
    n: int,
    out_flow: NDArray[np.float64],
    in_flow: NDArray[np.float64],
    work: NDArray[np.float64],
) -> None:
    """Pass ``work[0]`` on to k successors, to each times its siblings' out-flows (equation 19).

    Afterwards ``work[0]`` is the product with all of them. Row c of ``work`` holds the product of
    the out-flows from successor c on.
    """
    for c in range(k - 1, 0, -1):
        child = successors[s + c]
        if c == k - 1:
            for b in range(n):
                work[c, b] = out_flow[child, b]
        else:
            for b in range(n):
                work[c, b] = work[c + 1, b] * out_flow[child, b]
    for c in range(k):
        child = successors[s + c]
        if c == k - 1:
            for b in range(n):
                flow = work[0, b]
                in_flow[child, b] += flow
                work[0, b] = flow * out_flow[child, b]
        else:
            for b in range(n):
                flow = work[0, b]
                in_flow[child, b] += flow * work[c + 1, b]
                work[0, b] = flow * out_flow[child, b]


@kernel
def _sum_first(values: NDArray[np.float64], n: int) -> float:
    """Sum the first row with four independent partial sums: they do not wait for each other."""
    a = b = c = d = 0.0
    whole = n - n % 4
    for i in range(0, whole, 4):
        a += values[0, i]
        b += values[0, i + 1]
        c += values[0, i + 2]
        d += values[0, i + 3]
    for i in range(whole, n):
        a += values[0, i]
    return (a + b) + (c + d)
