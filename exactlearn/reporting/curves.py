"""Curves of several methods against size or time, on logarithmic axes."""

from collections.abc import Mapping, Sequence
from typing import Any

from exactlearn.reporting.plot import painted

Curves = Mapping[str, Sequence[tuple[float, float]]]
"""For each method its points."""

_LABELS = {
    "rows": "rows",
    "seconds": "CPU seconds",
    "kl": "Kullback-Leibler divergence (nats)",
    "log_likelihood": "log-likelihood per test row (nats)",
}


def curves_figure(curves: Curves, across: str, up: str, suffix: str) -> bytes:
    """Draw one curve a method.

    Parameters
    ----------
    curves
        The points; those that a logarithmic axis cannot show are left out.
    across, up
        What the axes show: ``rows``, ``seconds``, ``kl`` or ``log_likelihood``; all but the last
        on a logarithmic axis.
    suffix
        One of ``.svg``, ``.png`` and ``.pdf``.

    Raises
    ------
    MissingExtraError
        When Matplotlib is not installed.
    """

    def paint(figure: Any) -> None:
        axes = figure.add_subplot()
        for (method, points), marker in zip(curves.items(), _markers(len(curves)), strict=True):
            shown = [p for p in points if p[0] > 0 and (p[1] > 0 or up == "log_likelihood")]
            axes.plot(*zip(*shown, strict=True), marker=marker, markersize=4, label=method)
        axes.set_xscale("log")
        if up != "log_likelihood":
            axes.set_yscale("log")
        axes.set(xlabel=_LABELS[across], ylabel=_LABELS[up])
        axes.legend(loc="best", frameon=False)
        figure.set_layout_engine("tight")

    return painted((7.0, 4.2), paint, suffix, instead="'.json'")


def _markers(count: int) -> list[str]:
    return ["os^vDP*X"[k % 8] for k in range(count)]
