"""Views in notebooks: whole, safe, and there for every class that has more than figures to show."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import exactlearn as el
from exactlearn.reporting import placed_drawing
from exactlearn.reporting.description import probability
from exactlearn.reporting.svg_picture import INSIDE, OBSERVED
from tests.public_objects import public_objects

NASTY = ("<b>&\"'", "a]]><script>alert(1)</script>", "x")
PREFIX = "{http://www.w3.org/2000/svg}"
SVG = f"{PREFIX}svg"
WITH_PICTURES = {
    *(
        "BayesianNetwork",
        "DecisionGraph",
        "NamedGraph",
        "PartiallyDirectedGraph",
        "LearnedNetwork",
    ),
    *(
        "Result",
        "Augmentation",
        "StructuralEM",
        "EquivalenceSearch",
        "Certificate",
        "EMResult",
    ),
    *("DeletionFit", "ArcStrengths", "StructurePosterior", "Imputer", "Answer"),
}
WITH_REASONS = {"ESSChoice"}
WITH_VIEWS = {*WITH_PICTURES, "Dataset", "MissingnessGraph", "Ranking", "Enumeration"}


def nasty_network():
    states = (("<i>", "&amp;"),) * 3
    tables = (np.array([0.5, 0.5]), np.full((2, 2), 0.5), np.full((2, 2, 2), 0.5))
    return el.BayesianNetwork(NASTY, states, ((), (0,), (0, 1)), tables)


@pytest.fixture(scope="module")
def values():
    table = el.Dataset(np.array([[0, 1, -1]] * 7), NASTY, (("<i>", "&amp;"),) * 3)
    network = nasty_network()
    found = [
        *(table, network, network.structure, el.compile_network(network)),
        *(el.query(network), el.MissingnessGraph({NASTY[0]: (NASTY[1],)})),
    ]
    return [*public_objects().values(), *found]


def test_a_view_is_whole_and_needs_nothing_from_elsewhere(values):
    for value in values:
        view = value._repr_html_() if hasattr(value, "_repr_html_") else None
        if type(value).__name__ not in WITH_VIEWS | WITH_REASONS:
            assert view is None, value
            continue
        assert view is not None, value
        tree = ElementTree.fromstring(view)
        assert tree.tag == "div"
        assert not list(tree.iter("script"))
        assert not re.search(r"(src|href)=\"[^#]|url\((?!#)", view)


def test_graphs_have_a_picture(values):
    for value in values:
        has = hasattr(value, "_repr_svg_") and value._repr_svg_()
        if type(value).__name__ not in WITH_PICTURES:
            assert not has, value
            continue
        assert ElementTree.fromstring(has).tag == SVG
        assert has in value._repr_html_()


def test_names_stand_as_they_are():
    said = "".join(ElementTree.fromstring(nasty_network()._repr_html_()).itertext())
    assert all(name in said for name in NASTY)
    assert "&amp;" in said
    assert "&lt;" not in said


def test_a_network_and_its_page_mark_the_same_arcs_as_reversible(tmp_path):
    network = el.read_network("asia")
    el.report(network, tmp_path / "asia.html")
    dashed = [
        re.findall(r"<title>(.*?), reversible</title>", text)
        for text in (network._repr_svg_(), (tmp_path / "asia.html").read_text())
    ]
    assert dashed == [["asia → tub", "smoke → lung", "smoke → bronc"]] * 2


def test_a_graph_of_too_many_boxes_is_a_list_of_arcs(monkeypatch):
    monkeypatch.setattr(placed_drawing, "MAX_BOXES", 2)
    placed_drawing.placed.cache_clear()
    network = nasty_network()
    assert network._repr_svg_() is None
    arcs = [
        one.text for one in ElementTree.fromstring(network._repr_html_()).iter("dd")
    ]
    assert f"{NASTY[0]} → {NASTY[1]}" in arcs[0]


def test_the_view_of_a_table_counts_by_weight():
    codes = np.array([[0], [1], [-1]])
    table = el.Dataset(
        codes, ("a",), (("no", "yes"),), weights=np.array([1.0, 3.0, 4.0])
    )
    said = "".join(ElementTree.fromstring(table._repr_html_()).itertext())
    assert "no: 25\N{NO-BREAK SPACE}%, yes: 75\N{NO-BREAK SPACE}%" in said
    assert "50 %" in said
    empty = replace(table, codes=codes[:0], weights=None)
    assert "no: 0\N{NO-BREAK SPACE}%, yes: 0\N{NO-BREAK SPACE}%" in empty._repr_html_()


def test_long_tables_are_cut():
    names = tuple(f"v{k}" for k in range(100))
    states = tuple(f"s{k}" for k in range(20))
    table = el.Dataset(np.zeros((50, 100), np.int8), names, (states,) * 100)
    view = table._repr_html_()
    assert "First 30 of 100." in view
    assert "14 more" in view
    assert len(view) < 20_000


def test_an_answer_is_a_picture_with_a_bar_for_each_state():
    network = el.read_network("asia")
    answer = el.query(network, {"smoke": "yes", "xray": "no"})
    boxes = {
        box.find(f"{PREFIX}text")[0].text: box
        for box in ElementTree.fromstring(answer._repr_svg_()).iter(f"{PREFIX}g")
        if box.get("class") == "box"
    }
    for name, box in boxes.items():
        frame, *bars = box.iter(f"{PREFIX}rect")
        texts = [line.text for line in box.find(f"{PREFIX}text")][1:]
        weights = answer.posterior.get(name) or answer.evidence[name]
        shares = [p / max(weights.values()) for p in weights.values()]
        if name in answer.posterior:
            shares = list(weights.values())
        assert texts[::2] == list(weights)
        assert texts[1::2] == [probability(p) for p in shares]
        widest = float(frame.get("width")) - INSIDE
        found = [float(bar.get("width")) / widest for bar in bars]
        assert found == pytest.approx(shares, abs=0.01)
        assert (frame.get("fill") == OBSERVED) == (name in ("smoke", "xray"))
    assert list(boxes) == list(network.names)


def test_of_many_states_the_most_probable_are_drawn():
    states = tuple(f"s{k}" for k in range(20))
    network = el.BayesianNetwork(("a",), (states,), ((),), (np.arange(1, 21) / 210,))
    text = "".join(ElementTree.fromstring(el.query(network)._repr_svg_()).itertext())
    assert "s120.062" in text
    assert "s110.057" not in text
    assert "12 more0.371" in text


def test_the_answer_of_a_decision_graph_is_a_table():
    answer = el.query(el.compile_network(el.read_network("asia")))
    assert answer._repr_svg_() is None
    assert "<details" not in answer._repr_html_()
    assert "either" in answer._repr_html_()


def test_a_notebook_asks_for_the_view():
    formatters = pytest.importorskip("IPython.core.formatters").DisplayFormatter()
    data, _ = formatters.format(nasty_network())
    assert data.keys() >= {"text/plain", "text/html", "image/svg+xml"}
    data, _ = formatters.format(el.BDeu())
    assert data.keys() == {"text/plain"}
