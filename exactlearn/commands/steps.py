"""Steps of a run file: commands, each a section with the command's name and its options as keys.

The pipeline stands for the steps that :func:`pipeline` yields. What a step does not say is what
``[data]``, ``[score]``, ``[search]`` and ``[network]`` say; only then do the command's own defaults
hold. A file is one that the run or an earlier step writes, else one beside the run file, else a
bundled one.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, TypeVar

from exactlearn._runtime.files import suffix_of
from exactlearn.commands import COMMANDS, options_of, sections
from exactlearn.commands.declare import About, Declared, about_of, option
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

MOST_RUNS = 10_000
"""Most runs of a sweep."""


class Data(sections.Reading):
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
    pipeline: bool = option(True)
    data: Data
    score: sections.Criterion = field(default_factory=sections.Criterion)
    search: sections.Search = field(default_factory=sections.Search)
    network: sections.NetworkParameters = field(
        default_factory=sections.NetworkParameters
    )
    decision_graph: sections.GraphParameters = field(
        default_factory=sections.GraphParameters
    )


SHARED: Mapping[str, type[Declared]] = {
    "data": Data,
    "score": sections.Criterion,
    "search": sections.Search,
    "network": sections.NetworkParameters,
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
    part
        Key of the run's record that its record stands below; empty for the run's own keys.
    """

    command: str
    options: Declared
    output: str = ""
    part: str = "steps"

    @property
    def written(self) -> set[str]:
        """The files and folders that the step writes, by their names in the folder of the run."""
        files = {str(value) for _, value, about in self.options.files() if about.writes}
        return files | {self.output} - {"", "."}


