"""Places for the boxes of a directed acyclic graph, layer under layer.

The method is that of Sugiyama, Tagawa and Toda 1981, "Methods for visual understanding of
hierarchical system structures", with the objectives of Gansner, Koutsofios, North and Vo 1993, "A
technique for drawing directed graphs": layers of least total arc length and places of least
weighted bends, both by linear programs; crossings lessened by barycentres and transpositions.
"""

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

STARTS = 16
STALLED = 6
"""Starts of the order's search, and the rounds without fewer crossings that end one."""

MAX_WORK = 50_000
"""Links ordered, in all rounds, after which no other start follows: half a second."""

STRAIGHT = 1.0, 2.0, 8.0
"""Weight of a link's sideways run by how many of its two ends are passing points."""

CENTRED = 1.2
"""Weight of a box's distance from the middle of its parents, and of its children."""

SPREAD = 3.0
"""Widest layer, as a multiple of the root of all boxes' width (about 16:9 with small boxes)."""

Links = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class LayeredLayout:
    """Places of boxes and courses of arcs.

    Parameters
    ----------
    x
        Horizontal middle of each box, in the unit of the widths, shape (boxes,).
    layer
        Layer of each box, 0 on top, shape (boxes,).
    courses
        For each arc, the points ``(x, layer)`` it passes, its two boxes included.
    """

    x: NDArray[np.float64]
    layer: NDArray[np.int64]
    courses: tuple[tuple[tuple[float, int], ...], ...]


def layered_layout(
    widths: Sequence[float], arcs: Links, *, space: float, lane: float
) -> LayeredLayout:
    """Place boxes so that all arcs run downwards.

    Parameters
    ----------
    widths
        Width of each box.
    arcs
        Arcs ``(upper, lower)`` without a directed cycle.
    space, lane
        Free width between neighbours; width that a passing arc takes in a layer.

    Raises
    ------
    ValueError
        When the arcs have a directed cycle.
    """
    extent = np.array(widths, np.float64) + space
    layer = _split(_layers(extent, arcs), extent, arcs)
    chains, layers = _chains(layer, arcs)
    links = [(a, b) for chain in chains for a, b in pairwise(chain)]
    rows = _ordered(layers, links)
    passing = np.full(len(layers) - len(layer), lane + space / 2)
    x = _places(rows, links, np.concatenate([extent, passing]), len(layer))
    return LayeredLayout(
        x=x[: len(layer)],
        layer=layer,
        courses=tuple(
            tuple((float(x[p]), int(layers[p])) for p in chain) for chain in chains
        ),
    )


def _layers(extent: NDArray[np.float64], arcs: Links) -> NDArray[np.int64]:
    """Return the layers of least total arc length.

    A box as far from its parents' side as from its children's goes where most width is free.
    """
    n = len(extent)
    ends = np.array(arcs, np.int64).reshape(-1, 2)
    pull = np.bincount(ends[:, 1], minlength=n) - np.bincount(ends[:, 0], minlength=n)
    found = _least(pull, [[(b, 1.0), (a, -1.0)] for a, b in arcs], [1.0] * len(arcs))
    if found is None:
        raise ValueError("the arcs have a directed cycle")
    layer = np.rint(found).astype(np.int64)
    above, below = _neighbours(n, arcs)
    load = np.bincount(layer, extent)
    for v in np.flatnonzero(pull == 0):
        first = max((layer[u] for u in above[v]), default=-1) + 1
        last = min((layer[w] for w in below[v]), default=len(load))
        load[layer[v]] -= extent[v]
        layer[v] = first + int(np.argmin(load[first:last]))
        load[layer[v]] += extent[v]
    return layer


def _split(
    layer: NDArray[np.int64], extent: NDArray[np.float64], arcs: Links
) -> NDArray[np.int64]:
    """Make two layers of each that is too wide: its boxes have no arcs among each other.

    This ends: each split leaves at least one box above and one below, so that there are at most as
    many splits as boxes, and every other step goes one layer down.
    """
    above, below = _neighbours(len(layer), arcs)
    widest = max(extent.max(initial=0), SPREAD * extent.sum() ** 0.5)
    k = 0
    while k <= layer.max(initial=-1):
        own = np.flatnonzero(layer == k)
        if extent[own].sum() <= widest or len(own) < 2:
            k += 1
            continue
        # A box that is moved down lengthens the arcs from above, the others those to below.
        own = own[
            np.argsort([len(above[v]) - len(below[v]) for v in own], kind="stable")[
                ::-1
            ]
        ]
        layer = layer + (layer > k)
        half = int(
            np.searchsorted(np.cumsum(extent[own]), extent[own].sum() / 2, side="right")
        )
        layer[own[min(max(half, 1), len(own) - 1) :]] += 1
    return layer


def _chains(
    layer: NDArray[np.int64], arcs: Links
) -> tuple[list[list[int]], NDArray[np.int64]]:
    """Give each arc a passing point in every layer that it crosses."""
    layers = layer.tolist()
    chains = []
    for upper, lower in arcs:
        crossed = range(layers[upper] + 1, layers[lower])
        first = len(layers)
        layers.extend(crossed)
        chains.append([upper, *range(first, first + len(crossed)), lower])
    return chains, np.array(layers, np.int64)


def _neighbours(n: int, links: Links) -> tuple[list[list[int]], list[list[int]]]:
    """Return the points linked from above, and those linked from below, of each point."""
    above: list[list[int]] = [[] for _ in range(n)]
    below: list[list[int]] = [[] for _ in range(n)]
    for a, b in links:
        below[a].append(b)
        above[b].append(a)
    return above, below


