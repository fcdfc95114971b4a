"""Missingness graphs as files: in the grammar of the noun, or as JSON.

A text file has one statement for each variable with missing cells, as
:mod:`exactlearn.data.missingness_graph` defines it::

    # which cells are missing, and what that depends on
    income <- age, income
    children <- missing(income)

A JSON file (``.json``) has what ``MissingnessGraph.to_dict`` returns.
"""

import json
import os
from pathlib import Path
from typing import Any

from exactlearn._runtime.files import atomic_write, read_json, read_text, suffix_of
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.errors import FormatError, OptionError

_EXPECTED = (
    'an object such as {"income": {"variables": ["age"], "indicators": []}}: for each variable '
    "with missing cells the variables and the indicators that they depend on"
)


def read_missingness(source: str | os.PathLike[str]) -> MissingnessGraph:
    """Read a missingness graph from a file, or from the text itself.

    Parameters
    ----------
    source
        The text of a graph, which has an arrow ``<-``; else a file, ``.json`` or of text.

    Raises
    ------
    FormatError
        When the text or the file does not follow its format; says where.
    OptionError
        When the file cannot be read, or the graph contradicts itself.

    Examples
    --------
    >>> read_missingness("income <- age; children <- missing(income)").variables
    ('income', 'children')
    """
    if isinstance(source, str) and "<-" in source:
        return MissingnessGraph.parse(source)
    path = Path(source)
    if not os.fspath(source):
        raise OptionError("missingness graph: expected a file or a text such as 'income <- age'")
    if suffix_of(path) == ".json":
        return _of_json(path, read_json(path))
    text = read_text(path)
    try:
        return MissingnessGraph.parse(text)
    except (FormatError, OptionError) as error:
        raise type(error)(f"{path}: {error}") from None


def write_missingness(graph: MissingnessGraph, path: str | os.PathLike[str]) -> None:
    """Write a missingness graph in one step: ``.json`` as JSON, else as text, a statement a line.

    Raises
    ------
    OptionError
        When the file cannot be written.

    Examples
    --------
    >>> import exactlearn as el
    >>> el.write_missingness(el.MissingnessGraph.parse("lung <- smoke"), "missingness.txt")
    >>> el.read_missingness("missingness.txt").kind
    'MAR'
    """
    if suffix_of(Path(path)) == ".json":
        atomic_write(path, json.dumps(graph.to_dict(), ensure_ascii=False, indent=2) + "\n")
    else:
        atomic_write(path, "".join(f"{statement}\n" for statement in graph.statements))


def _of_json(path: Path, content: Any) -> MissingnessGraph:
    """Return the graph that a JSON file has."""
    if not isinstance(content, dict):
        raise FormatError(f"{path}: expected {_EXPECTED}")
    for name, entry in content.items():
        if not _is_entry(entry):
            raise FormatError(f"{path}: key {name!r}: expected {_EXPECTED}")
    indicators = {name: entry.get("indicators", []) for name, entry in content.items()}
    try:
        return MissingnessGraph(
            {name: tuple(entry["variables"]) for name, entry in content.items()},
            {name: tuple(others) for name, others in indicators.items() if others},
        )
    except OptionError as error:
        raise OptionError(f"{path}: {error}") from None


def _is_entry(entry: Any) -> bool:
    """Return whether a value holds the causes of one variable's missing cells."""
    return (
        isinstance(entry, dict)
        and {"variables"} <= entry.keys() <= {"variables", "indicators"}
        and all(isinstance(names, list) for names in entry.values())
        and all(isinstance(name, str) for names in entry.values() for name in names)
    )
