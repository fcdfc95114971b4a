"""DAGs, patterns and CPDAGs in files: round trips, what others write, and refusals."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.errors import FormatError, OptionError
from exactlearn.formats.dot import read_dot
from exactlearn.formats.graph_file import read_graph, write_graph
from exactlearn.graphs.equivalence import cpdag
from exactlearn.graphs.named_graph import NamedGraph
from exactlearn.instances import locate
from exactlearn.reporting.drawing import network_drawing, to_dot
from tests.graph_oracle import dags
from tests.strategies import awkward_names

NAMES = (
    awkward_names
    | st.text(st.sampled_from(' "\\->#[];=n,\n\t'), max_size=5)
    | st.sampled_from(["node", "graph", "digraph", "strict", "cpdag", "0", "-1.5", "a b", "n0"])
)


@st.composite
def named_graphs(draw) -> NamedGraph:
    parents = draw(dags())
    names = draw(st.lists(NAMES, min_size=len(parents), max_size=len(parents), unique=True))
    return NamedGraph.of(names, parents).as_kind(draw(st.sampled_from(["dag", "pattern", "cpdag"])))


@settings(deadline=None, max_examples=50)
@given(named=named_graphs())
@pytest.mark.parametrize("name", ["g.json", "g.dot", "g.gv.gz", "g.txt"])
def test_a_written_graph_reads_back(tmp_path_factory, name, named) -> None:
    path = tmp_path_factory.getbasetemp() / name
    write_graph(named, path)
    found = read_graph(path)
    assert (found.names, found.graph) == (named.names, named.graph)
    assert cpdag(found.parents) == cpdag(named.parents)
    if name != "g.txt":  # which does not hold the kind
        assert found == named


def test_the_structure_of_networks_and_the_parents_of_results_are_read(tmp_path) -> None:
    found = read_graph(locate("asia", ".bif"))
    assert ("smoke", "lung") in found.arcs
    assert found.kind == "dag"
    (tmp_path / "result.json").write_text('{"score": 1, "parents": {"b": ["a"], "a": []}}')
    assert read_graph(tmp_path / "result.json") == NamedGraph.of(("b", "a"), [(1,), ()])
    with pytest.raises(OptionError, match=r"ending in \.json, \.dot, \.gv, \.txt, found '\.bif'"):
        write_graph(found, tmp_path / "x.bif")


def test_our_drawings_are_graphs(tmp_path) -> None:
    names, parents = ('a "b"', "c\\", "d"), [(), (0,), (0, 1)]
    path = tmp_path / "drawing.dot"
    path.write_text(to_dot(network_drawing(names, parents)))
    assert read_dot(path) == NamedGraph.of(names, parents)


def test_what_graphviz_lays_out_is_read(tmp_path) -> None:
    """Its canonical output: defaults, positions, long lines broken after a backslash."""
    path = tmp_path / "laid-out.dot"
    path.write_text(
        """digraph asia {
	graph [bb="0,0,126,108",
		kind=cpdag
	];
	node [fontname="sans-serif",
		label="\\N",
		shape=box
	];
	n0	[height=0.5,
		label=smoke,
		pos="63,90",
		width=0.75];
	n1	[height=0.5,
		label="lung \\
cancer",
		pos="27,18"];
	"n 2"	[pos="99,18"];
	n0 -> n1	[dir=none,
		pos="53.983,71.697 49.724,63.415"];
	n0 -> "n 2"	[dir=none];
}
"""
    )
    found = read_graph(path)
    assert found.names == ("smoke", "lung cancer", "n 2")
    assert found.edges == (("smoke", "lung cancer"), ("smoke", "n 2"))
    assert found.kind == "cpdag"


def test_dot_by_hand_is_read(tmp_path) -> None:
    path = tmp_path / "hand.dot"
    path.write_text(
        "// a chain\n# and a comment\nstrict digraph { a -> b -> c; /* apart */ d [color=red] \n"
        'edge -> "graph"\n "a // b" }'
    )
    assert read_graph(path).arcs == (("a", "b"), ("b", "c"), ("edge", "graph"))
    assert read_graph(path).names == ("a", "b", "c", "d", "edge", "graph", "a // b")


def test_text_by_hand_is_read(tmp_path) -> None:
    path = tmp_path / "hand.txt"
    path.write_text('# order\nz "a -- b" # names\n\na->c\r\n"a -- b"  -> c # v-structure\nc -- z\n')
    found = read_graph(path)
    assert found.names == ("z", "a -- b", "a", "c")
    assert found.kind == "pattern"  # of the class, c -> z follows
    assert found.as_kind("cpdag").arcs == (("a -- b", "c"), ("a", "c"), ("c", "z"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("g.txt", "a -> b\nb => c", "g.txt, line 2: expected an arc 'a -> b'"),
        ("g.txt", "a -> b\nb -> a", "g.txt: found two links of 'b' and 'a'"),
        ("g.txt", "a -> a", "g.txt: found a link of 'a' to itself:"),
        ("g.txt", "a -> b\nb -> c\nc -> a", "g.txt: the parents hold the directed cycle"),
        ("g.txt", "a -> b\nb -- c", "g.txt: expected a CPDAG, found the arc 'a' -> 'b'"),
        ("g.txt", "a -- b\nb -- c\nc -- d\nd -- a", "no order of the variables 'a', 'b'"),
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
        ("g.dot", "graph { a -- b }", "expected a directed graph"),
        ("g.dot", "digraph {\n  a -> b;\n  c -- d }", "line 3, column 5: expected a variable"),
        ("g.dot", "digraph { subgraph x { a } }", "column 22: .* subgraphs, ports"),
        ("g.dot", "digraph { a -> {b c} }", "column 13: .*found '-> {b c} }'"),
        ("g.dot", "digraph { a -> b [dir=back] }", "column 11: .*dir=none, found dir=back"),
        ("g.dot", "digraph { edge [dir=none]; a -> b }", "at each edge"),
        ("g.dot", "digraph { a [label=<b>] }", "column 13: expected a variable"),
        ("g.dot", "digraph { a", "column 12: expected a variable"),
        ("g.dot", "digraph { a } b", "found '} b'"),
        ("g.dot", "digraph { a -> b = c }", "found '= c }'"),
        ("g.dot", "digraph { kind=tree; a }", "expected kind=dag, pattern or cpdag, found 'tree'"),
        ("g.svg", "", r"expected a graph or a network \(\.json.*found '\.svg'"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(tmp_path, name, content, message) -> None:
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
    with pytest.raises(OptionError, match="2 of 4 expected variables are missing, such as 'c'"):
        graph.reordered(("a", "b", "c", "d"))
