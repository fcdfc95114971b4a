import gzip
import os
from threading import Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn._runtime.files import atomic_write
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, FormatError, OptionError
from exactlearn.formats.delimited import read_delimited
from exactlearn.formats.layout import TableLayout
from exactlearn.formats.table import read_dataset, write_dataset
from tests.strategies import awkward_names, datasets


def declared(table):
    return dict(zip(table.names, table.states, strict=True))


@pytest.fixture
def read(tmp_path):
    """Return a function that writes a text and reads it as a table."""

    def read(text, name="data.csv", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_dataset(path, **options)

    return read


@pytest.mark.filterwarnings(
    "ignore:columns that in all:exactlearn.errors.ColumnWarning"
)
@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz"])
@settings(max_examples=60)
@given(table=datasets(missing=True, names=awkward_names), data=st.data())
def test_round_trip_is_exact(suffix, tmp_path_factory, table, data):
    taken = {state for own in table.states for state in own}
    missing = data.draw(st.sampled_from(sorted({"?", "", "NA", "-", '"', ","} - taken)))
    path = tmp_path_factory.mktemp("round") / f"table.{suffix}"
    write_dataset(table, path, missing=missing)
    assert read_dataset(path, missing=[missing], states=declared(table)) == table


@pytest.mark.parametrize("separator", [",", "\t", "whitespace"])
@settings(max_examples=100)
@given(text=st.text(alphabet="abé,,; \t\r\n\n", max_size=40))
def test_cells_are_those_of_the_plain_definition(separator, tmp_path_factory, text):
    path = tmp_path_factory.mktemp("plain") / "d.csv"
    path.write_text(text, newline="")
    runs = separator == "whitespace"
    blanks = " \t".replace(separator, "")
    lines = dict(
        enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1)
    )
    plain = {
        number: [field.strip(" ") for field in line.split(None if runs else separator)]
        for number, line in lines.items()
        if line.strip(blanks)
    }
    first = next(iter(plain), 0)
    odd = [number for number, row in plain.items() if len(row) != len(plain[first])]
    if odd or not plain:
        with pytest.raises(
            FormatError, match=f"line {odd[0]}:" if odd else "the file is empty"
        ):
            list(read_delimited(path, TableLayout(False, separator)))
        return
    (rows,) = read_delimited(path, TableLayout(False, separator))
    columns = [
        [column.labels[k].strip(" ") for k in column.codes] for column in rows.columns
    ]
    assert [list(row) for row in zip(*columns, strict=True)] == list(plain.values())
    assert rows.lines.tolist() == list(plain)


NAMES = ("smoke", "lung")
PLAIN = "smoke,lung\nno,a\nyes,b\n?,a\n"


GZIPPED = gzip.compress(PLAIN.encode(), mtime=0)

DRESSES = {
    "plain": (PLAIN, "d.csv", {}),
    "no last line end": (PLAIN.rstrip(), "d.csv", {}),
    "CRLF": (PLAIN.replace("\n", "\r\n"), "d.csv", {}),
    "CRLF, no last line end": (PLAIN.replace("\n", "\r\n").rstrip(), "d.csv", {}),
    "CR": (PLAIN.replace("\n", "\r"), "d.csv", {}),
    "blank lines": (PLAIN.replace("\n", "\n\n  \n"), "d.csv", {}),
    "blank lines first": ("\n\n" + PLAIN, "d.csv", {}),
    "byte order mark": ("\ufeff" + PLAIN, "d.csv", {}),
    "blanks around commas": (PLAIN.replace(",", " , "), "d.csv", {}),
    "semicolons": (PLAIN.replace(",", ";"), "d.csv", {}),
    "bars": (PLAIN.replace(",", "|"), "d.txt", {}),
    "tabs in .tsv": (PLAIN.replace(",", "\t"), "d.tsv", {}),
    "tabs in .data": (PLAIN.replace(",", "\t"), "d.data", {}),
    "blanks and tabs": (PLAIN.replace(",", "  \t"), "d.data", {}),
    "aligned": (PLAIN.replace(",", "   ").replace("no", "  no"), "d", {}),
    "separator given": (PLAIN.replace(",", ":"), "d.csv", {"separator": ":"}),
    "separator by name": (PLAIN.replace(",", "\t"), "d.csv", {"separator": "tab"}),
    "quotes": (PLAIN.replace("no,a", '"no","a"'), "d.csv", {}),
    "quotes and blanks": ('"smoke" "lung"\n"no" "a"\n"yes" "b"\n"?" "a"', "d.txt", {}),
    "missing: empty": (PLAIN.replace("?", ""), "d.csv", {}),
    "missing: NA": (PLAIN.replace("?", "NA"), "d.csv", {}),
    "missing: given": (PLAIN.replace("?", "*"), "d.csv", {"missing": ["*"]}),
    "names without header": (
        PLAIN.removeprefix("smoke,lung\n"),
        "d.csv",
        {"header": False, "names": NAMES},
    ),
    "names for a header": (PLAIN.replace("smoke", "x"), "d.csv", {"names": NAMES}),
    "a column dropped": (PLAIN.replace("\n", ",1\n"), "d.csv", {"drop": ["1"]}),
    "gzip in .csv": (GZIPPED, "d.csv", {}),
    "gzip in .csv.gz": (GZIPPED, "d.csv.gz", {}),
}