def read_runs(path: Path) -> list[tuple[Table, Table]]:
    """Read the runs of a run file: one, or one for each combination of values in a sweep.

    With each stand the keys that the sweep varies, and their values. Files that lie beside the run
    file become absolute paths.

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
        lambda table: [(varied, checked(one, beside)) for varied, one in _grid(table)],
    )


def checked(table: Mapping[str, Any], beside: Path) -> Table:
    """Return the table of a run whose files beside it have their paths, once all is checked."""
    sections = [one.name for one in fields(RunFile)]
    for key in table:
        if not is_step(key) and key not in sections:
            known = [*sections, *filter(is_step, COMMANDS)]
            raise OptionError(f"unknown key '{key}'{did_you_mean(key, known)}")
    declared(table)
    written = WRITTEN.union(*(step.written for step in declared_steps(table)))

    there = {part for path in bundled() for part in (path.stem, path.name)}
    is_bundled = beside == bundled()[0].parent.resolve()
    found = deepcopy(dict(table))
    shared = [(SHARED[key], found[key]) for key in SHARED if key in found]
    for kind, entry in [
        *shared,
        *((options_of(name), entry) for name, entry in entries(found)),
    ]:
        for key, about in _known(kind).items():
            name = entry.get(key)
            if not about.reads or not isinstance(name, str) or is_own(name, written):
                continue
            if name not in there or ((beside / name).exists() and not is_bundled):
                entry[key] = str(beside / name)
    return found


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
    found: list[Step] = []
    written = set(WRITTEN)
    for command, entry in entries(table):
        step = _step(command, entry, table, written)
        if twice := sorted(step.written & written):
            raise OptionError(
                f"{command}: '{twice[0]}' is written before; name another file with 'output'"
            )
        found.append(step)
        written |= step.written
    return found


def pipeline(table: Mapping[str, Any], *, is_complete: bool) -> Iterator[Step]:
    """Yield the steps of the pipeline of a run, from the network to the answers.

    Parameters
    ----------
    table
        The run.
    is_complete
        Whether the table of data has no missing cells, so that the network is solved for.
    """
    run, network, graph = declared(table), "network.bif", "model.pdg.json"
    refined = {
        k: v for k, v in asdict(run.decision_graph).items() if v != "cv"
    }  # the default
    truth = {} if is_complete or run.data.truth is None else {"truth": run.data.truth}
    held_out = (
        []
        if run.data.test is None
        else [("network", network), ("decision_graph", graph)]
    )
    plan: list[tuple[str, str, Table]] = [
        ("", "solve" if is_complete else "augment", {"output": ".", **truth}),
        (
            "network",
            "fit",
            {"source": network, "output": network, **asdict(run.network)},
        ),
        ("decision_graph", "compile", {"source": network, "output": graph}),
        ("refinement", "fit", {"source": graph, "output": graph, **refined}),
        *(
            (f"held_out.{part}", "evaluate", {"source": model})
            for part, model in held_out
        ),
    ]
    for part, command, entry in plan:
        yield replace(_step(command, entry, table, WRITTEN), part=part)


def placed(step: Step, folder: Path, written: Collection[str]) -> Declared:
    """Return the options of a step with the files of the run in its folder."""

    def place(name: str, about: About) -> str:
        return str(folder / name) if about.writes or is_own(name, written) else name

    return moved(step.options, place)


def moved(options: D, name: Callable[[str, About], str]) -> D:
    """Return options with other names of files, given those that they have."""
    changed = {
        key: type(value)(name(str(value), about))
        for key, value, about in options.files()
    }
    return replace(options, **changed)  # type: ignore[type-var]


def is_own(name: str, written: Collection[str]) -> bool:
    """Return whether a run has written a file, or the folder that it lies in, or it is a text."""
    return "<-" in name or any(
        str(place) in written for place in (Path(name), *Path(name).parents)
    )


def _grid(table: Mapping[str, Any]) -> Iterator[tuple[Table, Mapping[str, Any]]]:
    """Yield the tables of a sweep, the last key varied fastest."""
    table = dict(table)
    lists = dict(_lists(table.pop("sweep", {})))
    if (runs := prod(map(len, lists.values()))) > MOST_RUNS:
        raise OptionError(
            f"a sweep over {', '.join(map('.'.join, lists))} has {runs:,} runs, more than "
            f"{MOST_RUNS:,}; list fewer values"
        )
    for chosen in product(*lists.values()):
        one = deepcopy(table)
        for (*parts, key), value in zip(lists, chosen, strict=True):
            places: list[Any] = [one]
            for section in parts:
                inner = [place.setdefault(section, {}) for place in places]
                each = [
                    p
                    for own in inner
                    for p in (own if isinstance(own, list) else [own])
                ]
                places = [place for place in each if isinstance(place, dict)]
            if not places:
                at = ".".join((*parts, key))
                raise OptionError(
                    f"key 'sweep.{at}': expected the key of a section or a step"
                )
            for place in places:
                place[key] = value
        yield (
            {".".join(path): value for path, value in zip(lists, chosen, strict=True)},
            one,
        )


def _lists(
    table: Any, at: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """Yield the path of each key that a sweep varies, and its values."""
    if isinstance(table, dict):
        for key, value in table.items():
            yield from _lists(value, (*at, key))
    elif at[1:] and isinstance(table, list) and table:
        yield at, table
    else:
        key = ".".join(("sweep", *at))
        raise OptionError(
            f"key '{key}': expected a list of values, found {shown(table)}"
        )


def _step(
    command: str, entry: Any, table: Mapping[str, Any], written: Collection[str]
) -> Step:
    """Return a step; what it does not say is what the run file says for all."""
    if not isinstance(entry, Mapping):
        raise OptionError(f"key '{command}': expected a table, found {shown(entry)}")
    kind = options_of(command)
    known, data = _known(kind), table.get("data", {})
    said: Table = {}
    for key, about in known.items():
        if about.in_run is not None and not any(
            other in entry for other in about.unless
        ):
            name = about.in_run if "." in about.in_run else data.get(about.in_run)
            said |= {} if name is None else {key: name}
    said |= entry
    tables = [
        str(said.get(k, ""))
        for k, one in known.items()
        if one.in_run in ("file", "test")
    ]
    are_scores = any(suffix_of(Path(name)) in (".jkl", ".scores") for name in tables)
    as_it_is = {
        "data": are_scores or any(is_own(name, written) for name in tables),
        "score": are_scores,
        "network": are_scores,
    }
    for section, shared in SHARED.items():
        if as_it_is.get(section):
            continue  # a table that the run has written is read as it was written; so are scores
        alike = {
            key for key, about in _known(shared).items() if known.get(key) is about
        }
        said = {
            **{k: v for k, v in table.get(section, {}).items() if k in alike},
            **said,
        }
    output = said.pop("output", None)
    options = from_table(said, kind, command)
    options.refuse_unused(entry)
    if unused := {
        name.rstrip("_") for name in options.unused()
    }:  # what sections say for all steps
        said = {key: value for key, value in said.items() if key not in unused}
        options = from_table(said, kind, command)
    output = options.output_in_run if output is None else output
    if not isinstance(output, str):
        raise OptionError(
            f"key '{command}.output': expected a text, found the value {shown(output)}"
        )
    return Step(command=command, options=options, output=output)


def _known(kind: type[Declared]) -> dict[str, About]:
    return {key.rstrip("_"): about_of(one) for key, one in kind.known().items()}
