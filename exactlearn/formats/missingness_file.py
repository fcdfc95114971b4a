"""Missingness graphs as text files.

A file has one statement for each variable with missing cells, as
:mod:`exactlearn.data.missingness_graph` defines it::

    # which cells are missing, and what that depends on
    income <- age, income
    children <- missing(income)
"""

import os
from pathlib import Path

from exactlearn._runtime.files import atomic_write, read_text
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.errors import FormatError, OptionError


def read_missingness(source: str | os.PathLike[str]) -> MissingnessGraph:
    """Read a missingness graph from a file, or from the text itself.

    Parameters
    ----------
    source
        The text of a graph, which has an arrow ``<-``; else a file.

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
    text = read_text(path)
    try:
        return MissingnessGraph.parse(text)
    except (FormatError, OptionError) as error:
        raise type(error)(f"{path}: {error}") from None


def write_missingness(graph: MissingnessGraph, path: str | os.PathLike[str]) -> None:
    """Write a missingness graph in one step, a statement a line.

    Raises
    ------
    OptionError
        When the file cannot be written.

    Examples
    --------
    >>> import exactlearn as el
    >>> write_missingness(el.MissingnessGraph.parse("lung <- smoke"), "missingness.txt")
    >>> read_missingness("missingness.txt").kind
    'MAR'
    """
    atomic_write(path, "".join(f"{statement}\n" for statement in graph.statements))
