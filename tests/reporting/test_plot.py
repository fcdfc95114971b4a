"""Drawings: the layout keeps boxes apart and arcs downwards; files are whole and repeatable."""

import builtins
import shutil
import sys
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from exactlearn.errors import MissingExtraError, TooLargeError
from exactlearn.graphs.named_graph import NamedGraph
from exactlearn.pdg.model.decision_graph import assemble
from exactlearn.reporting import plot
from exactlearn.reporting.drawing import (
    Drawing,
    decision_graph_drawing,
    network_drawing,
    structure_drawing,
    to_dot,
)
from exactlearn.reporting.layered_layout import isotonic_regression, layered_layout
from exactlearn.reporting.plot import draw
from tests.pdg_oracle import paper_example

ASIA = ("asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp")
ASIA_PARENTS = ((), (0,), (), (2,), (2,), (1, 3), (5,), (4, 5))
STATES = ("no", "yes")


@pytest.fixture
def graph():
    """Three variables in a chain; the middle has two nodes, the last one."""
    return assemble(
        ("a", "b", "c"),
        (STATES, STATES, STATES),
        np.array([-1, 0, 1], np.int32),
        [np.array([[0.2, 0.8]]), np.array([[0.3, 0.7], [1.0, 0.0]]), np.array([[0.5, 0.5]])],
        [np.array([[[0], [1]]]), np.zeros((2, 2, 1), int), np.zeros((1, 2, 0), int)],
    )


@st.composite
def dags(draw_from):
    n = draw_from(st.integers(1, 9))
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
    arcs = draw_from(st.lists(st.sampled_from(pairs), unique=True, max_size=14)) if pairs else []
    order = draw_from(st.permutations(range(n)))
    widths = draw_from(st.lists(st.floats(0.2, 4), min_size=n, max_size=n))
    return widths, [(order[a], order[b]) for a, b in arcs]


@settings(deadline=None, max_examples=50)
@given(dags())
def test_boxes_keep_their_distance_and_arcs_run_down(dag):
    widths, arcs = dag
    places = layered_layout(widths, arcs, space=0.3, lane=0.1)
    for k in range(places.layer.max() + 1):
        row = sorted(np.flatnonzero(places.layer == k), key=lambda b: places.x[b])
        for left, right in pairwise(row):
            free = places.x[right] - places.x[left] - (widths[left] + widths[right]) / 2
            assert free >= 0.3 - 1e-9
    for (a, b), course in zip(arcs, places.courses, strict=True):
        assert course[0] == (places.x[a], places.layer[a])
        assert course[-1] == (places.x[b], places.layer[b])
        assert [k for _, k in course] == list(range(places.layer[a], places.layer[b] + 1))


@given(st.lists(st.floats(-10, 10) | st.integers(-3, 3), min_size=1, max_size=12))
def test_isotonic_regression_is_scipys_to_the_last_bit(values):
    found = isotonic_regression(np.array(values, np.float64))
    np.testing.assert_array_equal(found, optimize.isotonic_regression(values).x)


def test_a_cycle_is_refused():
    with pytest.raises(ValueError, match="directed cycle"):
        layered_layout([1, 1], [(0, 1), (1, 0)], space=0.1, lane=0.1)


def test_the_layout_of_nothing_is_empty():
    assert layered_layout([], [], space=0.1, lane=0.1).courses == ()


def test_dot_text_names_every_box_and_arc():
    class_ = NamedGraph.of(("a", "b"), [(), (0,)]).as_kind("cpdag")
    assert "n0 -> n1 [dir=none]" in to_dot(structure_drawing(class_))
    text = to_dot(Drawing(('a "b"\nc\\d', "e"), ((0, 1),), ("x",)))
    assert r'n0 [label="a \"b\"\nc\\d"];' in text
    assert 'n0 -> n1 [label="x"];' in text


