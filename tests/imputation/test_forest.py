"""Forests against trees grown by recursion, rows sorted by hand, and plain facts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn._runtime.control import SearchControl
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness import hide
from exactlearn.imputation.forest import (
    ForestParameters,
    Space,
    Trees,
    descend,
    fit_forest,
    grow,
)
from exactlearn.imputation.imputed import first_states
from exactlearn.imputation.turns import mean_shares
from tests.imputation.test_logistic import dependent, without
from tests.strategies import datasets

FEW = ForestParameters(trees=5)


def cuts(size: int) -> list[tuple[int, frozenset[int]]]:
    """Return each cut of a variable with the states that go left."""
    equal = [(s, frozenset({s})) for s in range(size)]
    return equal + [(size + s, frozenset(range(s + 1))) for s in range(size - 1)]


def impurity(codes, target, states, weights, rows) -> float:
    counts = np.bincount(codes[rows, target], weights[rows], states)
    return (counts**2).sum() / counts.sum()


def check_node(tree, node, codes, target, sizes, weights, rows, prior, least, smoothing):
    """Check a node and those below it: cut, distribution, rows."""
    states = sizes[target]
    counts = np.bincount(codes[rows, target], weights[rows], states)
    own = (counts + smoothing * prior) / (counts.sum() + smoothing)
    place = tree.place[node]
    assert tree.shares[place : place + states] == pytest.approx(own)
    gains = {}
    for u in range(len(sizes)):
        for cut, left in cuts(sizes[u]) if u != target else []:
            goes = np.isin(codes[rows, u], list(left))
            if min(weights[rows[goes]].sum(), weights[rows[~goes]].sum()) >= least:
                gains[u, cut] = sum(
                    impurity(codes, target, states, weights, part)
                    for part in (rows[goes], rows[~goes])
                )
    alone = impurity(codes, target, states, weights, rows)
    best = max(gains.values(), default=-np.inf)
    if tree.feature[node] < 0:
        assert best <= alone + 1e-6 * counts.sum()
        return
    u, cut = tree.feature[node], tree.cut[node]
    assert gains[u, cut] == pytest.approx(best)
    goes = np.isin(codes[rows, u], list(dict(cuts(sizes[u]))[cut]))
    for k, part in enumerate((rows[goes], rows[~goes])):
        below = tree.child[node] + k, codes, target, sizes, weights, part, own, least, smoothing
        check_node(tree, *below)


def grown(table: Dataset, target: int, weights: np.ndarray, least: float, smoothing: float):
    """Return the tree of a variable and its root."""
    sizes, n, rows = table.cardinalities, table.n_variables, table.n_rows
    codes = np.ascontiguousarray(table.codes.T, np.int64)
    trees, roots = Trees.room(2 * codes.size, 2 * rows * int(sizes.sum())), np.zeros(n, np.int64)
    grow(
        codes, codes, sizes, weights, n, least, smoothing, 30, np.random.default_rng(0),
        Space.of(sizes, rows, 30), trees, roots,
    )  # fmt: skip
    return trees, roots[target]


@settings(max_examples=50)
@given(datasets(rows=(1, 25), variables=(2, 4)), st.integers(0, 2**32 - 1))
def test_every_node_takes_the_best_cut(table, seed):
    weights = np.random.default_rng(seed).uniform(0.5, 2, table.n_rows)
    (tree, root), codes = grown(table, 1, weights, 1.5, 2.0), table.codes.astype(np.int64)
    prior = np.full(table.cardinalities[1], 1 / table.cardinalities[1])
    rows = np.arange(table.n_rows)
    check_node(tree, root, codes, 1, table.cardinalities, weights, rows, prior, 1.5, 2.0)


@settings(max_examples=30)
@given(datasets(rows=(2, 25), variables=(2, 4), missing=True), st.integers(0, 2**32 - 1))
def test_rows_descend_as_by_hand(table, seed):
    rng = np.random.default_rng(seed)
    sizes, first = table.cardinalities, first_states(table.cardinalities)
    full = replace(table, codes=np.where(table.codes < 0, 0, table.codes))
    tree, root = grown(full, 1, np.ones(table.n_rows), 1.0, 1.0)
    shares = np.concatenate([rng.dirichlet(np.ones(r), table.n_rows) for r in sizes], axis=1)
    strata = rng.random((1, table.n_variables))
    found = np.zeros((table.n_rows, sizes[1]))
    codes, rows = table.codes.astype(np.int64), np.arange(table.n_rows)
    descend(codes, shares, first, rows, tree, np.array([root]), strata, found)
    for row in rows:
        node = root
        while (u := tree.feature[node]) >= 0:
            state = codes[row, u]
            if state < 0:
                sums = shares[row, first[u] : first[u + 1]].cumsum()
                state = min(int((sums < strata[0, u]).sum()), sizes[u] - 1)
            node = tree.child[node] + (state not in dict(cuts(sizes[u]))[tree.cut[node]])
        place = tree.place[node]
        assert found[row] == pytest.approx(tree.shares[place : place + sizes[1]])


@settings(max_examples=30)
@given(datasets(rows=(1, 12), variables=(1, 4), states=(1, 4), missing=True))
def test_posterior_is_a_distribution(table):
    found = fit_forest(table, parameters=FEW).posterior(table)
    assert found.sum(axis=1) == pytest.approx(1.0)
    beyond = np.arange(found.shape[1]) >= table.cardinalities[table.missing_cells[:, 1]][:, None]
    assert (found >= 0).all()
    assert (found[beyond] == 0).all()


def test_same_seed_same_forest():
    table = hide(dependent(80, (3, 2, 3), 1), "mcar:0.2", np.random.default_rng(1))
    a, b, c = (fit_forest(table, seed=s, parameters=FEW).posterior(table) for s in (1, 1, 2))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


def test_finds_what_no_pair_of_variables_shows():
    table = without(dependent(400, (2, 2, 2), 2), np.arange(100), 2)
    right = (
        fit_forest(table).posterior(table).argmax(axis=1)
        == dependent(400, (2, 2, 2), 2).codes[:100, 2]
    )
    assert right.mean() > 0.75


def test_other_tables_of_the_same_variables():
    table = dependent(200, (3, 2, 3), 3)
    hidden = without(table, np.arange(200), 0)
    assert fit_forest(table).posterior(hidden).shape == (200, 3)


def test_rows_without_weight_count_for_nothing():
    table = without(dependent(60, (3, 2, 3), 4), np.arange(10), 2)
    other = replace(table, codes=np.where(np.arange(60)[:, None] < 40, table.codes, 0))
    weights = (np.arange(60) < 40).astype(float)
    a, b = (
        fit_forest(replace(t, weights=weights), parameters=FEW).posterior(table)
        for t in (table, other)
    )
    assert np.array_equal(a, b)


def test_a_control_that_is_over_leaves_the_shares():
    table = without(dependent(50, (3, 2, 3), 6), np.arange(10), 2)
    control = SearchControl()
    control.stop()
    found = fit_forest(table, control=control).posterior(table)
    assert found[0] == pytest.approx(mean_shares(table)[-3:])
