"""One HTML page on what was found: the description of a record, and pictures of what it tells.

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

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.counts import missingness_patterns
from exactlearn.data.dataset import Dataset
from exactlearn.data.labels import are_bins
from exactlearn.errors import TooLargeError
from exactlearn.graphs.dag import named_parents
from exactlearn.graphs.orientation import reversible_arcs
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.reporting.description import (
    Section,
    Share,
    Table,
    describe,
    number,
    probability,
)
from exactlearn.reporting.drawing import (
    Drawing,
    decision_graph_drawing,
    network_drawing,
    with_posteriors,
)
from exactlearn.reporting.placed_drawing import placed
from exactlearn.reporting.records import named_arcs
from exactlearn.reporting.svg_picture import PIXELS, svg_group
from exactlearn.reporting.templates import macros, rendered

MOST_ROWS = 500
"""Most rows of a table of the page."""

MOST_VARIABLES = 200
MOST_STATES = 6
MOST_PATTERNS = 20
MOST_COLUMNS = 40
"""Most variables that are listed, states of one, missingness patterns, and their variables."""

MOST_CONFIGURATIONS = 48
WIDEST = 12
MOST_PROBABILITIES = 25_000
"""Most rows and columns of a conditional table, and most probabilities of all of them."""

STRENGTHS = {
    "edge_strength": "share of bootstrap samples with the edge",
    "adjacency_weight": "weight of the listed networks with the edge",
}
"""Keys of an arc's support that its width may show, and what they are."""

HEADROOM = 1.5
"""Most height over the scores and the last bound in a picture, as a multiple of theirs."""

OF_GRAPHS = (
    "Each box is a node: its variable and the probability of each state there. An arrow leads to "
    "the node of the next variable, by the states written on it; without a label by every state. "
    "The darker a box, the more rows reach it: hover for their share."
)


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
    def reversible(self) -> list[tuple[str, str]]:
        """The arcs that equivalent networks reverse: those of the record, or else all of them."""
        arcs = self.record.get("reversible")
        if arcs is None:
            arcs = _reversible(self.parents)
        return [(a, b) for a, b in arcs]

    @cached_property
    def strengths(self) -> tuple[str, dict[tuple[str, str], float]]:
        """What the width of arcs shows, and it for each arc; nothing where nothing is known."""
        bootstrap = self.record.get("bootstrap")
        known = bootstrap.get("arcs") if isinstance(bootstrap, dict) else None
        known = known or self.record.get("support") or ()
        key = next((key for key in STRENGTHS if known and key in known[0]), "")
        if not key:
            return "", {}
        both = {(one["child"], one["parent"]): float(one[key]) for one in known}
        return STRENGTHS[key], {
            **both,
            **{arc[::-1]: share for arc, share in both.items()},
        }


def parts() -> Any:
    """Return the macros of ``parts.html``: tables, facts, pictures."""
    return macros("parts.html")


def page(found: PageContent) -> str:
    """Return the page.

    Examples
    --------
    >>> text = page(PageContent("Two <b>", record={"status": "optimal", "reason": "<b>"}))
    >>> text.count("&lt;b&gt;"), "<b>" in text
    (3, False)
    """
    made = [(title, own) for title, own in _sections(found) if own]
    ids = [f"{title.lower().replace(' ', '-')}" for title, _ in made]
    ids = [f"{id_}-{k}" if id_ in ids[:k] else id_ for k, id_ in enumerate(ids)]
    sections = [(id_, *one) for id_, one in zip(ids, made, strict=True)]
    text = rendered(
        "page.html", title=found.title, notes=found.notes, sections=sections
    )
    return text + "\n"


def _sections(found: PageContent) -> Iterator[tuple[str, Markup]]:
    """Yield titles and contents: the described record, pictures where they belong."""
    first, *others = describe(found.record, most=MOST_ROWS)
    if found.parents:
        yield "Network", _network(found, others)
    yield "Summary", parts().section(first) if found.record else Markup("")
    if found.data is not None:
        yield "Data", data_tables(found.data)
    if isinstance(found.record.get("posterior"), dict):
        yield "Posterior", _answer(found, found.record, "posterior")
    if found.graph is not None and "Decision graph" not in [
        one.title for one in others
    ]:
        others.append(Section(key="decision_graph", title="Decision graph"))
    for k, section in enumerate(others):
        if section.key == "network" and found.parents:
            continue  # shown with the picture
        content = parts().section(section)
        if section.key == "bootstrap.averaged" and section.record:
            drawing = _drawing(found, section.record, _reversible(section.record))
            content = (
                _picture(drawing, "averaged network", _arrows(found, drawing)) + content
            )
        if section.key == "decision_graph" and found.graph is not None:
            drawing = decision_graph_drawing(found.graph)
            content += _picture(drawing, "decision graph", OF_GRAPHS)
        if section.key == "steps" and isinstance(section.record.get("posterior"), dict):
            content = _answer(found, section.record, f"answer {k}") + content
        yield section.title, content
    if points := [p for p in found.trace if isfinite(p[1]) or isfinite(p[2])]:
        yield "Search", _trace(points, float(found.record.get("seconds") or 0.0))
    if made_by := found.record.get("made_by"):
        command = Markup("<pre><code>{}</code></pre>").format(
            join(made_by.get("command", ()))
        )
        told = describe(
            {k: v for k, v in made_by.items() if k != "command"}, most=MOST_ROWS
        )
        yield "How it was made", command + Markup("").join(map(parts().section, told))


