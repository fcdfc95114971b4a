"""Columns that another column determines are named in one warning, and no others."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exactlearn as el
from exactlearn.data.blocks import merge_rows
from exactlearn.data.dataset import Dataset
from exactlearn.data.determined_columns import determined_columns
from exactlearn.errors import ColumnWarning
from tests.command_line import invoke


def is_function(column, source):
    """Return whether a column has one state in the rows of each state of another, by definition."""
    images = {}
    return all(
        (a < 0) == (b < 0) and images.setdefault(a, b) == b
        for a, b in zip(source.tolist(), column.tolist(), strict=True)
    )


@settings(max_examples=150)
@given(data=st.data(), n_rows=st.integers(1, 80), seed=st.integers(0, 999))
def test_determined_columns_hold_in_all_rows_and_are_complete(data, n_rows, seed):
    rng = np.random.default_rng(seed)
    columns = [rng.integers(-1, 4, n_rows)]
    for _ in range(data.draw(st.integers(1, 4))):
        source = columns[data.draw(st.integers(0, len(columns) - 1))]
        function = rng.integers(0, 3, 4)
        derived = np.where(source < 0, -1, function[source])
        noise = rng.integers(0, 3, n_rows)
        columns.append(derived if data.draw(st.booleans()) else noise)
    codes = np.stack(columns, axis=1)
    copies, functions = determined_columns(codes, np.full(len(columns), 4))
    for group in copies:
        assert all(is_function(codes[:, u], codes[:, v]) for u in group for v in group)
    for column, source in functions:
        assert is_function(codes[:, column], codes[:, source])
        assert not is_function(codes[:, source], codes[:, column])
    named = {v for group in copies for v in group[1:]} | {v for v, _ in functions}
    for column in range(codes.shape[1]):
        counts = np.bincount(codes[:, column] + 1, minlength=5)[1:]
        is_varied = n_rows >= 60 and np.sort(counts)[-2] >= 12
        others = [u for u in range(codes.shape[1]) if u != column]
        if is_varied and any(
            is_function(codes[:, column], codes[:, u]) for u in others
        ):
            in_group = any(column in group for group in copies)
            assert column in named or in_group


@settings(max_examples=200)
@given(
    n_rows=st.integers(1, 11), n_columns=st.integers(2, 8), seed=st.integers(0, 10**6)
)
def test_nothing_is_found_in_few_rows(n_rows, n_columns, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (n_rows, n_columns))
    assert determined_columns(codes, np.full(n_columns, 2)) == ([], [])


COLOUR = np.random.default_rng(3).integers(0, 3, 60)
TABLE = pd.DataFrame(
    {
        "colour": np.array(["blue", "green", "red"])[COLOUR],
        "again": np.array(["x", "z", "y"])[COLOUR],
        "warm": np.array(["no", "no", "yes"])[COLOUR],
        "other": np.random.default_rng(4).integers(0, 2, 60),
    }
)
MESSAGE = "in all 60 rows are equal.*: 'colour' = 'again'; determined by .*: 'warm' by 'colour'; "


@pytest.mark.parametrize("reader", ["file", "frame", "learn", "blocks"])
def test_every_reader_names_them_once(tmp_path, reader):
    path = tmp_path / "t.csv"
    TABLE.to_csv(path, index=False)
    read = {
        "file": lambda: el.read_dataset(path),
        "frame": lambda: Dataset.from_frame(TABLE),
        "learn": lambda: el.learn(TABLE),
        "blocks": lambda: merge_rows(el.read_blocks(path, block_bytes=200)),
    }
    message = MESSAGE.replace("60 ", r"\d+ ")
    if reader == "blocks":  # whose equal rows are one
        TABLE.assign(row=range(60), more=COLOUR[::-1]).astype({"row": str}).to_csv(path)
        read["blocks"] = lambda: merge_rows(
            el.read_blocks(path, block_bytes=200, states={"row": "*"}, drop=[""])
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read[reader]()
    (warning,) = caught
    assert warning.category is ColumnWarning
    assert pd.Series([str(warning.message)]).str.contains(message).all()


def test_columns_with_declared_states_are_meant(tmp_path):
    states = {name: sorted(map(str, set(TABLE[name]))) for name in TABLE}
    assert Dataset.from_frame(TABLE, states=states).n_variables == 4


def test_solve_says_so_and_query_does_not(tmp_path):
    path = tmp_path / "t.csv"
    TABLE.to_csv(path, index=False)
    shown = invoke("solve", path, "-o", tmp_path / "model.bif").stderr
    assert shown.count("'colour' = 'again'") == 1
    shown = invoke("evaluate", tmp_path / "model.bif", path).stderr
    assert "'colour' = 'again'" not in shown
