"""The cache of one kernel's machine code, which replaces whatever in it is damaged.

A file may be cut short by a full disk, or changed by a copy that failed. Machine code that differs
by one byte may end the process, so each file of it ends with a checksum; what cannot be read, for
any reason, is removed and compiled again.
"""

import pickle
import shutil
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

_DIGEST = 32
"""Bytes of a checksum."""


class _CheckedFiles(IndexDataCacheFile):
    """Index and machine code of a kernel, the latter with checksums."""

    def remove(self) -> None:
        """Remove all files of the kernel, and folders that stand in their place."""
        index = Path(self._index_path)
        for path in index.parent.glob(f"{index.stem}.*"):
            with suppress(OSError):
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def _save_data(self, name: str, data: Any) -> None:
        dumped = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(dumped + sha256(dumped).digest())

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()
        dumped, digest = content[:-_DIGEST], content[-_DIGEST:]
        if sha256(dumped).digest() != digest:
            raise ValueError(f"{name}: the checksum does not fit")
        return pickle.loads(dumped)


class KernelCache(FunctionCache):
    """The cache of a kernel; damaged files count as absent, and are written anew."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        files = self._cache_file
        base = Path(files._index_name).stem
        self._files = _CheckedFiles(files._cache_path, base, files._source_stamp)
        self._cache_file = self._files

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the machine code for a signature, or nothing when it must be compiled."""
        try:
            return super().load_overload(signature, target_context)
        except Exception:  # unpickling garbage raises anything
            self._files.remove()
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        """Keep the machine code for a signature, unless the disk does not take it."""
        try:
            super().save_overload(signature, data)
        except Exception:
            self._files.remove()
            with suppress(OSError):
                super().save_overload(signature, data)
