"""Columns that are no variables, and texts that may stand for missing cells."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import exactlearn as el
from exactlearn.__main__ import main
from exactlearn.errors import ColumnWarning, DataError

ROWS = 60


def untidy():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, ROWS)
    return pd.DataFrame(
        {
            "name": [f"p{k}" for k in range(ROWS)],
            "a": first,
            "b": np.where(rng.random(ROWS) < 0.9, first, 1 - first),
            "same": "x",
            "age": rng.normal(40, 9, ROWS).round(3),
            "number": np.arange(ROWS) + 7,
            "empty": None,
        }
    )


OUT = ("name", "same", "number", "empty")
DOORS = {
    "augment": lambda t, **how: el.augment(t, max_parents=1, **how),
    "bootstrap": lambda t, **how: el.bootstrap(t, 2, ess=1, **how),
    "candidate_parent_sets": lambda t, **how: el.candidate_parent_sets(t, "bic", **how),
    "from_frame": lambda t, **how: el.Dataset.from_frame(t, **how),
    "impute": lambda t, **how: el.Imputer("mode", **how).fit_transform(t),
    "learn": lambda t, **how: el.learn(t, ess=1, **how),
}


@pytest.mark.parametrize("door", DOORS)
def test_columns_are_refused_at_once_or_tidied_with_one_warning(door):
    frame = untidy()
    with pytest.raises(DataError, match="tidy=True") as refused:
        DOORS[door](frame)
    for name in (*OUT, "age"):
        assert repr(name) in str(refused.value)
    with pytest.warns(ColumnWarning) as caught:
        found = DOORS[door](frame, tidy=True)
    assert found.names == ("a", "b", "age")
    (warned,) = caught if door != "impute" else caught[:1]
    for name in (*OUT, "age"):
        assert repr(name) in str(warned.message)
    assert warned.filename == __file__


def test_a_file_is_read_as_the_frame_but_for_its_index(tmp_path):
    frame = untidy()
    frame.to_csv(tmp_path / "t.csv")  # with the index
    with pytest.raises(DataError, match="column 'name': 60 different texts") as refused:
        el.read_dataset(tmp_path / "t.csv")
    assert "a column without a name" in str(refused.value)
    with pytest.warns(ColumnWarning) as caught:
        table = el.read_dataset(tmp_path / "t.csv", tidy=True)
    with pytest.warns(ColumnWarning):
        assert table == el.Dataset.from_frame(frame, tidy=True)
    assert len(caught) == 1
    with pytest.warns(ColumnWarning):
        again = el.Dataset.from_frame(pd.read_csv(tmp_path / "t.csv"), tidy=True)
    assert again == table
    with pytest.warns(ColumnWarning):
        (part,) = el.read_blocks(tmp_path / "t.csv", tidy=True)
    assert (part.names, part.states) == (table.names, table.states)
    assert np.array_equal(part.codes, table.codes)


@pytest.mark.parametrize(
    "words",
    [
        ["solve", "{}", "--ess", "1"],
        ["solve", "{}", "--ess", "1", "--bootstrap", "2"],
        ["impute", "{}", "--method", "mode"],
        ["augment", "{}", "--method", "t-local", "--starts", "1", "--max-parents", "1"],
    ],
)
def test_commands_refuse_and_tidy_alike(tmp_path, words):
    frame = untidy()
    frame.loc[3, "b"] = None
    frame.to_csv(tmp_path / "t.csv")
    words = [word.format(tmp_path / "t.csv") for word in words]
    refused = CliRunner().invoke(main, words)
    assert refused.exit_code == 2
    assert all(repr(name) in refused.stderr for name in (*OUT, "age"))
    assert "(--tidy)" in refused.stderr
    done = CliRunner().invoke(main, [*words, "--tidy"])
    assert done.exit_code == 0, done.stderr
    assert done.stderr.count("left out: ") == 1
    assert "cut into bins by 'frequency:5': 'age'" in done.stderr


def test_all_columns_of_many_are_named_with_the_cure():
    names = [f"measurement_{k}" for k in range(300)]
    values = np.random.default_rng(0).normal(size=(50, 300))
    with pytest.raises(DataError, match=r"tidy=True") as refused:
        el.learn(pd.DataFrame(values, columns=names))
    message = str(refused.value)
    assert all(repr(name) in message for name in names)
    assert "discretise={'*': 'frequency:5'}" in message


def test_a_coded_table_is_taken_as_it_is():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 2, (40, 4))
    codes[:, 1], codes[:, 3] = 0, -1
    table = el.Dataset(
        codes, tuple("abcd"), (("n", "y"), ("n",), ("n", "y"), ("n", "y"))
    )
    assert el.learn(table, ess=1).names == tuple("abcd")


def test_a_declared_rule_or_state_is_no_fault():
    frame = untidy()[["a", "b", "age", "same"]]
    table = el.Dataset.from_frame(
        frame, discretise={"age": "width:2"}, states={"same": ["x", "y"]}
    )
    assert table.cardinalities.tolist() == [2, 2, 2, 2]


TEXTS = "a,b,c\nNaN,x,1\nNaN,n/a,1\nno,NULL,2\nno,x,2\nyes,None,1\n"


def test_texts_of_missing_cells_are_refused_unless_decided(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TEXTS)
    with pytest.raises(DataError) as refused:
        el.read_dataset(path)
    assert "'a' ('NaN': 2), 'b' ('NULL': 1, 'None': 1, 'n/a': 1)" in str(refused.value)
    assert "missing=['?', '', 'NA', 'NULL', 'NaN', 'None', 'n/a']" in str(refused.value)
    assert "states={'a': ['NaN', '...'], 'b': ['NULL', 'None', 'n/a', '...']}" in str(
        refused.value
    )
    symbols = ["?", "NaN", "n/a", "NULL", "None"]
    assert len(el.read_dataset(path, missing=symbols, drop="b").missing_cells) == 2
    states = {"a": ["NaN", "no", "yes"], "b": ["x", "n/a", "NULL", "None"]}
    declared = el.read_dataset(path, states=states)
    assert declared.is_complete
    assert declared.states[0] == ("NaN", "no", "yes")
    frame = pd.read_csv(path, keep_default_na=False)
    with pytest.raises(DataError, match=r"'a' \('NaN': 2\)"):
        el.Dataset.from_frame(frame)
    assert el.Dataset.from_frame(frame, states=states) == declared
    assert (
        el.Dataset.from_frame(declared.to_frame()) == declared
    )  # its categories are declared
    with pytest.raises(DataError, match=r"'a' \('NaN': 2\)"):
        list(el.read_blocks(path, block_bytes=8))
    done = CliRunner().invoke(main, ["solve", str(path)])
    assert done.exit_code == 2
    assert "--missing 'NaN'" in done.stderr
    many = [word for symbol in symbols for word in ("--missing", symbol)]
    assert (
        CliRunner()
        .invoke(main, ["solve", str(path), "--ess", "1", "--drop", "b", *many])
        .exit_code
        == 0
    )
    declared_words = ["--states", "a=NaN,no,yes", "--states", "b=x,n/a,NULL,None"]
    done = CliRunner().invoke(main, ["solve", str(path), "--ess", "1", *declared_words])
    assert done.exit_code == 0


@pytest.mark.parametrize("kind", [object, "category", "string"])
def test_missing_symbols_of_files_are_those_of_frames(tmp_path, kind):
    cells = {"a": ["?", "x", "y", "", "x"], "b": ["u", "NA", "v", "v", "?"]}
    frame = pd.DataFrame(cells).astype(kind)
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = el.Dataset.from_frame(frame)
    assert table == el.read_dataset(tmp_path / "t.csv")
    assert table.states == (("x", "y"), ("u", "v"))
    assert len(table.missing_cells) == 4