def test_a_decision_graph_joins_states_and_leaves_out_the_impossible(graph):
    drawing = decision_graph_drawing(graph)
    assert drawing.labels[0] == "a\nno 0.200\nyes 0.800"
    assert dict(zip(drawing.arcs, drawing.arc_labels, strict=True)) == {
        (0, 1): "no",
        (0, 2): "yes",
        (1, 3): "",  # every state leads there
        (2, 3): "no",  # the other state has probability zero
    }


def test_graphviz_shows_forest_reach_and_states():
    text = to_dot(decision_graph_drawing(paper_example()))
    assert "v0 -> v1;" in text
    assert "v1 -> v3;" in text
    assert text.count("tooltip=") == paper_example().n_nodes
    assert 'tooltip="reached 0.2"' in text
    assert 'fontsize=18.0, label="X0' in text
    assert 'n0 -> n1 [label="0"];' in text
    assert text.count("rank=same") == 4


def test_nodes_that_nothing_reaches_are_not_drawn():
    graph = assemble(
        ("a", "b"),
        (STATES, STATES),
        np.array([-1, 0], np.int32),
        [np.array([[0.0, 1.0]]), np.array([[0.3, 0.7], [0.6, 0.4]])],
        [np.array([[[0], [1]]]), np.zeros((2, 2, 0), int)],
    )
    drawing = decision_graph_drawing(graph)
    assert drawing.labels == ("a\nno 0\nyes 1", "b\nno 0.600\nyes 0.400")
    assert drawing.arcs == ((0, 1),)


@pytest.fixture
def without_dot(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)


@pytest.mark.usefixtures("without_dot")
class TestMatplotlib:
    @pytest.fixture(autouse=True)
    def _needs_matplotlib(self):
        pytest.importorskip("matplotlib")

    def test_svg_is_well_formed_and_repeatable(self):
        drawing = network_drawing(ASIA, ASIA_PARENTS)
        svg = draw(drawing, ".svg")
        assert ElementTree.fromstring(svg).tag.endswith("svg")
        assert draw(drawing, ".svg") == svg

    def test_files_of_a_drawing_do_not_depend_on_what_was_drawn_before(self, graph):
        drawing, other = decision_graph_drawing(graph), network_drawing("ab", ((), (0,)))
        alone = {}
        for suffix in (".svg", ".png", ".pdf"):
            draw(other, suffix)
            alone[suffix] = draw(drawing, suffix)
        for suffix in (".png", ".svg", ".pdf", ".svg"):
            assert draw(drawing, suffix) == alone[suffix]

    def test_the_forest_stands_beside_the_graph(self, graph):
        drawing = decision_graph_drawing(graph)
        svg = draw(drawing, ".svg").decode()
        bare = draw(replace(drawing, beside=None), ".svg").decode()
        shown = [text.count("<path d=") for text in (svg, bare)]
        assert shown[0] > shown[1]

    @pytest.mark.parametrize(
        ("suffix", "magic"), [(".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")]
    )
    def test_formats(self, graph, suffix, magic):
        assert draw(decision_graph_drawing(graph), suffix).startswith(magic)

    def test_names_may_hold_anything(self):
        drawing = network_drawing(["$x_1$", "年齢", "<b> & \\alpha"], [(), (0,), (0, 1)])
        assert draw(drawing, ".svg")

    def test_no_variables(self):
        assert draw(network_drawing([], []), ".svg")

    def test_too_many_boxes_are_refused(self):
        n = plot.MAX_BOXES + 1
        with pytest.raises(TooLargeError, match=f"{n} boxes"):
            draw(network_drawing(["x"] * n, [()] * n), ".svg")


@pytest.mark.usefixtures("without_dot")
def test_without_matplotlib_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError, match=r"exactlearn\[plot\]"):
        draw(network_drawing(["x"], [()]), ".svg")


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for dot is a shell script")
def test_graphviz_draws_where_it_is_installed(graph, tmp_path, monkeypatch):
    pytest.importorskip("graphviz")
    dot = tmp_path / "dot"
    dot.write_text('#!/bin/sh\necho "$@"\ncat\n')
    dot.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    told = draw(decision_graph_drawing(graph), ".svg").decode()
    assert told.startswith("-Kdot -Tsvg\ndigraph {")
