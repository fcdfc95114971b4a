"""In-flow and out-flow for one row: node after node, variable after variable.

What one belief update costs is mostly overhead, so few arrays go in, nothing is looked up per node,
and below a variable without observations out-flows are one (PDG-SEM, equations 17 to 19). For what
that gains see `exactlearn.pdg.inference.passes`.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn.pdg.inference.block_flows import SMALLEST
from exactlearn.pdg.model.layout import Plan


@in_place_kernel
def check_rows(codes: NDArray[np.int16], cardinality: NDArray[np.int64]) -> tuple[int, int]:
    """Return the number of missing cells, and the first cell of a wrong code or -1."""
    missing = 0
    for i in range(len(codes)):
        for variable in range(codes.shape[1]):
            code = np.int64(codes[i, variable])
            if code < 0:
                missing += 1
            if code < -1 or code >= cardinality[variable]:
                return missing, i * codes.shape[1] + variable
    return missing, -1


@kernel
def single_posteriors(
    plan: Plan,
    parameters: NDArray[np.float64],
    codes: NDArray[np.int16],
    result: NDArray[np.float64],
    posterior: NDArray[np.float64],
) -> int:
    """Add posterior marginals and write log-likelihoods; return how many rows are left out.

    Parameters
    ----------
    codes
        State numbers, shape (rows, variables); -1 for a missing cell.
    result
        Shape (rows,); NaN, with nothing added, where a row is less probable than `SMALLEST`.
    posterior
        Shape (rows, states of all variables).
    """
    last = plan.table[len(plan.table) - 1]
    n_nodes = last[5] + last[4]
    out_flow = np.empty(n_nodes)
    in_flow = np.empty(n_nodes)
    observed = np.empty(len(plan.table), np.bool_)
    left = 0
    for i in range(len(codes)):
        observed[:] = False
        total = _out_flows(plan, parameters, codes[i], observed, out_flow)
        if total >= SMALLEST:
            result[i] = np.log(total)
            in_flow[:] = 0.0
            _in_flows(plan, parameters, codes[i], observed, out_flow, in_flow, posterior[i])
        else:
            result[i] = np.nan
            left += 1
    return left


@in_place_kernel
def _out_flows(
    plan: Plan,
    parameters: NDArray[np.float64],
    row: NDArray[np.int16],
    observed: NDArray[np.bool_],
    out_flow: NDArray[np.float64],
) -> float:
    """Fill the out-flows; mark variables with observations in their subtree. Return P(row)."""
    table, successors = plan.table, plan.successors
    total = 1.0
    for place in range(len(table) - 1, -1, -1):
        variable, parent, r, k, n, first, p, s, _ = table[place]
        code = np.int64(row[variable])
        if code >= 0:
            observed[variable] = True
        # Below a variable without observations out-flows are one.
        if not observed[variable]:
            for node in range(first, first + n):
                out_flow[node] = 1.0
            continue
        if parent >= 0:
            observed[parent] = True
        # Out-flow of each node: sum over the allowed states (equation 17).
        begin, end = (code, code + 1) if code >= 0 else (np.int64(0), r)
        for node in range(first, first + n):
            flow = 0.0
            for h in range(begin, end):
                product = parameters[p + h]
                if k == 1:
                    flow += product * out_flow[successors[s + h]]
                elif product > 0.0:
                    q = s + h * k
                    for c in range(q, q + k):
                        product *= out_flow[successors[c]]
                    flow += product
            out_flow[node] = flow
            p += r
            s += r * k
        if parent < 0:
            total *= out_flow[first]
    return total


@in_place_kernel
def _in_flows(
    plan: Plan,
    parameters: NDArray[np.float64],
    row: NDArray[np.int16],
    observed: NDArray[np.bool_],
    out_flow: NDArray[np.float64],
    in_flow: NDArray[np.float64],
    marginal: NDArray[np.float64],
) -> None:
    table, successors = plan.table, plan.successors
    for place in range(len(table)):
        variable, parent, r, k, n, first, p, s, state = table[place]
        code = np.int64(row[variable])
        begin, end = (code, code + 1) if code >= 0 else (np.int64(0), r)
        if parent < 0:
            in_flow[first] = 1.0 / out_flow[first]
        # Where nothing below is observed, out-flows are one.
        share = observed[variable] and k > 1
        # Pass the in-flow of each node on through its allowed states (equations 18 and 19).
        for node in range(first, first + n):
            into = in_flow[node]
            for h in range(begin, end if into > 0.0 else begin):
                flow = into * parameters[p + h]
                if flow > 0.0:
                    q = s + h * k
                    if share:
                        flow = _share(successors, q, k, flow, out_flow, in_flow)
                    elif k == 1:
                        child = successors[q]
                        in_flow[child] += flow
                        flow *= out_flow[child]
                    else:
                        for c in range(q, q + k):
                            in_flow[successors[c]] += flow
                    marginal[state + h] += flow
            p += r
            s += r * k


@in_place_kernel
def _share(
    successors: NDArray[np.int32],
    q: int,
    k: int,
    flow: float,
    out_flow: NDArray[np.float64],
    in_flow: NDArray[np.float64],
) -> float:
    """Pass a flow on to k successors, to each times its siblings' out-flows (equation 19).

    Return it times the out-flows of all. Products of the siblings before and after, so that
    nothing is divided by; the number of products is k * k / 2, but k is small.
    """
    for c in range(q, q + k):
        part = flow
        for other in range(c + 1, q + k):
            part *= out_flow[successors[other]]
        child = successors[c]
        in_flow[child] += part
        flow *= out_flow[child]
    return flow
