"""Drawings: the layout keeps boxes apart and arcs downwards; files are whole and repeatable."""

import signal
import sys
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise, product
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.errors import TooLargeError
from exactlearn.graphs.equivalence import NamedGraph
from exactlearn.pdg.model.decision_graph import assemble
from exactlearn.reporting import layered_layout as module
from exactlearn.reporting.drawing import (
    Drawing,
    decision_graph_drawing,
    network_drawing,
    structure_drawing,
)
from exactlearn.reporting.layered_layout import (
    SPREAD,
    _crossings,
    _layers,
    _split,
    layered_layout,
)
from exactlearn.reporting.placed_drawing import MAX_BOXES, PlacedDrawing, placed
from exactlearn.reporting.svg_picture import svg_file


def draw(drawing):
    return svg_file(placed(drawing))


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
        [
            np.array([[0.2, 0.8]]),
            np.array([[0.3, 0.7], [1.0, 0.0]]),
            np.array([[0.5, 0.5]]),
        ],
        [np.array([[[0], [1]]]), np.zeros((2, 2, 1), int), np.zeros((1, 2, 0), int)],
    )


@st.composite
def dags(draw_from):
    n = draw_from(st.integers(1, 9))
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
    arcs = (
        draw_from(st.lists(st.sampled_from(pairs), unique=True, max_size=14))
        if pairs
        else []
    )
    order = draw_from(st.permutations(range(n)))
    width = st.floats(0.2, 4) | st.just(60.0)  # some far wider than the rest
    widths = draw_from(st.lists(width, min_size=n, max_size=n))
    return widths, [(order[a], order[b]) for a, b in arcs]


@settings(max_examples=50)
@given(dags())
def test_boxes_keep_their_distance_and_arcs_run_down(dag):
    widths, arcs = dag
    places = layered_layout(widths, arcs, space=0.3, lane=0.1)
    assert set(places.layer.tolist()) == set(range(places.layer.max() + 1))
    for k in range(places.layer.max() + 1):
        row = sorted(np.flatnonzero(places.layer == k), key=lambda b: places.x[b])
        for left, right in pairwise(row):
            free = places.x[right] - places.x[left] - (widths[left] + widths[right]) / 2
            assert free >= 0.3 - 1e-9
    for (a, b), course in zip(arcs, places.courses, strict=True):
        assert course[0] == (places.x[a], places.layer[a])
        assert course[-1] == (places.x[b], places.layer[b])
        assert [k for _, k in course] == list(
            range(places.layer[a], places.layer[b] + 1)
        )


@settings(max_examples=50)
@given(dags())
def test_the_layers_have_the_least_total_length_of_all(dag):
    """Beside an integer program's own optimum: every box in every layer, by brute force."""
    widths, arcs = dag
    n = min(len(widths), 5)
    arcs = [arc for arc in arcs if max(arc) < n]
    layer = _layers(np.ones(n), arcs)
    least = min(
        sum(every[b] - every[a] for a, b in arcs)
        for every in product(range(n), repeat=n)
        if all(every[b] > every[a] for a, b in arcs)
    )
    assert all(layer[b] > layer[a] for a, b in arcs)
    assert sum(layer[b] - layer[a] for a, b in arcs) == least


def test_a_wide_layer_becomes_several():
    arcs = [(0, k) for k in range(1, 101)]
    places = layered_layout([1.0] * 101, arcs, space=0.3, lane=0.1)
    assert np.ptp(places.x) < 80  # 130 in one layer
    assert all(places.layer[k] > places.layer[0] for k in range(1, 101))


@contextmanager
def ending_within_a_minute():
    """Fail, also in a loop that nothing else ends."""

    def fail(number, frame):
        pytest.fail("the layout does not end")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(60)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@settings(max_examples=50)
@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=12))
def test_too_wide_layers_split_into_nonempty_ones(widths):
    extent = np.array(widths)
    with ending_within_a_minute():
        layer = _split(np.zeros(len(widths), np.int64), extent, [])
    assert set(layer.tolist()) == set(range(layer.max() + 1))
    widest = max(extent.max(), SPREAD * extent.sum() ** 0.5)
    for row in np.bincount(layer, extent)[np.bincount(layer) > 1]:
        assert row <= widest


@settings(max_examples=50)
@given(dags())
def test_crossings_are_those_of_all_pairs_of_arcs(dag):
    _, arcs = dag
    n = 1 + max((v for arc in arcs for v in arc), default=0)
    below = [[n + b for a, b in arcs if a == v] for v in range(n)]
    place = [*range(n), *range(n)]
    expected = sum((a < c and b > d) for a, b in arcs for c, d in arcs)
    assert _crossings(list(range(n)), below, place) == expected


def test_a_tree_is_drawn_planar_with_its_root_in_the_middle():
    arcs = [(0, 1), (0, 2), (1, 6), (1, 3), (2, 5), (2, 4)]
    x = layered_layout([1.0] * 7, arcs, space=0.3, lane=0.1).x
    assert x[0] == pytest.approx((x[1] + x[2]) / 2)
    assert x[1] == pytest.approx((x[3] + x[6]) / 2)
    assert (max(x[3], x[6]) < min(x[4], x[5])) == (x[1] < x[2])


