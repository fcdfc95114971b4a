"""Run files: what a declared pipeline consists of.

A run file is TOML with the sections ``[data]``, ``[score]``, ``[search]``, ``[network]``,
``[decision_graph]``, ``[[queries]]`` and ``[figures]``; its keys are the fields below, of the
classes that the command line makes its options from.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from exactlearn.commands.declare import Declared, option
from exactlearn.commands.sections import (
    Criterion,
    FigureFormat,
    GraphParameters,
    NetworkParameters,
    Reading,
    Search,
)
from exactlearn.formats.run_file import read_declared


@dataclass(frozen=True, kw_only=True)
class Data(Reading):
    """Section ``[data]``: the table, and the tables to judge what is learned by.

    All are relative to the run file.
    """

    file: str = option(help="The table.")
    truth: str | None = option(None, help="The same table without missing cells, if known.")
    test: str | None = option(
        None, help="Rows that are not learned from, to tell the log-likelihood of."
    )


@dataclass(frozen=True, kw_only=True)
class Queries(Declared):
    """One entry of ``[[queries]]``: the posterior of the targets given the evidence."""

    targets: tuple[str, ...] = option(
        (), help="Variables asked for; all without evidence when empty."
    )
    evidence: Mapping[str, str] = option({}, help="Variable to state.")


@dataclass(frozen=True, kw_only=True)
class Figures(Declared):
    """Section ``[figures]``: the drawings of network and decision graph."""

    formats: tuple[FigureFormat, ...] = option(("svg", "png"), help="File formats; may be none.")


@dataclass(frozen=True, kw_only=True)
class Run(Declared):
    """A run file: a title for the report, and its sections."""

    title: str = ""
    data: Data
    score: Criterion = field(default_factory=Criterion)
    search: Search = field(default_factory=Search)
    network: NetworkParameters = field(default_factory=NetworkParameters)
    decision_graph: GraphParameters = field(default_factory=GraphParameters)
    queries: tuple[Queries, ...] = ()
    figures: Figures = field(default_factory=Figures)


def read_run(path: Path) -> Run:
    """Read a run file; its data files become absolute paths.

    Raises
    ------
    FormatError
        When the file is not TOML.
    OptionError
        When a key is unknown, missing, of the wrong type or out of range.
    """
    run = read_declared(path, Run)
    folder = path.resolve().parent
    data = replace(
        run.data,
        file=str(folder / run.data.file),
        truth=str(folder / run.data.truth) if run.data.truth else None,
        test=str(folder / run.data.test) if run.data.test else None,
    )
    return replace(run, data=data)
