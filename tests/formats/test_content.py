"""A file of another kind than a reader takes is recognised by its content."""

import gzip
import json
import re

import pytest

import exactlearn as el
from exactlearn.errors import FormatError
from exactlearn.formats.graph_file import read_graph, read_missingness
from exactlearn.formats.scores import read_certificate
from exactlearn.formats.table import read_dataset
from exactlearn.instances import path as instance
from tests.command_line import invoke


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a file of each kind, by what messages call it."""
    folder = tmp_path_factory.mktemp("kinds")
    network, table = el.read_network("cancer"), el.read_dataset("cancer-mcar-complete")
    for suffix in ("bif", "xmlbif", "net"):
        el.write_model(network, folder / f"cancer.{suffix}")
    el.write_model(el.compile_network(network), folder / "cancer.pdg.json")
    el.write_model(
        el.learn_naive_bayes(table, components=2).model, folder / "cancer.nb.json"
    )
    el.write_graph(network.structure, folder / "graph.json")
    el.write_scores(
        el.candidate_parent_sets(table, "bic", max_parents=1), folder / "cancer.jkl"
    )
    solved = (
        "--certificate",
        folder / "certificate.json",
        "-o",
        folder / "record.json",
    )
    invoke("solve", folder / "cancer.jkl", *solved)
    el.write_dataset(table, folder / "cancer.csv")
    (folder / "run.toml").write_bytes(instance("cancer.toml").read_bytes())
    (folder / "page.html").write_text(
        "<!DOCTYPE html>\n<html><body>a,b</body></html>\n"
    )
    (folder / "table.xml").write_text("<?xml version='1.0'?>\n<rows/>\n")
    (folder / "rows.json").write_text(json.dumps([{"a": 1}, {"a": 2}]))
    for name, start in BINARY.items():
        (folder / name).write_bytes(start + bytes(100))
    return {
        "a network in BIF": folder / "cancer.bif",
        "a network in XMLBIF": folder / "cancer.xmlbif",
        "a network in the net language": folder / "cancer.net",
        "a decision graph": folder / "cancer.pdg.json",
        "a naive Bayes model": folder / "cancer.nb.json",
        "a graph": folder / "graph.json",
        "a file of local scores": folder / "cancer.jkl",
        "a certificate": folder / "certificate.json",
        "the record of a command": folder / "record.json",
        "a run file or a file of constraints": folder / "run.toml",
        "a table": folder / "cancer.csv",
        "a web page": folder / "page.html",
        "a file of XML": folder / "table.xml",
        "a file of JSON": folder / "rows.json",
        **{name: folder / name for name in BINARY},
    }


BINARY = {
    "a zip or Excel file": b"PK\x03\x04",
    "a Parquet file": b"PAR1\x15",
    "an old Excel or Word file": b"\xd0\xcf\x11\xe0",
    "a PDF document": b"%PDF-1.7",
    "UTF-16": "a,b\n1,2\n".encode("utf-16-le"),
}

TEXTS = [
    *("a network in BIF", "a network in XMLBIF", "a network in the net language"),
    *("a decision graph", "a naive Bayes model", "a graph", "a file of local scores"),
    *(
        "a certificate",
        "the record of a command",
        "a run file or a file of constraints",
    ),
    *("a table", "a web page", "a file of XML", "a file of JSON"),
]

READERS = {
    "table": (read_dataset, ["a table"]),
    "model": (
        el.read_model,
        [
            *(
                "a network in BIF",
                "a network in XMLBIF",
                "a network in the net language",
            ),
            *("a decision graph", "a naive Bayes model"),
        ],
    ),
    "network": (
        el.read_network,
        ["a network in BIF", "a network in XMLBIF", "a network in the net language"],
    ),
    "graph": (
        read_graph,
        [
            *("a graph", "the record of a command", "a file of JSON"),
            *(
                "a network in BIF",
                "a network in XMLBIF",
                "a network in the net language",
            ),
        ],
    ),
    "scores": (el.read_scores, ["a file of local scores"]),
    "certificate": (read_certificate, ["a certificate", "a file of JSON"]),
    "missingness": (read_missingness, []),
}


@pytest.mark.parametrize("kind", [*TEXTS, *BINARY])
@pytest.mark.parametrize("reader", READERS)
def test_a_file_of_another_kind_is_called_by_its_name(files, reader, kind):
    read, taken = READERS[reader]
    if kind in taken:
        return
    with pytest.raises(FormatError, match=f"expected .*, found {kind}; "):
        read(files[kind])


@pytest.mark.parametrize(
    "kind", [kind for kind in [*TEXTS, *BINARY] if kind != "a table"]
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_table_with_other_content_than_its_suffix_is_refused(
    files, tmp_path, kind, packed
):
    content = files[kind].read_bytes()
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(FormatError, match=f"found {kind}; "):
        read_dataset(path)
    with pytest.raises(FormatError, match=f"found {kind}; "):
        list(el.read_blocks(path))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["solve", "a network in BIF"],
            "expected a table, found a network in BIF; .* query",
        ),
        (
            ["query", "a table", "--target", "Smoker"],
            "found a table; .*exactlearn solve",
        ),
        (["solve", "a certificate"], "found a certificate; .*exactlearn verify"),
        (["run", "a table"], "expected a run file .*, found a table"),
        (
            ["verify", "a certificate", "a table"],
            "expected a file of local scores, found a table",
        ),
        (["report", "a table"], "expected the record of a command, found a table"),
        (
            ["solve", "a table", "--constraints", "a network in BIF"],
            "constraints, found a network",
        ),
    ],
)
def test_commands_say_what_takes_the_file(files, words, message):
    shown = invoke(*(files.get(word, word) for word in words), status=2).stderr
    assert re.search(message, shown), shown


@pytest.mark.parametrize(
    "text",
    [
        "network,variable\n0,1\n1,0\n",
        "net node\n0 1\n1 0\n",
        "{a},[b]\n0,1\n1,0\n",
        "PAR1,PK\n0,1\n1,0\n",
        "<a,b>\n0,1\n1,0\n",
        "a=b,c=d\n0,1\n1,0\n",
        "a <- b,c\n0,1\n1,0\n",
        "# a,b\n0,1\n1,0\n",
    ],
)
def test_tables_with_odd_names_are_tables(tmp_path, text):
    path = tmp_path / "t.data"
    path.write_text(text)
    assert read_dataset(path).codes.tolist() == [[0, 1], [1, 0]]


def test_errors_in_a_file_of_the_right_kind_keep_their_place(tmp_path):
    path = tmp_path / "t.bif"
    path.write_text("network a {\n}\nvariable x {\n  type discrete [ 2 ] { a };\n}\n")
    with pytest.raises(FormatError, match="line 4"):
        el.read_network(path)
    path = tmp_path / "t.jkl"
    path.write_text("2\na 1\n-1.0 0\nb x\n")
    with pytest.raises(FormatError, match="line 4"):
        el.read_scores(path)


@pytest.mark.parametrize("size", [None, 1000])
def test_a_line_without_end_is_refused_before_it_is_read(tmp_path, monkeypatch, size):
    monkeypatch.setattr("exactlearn._runtime.files.LARGEST_UNPACKED", 2**22)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1" * 2**25))
    rows = None if size is None else iter(el.read_blocks(path, block_bytes=size))
    with pytest.raises(FormatError, match="expected at most 4 MiB"):
        read_dataset(path) if rows is None else next(rows)


def test_nothing_is_read_after_a_zero_byte(tmp_path, monkeypatch):
    monkeypatch.setattr("exactlearn._runtime.files.LARGEST", 2**22)
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,\0" + bytes(2**23))
    with pytest.raises(FormatError, match="line 2: a zero byte"):
        read_dataset(path)
