"""Missingness graphs in files."""

import pytest
from hypothesis import given, settings

from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.errors import FormatError, OptionError
from exactlearn.formats.graph_file import read_missingness, write_missingness
from tests.data.test_missingness_graph import graphs

TEXT = "income <- age, income; children <- missing(income); smoke <-"


@settings(max_examples=50)
@given(graph=graphs())
@pytest.mark.parametrize("name", ["graph.missingness", "graph.txt.gz"])
def test_a_written_graph_reads_back(tmp_path_factory, name, graph):
    path = tmp_path_factory.getbasetemp() / name
    write_missingness(graph, path)
    assert read_missingness(path) == graph
    assert read_missingness(str(path)) == graph


def test_a_text_is_its_own_source(tmp_path):
    graph = read_missingness(TEXT)
    assert str(graph) == TEXT
    path = tmp_path / "graph.missingness"
    write_missingness(graph, path)
    assert path.read_text().splitlines() == TEXT.split("; ")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "g.missingness",
            "income <- age\nsmoke",
            "g.missingness: missingness graph: .*'smoke'",
        ),
        ("g.missingness", "a <- missing(b); b <- missing(a)", "g.missingness: .*cycle"),
    ],
)
def test_what_is_no_graph_is_refused_with_the_file(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises((FormatError, OptionError), match=message):
        read_missingness(path)


@pytest.mark.parametrize("name", ["a, b", "a;b", "<-", " a", "missing(a)"])
def test_a_name_that_holds_a_sign_of_the_grammar_is_not_written(tmp_path, name):
    for graph in (MissingnessGraph({name: ()}), MissingnessGraph({"income": (name,)})):
        with pytest.raises(OptionError, match=r"cannot be written.*in Python"):
            write_missingness(graph, tmp_path / "graph.missingness")


def test_no_source_is_refused(tmp_path):
    with pytest.raises(OptionError, match="expected a file or a text"):
        read_missingness("")
    with pytest.raises(OptionError, match="there is no file"):
        read_missingness(str(tmp_path / "nowhere.missingness"))
