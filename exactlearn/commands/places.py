"""Places that a command writes: refused before any work where they are not to be written.

A place is one that can be written, that no other output has, that is no file which the command
reads (unless ``--overwrite`` is given), and, in a run, one inside of the run's folder (unless
``--allow-outside`` is given).
"""

import errno
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from exactlearn.commands import steps
from exactlearn.commands.declarations import Run
from exactlearn.commands.declare import Declared, flags_of
from exactlearn.commands.output import Output, is_folder, require_file
from exactlearn.commands.provenance import files_read
from exactlearn.errors import OptionError


class Place(NamedTuple):
    """A file or folder that is written.

    Parameters
    ----------
    option
        The option, or the key of a run file, that names it.
    path
        Where it is.
    """

    option: str
    path: Path


def require_places(options: Declared, output: Output, *more_inputs: Path) -> None:
    """Refuse, before any work, the outputs of a command that cannot or should not be written.

    Parameters
    ----------
    options, output
        Those of the command.
    more_inputs
        Files that it reads beside those that the options name.

    Raises
    ------
    OptionError
        When a place cannot be written, is named twice, or is a file that the command reads.
    """
    places = list(_places(options, output.path))
    for place in places:
        _require_writable(place)
    _require_different(places)
    if not output.overwrite:
        replaced = _replaced_files(places, options.files_in_folder)
        require_not_read(replaced, [*files_read(options).values(), *more_inputs])


def require_run_places(
    table: steps.Table, folders: Sequence[Path], *, overwrite: bool, allow_outside: bool
) -> None:
    """Refuse, before any work, the outputs of a run that cannot or should not be written.

    Parameters
    ----------
    table
        The run.
    folders
        Its folder, and in a sweep that of all runs before it.
    overwrite, allow_outside
        Whether its files may replace those that it reads, and lie outside of its folder.

    Raises
    ------
    OptionError
        As :func:`require_places`; also when a place lies outside of the folder.
    """
    # What the run reads, and what it and its steps write.
    run = steps.declared(table)
    folder = folders[-1]
    places, replaced, inputs = _files_of_steps(table, folder)
    if run.pipeline:
        inputs += files_read(run.data).values()
    own_places = [Place("--output", path) for path in folders]
    replaced += _replaced_files(own_places, Run.files_in_folder)
    for place in places:
        _require_writable(place)
    _require_different(
        [*(Place("the run", folder / name) for name in steps.WRITTEN), *places]
    )
    # Steps may write into the folder of the run only, also by way of links.
    if not allow_outside:
        for place in places:
            _require_inside(place, folder)
        for place in replaced:
            _require_inside(place, folders[0])
    if not overwrite:
        require_not_read(replaced, inputs)


def require_not_read(places: Iterable[Place], inputs: Sequence[Path]) -> None:
    """Refuse to replace a file that is read, whatever its names are.

    Raises
    ------
    OptionError
        When one of the places is an input.
    """
    for option, path in places:
        for file in inputs:
            if path.exists() and file.exists() and path.samefile(file):
                name = "" if path == file else f" as {file}"
                raise OptionError(
                    f"{option} {path}: the command reads this file{name}, and it would be lost; "
                    "name another place, or replace it with --overwrite"
                )


def _files_of_steps(
    table: steps.Table, folder: Path
) -> tuple[list[Place], list[Place], list[Path]]:
    """Return the places of the steps of a run, the files there, and the files that are read.

    A file that an earlier step writes is no input.
    """
    places = list[Place]()
    replaced = list[Place]()
    inputs = list[Path]()
    # Steps run in this order: what is written so far is no input of a later one.
    written = set(steps.WRITTEN)
    for step in steps.declared_steps(table):
        options = steps.placed(step, folder, written)
        path = folder / step.output if step.output else None
        # A place is named by its step, for the message that finds two alike.
        step_places = [
            Place(f"{step.command}.{place.option.removeprefix('--')}", place.path)
            for place in _places(options, path)
        ]
        places += step_places
        replaced += _replaced_files(step_places, options.files_in_folder)
        for key, file in files_read(options).items():
            if not steps.is_own(str(getattr(step.options, key)), written):
                inputs.append(file)
        written |= step.written
    return places, replaced, inputs


def _places(options: Declared, path: Path | None) -> Iterator[Place]:
    """Yield the places that options and ``--output`` name."""
    if path is not None:
        yield Place("--output", path)
    for name, value, about in options.files():
        if about.writes:
            yield Place(flags_of(options.known()[name])[0], Path(value))


def _replaced_files(
    places: Iterable[Place], patterns: Sequence[str]
) -> Iterator[Place]:
    """Yield the existing files that are to be replaced, in a folder those of some names."""
    for option, path in places:
        if path.is_file():
            yield Place(option, path)
        elif path.is_dir():
            for file in sorted(path.iterdir()):
                if any(fnmatch(file.name, pattern) for pattern in patterns):
                    require_file(file, option)
                    yield Place(option, file)


def _require_inside(place: Place, folder: Path) -> None:
    """Refuse a place outside of the folder of a run, also by way of a link."""
    if not _real(place.path).is_relative_to(_real(folder)):
        raise OptionError(
            f"{place.option}: {place.path} lies outside of the run's folder {folder}; name a place "
            "in it, or give --allow-outside if you trust the run file"
        )


def _require_writable(place: Place) -> None:
    """Refuse a place whose folder can neither be written nor made."""
    option, path = place
    try:
        real = _real(path)
        if real.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if real.exists() and not real.is_file() and not real.is_dir():
            return  # a pipe or a device
        # The nearest folder that exists is tried, by a file that is gone at once.
        folder = real if is_folder(real) else real.parent
        while not folder.exists():
            folder = folder.parent
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OptionError(
            f"{option} {str(path)!r}: nothing can be written there ({reason}); name another place"
        ) from error


def _require_different(places: Iterable[Place]) -> None:
    """Refuse two outputs in one place."""
    options: dict[Path, str] = {}
    for option, path in places:
        if before := options.get(_real(path)):
            raise OptionError(
                f"{option} {path}: it is the place of {before}, too; name another one"
            )
        options[_real(path)] = option


def _real(path: Path) -> Path:
    """Return a path without links; a link that leads to itself stays."""
    return Path(os.path.realpath(path))
