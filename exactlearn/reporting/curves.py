"""Curves of several methods against size or time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, nan
from typing import Any

from exactlearn.reporting.plot import painted

Points = Sequence[tuple[float, float]]

Curves = Mapping[str, Points]
"""For each method its points."""

_LABELS = {
    "rows": "rows",
    "seconds": "CPU seconds",
    "kl": "Kullback-Leibler divergence (nats)",
    "log_likelihood": "log-likelihood per test row (nats)",
    "train": "log-likelihood per row learnt from (nats)",
    "size": "effective size",
    "free parameters": "free parameters",
    "smoothing": "pseudo-count",
}

MOST_MARKERS = 30
"""Most marked points of a curve, about."""

_LINEAR = frozenset(
    {
        "log_likelihood",
        "train",
        "log P(Q | E), nats",
        "missing cells (%)",
        "k",
        "starts by score",
        "BIC (nats)",
        "CPU seconds per start",
    }
)
"""Axes that are not logarithmic."""


@dataclass(frozen=True, kw_only=True)
class CurvesFigure:
    """A figure with one curve a method.

    Parameters
    ----------
    curves
        The points; those that a logarithmic axis cannot show are left out.
    across, up
        What the axes show. Log-likelihoods and shares stand on a linear axis, all else on a
        logarithmic one.
    marks
        Single points to compare with, such as the generating model: squares with their names.
    levels
        Heights of horizontal lines by their names, such as the optimum.
    is_cut
        Whether the vertical axis ends where only one curve goes on below.
    """

    curves: Curves
    across: str
    up: str
    marks: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    levels: Mapping[str, float] = field(default_factory=dict)
    is_cut: bool = False

    def drawn(self, suffix: str) -> bytes:
        """Draw the figure as one of ``.svg``, ``.png`` and ``.pdf``.

        Raises
        ------
        MissingExtraError
            When Matplotlib is not installed.
        """
        return painted((7.0, 4.2), self._paint, suffix, instead="'.json'")

    def _paint(self, figure: Any) -> None:
        axes = figure.add_subplot()
        lowest = []
        for k, (method, points) in enumerate(self.curves.items()):
            shown = sorted(p for p in points if self._can_show(p)) or [(nan, nan)]
            lowest.append(min(y for _, y in shown))
            axes.plot(*zip(*shown, strict=True), marker="o^vDP*X"[k % 7], markersize=4,
                      linewidth=1, label=method,
                      markevery=max(1, len(shown) // MOST_MARKERS))  # fmt: skip
        for name, point in self.marks.items():
            axes.plot(*point, marker="s", markersize=8, linestyle="", fillstyle="none",
                      color="black", label=name)  # fmt: skip
        for name, level in self.levels.items():
            axes.axhline(level, color="grey", linestyle="--", linewidth=1, label=name)
        axes.set_xscale("linear" if self.across in _LINEAR else "log")
        axes.set_yscale("linear" if self.up in _LINEAR else "log")
        known = sorted(y for y in lowest if isfinite(y))
        if self.is_cut and len(known) > 1:
            bottom, top = known[1], axes.get_ylim()[1]
            axes.set_ylim(bottom - 0.08 * (top - bottom), top)
        for axis, name in ((axes.xaxis, self.across), (axes.yaxis, self.up)):
            if name not in _LINEAR:
                _mark_few(axis)
        axes.set(xlabel=_labelled(self.across), ylabel=_labelled(self.up))
        axes.legend(loc="best", frameon=False)

    def _can_show(self, point: tuple[float, float]) -> bool:
        axes = zip(point, (self.across, self.up), strict=True)
        return all(isfinite(value) and (value > 0 or axis in _LINEAR) for value, axis in axes)


def _mark_few(axis: Any) -> None:
    """Label a logarithmic axis of less than two decades at 1, 2 and 5, where the default crowds."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    if high < 100 * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())


def _labelled(axis: str) -> str:
    return _LABELS.get(axis, axis)
