"""Run files: what a declared pipeline consists of.

A run file is TOML with the sections ``[data]``, ``[score]``, ``[search]``, ``[network]``,
``[decision_graph]``, ``[[queries]]`` and ``[figures]``, whose keys are the fields below, of the
classes that the command line makes its options from, and a section for each further step (see
:mod:`.steps`).
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from exactlearn.commands import COMMANDS, options_of
from exactlearn.commands.declarations import Augment
from exactlearn.commands.declare import About, Declared, option
from exactlearn.commands.sections import (
    Criterion,
    FigureFormat,
    GraphParameters,
    NetworkParameters,
    Reading,
    Search,
)
from exactlearn.commands.steps import Step, is_step, read_steps, with_files
from exactlearn.errors import OptionError, did_you_mean
from exactlearn.formats.run_file import from_table, literal, read_declared, swept, to_toml
from exactlearn.instances import bundled

MOST_RUNS = 10_000
"""Most runs of a sweep."""


@dataclass(frozen=True, kw_only=True)
class Data(Reading):
    """Section ``[data]``: the table, and the tables to judge what is learned by.

    All are relative to the run file, or names of bundled tables.

    Parameters
    ----------
    file
        The table.
    truth
        The same table without missing cells, if known.
    test
        Rows that are not learned from, to report the log-likelihood of.
    """

    file: str = option(reads=True)
    truth: str | None = option(None, reads=True)
    test: str | None = option(None, reads=True)


@dataclass(frozen=True, kw_only=True)
class Queries(Declared):
    """One entry of ``[[queries]]``: the posterior of the targets given the evidence.

    Parameters
    ----------
    targets
        Variables whose posterior is wanted; all without evidence when empty.
    evidence
        Variable to state.
    """

    targets: tuple[str, ...] = option(())
    evidence: Mapping[str, str] = option({})


@dataclass(frozen=True, kw_only=True)
class Figures(Declared):
    """Section ``[figures]``: the drawings of network and decision graph.

    Parameters
    ----------
    formats
        File formats; may be none.
    """

    formats: tuple[FigureFormat, ...] = option(("svg",))


@dataclass(frozen=True, kw_only=True)
class Run(Declared):
    """A run file: a title for the report, and its sections.

    Parameters
    ----------
    pipeline
        Whether network and decision graph are learned; if not, only steps are taken.
    """

    title: str = ""
    pipeline: bool = option(True)
    data: Data
    score: Criterion = field(default_factory=Criterion)
    search: Search = field(default_factory=Search)
    network: NetworkParameters = field(default_factory=NetworkParameters)
    decision_graph: GraphParameters = field(default_factory=GraphParameters)
    queries: tuple[Queries, ...] = ()
    figures: Figures = field(default_factory=Figures)
    steps: tuple[Step, ...] = field(default=(), metadata={"apart": True})
    cluster: str | None = field(default=None, metadata={"apart": True})

    @property
    def learning(self) -> Augment:
        """The sections on learning as the options of one command."""
        sections = (vars(section) for section in (self.score, self.search, self.network))
        declared = {k: v for own in sections for k, v in own.items()}
        return Augment(source=self.data.file, cluster=self.cluster, **declared)

    def to_toml(self) -> str:
        """Return the text of the run file, every default filled in."""
        texts = [to_toml(self)]
        for step in self.steps:
            texts.append(f"\n[[{step.command}]]\noutput = {literal(step.output)}\n")
            texts.append(to_toml(step.options, step.command))
        return "".join(texts)


def read_run(path: Path) -> Run:
    """Read a run file without a sweep; the files that lie beside it become absolute paths.

    Raises
    ------
    FormatError
        When the file is not TOML.
    OptionError
        When a key is unknown, missing, of the wrong type or out of range.
    """
    return read_declared(path, lambda table: run_from(table, path.resolve().parent))


Varied = dict[str, Any]
"""The keys of a run file that a sweep varies, with their values in one run."""


def read_runs(path: Path) -> list[tuple[Varied, Run]]:
    """Read the runs of a run file: one, or one for each combination of values in a sweep.

    Raises
    ------
    FormatError, OptionError
        As :func:`read_run`; an `OptionError` also when a list of values is empty, or there are too
        many runs.
    """
    beside = path.resolve().parent
    return read_declared(
        path, lambda table: [(varied, run_from(one, beside)) for varied, one in _grid(table)]
    )


def _grid(table: Mapping[str, Any]) -> Iterator[tuple[Varied, Mapping[str, Any]]]:
    """Yield the tables of a sweep, the last key varied fastest."""
    lists = list(swept(table, Run))
    for command in filter(is_step, table):
        entries = table[command] if isinstance(table[command], list) else [table[command]]
        for number, entry in enumerate(entries):
            at: tuple[str, ...] = (command, str(number)) if len(entries) > 1 else (command,)
            if isinstance(entry, dict):
                lists += swept(entry, options_of(command), at)
    for path, values in lists:
        if not values:
            raise OptionError(f"key '{'.'.join(path)}': expected a value, or several, found none")
    if (runs := prod(len(values) for _, values in lists)) > MOST_RUNS:
        raise OptionError(
            f"a sweep over {', '.join('.'.join(path) for path, _ in lists)} has {runs:,} runs, "
            f"more than {MOST_RUNS:,}; list fewer values"
        )
    for chosen in product(*(values for _, values in lists)):
        one = deepcopy(dict(table))
        for (path, _), value in zip(lists, chosen, strict=True):
            place: Any = one
            for part in path[:-1]:
                place = place[int(part) if isinstance(place, list) else part]
            place[path[-1]] = value
        yield {".".join(path): v for (path, _), v in zip(lists, chosen, strict=True)}, one


def run_from(table: Mapping[str, Any], beside: Path) -> Run:
    """Return the run of a parsed file that lies in a folder.

    Raises
    ------
    OptionError
        As :func:`read_run`.
    """
    steps = [key for key in table if is_step(key)]
    sections = [one.name for one in fields(Run)]
    for key in table:
        if key not in steps and key not in sections:
            known = [*sections, *filter(is_step, COMMANDS)]
            raise OptionError(f"unknown key '{key}'{did_you_mean(key, known)}")
    run = from_table({key: table[key] for key in table if key not in steps}, Run)
    if run.queries and not run.pipeline:
        raise OptionError("queries: the pipeline answers them; with pipeline = false use [query]")

    def placed(name: str, about: About) -> str:
        own = beside / name
        known = (p for p in bundled() if p.suffix == ".csv" and name in (p.stem, p.name))
        return str(own if own.exists() else next(known, own))

    data, search = with_files(run.data, placed), with_files(run.search, placed)
    return replace(run, data=data, search=search, steps=read_steps(table, beside))
