"""The pool of cell models: a product of powers, and what it must never do."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness import hide
from exactlearn.errors import TooLargeError
from exactlearn.imputation import Learning
from exactlearn.imputation.cell_models import (
    COMPONENTS,
    FLOOR,
    NetworkAverage,
    fit_pool,
    pooled,
    with_hidden_cells,
)
from exactlearn.imputation.learning import CellModel, independent
from tests.interrupts import press_ctrl_c
from tests.network_oracle import random_network

HOW = Learning(networks=2)


def table_of(seed: int, rows: int = 80, share: float = 0.2) -> Dataset:
    rng = np.random.default_rng(seed)
    return hide(random_network(rng, 5).sample(rows, rng), f"mcar:{share}", rng)


@given(st.integers(0, 10**6))
@settings(max_examples=25)
def test_the_pool_is_the_product_of_powers(seed):
    rng, table = np.random.default_rng(seed), table_of(seed, rows=6, share=0.5)
    sizes = table.cardinalities[table.missing_cells[:, 1]]
    parts = rng.random((3, len(sizes), table.cardinalities.max()))
    parts *= np.arange(parts.shape[2]) < sizes[:, None]
    parts /= parts.sum(axis=2, keepdims=True)
    found = pooled([*parts], table)
    for cell, size in enumerate(sizes):
        product = ((1 - FLOOR) * parts[:, cell, :size] + FLOOR / size).prod(axis=0) ** (
            1 / 3
        )
        assert found[cell, :size] == pytest.approx(product / product.sum())
        assert not found[cell, size:].any()


@given(st.integers(0, 10**6))
@settings(max_examples=25)
def test_the_pool_loses_at_most_the_mean_of_its_parts(seed):
    table = Dataset(np.full((5, 1), -1), ("a",), (tuple("xyz"),))
    parts = np.random.default_rng(seed).dirichlet(np.ones(3), (2, 5))
    floored = (1 - FLOOR) * parts + FLOOR / 3
    assert (
        -np.log(pooled([*parts], table)) <= -np.log(floored).mean(axis=0) + 1e-12
    ).all()


@given(st.integers(0, 10**6), st.floats(0.05, 1.0))
@settings(max_examples=25)
def test_hiding_leaves_each_variable_a_cell_that_it_had(seed, share):
    table = table_of(seed, rows=6, share=0.4)
    found = with_hidden_cells(table, share, np.random.default_rng(seed))
    assert ((found.codes == table.codes) | (found.codes == -1)).all()
    assert np.array_equal(
        (found.codes >= 0).any(axis=0), (table.codes >= 0).any(axis=0)
    )


def test_it_is_a_distribution_of_every_cell_and_the_same_again():
    table = table_of(1)
    model, status = fit_pool(table, HOW)
    again, _ = fit_pool(table, HOW)
    found = model.posterior(table)
    assert status == "heuristic"
    assert set(model.components) == set(COMPONENTS)
    assert found.sum(axis=1) == pytest.approx(1)
    assert np.array_equal(again.posterior(table), found)
    other = fit_pool(table, replace(HOW, seed=1))[0]
    assert not np.array_equal(other.posterior(table), found)


def test_another_table_gets_what_its_rows_say():
    table = table_of(2)
    model, _ = fit_pool(table, HOW)
    every = model.posterior(table)
    half = table.part(slice(0, 40))
    assert model.posterior(half) == pytest.approx(
        every[: len(half.missing_cells)], abs=0.02
    )


def test_awkward_tables_are_filled():
    codes = np.array([[0, 2, -1, 0], [1, -1, -1, 0], [-1, -1, -1, -1], [1, 0, -1, 0]])
    states = (("x", "y"), ("u", "v", "w"), ("p", "q"), ("only",))
    table = Dataset(
        codes, ("a", "b", "nothing", "constant"), states, np.array([1.0, 0, 2, 1])
    )
    for missingness in ("ignored", "learned"):
        how = replace(HOW, missingness=missingness)
        found = fit_pool(table, how)[0].posterior(table)
        assert found.sum(axis=1) == pytest.approx(1)
        one = Dataset(codes[:, :1], ("a",), states[:1])
        alone = fit_pool(one, how)[0].posterior(one)
        assert alone.argmax(axis=1).tolist() == [1]


def test_rows_of_a_weight_count_as_often():
    table = table_of(4, rows=60)
    twice = replace(table, codes=np.tile(table.codes, (2, 1)))
    weighed = replace(table, weights=np.full(60, 2.0))
    one, two = (fit_pool(t, HOW)[0].posterior(table) for t in (weighed, twice))
    assert abs(one - two).mean() < 0.05


class TestLimits:
    def test_without_any_time_it_has_the_shares_of_the_states(self):
        table = table_of(5)
        model, status = fit_pool(table, replace(HOW, time_limit=0.0))
        marginal = NetworkAverage((independent(table),)).posterior(table)
        assert status == "feasible"
        assert model.posterior(table) == pytest.approx(marginal, abs=1e-3)

    def test_an_interrupt_keeps_the_components_that_are_done(self, monkeypatch):
        def fit(*told) -> CellModel:
            press_ctrl_c()
            return NetworkAverage((independent(table_of(5)),))

        monkeypatch.setitem(COMPONENTS, "logistic", fit)
        model, status = fit_pool(table_of(5), HOW)
        assert (list(model.components), status) == (["logistic"], "interrupted")

    def test_a_component_that_needs_too_large_tables_is_left_out(self, monkeypatch):
        def refuse(*told) -> None:
            raise TooLargeError("large")

        monkeypatch.setitem(COMPONENTS, "networks", refuse)
        model, status = fit_pool(table_of(6), HOW)
        assert (list(model.components), status) == (["logistic"], "heuristic")


def test_cells_missing_by_their_value_get_it():
    rng = np.random.default_rng(7)
    full = random_network(rng, 5).sample(600, rng)
    table = hide(full, "mnar:180:0", rng)
    truth = full.codes[tuple(table.missing_cells.T)]
    ignored, learned = (
        fit_pool(table, replace(HOW, missingness=m))[0].posterior(table)
        for m in ("ignored", "learned")
    )
    right = [(p.argmax(axis=1) == truth).mean() for p in (ignored, learned)]
    assert right[1] > right[0] + 0.05