@pytest.mark.parametrize(("text", "name", "options"), DRESSES.values(), ids=DRESSES)
def test_same_table_in_many_dresses(read, text, name, options):
    table = read(text, name, **options)
    assert table.names == ("smoke", "lung")
    assert table.states == (("no", "yes"), ("a", "b"))
    assert table.codes.tolist() == [[0, 0], [1, 1], [-1, 0]]


def test_names_are_generated(read):
    assert read("a b\nb a\n", "d.txt", header=False).names == ("X0", "X1")


def test_labels_stay_as_written(read):
    text = "a,b,c,d\n01,None,nan,10\n12,true,null,9\n3.0,None,nan,-1e1\n"
    table = read(text, states={"b": ["None", "true"], "c": ["nan", "null"]})
    assert table.states == (
        ("01", "3.0", "12"),
        ("None", "true"),
        ("nan", "null"),
        ("-1e1", "9", "10"),
    )
    assert table.is_complete


def test_declared_states_win(read):
    table = read("x,y\nb,1\nb,0\n", states={"x": ["c", "b", "a"]})
    assert table.states == (("c", "b", "a"), ("0", "1"))
    assert table.codes[:, 0].tolist() == [1, 1]


def test_weights(read, tmp_path):
    table = read("x,w\na,2\nb,0.5\n", weights="w")
    assert table.names == ("x",)
    assert table.weights.tolist() == [2, 0.5]
    write_dataset(table, tmp_path / "w.csv")
    assert read_dataset(tmp_path / "w.csv", weights="weight").weights.tolist() == [
        2,
        0.5,
    ]
    with pytest.raises(DataError, match="line 3, column 'w': 'many' is no weight"):
        read("x,w\na,2\nb,many\n", weights="w")


def test_bins_come_back_in_order(read, tmp_path):
    text = "age,sex\n" + "".join(f"{k % 40},{'fm'[k % 2]}\n" for k in range(80))
    with pytest.raises(
        DataError, match=r"'age': 40 different numbers.*drop=.*'age': 'frequency:5'"
    ):
        read(text)
    table = read(text, discretise={"age": "width:3"})
    assert table.states[0] == ("<=13", "(13, 26]", ">26")
    write_dataset(table, tmp_path / "bins.csv")
    assert read_dataset(tmp_path / "bins.csv").states == table.states


def test_star_spares_columns_with_few_values(read):
    text = "age,dose\n" + "".join(f"{k},{k % 3}\n" for k in range(30))
    table = read(text, discretise={"*": "frequency:2"})
    assert table.states == (("<=14", ">14"), ("0", "1", "2"))


NUMBERS = "id,x\n" + "".join(f"{k},{k % 2}\n" for k in range(30))


def test_weights_whose_scores_overflow_are_refused(read):
    with pytest.raises(
        DataError,
        match=r"row 1 \(line 2\): weight 1e.308, expected a number from 0 to ",
    ):
        read("a,w\n0,1e308\n1,1e308\n", weights="w")


