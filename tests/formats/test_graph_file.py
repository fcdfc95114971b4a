"""DAGs, patterns and CPDAGs in files: round trips, what others write, and refusals."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.errors import FormatError, OptionError
from exactlearn.formats.graph_file import read_graph, write_graph
from exactlearn.graphs.equivalence import NamedGraph, cpdag
from exactlearn.instances import locate
from tests.graph_oracle import dags
from tests.strategies import awkward_names

NAMES = (
    awkward_names
    | st.text(st.sampled_from(' "\\->#[];=n,\n\t'), max_size=5)
    | st.sampled_from(
        ["node", "graph", "digraph", "strict", "cpdag", "0", "-1.5", "a b", "n0"]
    )
)


@st.composite
def named_graphs(draw) -> NamedGraph:
    parents = draw(dags())
    names = draw(
        st.lists(NAMES, min_size=len(parents), max_size=len(parents), unique=True)
    )
    return NamedGraph.of(names, parents).as_kind(
        draw(st.sampled_from(["dag", "pattern", "cpdag"]))
    )


@settings(max_examples=50)
@given(named=named_graphs())
@pytest.mark.parametrize("name", ["g.json", "g.json.gz"])
def test_a_written_graph_reads_back(tmp_path_factory, name, named) -> None:
    path = tmp_path_factory.getbasetemp() / name
    write_graph(named, path)
    found = read_graph(path)
    assert found == named
    assert cpdag(found.parents) == cpdag(named.parents)


def test_graphs_are_read_from_networks_and_results(tmp_path) -> None:
    found = read_graph(locate("asia", ".bif"))
    assert ("smoke", "lung") in found.arcs
    assert found.kind == "dag"
    (tmp_path / "result.json").write_text(
        '{"score": 1, "parents": {"b": ["a"], "a": []}}'
    )
    assert read_graph(tmp_path / "result.json") == NamedGraph.of(("b", "a"), [(1,), ()])
    with pytest.raises(OptionError, match=r"ending in \.json, found '\.bif'"):
        write_graph(found, tmp_path / "x.bif")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("g.json", "[]", "g.json: expected an object with the key 'parents'"),
        ("g.json", '{"arcs": [["a"]], "kind": "dag"}', "or a graph such as"),
        ("g.json", '{"score": 1}', "expected an object with the key 'parents'"),
        (
            "g.json",
            '{"kind": "dag", "variables": ["a", "b"], "arcs": [["a", "c"]], "edges": []}',
            "no variable 'c'; expected one of 'a', 'b'",
        ),
        (
            "g.json",
            '{"kind": "dag", "variables": ["a", "b"], "arcs": [], "edges": [["a", "b"]]}',
            "expected a DAG, found the undirected edge 'a' -- 'b'",
        ),
        (
            "g.json",
            '{"kind": "pattern", "variables": ["a", "b"], "arcs": [["a", "b"]], "edges": []}',
            "expected a pattern",
        ),
        (
            "g.json",
            '{"kind": "dag", "variables": ["a", "a"], "arcs": [], "edges": []}',
            "variable 'a' stands twice",
        ),
        ("g.svg", "", r"expected a graph or a network \(\.json.*found '\.svg'"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(
    tmp_path, name, content, message
) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises((FormatError, OptionError), match=message) as caught:
        read_graph(path)
    assert name in str(caught.value)


def test_graphs_of_other_variables_are_not_reordered() -> None:
    graph = NamedGraph.of(("a", "b"), [(), (0,)])
    assert graph.reordered(("b", "a")) == NamedGraph.of(("b", "a"), [(1,), ()])
    with pytest.raises(OptionError, match="'b' is no variable; expected one of 'a'"):
        graph.reordered(("a",))
    with pytest.raises(
        OptionError, match="2 of 4 expected variables are missing, such as 'c'"
    ):
        graph.reordered(("a", "b", "c", "d"))
