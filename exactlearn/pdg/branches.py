"""The branches of each variable: the states and successors that its nodes share.

Nodes of one variable often lead from a state to the same successors, and differ in parameters only.
What flows through a state and its successors (PDG-SEM, equations 17 to 19) then needs to be
computed once for all these nodes: out-flows are sums over the branches of a node, in-flows of a
branch are sums over its nodes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.kernel import kernel
from exactlearn.pdg.key_table import index_rows
from exactlearn.pdg.layout import Layout


class Branches(NamedTuple):
    """Branches of a decision graph, those of each variable together.

    Attributes
    ----------
    first
        Where each variable's branches begin, by its place in `Layout.order`, and the end, shape
        (variables + 1,).
    state, successor
        State of each branch, counted over all variables, and where its successors begin in
        `Layout.successors`, shape (branches,).
    branch
        Branch of each parameter among those of its variable, shape (parameters,).
    users
        The parameters by their branches, shape (parameters,).
    first_user
        Where each branch's begin there, and the end, shape (branches + 1,).
    node
        The nodes of ``users``.
    """

    first: NDArray[np.int64]
    state: NDArray[np.int64]
    successor: NDArray[np.int64]
    branch: NDArray[np.int64]
    users: NDArray[np.int64]
    first_user: NDArray[np.int64]
    node: NDArray[np.int64]


@kernel
def branches_of(layout: Layout) -> Branches:
    """Return the branches of a decision graph."""
    variables, size = len(layout.order), layout.parameter[len(layout.variable)]
    first = np.zeros(variables + 1, np.int64)
    state = np.empty(size, np.int64)
    successor = np.empty(size, np.int64)
    branch = np.empty(size, np.int64)
    of = np.empty(size, np.int64)
    owner = np.empty(size, np.int64)
    total = 0
    for place in range(variables):
        variable = layout.order[place]
        r, k = layout.cardinality[variable], layout.n_children[variable]
        start, from_ = layout.first_parameter[variable], layout.first_successor[variable]
        cells = layout.n_nodes[variable] * r
        keys = np.empty((cells, 1 + k), np.int32)
        for i in range(cells):
            keys[i, 0] = i % r
            owner[start + i] = layout.first_node[variable] + i // r
            for c in range(k):
                keys[i, 1 + c] = layout.successors[from_ + i * k + c]
        labels, origin, _ = index_rows(keys)
        for i in range(cells):
            branch[start + i] = labels[i]
            of[start + i] = total + labels[i]
        for j in range(len(origin)):
            state[total + j] = layout.first_state[variable] + origin[j] % r
            successor[total + j] = from_ + origin[j] * k
        total += len(origin)
        first[place + 1] = total
    first_user = np.zeros(total + 1, np.int64)
    for i in range(size):
        first_user[of[i] + 1] += 1
    first_user = first_user.cumsum()
    free = first_user.copy()
    users = np.empty(size, np.int64)
    node = np.empty(size, np.int64)
    for i in range(size):
        users[free[of[i]]] = i
        node[free[of[i]]] = owner[i]
        free[of[i]] += 1
    return Branches(first, state, successor, branch, users, first_user, node)
