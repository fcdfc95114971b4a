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


def locate(name: str | os.PathLike[str], *suffixes: str) -> Path:
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

    Examples
    --------
    >>> locate("asia", ".bif").name
    'asia.bif'
    """
    given = Path(name)
    if given.exists() and not given.is_dir():  # a pipe is no file
        return given
    fitting = [
        p for suffix in reversed(suffixes) for p in bundled() if p.suffix == suffix
    ]
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
