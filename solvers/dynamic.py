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
from exactlearn.errors import TooLargeError, as_written

from .component_solver import ComponentControl, Outcome, Selection
from .components import Component

LIMIT = 22
"""Most variables of one component: 22 take 0.2 GB and some seconds, each further one doubles it."""

INSTANT = 12
"""Variables of one component that take a millisecond at most: no faster search is worth a try."""

BLOCK = 1 << 18
"""Subsets treated between two looks at the clock."""


def refuse_if_too_large(component: Component) -> None:
    """Raise :class:`TooLargeError` when a component has more than ``LIMIT`` variables."""
    if component.n_variables > LIMIT:
        raise TooLargeError(
            f"dynamic programming would visit 2^{component.n_variables} subsets of "
            f"{component.n_variables} variables that may form cycles with each other; its limit is "
            f"{LIMIT} variables: use {as_written('solver', 'scip')}"
        )


def is_instant(component: Component) -> bool:
    """Return whether the best selection of a component is found at once."""
    return component.n_variables <= INSTANT


def solve_component(
    component: Component, incumbent: Selection | None, control: ComponentControl
) -> Outcome:
    """Solve a component; no incumbent and no option matters."""
    selection = best_selection(component, control)
    if selection is not None:
        control.improve(selection)
        return control.outcome(
            proven=True, bound=control.score, nodes=1 << component.n_variables
        )
    return control.outcome(proven=False) if control.is_over else control.infeasible()


def best_selection(
    component: Component, control: SearchControl = UNLIMITED
) -> NDArray[np.int64] | None:
    """Return the best candidate of each variable.

    ``None`` when every selection has a cycle, or the control ends the search before it is done.
    """
    refuse_if_too_large(component)
    n = component.n_variables
    # scores by rank, and the rank of the best candidate inside each set
    ranks = _best_ranks(component)
    scores = _padded_scores(component)
    value = np.full(1 << n, -np.inf)
    value[0] = 0.0
    # the best score of each set of variables, blocks of sets at a time
    for start in range(1, 1 << n, BLOCK):
        if (
            start > 1 and not control.goes_on()
        ):  # the first block is quick, whatever the limit
            return None
        _extend(value, ranks, scores, start, min(start + BLOCK, 1 << n))
    subset = (1 << n) - 1
    selection = component.first[:-1].copy()
    if value[subset] == -np.inf:
        return None
    # back from the complete set: the sink that gave the best score
    while subset:
        members = [v for v in range(n) if subset >> v & 1]
        smaller = subset ^ (1 << np.array(members))
        rank = ranks[members, _squeezed(smaller, np.array(members))]
        sink = int(np.argmax(value[smaller] + scores[members, rank]))
        subset = int(smaller[sink])
        selection[members[sink]] += rank[sink]
    return selection


def _padded_scores(component: Component) -> NDArray[np.float64]:
    """Return each variable's scores by falling score, and ``-inf`` behind them."""
    longest = int(np.diff(component.first).max())
    scores = np.full((component.n_variables, longest + 1), -np.inf)
    place = np.arange(component.n_candidates) - component.first[component.child]
    scores[component.child, place] = component.scores
    return scores


def _best_ranks(component: Component) -> NDArray[np.int32]:
    """Return the rank of each variable's best candidate within each set of the others.

    Without one it is that behind the last candidate, shape (n, 2 ** (n - 1)).
    """
    n = component.n_variables
    child = component.child
    place = np.arange(component.n_candidates) - component.first[child]
    ranks = np.full((n, 1 << (n - 1)), np.diff(component.first).max(), np.int32)
    parents = component.parents[:, 0].astype(np.int64)
    np.minimum.at(ranks, (child, _squeezed(parents, child)), place.astype(np.int32))
    for bit in range(
        n - 1
    ):  # each set with the bit takes over from the same set without it
        halves = ranks.reshape(n, -1, 2, 1 << bit)
        np.minimum(halves[:, :, 0], halves[:, :, 1], out=halves[:, :, 1])
    return ranks


def _squeezed(subsets: NDArray[np.int64], v: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return subsets, each without its ``v``, numbered among the subsets of the other variables."""
    low = (1 << v) - 1
    return (subsets & low) | ((subsets >> 1) & ~low)


@in_place_kernel
def _extend(
    value: NDArray[np.float64],
    ranks: NDArray[np.int32],
    scores: NDArray[np.float64],
    start: int,
    stop: int,
) -> None:
    """Find the best score of each subset in a block; subsets come after all of their own."""
    for subset in range(start, stop):
        for v in range(len(ranks)):
            smaller = subset ^ (1 << v)
            low = (1 << v) - 1
            if smaller < subset:
                rank = ranks[v, (smaller & low) | ((smaller >> 1) & ~low)]
                value[subset] = max(value[subset], value[smaller] + scores[v, rank])
