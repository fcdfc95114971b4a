"""In-flow and out-flow for many rows side by side: every node once, rows in the inner loops.

Out-flow (PDG-SEM, equation 17) goes up, in-flow (18, 19) goes down; what nodes of one variable
have in common is computed once (`exactlearn.pdg.branches`). Products over the siblings of a child
are formed by prefix and suffix, so that an out-flow of zero never divides.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn.kernel import kernel
from exactlearn.pdg.block_out_flows import branch_out_flows, fill_out_flows, weighted_sums
from exactlearn.pdg.block_space import Space, enter_evidence, space_for
from exactlearn.pdg.branches import Branches, branches_of
from exactlearn.pdg.layout import Layout

SMALLEST = 1e-250
"""Rows less probable than this are left to `exactlearn.pdg.log_flows`: a flow that underflows is
below 1e-307, so in all other rows what is lost is beyond the last digit."""


@kernel
def block_flows(
    layout: Layout,
    parameters: NDArray[np.float64],
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
    block: int,
    result: NDArray[np.float64],
    counts: NDArray[np.float64],
    posterior: NDArray[np.float64],
) -> None:
    """Write log-likelihoods, add expected counts, write posterior marginals.

    Parameters
    ----------
    weights
        Weight of each row, shape (rows,); not read where only log-likelihoods are wanted.
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
    branches = branches_of(layout)
    given = parameters[branches.users]
    marginals = posterior.size > 0
    downwards = counts.size > 0 or marginals
    space = space_for(layout, branches, block, downwards)
    for start in range(0, len(codes), block):
        n = min(block, len(codes) - start)
        enter_evidence(layout, codes, start, n, space)
        fill_out_flows(layout, branches, parameters, n, space)
        _enter_totals(layout, start, n, space, result)
        if not downwards:
            continue
        _root_in_flows(layout, weights, start, n, space)
        for place in range(len(layout.order)):
            if counts.size > 0:
                branch_out_flows(layout, branches, place, n, space)
                _add_counts(layout, branches, place, parameters, n, space, counts)
            first, last = branches.first[place], branches.first[place + 1]
            weighted_sums(
                space.work, first, last, first, branches.first_user, branches.node, given,
                space.in_flow, 0, n,
            )  # fmt: skip
            _pass_down(layout, branches, place, n, space, marginals)
            if marginals:
                variable = layout.order[place]
                _write_marginals(layout, variable, codes, start, n, space, posterior)


@kernel
def _enter_totals(
    layout: Layout, start: int, n: int, space: Space, result: NDArray[np.float64]
) -> None:
    """Fill the rows' probabilities: the product of the roots' out-flows."""
    total = space.total
    for b in range(n):
        total[b] = 1.0
    for variable in layout.order:
        if layout.forest[variable] < 0:
            root = layout.first_node[variable]
            for b in range(n):
                total[b] *= space.out_flow[root, b]
    for b in range(n):
        result[start + b] = np.log(total[b]) if total[b] >= SMALLEST else np.nan


@kernel
def _root_in_flows(
    layout: Layout, weights: NDArray[np.float64], start: int, n: int, space: Space
) -> None:
    """Start in-flows at weight over row probability, so that flows add up to weighted posteriors.

    Equation 18 divided by the row's probability leaves one over the root's own out-flow.
    """
    for b in range(n):
        space.scale[b] = weights[start + b] if space.total[b] >= SMALLEST else 0.0
    for variable in layout.order:
        if layout.forest[variable] < 0:
            root = layout.first_node[variable]
            for b in range(n):
                out = space.out_flow[root, b]
                space.in_flow[root, b] = space.scale[b] / out if out > 0.0 else 0.0


@kernel
def _add_counts(
    layout: Layout,
    branches: Branches,
    place: int,
    parameters: NDArray[np.float64],
    n: int,
    space: Space,
    counts: NDArray[np.float64],
) -> None:
    """Add the rows' expected counts, with partial sums that do not wait for each other."""
    in_flow, through = space.in_flow, space.through
    variable = layout.order[place]
    r, first = layout.cardinality[variable], layout.first_node[variable]
    whole = n - n % 4
    for node in range(first, first + layout.n_nodes[variable]):
        for p in range(layout.parameter[node], layout.parameter[node] + r):
            q, theta = branches.branch[p], parameters[p]
            s = t = u = v = 0.0
            for b in range(0, whole, 4):
                s += in_flow[node, b] * through[q, b]
                t += in_flow[node, b + 1] * through[q, b + 1]
                u += in_flow[node, b + 2] * through[q, b + 2]
                v += in_flow[node, b + 3] * through[q, b + 3]
            for b in range(whole, n):
                s += in_flow[node, b] * through[q, b]
            counts[p] += theta * ((s + t) + (u + v))


@kernel
def _pass_down(
    layout: Layout, branches: Branches, place: int, n: int, space: Space, marginals: bool
) -> None:
    """Pass the in-flows of the branches of a variable on to its children (equation 19).

    Marginals are those of a row that misses the variable: others need none.
    """
    in_flow, out_flow, evidence = space.in_flow, space.out_flow, space.evidence
    work, after, marginal, successors = space.work, space.after, space.marginal, layout.successors
    variable, first = layout.order[place], branches.first[place]
    k = layout.n_children[variable]
    for h in range(layout.cardinality[variable] if marginals else 0):
        for b in range(n):
            marginal[h, b] = 0.0
    for c in range(k):
        child = layout.variable[successors[layout.first_successor[variable] + c]]
        begin = layout.first_node[child]
        for node in range(begin, begin + layout.n_nodes[child]):
            for b in range(n):
                in_flow[node, b] = 0.0
    for q in range(branches.first[place + 1] - first):
        state, s = branches.state[first + q], branches.successor[first + q]
        h = state - layout.first_state[variable]
        if k == 0:
            for b in range(n if marginals else 0):
                marginal[h, b] += work[q, b]
            continue
        last = successors[s + k - 1]
        if k == 1 and marginals:
            for b in range(n):
                in_flow[last, b] += work[q, b] * evidence[state, b]
                marginal[h, b] += work[q, b] * out_flow[last, b]
            continue
        for b in range(n):
            work[q, b] *= evidence[state, b]
        for c in range(k - 2, -1, -1):
            child = successors[s + c + 1]
            for b in range(n):
                after[c, b] = out_flow[child, b] * (after[c + 1, b] if c < k - 2 else 1.0)
        for c in range(k - 1):
            child = successors[s + c]
            for b in range(n):
                in_flow[child, b] += work[q, b] * after[c, b]
                work[q, b] *= out_flow[child, b]
        for b in range(n):
            in_flow[last, b] += work[q, b]
        for b in range(n if marginals else 0):
            marginal[h, b] += work[q, b] * out_flow[last, b]


@kernel
def _write_marginals(
    layout: Layout,
    variable: int,
    codes: NDArray[np.int16],
    start: int,
    n: int,
    space: Space,
    posterior: NDArray[np.float64],
) -> None:
    """Write the marginals of one variable: the rows' weights where it is observed."""
    first, r = layout.first_state[variable], layout.cardinality[variable]
    marginal, scale, missing = space.marginal, space.scale, space.missing
    for b in range(n):
        posterior[start + b, first + max(0, np.int64(codes[start + b, variable]))] = scale[b]
    for i in range(space.n_missing[variable]):
        m = np.int64(missing[variable, i])
        for h in range(r):
            posterior[start + m, first + h] = marginal[h, m]
