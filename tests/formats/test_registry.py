"""A new format is one module and one entry of its registry."""

import numpy as np
import pytest

from exactlearn.data.dataset import Dataset
from exactlearn.data.labels import Column
from exactlearn.errors import OptionError
from exactlearn.formats import Format, scores, table
from exactlearn.formats.raw_table import RawTable, TableFormat
from exactlearn.formats.scores import read_scores
from exactlearn.formats.table import TABLES, read_dataset, write_dataset

SMALL = Dataset(np.array([[0, 1], [1, -1], [1, 0]]), ("a", "b"), (("n", "y"),) * 2)


@pytest.mark.parametrize("suffix", [s for s in TABLES if s != ".parquet"])
def test_every_text_format_gives_the_table_back(suffix, tmp_path):
    path = tmp_path / f"small{suffix}"
    write_dataset(SMALL, path)
    found = read_dataset(path)
    assert (found.names, found.states) == (SMALL.names, SMALL.states)
    assert np.array_equal(found.codes, SMALL.codes)


def test_a_table_format_is_one_entry(tmp_path, monkeypatch):
    def read(path, header, separator):
        cells = np.array([line.split("/") for line in path.read_text().split()])
        columns = [Column(name, *np.unique(own, return_inverse=True)) for name, *own in cells.T]
        return RawTable(path, tuple(cells[0]), tuple(columns), np.arange(1, len(cells)))

    def write(dataset, names, path, missing):
        rows = [[(*own, missing)[k] for own, k in zip(dataset.states, row, strict=True)]
                for row in dataset.codes.tolist()]  # fmt: skip
        path.write_text("\n".join(map("/".join, [names, *rows])))

    monkeypatch.setitem(table.FORMATS, ".slash", TableFormat(read, write))
    write_dataset(SMALL, tmp_path / "t.slash")
    assert np.array_equal(read_dataset(tmp_path / "t.slash").codes, SMALL.codes)


def test_a_format_of_scores_is_one_entry(tmp_path, monkeypatch):
    with pytest.raises(OptionError, match=r"ending in \.jkl.* found '\.new'"):
        read_scores(tmp_path / "a.new")
    monkeypatch.setitem(scores.FORMATS, ".new", Format(lambda path: path.name))
    assert read_scores(tmp_path / "a.new") == "a.new"
