"""One HTML page on a result: the description of a record, and pictures of its models.

The page is one file: styles, script and pictures are in it, and it asks nothing of a network.
Without its script everything is there but the conditional tables on hover, zoom and sorting.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import isfinite
from shlex import join
from types import SimpleNamespace
from typing import Any

import numpy as np
from markupsafe import Markup

from exactlearn._runtime.variable_arguments import parents_by_index
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.counts import missingness_patterns
from exactlearn.data.dataset import Dataset
from exactlearn.data.labels import are_bins
from exactlearn.errors import TooLargeError
from exactlearn.graphs.dag import named_parents
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.reporting.description import (
    Section,
    Table,
    describe,
    probability,
)
from exactlearn.reporting.drawing import (
    Drawing,
    decision_graph_drawing,
    network_drawing,
    with_posteriors,
)
from exactlearn.reporting.placed_drawing import placed
from exactlearn.reporting.svg_picture import PIXELS, svg_group
from exactlearn.reporting.templates import macros, rendered

MAX_ROWS = 500
"""Most rows of a table of the page."""

MAX_VARIABLES = 200
MAX_STATES = 6
MAX_PATTERNS = 20
MAX_COLUMNS = 40
"""Most variables that are listed, states of one, missingness patterns, and their variables."""

MAX_CONFIGURATIONS = 48
MAX_WIDTH = 12
MAX_PROBABILITIES = 25_000
"""Most rows and columns of a conditional table, and most probabilities of all of them."""

STRENGTHS = {
    "edge_strength": "share of bootstrap samples with the edge",
    "adjacency_probability": "probability of the edge, over all networks",
    "adjacency_weight": "weight of the listed networks with the edge",
}
"""Keys of an arc's support that its width may show, and their meanings."""

HEADROOM = 1.5
"""Most height over the scores and the last bound in a picture, as a multiple of theirs."""

OF_PROBABILITY = (
    "The probability is that of exactly this network among all that the options allow, given the "
    "rows; that of the class is of all networks that state the same independences. Both rest on "
    "the score and the prior, and assume that no common cause is hidden."
)

OF_GRAPHS = (
    "Each box is a node: its variable and the probability of each state there. An arrow leads to "
    "the node of the next variable, by the states written on it; without a label by every state. "
    "The darker a box, the more rows reach it: hover for their share."
)

HOVER = " Hover, tap or focus a variable (Tab, then arrow keys) for its probabilities."


@dataclass(frozen=True)
class PageContent:
    """The content of a page; what is ``None`` or empty is left out.

    Parameters
    ----------
    title
        Heading of the page.
    record
        The JSON record of a command.
    data
        The table as it was read.
    network, graph
        The models.
    trace
        Seconds, score and bound at each improvement.
    notes
        What could not be read, and why.
    """

    title: str
    record: Mapping[str, Any] = field(default_factory=dict)
    data: Dataset | None = None
    network: BayesianNetwork | None = None
    graph: DecisionGraph | None = None
    trace: Sequence[tuple[float, float, float]] = ()
    notes: Sequence[str] = ()

    @cached_property
    def parents(self) -> dict[str, list[str]]:
        """Parents of each variable by name: those of the record, or else of the network."""
        parents = self.record.get("parents")
        if isinstance(parents, dict) and parents:
            return parents
        network = self.network
        return {} if network is None else named_parents(network.names, network.parents)

    @cached_property
    def strengths(self) -> tuple[str, dict[frozenset[str], float]]:
        """The meaning of the arcs' widths, and the strength of each edge; empty without any."""
        bootstrap = self.record.get("bootstrap")
        arcs = bootstrap.get("arcs") if isinstance(bootstrap, dict) else None
        arcs = arcs or self.record.get("support") or ()
        measured = [key for key in STRENGTHS if arcs and key in arcs[0]]
        if not measured:
            return "", {}
        key = measured[0]
        # The strength of an edge is that of both directions together.
        edges = {}
        for arc in arcs:
            edge = frozenset((arc["parent"], arc["child"]))
            edges[edge] = arc[key]
        return STRENGTHS[key], edges