def _ordered(layer: NDArray[np.int64], links: Links) -> list[list[int]]:
    """Return the points of each layer in the order with fewest crossings of several starts."""
    above, below = _neighbours(len(layer), links)
    random = Random(0)
    best: list[list[int]] = []
    fewest = np.inf
    work = 0
    for start in range(STARTS):
        near = [[*up, *down] for up, down in zip(above, below, strict=True)]
        if start > 0:
            for one in near:
                random.shuffle(one)
        rows, place = _depth_first(layer.tolist(), near)
        stalled = 0
        own = np.inf
        while stalled < STALLED and own > 0:
            for down in (True, False):
                for row in rows if down else reversed(rows):
                    _sort(row, above if down else below, place)
            _transpose(rows, above, below, place)
            found = sum(_crossings(row, below, place) for row in rows)
            work = work + len(links)
            stalled, own = (0, found) if found < own else (stalled + 1, own)
            if found < fewest:
                fewest = found
                best = [row.copy() for row in rows]
        if fewest == 0 or work >= MAX_WORK:
            break
    return best


def _depth_first(
    layer: list[int], near: list[list[int]]
) -> tuple[list[list[int]], list[int]]:
    """Return the points of each layer in the order of a depth-first search, and their places."""
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    place = [-1] * len(layer)
    for root in sorted(range(len(layer)), key=layer.__getitem__):
        stack = [root]
        while stack:
            v = stack.pop()
            if place[v] < 0:
                place[v] = len(rows[layer[v]])
                rows[layer[v]].append(v)
                stack.extend(reversed(near[v]))
    return rows, place


def _sort(row: list[int], near: list[list[int]], place: list[int]) -> None:
    """Order a layer by the mean places of its points' neighbours; those without any stay."""
    mean = {v: sum(place[u] for u in near[v]) / len(near[v]) for v in row if near[v]}
    linked = iter(sorted(mean, key=mean.__getitem__))
    row[:] = [next(linked) if v in mean else v for v in row]
    for k, v in enumerate(row):
        place[v] = k


def _transpose(
    rows: list[list[int]],
    above: list[list[int]],
    below: list[list[int]],
    place: list[int],
) -> None:
    """Exchange neighbours as long as that removes crossings."""
    better = True
    while better:
        better = False
        for row in rows:
            for k in range(len(row) - 1):
                u = row[k]
                v = row[k + 1]
                if _excess(u, v, above, place) + _excess(u, v, below, place) > 0:
                    row[k] = v
                    row[k + 1] = u
                    place[u] = k + 1
                    place[v] = k
                    better = True


def _excess(u: int, v: int, near: list[list[int]], place: list[int]) -> int:
    """Return how many crossings fewer there are with ``v`` before ``u`` on one side."""
    ends = [place[b] for b in near[v]]
    return sum((place[a] > b) - (place[a] < b) for a in near[u] for b in ends)


def _crossings(row: list[int], below: list[list[int]], place: list[int]) -> int:
    """Count the crossings between a layer and the next."""
    seen: list[int] = []
    found = 0
    for v in row:
        ends = [place[w] for w in below[v]]
        found += sum(len(seen) - bisect_right(seen, end) for end in ends)
        for end in ends:
            insort(seen, end)
    return found


def _places(
    rows: list[list[int]], links: Links, extent: NDArray[np.float64], n: int
) -> NDArray[np.float64]:
    """Return the places of least weighted sideways run, in order and without overlap.

    The variables are the places and the absolute value of each term; the first ``n`` points are
    boxes.
    """
    total = len(extent)
    terms: list[list[tuple[int, float]]] = [[(a, 1.0), (b, -1.0)] for a, b in links]
    weights = [STRAIGHT[(a >= n) + (b >= n)] for a, b in links]
    for side in _neighbours(total, links):
        for v, near in enumerate(side[:n]):
            if len(near) > 1:
                terms.append([(v, 1.0), *((u, -1 / len(near)) for u in near)])
                weights.append(CENTRED)
    over = [
        [(total + k, 1.0), *((v, sign * factor) for v, factor in term)]
        for sign in (1, -1)
        for k, term in enumerate(terms)
    ]
    pairs = [pair for row in rows for pair in pairwise(row)]
    sides = [0.0] * len(over) + [float(extent[a] + extent[b]) / 2 for a, b in pairs]
    # The small cost of the places themselves keeps what no term holds at the left.
    cost = np.concatenate([np.full(total, 1e-4), weights])
    found = _least(cost, over + [[(b, 1.0), (a, -1.0)] for a, b in pairs], sides)
    assert found is not None  # feasible by construction
    x = found[:total]
    return x - (x - extent / 2).min(initial=np.inf) if total else x


def _least(
    cost: NDArray[Any],
    rows: Sequence[Sequence[tuple[int, float]]],
    sides: Sequence[float],
) -> NDArray[np.float64] | None:
    """Return the cheapest nonnegative vector whose rows reach their sides, if there is one.

    A row is a list of indices with their factors.
    """
    if not rows:
        return np.zeros(len(cost))
    from scipy.optimize import linprog  # takes longer to import than a drawing
    from scipy.sparse import csr_array

    columns, factors = zip(*(entry for row in rows for entry in row), strict=True)
    first = np.cumsum([0, *map(len, rows)])
    matrix: Any = csr_array(
        (np.negative(factors), columns, first), shape=(len(rows), len(cost))
    )
    found: Any = linprog(cost, A_ub=matrix, b_ub=np.negative(sides), method="highs-ds")
    return None if found.x is None else np.asarray(found.x)
