"""Posteriors and completions of missing cells against the full joint distribution."""

import numpy as np
import pytest

from exactlearn.bayesnet import buckets, missing_parts
from exactlearn.bayesnet.network import BayesianNetwork, normalised
from exactlearn.bayesnet.row_completion import (
    draw_completions,
    elimination_cells,
    most_probable_completion,
    posterior_cells,
)
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError, TooLargeError
from exactlearn.formats.bif import read_bif
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.inference.flows import posteriors
from tests.network_oracle import joint, random_network


def table_with_holes(
    network: BayesianNetwork, rng: np.random.Generator, rows: int
) -> Dataset:
    """Return possible rows, from complete to entirely missing."""
    codes = network.sample(rows, rng).codes.astype(np.int16)
    codes[rng.random(codes.shape) < rng.random((rows, 1))] = -1
    codes[0] = -1
    return Dataset(codes, network.names, network.states)


def row_posterior(full: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Return the joint posterior of a row's missing variables, an axis of each in their order."""
    rest = full[tuple(slice(None) if code < 0 else code for code in row)]
    return rest / rest.sum()


@pytest.mark.parametrize("seed", range(30))
def test_completions_agree_with_the_full_joint(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, int(rng.integers(1, 7)))
    table = table_with_holes(network, rng, 12)
    full = joint(network)
    posterior = posterior_cells(network, table)
    best = most_probable_completion(network, table)
    drawn = draw_completions(network, table, 2, rng)
    assert posterior.shape == (len(table.missing_cells), int(table.cardinalities.max()))
    cell = 0
    for row in table.codes:
        found = row_posterior(full, row)
        cells = slice(cell, cell + found.ndim)
        for axis in range(found.ndim):
            others = tuple(a for a in range(found.ndim) if a != axis)
            expected = found.sum(axis=others)
            shown = posterior[cell + axis]
            np.testing.assert_allclose(shown[: len(expected)], expected, atol=1e-12)
            assert not shown[len(expected) :].any()
        assert found[tuple(best[cells])] == pytest.approx(found.max(), rel=1e-9)
        assert all(found[tuple(one[cells])] > 0 for one in drawn)
        cell = cells.stop


@pytest.mark.parametrize("seed", range(20))
def test_likelihoods_of_observed_cells_agree_with_the_full_joint(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    network = random_network(rng, int(rng.integers(1, 7)))
    tables = [np.where(t < 1e-9, 0, t) for t in network.tables]
    tables = tuple(t / t.sum(axis=-1, keepdims=True) for t in tables)
    network = BayesianNetwork(network.names, network.states, network.parents, tables)
    codes = rng.integers(0, network.cardinalities, (25, network.n_variables)).astype(
        np.int16
    )
    codes[rng.random(codes.shape) < rng.random((25, 1))] = -1
    table = Dataset(codes, network.names, network.states)
    full = joint(network)
    sums = [
        full[tuple(slice(None) if c < 0 else c for c in row)].sum() for row in codes
    ]
    found = network.log_likelihood_rows(table)
    np.testing.assert_allclose(np.exp(found), sums, rtol=1e-11)
    assert np.array_equal(np.isneginf(found), np.array(sums) == 0)
    monkeypatch.setattr(missing_parts, "MAX_CODES", 40.0)
    np.testing.assert_array_equal(network.log_likelihood_rows(table), found)


def test_estimated_cost_counts_the_cells_of_all_components():
    """A chain a -> b -> c of two states: what is missing of it is one part."""
    tables = (np.full(2, 0.5), np.full((2, 2), 0.5), np.full((2, 2), 0.5))
    network = BayesianNetwork(tuple("abc"), (("n", "y"),) * 3, ((), (0,), (1,)), tables)
    rows = {
        (0, 0, 0): 0,
        (-1, 0, 0): 2,
        (-1, -1, 0): 4 + 2,
        (0, 0, -1): 2,
        (-1, 0, 1): 2,
    }
    codes = np.array(list(rows), np.int16)
    assert elimination_cells(network, codes) == sum(rows.values())


def test_draws_approach_the_joint_posterior():
    rng = np.random.default_rng(3)
    network = random_network(rng, 4)
    table = Dataset(
        np.array([[-1, 0, -1, -1], [-1, -1, -1, -1]]), network.names, network.states
    )
    drawn = draw_completions(network, table, 4000, rng)
    for row, cells in ((0, slice(0, 3)), (1, slice(3, 7))):
        expected = row_posterior(joint(network), table.codes[row])
        shares = np.zeros_like(expected)
        np.add.at(shares, tuple(drawn[:, cells].T), 1 / len(drawn))
        np.testing.assert_allclose(shares, expected, atol=0.04)


def test_variables_and_states_are_matched_by_name():
    network = BayesianNetwork(
        ("a", "b"),
        (("no", "yes"), ("low", "high")),
        ((), (0,)),
        (np.array([0.9, 0.1]), np.array([[0.8, 0.2], [0.3, 0.7]])),
    )
    states = (("high", "low"), ("u", "v"), ("maybe", "yes", "no"))
    table = Dataset(np.array([[0, 0, -1], [-1, 1, 1]]), ("b", "other", "a"), states)
    posterior = posterior_cells(network, table)
    np.testing.assert_allclose(posterior, [[0.0, 7 / 25, 18 / 25], [0.7, 0.3, 0.0]])
    assert most_probable_completion(network, table).tolist() == [2, 0]


def test_a_complete_table_needs_nothing():
    network = random_network(np.random.default_rng(0), 3)
    table = network.sample(4, np.random.default_rng(1))
    assert posterior_cells(network, table).shape[0] == 0
    assert len(most_probable_completion(network, table)) == 0
    assert draw_completions(network, table, 3, np.random.default_rng(2)).shape == (3, 0)


def test_long_rows_do_not_underflow():
    n = 1200
    tables = (np.array([0.6, 0.4]), *[np.array([[0.6, 0.4], [0.4, 0.6]])] * (n - 1))
    network = BayesianNetwork(
        tuple(f"x{v}" for v in range(n)),
        (("n", "y"),) * n,
        ((), *((v,) for v in range(n - 1))),
        tables,
    )
    table = Dataset(np.full((1, n), -1), network.names, network.states)
    assert most_probable_completion(network, table).tolist() == [0] * n
    np.testing.assert_allclose(
        posterior_cells(network, table)[-1], [0.5, 0.5], atol=1e-9
    )


def test_impossible_rows_strange_columns_and_numbers_are_refused():
    network = BayesianNetwork(
        ("a", "b"),
        (("n", "y"),) * 2,
        ((), (0,)),
        (np.array([0.5, 0.5]), np.array([[1.0, 0.0], [1.0, 0.0]])),
    )
    table = Dataset(np.array([[0, 0], [-1, 1]]), ("a", "b"), network.states)
    with pytest.raises(
        DataError, match=r"row 2 \(index 1\), missing cell of 'a': .* probability zero"
    ):
        posterior_cells(network, table)
    with pytest.raises(DataError, match=r"row 2 \(index 1\)"):
        most_probable_completion(network, table)
    strange = Dataset(np.array([[0, 0, -1]]), ("a", "b", "c"), (("n", "y"),) * 3)
    with pytest.raises(DataError, match="column 'c' has missing cells"):
        posterior_cells(network, strange)
    fewer = Dataset(np.array([[-1, 0]]), ("a", "b"), (("n",), ("n", "y")))
    with pytest.raises(DataError, match="state 'y'"):
        posterior_cells(network, fewer)
    with pytest.raises(
        OptionError, match="'draws': expected a whole number from 0, found -1"
    ):
        draw_completions(network, table, -1, np.random.default_rng(0))


def test_posteriors_agree_with_the_decision_graph(data_dir):
    network = normalised(read_bif(data_dir / "bif" / "alarm.bif.gz"))
    rng = np.random.default_rng(7)
    codes = network.sample(60, rng).codes.copy()
    codes[rng.random(codes.shape) < 0.4] = -1
    table = Dataset(codes, network.names, network.states)
    expected = posteriors(compile_network(network), codes)
    first = np.cumsum([0, *network.cardinalities])
    for (row, v), found in zip(
        table.missing_cells, posterior_cells(network, table), strict=True
    ):
        np.testing.assert_allclose(
            found[: network.cardinalities[v]],
            expected[row, first[v] : first[v + 1]],
            atol=1e-9,
        )


def test_rows_too_entangled_for_exact_inference_are_refused(monkeypatch):
    network = random_network(np.random.default_rng(6), 6)
    table = Dataset(np.array([[0] * 6, [-1] * 6]), network.names, network.states)
    monkeypatch.setattr(buckets, "LARGEST_ROW", 4)
    with pytest.raises(TooLargeError, match="missing cells of one row depend"):
        posterior_cells(network, table)


@pytest.mark.parametrize("case", ["alike", "torn"])
def test_many_observed_children_do_not_underflow(case):
    # P(child = y | parent), for both states of the parent
    alike = [(0.5, 0.5001)] * 1100
    torn = [(1e-3, 0.9)] * 200 + [(0.9, 1e-3)] * 200
    of_yes = np.array(alike if case == "alike" else torn)
    n = len(of_yes)
    network = BayesianNetwork(
        ("parent", *(f"x{v}" for v in range(n))),
        (("n", "y"),) * (n + 1),
        ((), *((0,),) * n),
        (np.array([0.5, 0.5]), *(np.column_stack([1 - p, p]) for p in of_yes)),
    )
    row = np.ones((1, n + 1), int)
    row[0, 0] = -1
    table = Dataset(row, network.names, network.states)
    logs = np.log(of_yes).sum(axis=0) + np.log(0.5)
    total = np.logaddexp(*logs)
    expected = np.exp(logs - total)
    np.testing.assert_allclose(posterior_cells(network, table)[0], expected, atol=1e-9)
    likelihood = network.log_likelihood_rows(table)
    np.testing.assert_allclose(likelihood, [total], atol=1e-8)