def parts() -> Any:
    """Return the macros of ``parts.html``: tables, facts, pictures."""
    return macros("parts.html")


def page(content: PageContent) -> str:
    """Return the page.

    Examples
    --------
    >>> text = page(PageContent("Two <b>", record={"status": "optimal", "reason": "<b>"}))
    >>> text.count("&lt;b&gt;"), "<b>" in text
    (3, False)
    """
    # Sections may share a title, and no id.
    sections: dict[str, tuple[str, Markup]] = {}
    for title, body in _sections(content):
        if not body:
            continue
        name = title.lower().replace(" ", "-")
        if name in sections:
            name = f"{name}-{len(sections)}"
        sections[name] = (title, body)
    text = rendered(
        "page.html",
        title=content.title,
        notes=content.notes,
        sections=sections.items(),
    )
    return text + "\n"


def _sections(content: PageContent) -> Iterator[tuple[str, Markup]]:
    """Yield titles and bodies: the described record, pictures where they belong."""
    record = content.record
    # First the answer with its pictures, then the parts of the record in their order.
    top, *below = describe(record, max_rows=MAX_ROWS)
    if "class_probability" in record:
        top.texts.append(OF_PROBABILITY)
    if content.parents:
        yield "Network", _network(content, below)
    if record:
        yield "Summary", parts().section(top)
    if content.data is not None:
        yield "Data", data_tables(content.data)
    if isinstance(record.get("posterior"), dict):
        yield "Posterior", _answer(content, record, "posterior")
    # A graph that no part of the record tells of has a section of its own.
    has_graph = any(section.title == "Decision graph" for section in below)
    if content.graph is not None and not has_graph:
        below.append(Section(key="decision_graph", title="Decision graph"))
    for position, section in enumerate(below):
        # The section of the network stands with its picture.
        if section.key != "network" or not content.parents:
            yield section.title, _with_picture(content, section, position)
    yield "Search", _search(content)
    yield "How it was made", _provenance(record.get("made_by"))


def _with_picture(
    content: PageContent,
    section: Section,
    position: int,
) -> Markup:
    """Return the body of a section, with the picture of its model beside it."""
    body: Markup = parts().section(section)
    match section.key:
        case "bootstrap.averaged":
            drawing = _drawing(content, section.record["parents"], None)
            text = _arrows(content, drawing)
            return _picture(drawing, "averaged network", text) + body
        case "decision_graph" if content.graph is not None:
            drawing = decision_graph_drawing(content.graph)
            return body + _picture(drawing, "decision graph", OF_GRAPHS)
        case "steps" if isinstance(section.record.get("posterior"), dict):
            return _answer(content, section.record, f"answer {position}") + body
    return body


def _network(content: PageContent, below: Sequence[Section]) -> Markup:
    """Return the network's picture, its conditional tables, and the account of its parameters."""
    tables: list[tuple[int, Any]] = []
    if content.network is not None:
        tables = [*_tables_of_boxes(content.network, content.parents)]
    drawing = _drawing(content, content.parents, content.record.get("reversible"))
    text = _arrows(content, drawing) + HOVER * bool(tables)
    parameters = [section for section in below if section.key == "network"]
    bodies = map(parts().section, parameters)
    return _picture(drawing, "network", text, tables) + Markup("").join(bodies)


def _drawing(
    content: PageContent,
    parents: Mapping[str, Sequence[str]],
    reversible: Sequence[Sequence[str]] | None,
) -> Drawing:
    """Return the drawing of a network, its arcs as wide as their support."""
    names = list(parents)
    families = parents_by_index(parents, "parents", names)
    drawing = network_drawing(names, families, reversible)
    # Arcs are drawn as wide as the bootstrap or the listed networks support them.
    _, support = content.strengths
    strengths = {}
    for tail, head in drawing.arcs:
        edge = frozenset((names[tail], names[head]))
        if edge in support:
            strengths[tail, head] = float(support[edge])
    return replace(drawing, strengths=strengths)


