"""Strongly connected components, of small graphs and of large ones, against reachability."""

import numpy as np
import pytest

from exactlearn.solvers import components


@pytest.mark.parametrize("closed", [0, 99])
@pytest.mark.parametrize("n", [1, 2, 5, 20, 33])
def test_vertices_are_together_that_reach_each_other(monkeypatch, closed, n):
    monkeypatch.setattr(components, "_CLOSED", closed)
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
