"""Writing a file whole or not at all.

The content goes to a temporary file in the same folder, reaches the disk, and then takes the
place of the old file in one step: a reader, or a run that is killed, never meets half a file.
"""

import gzip
import os
import secrets
import shutil
from pathlib import Path

from exactlearn.errors import OptionError


def atomic_write(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file in one step, compressed when its suffix is ``.gz``.

    Parameters
    ----------
    path
        File to write or replace; its folder must exist. A symbolic link is followed.
    content
        The whole content; text is encoded as UTF-8, line ends are kept as they are. The same
        content gives the same bytes, compressed or not.

    Raises
    ------
    OptionError
        When the folder does not exist, or the file cannot be written there.
    """
    target = Path(path)
    _check_target(target)
    data = content.encode() if isinstance(content, str) else content
    if target.suffix.lower() == ".gz":
        data = gzip.compress(data, mtime=0)
    try:
        _write(target, data)
    except OSError as error:
        raise OptionError(f"cannot write {path}: {error.strerror}; choose another file") from error


def _check_target(target: Path) -> None:
    if target.is_dir():
        raise OptionError(f"cannot write {target}: it is a folder; name a file in it")
    if not target.parent.is_dir():
        raise OptionError(
            f"cannot write {target}: the folder {target.parent} does not exist; create it first"
        )


def _write(target: Path, data: bytes) -> None:
    if target.exists() and not target.is_file():
        # A pipe or device, such as /dev/stdout, cannot be replaced, only written to.
        target.write_bytes(data)
        return
    target = target.resolve()
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        _write_through(temporary, data)
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _write_through(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
