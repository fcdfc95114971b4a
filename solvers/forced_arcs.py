"""Candidates that would close a directed cycle with arcs that every selection left must have.

A parent that all candidates left of a variable share is *forced*; forced arcs make ancestors, and a
candidate with a parent of which its variable is an ancestor is out. That may force further arcs.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel


@kernel
def closing_candidates(
    first: NDArray[np.int64], parents: NDArray[np.uint64], allowed: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the allowed candidates that would close a cycle with forced arcs.

    Parameters
    ----------
    first
        Where each variable's candidates begin, shape (n + 1,).
    parents
        Parents of each candidate as bit sets, shape (m, words).
    allowed
        Which candidates are left, shape (m,).
    """
    n, words = len(first) - 1, parents.shape[1]
    left = allowed.copy()
    out = np.empty(len(left), np.int64)
    n_out = 0
    changed = True
    while changed:
        changed = False
        ancestors = forced_ancestors(first, parents, left)
        for v in range(n):
            word, bit = v >> 6, np.uint64(1) << np.uint64(v & 63)
            descendants = np.zeros(words, np.uint64)
            for u in range(n):
                if ancestors[u, word] & bit:
                    descendants[u >> 6] |= np.uint64(1) << np.uint64(u & 63)
            for c in range(first[v], first[v + 1]):
                if not left[c]:
                    continue
                for w in range(words):
                    if parents[c, w] & descendants[w]:
                        left[c] = False
                        changed = True
                        out[n_out] = c
                        n_out += 1
                        break
    return out[:n_out]


@kernel
def forced_ancestors(
    first: NDArray[np.int64], parents: NDArray[np.uint64], left: NDArray[np.bool_]
) -> NDArray[np.uint64]:
    """Return the ancestors of each variable by forced arcs, as bit sets of shape (n, words).

    A variable without candidates has none.
    """
    n, words = len(first) - 1, parents.shape[1]
    ancestors = np.zeros((n, words), np.uint64)
    for v in range(n):
        begun = False
        for c in range(first[v], first[v + 1]):
            if left[c]:
                for w in range(words):
                    ancestors[v, w] = (
                        parents[c, w] if not begun else ancestors[v, w] & parents[c, w]
                    )
                begun = True
    for middle in range(n):  # Warshall's closure
        word, bit = middle >> 6, np.uint64(1) << np.uint64(middle & 63)
        for v in range(n):
            if ancestors[v, word] & bit:
                for w in range(words):
                    ancestors[v, w] |= ancestors[middle, w]
    return ancestors
