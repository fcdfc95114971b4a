"""Counts of available cases: what rows with missing cells tell for certain.

A row counts at a node when its variable is observed and no other node of the variable can be
reached, whatever the missing cells are (PDG-SEM, section 3).
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn.pdg.model.layout import Layout


@kernel
def available_counts(
    layout: Layout, codes: NDArray[np.int16], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weight of the rows that are certain to reach a node and have a state there.

    Parameters
    ----------
    layout
        The structure; parameters play no role.
    codes
        State numbers, shape (rows, variables); -1 for a missing cell.
    weights
        Of the rows, shape (rows,).

    Returns
    -------
    Counts laid out as the parameters.
    """
    counts = np.zeros(layout.parameter[-1])
    place = np.zeros(len(layout.forest), np.int64)
    for variable in range(len(layout.forest)):
        for sibling in range(variable):
            place[variable] += layout.forest[sibling] == layout.forest[variable]
    possible = np.zeros(len(layout.variable), np.bool_)
    reached = np.empty(len(layout.variable), np.int32)
    for d in range(len(codes)):
        possible[:] = False
        for variable in layout.order:
            first, n = layout.first_node[variable], layout.n_nodes[variable]
            parent = layout.forest[variable]
            found = 0
            if parent < 0:
                reached[first] = first
                found = 1
                possible[first] = True
            else:
                low, high = np.int64(codes[d, parent]), np.int64(codes[d, parent]) + 1
                if low < 0:
                    low, high = np.int64(0), layout.cardinality[parent]
                start, k = layout.first_node[parent], layout.n_children[parent]
                for node in range(start, start + layout.n_nodes[parent]):
                    if possible[node]:
                        for h in range(low, high):
                            s = layout.successor[node] + h * k + place[variable]
                            head = layout.successors[s]
                            if not possible[head]:
                                possible[head] = True
                                reached[first] = head
                                found += 1
            if found == 1 and n > 0 and codes[d, variable] >= 0:
                counts[layout.parameter[reached[first]] + codes[d, variable]] += weights[d]
    return counts
