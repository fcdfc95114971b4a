"""The pool of imputers: its weights against a grid, and what it must never do."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness import hide
from exactlearn.errors import TooLargeError
from exactlearn.imputation import Learning, stacking
from exactlearn.imputation.imputed import CellModel
from exactlearn.imputation.learning import independent
from exactlearn.imputation.stacking import (
    COMPONENTS,
    Component,
    HiddenCells,
    NetworkAverage,
    fit_stacked,
    log_shares,
    pool_weights,
    pooled,
    with_hidden_cells,
)
from tests.interrupts import press_ctrl_c
from tests.network_oracle import random_network

HOW = Learning(networks=2)


def shares_of(rng: np.random.Generator, sizes: np.ndarray) -> np.ndarray:
    """Return a random distribution of each cell, zero beyond its states."""
    found = rng.random((len(sizes), sizes.max())) * (np.arange(sizes.max()) < sizes[:, None])
    return found / found.sum(axis=1, keepdims=True)


def hidden_cells(seed: int, cells: int, components: int) -> HiddenCells:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, cells)
    logs = log_shares([shares_of(rng, sizes) for _ in range(components)], sizes, 1e-3)
    return HiddenCells(
        logs, rng.integers(0, sizes), rng.integers(1, 4, cells) * 1.0, np.zeros(cells, np.int64)
    )


def table_of(seed: int, rows: int = 80, share: float = 0.2) -> Dataset:
    rng = np.random.default_rng(seed)
    return hide(random_network(rng, 5).sample(rows, rng), f"mcar:{share}", rng)


@given(st.integers(0, 10**6))
@settings(max_examples=25)
def test_the_pool_is_the_product_of_powers(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, 6)
    parts = [shares_of(rng, sizes) for _ in range(3)]
    weights = rng.random((6, 3)) * 2
    found = pooled(log_shares(parts, sizes, 0.01), weights)
    for cell, size in enumerate(sizes):
        product = np.ones(size)
        for part, weight in zip(parts, weights[cell], strict=True):
            product *= (0.99 * part[cell, :size] + 0.01 / size) ** weight
        assert found[cell, :size] == pytest.approx(product / product.sum())
        assert not found[cell, size:].any()


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 5.0]))
@settings(max_examples=25)
def test_no_weights_of_a_grid_are_better(seed, strength):
    cells, centre = hidden_cells(seed, 7, 2), np.array([0.6, 0.4])

    def loss(weights):
        total = strength * ((weights - centre) ** 2).sum()
        for k, state in enumerate(cells.states):
            found = pooled(cells.logs[:, [k]], weights[None])[0]
            total -= cells.weights[k] * np.log(found[state])
        return total

    found = pool_weights(cells, centre, strength)
    assert (found >= 0).all()
    grid = [np.array([a, b]) for a in np.linspace(0, 3, 13) for b in np.linspace(0, 3, 13)]
    assert loss(found) <= min(map(loss, grid)) + 1e-4


def test_the_component_that_is_the_truth_gets_the_weight():
    rng = np.random.default_rng(3)
    sizes = np.full(4000, 3)
    truth, noise = shares_of(rng, sizes), shares_of(rng, sizes)
    states = (rng.random((4000, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    cells = HiddenCells(
        log_shares([noise, truth], sizes, 1e-6), states, np.ones(4000), np.zeros(4000, np.int64)
    )
    weights = pool_weights(cells, np.array([0.5, 0.5]), 1.0)
    assert weights == pytest.approx([0, 1], abs=0.06)


@given(st.integers(0, 10**6), st.floats(0.05, 1.0))
@settings(max_examples=25)
def test_hiding_leaves_each_variable_a_cell_that_it_had(seed, share):
    table = table_of(seed, rows=6, share=0.4)
    found = with_hidden_cells(table, share, np.random.default_rng(seed))
    assert ((found.codes == table.codes) | (found.codes == -1)).all()
    assert np.array_equal((found.codes >= 0).any(axis=0), (table.codes >= 0).any(axis=0))


def test_it_is_a_distribution_of_every_cell_and_the_same_again():
    table = table_of(1)
    model, status = fit_stacked(table, HOW)
    again, _ = fit_stacked(table, HOW)
    found = model.posterior(table)
    assert status == "heuristic"
    assert set(model.components) == set(COMPONENTS)
    assert found.sum(axis=1) == pytest.approx(1)
    assert np.array_equal(again.posterior(table), found)
    assert not np.array_equal(fit_stacked(table, replace(HOW, seed=1))[0].weights, model.weights)


def test_another_table_gets_what_its_rows_say():
    table = table_of(2)
    model, _ = fit_stacked(table, HOW)
    every = model.posterior(table)
    half = table.part(slice(0, 40))
    assert model.posterior(half) == pytest.approx(every[: len(half.missing_cells)], abs=0.02)


def test_awkward_tables_are_filled():
    codes = np.array([[0, 2, -1, 0], [1, -1, -1, 0], [-1, -1, -1, -1], [1, 0, -1, 0]])
    states = (("x", "y"), ("u", "v", "w"), ("p", "q"), ("only",))
    table = Dataset(codes, ("a", "b", "nothing", "constant"), states, np.array([1.0, 0, 2, 1]))
    for missingness in ("ignored", "learned"):
        how = replace(HOW, missingness=missingness)
        found = fit_stacked(table, how)[0].posterior(table)
        assert found.sum(axis=1) == pytest.approx(1)
        one = Dataset(codes[:, :1], ("a",), states[:1])
        alone = fit_stacked(one, how)[0].posterior(one)
        assert alone.argmax(axis=1).tolist() == [1]


def test_rows_of_a_weight_count_as_often():
    table = table_of(4, rows=60)
    twice = replace(table, codes=np.tile(table.codes, (2, 1)))
    weighed = replace(table, weights=np.full(60, 2.0))
    one, two = (fit_stacked(t, HOW)[0].posterior(table) for t in (weighed, twice))
    assert abs(one - two).mean() < 0.05


class TestLimits:
    def test_without_any_time_it_has_the_shares_of_the_states(self):
        table = table_of(5)
        model, status = fit_stacked(table, replace(HOW, time_limit=0.0))
        marginal = NetworkAverage((independent(table),)).posterior(table)
        assert status == "feasible"
        assert model.posterior(table) == pytest.approx(marginal, abs=1e-3)

    def test_an_interrupt_keeps_the_components_that_are_done(self, monkeypatch):
        def fit(*told) -> CellModel:
            press_ctrl_c()
            return NetworkAverage((independent(table_of(5)),))

        monkeypatch.setitem(stacking.COMPONENTS, "logistic", Component(fit, 0.5))
        model, status = fit_stacked(table_of(5), HOW)
        assert (list(model.components), status) == (["mixture", "logistic"], "interrupted")
        assert model.weights == pytest.approx(np.tile([0.1 / 0.6, 0.5 / 0.6], (5, 1)))

    def test_a_component_that_needs_too_large_tables_is_left_out(self, monkeypatch):
        def refuse(*told) -> None:
            raise TooLargeError("large")

        monkeypatch.setitem(stacking.COMPONENTS, "networks", Component(refuse, 0.5))
        model, status = fit_stacked(table_of(6), HOW)
        assert (list(model.components), status) == (["mixture", "logistic", "forest"], "heuristic")


def test_cells_missing_by_their_value_get_it():
    rng = np.random.default_rng(7)
    full = random_network(rng, 5).sample(600, rng)
    table = hide(full, "mnar:0.15:0", rng)
    truth = full.codes[tuple(table.missing_cells.T)]
    ignored, learned = (
        fit_stacked(table, replace(HOW, missingness=m))[0].posterior(table)
        for m in ("ignored", "learned")
    )
    right = [(p.argmax(axis=1) == truth).mean() for p in (ignored, learned)]
    assert right[1] > right[0] + 0.05
