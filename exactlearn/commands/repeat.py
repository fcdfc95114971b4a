"""``exactlearn run RESULT.json``: the command that made a record again, its answer compared."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from math import isclose
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from exactlearn import __version__
from exactlearn._runtime.json_file import read_json, strict
from exactlearn.commands import COMMANDS, body_of, declarations, options_of, provenance
from exactlearn.commands.answer import Answer
from exactlearn.commands.declare import About, Declared
from exactlearn.commands.output import Output
from exactlearn.commands.steps import moved
from exactlearn.errors import ExitStatus, FormatError, OptionError
from exactlearn.formats.run_file import from_table

CLOSE = 1e-9
"""Relative difference of numbers that are called equal: libraries of other versions add in other
orders."""


def run(source: Path, options: declarations.Run, output: Output) -> Answer:
    """Repeat what made a record, or the record in a folder, and compare the answers."""
    path = provenance.record_in(source) if source.is_dir() else source
    recorded = read_json(path)
    made_by: Any = recorded.get("made_by") if isinstance(recorded, dict) else None
    name, options_then = made_with(made_by, path)
    again = _with_tables(options_then, made_by, options.data)
    with TemporaryDirectory() as scratch:
        again, place, places = _elsewhere(again, made_by, output.path, Path(scratch))
        words = () if (own := provenance.current()) is None else own.words
        now = provenance.Provenance(words, again, name, output=place)
        known = list(_changes(made_by, now.to_dict()))  # another file may end the command
        for text in known:
            output.note(text)
        aside = replace(output, path=place, as_json=True, quiet=output.path is None)
        with provenance.running(now):
            repeated: Answer = body_of(name)(again, aside)
        if repeated.exit_status == ExitStatus.INTERRUPTED:
            return Answer(record={}, status="interrupted")
        record = dict(repeated.record)
        if place is not None and place.suffix == ".json":
            record = {**read_json(place), **record}
    shared = {key: value for key, value in recorded.items() if key in record}
    compared = [key for key in shared if not _is_volatile(key)]
    if not compared:
        raise FormatError(f"{path}: no key of it is in the answer of 'exactlearn {name}'")
    differences = list(_differences(shared, strict(record), places))
    changes = list(_changes(made_by, now.to_dict()))
    answer = {
        "equal": not differences,
        "compared": compared,
        "differences": differences,
        "changes": changes,
        "record": record,
    }
    return Answer(
        record=answer, status="failed" if differences else "done", remarks=changes[len(known) :]
    )


def made_with(made_by: Any, path: Path) -> tuple[str, Declared]:
    """Return the command that made a record, and its options."""
    found = made_by if isinstance(made_by, dict) else {}
    words, options = found.get("command"), found.get("options")
    if not (isinstance(words, list) and words[1:] and isinstance(options, dict)):
        raise FormatError(
            f"{path}: no key 'made_by' says how it was made; expected the record of a command, as "
            "'-o result.json' and --json give it"
        )
    name = found.get("step") or words[1]
    if name not in COMMANDS:
        raise FormatError(f"{path}: made by {name!r}, which is no command that can be run again")
    try:
        return name, from_table(options, options_of(name), "made_by.options")
    except OptionError as error:
        version = found.get("version")
        raise OptionError(
            f"{path}: {error}; it was written by version {version}, and this is {__version__}"
        ) from None


def _with_tables(options: Declared, made_by: Mapping[str, Any], given: Sequence[Path]) -> Declared:
    """Return options that name the given files where their own ones are, or were.

    Raises
    ------
    OptionError
        When a file that the options name is not there.
    """
    recorded = {one["option"]: one for one in _files(made_by) if "option" in one}
    for file in given:
        found = provenance.files_read(options)
        alike = [k for k, one in recorded.items() if one["sha256"] == provenance.sha256([file])]
        gone = [key for key in recorded if key not in found]
        if not (keys := [*alike, *gone, *recorded]):
            raise OptionError(f"--data {file}: the options of the record name no file")
        (own,) = (f.name for f in fields(options) if f.name.rstrip("_") == keys[0])  # type: ignore[arg-type]
        options = replace(options, **{own: type(getattr(options, own))(file)})  # type: ignore[type-var]
    for key in recorded.keys() - provenance.files_read(options).keys():
        raise OptionError(
            f"{recorded[key]['name']}: the file of the option {key!r} is not there; say where it "
            "is now with --data FILE"
        )
    return options


def _elsewhere(
    options: Declared, made_by: Mapping[str, Any], output: Path | None, scratch: Path
) -> tuple[Declared, Path | None, dict[str, str]]:
    """Return options and output that overwrite no file of the record.

    What is not asked for is written into the scratch folder. For each path that is another one, its
    path in the record is returned, too.
    """
    places: dict[str, str] = {}

    def place(was: str) -> Path:
        found = scratch / str(len(places)) / Path(was).name
        found.parent.mkdir()
        places[str(found)] = was
        return found

    was = made_by.get("output") or ("results" if made_by["command"][1] == "run" else None)
    if output is None:
        output = None if was is None else place(was)
    elif was is not None:
        places[str(output)] = was

    def placed(name: str, about: About) -> str:
        return str(place(name)) if about.writes else name

    return moved(options, placed), output, places


def _changes(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield in what version and files the repetition differs."""
    if recorded.get("version") != now["version"]:
        yield f"version: {recorded.get('version')} made the record, this is {now['version']}"
    before = {one["name"]: one for one in _files(recorded)}
    by_option = {one["option"]: one for one in before.values() if "option" in one}
    for one in _files(now):
        was = by_option.get(one.get("option")) or before.get(one["name"])
        if was is None:
            yield f"{one['name']}: the record was made without this file"
        elif None in (was["sha256"], one["sha256"]):
            yield f"{one['name']}: not known to be the file of the record; it has no hash"
        elif was["sha256"] != one["sha256"]:
            yield f"{one['name']}: the file differs from the one that the record is of"


def _files(made_by: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [*made_by.get("data", ()), *made_by.get("inputs", ())]


def _is_volatile(key: str) -> bool:
    """Return whether a key of a record says how long or when, not what."""
    return key == "made_by" or "seconds" in key or key == "time"


def _differences(
    recorded: Any, now: Any, places: Mapping[str, str], at: str = ""
) -> Iterator[dict[str, Any]]:
    """Yield what differs between two values of a record, each with its place."""
    if isinstance(recorded, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*recorded, *now] if at else recorded):
            if not _is_volatile(key):
                place = f"{at}.{key}" if at else key
                yield from _differences(recorded.get(key), now.get(key), places, place)
    elif isinstance(recorded, list) and isinstance(now, list) and len(recorded) == len(now):
        for k, (one, other) in enumerate(zip(recorded, now, strict=True)):
            yield from _differences(one, other, places, f"{at}[{k}]")
    elif not _is_equal(recorded, now, places):
        yield {"key": at, "recorded": recorded, "now": now}


def _is_equal(recorded: Any, now: Any, places: Mapping[str, str]) -> bool:
    if isinstance(recorded, float) and isinstance(now, float | int):
        return isclose(recorded, now, rel_tol=CLOSE, abs_tol=CLOSE)
    if isinstance(now, str):
        for place, was in places.items():
            now = now.replace(place, was)
    return bool(recorded == now)
