"""How the evidence of a block of rows enters the table of flows."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn.pdg.model.layout import Layout

MOST_BITS = 62
"""States from here on share a bit: that they are allowed when one of them is costs little."""


class Evidence(NamedTuple):
    """What a block of rows tells.

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


@kernel
def evidence_space(layout: Layout, block: int) -> Evidence:
    """Return room for what a block tells."""
    variables = len(layout.order)
    return Evidence(
        np.empty((variables, block), np.int16),
        np.empty(layout.cardinality.sum(), np.bool_),
        np.empty((variables, block), np.int32),
        np.empty(variables, np.int64),
        np.empty(variables, np.bool_),
    )


@kernel
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
        # Bit 0 tells that the variable is missing somewhere, bit h + 1 that state h is there.
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


@kernel
def _list_missing(layout: Layout, n: int, counting: bool, evidence: Evidence) -> None:
    """List the missing cells of each variable, and tell where in-flows are wanted."""
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
