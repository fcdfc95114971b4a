"""The optional packages that tables need: those that are not installed are named before any run."""

from collections.abc import Sequence
from importlib.util import find_spec
from itertools import chain
from typing import NamedTuple

from experiments.runner import Grid, Run


class Extra(NamedTuple):
    """An extra of the package: its name for pip, the module, and the package's name."""

    name: str
    module: str
    package: str

    @property
    def is_installed(self) -> bool:
        """Whether the module can be imported."""
        return find_spec(self.module) is not None


PLOT = Extra("plot", "matplotlib", "Matplotlib")
SKLEARN = Extra("sklearn", "sklearn", "scikit-learn")


BY_SKLEARN = ("knn", "iterative", "logistic", "mice", "forest", "boosted", "svm-rbf")
"""Methods of the tables that are scikit-learn's."""


def without_extras(
    plans: Sequence[tuple[Grid, Sequence[Run]]], *, draws: bool
) -> tuple[list[Run], list[str]]:
    """Return the runs that need an extra which is not installed, and a line for each such extra.

    Parameters
    ----------
    plans
        The grids with their runs.
    draws
        Whether figures are written.
    """
    left_out: list[Run] = []
    lines: list[str] = []
    if not SKLEARN.is_installed:
        all_runs = chain.from_iterable(runs for _, runs in plans)
        left_out = [run for run in all_runs if run.arguments["method"] in BY_SKLEARN]
    if left_out:
        methods = ", ".join(dict.fromkeys(run.arguments["method"] for run in left_out))
        lines.append(_line(SKLEARN, f"runs of {methods} are left out"))
    if (
        draws
        and not PLOT.is_installed
        and any("figures" in grid.content for grid, _ in plans)
    ):
        lines.append(_line(PLOT, "figures are not drawn"))
    return left_out, lines


def _line(extra: Extra, consequence: str) -> str:
    install = f"pip install 'exactlearn[{extra.name}]'"
    return f"{extra.package} is not installed, so {consequence}: {install}"
