"""SL-curves as a figure: log-likelihood of training and of test rows against effective size."""

from math import isfinite
from typing import Any

from exactlearn.evaluation.sl_curves import Rows, SLCurves, front
from exactlearn.reporting.plot import painted

_NAMES: dict[Rows, str] = {"train": "training rows", "test": "test rows"}


def sl_curves_figure(curves: SLCurves, suffix: str) -> bytes:
    """Draw the models of each language in two panels, as THESIS, Figures 5.1 to 5.6.

    The horizontal line is the rows' own log-likelihood, -H, which no model exceeds, where it is not
    far above all models; the grey steps are the front that no model dominates; models that overfit
    are hollow.

    Parameters
    ----------
    curves
        The models.
    suffix
        One of ``.svg``, ``.png`` and ``.pdf``.

    Raises
    ------
    MissingExtraError
        When Matplotlib is not installed.
    """

    def paint(figure: Any) -> None:
        panels = figure.subplots(1, 2)
        bounds = (curves.train_bound, curves.test_bound)
        for axes, rows, bound in zip(panels, _NAMES, bounds, strict=True):
            best = front(curves.points, rows)
            axes.step(
                [p.effective_size for p in best],
                [getattr(p, rows) for p in best],
                where="post",
                color="0.8",
                linewidth=5,
                label="front",
            )
            for k, language in enumerate(curves.languages):
                _paint_language(axes, curves, language, rows, k)
            axes.axhline(bound, color="0.3", linestyle="--", linewidth=1, label="-H of the rows")
            axes.set_xscale("log")
            axes.set(xlabel="effective size", title=f"{_NAMES[rows]}, -H = {bound:.2f}")
            axes.set_ylim(_shown(curves, rows, bound))
        panels[0].set_ylabel("log-likelihood per row (nats)")
        panels[1].plot([], [], "o", color="0.3", fillstyle="none", label="overfits")
        panels[1].legend(loc="best", frameon=False)

    return painted((10.0, 4.2), paint, suffix, instead="'.json'")


def _shown(curves: SLCurves, rows: Rows, bound: float) -> tuple[float | None, float | None]:
    """Return the ends of the vertical axis: where one language goes on alone, and not far above."""
    logs = [[getattr(p, rows) for p in curves.of(language)] for language in curves.languages]
    lowest = sorted(value for value in map(min, logs) if isfinite(value))[:2]
    if not lowest:
        return None, None
    best = max(map(max, logs))
    span = max(best - lowest[-1], 1e-3)
    top = bound if bound <= best + span else best
    return lowest[-1] - 0.1 * span, top + 0.1 * span


def _paint_language(axes: Any, curves: SLCurves, language: str, rows: Rows, k: int) -> None:
    own, color, marker = curves.of(language), f"C{k}", "os^vDP*X"[k % 8]
    for overfits in (False, True):
        some = [p for p in own if curves.overfits(p) == overfits]
        axes.plot(
            [p.effective_size for p in some],
            [getattr(p, rows) for p in some],
            marker,
            color=color,
            markersize=5,
            fillstyle="none" if overfits else "full",
        )
    sizes, logs = [p.effective_size for p in own], [getattr(p, rows) for p in own]
    axes.plot(sizes, logs, color=color, linewidth=1, label=language)
