"""The work space of inference for many rows side by side, and what goes in and comes out."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.kernel import kernel
from exactlearn.pdg.branches import Branches
from exactlearn.pdg.layout import Layout


class Space(NamedTuple):
    """Flows of a block of rows, the rows in the last axis.

    Attributes
    ----------
    evidence
        Whether a row allows a state, 0 or 1, shape (states of all variables, rows).
    missing, n_missing
        The rows that miss a variable, shape (variables, rows), and how many these are.
    out_flow, in_flow
        Shape (nodes, rows).
    through
        Evidence times the out-flows of the successors, for the branches of one variable, shape
        (most branches of a variable, rows).
    work
        In-flows of the branches of one variable, shape (most branches of a variable, rows).
    after
        Products of later siblings' out-flows, shape (most children, rows).
    marginal
        Weighted marginals of one variable, shape (most states, rows).
    total, scale
        Probability of each row, and its weight (0 if it is left out), shape (rows,).
    """

    evidence: NDArray[np.float64]
    missing: NDArray[np.int32]
    n_missing: NDArray[np.int64]
    out_flow: NDArray[np.float64]
    in_flow: NDArray[np.float64]
    through: NDArray[np.float64]
    work: NDArray[np.float64]
    after: NDArray[np.float64]
    marginal: NDArray[np.float64]
    total: NDArray[np.float64]
    scale: NDArray[np.float64]


@kernel
def space_for(layout: Layout, branches: Branches, block: int, downwards: bool) -> Space:
    """Return the work space for so many rows; one way up needs less."""
    variables, states = len(layout.order), layout.cardinality.sum()
    nodes = len(layout.variable)
    most = 0
    for place in range(variables):
        most = max(most, branches.first[place + 1] - branches.first[place])
    return Space(
        np.empty((states, block)),
        np.empty((variables, block), np.int32),
        np.empty(variables, np.int64),
        np.empty((nodes, block)),
        np.empty((nodes if downwards else 0, block)),
        np.empty((most, block)),
        np.empty((most if downwards else 0, block)),
        np.empty((layout.n_children.max(), block)),
        np.empty((layout.cardinality.max() if downwards else 0, block)),
        np.empty(block),
        np.empty(block),
    )


@kernel
def enter_evidence(
    layout: Layout, codes: NDArray[np.int16], start: int, n: int, space: Space
) -> None:
    """Set 0/1 indicators of the states that rows allow, and list the missing cells."""
    code, evidence, missing = space.total, space.evidence, space.missing
    for variable in range(len(layout.order)):
        k = 0
        for b in range(n):
            found = codes[start + b, variable]
            code[b] = found
            missing[variable, k] = b
            k += found < 0
        space.n_missing[variable] = k
        first = layout.first_state[variable]
        for state in range(first, first + layout.cardinality[variable]):
            h = float(state - first)
            for b in range(n):
                evidence[state, b] = 1.0 if code[b] == h or code[b] < 0.0 else 0.0
