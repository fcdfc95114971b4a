"""Results of a search's parts in a folder, from which a later search goes on.

Each part keeps its result, as arrays, under a key that names what was done and to what: a digest of
all that the result depends on. The version of exactlearn stands in the file's name, too. So a
folder may hold the results of many searches, and a search that finds nothing under its key begins
at the beginning.
"""

import gzip
import hashlib
import os
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

import exactlearn
from exactlearn._runtime.control import LOG
from exactlearn._runtime.files import atomic_write
from exactlearn.errors import FormatError, OptionError


class Checkpoint:
    """Results of parts of searches in a folder.

    Parameters
    ----------
    folder
        Made if it does not exist; without one nothing is kept.

    Raises
    ------
    OptionError
        When the folder cannot be made.
    """

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self.folder = None if folder is None else Path(folder)
        if self.folder is not None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
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
            with np.load(BytesIO(gzip.decompress(path.read_bytes()))) as file:
                state = dict(file)
        except Exception as error:  # of damage, a parser raises anything
            raise FormatError(
                f"{path}: no result of a search ({error}); remove the file to begin this part anew"
            ) from error
        LOG.info("going on from the state %s", path.name)
        return state

    def save(self, key: str, state: Mapping[str, ArrayLike]) -> None:
        """Save a state; a state under that key is replaced at once, or not at all."""
        path = self._path(key)
        if path is not None:
            # The file is packed when it is written, whole, as its name ends in .gz.
            file = BytesIO()
            np.savez(file, **{name: np.asarray(array) for name, array in state.items()})  # type: ignore[arg-type]
            atomic_write(path, file.getvalue())

    def drop(self, key: str) -> None:
        """Remove the state under a key: another one covers it."""
        path = self._path(key)
        if path is not None:
            path.unlink(missing_ok=True)

    def _path(self, key: str) -> Path | None:
        """Return the file of a state; ``None`` without a folder."""
        if self.folder is None:
            return None
        return self.folder / f"{key}-{exactlearn.__version__}.gz"


def digest(*parts: ArrayLike) -> str:
    """Return a short digest of arrays: of types, shapes and values.

    Examples
    --------
    >>> digest([1, 2]) == digest(np.array([1, 2])), digest([1, 2]) == digest([[1, 2]])
    (True, False)
    """
    checksum = hashlib.sha256()
    for array in map(np.asarray, parts):
        checksum.update(f"{array.dtype.str}{array.shape}".encode())
        checksum.update(np.ascontiguousarray(array).tobytes())
    return checksum.hexdigest()[:20]