REFUSALS = {
    "empty": ("", {}, FormatError, "the file is empty"),
    "blank": (" \n\n", {}, FormatError, "the file is empty"),
    "header only": ("a,b\n", {}, FormatError, "only line 1 .* header=False"),
    "short row": (
        "a,b\n1,2\n\n3\n",
        {},
        FormatError,
        "line 4: 1 field, but line 1 has 2",
    ),
    "long row": (
        "a,b\n1,2\n3,4,5\n6,7\n",
        {},
        FormatError,
        "line 3: 3 fields, but line 1 has 2",
    ),
    "row names": ("a,b\n1,2,3\n4,5,6\n", {}, FormatError, "row names"),
    "remark": (
        "|hello\n1,2\n4,5\n",
        {"header": False},
        FormatError,
        "if line 1 is a remark",
    ),
    "open quote": ('a,b\n"x,2\ny,3\n', {}, FormatError, "line 2: .*quote"),
    "open quote at the end": ('a,b\nx,2\ny,"3\n', {}, FormatError, "line 3: .*quote"),
    "text after quote": ('a,b\n"x"y,2\nx,3\n', {}, FormatError, "line 2: .*quote"),
    "long field": (
        'a,b\n"' + "x" * 140_000 + '",2\ny,3\n',
        {},
        FormatError,
        "line 2: a field has",
    ),
    "lines in a quote": (
        "a,b\n" + '"x,2\n' + "y" * 140_000 + ",3\n",
        {},
        FormatError,
        "line 2: a field has more than .* a quote not closed",
    ),
    "blank separated quote": (
        'a b\n"x 2\ny 3\n',
        {"separator": " "},
        FormatError,
        "quote",
    ),
    "UTF-16": ("a,b\n1,2".encode("utf-16"), {}, FormatError, "UTF-16"),
    "Excel": (b"PK\x03\x04\0\0", {}, FormatError, "a zip or Excel file"),
    "binary": (b"a,b\n1,\0\n", {}, FormatError, "line 2: a zero byte"),
    "twice": (
        "a,b,a\n1,2,3\n",
        {},
        FormatError,
        "2 columns, 1, 3, are all named 'a'.*header=False",
    ),
    "twice and again": (
        ",".join("a" * 2000) + "\n" + ",".join("1" * 2000) + "\n",
        {},
        FormatError,
        "2000 columns, 1, 2, 3, .*, 12, are all named 'a'",
    ),
    "long rule": (
        "a\n1\n2\n",
        {"discretise": {"a": "width:" + "9" * 5000}},
        OptionError,
        "METHOD:",
    ),
    "no name": (
        ",a\n0,x\n1,y\n",
        {},
        DataError,
        "column '': a column without a name.*tidy=True",
    ),
    "constant": ("a,b\n1,2\n1,3\n", {}, DataError, "'a': constant, every .*drop=.'a'"),
    "constant but holes": (
        "a,b\n1,2\n,3\n",
        {},
        DataError,
        "every observed cell is '1'",
    ),
    "all missing": (
        "a,b\n?,2\n,3\n",
        {},
        DataError,
        "'a': all cells are missing.*drop=.'a'",
    ),
    "several": (
        "a,b,c\n1,,3\n1,,4\n",
        {},
        DataError,
        "column 'b': all cells are missing; column 'a': constant, .*drop=.'a', 'b'",
    ),
    "row numbers": (NUMBERS, {}, DataError, "all 30 whole numbers are different"),
    "identifiers": (
        "a\n" + "".join(f"n{k}\n" for k in range(30)),
        {},
        DataError,
        "30 different texts in 30 cells, so it names rows",
    ),
    "a word among numbers": (
        NUMBERS + "unknown,1\n",
        {},
        DataError,
        "line 32, column 'id': 'unknown' stands among 30",
    ),
    "undeclared": (
        "a,b\nno,1\n\nnoo,0\n",
        {"states": {"a": ["no", "yes"]}},
        DataError,
        "line 4, column 'a': the state 'noo' is not declared; did you mean 'no'",
    ),
    "no number": (
        "a,b\n1,1\nx,0\n",
        {"discretise": {"a": "width:2"}},
        DataError,
        "line 3, column 'a': 'x' is not a number",
    ),
    "drop unknown": (
        "smoke,b\n1,1\n",
        {"drop": ["smoek"]},
        OptionError,
        "did you mean 'smoke'",
    ),
    "drop all": ("a,b\n1,1\n", {"drop": ["a", "b"]}, OptionError, "no column is left"),
    "declare unknown": (
        "a\n1\n2\n",
        {"states": {"b": ["1", "2"]}},
        OptionError,
        "no variable 'b'",
    ),
    "bin unknown": (
        "a\n1\n2\n",
        {"discretise": {"b": "width:2"}},
        OptionError,
        "no variable 'b'",
    ),
    "bad rule": (
        "a\n1\n2\n",
        {"discretise": {"a": "wide:2"}},
        OptionError,
        "with frequency or w",
    ),
    "declared twice": (
        "a\n1\n2\n",
        {"states": {"a": ["1", "2", "1"]}},
        OptionError,
        "two or more different states",
    ),
    "one declared": (
        "a\n1\n2\n",
        {"states": {"a": "1"}},
        OptionError,
        "two or more different",
    ),
    "declared missing": (
        "a\n1\n2\n",
        {"states": {"a": ["1", "?"]}},
        OptionError,
        "also a symbol",
    ),
    "both": (
        "a\n1\n2\n",
        {"states": {"a": ["1", "2"]}, "discretise": {"a": "width:2"}},
        OptionError,
        "both declared states and a discretisation",
    ),
    "separator": ("a\n1\n2\n", {"separator": "::"}, OptionError, "one character"),
    "names": ("a\n1\n2\n", {"names": ["a", "b"]}, OptionError, "2 names for 1 columns"),
}


