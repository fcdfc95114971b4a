"""How often the arcs are in the best networks: plainly, and weighted by the networks' probability.

Scores are logarithms, so under a uniform prior on the networks listed a network's probability given
the data is proportional to the exponential of its score (Madigan and Raftery 1994, "Model selection
and accounting for model uncertainty in graphical models using Occam's window").
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.graphs.equivalence import Arc, PartiallyDirectedGraph
from exactlearn.reporting.plot import painted
from exactlearn.reporting.records_file import write_records

MOST_DRAWN = 60
"""Most variables of a figure; the largest supports are drawn if there are more."""

CELL = 0.28
"""Width of a cell of the figure, in inches."""


class ArcSupport(NamedTuple):
    """The support of one arc, as shares of 1.

    Attributes
    ----------
    parent, child
        The arc.
    support, weight
        Share of the networks that have it, and of their probability.
    adjacency_support, adjacency_weight
        The same of the networks that have it in either direction.
    """

    parent: int
    child: int
    support: float
    weight: float
    adjacency_support: float
    adjacency_weight: float


def arc_support(
    networks: Sequence[tuple[Sequence[Sequence[int]], float]],
) -> tuple[ArcSupport, ...]:
    """Return the support of every arc that any of some networks has.

    Parameters
    ----------
    networks
        The parents of each variable, and the score, of each network.

    Returns
    -------
    tuple
        By falling weight, then falling support, then by parent and child.

    Examples
    --------
    >>> [(arc.parent, arc.child, arc.support) for arc in arc_support([([(), (0,)], -1.0)])]
    [(0, 1, 1.0)]
    """
    arcs = [{(p, v) for v, family in enumerate(dag) for p in family} for dag, _ in networks]
    scores = [score for _, score in networks]
    return _supports(arcs, [set()] * len(arcs), scores, [1] * len(arcs))


def class_support(
    classes: Sequence[tuple[PartiallyDirectedGraph, float, int]],
) -> tuple[ArcSupport, ...]:
    """Return the support of every arc and edge of the completed patterns of some classes.

    An undirected edge is an adjacency only, in a record with the smaller variable as the parent.

    Parameters
    ----------
    classes
        The completed pattern, the score, and how often it was found, of each class; the support
        counts that, the weight takes each class once.

    Examples
    --------
    >>> both = PartiallyDirectedGraph(2, frozenset(), frozenset({(0, 1)}))
    >>> [(found.support, found.adjacency_support) for found in class_support([(both, -1.0, 5)])]
    [(0.0, 1.0)]
    """
    arcs = [set(graph.directed) for graph, _, _ in classes]
    edges = [set(graph.undirected) for graph, _, _ in classes]
    return _supports(arcs, edges, [score for _, score, _ in classes], [n for _, _, n in classes])


def _supports(
    arcs: Sequence[set[Arc]],
    edges: Sequence[set[Arc]],
    scores: Sequence[float],
    counts: Sequence[int],
) -> tuple[ArcSupport, ...]:
    """Add up the shares of the graphs that have each arc, and each adjacency."""
    if not scores:
        return ()
    found: dict[Arc, NDArray[np.float64]] = {}
    adjacent: dict[Arc, NDArray[np.float64]] = {}
    shares = zip(np.array(counts) / sum(counts), probabilities(scores), strict=True)
    for own, either, share in zip(arcs, edges, shares, strict=True):
        for a, b in own | either:
            pair = min(a, b), max(a, b)
            adjacent[pair] = adjacent.get(pair, np.zeros(2)) + share
            arc = (a, b) if (a, b) in own else pair
            found[arc] = found.get(arc, np.zeros(2)) + np.array(share) * ((a, b) in own)
    rows = [
        ArcSupport(a, b, *np.minimum([*own, *adjacent[min(a, b), max(a, b)]], 1.0).tolist())
        for (a, b), own in found.items()
    ]
    return tuple(sorted(rows, key=lambda r: (-r.weight, -r.support, r.parent, r.child)))


def probabilities(scores: Sequence[float]) -> NDArray[np.float64]:
    """Return the probability of each of some networks, by their scores, as shares of 1."""
    weights = np.exp(np.array(scores) - max(scores))
    found: NDArray[np.float64] = weights / weights.sum()
    return found


def support_record(names: Sequence[str], rows: Sequence[ArcSupport]) -> list[dict[str, Any]]:
    """Return the JSON records of the supports."""
    return [
        {**row._asdict(), "parent": names[row.parent], "child": names[row.child]} for row in rows
    ]


_SYMMETRIC = ("adjacency_support", "adjacency_weight", "edge_strength", "significant")


def beside(
    first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return two kinds of support of arcs in one list of records, that of the first list first.

    An arc that only one of them has has no support of the other kind, but that of its adjacency.

    Examples
    --------
    >>> first = [{"parent": "a", "child": "b", "support": 1.0, "adjacency_support": 1.0}]
    >>> second = [{"parent": "b", "child": "a", "strength": 0.5, "edge_strength": 0.5}]
    >>> [(row["support"], row["strength"], row["edge_strength"]) for row in beside(first, second)]
    [(1.0, 0.0, 0.5), (0.0, 0.5, 0.5)]
    """
    kinds = [{(row["parent"], row["child"]): row for row in rows} for rows in (first, second)]
    arcs = dict.fromkeys(arc for rows in kinds for arc in rows)
    return [
        {"parent": a, "child": b, **_columns(kinds[0], a, b), **_columns(kinds[1], a, b)}
        for a, b in arcs
    ]


