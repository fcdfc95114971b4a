"""The page's sections on the network and the decision graph: pictures with details of each box."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.reporting.drawing import Drawing, decision_graph_drawing, network_drawing
from exactlearn.reporting.markup import (
    MOST_ROWS,
    Markup,
    decimals,
    facts,
    folded,
    probability,
    quiet,
    table,
    tag,
)
from exactlearn.reporting.page_content import STRENGTHS, PageContent
from exactlearn.reporting.placed_drawing import PlacedDrawing
from exactlearn.reporting.plot import MAX_BOXES
from exactlearn.reporting.svg_picture import svg_element, svg_group

MOST_CONFIGURATIONS, MOST_STATES, MOST_PROBABILITIES = 48, 12, 25_000
"""Most rows and columns of a conditional table, and most probabilities of all of them."""

SUPPORT = {
    "strength": "bootstrap: arc",
    "edge_strength": "bootstrap: edge",
    "support": "share of listed networks",
    "weight": "weight of the arc",
    "adjacency_weight": "weight of the edge",
}
"""Columns of the table of arcs by the keys of their support."""


def network_section(found: PageContent) -> Any:
    """Return the network's picture, its conditional tables and its arcs."""
    if not found.parents:
        return None
    names = list(found.parents)
    place = {name: v for v, name in enumerate(names)}
    parents = [[place[p] for p in family] for family in found.parents.values()]
    arcs = [(p, v) for v, family in enumerate(parents) for p in family]
    strengths = {
        (p, v): float(found.support[names[p], names[v]][found.strength_key])
        for p, v in arcs
        if found.strength_key and (names[p], names[v]) in found.support
    }
    legend = ["Arrow: the parent points at the child."]
    if found.reversible:
        legend.append("Dashed: an equivalent network has the arc the other way.")
    if strengths:
        legend.append(f"Width: {STRENGTHS[found.strength_key]}.")
    if found.network is not None:
        legend.append("Hover, focus or tap a variable for its conditional probabilities.")
    details = [] if found.network is None else list(_conditional_tables(found.network, names))
    drawing = network_drawing(names, parents, found.reversible, strengths)
    return [_picture(drawing, "network", " ".join(legend), details), _arc_table(found, names, arcs)]


def _arc_table(found: PageContent, names: Sequence[str], arcs: Sequence[tuple[int, int]]) -> Markup:
    if not arcs:
        return tag("p", "The network has no arcs.")
    keys = [key for key in SUPPORT if any(key in one for one in found.support.values())]
    rows = []
    for p, v in arcs[:MOST_ROWS]:
        pair = names[p], names[v]
        own = found.support.get(pair, {})
        direction = "reversible" if pair in found.reversible else ""
        rows.append([*pair, direction, *(decimals(own.get(key), 3) for key in keys)])
    head = ["parent", "child", "direction", *(SUPPORT[key] for key in keys)]
    listed = table(head, rows, right=head[3:], total=len(arcs), class_="sortable")
    return folded(f"The {len(arcs)} arcs as a table", listed)


def _conditional_tables(network: BayesianNetwork, names: Sequence[str]) -> Iterator[Markup]:
    """Yield the conditional table of each box, the largest ones cut."""
    index = {name: v for v, name in enumerate(network.names)}
    left = MOST_PROBABILITIES
    for box, name in enumerate(names):
        if name not in index:
            continue
        v = index[name]
        states, family = network.states[v], network.parents[v]
        given = [network.names[p] for p in family]
        full = np.asarray(network.tables[v]).reshape(-1, len(states))
        shown = full[:MOST_CONFIGURATIONS, :MOST_STATES]
        left -= shown.size
        if left < 0:
            yield _details(box, name, tag("p", "Left out: the page has its limit."))
            return
        rows = [
            [tag("th", cell, scope="row") for cell in cells]
            + [tag("td", probability(p), style=f"--p:{100 * p:.0f}%", class_="p") for p in row]
            for cells, row in zip(
                product(*(network.states[p] for p in family)), shown.tolist(), strict=False
            )
        ]
        (k, r), (n, m) = shown.shape, full.shape
        more = f"First {k} of {n} rows, {r} of {m} states." if (k, r) != (n, m) else ""
        title = f"P({name} | {', '.join(given)})" if family else f"P({name})"
        yield _details(box, title, table([*given, *states[:MOST_STATES]], rows), quiet(more))


def _details(box: int, title: str, *content: Markup) -> Markup:
    """Return what the page shows of a box when it is pointed at."""
    return tag("template", tag("h4", title), content, data_for=box)


def decision_graph_section(found: PageContent) -> Any:
    """Return the decision graph's sizes and picture."""
    record = found.record.get("decision_graph") or found.record
    sizes = facts(
        effective_size=record.get("effective_size"),
        representational_size=record.get("representational_size"),
        nodes=record.get("nodes"),
        clique_tree_size=record.get("clique_tree_size"),
    )
    if found.graph is None:
        return sizes
    drawing = decision_graph_drawing(found.graph)
    legend = (
        "Each box is a node: its variable and the probability of each state there. An arrow leads "
        "to the node of the next variable, by the states written on it; without a label by every "
        "state. The darker a box, the more rows reach it."
    )
    details = []
    for box, (label, share) in enumerate(zip(drawing.labels, drawing.reach, strict=True)):
        title, *lines = label.split("\n")
        states = table(("state", "probability"), [line.rsplit(" ", 1) for line in lines])
        reached = tag("p", f"Reached by a row with probability {share:.4g}")
        details.append(_details(box, title, reached, states))
    return [sizes, _picture(drawing, "decision-graph", legend, details)]


def _picture(drawing: Drawing, name: str, legend: str, details: Sequence[Markup]) -> Markup:
    """Return a picture with its controls, and the details of its boxes beside it."""
    if len(drawing.labels) > MAX_BOXES:
        text = f"No picture: {len(drawing.labels)} boxes are not readable (limit {MAX_BOXES})."
        return tag("p", text, class_="note")
    placed = PlacedDrawing(drawing)
    attributes = f'role="group" aria-label="{name}"'
    svg = Markup(svg_element(placed.size, attributes, svg_group(placed)))
    options = dict.fromkeys(label.split("\n")[0] for label in drawing.labels)
    finder = [
        tag("label", "Find ", tag("input", list=f"{name}-names", type="search", class_="find")),
        tag("datalist", [tag("option", value=one) for one in options], id=f"{name}-names"),
    ]
    buttons = [
        tag("button", sign, type="button", data_zoom=step, aria_label=text)
        for sign, step, text in (
            ("+", "1.25", "Zoom in"),
            ("\N{MINUS SIGN}", "0.8", "Zoom out"),
            ("Fit", "0", "Fit"),
        )
    ]
    described = f"Picture: {name}; scroll with the arrow keys"
    panel = tag("div", class_="panel", aria_live="polite", hidden=True)
    parts = [
        tag("div", buttons, finder, class_="tools"),
        tag("div", svg, class_="canvas", tabindex=0, aria_label=described, role="region"),
        tag("aside", quiet(legend), panel),
        details,
    ]
    return tag("div", parts, class_="picture")
