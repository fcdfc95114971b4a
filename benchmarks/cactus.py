"""A cactus plot: how many instances each solver has solved within a time."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure


def write_cactus(
    ours: Mapping[str, Sequence[float]],
    published: Mapping[str, Sequence[float]],
    path: Path,
) -> None:
    """Draw the seconds of the solved instances of each solver, cheapest first.

    Parameters
    ----------
    ours
        Seconds of each instance that a solver solved in this run, by name of the solver.
    published
        The same of figures from the literature, on other hardware; dashed.
    path
        Where to; the suffix decides the format.
    """
    figure = Figure(figsize=(7.5, 4.8), layout="constrained")
    axes = figure.add_subplot()
    for name, seconds in ours.items():
        axes.step(
            *_steps(seconds),
            where="post",
            label=f"{name} ({len(seconds)})",
            linewidth=1.8,
        )
    for name, seconds in published.items():
        label = f"{name}, published ({len(seconds)})"
        axes.step(
            *_steps(seconds), where="post", label=label, linestyle="--", linewidth=1.0
        )
    axes.set_xscale("log")
    axes.set_xlabel("seconds (published ones on older hardware, limit 7200 s)")
    axes.set_ylabel("instances solved")
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=8, loc="upper left")
    figure.savefig(path)


def _steps(seconds: Sequence[float]) -> tuple[list[float], list[int]]:
    times = [max(0.01, s) for s in sorted(seconds)]
    return [0.01, *times], list(range(len(times) + 1))
