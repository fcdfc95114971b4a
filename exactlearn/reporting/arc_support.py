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

from exactlearn.reporting.plot import painted
from exactlearn.reporting.records_file import write_records

Arc = tuple[int, int]

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
    if not networks:
        return ()
    weights = probabilities([score for _, score in networks])
    share = 1.0 / len(networks)
    found: dict[Arc, NDArray[np.float64]] = {}
    for (parents, _), weight in zip(networks, weights.tolist(), strict=True):
        for child, family in enumerate(parents):
            for parent in family:
                found.setdefault((parent, child), np.zeros(2))
                found[parent, child] += (share, weight)
    none = np.zeros(2)
    rows = []
    for (parent, child), own in found.items():
        either = np.minimum(own + found.get((child, parent), none), 1.0)
        own = np.minimum(own, 1.0)
        rows.append(ArcSupport(parent, child, *own.tolist(), *either.tolist()))
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


def write_support(records: Sequence[Mapping[str, Any]], names: Sequence[str], path: Path) -> None:
    """Write supports in the format of the suffix, in one step.

    Parameters
    ----------
    records
        What :func:`support_record` returns.
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
        path, ArcSupport._fields, records, lambda suffix: support_figure(records, names, suffix)
    )


def support_figure(
    records: Sequence[Mapping[str, Any]], names: Sequence[str], suffix: str
) -> bytes:
    """Draw the weights as a map of shades, a row per parent and a column per child.

    With more than ``MOST_DRAWN`` variables, those without any arc are left out, and then those
    whose arcs weigh least.

    Raises
    ------
    MissingExtraError
        When Matplotlib is not installed.
    """
    shown = _shown(records, names)
    place = {name: k for k, name in enumerate(shown)}
    weights = np.zeros((len(shown), len(shown)))
    for record in records:
        if record["parent"] in place and record["child"] in place:
            weights[place[record["parent"]], place[record["child"]]] = record["weight"]
    side = max(2.0, CELL * len(shown) + 0.085 * max(map(len, shown), default=0))

    def paint(figure: Any) -> None:
        axes = figure.add_subplot()
        image = axes.imshow(weights, cmap="Blues", vmin=0.0, vmax=1.0)
        axes.set_xticks(range(len(shown)), shown, rotation=90, fontsize=8, parse_math=False)
        axes.set_yticks(range(len(shown)), shown, fontsize=8, parse_math=False)
        axes.set(xlabel="child", ylabel="parent", title="weight of the arcs")
        figure.colorbar(image, ax=axes, shrink=0.8)
        figure.set_layout_engine("tight")

    return painted((side + 1.6, side + 0.8), paint, suffix, instead="'.csv'")


def _shown(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    if len(names) <= MOST_DRAWN:
        return list(names)
    heaviest: dict[str, float] = {}
    for record in records:
        for name in (record["parent"], record["child"]):
            heaviest[name] = max(heaviest.get(name, 0.0), record["weight"])
    kept = sorted(heaviest, key=lambda name: (-heaviest[name], name))[:MOST_DRAWN]
    return [name for name in names if name in kept]
