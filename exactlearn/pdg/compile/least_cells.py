"""How large a decision graph is at least before merging, told by random walks before it is built.

Walks draw states on the way down a forest. Of n walks that come to K configurations of a context,
however likely each is, at least n (n - 1) / 2K pairs are expected to meet in one (the birthday
problem), so few meetings tell that there are many configurations, without writing them out.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.row_table import index_rows
from exactlearn.pdg.compile.conditioning import keys_below
from exactlearn.pdg.compile.descent import Descent

WALKS = 30_000
"""More tell of larger graphs: about half of their square, over `DOUBT`."""

DOUBT = 30.0
"""That so many meetings are expected where there is none has a probability of 1e-13."""


def least_cells(descent: Descent, rng: np.random.Generator, walks: int = WALKS) -> Iterator[float]:
    """Yield how many cells the variables so far have at least, almost surely.

    Parameters
    ----------
    descent
        The network's residuals over a forest.
    rng
        Draws the states.
    walks
        How many walks.

    Yields
    ------
    A rising bound after each variable, in the forest's order.
    """
    forest, cells = descent.forest, 0.0
    keys = {v: np.empty((walks, 0), np.int32) for v in forest.order if forest.parents[v] < 0}
    for v in forest.order:
        mine = keys.pop(v)
        children = forest.children[v]
        cells += least_keys(mine) * descent.residuals.cardinalities[v] * max(1, len(children))
        yield cells
        weights, after, sources = descent.fix(v, mine)
        live = np.where(weights > 0, rng.random(weights.shape), 0.0)
        drawn = (live == live.max(axis=1, keepdims=True)) * live
        for child in children:
            keys[child] = keys_below(mine, drawn, after, sources[child])[0]


def least_keys(met: NDArray[np.int32]) -> float:
    """Return how many different keys there are at least, almost surely, by those of walks."""
    labels, first, _ = index_rows(met)
    visits = np.bincount(labels).astype(np.float64)
    n, meetings = len(met), float((visits * (visits - 1)).sum()) / 2
    return max(float(len(first)), n * (n - 1) / (2 * (2 * meetings + DOUBT)))
