"""An order of rows in which those stand together that reach the same nodes of a decision graph.

What a row reaches is decided from the roots down, so rows are sorted by their states of variables
near the roots, those first that have most of the graph below them.
"""

from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from exactlearn.pdg.model.layout import Layout

KEYS = 1 << 16
"""Most different keys to sort by: with so few, numpy sorts in time linear in the rows."""


def row_order(layout: Layout, rows: NDArray[np.int16]) -> NDArray[np.int64]:
    """Return the numbers of the rows, sorted.

    Parameters
    ----------
    rows
        State numbers, -1 for a missing cell, shape (rows, variables).
    """
    key, keys, codes = np.zeros(len(rows), np.uint16), 1, rows.view(np.uint16)
    for variable, r in _deciding(layout):
        if keys * (r + 1) <= KEYS:
            keys *= r + 1
            key *= np.uint16(r + 1)
            key += codes[:, variable]
            key += np.uint16(1)  # A missing cell is 65,535 here, and becomes 0.
    return np.argsort(key, kind="stable")


def _deciding(layout: Layout) -> list[tuple[int, int]]:
    """Return the variables with children and their states, those with most below them first.

    As many as can make a key; a variable comes after its parent.
    """
    order, parents = layout.order.tolist(), layout.forest.tolist()
    children = layout.n_children.tolist()
    sizes = (layout.cardinality * layout.n_nodes * np.maximum(1, layout.n_children)).tolist()
    below: dict[int, list[int]] = {v: [] for v in [-1, *order]}
    for v in reversed(order):
        below[parents[v]].append(v)
        if parents[v] >= 0:
            sizes[parents[v]] += sizes[v]
    found: list[tuple[int, int]] = []
    waiting = [(0.0, -1)]
    while waiting and len(found) < KEYS.bit_length():
        _, v = heappop(waiting)
        if v >= 0:
            found.append((v, int(layout.cardinality[v])))
        for child in below[v]:
            if children[child] > 0:
                heappush(waiting, (-sizes[child], child))
    return found
