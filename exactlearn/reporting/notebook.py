"""Views of objects in notebooks: HTML that stands alone, and SVG of graphs.

:class:`exactlearn._runtime.display.Displayed` calls :func:`html` and :func:`svg`. A view has the
figures of the object's ``repr``, the picture of its graph and what :func:`_details` knows of its
class. Colours are those of the notebook, mixed with grey, so that they fit light and dark themes.
"""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from html import escape
from itertools import compress
from typing import Any

import numpy as np

from exactlearn._runtime.ascent import EMResult
from exactlearn._runtime.display import Displayed
from exactlearn.augmentation.ranking import Ranking
from exactlearn.augmentation.result import Augmentation
from exactlearn.bayesnet.deletion import DeletionFit
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.errors import MissingExtraError, OptionError, TooLargeError
from exactlearn.evaluation.bootstrap import ArcStrengths
from exactlearn.graphs.equivalence import PartiallyDirectedGraph
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
from exactlearn.reporting.plot import draw
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

STYLE = """
.exactlearn{font:13px/1.45 system-ui,sans-serif;max-width:100%;margin:.3em 0}
.exactlearn .xl-head b{font-size:14px;margin-right:.7em}
.exactlearn .xl-head span{white-space:nowrap;margin-right:1.1em}
.exactlearn i,.exactlearn summary{font-style:normal;color:#808890}
.exactlearn .xl-wide{overflow:auto;max-height:90em;margin:.5em 0}
.exactlearn table{border-collapse:collapse;margin:0;font-size:12px;background:none}
.exactlearn th,.exactlearn td{text-align:left!important;padding:.18em .8em .18em 0;border:0;
border-bottom:1px solid rgba(128,128,128,.25);white-space:nowrap;background:none;color:inherit}
.exactlearn th{font-weight:600}
.exactlearn td.xl-none{color:#b0662a;background:rgba(200,120,40,.13)}
.exactlearn .xl-bar{display:inline-block;width:5em;height:.75em;vertical-align:-.05em;
background:rgba(128,128,128,.18)}
.exactlearn .xl-bar b{display:block;height:100%;background:#5a87bd}
.exactlearn .xl-number{display:inline-block;min-width:5em}
.exactlearn summary{cursor:pointer}
.exactlearn p{margin:.35em 0;overflow-wrap:anywhere}
"""


def html(value: Displayed) -> str | None:
    """Return the view of an object as HTML; nothing where ``repr`` says all.

    Examples
    --------
    >>> network = BayesianNetwork(("a",), (("<1", ">=1"),), ((),), (np.array([0.5, 0.5]),))
    >>> "&lt;1" in html(network), "<svg" in html(network)
    (True, True)
    """
    parts = [*_picture(value), *_details(value)]
    if not parts:
        return None
    figures = "".join(
        f"<span><i>{escape(name.replace('_', ' '))}</i> {escape(text.strip(chr(39)))}</span> "
        for name, text in value._figures.items()
        if not text.startswith(tuple(f"{kind.__name__}(" for kind in (BayesianNetwork, Dataset)))
    )
    head = f'<div class="xl-head"><b>{type(value).__name__}</b> {figures}</div>'
    return f'<div class="exactlearn"><style>{STYLE}</style>{head}{"".join(parts)}</div>'


def svg(value: Displayed) -> str | None:
    """Return the picture of an object's graph; nothing without one, or of too many boxes."""
    drawing = _drawing(value)
    try:
        return None if drawing is None else _drawn(drawing)
    except (MissingExtraError, TooLargeError):
        return None


@lru_cache(maxsize=8)
def _drawn(drawing: Drawing) -> str:
    text = draw(drawing, ".svg").decode()
    own = text[text.index("<svg") :]
    width = re.search(r'width="(\d+)', own)
    least = f"min-width:{SMALLEST * int(width[1]):.0f}px;" if width else ""
    return own.replace("<svg", f'<svg style="{least}max-width:100%;height:auto"', 1)