def _network(found: PageContent, others: Sequence[Section]) -> Markup:
    """Return the network's picture, its conditional tables, and how its parameters were found."""
    tables = (
        []
        if found.network is None
        else list(_tables_of_boxes(found.network, found.parents))
    )
    drawing = _drawing(found, found.parents, found.reversible)
    text = _arrows(found, drawing)
    text += (
        " Hover, tap or focus a variable (Tab, then arrow keys) for its probabilities."
        * bool(tables)
    )
    content = _picture(drawing, "network", text, tables)
    own = [section for section in others if section.key == "network"]
    return content + Markup("").join(map(parts().section, own))


def _drawing(
    found: PageContent,
    parents: Mapping[str, Sequence[str]],
    reversible: Sequence[Sequence[str]],
) -> Drawing:
    """Return the drawing of a network, its arcs as wide as their support."""
    names = list(parents)
    drawing = network_drawing(names, _families(parents), reversible)
    support = found.strengths[1]
    arcs = {arc: (names[arc[0]], names[arc[1]]) for arc in drawing.arcs}
    strengths = {arc: support[ends] for arc, ends in arcs.items() if ends in support}
    return replace(drawing, strengths=strengths)


def _arrows(found: PageContent, drawing: Drawing) -> str:
    return (
        f"Arrow: the parent points at the child. {legend(drawing, found.strengths[0])}"
    )


def _reversible(parents: Mapping[str, Sequence[str]]) -> list[list[str]]:
    return named_arcs(list(parents), reversible_arcs(_families(parents)))


def legend(drawing: Drawing, width: str = "") -> str:
    """Return what dashes, widths and bars of a network's picture mean."""
    lines = {
        "Dashed: an equivalent network has the arc the other way.": drawing.reversible,
        f"Width: {width}.": drawing.strengths,
        "Bars: posterior probabilities.": drawing.shares,
        "Yellow: observed.": drawing.observed,
    }
    return " ".join(line for line, there in lines.items() if there)


def _answer(found: PageContent, answer: Mapping[str, Any], name: str) -> Markup:
    """Return the posteriors in the picture of the network, where there is one."""
    if not found.parents:
        return Markup("")
    known = answer.get("evidence") or {}
    observed = {variable: {str(state): 1.0} for variable, state in known.items()}
    plain = network_drawing(list(found.parents), _families(found.parents))
    drawing = with_posteriors(plain, answer["posterior"], observed)
    return _picture(drawing, name, legend(drawing))


def _families(parents: Mapping[str, Sequence[str]]) -> list[list[int]]:
    place = {name: v for v, name in enumerate(parents)}
    return [[place[p] for p in family] for family in parents.values()]


def _picture(
    drawing: Drawing, name: str, text: str, tables: Sequence[Any] = ()
) -> Markup:
    """Return a picture with its controls and legend, and the tables of its boxes beside it."""
    try:
        drawn = placed(drawing)
    except TooLargeError as error:
        return Markup('<p class="note">No picture: {}.</p>').format(error)
    labels = dict.fromkeys(label.split("\n")[0] for label in drawing.labels)
    picture: Markup = parts().picture(
        name, drawn.size, svg_group(drawn), PIXELS, text, list(labels), tables
    )
    return picture


def _tables_of_boxes(network: BayesianNetwork, names: Any) -> Iterator[tuple[int, Any]]:
    """Yield the conditional table of each box, until there are too many probabilities."""
    left = MOST_PROBABILITIES
    for box, name in enumerate(names):
        if name not in network.names:
            continue
        full = network.tables[network.index(name)]
        left -= min(full.size, MOST_CONFIGURATIONS * full.shape[-1])
        if left >= 0:
            yield box, conditional_table(network, name)


def conditional_table(network: BayesianNetwork, name: str) -> SimpleNamespace:
    """Return title and table of the conditional probabilities of a variable; a large one is cut."""
    v = network.index(name)
    states = network.states[v]
    given = [network.names[p] for p in network.parents[v]]
    full = np.asarray(network.tables[v]).reshape(-1, len(states))
    shown = full[:MOST_CONFIGURATIONS, :WIDEST]
    configurations = product(*(network.states[p] for p in network.parents[v]))
    rows = [
        [*configuration, *map(probability, row)]
        for configuration, row in zip(configurations, shown.tolist(), strict=False)
    ]
    (k, r), (n, m) = shown.shape, full.shape
    return SimpleNamespace(
        title=f"P({name} | {', '.join(given)})" if given else f"P({name})",
        table=Table(head=[*given, *states[:WIDEST]], rows=rows, shaded=True),
        more=f"First {k} of {n} rows, {r} of {m} states." if (k, r) != (n, m) else "",
    )


