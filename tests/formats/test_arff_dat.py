"""Tables of other programs: ARFF and ``.dat``."""

import csv
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from scipy.io import arff

from exactlearn import Dataset, read_dataset, write_dataset
from exactlearn.errors import DataError, FormatError
from exactlearn.formats.table import read_table
from tests.strategies import awkward_names, datasets

usual_names = awkward_names.filter(lambda name: name not in ("?", "NA"))


@given(datasets(missing=True, rows=(2, 12), names=usual_names))
@settings(max_examples=150, deadline=None)
def test_arff_keeps_cells_states_and_names(data):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.arff"
        write_dataset(data, path)
        text = read_table(path)
        assert text.names == data.names
        assert {name: tuple(own) for name, own in text.states.items()} == dict(
            zip(data.names, data.states, strict=True)
        )
        for column, codes, own in zip(text.columns, data.codes.T, data.states, strict=True):
            labels = [*column.labels, None]
            expected = [*own, None]
            assert [labels[k] for k in column.codes] == [expected[k] for k in codes]


def test_arff_of_us_is_read_by_scipy(tmp_path):
    data = Dataset(
        np.array([[0, 1], [1, 2], [1, -1]]), ("a", "b c"), (("n", "y"), ("1", "x y", "z"))
    )
    write_dataset(data, tmp_path / "t.arff")
    limit = csv.field_size_limit()
    rows, meta = arff.loadarff(tmp_path / "t.arff")
    csv.field_size_limit(limit)  # it raises the limit of the whole process
    assert meta.names() == ["a", "b c"]
    assert [row.tolist() for row in rows] == [(b"n", b"x y"), (b"y", b"z"), (b"y", b"?")]


ARFF = r"""% A comment.
@RELATION 'a relation'

@ATTRIBUTE outlook {sunny, 'over cast',"rain\"y"}
@attribute 'the temperature'	real
@attribute windy { TRUE, FALSE }
@attribute note string
@Data
sunny, 85, FALSE, 'it\'s, hot'
% another
'over cast',?,TRUE,?
"rain\"y" , 7e1,  TRUE,b
?,85,FALSE,b
sunny,70,TRUE,'it\'s, hot'
"""


def test_arff_by_hand_is_read(tmp_path):
    (tmp_path / "t.arff").write_text(ARFF)
    data = read_dataset(tmp_path / "t.arff")
    assert data.names == ("outlook", "the temperature", "windy", "note")
    assert data.states == (
        ("sunny", "over cast", 'rain"y'),
        ("70", "7e1", "85"),
        ("TRUE", "FALSE"),
        ("b", "it's, hot"),
    )
    assert data.codes.tolist() == [[0, 2, 1, 1], [1, -1, 0, -1], [2, 1, 0, 0], [-1, 2, 1, 0],
                                   [0, 0, 0, 1]]  # fmt: skip
    blanks = "@attribute a {x,y}\n@attribute b {x,y}\n@data\nx\ty\ny x\n"
    (tmp_path / "t.arff").write_text(blanks)
    assert read_dataset(tmp_path / "t.arff").codes.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("sunny, 85, FALSE, 'it\\'s, hot'", "{0 sunny, 1 85}", FormatError, "line 9: a sparse row"),
        ("sunny, 85, FALSE,", "sunny, 85,", FormatError, "line 9: 3 fields for 4 attributes"),
        ("?,85,FALSE,b", "?,85,FALSE,b,{2}", FormatError, "line 13: a row with the weight .2."),
        ("string", "date", FormatError, "line 7: .* found 'date' of 'note'"),
        ("{ TRUE, FALSE }", "{ TRUE, TRUE }", FormatError, "line 6: 'windy' lists .* 'TRUE' twice"),
        ("@attribute note string", "@attribute", FormatError, "line 7: expected '@attribute"),
        ("?,85,FALSE,b", "?,85,NO,b", DataError, "line 13, column 'windy': the state 'NO' is not"),
    ],
)
def test_arff_refuses_by_line(old, new, error, message, tmp_path):
    assert old in ARFF
    (tmp_path / "t.arff").write_text(ARFF.replace(old, new))
    with pytest.raises(error, match=message):
        read_dataset(tmp_path / "t.arff")


