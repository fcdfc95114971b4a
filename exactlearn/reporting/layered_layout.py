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
from operator import add
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
    widths: Sequence[float],
    arcs: Links,
    *,
    space: float,
    lane: float,
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
    links = [*chain.from_iterable(map(pairwise, chains))]
    # 3. The order within each layer, with few crossings.
    rows = _ordered(layers, links)
    # 4. Places that keep the order, with few bends.
    n_boxes = len(layer)
    n_passing = len(layers) - n_boxes
    passing = np.full(n_passing, lane + space / 2)
    x = _places(rows, links, np.append(extent, passing), n_boxes)
    points = [*zip(x.tolist(), layers.tolist(), strict=True)]
    courses = []
    for course in chains:
        courses.append(tuple(map(points.__getitem__, course)))
    return LayeredLayout(
        x=x[:n_boxes],
        layer=layer,
        courses=tuple(courses),
    )


def _layers(extent: NDArray[np.float64], arcs: Links) -> NDArray[np.int64]:
    """Return the layers of least total arc length, shape (boxes,).

    A box as far from its parents' side as from its children's goes where most width is free.
    """
    # The total length is linear in the layers: each counts by its pull.
    pull = _pulls(len(extent), arcs)
    drops = _differences(arcs)
    solution = _cheapest(pull, drops, np.ones(len(arcs)))
    if solution is None:
        raise ValueError("the arcs have a directed cycle")
    layer = np.rint(solution).astype(np.int64)
    # Boxes without a pull may stand in several layers at the same length.
    above, below = _neighbours(len(extent), arcs)
    load = np.bincount(layer, extent)
    for v in np.flatnonzero(pull == 0):
        highest = layer[above[v]].max(initial=-1) + 1
        lowest = layer[below[v]].min(initial=len(load))
        load[layer[v]] -= extent[v]
        layer[v] = highest + np.argmin(load[highest:lowest])
        load[layer[v]] += extent[v]
    return layer


def _pulls(n: int, arcs: Links) -> NDArray[np.int64]:
    """Return the number of each box's arcs from above less that of its arcs to below."""
    pulls = np.zeros(n, np.int64)
    for upper, lower in arcs:
        pulls[upper] -= 1
        pulls[lower] += 1
    return pulls


def _split(
    layer: NDArray[np.int64],
    extent: NDArray[np.float64],
    arcs: Links,
) -> NDArray[np.int64]:
    """Make two layers of each that is too wide: its boxes have no arcs among each other.

    This ends: each split leaves at least one box above and one below, so that there are at most as
    many splits as boxes, and every other step goes one layer down.
    """
    pulls = _pulls(len(layer), arcs)
    widest_box = extent.max(initial=0)
    limit = max(widest_box, SPREAD * extent.sum() ** 0.5)
    k = 0
    while k <= layer.max(initial=-1):
        row = np.flatnonzero(layer == k)
        width = extent[row].sum()
        if width <= limit or len(row) < 2:
            k += 1
            continue
        # A box that is moved down lengthens the arcs from above, the others those to below.
        pull = pulls[row]
        by_pull = np.argsort(pull, kind="stable")[::-1]
        row = row[by_pull]
        # The upper half of the width stays, at least one box and not all of them.
        ends = np.cumsum(extent[row])
        half = np.searchsorted(ends, width / 2, side="right")
        n_upper = np.clip(half, 1, len(row) - 1)
        layer = layer + (layer > k)
        layer[row[n_upper:]] += 1
    return layer


def _chains(
    layer: NDArray[np.int64],
    arcs: Links,
) -> tuple[list[list[int]], NDArray[np.int64]]:
    """Return the points of each arc, and the layer of each box and of each passing point.

    An arc has a passing point in every layer that it crosses; those follow the boxes.
    """
    layers = layer.tolist()
    chains = []
    for upper, lower in arcs:
        first = len(layers)
        crossed = range(layers[upper] + 1, layers[lower])
        layers.extend(crossed)
        passing = range(first, len(layers))
        chains.append([upper, *passing, lower])
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
        neighbours = [*map(add, above, below)]
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
    layer: list[int],
    neighbours: list[list[int]],
) -> tuple[list[list[int]], list[int]]:
    """Return the points of each layer in the order of a depth-first search, and their places."""
    n_layers = max(layer, default=-1) + 1
    rows: list[list[int]] = [[] for _ in range(n_layers)]
    place = [-1] * len(layer)
    # The search begins at the top; the stack holds the next root below its points.
    stack = sorted(range(len(layer)), key=layer.__getitem__)[::-1]
    while stack:
        v = stack.pop()
        if place[v] < 0:
            row = rows[layer[v]]
            place[v] = len(row)
            row.append(v)
            stack.extend(reversed(neighbours[v]))
    return rows, place