def _arrows(content: PageContent, drawing: Drawing) -> str:
    """Return the legend of a network picture with its arrows."""
    meaning, _ = content.strengths
    return f"Arrow: the parent points at the child. {legend(drawing, meaning)}"


def legend(drawing: Drawing, width: str = "") -> str:
    """Return the legend of a network picture: dashes, widths and bars.

    Parameters
    ----------
    drawing
        The picture.
    width
        The meaning of the arcs' widths.
    """
    lines = {
        "Dashed: an equivalent network has the arc the other way.": drawing.reversible,
        f"Width: {width}.": drawing.strengths,
        "Bars: posterior probabilities.": drawing.bars,
        "Yellow: observed or set.": drawing.observed,
    }
    return " ".join(line for line, marked in lines.items() if marked)


def _answer(
    content: PageContent,
    answer: Mapping[str, Any],
    name: str,
) -> Markup:
    """Return the posteriors in the picture of the network, where there is one."""
    if not content.parents:
        return Markup("")
    states = {**(answer.get("evidence") or {}), **(answer.get("do") or {})}
    observed = {}
    for variable, state in states.items():
        observed[variable] = {str(state): 1.0}
    names = list(content.parents)
    families = parents_by_index(content.parents, "parents", names)
    plain = network_drawing(names, families)
    drawing = with_posteriors(plain, answer["posterior"], observed)
    return _picture(drawing, name, legend(drawing))


def _picture(
    drawing: Drawing,
    name: str,
    text: str,
    tables: Sequence[Any] = (),
) -> Markup:
    """Return a picture with its controls and legend, and the tables of its boxes beside it."""
    try:
        drawn = placed(drawing)
    except TooLargeError as error:
        return Markup('<p class="note">No picture: {}.</p>').format(error)
    # Boxes are found by the first line of their texts.
    first_lines = [label.partition("\n")[0] for label in drawing.labels]
    picture: Markup = parts().picture(
        name,
        drawn.size,
        svg_group(drawn),
        PIXELS,
        text,
        list(dict.fromkeys(first_lines)),
        tables,
    )
    return picture


def _tables_of_boxes(
    network: BayesianNetwork,
    names: Mapping[str, Any],
) -> Iterator[tuple[int, Any]]:
    """Yield the conditional table of each box, until there are too many probabilities."""
    # A table counts as it is shown: the page stays small, whatever the network's size.
    left = MAX_PROBABILITIES
    for box, name in enumerate(names):
        if name not in network.names:
            continue
        table = network.tables[network.index(name)]
        n_states = table.shape[-1]
        left -= min(table.size, MAX_CONFIGURATIONS * n_states)
        if left >= 0:
            yield box, conditional_table(network, name)


def conditional_table(network: BayesianNetwork, name: str) -> SimpleNamespace:
    """Return title and table of the conditional probabilities of a variable; a large one is cut."""
    v = network.index(name)
    states = network.states[v]
    parents = network.parents[v]
    given = [network.names[parent] for parent in parents]
    table = np.reshape(network.tables[v], (-1, len(states)))
    shown = table[:MAX_CONFIGURATIONS, :MAX_WIDTH]
    # The last parent varies fastest, as in the table.
    configurations = product(*(network.states[parent] for parent in parents))
    rows = []
    for configuration, row in zip(configurations, shown.tolist(), strict=False):
        rows.append([*configuration, *map(probability, row)])
    head = [*given, *states[:MAX_WIDTH]]
    return SimpleNamespace(
        name=name,
        given=given,
        table=Table(head=head, rows=rows, shaded=True),
        shown=shown.shape,
        total=table.shape,
    )