@pytest.mark.parametrize(
    ("text", "message"),
    [("@relation x\n", "'@attribute NAME"), ("@attribute a {x,y}\n@data\n", "expected rows")],
)
def test_empty_arff_is_refused(text, message, tmp_path):
    (tmp_path / "t.arff").write_text(text)
    with pytest.raises(FormatError, match=message):
        read_dataset(tmp_path / "t.arff")


def test_a_state_that_means_missing_is_refused(tmp_path):
    data = Dataset(np.array([[0], [1]]), ("a",), (("?", "y"),))
    with pytest.raises(DataError, match="'a' has the state '\\?', a missing cell in ARFF"):
        write_dataset(data, tmp_path / "t.arff")


@pytest.mark.parametrize("suffix", [".arff", ".csv"])
def test_weights_come_back(suffix, tmp_path):
    data = Dataset(np.array([[0], [1]]), ("a",), (("x", "y"),), weights=np.array([0.5, 2.0]))
    write_dataset(data, tmp_path / f"t{suffix}")
    found = read_dataset(tmp_path / f"t{suffix}", weights="weight")
    assert found.weights.tolist() == [0.5, 2.0]


@given(datasets(missing=True, rows=(2, 12), names=awkward_names))
@settings(max_examples=100, deadline=None)
def test_dat_keeps_codes_and_numbers_of_states(data):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.dat"
        write_dataset(data, path)
        text = read_table(path)
        assert len(set(text.names)) == len(data.names)
        assert [len(text.states[name]) for name in text.names] == data.cardinalities.tolist()
        for column, codes in zip(text.columns, data.codes.T, strict=True):
            assert [column.labels[k] for k in column.codes] == [
                "?" if code < 0 else str(code) for code in codes
            ]


def test_dat_of_gobnilp_and_plain_ones_are_told_apart(tmp_path):
    path = tmp_path / "t.dat"
    path.write_text("a b\n2 3\n0 2\n1 1\n0 ?\n")
    found = read_dataset(path)
    assert (found.states, found.codes.tolist()) == (
        (("0", "1"), ("0", "1", "2")),
        [[0, 2], [1, 1], [0, -1]],
    )
    path.write_text("2 3\n0 2\n1 1\n0 0\n")
    assert read_dataset(path, header=False).n_rows == 3
    path.write_text("a b\n2 2\n0 2\n1 1\n0 2\n")  # the second line is a row: 2 is reached below it
    found = read_dataset(path)
    assert (found.n_rows, found.states) == (4, (("0", "1", "2"), ("1", "2")))
    path.write_text("a,b\nno,yes\nyes,no\n")
    assert read_dataset(path).states == (("no", "yes"),) * 2


def test_names_of_dat_are_words_and_weights_are_refused(tmp_path):
    data = Dataset(np.array([[0, 1], [1, 0]]), ("a b", "a_b"), (("x", "y"),) * 2)
    write_dataset(data, tmp_path / "t.dat")
    assert (tmp_path / "t.dat").read_text() == "a_b_2 a_b\n2 2\n0 1\n1 0\n"
    with pytest.raises(DataError, match="no weights of rows; write"):
        write_dataset(replace(data, weights=np.ones(2)), tmp_path / "t.dat")


def test_frames_in_arff_and_out(tmp_path):
    frame = pd.DataFrame({"a": ["x", "y", "x"], "b": [1, 2, 2]})
    write_dataset(Dataset.from_frame(frame), tmp_path / "t.arff.gz")
    assert read_dataset(tmp_path / "t.arff.gz").states == (("x", "y"), ("1", "2"))
