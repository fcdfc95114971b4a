"""The public sets: their halves, and how a table is prepared."""

import numpy as np
import pytest

from exactlearn.reproduce.sources import HALVES, NETWORKS, SETS, public_set


def test_tables_alternate_between_the_halves_in_the_order_of_their_names():
    assert list(SETS) == sorted(SETS, key=str.casefold)
    development = [name for name in SETS if HALVES[name] == "development"]
    assert development == list(SETS)[::2]
    assert len(SETS) >= 20
    assert set(HALVES) == {*SETS, *NETWORKS}
    assert len([half for half in NETWORKS.values() if half == "test"]) == 5


@pytest.mark.parametrize("name", HALVES)
def test_a_set_has_at_most_the_rows_asked_for_and_no_constant_column(name, data_dir):
    table = public_set(name, data_dir, np.random.default_rng(0), rows=120)
    assert table.n_rows == min(table.n_rows, 120)
    for column, states in zip(table.codes.T, table.states, strict=True):
        assert set(column[column >= 0]) == set(range(len(states)))
        assert len(states) > 1
    if name in SETS:
        numeric = {f"X{k}" for k in SETS[name].numeric}
        assert set(table.edges) <= numeric
        assert all(len(edges) <= 4 for edges in table.edges.values())
        assert f"X{SETS[name].identifier}" not in table.names


def test_missing_cells_of_a_file_stay_missing(data_dir):
    """bridges.names: 2 + 1 + 15 + 16 + ... missing cells, 77 in all as PROVENANCE counts them."""
    table = public_set("bridges", data_dir, np.random.default_rng(0))
    assert (table.n_rows, table.n_variables, len(table.missing_cells)) == (108, 12, 77)


def test_rows_are_drawn_anew_of_a_large_table_alone(data_dir):
    draws = [public_set("car", data_dir, np.random.default_rng(k), 50).codes for k in (0, 1, 0)]
    assert not np.array_equal(draws[0], draws[1])
    assert np.array_equal(draws[0], draws[2])
    whole = [public_set("SPECT", data_dir, np.random.default_rng(k)).codes for k in (0, 1)]
    assert np.array_equal(*whole)
