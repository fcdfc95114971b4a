"""Views of objects in notebooks: HTML that stands alone, and SVG of graphs.

:class:`exactlearn._runtime.display.Displayed` calls :func:`html` and :func:`svg`. A view has the
figures of the object's ``repr``, the picture of its graph and what :func:`_details` knows of its
class; tables are those of the page. Colours are those of the notebook, mixed with grey, so that
they fit light and dark themes.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from exactlearn._runtime.display import Displayed
from exactlearn.augmentation.ranking import Ranking
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.errors import OptionError, TooLargeError
from exactlearn.evaluation.bootstrap import ArcStrengths
from exactlearn.graphs.equivalence import Arc, PartiallyDirectedGraph
from exactlearn.graphs.named_graph import NamedGraph
from exactlearn.graphs.orientation import reversible_arcs
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.posteriors import Answer
from exactlearn.reporting.drawing import (
    Drawing,
    decision_graph_drawing,
    network_drawing,
    structure_drawing,
    with_posteriors,
)
from exactlearn.reporting.markup import (
    Markup,
    asset,
    folded,
    posterior_table,
    quiet,
    table,
    tag,
)
from exactlearn.reporting.page_data import variables_table
from exactlearn.reporting.page_models import arcs_table, conditional_table, legend
from exactlearn.reporting.page_results import networks_table
from exactlearn.reporting.plot import placed
from exactlearn.reporting.report import named_arcs
from exactlearn.reporting.svg_picture import PIXELS, svg_file
from exactlearn.solvers.certificates.certificate import Certificate
from exactlearn.solvers.enumeration.networks import Enumeration
from exactlearn.structure.learning import LearnedNetwork

HEAD, MOST_VARIABLES = 5, 30
"""Most rows and variables that the view of a table shows."""

MOST_TABLES = 40
"""Most variables of a network whose conditional tables are shown."""

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
    style = tag("style", asset("tables.css"), asset("notebook.css"))
    return tag("div", style, head, parts, class_="exactlearn")


def svg(value: Displayed) -> str | None:
    """Return the picture of an object's graph; nothing without one, or of too many boxes."""
    drawing = _drawing(value)
    return None if drawing is None else _drawn(drawing)


def _drawn(drawing: Drawing) -> Markup | None:
    with suppress(TooLargeError):
        picture = placed(drawing)
        least = SMALLEST * PIXELS * picture.whole_size[0]
        return Markup(svg_file(picture, f"min-width:{least:.0f}px;max-width:100%;height:auto"))
    return None


def _drawing(value: Any) -> Drawing | None:
    """Return the drawing of an object's graph, if it has one."""
    match value:
        case NamedGraph():
            return structure_drawing(value)
        case DecisionGraph():
            return decision_graph_drawing(value)
        case LearnedNetwork():
            return network_drawing(value.names, value.parents, value.reversible)
        case Answer(model=BayesianNetwork(names=names, parents=parents)):
            plain = network_drawing(names, parents)
            return with_posteriors(plain, value.posterior, value.evidence)
        case ArcStrengths(names=names):
            best, shares = value.averaged().parents, value.edges
            strengths = {(p, v): float(shares[p, v]) for v, own in enumerate(best) for p in own}
            return _marked_drawing(names, best, strengths)
        case PartiallyDirectedGraph():
            names, both = _numbers(value.n_variables), (value.directed, value.undirected)
            arcs, edges = ([(names[a], names[b]) for a, b in links] for links in both)
            with suppress(OptionError):  # a graph that is neither a pattern nor a CPDAG
                return structure_drawing(NamedGraph.linked(names, arcs, edges))
    if (network := _network_in(value)) is not None:
        return _drawing(network)
    families = getattr(value, "parents", None)
    known = getattr(value, "names", ()) or getattr(value, "variables", ())
    if not isinstance(families, Sequence) or not families:
        return None
    return _marked_drawing(known or _numbers(len(families)), families)


def _network_in(value: Any) -> BayesianNetwork | None:
    found = getattr(value, "network", None) or getattr(value, "model", None)
    return found if isinstance(found, BayesianNetwork) else None


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
        arcs = [(drawing.labels[a], drawing.labels[b]) for a, b in drawing.arcs]
        yield quiet(f"no picture: {len(drawing.labels)} boxes, {len(arcs)} arcs are too many")
        yield folded("The arcs", arcs_table(arcs))
        return
    yield tag("div", drawn, class_="wide picture")
    yield quiet(legend(drawing, "edge_strength"))


def _details(value: Any) -> list[Any]:
    """Return what is shown of an object beside figures and picture."""
    match value:
        case Dataset():
            return [
                variables_table(value, MOST_VARIABLES),
                folded("First rows", _first_rows(value)),
            ]
        case BayesianNetwork():
            tables = [conditional_table(value, name) for name in value.names[:MOST_TABLES]]
            return [folded("Conditional probability tables", tables)]
        case Certificate():
            return _of_certificate(value)
        case MissingnessGraph():
            return [tag("p", tag("code", line)) for line in value.statements]
        case Ranking(solutions=found) | Enumeration(networks=found):
            return [networks_table([(one.score, _arcs(one.parents)) for one in found])]
        case ArcStrengths():
            support = {(one["parent"], one["child"]): one for one in value.to_records()}
            return [folded("Strongest arcs", arcs_table(list(support), support))]
        case Answer():
            label = tag("i", "probability of the evidence")
            likelihood = tag("p", label, f" {value.probability_of_evidence:.6g}")
            is_drawn = isinstance(value.model, BayesianNetwork)
            return [likelihood, posterior_table(value.posterior, is_drawn)]
        case LearnedNetwork():
            left = [f"{name}: {why}" for name, why in value.left_out.items()]
            return [
                *(tag("p", line) for line in (value.reason, *left)),
                folded(repr(value.dataset), _details(value.dataset)),
                *_details(value.network),
            ]
    if (network := _network_in(value)) is not None:
        return _details(network)
    said = getattr(value, "reason", "") or getattr(value, "message", "")
    return [tag("p", said)] if said else []


def _arcs(parents: Sequence[Sequence[int]]) -> set[tuple[str, str]]:
    return {(str(p), str(v)) for v, family in enumerate(parents) for p in family}


def _of_certificate(value: Certificate) -> list[Markup]:
    rules = ", ".join(value.described_restrictions())
    checks = tag("code", "certificate.check(scores)"), ", or the command ", tag("code", "verify")
    return [
        tag("p", tag("i", "digest"), " ", tag("code", value.digest)),
        *[tag("p", tag("i", "restrictions"), " ", rules)] * bool(rules),
        tag("p", "not checked here: ", checks, class_="quiet"),
    ]


def _first_rows(value: Dataset) -> Markup:
    gone = tag("td", "missing", class_="gone")
    states = [(*own, gone) for own in value.states[:MOST_VARIABLES]]  # the code -1 is the last one
    rows = [
        [own[code] for own, code in zip(states, row, strict=False)]
        for row in value.codes[:HEAD].tolist()
    ]
    return table(value.names[:MOST_VARIABLES], rows)
