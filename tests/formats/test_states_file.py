"""States beside a table: what ``simulate`` writes, ``solve`` and all readers read alike."""

import json
import shutil

import numpy as np
import pytest

import exactlearn as el
from exactlearn.data.blocks import merge_rows
from exactlearn.errors import DataError, FormatError, OptionError

NAMES = ("reason", "grade", "switch")
STATES = (("None", "Fault", "nan"), ("NA", "low", "high"), ("on", "off"))
CODES = [[0, 0, 0], [1, 1, 0], [0, -1, 0], [1, 2, 0]]


def table(states=STATES):
    return el.Dataset(np.array(CODES), NAMES, states)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".tab", ".parquet"])
def test_a_table_is_read_as_it_was_written(tmp_path, suffix):
    path = tmp_path / f"drawn{suffix}"
    beside = el.write_dataset(table(), path)
    assert beside == tmp_path / f"drawn{suffix}.states.json"
    assert el.read_dataset(path) == table()
    merged = merge_rows(el.read_blocks(path, block_bytes=10))
    assert (merged.states, len(merged.missing_cells)) == (STATES, 1)
    folder = tmp_path / "moved"
    folder.mkdir()
    for file in (path, beside):
        shutil.move(file, folder / file.name)
    assert el.read_dataset(folder / path.name) == table()


def test_options_come_before_listed_states(tmp_path):
    path = tmp_path / "drawn.csv"
    el.write_dataset(table(), path)
    renamed = el.read_dataset(path, names=["a", "b", "c"], drop=["a"])
    assert (renamed.names, renamed.states) == (("b", "c"), STATES[1:])
    declared = el.read_dataset(path, states={"switch": ["off", "on", "broken"]})
    assert declared.states == (*STATES[:2], ("off", "on", "broken"))
    read = el.read_dataset(path, missing=["?", "NA"])
    assert len(read.missing_cells) == 2


def test_no_file_is_written_where_the_text_says_all(tmp_path):
    path = tmp_path / "plain.csv"
    complete = el.read_dataset("asia-mnar-complete")
    assert el.write_dataset(complete, path) is None
    assert [file.name for file in tmp_path.iterdir()] == ["plain.csv"]


def test_a_later_table_of_the_same_name_has_its_own_states(tmp_path):
    path = tmp_path / "drawn.csv"
    el.write_dataset(table(), path)
    plain = el.Dataset([[0], [1]], ("switch",), (("off", "on"),))
    el.write_dataset(plain, path)
    assert el.read_dataset(path) == plain


def test_columns_of_another_program_s_table_are_their_own(tmp_path):
    path = tmp_path / "drawn.csv"
    el.write_dataset(table(), path)
    path.write_text("colour,size\nred,low\nblue,high\n")
    assert el.read_dataset(path).states == (("blue", "red"), ("high", "low"))
    path.write_text("switch,size\non,low\nbroken,high\n")
    for read in (el.read_dataset, lambda file: merge_rows(el.read_blocks(file))):
        with pytest.raises(
            DataError, match=r"line 3.*'broken' is not listed in drawn.csv.states"
        ):
            read(path)


@pytest.mark.parametrize(
    "text", ['{"states": {"switch": ["a", "b"]}}', "not JSON", "", "[1]"]
)
def test_a_file_of_that_name_by_chance_is_left_alone(tmp_path, text):
    path = tmp_path / "mine.csv"
    path.write_text("switch,size\non,low\noff,high\n")
    beside = tmp_path / "mine.csv.states.json"
    beside.write_text(text)
    read = el.read_dataset(path)
    assert read.states == (("off", "on"), ("high", "low"))
    assert el.write_dataset(read, path) is None
    before = path.read_text()
    with pytest.raises(OptionError, match="expected no file of this name"):
        el.write_dataset(table(), path)
    assert (path.read_text(), beside.read_text()) == (before, text)


@pytest.mark.parametrize("states", [None, {"switch": "on"}, {"switch": [1, 2]}])
def test_a_damaged_list_is_refused(tmp_path, states):
    path = tmp_path / "drawn.csv"
    path.write_text("switch,size\non,low\noff,high\n")
    content = {"format": "exactlearn states", "states": states}
    (tmp_path / "drawn.csv.states.json").write_text(json.dumps(content))
    with pytest.raises(FormatError, match="expected 'states' with a list of texts"):
        el.read_dataset(path)


def test_variables_are_read_and_other_columns_may_hold_anything(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(
        "id,size,same,switch\n"
        + "".join(
            f"row {k},{'low' if k % 2 else 'high'},x,{'on' if k % 3 else 'off'}\n"
            for k in range(30)
        )
    )
    read = el.read_dataset(path, variables=["switch", "size"])
    assert (read.names, sorted(read.left_out)) == (("switch", "size"), ["id", "same"])
    with pytest.raises(DataError, match=r"column 'sise'.*did you mean 'size'"):
        el.read_dataset(path, variables=["sise"])