@settings(max_examples=50)
@given(dags())
def test_arcs_avoid_the_boxes_of_others(dag):
    """Points of the curves, between and within layers, lie in no box."""
    widths, arcs = dag
    labels = tuple("x" * max(1, int(8 * width)) for width in widths)
    placed = PlacedDrawing(Drawing(labels, tuple(arcs), ("",) * len(arcs)))
    for curve in placed.curves:
        pieces = np.array(curve)
        for k in range(0, len(pieces) - 1, 3):
            for t in np.linspace(0.02, 0.98, 9):
                weights = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3]
                x, y = weights @ pieces[k : k + 4]
                for box in placed.boxes:
                    inside = box.left < x < box.left + box.width
                    assert not (inside and box.top < y < box.top + box.height)
    for point in (point for curve in placed.curves for point in curve):
        assert 0 <= point[0] <= placed.size[0]
        assert 0 <= point[1] <= placed.size[1]


def test_a_cycle_is_refused():
    with pytest.raises(ValueError, match="directed cycle"):
        layered_layout([1, 1], [(0, 1), (1, 0)], space=0.1, lane=0.1)


def test_the_orders_of_a_large_graph_have_fewer_starts(monkeypatch):
    begun = []

    def depth_first(*graph):
        begun.append(graph)
        return usual(*graph)

    usual = module._depth_first
    monkeypatch.setattr(module, "_depth_first", depth_first)
    monkeypatch.setattr(module, "MAX_WORK", 1_000)
    rng = np.random.default_rng(0)
    starts = {}
    for n in (8, 60):
        begun.clear()
        arcs = [(a, b) for b in range(n) for a in range(b) if rng.random() < 4 / n]
        layered_layout([1.0] * n, arcs, space=0.3, lane=0.1)
        starts[n] = len(begun)
    assert starts[60] == 1 < starts[8]


def test_a_decision_graph_joins_states_and_omits_impossible_ones(graph):
    drawing = decision_graph_drawing(graph)
    assert drawing.labels[0] == "a\nno: 0.200\nyes: 0.800"
    assert dict(zip(drawing.arcs, drawing.arc_labels, strict=True)) == {
        (0, 1): "no",
        (0, 2): "yes",
        (1, 3): "",  # every state leads there
        (2, 3): "no",  # the other state has probability zero
    }


def test_nodes_that_nothing_reaches_are_not_drawn():
    graph = assemble(
        ("a", "b"),
        (STATES, STATES),
        np.array([-1, 0], np.int32),
        [np.array([[0.0, 1.0]]), np.array([[0.3, 0.7], [0.6, 0.4]])],
        [np.array([[[0], [1]]]), np.zeros((2, 2, 0), int)],
    )
    drawing = decision_graph_drawing(graph)
    assert drawing.labels == ("a\nno: 0\nyes: 1", "b\nno: 0.600\nyes: 0.400")
    assert drawing.arcs == ((0, 1),)


class TestFiles:
    def test_svg_is_well_formed_and_independent_of_earlier_drawings(self, graph):
        drawings = network_drawing(ASIA, ASIA_PARENTS), decision_graph_drawing(graph)
        files = [draw(drawing) for drawing in drawings]
        assert all(ElementTree.fromstring(svg).tag.endswith("svg") for svg in files)
        assert [draw(drawing) for drawing in drawings] == files

    def test_the_forest_stands_beside_the_graph(self, graph):
        drawing = decision_graph_drawing(graph)
        svg = draw(drawing)
        bare = draw(replace(drawing, beside=None))
        shown = [text.count("<rect ") for text in (svg, bare)]
        assert shown[0] > shown[1]

    def test_names_may_hold_anything(self):
        drawing = network_drawing(
            ["$x_1$", "年齢", "<b> & \\alpha"], [(), (0,), (0, 1)]
        )
        text = "".join(ElementTree.fromstring(draw(drawing)).itertext())
        assert all(name in text for name in drawing.labels)

    def test_no_variables(self):
        assert draw(network_drawing([], []))

    def test_too_many_boxes_are_refused(self):
        n = MAX_BOXES + 1
        with pytest.raises(TooLargeError, match=f"{n} boxes"):
            draw(network_drawing(["x"] * n, [()] * n))


def test_reversible_arcs_are_dashed_and_strong_ones_wide():
    strengths = {(0, 2): 0.9, (2, 3): 0.25}
    plain = network_drawing("abcd", [(), (), (0, 1), (2,)])
    drawing = replace(plain, strengths=strengths)
    chain = network_drawing("abc", [(), (0,), (1,)], ["ab", "bc"])
    svg = draw(replace(chain, strengths={(0, 1): 0.5}))
    assert svg.count("stroke-dasharray") == 2
    assert 'stroke-width="1.60"' in svg
    assert "<title>a → b, strength 0.50, reversible</title>" in svg
    assert 'stroke-width="2.88"' in draw(drawing)
    class_ = NamedGraph.of("ab", [(), (0,)]).as_kind("cpdag")
    assert "<polygon" not in draw(structure_drawing(class_))
