"""The branches of variables with several children: states and successors that nodes share.

Nodes of one variable often lead from a state to the same successors, and differ in parameters only.
What flows through a state and its successors (PDG-SEM, equations 17 to 19) then needs to be
computed once for all these nodes: out-flows are sums over the branches of a node, in-flows of a
branch are sums over its nodes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn._runtime.row_table import index_rows
from exactlearn.pdg.model.layout import Layout


class Branches(NamedTuple):
    """Branches of a decision graph, those of each variable together.

    A variable with fewer than two children has none: there is nothing to multiply.

    Attributes
    ----------
    first
        Where each variable's branches begin, by its place in `Layout.order`, and the end, shape
        (variables + 1,).
    successor
        Where the successors of each branch begin in `Layout.successors`, shape (branches,).
    branch
        Branch of each parameter among those of its variable, if any, shape (parameters,).
    """

    first: NDArray[np.int64]
    successor: NDArray[np.int64]
    branch: NDArray[np.int64]


@kernel
def branches_of(layout: Layout) -> Branches:
    """Return the branches of a decision graph."""
    variables, size = len(layout.order), layout.parameter[len(layout.variable)]
    first = np.zeros(variables + 1, np.int64)
    successor = np.empty(size, np.int64)
    branch = np.empty(size, np.int64)
    total = 0
    for place in range(variables):
        variable = layout.order[place]
        r, k = layout.cardinality[variable], layout.n_children[variable]
        first[place + 1] = total
        if k < 2:
            continue
        start, from_ = layout.first_parameter[variable], layout.first_successor[variable]
        cells = layout.n_nodes[variable] * r
        keys = np.empty((cells, 1 + k), np.int32)
        for i in range(cells):
            keys[i, 0] = i % r
            for c in range(k):
                keys[i, 1 + c] = layout.successors[from_ + i * k + c]
        labels, origin, _ = index_rows(keys)
        for i in range(cells):
            branch[start + i] = labels[i]
        for j in range(len(origin)):
            successor[total + j] = from_ + origin[j] * k
        total += len(origin)
        first[place + 1] = total
    return Branches(first, successor, branch)
