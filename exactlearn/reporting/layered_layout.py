"""Places for the boxes of a directed acyclic graph, layer under layer.

The method is that of Sugiyama, Tagawa and Toda 1981, "Methods for visual understanding of
hierarchical system structures", with the objectives of Gansner, Koutsofios, North and Vo 1993, "A
technique for drawing directed graphs": layers of least total arc length and places of least
weighted bends, both by linear programs; crossings lessened by barycentres and transpositions.
"""

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from random import Random
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.offsets import offsets

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

Row = list[tuple[int, float]]
"""A row of a linear program: indices of its variables with their factors."""


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
    # 1. Layers, so that the arcs are short in all, and no layer is too wide.
    extent = np.array(widths, np.float64) + space
    layer = _split(_layers(extent, arcs), extent, arcs)
    # 2. Points in the layers that arcs cross.
    chains, layers = _chains(layer, arcs)
    links = [(a, b) for chain in chains for a, b in pairwise(chain)]
    # 3. The order within each layer, with few crossings.
    rows = _ordered(layers, links)
    # 4. Places that keep the order, with few bends.
    passing = np.full(len(layers) - len(layer), lane + space / 2)
    x = _places(rows, links, np.concatenate([extent, passing]), len(layer))
    points = [*zip(x.tolist(), layers.tolist(), strict=True)]
    courses = tuple(tuple(map(points.__getitem__, chain)) for chain in chains)
    return LayeredLayout(x=x[: len(layer)], layer=layer, courses=courses)


def _layers(extent: NDArray[np.float64], arcs: Links) -> NDArray[np.int64]:
    """Return the layers of least total arc length.

    A box as far from its parents' side as from its children's goes where most width is free.
    """
    n = len(extent)
    ends = np.array(arcs, np.int64).reshape(-1, 2)
    # The total length is linear in the layers: each counts by its arcs from above and below.
    pull = np.bincount(ends[:, 1], minlength=n) - np.bincount(ends[:, 0], minlength=n)
    drops = [[(b, 1.0), (a, -1.0)] for a, b in arcs]
    solution = _cheapest(pull, drops, np.ones(len(arcs)))
    if solution is None:
        raise ValueError("the arcs have a directed cycle")
    layer = np.rint(solution).astype(np.int64)
    # Boxes without a pull may stand in several layers at the same length.
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
    limit = max(extent.max(initial=0), SPREAD * extent.sum() ** 0.5)
    k = 0
    while k <= layer.max(initial=-1):
        row = np.flatnonzero(layer == k)
        if extent[row].sum() <= limit or len(row) < 2:
            k += 1
            continue
        # A box that is moved down lengthens the arcs from above, the others those to below.
        pull = [len(above[v]) - len(below[v]) for v in row]
        row = row[np.argsort(pull, kind="stable")[::-1]]
        middle = extent[row].sum() / 2
        half = int(np.searchsorted(np.cumsum(extent[row]), middle, side="right"))
        layer = layer + (layer > k)
        layer[row[min(max(half, 1), len(row) - 1) :]] += 1
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
        neighbours = [[*up, *down] for up, down in zip(above, below, strict=True)]
        # The first start is that of the graph itself, the others are random.
        if start > 0:
            for points in neighbours:
                random.shuffle(points)
        rows, place = _depth_first(layer.tolist(), neighbours)
        for crossings in _rounds(rows, above, below, place):
            work += len(links)
            if crossings < fewest:
                fewest = crossings
                best = [row.copy() for row in rows]
        if fewest == 0 or work >= MAX_WORK:
            break
    return best


def _rounds(
    rows: list[list[int]],
    above: list[list[int]],
    below: list[list[int]],
    place: list[int],
) -> Iterator[int]:
    """Order the layers by their neighbours, round after round; yield the crossings of each round.

    The rounds end without crossings, or when `STALLED` ones in a row have not had fewer.
    """
    fewest = np.inf
    stalled = 0
    while stalled < STALLED and fewest > 0:
        # Downwards by the neighbours above, upwards by those below, then pair by pair.
        for row in rows:
            _sort(row, above, place)
        for row in reversed(rows):
            _sort(row, below, place)
        _transpose(rows, above, below, place)
        crossings = sum(_crossings(row, below, place) for row in rows)
        stalled = 0 if crossings < fewest else stalled + 1
        fewest = min(fewest, crossings)
        yield crossings


