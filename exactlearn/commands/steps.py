"""Steps of a run file: commands, each a section with the command's name and its options as keys.

The pipeline stands for the steps that :func:`pipeline` yields. An option that a step leaves out has
the value of ``[data]``, ``[score]``, ``[search]`` or ``[network]``, else the command's own default.
A file is one that the run or an earlier step writes, else one beside the run file, else a bundled
one.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, TypeVar

from exactlearn._runtime.files import suffix_of
from exactlearn.commands import COMMANDS, options_of
from exactlearn.commands.declare import About, Declared, about_of, option
from exactlearn.commands.sections import (
    Criterion,
    GraphParameters,
    NetworkParameters,
    Reading,
    Search,
)
from exactlearn.errors import OptionError, did_you_mean, shown
from exactlearn.formats.run_file import from_table, read_declared
from exactlearn.instances import bundled

D = TypeVar("D", bound=Declared)
Table = dict[str, Any]
"""A parsed run file, or a part of one."""

WRITTEN = frozenset(
    {"network.bif", "model.pdg.json", "completed.csv", "result.json", "run.toml"}
)
"""Files that the run itself writes."""

NO_STEPS = ("run", "instances")
"""Commands that are no steps of a run."""

MAX_RUNS = 10_000
"""Largest number of runs of a sweep."""


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


class RunFile(Declared):
    """A run file without its steps: a title for the report, and sections.

    Parameters
    ----------
    pipeline
        Whether network and decision graph are learned; if not, only steps are taken.
    """

    title: str = ""
    pipeline: bool = True
    data: Data
    score: Criterion = field(default_factory=Criterion)
    search: Search = field(default_factory=Search)
    network: NetworkParameters = field(default_factory=NetworkParameters)
    decision_graph: GraphParameters = field(default_factory=GraphParameters)


SHARED: Mapping[str, type[Declared]] = {
    "data": Data,
    "score": Criterion,
    "search": Search,
    "network": NetworkParameters,
}
"""Sections that hold for all steps which have such options."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """A command with its options.

    Parameters
    ----------
    command
        Its name.
    options
        An instance of the class of its options.
    output
        File or folder to write, in the folder of the run; empty for the record alone.
    section
        Path of keys in the run's record below which the keys of its record stand; ``None`` for a
        declared step, whose record is an entry of the list ``steps``.
    """

    command: str
    options: Declared
    output: str = ""
    section: tuple[str, ...] | None = None

    @property
    def written(self) -> set[str]:
        """The files and folders that the step writes, by their names in the folder of the run."""
        files = {str(value) for _, value, about in self.options.files() if about.writes}
        return files | {self.output} - {"", "."}


def read_runs(path: Path) -> list[tuple[Table, Table]]:
    """Read the runs of a run file: one, or one for each combination of values in a sweep.

    Each is a pair: the keys that the sweep varies with their values, and the table of the run, in
    which files that lie beside the run file have absolute paths.

    Raises
    ------
    FormatError
        When the file is not TOML.
    OptionError
        When a key is unknown, missing, of the wrong type or out of range, a list of values is
        empty, or there are too many runs.
    """
    beside = path.resolve().parent
    return read_declared(
        path,
        lambda table: [(varied, checked(run, beside)) for varied, run in _grid(table)],
    )


def checked(table: Mapping[str, Any], beside: Path) -> Table:
    """Return the table of a run, once it is checked, with the paths of the files beside it."""
    sections = [field.name for field in fields(RunFile)]
    choices = [*sections, *filter(is_step, COMMANDS)]
    # unknown keys first: everything else may follow from a misspelt one
    for key in table:
        if key not in choices:
            raise OptionError(f"unknown key '{key}'{did_you_mean(key, choices)}")
    declared(table)
    written = WRITTEN.union(*(step.written for step in declared_steps(table)))

    # names of files beside the run file become paths, those that the run writes stay
    run = deepcopy(dict(table))
    readers = [(SHARED[key], run[key]) for key in SHARED if key in run]
    readers += [(options_of(command), entry) for command, entry in entries(run)]
    for kind, entry in readers:
        for key, about in _abouts(kind).items():
            name = entry.get(key)
            is_input = about.reads and isinstance(name, str) and about.is_file(name)
            if is_input and not is_own(name, written):
                entry[key] = _located(name, beside)
    return run


def _located(name: str, folder: Path) -> str:
    """Return the path of a file in the folder of a run file; a bundled one keeps its name."""
    is_bundled = any(name in (path.stem, path.name) for path in bundled())
    has_bundled = folder == bundled()[0].parent.resolve()
    path = folder / name
    return name if is_bundled and (has_bundled or not path.exists()) else str(path)


def declared(table: Mapping[str, Any]) -> RunFile:
    """Return the sections of a run file."""
    return from_table({k: v for k, v in table.items() if not is_step(k)}, RunFile)


def is_step(name: str) -> bool:
    """Return whether a key of a run file is a command that can be a step."""
    return name in COMMANDS and name not in NO_STEPS


def entries(table: Mapping[str, Any]) -> Iterator[tuple[str, Table]]:
    """Yield command and keys of each declared step of a run, in the order of their sections."""
    for name in filter(is_step, table):
        for entry in table[name] if isinstance(table[name], list) else [table[name]]:
            yield name, entry


def declared_steps(table: Mapping[str, Any]) -> list[Step]:
    """Return the declared steps of a run.

    Raises
    ------
    OptionError
        When a key is unknown, or two steps write the same file.
    """
    steps: list[Step] = []
    written = set(WRITTEN)
    for command, entry in entries(table):
        step = _step(command, entry, table, written)
        # A later step would overwrite what an earlier one wrote.
        if twice := sorted(step.written & written):
            raise OptionError(
                f"{command}: '{twice[0]}' is written before; name another file with 'output'"
            )
        steps.append(step)
        written |= step.written
    return steps


def pipeline(table: Mapping[str, Any], *, is_complete: bool) -> Iterator[Step]:
    """Yield the steps of the pipeline of a run, from the network to the answers.

    Parameters
    ----------
    table
        The run.
    is_complete
        Whether the table of data has no missing cells, so that the network is solved for.
    """
    run = declared(table)
    network = {"source": "network.bif"}
    graph = {"source": "model.pdg.json"}
    # the files of the learned network lie in the folder of the run itself
    learning: Table = {"output": "."}
    if not is_complete and run.data.truth is not None:
        learning["truth"] = run.data.truth
    refining = asdict(run.decision_graph)
    if refining["smoothing"] == "cv":  # the command's own default
        del refining["smoothing"]
    plan: list[tuple[tuple[str, ...], str, Table]] = [
        ((), "solve" if is_complete else "augment", learning),
        (
            ("network",),
            "fit",
            {**network, "output": "network.bif", **asdict(run.network)},
        ),
        (("decision_graph",), "compile", {**network, "output": "model.pdg.json"}),
        (("refinement",), "fit", {**graph, "output": "model.pdg.json", **refining}),
    ]
    if run.data.test is not None:
        plan += [
            (("held_out", "network"), "evaluate", network),
            (("held_out", "decision_graph"), "evaluate", graph),
        ]
    for section, command, entry in plan:
        yield replace(_step(command, entry, table, WRITTEN), section=section)


def placed(step: Step, folder: Path, written: Collection[str]) -> Declared:
    """Return the options of a step with the files that the run writes in its folder."""

    def place(name: str, about: About) -> str:
        return str(folder / name) if about.writes or is_own(name, written) else name

    return moved(step.options, place)


def moved(options: D, name: Callable[[str, About], str]) -> D:
    """Return options with each name of a file replaced by a function of it."""
    names = {
        key: type(value)(name(str(value), about))
        for key, value, about in options.files()
    }
    return replace(options, **names)  # type: ignore[type-var]


def is_own(name: str, written: Collection[str]) -> bool:
    """Return whether a run has written a file, or the folder that it lies in, or it is a text."""
    return "<-" in name or any(
        str(place) in written for place in (Path(name), *Path(name).parents)
    )


def _grid(table: Mapping[str, Any]) -> Iterator[tuple[Table, Table]]:
    """Yield the varied values and the table of each run of a sweep, the last key fastest."""
    table = dict(table)
    # each varied key by its path, with its values
    values_of = dict(_varied(table.pop("sweep", {})))
    if (runs := prod(map(len, values_of.values()))) > MAX_RUNS:
        raise OptionError(
            f"a sweep over {', '.join(map('.'.join, values_of))} has {runs:,} runs, more than "
            f"{MAX_RUNS:,}; list fewer values"
        )
    for values in product(*values_of.values()):
        run = deepcopy(table)
        varied = dict(zip(map(".".join, values_of), values, strict=True))
        for (*section, key), value in zip(values_of, values, strict=True):
            # a key of a repeated section is varied in all of its tables
            tables = list(_tables_at(run, section))
            if not tables:
                at = ".".join((*section, key))
                raise OptionError(
                    f"key 'sweep.{at}': expected the key of a section or a step"
                )
            for entry in tables:
                entry[key] = value
        yield varied, run


def _tables_at(value: Any, path: Sequence[str]) -> Iterator[Table]:
    """Yield the table at a path, made where it is missing; of a list of tables, each."""
    match value:
        case list():
            for entry in value:
                yield from _tables_at(entry, path)
        case dict() if path:
            yield from _tables_at(value.setdefault(path[0], {}), path[1:])
        case dict():
            yield value


def _varied(
    value: Any, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """Yield the path of each key that a sweep varies, and its values."""
    match value:
        case dict():
            for key, inner in value.items():
                yield from _varied(inner, (*path, key))
        # A list at the top would have no section that it belongs to.
        case [_, *_] if len(path) > 1:
            yield path, value
        case _:
            key = ".".join(("sweep", *path))
            raise OptionError(
                f"key '{key}': expected a list of values, found {shown(value)}"
            )


def _step(
    command: str, entry: Table, table: Mapping[str, Any], written: Collection[str]
) -> Step:
    """Return the step that an entry of a run file declares, completed by the sections for all.

    Parameters
    ----------
    command
        Its name.
    entry
        Keys and values of the step, from the file.
    table
        The run.
    written
        Files that the run and the steps before write.
    """
    if not isinstance(entry, Mapping):
        raise OptionError(f"key '{command}': expected a table, found {shown(entry)}")
    kind = options_of(command)
    abouts = _abouts(kind)

    # the keys of the entry go before its default files
    values = _inputs(abouts, entry, table.get("data", {})) | entry
    tables = [
        str(values.get(key, ""))
        for key, about in abouts.items()
        if about.in_run in ("file", "test")
    ]
    # a table that the run has written is read as it was written; so are scores
    skipped = {"data"} if any(is_own(name, written) for name in tables) else set()
    if any(suffix_of(Path(name)) in (".jkl", ".scores") for name in tables):
        skipped = {"data", "score", "network"}
    for section in SHARED.keys() & table.keys() - skipped:
        values = _of_section(section, table[section], abouts) | values

    # an option of the sections that has no effect on this step is left out, one of the step refused
    output = values.pop("output", None)
    options = from_table(values, kind, command)
    options.refuse_unused(entry)
    unused = {name.rstrip("_") for name in options.unused()}
    used = {key: value for key, value in values.items() if key not in unused}
    options = from_table(used, kind, command)
    if output is None:
        output = options.output_in_run
    if not isinstance(output, str):
        raise OptionError(
            f"key '{command}.output': expected a text, found the value {shown(output)}"
        )
    return Step(command=command, options=options, output=output)


def _inputs(
    abouts: Mapping[str, About], entry: Table, data: Mapping[str, Any]
) -> Table:
    """Return the files that a step reads where it names none: of ``[data]``, or of the run."""
    inputs = {}
    for key, about in abouts.items():
        if about.in_run is not None and entry.keys().isdisjoint(about.unless):
            inputs[key] = (
                about.in_run if "." in about.in_run else data.get(about.in_run)
            )
    return {key: name for key, name in inputs.items() if name is not None}


def _of_section(section: str, values: Table, abouts: Mapping[str, About]) -> Table:
    """Return the values of a section whose options a step has, too."""
    return {
        key: values[key]
        for key, about in _abouts(SHARED[section]).items()
        if key in values and abouts.get(key) is about
    }


def _abouts(kind: type[Declared]) -> dict[str, About]:
    """Return the descriptions of options by their keys in a run file."""
    return {key.rstrip("_"): about_of(field) for key, field in kind.known().items()}
