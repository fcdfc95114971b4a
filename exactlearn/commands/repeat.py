"""``exactlearn run RESULT.json``: the command that made a record again, its answer compared."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from math import isclose
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from exactlearn import __version__
from exactlearn._runtime.files import read_json, strict, temporary_folder
from exactlearn.commands import COMMANDS, body_of, options_of, provenance
from exactlearn.commands.declarations import Run
from exactlearn.commands.declare import About, Declared
from exactlearn.commands.output import Answer, Output
from exactlearn.commands.places import require_places
from exactlearn.commands.steps import moved
from exactlearn.errors import ExitStatus, FormatError, OptionError
from exactlearn.formats.content import RECORD, expecting
from exactlearn.formats.run_file import from_table

CLOSE = 1e-9
"""Relative difference of numbers that are called equal: libraries of other versions add in other
orders."""


def run(source: Path, output: Output, *, allow_outside: bool) -> Answer:
    """Repeat what made a record, or the record in a folder, and compare the answers.

    What the record's command wrote is written into ``output``, or else into a scratch folder. The
    record of a run file does not say whether its steps may write elsewhere; ``allow_outside`` does.
    """
    path = provenance.record_in(source) if source.is_dir() else source
    with expecting(path, RECORD):
        recorded = read_json(path)
    made = made_with(
        recorded.get("made_by") if isinstance(recorded, dict) else None, path
    )
    name, options = made.name, made.declared
    if isinstance(options, Run):
        options = replace(options, allow_outside=allow_outside)
    with TemporaryDirectory(dir=temporary_folder()) as scratch:

        def placed(name: str, about: About) -> str:
            return str(Path(scratch) / Path(name).name) if about.writes else name

        wrote = made.output or ("results" if made.command[1] == "run" else None)
        place = output.path or (
            Path(scratch) / "output" / Path(wrote).name if wrote else None
        )
        (Path(scratch) / "output").mkdir()
        now = provenance.Provenance(moved(options, placed), step=name, output=place)
        for text in _changes(made, now.to_dict()):  # the command may fail by it
            output.note(text)
        aside = replace(output, path=place, as_json=True, quiet=output.path is None)
        require_places(now.options, aside, path)
        with provenance.running(now):
            repeated = aside.written(body_of(name)(now.options, aside))
        if repeated.exit_status == ExitStatus.INTERRUPTED:
            return Answer(record={}, status="interrupted")
        record = dict(repeated.record)
        if place is not None and place.suffix == ".json":
            record = {**read_json(place), **record}
    compared = [key for key in recorded if key in record and not _is_volatile(key)]
    if not compared:
        raise FormatError(
            f"{path}: no key of it is in the answer of 'exactlearn {name}'"
        )
    then, answered = (
        {key: one[key] for key in compared} for one in (recorded, strict(record))
    )
    differences = list(_differences(then, answered, (scratch, str(output.path))))
    answer = {
        "equal": not differences,
        "compared": compared,
        "differences": differences,
        "changes": list(_changes(made, now.to_dict())),
        "record": record,
    }
    return Answer(record=answer, status="failed" if differences else "done")


@dataclass(frozen=True, kw_only=True)
class InputFile:
    """A file that a recorded command has read.

    Parameters
    ----------
    name
        Its name, without the folder.
    option
        The option that named it.
    sha256
        The hash of its content, where that was computed.
    rows
        How many rows it has, where it is a table.
    """

    name: str
    option: str | None = None
    sha256: str | None = None
    rows: int | None = None


@dataclass(frozen=True, kw_only=True)
class MadeBy:
    """The key ``made_by`` of a record, checked; see :class:`~.provenance.Provenance`.

    Parameters
    ----------
    command
        The words of the command line, with the program's name.
    inputs
        The files that were read.
    version
        The version of this package.
    step
        The command, where the words name another.
    output
        The file or folder that was written.
    declared
        The options of the command.
    """

    command: tuple[str, ...]
    inputs: tuple[InputFile, ...]
    version: str = ""
    step: str | None = None
    output: str | None = None
    declared: Declared = field(default_factory=Declared)

    @property
    def name(self) -> str:
        """The name of the command."""
        return self.step or self.command[1]


def made_with(made_by: Any, path: Path) -> MadeBy:
    """Return how a record was made, from its key ``made_by``.

    Raises
    ------
    FormatError
        When it is not as a command writes it.
    OptionError
        When the options are those of another version.
    """
    if not isinstance(made_by, dict):
        raise FormatError(
            f"{path}: no key 'made_by' says how it was made; expected the record of a command, "
            "as '-o result.json' and --json give it"
        )
    known = _set_keys(made_by, MadeBy)
    if isinstance(inputs := known.get("inputs"), list):
        known["inputs"] = [_set_keys(entry, InputFile) for entry in inputs]
    options = made_by.get("options")
    try:
        made = from_table(known, MadeBy, "made_by")
    except OptionError as error:
        raise FormatError(
            f"{path}: {error}; run the command again to write it anew"
        ) from None
    if len(made.command) < 2 or not isinstance(options, dict):
        raise FormatError(
            f"{path}: expected 'made_by.command' to name a command, and 'made_by.options' to be a "
            "table of its options; run the command again to write it anew"
        )
    if made.name not in COMMANDS:
        raise FormatError(
            f"{path}: made by {made.name!r}, which is no command that can be run again"
        )
    try:
        return replace(
            made, declared=from_table(options, options_of(made.name), "made_by.options")
        )
    except OptionError as error:
        raise OptionError(
            f"{path}: {error}; it was written by version {made.version}, and this is {__version__}"
        ) from None


def _set_keys(table: Any, kind: type[Any]) -> Any:
    """Return the entries of a table that a dataclass knows, without those that are null."""
    if not isinstance(table, dict):
        return table
    names = {one.name for one in fields(kind)} - {"declared"}
    return {
        key: value for key, value in table.items() if key in names and value is not None
    }


def _changes(recorded: MadeBy, now: Mapping[str, Any]) -> Iterator[str]:
    """Yield in what version and files the repetition differs."""
    if recorded.version != now["version"]:
        yield f"version: {recorded.version} made the record, this is {now['version']}"
    before = {(read.name, read.option): read.sha256 for read in recorded.inputs}
    for read in now["inputs"]:
        was = before.get((read["name"], read.get("option")))
        if None in (was, read["sha256"]):
            yield f"{read['name']}: not known to be the file of the record; it has no hash"
        elif was != read["sha256"]:
            yield f"{read['name']}: the file differs from the one that the record is of"


def _is_volatile(key: str) -> bool:
    """Return whether a key of a record says how long or when, not what."""
    return key == "made_by" or "seconds" in key or key == "time"


def _differences(
    recorded: Any, now: Any, written: tuple[str, str], at: str = ""
) -> Iterator[dict[str, Any]]:
    """Yield what differs between two values of a record, each with its place.

    Of a path below one of ``written`` only the last part is compared.
    """
    if isinstance(recorded, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*recorded, *now]):
            if not _is_volatile(key):
                place = f"{at}.{key}" if at else key
                yield from _differences(recorded.get(key), now.get(key), written, place)
        return
    if (
        isinstance(recorded, list)
        and isinstance(now, list)
        and len(recorded) == len(now)
    ):
        for k, (one, other) in enumerate(zip(recorded, now, strict=True)):
            yield from _differences(one, other, written, f"{at}[{k}]")
        return
    equal = recorded == now
    if isinstance(recorded, float) and isinstance(now, float | int):
        equal = isclose(recorded, now, rel_tol=CLOSE, abs_tol=CLOSE)
    elif isinstance(now, str) and now.startswith(written):
        equal = Path(now).name == Path(str(recorded)).name
    if not equal:
        yield {"key": at, "recorded": recorded, "now": now}
