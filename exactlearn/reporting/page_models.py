"""The page's sections on the network and the decision graph: pictures with details of each box."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.errors import TooLargeError
from exactlearn.reporting.drawing import Drawing, decision_graph_drawing, network_drawing
from exactlearn.reporting.markup import MOST_ROWS, Markup, bar, facts, folded, quiet, table, tag
from exactlearn.reporting.page_content import STRENGTHS, PageContent
from exactlearn.reporting.plot import placed
from exactlearn.reporting.report import SIZES, probability
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

Named = Mapping[str, Sequence[str]]
"""Parents of each variable, by name."""


def network_section(found: PageContent) -> Any:
    """Return the network's picture, its conditional tables and its arcs."""
    if not found.parents:
        return None
    details = [] if found.network is None else list(_tables_of_boxes(found.network, found.parents))
    drawing = drawing_of(found, found.parents, found.reversible)
    text = f"Arrow: the parent points at the child. {legend(drawing, found.strength_key)}"
    text += " Hover, focus or tap a variable for its conditional probabilities." * bool(details)
    parts = [picture(drawing, "network", text, details)]
    arcs = [(p, v) for v, family in found.parents.items() for p in family]
    if not arcs:
        return [*parts, tag("p", "The network has no arcs.")]
    listed = arcs_table(arcs, found.support, found.reversible)
    return [*parts, folded(f"The {len(arcs)} arcs as a table", listed)]


def drawing_of(
    found: PageContent, parents: Named, reversible: Sequence[Sequence[str]] = ()
) -> Drawing:
    """Return the drawing of a network, its arcs as wide as their support."""
    place = {name: v for v, name in enumerate(parents)}
    strengths = {
        (place[p], place[v]): float(found.support[p, v][found.strength_key])
        for v, family in parents.items()
        for p in family
        if found.strength_key and (p, v) in found.support
    }
    families = [[place[p] for p in family] for family in parents.values()]
    return network_drawing(list(parents), families, reversible, strengths)


def legend(drawing: Drawing, strength_key: str = "") -> str:
    """Return what dashes, widths and bars of a network's picture mean."""
    lines = {
        "Dashed: an equivalent network has the arc the other way.": drawing.reversible,
        f"Width: {STRENGTHS.get(strength_key)}.": drawing.strengths,
        "Bars: posterior probabilities.": drawing.shares,
        "Yellow: observed.": drawing.observed,
    }
    return " ".join(line for line, there in lines.items() if there)


def arcs_table(
    arcs: Sequence[tuple[str, str]],
    support: Mapping[tuple[str, str], Mapping[str, float]] = MappingProxyType({}),
    reversible: Sequence[tuple[str, str]] = (),
) -> Markup:
    """Return the table of arcs by name, with what is known of their support."""
    keys = [key for key in SUPPORT if any(key in one for one in support.values())]
    rows = []
    for arc in arcs[:MOST_ROWS]:
        own = support.get(arc, {})
        shares = [bar(own[key], f"{own[key]:.3f}") if key in own else "" for key in keys]
        direction = "reversible" if arc in reversible else "compelled"
        rows.append([*arc, *[direction] * bool(reversible), *shares])
    head = ["parent", "child", *["direction"] * bool(reversible), *(SUPPORT[key] for key in keys)]
    return table(head, rows, total=len(arcs), class_="sortable")


def _tables_of_boxes(network: BayesianNetwork, names: Iterable[str]) -> Iterator[Markup]:
    """Yield the conditional table of each box, until there are too many probabilities."""
    left = MOST_PROBABILITIES
    for box, name in enumerate(names):
        if name not in network.names:
            continue
        full = network.tables[network.index(name)]
        left -= min(full.size, MOST_CONFIGURATIONS * full.shape[-1])
        cut = [tag("p", "Left out: the page has its limit.")]
        yield tag("template", cut if left < 0 else conditional_table(network, name), data_for=box)


def conditional_table(network: BayesianNetwork, name: str) -> list[Markup]:
    """Return the conditional probabilities of a variable with their title; a large table is cut."""
    v = network.index(name)
    states, given = network.states[v], [network.names[p] for p in network.parents[v]]
    full = np.asarray(network.tables[v]).reshape(-1, len(states))
    shown = full[:MOST_CONFIGURATIONS, :MOST_STATES]
    configurations = product(*(network.states[p] for p in network.parents[v]))
    rows = [
        [tag("th", state, scope="row") for state in configuration]
        + [tag("td", probability(p), style=f"--p:{100 * p:.0f}%", class_="p") for p in row]
        for configuration, row in zip(configurations, shown.tolist(), strict=False)
    ]
    (k, r), (n, m) = shown.shape, full.shape
    more = f"First {k} of {n} rows, {r} of {m} states." if (k, r) != (n, m) else ""
    title = f"P({name} | {', '.join(given)})" if given else f"P({name})"
    return [tag("h4", title), table([*given, *states[:MOST_STATES]], rows), quiet(more)]


def decision_graph_section(found: PageContent) -> Any:
    """Return the decision graph's sizes and picture."""
    record = found.record.get("decision_graph") or found.record
    sizes = facts(**{key: record.get(key) for key in SIZES})
    if found.graph is None:
        return sizes
    drawing = decision_graph_drawing(found.graph)
    text = (
        "Each box is a node: its variable and the probability of each state there. An arrow leads "
        "to the node of the next variable, by the states written on it; without a label by every "
        "state. The darker a box, the more rows reach it: hover for their share."
    )
    return [sizes, picture(drawing, "decision graph", text)]


def picture(drawing: Drawing, name: str, text: str, details: Sequence[Markup] = ()) -> Markup:
    """Return a picture with its controls and legend, and the details of its boxes beside it."""
    try:
        drawn = placed(drawing)
    except TooLargeError as error:
        return tag("p", f"No picture: {error}.", class_="note")
    attributes = f'role="group" aria-label="{name}"'
    svg = Markup(svg_element(drawn.size, attributes, svg_group(drawn)))
    names = f"names-{name.replace(' ', '-')}"
    options = dict.fromkeys(label.split("\n")[0] for label in drawing.labels)
    finder = [
        tag("label", "Find ", tag("input", list=names, type="search", class_="find")),
        tag("datalist", [tag("option", value=one) for one in options], id=names),
    ]
    signs = {"+": ("1.25", "Zoom in"), "\N{MINUS SIGN}": ("0.8", "Zoom out"), "Fit": ("0", "Fit")}
    buttons = [
        tag("button", sign, type="button", data_zoom=step, aria_label=title)
        for sign, (step, title) in signs.items()
    ]
    described = f"Picture: {name}; scroll with the arrow keys"
    panel = tag("div", class_="panel", aria_live="polite", hidden=True)
    parts = [
        tag("div", buttons, finder, class_="tools"),
        tag("div", svg, class_="canvas", tabindex=0, aria_label=described, role="region"),
        tag("aside", quiet(text), panel),
        details,
    ]
    return tag("div", parts, class_="picture")
