"""Views of objects in notebooks: HTML that stands alone, and SVG of graphs.

:class:`exactlearn._runtime.display.Displayed` calls :func:`html` and :func:`svg`. A view has the
figures of the object's ``repr``, the picture of its graph and the description of what
:func:`_record` returns of it. Colours are those of the notebook, mixed with grey, so that they fit
light and dark themes.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from markupsafe import Markup

from exactlearn._runtime.display import Displayed
from exactlearn.augmentation.exact import Ranking
from exactlearn.bayesnet.answers import Answer
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.errors import OptionError, TooLargeError
from exactlearn.evaluation.bootstrap import ArcStrengths
from exactlearn.graphs.dag import named_parents, names_or_indices
from exactlearn.graphs.equivalence import NamedGraph
from exactlearn.graphs.partially_directed import PartiallyDirectedGraph
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.reporting.description import Table, describe
from exactlearn.reporting.drawing import (
    Drawing,
    averaged_drawing,
    decision_graph_drawing,
    network_drawing,
    structure_drawing,
    with_posteriors,
)
from exactlearn.reporting.page import (
    STRENGTHS,
    conditional_table,
    data_tables,
    legend,
    parts,
)
from exactlearn.reporting.placed_drawing import placed
from exactlearn.reporting.records import named_arcs
from exactlearn.reporting.svg_picture import PIXELS, svg_file
from exactlearn.reporting.templates import rendered
from exactlearn.solvers.certificate import Certificate
from exactlearn.solvers.enumeration import Enumeration
from exactlearn.structure.learned_network import LearnedNetwork
from exactlearn.structure.structure_posterior import StructurePosterior

MAX_ROWS = 5
MAX_VARIABLES = 30
MAX_TABLES = 40
"""Most rows and variables of a table, and conditional tables of a network, that are shown."""

MIN_SCALE = 0.6
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
    drawing = _drawing(value)
    record = _record(value)
    texts = _texts(value)
    details = _details(value)
    if not (drawing or record or details or texts):
        return None
    # Of a graph with too many boxes the arcs are listed.
    picture = None if drawing is None else _svg(drawing)
    if drawing is not None and picture is None:
        record["arcs"] = named_arcs(drawing.labels, drawing.arcs)
    # Figures that are objects have a section of their own.
    figures = {
        name.replace("_", " "): text.strip("'")
        for name, text in value._figures.items()
        if not text.startswith(("BayesianNetwork(", "Dataset("))
    }
    return rendered(
        "notebook.html",
        name=type(value).__name__,
        figures=figures,
        svg=picture,
        legend="" if drawing is None else legend(drawing, STRENGTHS["edge_strength"]),
        texts=texts,
        sections=describe(record, max_rows=MAX_TABLES) if record else (),
        details=details,
    )


def svg(value: Displayed) -> str | None:
    """Return the picture of an object's graph; nothing without one, or of too many boxes."""
    drawing = _drawing(value)
    return None if drawing is None else _svg(drawing)


def _svg(drawing: Drawing) -> Markup | None:
    """Return a picture that shrinks on narrow screens; nothing of too many boxes."""
    with suppress(TooLargeError):
        picture = placed(drawing)
        width = MIN_SCALE * PIXELS * picture.whole_size[0]
        return svg_file(picture, f"min-width:{width:.0f}px;max-width:100%;height:auto")
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
            # The posteriors stand in the boxes of the network that was asked.
            plain = network_drawing(names, parents)
            return with_posteriors(plain, value.posterior, value.evidence)
        case ArcStrengths() | StructurePosterior():
            return averaged_drawing(value.averaged(), value.edges)
        case PartiallyDirectedGraph():
            return _partially_directed_drawing(value)
    if (network := _network_of(value)) is not None:
        return _drawing(network)
    # Any result with the parents of each variable.
    families = getattr(value, "parents", None)
    if not isinstance(families, Sequence) or not families:
        return None
    names = getattr(value, "names", ()) or getattr(value, "variables", ())
    return network_drawing(names_or_indices(names, families), families, None)


def _partially_directed_drawing(graph: PartiallyDirectedGraph) -> Drawing | None:
    """Return the drawing of a pattern or a CPDAG; nothing of another graph."""
    names = [*map(str, range(graph.n_variables))]
    arcs = [(names[a], names[b]) for a, b in graph.directed]
    edges = [(names[a], names[b]) for a, b in graph.undirected]
    with suppress(OptionError):
        return structure_drawing(NamedGraph.linked(names, arcs, edges))
    return None


def _network_of(value: Any) -> BayesianNetwork | None:
    """Return the network that an object has, if it has one."""
    network = getattr(value, "network", None) or getattr(value, "model", None)
    return network if isinstance(network, BayesianNetwork) else None


def _record(value: Any) -> dict[str, Any]:
    """Return the record that is described beside an object's figures and picture."""
    match value:
        case Certificate():
            return {
                "digest": value.digest,
                "restrictions": [*value.described_restrictions()] or None,
                "checked": "not here: certificate.check(scores), or the command verify, does it",
            }
        case Ranking(solutions=networks) | Enumeration(networks=networks):
            return {"networks": [_network_row(network) for network in networks]}
        case ArcStrengths():
            return {"arcs": value.to_records()}
        case StructurePosterior():
            return {"arcs": value.to_frame().head(MAX_ROWS).to_dict("records")}
        case Answer():
            likelihood = value.probability_of_evidence
            return {"probability_of_evidence": likelihood, "posterior": value.posterior}
    return {}


def _network_row(network: Any) -> dict[str, Any]:
    """Return score and parents of a network of a list, its variables named by numbers."""
    parents = network.parents
    names = names_or_indices(None, parents)
    return {"score": network.score, "parents": named_parents(names, parents)}


def _texts(value: Any) -> list[str]:
    """Return the sentences and statements of an object."""
    match value:
        case MissingnessGraph():
            return list(value.statements)
        case LearnedNetwork():
            left_out = [f"{name}: {why}" for name, why in value.left_out.items()]
            return [value.reason, *left_out]
    sentence = getattr(value, "reason", "") or getattr(value, "message", "")
    return [sentence] if sentence else []


def _details(value: Any) -> list[tuple[str, Markup]]:
    """Return tables and networks in an object, by their titles."""
    match value:
        case Dataset():
            variables = data_tables(value, MAX_VARIABLES)
            return [("", variables), ("First rows", _first_rows(value))]
        case BayesianNetwork():
            names = value.names[:MAX_TABLES]
            tables = [parts().conditional(conditional_table(value, x)) for x in names]
            return [("Conditional probability tables", Markup("").join(tables))]
        case LearnedNetwork():
            # The table of its variables without the first rows, then the network.
            (_, variables), _ = _details(value.dataset)
            return [(repr(value.dataset), variables), *_details(value.network)]
        case Answer():
            return []
    network = _network_of(value)
    return [] if network is None else _details(network)


def _first_rows(value: Dataset) -> Markup:
    """Return the labels of the first rows of a table."""
    names = value.names[:MAX_VARIABLES]
    columns = []
    for v in range(len(names)):
        labels = (*value.states[v], "missing")  # of which the last one has the code -1
        codes = value.codes[:MAX_ROWS, v]
        columns.append([labels[code] for code in codes])
    rows = [*zip(*columns, strict=True)]
    table: Markup = parts().table(Table(head=names, rows=rows))
    return table
