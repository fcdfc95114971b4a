"""Exact parent-set selection by dynamic programming over subsets of variables.

The best network over a set W has a sink: ``M(W) = max over v in W of M(W - v) + best(v, W - v)``,
where ``best(v, S)`` is the best score of ``v`` with parents inside ``S`` (Silander and Myllymaki
2006, "A simple approach for finding the globally optimal Bayesian network structure"). Time is
O(n^2 2^n), memory O(n 2^n).
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.kernel import in_place_kernel
from exactlearn.errors import TooLargeError

from .component_solver import ComponentControl, Outcome, Selection
from .components import Component

LIMIT = 22
"""Most variables of one component: 22 take 0.2 GB and some seconds, each further one doubles it."""

INSTANT = 12
"""Variables of one component that take a millisecond at most: no faster search is worth a try."""

BLOCK = 1 << 18
"""Subsets treated between two looks at the clock."""

NONE = np.int32(2**31 - 1)
"""Marks a set of variables that contains no candidate parent set."""


def refuse_if_too_large(component: Component) -> None:
    """Raise :class:`TooLargeError` when a component has more than ``LIMIT`` variables."""
    if component.n_variables > LIMIT:
        raise TooLargeError(
            f"dynamic programming would visit 2^{component.n_variables} subsets of "
            f"{component.n_variables} variables that may form cycles with each other; its limit is "
            f"{LIMIT} variables: use solver='scip'"
        )


def is_instant(component: Component) -> bool:
    """Return whether the best selection of a component is found at once."""
    return component.n_variables <= INSTANT


def solve_component(
    component: Component, incumbent: Selection | None, control: ComponentControl
) -> Outcome:
    """Solve a component; no incumbent and no option matters."""
    chosen = best_selection(component, control)
    if chosen is not None:
        control.improve(chosen)
        return control.outcome(proven=True, bound=control.score, nodes=1 << component.n_variables)
    return control.outcome(proven=False) if control.is_over else control.infeasible()


def best_selection(
    component: Component, control: SearchControl = UNLIMITED
) -> NDArray[np.int64] | None:
    """Return the best candidate of each variable.

    ``None`` when every selection has a cycle, or the control ends the search before it is done.
    """
    refuse_if_too_large(component)
    n = component.n_variables
    best = np.full((n, 1 << (n - 1)), NONE, np.int32)
    for v in range(n):
        _place(best[v], v, component.first, component.parents[:, 0])
        for bit in range(n - 1):
            _spread(best[v], bit)
        if not control.goes_on():
            return None
    value = np.full(1 << n, -np.inf)
    sink = np.full(1 << n, -1, np.int8)
    value[0] = 0.0
    for start in range(0, 1 << n, BLOCK):
        stop = min(start + BLOCK, 1 << n)
        if not control.goes_on():
            return None
        _extend(value, sink, best, component.scores, component.first, start, stop)
    return _trace_back(value, sink, best, component.first)


def _trace_back(
    value: NDArray[np.float64],
    sink: NDArray[np.int8],
    best: NDArray[np.int32],
    first: NDArray[np.int64],
) -> NDArray[np.int64] | None:
    subset = len(value) - 1
    if value[subset] == -np.inf:
        return None
    chosen = np.zeros(len(best), np.int64)
    while subset:
        v = int(sink[subset])
        subset ^= 1 << v
        chosen[v] = first[v] + best[v, squeeze(subset, v)]
    return chosen


@in_place_kernel
def squeeze(subset: int, v: int) -> int:
    """Return the subset, which lacks ``v``, numbered among the subsets of the other variables."""
    low = (1 << v) - 1
    return (subset & low) | ((subset >> 1) & ~low)


@in_place_kernel
def _place(
    best: NDArray[np.int32], v: int, first: NDArray[np.int64], parents: NDArray[np.uint64]
) -> None:
    """Enter each candidate of ``v`` at its own parent set; earlier ones score higher."""
    for c in range(first[v], first[v + 1]):
        at = squeeze(int(parents[c]), v)
        best[at] = min(best[at], np.int32(c - first[v]))


@in_place_kernel
def _spread(best: NDArray[np.int32], bit: int) -> None:
    """Let each subset with the bit take over the best of the same subset without it."""
    half = 1 << bit
    for start in range(0, len(best), 2 * half):
        for at in range(start, start + half):
            best[at + half] = min(best[at + half], best[at])


@in_place_kernel
def _extend(
    value: NDArray[np.float64],
    sink: NDArray[np.int8],
    best: NDArray[np.int32],
    scores: NDArray[np.float64],
    first: NDArray[np.int64],
    start: int,
    stop: int,
) -> None:
    """Find the best sink of each subset in a block; subsets come after all of their own."""
    n = len(best)
    for subset in range(max(start, 1), stop):
        for v in range(n):
            rest = subset ^ (1 << v)
            if rest > subset or value[rest] == -np.inf:
                continue
            rank = best[v, squeeze(rest, v)]
            if rank == NONE:
                continue
            reached = value[rest] + scores[first[v] + rank]
            if reached > value[subset]:
                value[subset] = reached
                sink[subset] = v
