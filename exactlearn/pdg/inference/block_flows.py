"""In-flow and out-flow for many rows side by side, block after block.

Evidence, out-flows, in-flows and marginals are the rows of one table, the block's rows side by
side in each. Out-flows (PDG-SEM, equation 17; `exactlearn.pdg.inference.block_out_flow`) and
in-flows (18, 19; `exactlearn.pdg.inference.block_in_flow`) are lists of sums of products of such
rows, which one loop computes (`exactlearn.pdg.inference.block_program`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn.pdg.inference.block_in_flow import descend, items_space
from exactlearn.pdg.inference.block_out_flow import (
    Branches,
    Reach,
    Rows,
    ascend,
    branches_of,
    reach_space,
)
from exactlearn.pdg.inference.block_program import Program, program_space, run
from exactlearn.pdg.model.layout import Layout

SMALLEST = 1e-250
"""Rows less probable than this are computed with logarithms. A flow that underflows is below
1e-307, so that all other rows lose nothing before the last digit."""

MOST_BITS = 62
"""States from here on share a bit: that they are allowed when one of them is costs little."""


class Evidence(NamedTuple):
    """The evidence of a block of rows.

    Attributes
    ----------
    code
        The rows themselves, shape (variables, rows).
    allowed
        Whether some row allows a state, shape (states of all variables,).
    missing, n_missing
        The rows that miss a variable, shape (variables, rows), and how many these are.
    wanted
        Whether in-flows below a variable are needed, shape (variables,): a row misses it or one
        below, or all are.
    """

    code: NDArray[np.int16]
    allowed: NDArray[np.bool_]
    missing: NDArray[np.int32]
    n_missing: NDArray[np.int64]
    wanted: NDArray[np.bool_]


class Sizes(NamedTuple):
    """Most sums and terms of the programs upwards and downwards, and where flows stand."""

    up_sums: int
    up_terms: int
    down_sums: int
    down_terms: int
    rows: Rows


@kernel
def block_flows(
    layout: Layout,
    parameters: NDArray[np.float64],
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
    turns: NDArray[np.int64],
    block: int,
    result: NDArray[np.float64],
    counts: NDArray[np.float64],
    posterior: NDArray[np.float64],
) -> None:
    """Write log-likelihoods, add expected counts, write posterior marginals.

    Parameters
    ----------
    codes
        The rows; it is fastest where they reach what their neighbours reach.
    weights
        Weight of each row, shape (rows,); not read where only log-likelihoods are wanted.
    turns
        Where the marginals of each row go, shape (rows,).
    block
        How many rows stand side by side.
    result
        Gets each row's log-likelihood, NaN where its probability is below `SMALLEST`.
    counts
        Shape as ``parameters``, gains each row's weight times the probability of (node reached,
        state) given the row (PDG-SEM, equations 21 and 22); or empty.
    posterior
        Zeros, shape (rows, states of all variables), get the weighted marginals; or without
        columns. Rows below `SMALLEST` add nothing to either.
    """
    marginals, counting = posterior.size > 0, counts.size > 0
    branches = branches_of(layout)
    sizes = _sizes(layout, branches, marginals or counting)
    rows, reach = sizes.rows, reach_space(layout, branches, sizes.up_terms)
    up = program_space(sizes.up_sums, sizes.up_terms)
    down = program_space(sizes.down_sums, sizes.down_terms)
    evidence, items = evidence_space(layout, block), items_space(layout)
    flow, scale = np.empty((rows.end, block)), np.empty(block)
    # Block after block: evidence, out-flows, probabilities, in-flows, counts and marginals.
    for start in range(0, len(codes), block):
        n = min(block, len(codes) - start)
        enter_evidence(layout, codes, start, n, marginals, counting, evidence, flow)
        row = ascend(layout, branches, parameters, evidence.allowed, start, rows, reach, up)
        run(up, True, flow, n)
        _enter_totals(layout, rows.out_flow, start, n, flow, scale, result)
        if not (marginals or counting):
            continue
        _root_in_flows(layout, rows, weights, start, n, flow, scale)
        descend(
            layout, branches, rows, row, reach, up, evidence.wanted, evidence.n_missing, items, down
        )
        run(down, False, flow, n)
        if counting:
            _add_counts(reach, up, rows.in_flow, n, flow, counts)
        if marginals:
            _write_marginals(
                layout, codes, turns, start, n, rows.marginal, evidence, flow, scale, posterior
            )


@kernel
def count_terms(
    layout: Layout, parameters: NDArray[np.float64], codes: NDArray[np.int16], block: int
) -> np.int64:
    """Return how many terms the out-flows of all blocks together have."""
    branches = branches_of(layout)
    sizes, evidence = _sizes(layout, branches, False), evidence_space(layout, block)
    reach = reach_space(layout, branches, sizes.up_terms)
    up = program_space(sizes.up_sums, sizes.up_terms)
    flow, total = np.empty((sizes.rows.end, block)), np.int64(0)
    for start in range(0, len(codes), block):
        n = min(block, len(codes) - start)
        enter_evidence(layout, codes, start, n, False, False, evidence, flow)
        ascend(layout, branches, parameters, evidence.allowed, start, sizes.rows, reach, up)
        total += up.size[1]
    return total


@kernel
def _sizes(layout: Layout, branches: Branches, downwards: bool) -> Sizes:
    """Return how much room is needed at most."""
    nodes, arcs = len(layout.variable), layout.parameter[len(layout.variable)]
    states = layout.cardinality.sum()
    products = shares = inflows = 0
    for place in range(len(layout.order)):
        k = layout.n_children[layout.order[place]]
        if k > 1:
            size = branches.first[place + 1] - branches.first[place]
            products += size * (k - 1)
            shares += size * (1 + 2 * (k - 2))
            inflows += size * k
    begin = states + (2 * nodes + states if downwards else nodes)
    end = begin + products + (shares if downwards else 0)
    rows = Rows(states, states + nodes, states + 2 * nodes, begin, end)
    down_sums = states + nodes + shares if downwards else 0
    down_terms = 2 * arcs + shares + inflows if downwards else 0
    return Sizes(nodes + products, arcs + products, down_sums, down_terms, rows)


@in_place_kernel
def _enter_totals(
    layout: Layout,
    out_flow: np.int64,
    start: int,
    n: int,
    flow: NDArray[np.float64],
    total: NDArray[np.float64],
    result: NDArray[np.float64],
) -> None:
    """Fill the rows' probabilities, the product of the roots' out-flows, and their logarithms."""
    for b in range(n):
        total[b] = 1.0
    for variable in layout.order:
        if layout.forest[variable] < 0:
            root = out_flow + layout.first_node[variable]
            for b in range(n):
                total[b] *= flow[root, b]
    for b in range(n):
        result[start + b] = np.log(total[b]) if total[b] >= SMALLEST else np.nan


@in_place_kernel
def _root_in_flows(
    layout: Layout,
    rows: Rows,
    weights: NDArray[np.float64],
    start: int,
    n: int,
    flow: NDArray[np.float64],
    scale: NDArray[np.float64],
) -> None:
    """Start in-flows at weight over row probability, so that flows add up to weighted posteriors.

    Equation 18 divided by the row's probability leaves one over the root's own out-flow. ``scale``
    holds the rows' probabilities, and gets the weights of those that are not left out.
    """
    for b in range(n):
        scale[b] = weights[start + b] if scale[b] >= SMALLEST else 0.0
    for variable in layout.order:
        if layout.forest[variable] < 0:
            node = layout.first_node[variable]
            for b in range(n):
                out = flow[rows.out_flow + node, b]
                flow[rows.in_flow + node, b] = scale[b] / out if out > 0.0 else 0.0


@in_place_kernel
def _add_counts(
    reach: Reach,
    up: Program,
    in_flow: np.int64,
    n: int,
    flow: NDArray[np.float64],
    counts: NDArray[np.float64],
) -> None:
    """Add the rows' expected counts, by partial sums that do not wait for each other."""
    left, right, weight = up.left, up.right, up.weight
    tail, parameter, whole = reach.tail, reach.parameter, n - n % 4
    for place in range(len(reach.first_arc)):
        for a in range(reach.first_arc[place], reach.last_arc[place]):
            i, j, k = in_flow + tail[a], left[a], right[a]
            s = t = u = v = 0.0
            for b in range(0, whole, 4):
                s += flow[i, b] * flow[j, b] * flow[k, b]
                t += flow[i, b + 1] * flow[j, b + 1] * flow[k, b + 1]
                u += flow[i, b + 2] * flow[j, b + 2] * flow[k, b + 2]
                v += flow[i, b + 3] * flow[j, b + 3] * flow[k, b + 3]
            for b in range(whole, n):
                s += flow[i, b] * flow[j, b] * flow[k, b]
            counts[parameter[a]] += weight[a] * ((s + t) + (u + v))