def _drawing(value: Any) -> Drawing | None:
    """Return the drawing of an object's graph, if it has one."""
    match value:
        case NamedGraph():
            return structure_drawing(value)
        case DecisionGraph():
            return decision_graph_drawing(value)
        case BayesianNetwork():
            return network_drawing(value.names, value.parents)
        case EMResult() | DeletionFit():
            return _drawing(value.model)
        case Certificate():
            return _learned_drawing(value.variables, value.parents)
        case StructuralEM() | Imputed() if value.network is not None:
            return _learned_drawing(value.network.names, value.network.parents)
        case LearnedNetwork():
            return network_drawing(value.names, value.parents, value.reversible)
        case Result() | Augmentation() | EquivalenceSearch() if value.parents:
            return _learned_drawing(value.names or _numbers(len(value.parents)), value.parents)
        case ArcStrengths():
            parents = value.averaged()
            shares = {
                (p, v): float(value.edges[p, v]) for v, own in enumerate(parents) for p in own
            }
            return network_drawing(value.names, parents, strengths=shares)
        case PartiallyDirectedGraph():
            names, both = _numbers(value.n_variables), (value.directed, value.undirected)
            arcs, edges = ([(names[a], names[b]) for a, b in links] for links in both)
            with suppress(OptionError):  # a graph that is neither a pattern nor a CPDAG
                return structure_drawing(NamedGraph.linked(names, arcs, edges))
    return None


def _numbers(n: int) -> tuple[str, ...]:
    return tuple(map(str, range(n)))


def _learned_drawing(names: Sequence[str], parents: Sequence[Sequence[int]]) -> Drawing:
    reversible = [(names[a], names[b]) for a, b in reversible_arcs(parents)]
    return network_drawing(names, parents, reversible)


def _picture(value: Displayed) -> Iterable[str]:
    """Yield the picture of an object's graph, or what stands for it where there is none."""
    drawing = _drawing(value)
    if drawing is None:
        return
    if (drawn := svg(value)) is None:
        arcs = [[drawing.labels[a], drawing.labels[b]] for a, b in drawing.arcs]
        yield f"<p><i>no picture: {len(drawing.labels)} boxes, {len(arcs)} arcs</i></p>"
        yield _wide(_table(["from", "to"], arcs))
        return
    yield _wide(drawn)
    said = [
        *["dashed: a Markov equivalent network has the arc the other way"]
        * bool(drawing.reversible),
        *["width: the share of samples with an arc between the two"] * bool(drawing.strengths),
    ]
    if said:
        yield f"<p><i>{'; '.join(said)}</i></p>"


def _details(value: Any) -> list[str]:
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
            return [f"<p><code>{escape(line)}</code></p>" for line in value.statements]
        case Ranking():
            return [_of_ranking(value.solutions)]
        case Enumeration():
            return [_of_ranking(value.networks)]
        case ArcStrengths():
            return _of_strengths(value)
        case Answer():
            return _of_answer(value)
        case LearnedNetwork():
            left = [f"{name}: {why}" for name, why in value.left_out.items()]
            return [
                *(f"<p>{escape(line)}</p>" for line in (value.reason, *left)),
                _folded(repr(value.dataset), "".join(_of_dataset(value.dataset))),
                *_of_network(value.network),
            ]
    said = getattr(value, "reason", "") or getattr(value, "message", "")
    return [f"<p>{escape(said)}</p>"] if said else []


def _of_network(value: BayesianNetwork) -> list[str]:
    small = [own.size <= MOST_CONFIGURATIONS * own.shape[-1] for own in value.tables]
    if value.n_variables > MOST_TABLES or not any(small):
        return []
    frames = (value.table(name) for name in compress(value.names, small))
    shown = (_wide(frame.to_html(float_format="{:.4g}".format, border=0)) for frame in frames)
    return [_folded("Conditional probability tables", "".join(shown))]


