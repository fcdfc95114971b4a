"""Bundled networks, data sets and run files."""

import os
from importlib.resources import files
from pathlib import Path

from exactlearn.errors import OptionError, did_you_mean

SUFFIXES = (".bif", ".csv", ".toml")


def folder() -> Path:
    """Return the folder of the bundled files."""
    return Path(str(files("exactlearn") / "instances"))


def bundled() -> tuple[Path, ...]:
    """Return the bundled files, in the order of their names."""
    return tuple(sorted(p for p in folder().iterdir() if p.suffix in SUFFIXES))


def names(suffix: str | None = None) -> tuple[str, ...]:
    """Return the names of the bundled files in order, all or those with one suffix.

    Examples
    --------
    >>> "asia.bif" in names(".bif")
    True
    """
    return tuple(p.name for p in bundled() if suffix in (None, p.suffix))


def path(name: str) -> Path:
    """Return the path of the bundled file with this name, such as ``asia.bif``.

    Raises
    ------
    OptionError
        When there is none; the message suggests near names.
    """
    if name not in names():
        raise OptionError(f"no bundled file {name!r}{did_you_mean(name, names())}")
    return folder() / name


def file_or_bundled(given: str | os.PathLike[str], suffix: str) -> Path:
    """Return the path of a file, or of the bundled file of that name where there is no such file.

    Examples
    --------
    >>> file_or_bundled("asia", ".bif").name, file_or_bundled("folder/asia.bif", ".bif").as_posix()
    ('asia.bif', 'folder/asia.bif')
    """
    own = Path(given)
    ours = folder() / f"{own.name.removesuffix(suffix)}{suffix}"
    return ours if own.parent == Path() and not own.exists() and ours.is_file() else own


def locate(name: str, *suffixes: str) -> Path:
    """Return the file of a path or of a bundled instance's name.

    Parameters
    ----------
    name
        Path of an existing file, or name of a bundled one with or without its suffix.
    suffixes
        Suffixes of the wanted kinds of file, such as ``.bif``, the preferred one first.

    Raises
    ------
    OptionError
        When neither exists; the message names the nearest bundled instance.
    """
    given = Path(name)
    if given.is_file():
        return given
    fitting = [p for suffix in reversed(suffixes) for p in bundled() if p.suffix == suffix]
    known = {p.stem: p for p in fitting}
    found = {**known, **{p.name: p for p in fitting}}.get(given.name)
    if given.parent == Path() and found is not None:
        return found
    if given.is_dir():
        raise OptionError(f"{name}: expected a file, found a folder")
    if given.parent != Path():
        raise OptionError(f"{name}: no such file")
    raise OptionError(
        f"{name}: no such file here, and no bundled {' or '.join(suffixes)} instance of that name"
        f"{did_you_mean(given.stem if given.suffix in suffixes else given.name, known)}"
    )
