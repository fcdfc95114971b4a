"""Views of objects in notebooks: HTML that stands alone, and SVG of graphs.

:class:`exactlearn._runtime.display.Displayed` calls :func:`html` and :func:`svg`. A view has the
figures of the object's ``repr``, the picture of its graph and the description of what
:func:`_record` returns of it. Colours are those of the notebook, mixed with grey, so that they fit
light and dark themes.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from markupsafe import Markup

from exactlearn._runtime.display import Displayed
from exactlearn.augmentation.exact import Ranking
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.errors import OptionError, TooLargeError
from exactlearn.evaluation.bootstrap import ArcStrengths
from exactlearn.graphs.dag import named_parents
from exactlearn.graphs.equivalence import NamedGraph
from exactlearn.graphs.orientation import reversible_arcs
from exactlearn.graphs.partially_directed import Arc, PartiallyDirectedGraph
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.posteriors import Answer
from exactlearn.reporting.description import Table, describe
from exactlearn.reporting.drawing import (
    Drawing,
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
from exactlearn.structure.learning import LearnedNetwork

HEAD = 5
MOST_VARIABLES = 30
MOST_TABLES = 40
"""Most rows and variables of a table, and conditional tables of a network, that are shown."""

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
    drawing = _drawing(value)
    picture = None if drawing is None else _drawn(drawing)
    record = _record(value)
    details = _details(value)
    if drawing is not None and picture is None:
        record = {**record, "arcs": _arcs_of(drawing)}
    if not (drawing or record or details or _texts(value)):
        return None
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
        texts=_texts(value),
        sections=describe(record, most=MOST_TABLES) if record else (),
        details=details,
    )


def svg(value: Displayed) -> str | None:
    """Return the picture of an object's graph; nothing without one, or of too many boxes."""
    drawing = _drawing(value)
    return None if drawing is None else _drawn(drawing)


def _drawn(drawing: Drawing) -> Markup | None:
    with suppress(TooLargeError):
        picture = placed(drawing)
        least = SMALLEST * PIXELS * picture.whole_size[0]
        return svg_file(picture, f"min-width:{least:.0f}px;max-width:100%;height:auto")
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
            best = value.averaged().parents
            shares = value.edges
            strengths = {
                (p, v): float(shares[p, v]) for v, own in enumerate(best) for p in own
            }
            return _marked_drawing(names, best, strengths)
        case PartiallyDirectedGraph():
            names = _numbers(value.n_variables)
            both = (value.directed, value.undirected)
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


def _arcs_of(drawing: Drawing) -> list[list[str]]:
    return [[drawing.labels[a], drawing.labels[b]] for a, b in drawing.arcs]


def _record(value: Any) -> dict[str, Any]:
    """Return what is described of an object beside its figures and picture."""
    match value:
        case Certificate():
            rules = list(value.described_restrictions())
            checks = (
                "not here: certificate.check(scores), or the command verify, does it"
            )
            return {
                "digest": value.digest,
                "restrictions": rules or None,
                "checked": checks,
            }
        case Ranking(solutions=found) | Enumeration(networks=found):
            return {"networks": [_network_row(one) for one in found]}
        case ArcStrengths():
            return {"arcs": value.to_records()}
        case Answer():
            likelihood = value.probability_of_evidence
            return {"probability_of_evidence": likelihood, "posterior": value.posterior}
    return {}


def _network_row(found: Any) -> dict[str, Any]:
    return {
        "score": found.score,
        "parents": named_parents(_numbers(len(found.parents)), found.parents),
    }


def _texts(value: Any) -> list[str]:
    """Return the sentences and statements of an object."""
    if isinstance(value, MissingnessGraph):
        return list(value.statements)
    if isinstance(value, LearnedNetwork):
        return [
            value.reason,
            *(f"{name}: {why}" for name, why in value.left_out.items()),
        ]
    said = getattr(value, "reason", "") or getattr(value, "message", "")
    return [said] if said else []


def _details(value: Any) -> list[tuple[str, Markup]]:
    """Return tables and networks in an object, by their titles."""
    match value:
        case Dataset():
            shown = data_tables(value, MOST_VARIABLES)
            return [("", shown), ("First rows", parts().table(_first_rows(value)))]
        case BayesianNetwork():
            own = [conditional_table(value, name) for name in value.names[:MOST_TABLES]]
            tables = Markup("").join(map(parts().conditional, own))
            return [("Conditional probability tables", tables)]
        case LearnedNetwork():
            return [
                (repr(value.dataset), _details(value.dataset)[0][1]),
                *_details(value.network),
            ]
    network = _network_in(value)
    return [] if network is None or isinstance(value, Answer) else _details(network)


def _first_rows(value: Dataset) -> Table:
    states = [
        (*own, "missing") for own in value.states[:MOST_VARIABLES]
    ]  # code -1 is the last
    rows = [
        [own[code] for own, code in zip(states, row, strict=False)]
        for row in value.codes[:HEAD].tolist()
    ]
    return Table(head=value.names[:MOST_VARIABLES], rows=rows)