def _of_certificate(value: Certificate) -> list[str]:
    rules = ", ".join(value.described_restrictions())
    return [
        f"<p><i>digest</i> <code>{escape(value.digest)}</code></p>",
        *[f"<p><i>restrictions</i> {escape(rules)}</p>"] * bool(rules),
        "<p><i>not checked here: <code>certificate.check(scores)</code>, or the command "
        "<code>verify</code></i></p>",
    ]


def _of_ranking(found: Sequence[Any]) -> str:
    rows = [
        [str(k), f"{each.score:.6g}", f"{found[0].score - each.score:.4g}", _arc_count(each)]
        for k, each in enumerate(found[:MOST_VARIABLES], 1)
    ]
    return _wide(_table(["rank", "score", "below the best", "arcs"], rows))


def _arc_count(found: Any) -> str:
    return str(sum(map(len, found.parents)))


def _of_strengths(value: ArcStrengths) -> list[str]:
    rows = [
        [
            escape(arc["parent"]),
            escape(arc["child"]),
            *map(_share, (arc["strength"], arc["edge_strength"])),
        ]
        for arc in value.to_records()[:MOST_VARIABLES]
    ]
    columns = ["parent", "child", "strength", "in either direction"]
    return [_folded("Strongest arcs", _wide(_table(columns, rows, escaped=True)))]


def _of_answer(value: Answer) -> list[str]:
    rows = [
        [escape(name) if k == 0 else "", escape(state), _share(p)]
        for name, states in value.posterior.items()
        for k, (state, p) in enumerate(states.items())
    ]
    evidence = f"<p><i>probability of the evidence</i> {value.probability_of_evidence:.6g}</p>"
    return [_wide(_table(["variable", "state", "posterior"], rows, escaped=True)), evidence]


def _of_dataset(value: Dataset) -> list[str]:
    weights, total = value.row_weights, max(float(value.row_weights.sum()), 1e-300)
    rows = []
    for v, name in enumerate(value.names[:MOST_VARIABLES]):
        codes = value.codes[:, v]
        counts = np.bincount(codes + 1, weights, len(value.states[v]) + 1)  # code -1 is missing
        shares = zip(value.states[v], counts[1:] / max(counts[1:].sum(), 1e-300), strict=True)
        listed = [f"{state} {share:.2g}" for state, share in [*shares][:MOST_STATES]]
        left = len(value.states[v]) - len(listed)
        kind = "bins" if name in value.edges else "states"
        missing = counts[0] / total
        bar = _bar(missing, f"{100 * missing:.2g} %") if missing else "none"
        listed += [f"{left} more"] * (left > 0)
        cells = [name, f"{len(value.states[v])} {kind}", ", ".join(listed)]
        rows.append([*map(escape, cells), bar])
    more = value.n_variables - len(rows)
    table = _wide(_table(["variable", "type", "shares", "missing"], rows, escaped=True))
    left_out = [f"<p><i>and {more} more variables</i></p>"] * (more > 0)
    return [table, *left_out, _folded("First rows", _first_rows(value))]


def _first_rows(value: Dataset) -> str:
    frame = value.part(slice(HEAD)).to_frame().iloc[:, :MOST_VARIABLES]
    table = frame.to_html(index=False, border=0, na_rep="\0")
    return _wide(table.replace("<td>\0", '<td class="xl-none">missing'))


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], escaped: bool = False) -> str:
    told = (lambda text: text) if escaped else escape
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{told(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _wide(content: str) -> str:
    return f'<div class="xl-wide">{content}</div>'


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def _share(p: float) -> str:
    return _bar(p, f"{p:.4g}")


def _bar(share: float, text: str) -> str:
    bar = f'<span class="xl-bar"><b style="width:{100 * share:.1f}%"></b></span>'
    return f'<span class="xl-number">{text}</span>{bar}'
