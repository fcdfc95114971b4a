"""``exactlearn run RESULT.json``: the command that made a record again, its answer compared."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
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
from exactlearn.commands.provenance import Provenance, record_in
from exactlearn.commands.steps import moved
from exactlearn.errors import ExitStatus, FormatError, OptionError
from exactlearn.formats.content import RECORD, expecting
from exactlearn.formats.run_file import from_table

TOLERANCE = 1e-9
"""Relative difference of numbers that are called equal: libraries of other versions add in other
orders."""


def run(source: Path, output: Output, *, allow_outside: bool) -> Answer:
    """Repeat the command that made a record, or the record in a folder, and compare the answers.

    The repetition writes into ``output``, or else into a scratch folder. The record of a run file
    does not say whether its steps may write elsewhere; ``allow_outside`` does.
    """
    path = record_in(source) if source.is_dir() else source
    recorded = read_record(path)
    made, options = made_with(recorded, path)
    # where steps may write is said anew
    if isinstance(options, Run):
        options = replace(options, allow_outside=allow_outside)
    with TemporaryDirectory(dir=temporary_folder()) as scratch:
        now, quiet = _prepared(made, options, Path(scratch), output)
        for text in _changes(made, now.to_dict()):  # the command may fail by it
            output.note(text)
        require_places(now.options, quiet, path)
        with provenance.running(now):
            repeated = quiet.written(body_of(made.name)(now.options, quiet))
        if repeated.exit_status == ExitStatus.INTERRUPTED:
            return Answer(record={}, status="interrupted")
        record = dict(repeated.record)
        # a command may write more into its record than it prints
        if quiet.path is not None and quiet.path.suffix == ".json":
            record = {**read_json(quiet.path), **record}

    # the keys that both records have are compared
    compared = [key for key in recorded if key in record and not _is_volatile(key)]
    if not compared:
        raise FormatError(
            f"{path}: no key of it is in the answer of 'exactlearn {made.name}'"
        )
    answer = strict(record)
    folders = (scratch, str(output.path))
    differences: list[dict[str, Any]] = []
    for key in compared:
        differences += _differences(recorded[key], answer[key], folders, key)
    comparison = {
        "equal": not differences,
        "compared": compared,
        "differences": differences,
        "changes": list(_changes(made, now.to_dict())),
        "record": record,
    }
    return Answer(record=comparison, status="failed" if differences else "done")


def _prepared(
    made: "MadeBy", options: Declared, scratch: Path, output: Output
) -> tuple[Provenance, Output]:
    """Return the repetition and where it writes: where ``output`` says, or below a scratch folder.

    Files that options name are written below the scratch folder in any case.
    """

    def placed(name: str, about: About) -> str:
        return str(scratch / Path(name).name) if about.writes else name

    # files named by options lie beside the folder of the output, so that no names meet
    folder = scratch / "output"
    folder.mkdir()
    place = output.path
    if place is None and (made.output or made.command[1] == "run"):
        place = folder / Path(made.output or "results").name
    options = moved(options, placed)
    now = Provenance(options, step=made.name, output=place)
    is_quiet = output.path is None
    return now, replace(output, path=place, as_json=True, quiet=is_quiet)


def read_record(path: Path) -> Any:
    """Return the record in a file, an object where no hand has changed it."""
    with expecting(path, RECORD):
        return read_json(path)


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
    """The key ``made_by`` of a record, checked; see :class:`~.Provenance`.

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
    """

    command: tuple[str, ...]
    inputs: tuple[InputFile, ...]
    version: str = ""
    step: str | None = None
    output: str | None = None

    @property
    def name(self) -> str:
        """The name of the command."""
        return self.step or self.command[1]


def made_with(record: Any, path: Path) -> tuple[MadeBy, Declared]:
    """Return the command that made a record, from its key ``made_by``, and its options.

    Raises
    ------
    FormatError
        When it is not as a command writes it.
    OptionError
        When the options are those of another version.
    """
    made_by = record.get("made_by") if isinstance(record, dict) else None
    if not isinstance(made_by, dict):
        raise FormatError(
            f"{path}: no key 'made_by' says how it was made; expected the record of a command, "
            "as '-o result.json' and --json give it"
        )
    table = _of_class(made_by, MadeBy)
    # Keys of other versions, and null ones, are left out before types are checked.
    if isinstance(inputs := table.get("inputs"), list):
        table["inputs"] = [_of_class(entry, InputFile) for entry in inputs]
    # options that have changed since are no fault of the file
    options = made_by.get("options")
    try:
        made = from_table(table, MadeBy, "made_by")
    except OptionError as error:
        raise FormatError(
            f"{path}: {error}; run the command again to write it anew"
        ) from None
    if len(made.command) < 2 or not isinstance(options, dict):
        raise FormatError(
            f"{path}: expected 'made_by.command' to name a command, and 'made_by.options' to be a "
            "table of its options; run the command again to write it anew"
        )
    # A command may have been renamed or removed since the record was written.
    if made.name not in COMMANDS:
        raise FormatError(
            f"{path}: made by {made.name!r}, which is no command that can be run again"
        )
    try:
        return made, from_table(options, options_of(made.name), "made_by.options")
    except OptionError as error:
        raise OptionError(
            f"{path}: {error}; it was written by version {made.version}, and this is {__version__}"
        ) from None


def _of_class(table: Any, kind: type[Any]) -> Any:
    """Return the entries of a table that are fields of a dataclass, without those that are null."""
    if not isinstance(table, dict):
        return table
    names = [field.name for field in fields(kind)]
    return {name: table[name] for name in names if table.get(name) is not None}


def _changes(recorded: MadeBy, now: Mapping[str, Any]) -> Iterator[str]:
    """Yield the differences in version and files between a record and its repetition."""
    if recorded.version != now["version"]:
        yield f"version: {recorded.version} made the record, this is {now['version']}"
    # A file is known by its name and by the option that reads it: two options may read
    # the same name.
    hashes = {(read.name, read.option): read.sha256 for read in recorded.inputs}
    for read in now["inputs"]:
        recorded_hash = hashes.get((read["name"], read.get("option")))
        if None in (recorded_hash, read["sha256"]):
            yield f"{read['name']}: not known to be the file of the record; it has no hash"
        elif recorded_hash != read["sha256"]:
            yield f"{read['name']}: the file differs from the one that the record is of"


def _is_volatile(key: str) -> bool:
    """Return whether a key of a record is of a time or a duration, not of the answer."""
    return key == "made_by" or "seconds" in key or key == "time"


def _differences(
    recorded: Any, now: Any, written: tuple[str, str], place: str
) -> Iterator[dict[str, Any]]:
    """Yield the differences between two values of a record, each with its place.

    Of a path below one of ``written`` only the last part is compared.
    """
    # Tables by key, lists of equal length by place; whatever else differs is one
    # difference.
    match recorded, now:
        case dict(), dict():
            for key in dict.fromkeys([*recorded, *now]):
                if not _is_volatile(key):
                    yield from _differences(
                        recorded.get(key), now.get(key), written, f"{place}.{key}"
                    )
        case list(), list() if len(recorded) == len(now):
            for k, (before, after) in enumerate(zip(recorded, now, strict=True)):
                yield from _differences(before, after, written, f"{place}[{k}]")
        case _ if not _are_equal(recorded, now, written):
            yield {"key": place, "recorded": recorded, "now": now}


def _are_equal(recorded: Any, now: Any, written: tuple[str, str]) -> bool:
    """Return whether two single values are equal: numbers nearly, paths by their last parts."""
    match recorded, now:
        case float(), float() | int():
            return isclose(recorded, now, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        case _, str() if now.startswith(written):
            return Path(now).name == Path(str(recorded)).name
    return bool(recorded == now)
