"""Coordinate ascent over single cells for a fixed DAG."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn.data import Dataset
from exactlearn.kernel import kernel
from exactlearn.scores import Score

GAIN = 1e-9
"""Least improvement that counts: smaller ones are rounding, and could cycle."""


def settle(
    dataset: Dataset,
    values: NDArray[np.int64],
    parents: Sequence[Sequence[int]],
    score: Score,
) -> NDArray[np.int64]:
    """Change single cells while that raises the score of the DAG; return the new completion.

    Parameters
    ----------
    dataset
        The incomplete table.
    values
        The completion to begin with, one value for each missing cell.
    parents
        Parents of each variable.
    score
        The score.
    """
    n = dataset.n_variables
    weights = np.ones(dataset.n_rows) if dataset.weights is None else dataset.weights
    kind, a, _ = score.compiled(float(weights.sum()))
    widest = max(1, *(len(ps) for ps in parents))
    table = np.full((n, widest), -1, np.int64)
    for child, ps in enumerate(parents):
        table[child, : len(ps)] = list(ps)
    codes = np.ascontiguousarray(dataset.complete(values).codes.T.astype(np.int16))
    cells = dataset.missing_cells
    _ascend(codes, weights, dataset.cardinalities, table, cells, kind, a, GAIN)
    return codes[cells[:, 1], cells[:, 0]].astype(np.int64)


@kernel
def _term(n: float, alpha: float, kind: int, a: float) -> float:
    if kind == 0:
        return math.lgamma(n + alpha)
    return a * n * math.log(n) if n > 1e-12 else 0.0


@kernel
def _configuration(
    codes: NDArray[np.int16],
    cardinalities: NDArray[np.int64],
    parents: NDArray[np.int64],
    row: int,
) -> int:
    index = 0
    for p in range(len(parents)):
        if parents[p] < 0:
            break
        index = index * cardinalities[parents[p]] + codes[parents[p], row]
    return index


@kernel
def _move_row(
    sign: float,
    row: int,
    family: int,
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
    cardinalities: NDArray[np.int64],
    parents: NDArray[np.int64],
    counts: NDArray[np.float64],
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
    first: NDArray[np.int64],
    kind: int,
    a: float,
) -> float:
    """Add (+1) or remove (-1) a row in one family's table; return the change of its score."""
    r = cardinalities[family]
    j = _configuration(codes, cardinalities, parents[family], row)
    q = sizes[family]
    cell = first[family] + j * r + codes[family, row]
    total = first[family] + j * r
    w = sign * weights[row]
    change = _term(counts[cell] + w, a / (q * r), kind, a) - _term(
        counts[cell], a / (q * r), kind, a
    )
    change -= _term(sums[total] + w, a / q, kind, a) - _term(sums[total], a / q, kind, a)
    counts[cell] += w
    sums[total] += w
    return change


@kernel
def _ascend(
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
    cardinalities: NDArray[np.int64],
    parents: NDArray[np.int64],
    cells: NDArray[np.int64],
    kind: int,
    a: float,
    least: float,
) -> None:
    n, rows = codes.shape
    sizes = np.ones(n)
    first = np.zeros(n + 1, np.int64)
    concerns = np.zeros((n, n), np.bool_)
    for i in range(n):
        concerns[i, i] = True
        for p in parents[i]:
            if p >= 0:
                sizes[i] *= cardinalities[p]
                concerns[p, i] = True
        first[i + 1] = first[i] + int(sizes[i]) * cardinalities[i]
    counts, sums = np.zeros(first[n]), np.zeros(first[n])
    for i in range(n):
        for u in range(rows):
            _move_row(
                1.0,
                u,
                i,
                codes,
                weights,
                cardinalities,
                parents,
                counts,
                sums,
                sizes,
                first,
                kind,
                a,
            )
    improved = True
    while improved:
        improved = False
        for c in range(len(cells)):
            u, v = cells[c, 0], cells[c, 1]
            old = codes[v, u]
            lost = 0.0
            for i in range(n):
                if concerns[v, i]:
                    lost += _move_row(
                        -1.0,
                        u,
                        i,
                        codes,
                        weights,
                        cardinalities,
                        parents,
                        counts,
                        sums,
                        sizes,
                        first,
                        kind,
                        a,
                    )
            best, best_gain = old, least
            for x in range(cardinalities[v]):
                if x == old:
                    continue
                codes[v, u] = x
                gain = lost
                for i in range(n):
                    if concerns[v, i]:
                        gain += _move_row(
                            1.0,
                            u,
                            i,
                            codes,
                            weights,
                            cardinalities,
                            parents,
                            counts,
                            sums,
                            sizes,
                            first,
                            kind,
                            a,
                        )
                for i in range(n):
                    if concerns[v, i]:
                        _move_row(
                            -1.0,
                            u,
                            i,
                            codes,
                            weights,
                            cardinalities,
                            parents,
                            counts,
                            sums,
                            sizes,
                            first,
                            kind,
                            a,
                        )
                if gain > best_gain:
                    best, best_gain = x, gain
            codes[v, u] = best
            improved = improved or best != old
            for i in range(n):
                if concerns[v, i]:
                    _move_row(
                        1.0,
                        u,
                        i,
                        codes,
                        weights,
                        cardinalities,
                        parents,
                        counts,
                        sums,
                        sizes,
                        first,
                        kind,
                        a,
                    )
