"""Views of objects in notebooks: HTML that stands alone, and SVG of graphs.

:class:`exactlearn._runtime.display.Displayed` calls :func:`html` and :func:`svg`. A view has the
figures of the object's ``repr``, the picture of its graph and what :func:`_details` knows of its
class. Colours are those of the notebook, mixed with grey, so that they fit light and dark themes.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import compress
from typing import Any

from exactlearn._runtime.ascent import EMResult
from exactlearn._runtime.display import Displayed
from exactlearn.augmentation.ranking import Ranking
from exactlearn.augmentation.result import Augmentation
from exactlearn.bayesnet.deletion import DeletionFit
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.errors import OptionError, TooLargeError
from exactlearn.evaluation.bootstrap import ArcStrengths
from exactlearn.graphs.equivalence import Arc, PartiallyDirectedGraph
from exactlearn.graphs.named_graph import NamedGraph
from exactlearn.graphs.orientation import reversible_arcs
from exactlearn.imputation.imputed import Imputed
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.posteriors import Answer
from exactlearn.reporting.drawing import (
    Drawing,
    decision_graph_drawing,
    network_drawing,
    structure_drawing,
)
from exactlearn.reporting.markup import (
    MOST_ROWS,
    Markup,
    asset,
    bar,
    folded,
    posterior_table,
    quiet,
    table,
    tag,
)
from exactlearn.reporting.page_data import state_counts
from exactlearn.reporting.plot import draw
from exactlearn.reporting.report import named_arcs
from exactlearn.solvers.certificates.certificate import Certificate
from exactlearn.solvers.enumeration.networks import Enumeration
from exactlearn.solvers.result import Result
from exactlearn.structure.equivalence_search import EquivalenceSearch
from exactlearn.structure.learning import LearnedNetwork
from exactlearn.structure.result import StructuralEM

HEAD, MOST_VARIABLES, MOST_STATES = 5, 30, 6
"""Most rows, variables and states of a variable that the view of a table shows."""

MOST_TABLES, MOST_CONFIGURATIONS = 40, 64
"""Most variables of a network whose tables are shown, and most rows of such a table."""

SMALLEST = 0.6
"""How far a picture shrinks on a narrow screen before it scrolls."""


def html(value: Displayed) -> str | None:
    """Return the view of an object as HTML; nothing where ``repr`` says all.

    Examples
    --------
    >>> import numpy as np
    >>> network = BayesianNetwork(("a",), (("<1", ">=1"),), ((),), (np.array([0.5, 0.5]),))
    >>> "&lt;1" in html(network), "<svg" in html(network)
    (True, True)
    """
    parts = [*_picture(value), *_details(value)]
    if not parts:
        return None
    figures = [
        [tag("span", tag("i", name.replace("_", " ")), " ", text.strip("'")), " "]
        for name, text in value._figures.items()
        if not text.startswith(("BayesianNetwork(", "Dataset("))
    ]
    head = tag("div", tag("b", type(value).__name__), " ", figures, class_="head")
    return tag("div", tag("style", asset("notebook.css")), head, parts, class_="exactlearn")


def svg(value: Displayed) -> str | None:
    """Return the picture of an object's graph; nothing without one, or of too many boxes."""
    drawing = _drawing(value)
    return None if drawing is None else _drawn(drawing)


@lru_cache(maxsize=8)
def _drawn(drawing: Drawing) -> Markup | None:
    try:
        text = draw(drawing, ".svg").decode()
    except TooLargeError:
        return None
    width = re.search(r'width="(\d+)', text)
    least = f"min-width:{SMALLEST * int(width[1]):.0f}px;" if width else ""
    return Markup(text.replace("<svg", f'<svg style="{least}max-width:100%;height:auto"', 1))


def _drawing(value: Any) -> Drawing | None:
    """Return the drawing of an object's graph, if it has one."""
    match value:
        case NamedGraph():
            return structure_drawing(value)
        case DecisionGraph():
            return decision_graph_drawing(value)
        case BayesianNetwork():
            return _marked_drawing(value.names, value.parents)
        case EMResult() | DeletionFit():
            return _drawing(value.model)
        case Certificate():
            return _marked_drawing(value.variables, value.parents)
        case StructuralEM() | Imputed():
            return _drawing(value.network)
        case LearnedNetwork():
            return network_drawing(value.names, value.parents, value.reversible)
        case Result() | Augmentation() | EquivalenceSearch() if value.parents:
            return _marked_drawing(value.names or _numbers(len(value.parents)), value.parents)
        case ArcStrengths():
            parents = value.averaged().parents
            shares = {
                (p, v): float(value.edges[p, v]) for v, own in enumerate(parents) for p in own
            }
            return _marked_drawing(value.names, parents, shares)
        case PartiallyDirectedGraph():
            names, both = _numbers(value.n_variables), (value.directed, value.undirected)
            arcs, edges = ([(names[a], names[b]) for a, b in links] for links in both)
            with suppress(OptionError):  # a graph that is neither a pattern nor a CPDAG
                return structure_drawing(NamedGraph.linked(names, arcs, edges))
    return None


def _numbers(n: int) -> tuple[str, ...]:
    return tuple(map(str, range(n)))