def data_tables(data: Dataset, limit: int = MAX_VARIABLES) -> Markup:
    """Return types, states, rare states and missing cells of a table, of its first variables."""
    n_shown = min(data.n_variables, limit)
    rows = [_variable_row(data, v) for v in range(n_shown)]
    size = {"rows": str(data.n_rows), "variables": str(data.n_variables)}
    patterns = Markup("")
    if not data.complete_rows.all():
        size["missing cells"] = str(len(data.missing_cells))
        patterns = _patterns(data)
    variables = parts().variables(rows, data.n_variables, MAX_STATES)
    content: Markup = parts().facts(size) + variables + patterns
    return content


def _variable_row(data: Dataset, v: int) -> SimpleNamespace:
    """Return states of a variable, their counts and proportions, and that of missing cells."""
    states = data.states[v]
    # The code of a missing cell is -1, so that its weight comes first.
    places = data.codes[:, v] + 1
    weights = np.bincount(places, data.row_weights, len(states) + 1)
    missing = weights[0]
    counts = weights[1:]
    return SimpleNamespace(
        name=data.names[v],
        states=states,
        are_bins=are_bins(states),
        counts=counts,
        proportions=counts / max(counts.sum(), 1e-300),
        rarest=int(np.argmin(counts)),
        missing=float(missing / max(weights.sum(), 1e-300)),
    )


def _patterns(data: Dataset) -> Markup:
    """Return the most frequent patterns of missing cells, of the variables that miss most."""
    missing, weights = missingness_patterns(data)
    # The variables that miss most cells, in the order of the table.
    order = np.argsort(-(weights @ missing), kind="stable")
    columns = np.sort(order[:MAX_COLUMNS])
    patterns: Markup = parts().patterns(
        names=[data.names[v] for v in columns],
        missing=missing[:MAX_PATTERNS, columns].tolist(),
        weights=weights.tolist(),
        complete=weights[~missing.any(axis=1)].sum(),
        total=weights.sum(),
        n_variables=data.n_variables,
    )
    return patterns


def _search(content: PageContent) -> Markup:
    """Return score and bound over time as a step line each; nothing without any.

    The first bounds, which are far from what follows, are drawn at the upper edge.
    """
    points = [point for point in content.trace if any(map(isfinite, point[1:]))]
    if not points:
        return Markup("")
    # Both lines are drawn to the end of the search.
    last, *figures = points[-1]
    seconds = float(content.record.get("seconds") or 0.0)
    end = max(last, seconds)
    scores: list[tuple[float, float]] = []
    bounds: list[tuple[float, float]] = []
    for time, score, bound in (*points, (end, *figures)):
        if isfinite(score):
            scores.append((time, score))
        if isfinite(bound):
            bounds.append((time, bound))
    low, high = shown_range([y for _, y in scores], [y for _, y in bounds])
    picture: Markup = parts().trace(
        scores,
        bounds,
        low,
        high,
        end,
        points[:MAX_ROWS],
        len(points),
    )
    return picture


def shown_range(
    scores: Sequence[float],
    bounds: Sequence[float],
) -> tuple[float, float]:
    """Return the ends of a figure's axis: bounds far above all else are beyond it.

    Examples
    --------
    >>> shown_range([-100.0, -98.0, -98.0], [0.0, -97.0, -98.0])
    (-100.0, -95.0)
    """
    values = [*scores, *bounds]
    low = min(values)
    high = max(values)
    reached = max([*scores, *bounds[-1:]])
    height = reached - low
    if height > 0:
        high = min(high, reached + HEADROOM * height)
    return low, high


def _provenance(made_by: Mapping[str, Any] | None) -> Markup:
    """Return the command that made a record, and the account of what it read."""
    if not made_by:
        return Markup("")
    account = dict(made_by)
    words = join(account.pop("command", ()))
    command = Markup("<pre><code>{}</code></pre>").format(words)
    sections = describe(account, max_rows=MAX_ROWS)
    return command + Markup("").join(map(parts().section, sections))
