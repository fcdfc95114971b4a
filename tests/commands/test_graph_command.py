"""``exactlearn graph``: what it prints, records, writes and refuses."""

import json

import pytest

from exactlearn.formats.graph_file import read_graph, write_graph
from exactlearn.formats.models import read_network
from exactlearn.graphs.comparison import compare_structures
from exactlearn.graphs.equivalence import NamedGraph, cpdag
from exactlearn.graphs.partially_directed import v_structures
from exactlearn.instances import locate
from tests.command_line import run, run_json

ASIA = read_network(locate("asia", ".bif"))
SPECIAL = NamedGraph.of(("x, y", "a -> b", 'c "d"'), [(), (0,), (1,)])


def by_name(*arcs) -> list[list[str]]:
    return [[ASIA.names[v] for v in arc] for arc in arcs]


def test_the_record_is_a_graph_with_its_class(tmp_path) -> None:
    own = cpdag(ASIA.parents)
    found = run_json("graph", "asia")
    assert found["kind"] == "dag"
    assert found["variables"] == list(ASIA.names)
    assert sorted(found["arcs"]) == sorted(map(list, ASIA.arcs))
    assert found["edges"] == []
    assert found["class_size"] == own.size == 6
    assert found["reversible"] == by_name(*sorted(own.undirected))
    assert found["v_structures"] == by_name(*sorted(v_structures(ASIA.parents)))
    assert found["covered"] == [["asia", "tub"], ["smoke", "lung"], ["smoke", "bronc"]]
    (tmp_path / "asia.json").write_text(json.dumps(found))
    assert read_graph(tmp_path / "asia.json") == NamedGraph.of(ASIA.names, ASIA.parents)


def test_arcs_are_printed_with_their_class() -> None:
    facts = dict(line.split("  ", 1) for line in run("graph", "asia").splitlines())
    assert "tub → either" in facts["arcs"]
    assert facts["covered"].split(", ")[-1].strip() == "smoke → lung"
    assert "smoke - lung" in run("graph", "asia", "--to", "cpdag")


@pytest.mark.parametrize("kind", ["dag", "pattern", "cpdag"])
def test_each_kind_is_written_and_read(kind, tmp_path) -> None:
    path = tmp_path / "g.json.gz"
    found = run_json("graph", "asia", "--to", kind, "-o", path)
    expected = NamedGraph.of(ASIA.names, ASIA.parents).as_kind(kind)
    assert read_graph(path) == expected
    again = run_json(
        "graph", path, "--variable", "either", "--independent", "smoke,bronc|lung"
    )
    assert again["class_size"] == 6
    assert again["independence"]["independent"] is False
    assert set(again["blanket"]["markov_blanket"]) == {
        "tub",
        "lung",
        "bronc",
        "xray",
        "dysp",
    }
    assert run_json("graph", path, "--to", "cpdag")["class_size"] == 6
    assert found["kind"] == kind
    assert ("covered" in found) == (kind == "dag")


def test_questions_are_answered() -> None:
    found = run_json(
        "graph", "asia", "--variable", "lung", "--independent", "asia, smoke | dysp",
        "--reference", "asia",
    )  # fmt: skip
    assert found["blanket"] == {
        "variable": "lung",
        "parents": ["smoke"],
        "children": ["either"],
        "markov_blanket": ["tub", "smoke", "either"],
    }
    assert found["independence"]["independent"] is False
    assert ["either", "dysp"] in found["independence"]["active_trail"]
    assert found["comparison"] == vars(compare_structures(ASIA.parents, ASIA.parents))
    found = run_json("graph", "asia", "--independent", "asia,smoke")
    assert found["independence"] == {
        "variables": ["asia", "smoke"], "given": [], "independent": True,
    }  # fmt: skip


def test_names_with_marks_are_found(tmp_path) -> None:
    write_graph(SPECIAL, tmp_path / "g.json")
    words = ("--independent", '"x, y", "c ""d"""', "--variable", 'c "d"')
    found = run_json("graph", tmp_path / "g.json", *words)
    assert found["independence"]["variables"] == ["x, y", 'c "d"']
    assert found["blanket"]["parents"] == ["a -> b"]
    assert "x, y" in run("graph", tmp_path / "g.json", *words)


def test_a_reference_may_order_its_variables_otherwise(tmp_path) -> None:
    write_graph(NamedGraph.of("abc", [(), (0,), (1,)]), tmp_path / "a.json")
    write_graph(NamedGraph.of("cba", [(), (0, 2), ()]), tmp_path / "b.json")
    found = run_json("graph", tmp_path / "a.json", "--reference", tmp_path / "b.json")[
        "comparison"
    ]
    assert (found["shd"], found["cpdag_shd"], found["arc_f1"], found["edge_f1"]) == (
        1,
        2,
        0.5,
        1,
    )


def test_a_graph_without_arcs_has_its_facts(tmp_path) -> None:
    write_graph(NamedGraph.of("ab", [(), ()]), tmp_path / "g.json")
    assert "class size" in run("graph", tmp_path / "g.json")
    found = run_json("graph", tmp_path / "g.json", "--reference", tmp_path / "g.json")
    assert found["comparison"]["arc_f1"] is None