def _marked_drawing(
    names: Sequence[str],
    parents: Sequence[Sequence[int]],
    strengths: Mapping[Arc, float] | None = None,
) -> Drawing:
    reversible = named_arcs(names, reversible_arcs(parents))
    return network_drawing(names, parents, reversible, strengths)


def _picture(value: Displayed) -> Iterable[Markup]:
    """Yield the picture of an object's graph, or what stands for it where there is none."""
    drawing = _drawing(value)
    if drawing is None:
        return
    if (drawn := _drawn(drawing)) is None:
        arcs = [[drawing.labels[a], drawing.labels[b]] for a, b in drawing.arcs]
        yield quiet(f"no picture: {len(drawing.labels)} boxes, {len(arcs)} arcs are too many")
        yield folded("The arcs", table(["from", "to"], arcs[:MOST_ROWS], total=len(arcs)))
        return
    yield tag("div", drawn, class_="wide")
    legend = [
        *["dashed: a Markov equivalent network has the arc the other way"]
        * bool(drawing.reversible),
        *["width: the share of samples with an arc between the two"] * bool(drawing.strengths),
    ]
    yield quiet("; ".join(legend))


def _details(value: Any) -> list[Any]:
    """Return what is shown of an object beside figures and picture."""
    match value:
        case Dataset():
            return _of_dataset(value)
        case BayesianNetwork():
            return _of_network(value)
        case EMResult() | DeletionFit():
            return _details(value.model)
        case Certificate():
            return _of_certificate(value)
        case MissingnessGraph():
            return [tag("p", tag("code", line)) for line in value.statements]
        case Ranking():
            return [_of_ranking(value.solutions)]
        case Enumeration():
            return [_of_ranking(value.networks)]
        case ArcStrengths():
            return [_of_strengths(value)]
        case Answer():
            evidence = f"{value.probability_of_evidence:.6g}"
            label = tag("i", "probability of the evidence")
            return [posterior_table(value.posterior), tag("p", label, " ", evidence)]
        case LearnedNetwork():
            left = [f"{name}: {why}" for name, why in value.left_out.items()]
            return [
                *(tag("p", line) for line in (value.reason, *left)),
                folded(repr(value.dataset), _of_dataset(value.dataset)),
                *_of_network(value.network),
            ]
    said = getattr(value, "reason", "") or getattr(value, "message", "")
    return [tag("p", said)] if said else []


def _of_network(value: BayesianNetwork) -> list[Markup]:
    small = [own.size <= MOST_CONFIGURATIONS * own.shape[-1] for own in value.tables]
    if value.n_variables > MOST_TABLES or not any(small):
        return []
    shown = [
        _frame(value.table(name), float_format="{:.4g}".format)
        for name in compress(value.names, small)
    ]
    return [folded("Conditional probability tables", shown)]


def _of_certificate(value: Certificate) -> list[Markup]:
    rules = ", ".join(value.described_restrictions())
    checks = tag("code", "certificate.check(scores)"), ", or the command ", tag("code", "verify")
    return [
        tag("p", tag("i", "digest"), " ", tag("code", value.digest)),
        *[tag("p", tag("i", "restrictions"), " ", rules)] * bool(rules),
        tag("p", "not checked here: ", checks, class_="quiet"),
    ]


def _of_ranking(found: Sequence[Any]) -> Markup:
    rows = [
        [k, f"{one.score:.6g}", f"{found[0].score - one.score:.4g}", sum(map(len, one.parents))]
        for k, one in enumerate(found[:MOST_VARIABLES], 1)
    ]
    return table(("rank", "score", "below the best", "arcs"), rows, total=len(found))


def _of_strengths(value: ArcStrengths) -> Markup:
    rows = [
        [
            *(arc["parent"], arc["child"]),
            *(bar(arc[key], f"{arc[key]:.4g}") for key in ("strength", "edge_strength")),
        ]
        for arc in value.to_records()[:MOST_VARIABLES]
    ]
    columns = ["parent", "child", "strength", "in either direction"]
    return folded("Strongest arcs", table(columns, rows))


def _of_dataset(value: Dataset) -> list[Markup]:
    rows = []
    for v, name in enumerate(value.names[:MOST_VARIABLES]):
        states, (counts, missing) = value.states[v], state_counts(value, v)
        shares = counts[:MOST_STATES] / max(counts.sum(), 1e-300)
        listed = [f"{state} {p:.2g}" for state, p in zip(states, shares, strict=False)]
        listed += [f"{len(states) - MOST_STATES} more"] * (len(states) > MOST_STATES)
        kind = "bins" if name in value.edges else "states"
        gone = bar(missing, f"{100 * missing:.2g} %") if missing else "none"
        rows.append([name, f"{len(states)} {kind}", ", ".join(listed), gone])
    more = value.n_variables - len(rows)
    return [
        table(["variable", "type", "shares", "missing"], rows),
        quiet(f"and {more} more variables" if more else ""),
        folded("First rows", _first_rows(value)),
    ]


def _first_rows(value: Dataset) -> Markup:
    frame = value.part(slice(HEAD)).to_frame().iloc[:, :MOST_VARIABLES]
    shown = _frame(frame, index=False, na_rep="\0")
    return Markup(shown.replace("<td>\0", '<td class="gone">missing'))


def _frame(frame: Any, **options: Any) -> Markup:
    return tag("div", Markup(frame.to_html(border=0, **options)), class_="wide")
