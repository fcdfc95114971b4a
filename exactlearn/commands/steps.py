"""Steps of a run file: commands, each a section with the command's name and its options as keys.

What a step does not say is what ``[data]``, ``[score]``, ``[search]`` and ``[network]`` say; only
then do the command's own defaults hold. A file is one that the run or an earlier step writes, else
one beside the run file, else a bundled one.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from exactlearn._runtime.files import suffix_of
from exactlearn.commands import COMMANDS, body_of, options_of
from exactlearn.commands.answer import Answer
from exactlearn.commands.declare import About, Declared, about_of
from exactlearn.commands.output import Output
from exactlearn.commands.provenance import Provenance, current, running
from exactlearn.commands.sections import Criterion, NetworkParameters, Reading, Search
from exactlearn.errors import OptionError
from exactlearn.formats.run_file import from_table

D = TypeVar("D", bound=Declared)

WRITTEN = frozenset({"network.bif", "model.pdg.json", "completed.csv", "result.json", "run.toml"})
"""Files that the run itself writes."""

_SECTIONS: Mapping[str, type[Declared]] = {
    "data": Reading,
    "score": Criterion,
    "search": Search,
    "network": NetworkParameters,
}
"""What holds for all steps that have such options."""


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
    """

    command: str
    options: Declared
    output: str = ""

    @property
    def written(self) -> set[str]:
        """The files and folders that the step writes, by their names in the folder of the run."""
        files = {str(value) for _, value, about in _files(self.options) if about.writes}
        return files | ({self.output} if self.output else set())

    def with_files(self, name: Callable[[str, About], str]) -> "Step":
        """Return the step with other names of files, given those that it has."""
        return replace(self, options=with_files(self.options, name))


NO_STEPS = ("run", "rerun", "instances")
"""Commands that are no steps of a run."""


def is_step(name: str) -> bool:
    """Return whether a key of a run file is a command that can be a step."""
    return name in COMMANDS and name not in NO_STEPS


def read_steps(table: Mapping[str, Any], beside: Path) -> tuple[Step, ...]:
    """Return the steps of a run file in the order of their sections.

    Parameters
    ----------
    table
        The parsed file.
    beside
        The folder of the file: what lies there gets an absolute path.

    Raises
    ------
    OptionError
        When a key is unknown, or two steps write the same file.
    """
    steps: list[Step] = []
    written = set(WRITTEN)
    for command, found in table.items():
        if not is_step(command):
            continue
        for entry in found if isinstance(found, list) else [found]:
            step = _step(command, entry, table, written)
            if twice := sorted(step.written & written):
                raise OptionError(
                    f"{command}: '{twice[0]}' is written before; name another file with 'output'"
                )
            steps.append(step.with_files(_beside(beside, frozenset(written))))
            written |= step.written
    return tuple(steps)


def taken(
    steps: Collection[Step], folder: Path, output: Output
) -> Iterator[tuple[dict[str, Any], Answer]]:
    """Take the steps one after the other; yield the record and the answer of each."""
    written = set(WRITTEN)

    def placed(name: str, about: About) -> str:
        return str(folder / name) if about.writes or is_written(name, written) else name

    for step in steps:
        output.note(f"Step {step.command}")
        path = folder / step.output if step.output else None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        options = step.with_files(placed).options
        of_run = current()
        made_by = Provenance(
            () if of_run is None else of_run.words, options, step.command, output=path
        )
        with running(made_by):
            answer: Answer = body_of(step.command)(options, replace(output, path=path))
        written |= step.written
        said = {"command": step.command, "output": step.output or None, **answer.record}
        yield {**said, "made_by": made_by.to_dict()}, answer
        if answer.failure is not None:
            raise answer.failure


def is_written(name: str, written: Collection[str]) -> bool:
    """Return whether a run has written a file, or the folder that it lies in."""
    return any(str(place) in written for place in (Path(name), *Path(name).parents))


def with_files(options: D, name: Callable[[str, About], str]) -> D:
    """Return options with other names of files, given those that they have."""
    changed = {key: type(value)(name(str(value), about)) for key, value, about in _files(options)}
    return replace(options, **changed)  # type: ignore[type-var]


def _files(options: Declared) -> Iterator[tuple[str, Any, About]]:
    """Yield name, value and description of each field that names a file."""
    for one in fields(options):  # type: ignore[arg-type]
        about, value = about_of(one), getattr(options, one.name)
        if (about.reads or about.writes) and value is not None:
            yield one.name, value, about


def _beside(beside: Path, written: Collection[str]) -> Callable[[str, About], str]:
    """Return what gives files that lie in a folder, and are not written by the run, their path."""

    def place(name: str, about: About) -> str:
        is_file = "<-" not in name  # the text of a missingness graph
        is_file = is_file and about.reads and not is_written(name, written)
        is_there = is_file and (beside / name).is_file()
        return str(beside / name) if is_there else name

    return place


def _step(command: str, entry: Any, table: Mapping[str, Any], written: Collection[str]) -> Step:
    """Return a step; what it does not say is what the run file says for all."""
    if not isinstance(entry, Mapping):
        raise OptionError(f"key '{command}': expected a table, found {entry!r}")
    declared = options_of(command)
    known = _known(declared)
    said = {**_files_in_run(known, entry, table.get("data", {})), **entry}
    tables = [said.get(key) for key, about in known.items() if about.in_run in ("file", "test")]
    as_it_is = {
        "data": any(is_written(str(name), written) for name in tables),
        "score": any(suffix_of(Path(name)) in (".jkl", ".scores") for name in tables if name),
    }
    for section, shared in _SECTIONS.items():
        if as_it_is.get(section):
            continue  # a table that the run has written is read as it was written; so are scores
        alike = {key for key, about in _known(shared).items() if known.get(key) is about}
        said = {**{k: v for k, v in table.get(section, {}).items() if k in alike}, **said}
    output = said.pop("output", None)
    options = from_table(said, declared, command)
    if output is None:
        output = options.output_in_run
    if not isinstance(output, str):
        raise OptionError(f"key '{command}.output': expected a text, found the value {output!r}")
    return Step(command=command, options=options, output=output)


def _known(declared: type[Declared]) -> dict[str, About]:
    return {one.name.rstrip("_"): about_of(one) for one in fields(declared)}  # type: ignore[arg-type]


def _files_in_run(
    known: Mapping[str, About], entry: Mapping[str, Any], data: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the files are that a step does not name."""
    found: dict[str, Any] = {}
    for key, about in known.items():
        if about.in_run is not None and not any(other in entry for other in about.unless):
            name = about.in_run if "." in about.in_run else data.get(about.in_run)
            found |= {} if name is None else {key: name}
    return found