def _columns(rows: Mapping[Any, Mapping[str, Any]], a: str, b: str) -> Mapping[str, Any]:
    """Return what a list knows of an arc; of one that it has not, that of the reverse."""
    if not rows or (a, b) in rows:
        return rows.get((a, b), {})
    reverse, columns = rows.get((b, a), {}), next(iter(rows.values()))
    return {
        key: reverse[key] if key in _SYMMETRIC and reverse else type(value)()
        for key, value in columns.items()
        if key not in ("parent", "child")
    }


def write_support(records: Sequence[Mapping[str, Any]], names: Sequence[str], path: Path) -> None:
    """Write supports in the format of the suffix, in one step.

    Parameters
    ----------
    records
        What :func:`support_record` returns, or bootstrap strengths, or both :func:`beside` each
        other.
    names
        Names of all variables, in the order of the figure.
    path
        A table (``.csv``), a list of records (``.json``), or a figure (``.svg``, ``.png``,
        ``.pdf``).

    Raises
    ------
    OptionError
        When the suffix is another, or the file cannot be written.
    MissingExtraError
        When a figure is wanted and Matplotlib is not installed.
    """
    write_records(
        path,
        list(records[0]) if records else ArcSupport._fields,
        records,
        lambda suffix: support_figure(records, names, suffix),
    )


def support_figure(
    records: Sequence[Mapping[str, Any]], names: Sequence[str], suffix: str
) -> bytes:
    """Draw weights, or strengths, as maps of shades, a row per parent and a column per child.

    With more than ``MOST_DRAWN`` variables, those without any arc are left out, and then those
    whose arcs weigh least.

    Raises
    ------
    MissingExtraError
        When Matplotlib is not installed.
    """
    place = {name: k for k, name in enumerate(names)}
    drawn = [kind for kind in _TITLES if records and kind in records[0]] or ["weight"]
    weights = np.zeros((len(drawn), len(names), len(names)))
    for record in records:
        weights[:, place[record["parent"]], place[record["child"]]] = [record[k] for k in drawn]
    if len(names) > MOST_DRAWN:
        heaviest = np.maximum(weights.max((0, 1)), weights.max((0, 2)))
        kept = np.sort(np.argsort(-heaviest, kind="stable")[:MOST_DRAWN])
        kept = kept[heaviest[kept] > 0]
        weights = weights[:, kept][:, :, kept]
        names = [names[v] for v in kept]
    side = max(2.0, CELL * len(names) + 0.085 * max(map(len, names), default=0))

    def paint(figure: Any) -> None:
        for k, kind in enumerate(drawn):
            axes = figure.add_subplot(1, len(drawn), k + 1)
            image = axes.imshow(weights[k], cmap="Blues", vmin=0.0, vmax=1.0)
            axes.set_xticks(range(len(names)), names, rotation=90, fontsize=8, parse_math=False)
            axes.set_yticks(range(len(names)), names, fontsize=8, parse_math=False)
            axes.set(xlabel="child", ylabel="parent", title=_TITLES[kind])
            figure.colorbar(image, ax=axes, shrink=0.8)

    return painted((len(drawn) * (side + 1.6), side + 0.8), paint, suffix, instead="'.csv'")


_TITLES = {"weight": "weight of the arcs", "strength": "bootstrap strength of the arcs"}