@in_place_kernel
def _write_marginals(
    layout: Layout,
    codes: NDArray[np.int16],
    turns: NDArray[np.int64],
    start: int,
    n: int,
    marginal: np.int64,
    evidence: Evidence,
    flow: NDArray[np.float64],
    scale: NDArray[np.float64],
    posterior: NDArray[np.float64],
) -> None:
    """Write the rows' marginals: their weights where a variable is observed."""
    first_state, cardinality = layout.first_state, layout.cardinality
    n_missing, missing = evidence.n_missing, evidence.missing
    for b in range(n):
        row, to, own = start + b, turns[start + b], scale[b]
        for variable in range(len(first_state)):
            posterior[to, first_state[variable] + max(0, np.int64(codes[row, variable]))] = own
    for variable in range(len(first_state)):
        first, r = first_state[variable], cardinality[variable]
        for i in range(n_missing[variable]):
            m = np.int64(missing[variable, i])
            for state in range(first, first + r):
                posterior[turns[start + m], state] = flow[marginal + state, m]


@kernel
def evidence_space(layout: Layout, block: int) -> Evidence:
    """Return room for the evidence of a block."""
    variables = len(layout.order)
    return Evidence(
        np.empty((variables, block), np.int16),
        np.empty(layout.cardinality.sum(), np.bool_),
        np.empty((variables, block), np.int32),
        np.empty(variables, np.int64),
        np.empty(variables, np.bool_),
    )


