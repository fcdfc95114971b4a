"""Base classes of the public classes: short texts, views in notebooks, equality by value.

How an object looks in a notebook is written in :mod:`exactlearn.reporting.notebook`, which knows
all classes and stands above them. It is imported by its name, when an object is first shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray


class Displayed:
    """A class with a short ``repr`` and a view in notebooks.

    A subclass names the attributes that its ``repr`` shows. Of collections the number of elements
    is shown, and nothing of what is ``None`` or empty.

    Examples
    --------
    >>> class Path(Displayed, shown="start arcs=steps"):
    ...     start, steps = "a", [("a", "b"), ("b", "c")]
    >>> Path()
    Path(start='a', arcs=2)
    """

    _shown: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, shown: str | None = None, **kwargs: Any) -> None:
        """Keep the names of the attributes that ``repr`` shows."""
        super().__init_subclass__(**kwargs)
        if shown is not None:
            cls._shown = tuple(shown.split())

    @property
    def _figures(self) -> dict[str, str]:
        """The figures that ``repr`` and the view in a notebook show, by name."""
        pairs = (name.partition("=") for name in self._shown)
        figures = {name: _figure(getattr(self, of or name)) for name, _, of in pairs}
        return {name.removeprefix("n_"): text for name, text in figures.items() if text}

    def __repr__(self) -> str:
        """Return one line with the class and the figures that matter."""
        listed = (f"{name}={text}" for name, text in self._figures.items())
        return f"{type(self).__name__}({', '.join(listed)})"

    def _repr_html_(self) -> Any:
        """Return the view of a notebook, if there is more than ``repr``."""
        return import_module("exactlearn.reporting.notebook").html(self)

    def _repr_svg_(self) -> Any:
        """Return the picture of a graph, for programs that show no HTML."""
        return import_module("exactlearn.reporting.notebook").svg(self)


class ByValue(Displayed):
    """A dataclass whose objects are equal when all their fields are, arrays by their elements.

    Arrays can be changed in place, so that the objects have no hash unless a subclass defines one.
    """

    def __eq__(self, other: object) -> bool:
        """Return whether an object of the same class has equal fields; NaN equals NaN."""
        if type(other) is not type(self):
            return NotImplemented
        if self is other:
            return True
        names = [field.name for field in fields(self) if field.compare]  # type: ignore[arg-type]
        return all(_equal(getattr(self, name), getattr(other, name)) for name in names)


def for_counts(counts: str | None) -> str:
    """Return the counts that a status is for, where it is not for the rows of a table.

    Examples
    --------
    >>> for_counts("expected"), for_counts("f-mar"), for_counts(None)
    (' for expected counts', ' for counts by f-mar', '')
    """
    if counts is None:
        return ""
    return (
        " for expected counts" if counts == "expected" else f" for counts by {counts}"
    )


def _equal(first: Any, second: Any) -> bool:
    """Return whether two values are equal, arrays by their elements; NaN equals NaN."""
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return _equal_arrays(np.asarray(first), np.asarray(second))
    if isinstance(first, tuple | list) and type(first) is type(second):
        return len(first) == len(second) and all(map(_equal, first, second))
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(
            _equal(value, second[key]) for key, value in first.items()
        )
    return bool(first == second or (first != first and second != second))


def _equal_arrays(first: NDArray[Any], second: NDArray[Any]) -> bool:
    are_floats = first.dtype.kind == second.dtype.kind == "f"
    return np.array_equal(first, second, equal_nan=are_floats)


def _figure(value: Any) -> str:
    """Return a figure for people; nothing of what is not there."""
    if isinstance(value, str):
        return repr(value) if value else ""
    if isinstance(value, int | np.integer | np.bool_):
        return str(value)
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, Sequence | Mapping | np.ndarray | frozenset):
        return str(len(value)) if len(value) else ""
    return "" if value is None else repr(value)