def _depth_first(
    layer: list[int], neighbours: list[list[int]]
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
                stack.extend(reversed(neighbours[v]))
    return rows, place


def _sort(row: list[int], neighbours: list[list[int]], place: list[int]) -> None:
    """Order a layer by the mean places of its points' neighbours; those without any stay."""
    # Points without neighbours keep their places; the others fill the places between them.
    linked = [v for v in row if neighbours[v]]
    mean = {v: fmean(map(place.__getitem__, neighbours[v])) for v in linked}
    ordered = iter(sorted(linked, key=mean.__getitem__))
    row[:] = [next(ordered) if v in mean else v for v in row]
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
                # Two neighbours whose edges cross less the other way round.
                u = row[k]
                v = row[k + 1]
                if _excess(u, v, above, place) + _excess(u, v, below, place) > 0:
                    row[k] = v
                    row[k + 1] = u
                    place[u] = k + 1
                    place[v] = k
                    better = True


def _excess(u: int, v: int, neighbours: list[list[int]], place: list[int]) -> int:
    """Return the number of crossings on one side that ``v`` before ``u`` would remove."""
    ends = [place[b] for b in neighbours[v]]
    return sum((place[a] > b) - (place[a] < b) for a in neighbours[u] for b in ends)


def _crossings(row: list[int], below: list[list[int]], place: list[int]) -> int:
    """Count the crossings between a layer and the next."""
    seen: list[int] = []
    # Two arcs cross when the left one ends right of the other: the ends seen so far are sorted.
    crossings = 0
    for v in row:
        ends = [place[w] for w in below[v]]
        crossings += sum(len(seen) - bisect_right(seen, end) for end in ends)
        for end in ends:
            insort(seen, end)
    return crossings


def _places(
    rows: list[list[int]], links: Links, extent: NDArray[np.float64], n: int
) -> NDArray[np.float64]:
    """Return the places of least weighted sideways run, in order and without overlap.

    The variables are the places and the absolute value of each term; the first ``n`` points are
    boxes.
    """
    total = len(extent)
    terms, weights = _terms(links, total, n)
    # Each term is at most its absolute value, and so is its negative.
    absolute: list[Row] = [
        [(k, 1.0), *((v, sign * factor) for v, factor in term)]
        for sign in (1, -1)
        for k, term in enumerate(terms, total)
    ]
    # Neighbours in a layer keep their distance.
    pairs = [*chain.from_iterable(map(pairwise, rows))]
    apart: list[Row] = [[(b, 1.0), (a, -1.0)] for a, b in pairs]
    sides = [0.0] * len(absolute) + [(extent[a] + extent[b]) / 2 for a, b in pairs]
    # The small cost of the places themselves keeps what no term holds at the left.
    cost = np.concatenate([np.full(total, 1e-4), weights])
    solution = _cheapest(cost, absolute + apart, sides)
    assert solution is not None  # feasible by construction
    x = solution[:total]
    return x - (x - extent / 2).min(initial=np.inf) if total else x


def _terms(links: Links, total: int, n: int) -> tuple[list[Row], list[float]]:
    """Return the sideways runs to be kept small, and the weight of each.

    Those are the run of each link, and the distance of each of the first ``n`` points, the boxes,
    from the middle of its neighbours on either side.
    """
    terms: list[Row] = [[(a, 1.0), (b, -1.0)] for a, b in links]
    weights = [STRAIGHT[(a >= n) + (b >= n)] for a, b in links]
    for side in _neighbours(total, links):
        for v, points in enumerate(side[:n]):
            if len(points) > 1:
                terms.append([(v, 1.0), *((u, -1 / len(points)) for u in points)])
                weights.append(CENTRED)
    return terms, weights


def _cheapest(
    cost: NDArray[Any],
    rows: Sequence[Row],
    sides: Sequence[float] | NDArray[np.float64],
) -> NDArray[np.float64] | None:
    """Return the cheapest nonnegative vector whose rows reach their sides, if there is one.

    A row is a list of indices with their factors.
    """
    if not rows:
        return np.zeros(len(cost))
    from scipy.optimize import linprog  # takes longer to import than a drawing
    from scipy.sparse import csr_array

    columns, factors = zip(*chain.from_iterable(rows), strict=True)
    first = offsets([*map(len, rows)])
    shape = (len(rows), len(cost))
    matrix: Any = csr_array((np.negative(factors), columns, first), shape=shape)
    result: Any = linprog(cost, A_ub=matrix, b_ub=np.negative(sides), method="highs-ds")
    return None if result.x is None else np.asarray(result.x)