@in_place_kernel
def enter_evidence(
    layout: Layout,
    codes: NDArray[np.int16],
    start: int,
    n: int,
    marginals: bool,
    counting: bool,
    evidence: Evidence,
    flow: NDArray[np.float64],
) -> None:
    """Set 0/1 indicators of the states that rows allow, and list the missing cells.

    Parameters
    ----------
    start, n
        The rows are ``codes[start:start + n]``.
    marginals, counting
        Whether missing cells matter, and whether all in-flows are needed.
    flow
        The table of flows gets a row for each allowed state.
    """
    code, allowed, n_missing = evidence.code, evidence.allowed, evidence.n_missing
    first_state, cardinality = layout.first_state, layout.cardinality
    variables = len(first_state)
    for b in range(n):
        row = start + b
        for variable in range(variables):
            code[variable, b] = codes[row, variable]
    for variable in range(variables):
        # Bit 0: the variable is missing in some row; bit h + 1: state h occurs.
        seen = np.int64(0)
        for b in range(n):
            seen |= np.int64(1) << min(np.int64(code[variable, b]) + 1, np.int64(MOST_BITS))
        n_missing[variable] = seen & 1 if marginals else 0
        for h in range(cardinality[variable]):
            state = first_state[variable] + h
            allowed[state] = seen & 1 or seen >> min(h + 1, MOST_BITS) & 1
            for b in range(n if allowed[state] else 0):
                flow[state, b] = 1.0 if code[variable, b] == h or code[variable, b] < 0 else 0.0
    _list_missing(layout, n, counting, evidence)


@in_place_kernel
def _list_missing(layout: Layout, n: int, counting: bool, evidence: Evidence) -> None:
    """List the missing cells of each variable, and mark where in-flows are wanted."""
    code, missing, n_missing = evidence.code, evidence.missing, evidence.n_missing
    forest, wanted = layout.forest, evidence.wanted
    for variable in layout.order:
        wanted[variable] = counting or n_missing[variable] > 0
    for place in range(len(forest) - 1, -1, -1):
        variable = layout.order[place]
        k = 0
        for b in range(n if n_missing[variable] > 0 else 0):
            missing[variable, k] = b
            k += code[variable, b] < 0
        n_missing[variable] = k
        if forest[variable] >= 0 and wanted[variable]:
            wanted[forest[variable]] = True
