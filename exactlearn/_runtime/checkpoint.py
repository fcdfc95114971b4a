"""The state of a search in a folder, from which a later search goes on.

Each algorithm keeps its own state, as arrays, under a key that names the algorithm and what it
works on: a digest of all that the state depends on. So a folder may hold the states of many
searches, and a search that finds no state under its key begins at the beginning.
"""

import hashlib
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactlearn._runtime.control import LOG, SearchControl
from exactlearn._runtime.files import atomic_write
from exactlearn.errors import FormatError, OptionError

State = Mapping[str, ArrayLike]
"""Arrays by name."""


class Checkpoint:
    """States of searches in a folder.

    Parameters
    ----------
    folder
        Made if it does not exist; without one nothing is kept.
    pause
        Seconds between two saves of one state, at least.
    share
        Share of the time that saving may take.

    Raises
    ------
    OptionError
        When the folder cannot be made.
    """

    def __init__(
        self, folder: Path | None = None, *, pause: float = 10.0, share: float = 0.05
    ) -> None:
        self.folder, self.pause, self.share = folder, pause, share
        self._waiting: dict[str, State] = {}
        self._due: dict[str, float] = {}
        self._took: dict[str, float] = {}
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise OptionError(
                    f"checkpoint {folder}: no folder can be made there ({error.strerror}); name "
                    "another place"
                ) from error

    def load(self, key: str) -> dict[str, NDArray]:  # type: ignore[type-arg]
        """Return the state that was saved under a key, without entries if there is none.

        Raises
        ------
        FormatError
            When the file is damaged.
        """
        path = self._path(key)
        if path is None or not path.exists():
            return {}
        try:
            LOG.info("going on from the state %s", path.name)
            with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                return {name: file[name] for name in file.files}
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise FormatError(
                f"{path}: no state of a search ({error}); remove the file to begin this part anew"
            ) from error

    def offer(self, key: str, state: Callable[[], State], *, last: bool = False) -> None:
        """Save a state if that is due: the first one after a pause.

        Parameters
        ----------
        key
            Names the algorithm and what it works on.
        state
            Returns the state.
        last
            Whether the search ends here: then the state is saved unless that took over a second
            before, which the end of a search has not.
        """
        now = monotonic()
        due = self._due.setdefault(key, now + self.pause)
        if self.folder is not None and (self._took.get(key, 0.0) < 1.0 if last else now >= due):
            self.save(key, state())
            took = monotonic() - now
            self._took[key] = took
            self._due[key] = monotonic() + max(self.pause, took / self.share)

    def defer(self, key: str, state: State) -> None:
        """Save a state together with the next one: a later search depends on it."""
        self._waiting[key] = state

    def save(self, key: str, state: State) -> None:
        """Save a state; a state under that key is replaced at once, or not at all."""
        waiting, self._waiting = self._waiting, {}
        for earlier, deferred in waiting.items():
            self.save(earlier, deferred)
        path = self._path(key)
        if path is not None:
            arrays = {name: np.asarray(array) for name, array in state.items()}
            atomic_write(path, lambda file: np.savez(file, **arrays))  # type: ignore[arg-type]

    def drop(self, key: str) -> None:
        """Remove the state under a key: the search that it belongs to has ended."""
        self._waiting.pop(key, None)
        path = self._path(key)
        if path is not None:
            path.unlink(missing_ok=True)

    def _path(self, key: str) -> Path | None:
        return None if self.folder is None else self.folder / f"{key}.npz"


_NOWHERE = Checkpoint()


def states_of(control: SearchControl) -> Checkpoint:
    """Return where a search keeps its state: nowhere, unless it was given a folder."""
    return control.checkpoint or _NOWHERE


def checkpoint_in(folder: str | os.PathLike[str] | None) -> Checkpoint | None:
    """Return the checkpoint in a folder, none without one."""
    return None if folder is None else Checkpoint(Path(folder))


def digest(*parts: ArrayLike) -> str:
    """Return a short digest of arrays: of types, shapes and values.

    Examples
    --------
    >>> digest([1, 2]) == digest(np.array([1, 2])), digest([1, 2]) == digest([[1, 2]])
    (True, False)
    """
    found = hashlib.sha256()
    for part in map(np.asarray, parts):
        found.update(f"{part.dtype.str}{part.shape}".encode())
        found.update(np.ascontiguousarray(part).tobytes())
    return found.hexdigest()[:20]