def data_tables(data: Dataset, most: int = MOST_VARIABLES) -> Markup:
    """Return types, states, rare states and missing cells of a table, of its first variables."""
    rows = [_variable_row(data, v) for v in range(min(data.n_variables, most))]
    head = ("variable", "type", "states", "shares", "rarest", "missing")
    table = Table(
        head=head, rows=rows, right=frozenset({"states"}), total=data.n_variables
    )
    is_whole = data.complete_rows.all()
    size = {"rows": str(data.n_rows), "variables": str(data.n_variables)}
    if not is_whole:
        size["missing cells"] = str(len(data.missing_cells))
    patterns = Markup("") if is_whole else parts().patterns(_patterns(data))
    content: Markup = parts().facts(size) + parts().table(table) + patterns
    return content


def _variable_row(data: Dataset, v: int) -> list[str]:
    states = data.states[v]
    weights = np.bincount(data.codes[:, v] + 1, data.row_weights, len(states) + 1)
    counts = weights[1:]  # code -1 is missing
    missing = float(weights[0] / max(weights.sum(), 1e-300))
    shares = (counts / max(counts.sum(), 1e-300))[:MOST_STATES].tolist()
    listed = [
        f"{state}: {100 * p:.3g}\N{NO-BREAK SPACE}%"
        for state, p in zip(states, shares, strict=False)
    ]
    listed += [f"{len(states) - MOST_STATES} more"] * (len(states) > MOST_STATES)
    least = int(np.argmin(counts))
    return [
        data.names[v],
        "constant"
        if len(states) < 2
        else "bins of a number"
        if are_bins(states)
        else "states",
        str(len(states)),
        ", ".join(listed),
        f"{states[least]}: {counts[least]:.6g} {'row' if counts[least] == 1 else 'rows'}",
        Share(f"{100 * missing:.3g} %", missing) if missing else "none",
    ]


def _patterns(data: Dataset) -> SimpleNamespace:
    """Return the most frequent patterns of missing cells."""
    missing, weights = missingness_patterns(data)
    total = weights.sum()
    complete = weights[~missing.any(axis=1)].sum()
    shown = np.sort(np.argsort(-(weights @ missing), kind="stable")[:MOST_COLUMNS])
    rows = [
        (row, Share(f"{weight:.6g} ({100 * weight / total:.3g} %)", weight / total))
        for row, weight in zip(
            missing[:MOST_PATTERNS, shown].tolist(), weights, strict=False
        )
    ]
    text = (
        f"{len(weights)} patterns of missing cells; {complete:.6g} of {total:.6g} rows are "
        "complete. Filled: missing."
    )
    if len(weights) > len(rows) or data.n_variables > len(shown):
        text += f" Shown: the {len(rows)} most frequent, {len(shown)} variables."
    return SimpleNamespace(text=text, names=[data.names[v] for v in shown], rows=rows)


def _trace(points: Sequence[tuple[float, float, float]], seconds: float) -> Markup:
    """Return score and bound over time as a step line each.

    The first bounds, which are far from what follows, are drawn at the upper edge.
    """
    end = max(points[-1][0], seconds)
    drawn = [*points, (end, *points[-1][1:])]
    low, high = shown_range(drawn)

    def line(k: int) -> str:
        steps = [
            f"H{10 + 620 * p[0] / (end or 1.0):.1f}"
            f"V{220 - 204 * (min(p[k], high) - low) / (high - low or 1.0):.1f}"
            for p in drawn
            if isfinite(p[k])
        ]
        return "".join(steps).replace("H", "M", 1).replace("V", ",", 1)

    bounds = [bound for _, _, bound in drawn if isfinite(bound)]
    texts = [
        (10, 12, "start", f"{high:.6g}"),
        (10, 236, "start", "0 s"),
        (630, 236, "end", f"{end:.3g} s"),
        (10, 216, "start", f"{low:.6g}"),
    ]
    if bounds and bounds[0] > high:
        texts.append((630, 12, "end", f"the bound begins at {bounds[0]:.6g}"))
    head = ("seconds", "score", "bound")
    rows = [
        [number(t, 2), number(score), number(bound)]
        for t, score, bound in points[:MOST_ROWS]
    ]
    table = Table(head=head, rows=rows, right=frozenset(head), total=len(points))
    picture: Markup = parts().trace(
        SimpleNamespace(
            end=f"{end:.3g}", score=line(1), bound=line(2), texts=texts, table=table
        )
    )
    return picture


def shown_range(points: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """Return the least and the greatest value that a figure shows: not bounds far above all else.

    Examples
    --------
    >>> shown_range([(1.0, -100.0, 0.0), (2.0, -98.0, -97.0), (3.0, -98.0, -98.0)])
    (-100.0, -95.0)
    """
    scores, bounds = ([p[k] for p in points if isfinite(p[k])] for k in (1, 2))
    low, high = (of([*scores, *bounds], default=0.0) for of in (min, max))
    reached = max([*scores, *bounds[-1:]], default=high)
    return low, min(
        high, reached + HEADROOM * (reached - low)
    ) if reached > low else high