@pytest.mark.parametrize(
    ("text", "options", "error", "message"), REFUSALS.values(), ids=REFUSALS
)
def test_refusals(read, text, options, error, message):
    with pytest.raises(error, match=message) as refusal:
        read(text, **options)
    assert "data.csv" in str(refusal.value) or isinstance(refusal.value, OptionError)


SMALL = Dataset(np.array([[0], [-1]]), ("x",), (("?", "b"),))


@pytest.mark.parametrize(
    ("table", "name", "message"),
    [
        (SMALL, "t.csv", r"missing symbol '\?' is a state of 'x'"),
        (SMALL, "t.xlsx", "expected .csv or .tsv"),
        (Dataset(SMALL.codes, ("x ",), (("a", "b"),)), "t.csv", "outer white space"),
        (Dataset(SMALL.codes, ("x",), (("a", "b\n"),)), "t.csv", "line break"),
        (
            Dataset(SMALL.codes, ("weight",), (("a", "b"),), np.ones(2)),
            "t.csv",
            "'weight' is a variable",
        ),
        (Dataset(SMALL.codes, ("x",), (("a", "b"),)), "none/t.csv", "does not exist"),
    ],
)
def test_what_a_table_cannot_keep_is_not_written(tmp_path, table, name, message):
    with pytest.raises((OptionError, DataError), match=message):
        write_dataset(table, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_files_are_replaced_whole(tmp_path):
    path = tmp_path / "a.txt"
    atomic_write(path, "one\n")
    path.chmod(0o640)
    atomic_write(path, b"two\r\n")
    assert path.read_bytes() == b"two\r\n"
    assert path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(OptionError, match="it is a folder"):
        atomic_write(tmp_path, "")


@pytest.mark.filterwarnings("ignore:columns that in all")
@pytest.mark.parametrize(
    ("file", "shape", "holes", "options"),
    [
        ("house-votes-84.data", (435, 17), 392, {}),
        ("SPECT.train", (80, 23), 0, {}),
        ("SPECT.test", (187, 23), 0, {}),
        ("soybean-large.data", (307, 36), 712, {}),
        ("car.data", (1728, 7), 0, {}),
        ("letter-recognition.data.gz", (20000, 17), 0, {}),
        ("krkopt.data.gz", (28056, 7), 0, {}),
        ("agaricus-lepiota.data.gz", (8124, 22), 2480, {"drop": ["X16"]}),
        ("adult.data.gz", (32561, 15), 4262, {"discretise": {"*": "frequency:5"}}),
        ("page-blocks.data.gz", (5473, 11), 0, {"discretise": {"*": "frequency:5"}}),
        ("sat.trn.gz", (4435, 37), 0, {"discretise": {"*": "width:5"}}),
        ("abalone.data.gz", (4177, 9), 0, {"discretise": {"*": "frequency:5"}}),
    ],
)
def test_public_tables(data_dir, file, shape, holes, options):
    table = read_dataset(data_dir / "uci" / file, header=False, **options)
    assert table.codes.shape == shape
    assert len(table.missing_cells) == holes
    # Declared as read, nothing changes.
    if not options:
        again = read_dataset(
            data_dir / "uci" / file, header=False, states=declared(table)
        )
        assert again == table


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_is_read_as_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = Thread(target=(tmp_path / "pipe").write_text, args=("a,b\n0,1\n1,0\n",))
    writer.start()
    assert read_dataset(tmp_path / "pipe").codes.tolist() == [[0, 1], [1, 0]]
    writer.join()
