"""Strongly connected components against reachability, and rows without others in them."""

from itertools import pairwise

import numpy as np
import pytest

from exactlearn.solvers import components


@pytest.mark.parametrize("n", [1, 2, 5, 20, 33])
def test_vertices_are_together_that_reach_each_other(n):
    rng = np.random.default_rng(n)
    for arcs in (0, n // 2, n, 2 * n):
        tails, heads = rng.integers(n, size=(2, arcs))
        reached = np.eye(n, dtype=bool)
        for _ in range(n):
            for tail, head in zip(tails, heads, strict=True):
                reached[:, head] |= reached[:, tail]
        labels = components.strong_components(tails, heads, n)
        assert 0 <= labels.min() <= labels.max() < n
        assert ((labels[:, None] == labels) == (reached & reached.T)).all()


@pytest.mark.parametrize("seed", range(20))
def test_a_row_is_kept_that_contains_no_earlier_kept_one(seed):
    rng, words = np.random.default_rng(seed), seed % 3
    first = np.cumsum([0, *rng.integers(1, 12, 4)])
    masks = np.zeros((first[-1], words), np.uint64)
    for row in masks if words else ():
        for bit in rng.integers(64 * words, size=rng.integers(4)).tolist():
            row[bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
    wanted = np.zeros(first[-1], bool)
    for begin, end in pairwise(first.tolist()):
        for row in range(begin, end):
            kept = masks[begin:row][wanted[begin:row]]
            wanted[row] = (kept & ~masks[row]).any(axis=1).all()
    assert components.undominated(first, masks).tolist() == wanted.tolist()
