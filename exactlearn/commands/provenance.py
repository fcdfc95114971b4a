"""The provenance of a record: the key ``made_by`` of every JSON record.

It says what repeats the command, and what the answer depends on: the version, the options with all
defaults, and the SHA-256 of each file that was read.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from exactlearn import __version__
from exactlearn.commands.declare import Declared
from exactlearn.errors import OptionError

MAX_HASHED = 2**32
"""Bytes of a file above which it is not hashed: its reading in blocks would take twice as long."""


@dataclass
class Provenance:
    """A command that runs, and the files that it has read so far.

    Parameters
    ----------
    options
        The declared options.
    words
        The words of the command line after the program's name; left out, those of the command that
        runs.
    step
        Name of the command whose options these are, where the words name another: that of a step
        of a run file, or what is run again.
    seed
        Seed of everything random; ``None`` where nothing is.
    output
        File or folder to write.
    """

    options: Declared
    words: Sequence[str] = ()
    step: str | None = None
    seed: int | None = None
    output: Path | None = None
    _files: dict[Path, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Hash the files that the options name, before the command may write others there."""
        if not self.words and (outer := current()):
            self.words = outer.words
        if self.seed is None:
            self.seed = getattr(self.options, "seed", None)
        for key, path in files_read(self.options).items():
            self.read(path, option=key)

    def read(self, path: Path, files: Sequence[Path] = (), **entries: Any) -> None:
        """Note a file that is read, or a table of several, with further entries on it."""
        if path not in self._files:
            self._files[path] = {"name": path.name, "sha256": sha256(files or [path])}
        self._files[path] |= entries

    def to_dict(self) -> dict[str, Any]:
        """Return the value of ``made_by`` in a record that is written now."""
        import platform

        return {
            "version": __version__,
            "command": ["exactlearn", *self.words],
            **({} if self.step is None else {"step": self.step}),
            "options": as_table(self.options),
            "seed": self.seed,
            "output": None if self.output is None else str(self.output),
            "inputs": list(map(dict, self._files.values())),
            "python": platform.python_version(),
            "platform": platform.platform(),
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
        }


_running: ContextVar[Provenance | None] = ContextVar("provenance", default=None)


@contextmanager
def running(made_by: Provenance) -> Iterator[Provenance]:
    """Let the records that are made within the block be made by a command."""
    token = _running.set(made_by)
    try:
        yield made_by
    finally:
        _running.reset(token)


def current() -> Provenance | None:
    """Return the command that runs, if one does."""
    return _running.get()


def signed(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with its provenance, if a command made it."""
    made_by = current()
    return {**record} if made_by is None else {**record, "made_by": made_by.to_dict()}


FOLDER_RECORDS = ("result.json", "sweep.json", "compare.json")
"""Names of the record in a folder that a command wrote."""


def record_in(folder: Path) -> Path:
    """Return the record in a folder, or where the first of :data:`FOLDER_RECORDS` would be."""
    records = (folder / name for name in FOLDER_RECORDS)
    return next(
        (path for path in records if path.is_file()), folder / FOLDER_RECORDS[0]
    )


def note_table(path: Path, rows: int, columns: int, files: Sequence[Path] = ()) -> None:
    """Note a table that the running command has read, and the files beside it with its states."""
    from exactlearn.formats.states_file import has_states_file, states_path

    if made_by := current():
        made_by.read(path, files, rows=rows, columns=columns)
        for table in filter(has_states_file, files or [path]):
            made_by.read(states_path(table))


def as_table(options: Declared) -> dict[str, Any]:
    """Return options as the keys of a run file; those that are not set are left out."""
    from exactlearn._runtime.files import strict

    values = {name.rstrip("_"): getattr(options, name) for name in options.known()}
    table: dict[str, Any] = strict(
        {key: value for key, value in values.items() if value is not None}
    )
    return table


def files_read(options: Declared) -> dict[str, Path]:
    """Return the files that options name, each by the name of its field.

    A table of many files, and a text in place of a file, is none.
    """
    from exactlearn.instances import SUFFIXES, locate

    paths: dict[str, Path] = {}
    for name, value, about in options.files():
        if about.reads:
            with suppress(OptionError, OSError, ValueError):
                paths[name] = locate(str(value), *(about.bundled or SUFFIXES))
    return paths


def sha256(files: Sequence[Path]) -> str | None:
    """Return the hash of the contents of some files, one after the other.

    ``None`` where they are very large together, or one is a pipe or cannot be read.
    """
    import hashlib

    digest = hashlib.sha256()
    try:
        # A pipe has no size, and cannot be read twice.
        sizes = [path.stat().st_size for path in files if path.is_file()]
        if len(sizes) < len(files) or sum(sizes) > MAX_HASHED:
            return None
        for path in files:
            with path.open("rb") as file:
                hashlib.file_digest(file, lambda: digest)
    except OSError:
        return None
    return digest.hexdigest()
