"""Places for the boxes of a directed acyclic graph, layer under layer.

The method is that of Sugiyama, Tagawa and Toda 1981, "Methods for visual understanding of
hierarchical system structures": layers by longest path, crossings lessened by barycentres,
horizontal places by least squares under the order (isotonic regression).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

SWEEPS = 24
"""Passes over the layers, downwards and upwards in turn, for order and for places."""


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
    widths: Sequence[float], arcs: Sequence[tuple[int, int]], *, space: float, lane: float
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
    """
    layer = _layers(len(widths), arcs)
    chains, all_layers = _chains(layer, arcs)
    extent = np.concatenate([widths, np.full(len(all_layers) - len(widths), lane)])
    links = [(a, b) for chain in chains for a, b in pairwise(chain)]
    neighbours = _neighbours(len(all_layers), links)
    rows = _ordered(all_layers, neighbours)
    x = _places(rows, neighbours, extent + space)
    return LayeredLayout(
        x=x[: len(widths)],
        layer=layer,
        courses=tuple(tuple((float(x[p]), int(all_layers[p])) for p in chain) for chain in chains),
    )


def _layers(n: int, arcs: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """Return the length of the longest path to each box."""
    layer = np.zeros(n, np.int64)
    for _ in range(n):
        before = layer.copy()
        for upper, lower in arcs:
            layer[lower] = max(layer[lower], layer[upper] + 1)
        if (layer == before).all():
            return layer
    if n and arcs:
        raise ValueError("the arcs have a directed cycle")
    return layer


def _chains(
    layer: NDArray[np.int64], arcs: Sequence[tuple[int, int]]
) -> tuple[list[list[int]], NDArray[np.int64]]:
    """Give each arc a passing point in every layer that it crosses."""
    layers, chains = layer.tolist(), []
    for upper, lower in arcs:
        crossed = range(layers[upper] + 1, layers[lower])
        first = len(layers)
        layers.extend(crossed)
        chains.append([upper, *range(first, first + len(crossed)), lower])
    return chains, np.array(layers, np.int64)


def _neighbours(n: int, links: Sequence[tuple[int, int]]) -> tuple[list[list[int]], ...]:
    """Return the points linked from above, and those linked from below, of each point."""
    above: list[list[int]] = [[] for _ in range(n)]
    below: list[list[int]] = [[] for _ in range(n)]
    for a, b in links:
        below[a].append(b)
        above[b].append(a)
    return above, below


def _ordered(
    layer: NDArray[np.int64], neighbours: tuple[list[list[int]], ...]
) -> list[NDArray[np.int64]]:
    """Order each layer by the mean places of its points' neighbours in the layer before."""
    rows = [np.flatnonzero(layer == k) for k in range(int(layer.max(initial=-1)) + 1)]
    place = np.zeros(len(layer))
    for row in rows:
        place[row] = np.arange(len(row))
    for sweep in range(SWEEPS):
        linked = neighbours[sweep % 2]
        for k in _direction(len(rows), sweep):
            wanted = [np.mean(place[linked[p]]) if linked[p] else place[p] for p in rows[k]]
            rows[k] = rows[k][np.argsort(wanted, kind="stable")]
            place[rows[k]] = np.arange(len(rows[k]))
    return rows


def _places(
    rows: list[NDArray[np.int64]],
    neighbours: tuple[list[list[int]], ...],
    extent: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Move each layer's points near their neighbours, in order and without overlap."""
    x = np.zeros(len(extent))
    offsets = [np.concatenate([[0.0], np.cumsum(_steps(extent[row]))]) for row in rows]
    for row, offset in zip(rows, offsets, strict=True):
        x[row] = offset - offset[-1] / 2
    above, below = neighbours
    for sweep in range(SWEEPS):
        for k in _direction(len(rows), sweep):
            linked = [above[p] + below[p] for p in rows[k]]
            wanted = np.array(
                [
                    np.mean(x[near]) if near else x[p]
                    for p, near in zip(rows[k], linked, strict=True)
                ]
            )
            x[rows[k]] = isotonic_regression(wanted - offsets[k]) + offsets[k]
    return x - (x - extent / 2).min(initial=np.inf) if len(x) else x


def isotonic_regression(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest vector, by least squares, whose entries never fall.

    Pool adjacent violators, with the sums in the order of ``scipy.optimize.isotonic_regression``,
    whose import takes longer than a drawing. Blocks are means and sizes.
    """
    given, means, sizes = values.tolist(), list[float](), list[int]()
    i = 0
    while i < len(given):
        mean, size, i = given[i], 1, i + 1
        if means and means[-1] >= mean:
            size += sizes[-1]
            total = sizes.pop() * means.pop() + mean
            mean = total / size
            while i < len(given) and mean >= given[i]:
                total, size, i = total + given[i], size + 1, i + 1
                mean = total / size
            while means and means[-1] >= mean:
                size += sizes[-1]
                total += sizes.pop() * means.pop()
                mean = total / size
        means.append(mean)
        sizes.append(size)
    return np.repeat(means, sizes)


def _steps(extent: NDArray[np.float64]) -> NDArray[np.float64]:
    return (extent[1:] + extent[:-1]) / 2


def _direction(n: int, sweep: int) -> range:
    return range(n) if sweep % 2 == 0 else range(n - 1, -1, -1)