def _sort(
    row: list[int],
    neighbours: list[list[int]],
    place: list[int],
) -> None:
    """Order a layer by the mean places of its points' neighbours; those without any stay."""
    barycentres = {}
    for v in row:
        if neighbours[v]:
            barycentres[v] = fmean(place[u] for u in neighbours[v])
    # Points without neighbours keep their places; the others fill the places between them.
    ordered = iter(sorted(barycentres, key=barycentres.__getitem__))
    for k, v in enumerate(row):
        if v in barycentres:
            row[k] = next(ordered)
        place[row[k]] = k


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
                excess = _excess(u, v, above, place)
                excess += _excess(u, v, below, place)
                if excess > 0:
                    row[k] = v
                    row[k + 1] = u
                    place[u] = k + 1
                    place[v] = k
                    better = True


def _excess(
    u: int,
    v: int,
    neighbours: list[list[int]],
    place: list[int],
) -> int:
    """Return the number of crossings on one side that ``v`` before ``u`` would remove."""
    ends_of_v = [place[w] for w in neighbours[v]]
    excess = 0
    for w in neighbours[u]:
        end = place[w]
        for end_of_v in ends_of_v:
            # They cross now, or would then.
            excess += (end > end_of_v) - (end < end_of_v)
    return excess


def _crossings(
    row: list[int],
    below: list[list[int]],
    place: list[int],
) -> int:
    """Count the crossings between a layer and the next."""
    # Two arcs cross when the left one ends right of the other: the ends on the left are sorted.
    ends_on_the_left: list[int] = []
    crossings = 0
    for v in row:
        ends = [place[w] for w in below[v]]
        for end in ends:
            crossings += len(ends_on_the_left)
            crossings -= bisect_right(ends_on_the_left, end)
        for end in ends:
            insort(ends_on_the_left, end)
    return crossings


def _places(
    rows: list[list[int]],
    links: Links,
    extent: NDArray[np.float64],
    n_boxes: int,
) -> NDArray[np.float64]:
    """Return the places of least weighted sideways run, in order and without overlap.

    The variables of the linear program are the places and the absolute value of each run.

    Parameters
    ----------
    rows
        The points of each layer from left to right.
    links
        Pairs of points in neighbouring layers.
    extent
        Width of each point with the free space beside it, boxes first, shape (points,).
    n_boxes
        Number of boxes.
    """
    n_points = len(extent)
    runs, weights = _runs(links, n_points, n_boxes)
    # Each run is at most its absolute value, and so is its negative.
    constraints: list[Row] = []
    for sign in (1, -1):
        for absolute, run in enumerate(runs, n_points):
            signed = [(v, sign * factor) for v, factor in run]
            constraints.append([(absolute, 1.0), *signed])
    sides = [0.0] * len(constraints)
    # Neighbours in a layer keep their distance.
    neighbours = [*chain.from_iterable(map(pairwise, rows))]
    constraints += _differences(neighbours)
    for left, right in neighbours:
        sides.append((extent[left] + extent[right]) / 2)
    # The small cost of the places themselves keeps points without a run at the left.
    cost = np.append(np.full(n_points, 1e-4), weights)
    solution = _cheapest(cost, constraints, sides)
    assert solution is not None  # feasible by construction
    x = solution[:n_points]
    left_edge: float = (x - extent / 2).min(initial=np.inf)
    return x - left_edge


def _runs(
    links: Links,
    n_points: int,
    n_boxes: int,
) -> tuple[list[Row], list[float]]:
    """Return the sideways runs to be kept small, and the weight of each.

    Those are the run of each link, and the distance of each box from the middle of its neighbours
    on either side.
    """
    runs = _differences([(b, a) for a, b in links])
    weights: list[float] = []
    for a, b in links:
        n_passing = (a >= n_boxes) + (b >= n_boxes)
        weights.append(STRAIGHT[n_passing])
    for side in _neighbours(n_points, links):
        for box, points in enumerate(side[:n_boxes]):
            if len(points) > 1:
                mean = [(point, -1 / len(points)) for point in points]
                runs.append([(box, 1.0), *mean])
                weights.append(CENTRED)
    return runs, weights


def _differences(pairs: Links) -> list[Row]:
    """Return a row for each pair: its second variable less its first."""
    return [[(second, 1.0), (first, -1.0)] for first, second in pairs]


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
    result: Any = linprog(
        cost,
        A_ub=matrix,
        b_ub=np.negative(sides),
        method="highs-ds",
    )
    return None if result.x is None else np.asarray(result.x)
