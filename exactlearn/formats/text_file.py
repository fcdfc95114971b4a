"""Reading text files: compressed or not, with any line end, checked before they are parsed."""

import gzip
import zlib
from pathlib import Path

from exactlearn.errors import FormatError, OptionError


def read_utf8(path: Path) -> bytes:
    """Return the text of a file, checked to be UTF-8.

    Parameters
    ----------
    path
        The file; gzip is recognised by its content.

    Returns
    -------
    text
        UTF-8 without byte order mark, its line ends a line feed each.

    Raises
    ------
    OptionError
        When the file does not exist or cannot be read.
    FormatError
        When it is no text in UTF-8, or damaged; names line and byte.
    """
    data = _read_bytes(path)
    data = data.removeprefix(b"\xef\xbb\xbf")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FormatError(f"{path}: the text is UTF-16; save it as UTF-8")
    if data.startswith(b"PK\x03\x04"):
        raise FormatError(f"{path}: a zip or Excel file, not text; save its sheet as CSV in UTF-8")
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise FormatError(f"{path}, line {line}: a zero byte, so this is no text; expected UTF-8")
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    _check_utf8(path, data)
    return data


def _read_bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise OptionError(f"there is no file {path}") from error
    except IsADirectoryError as error:
        raise OptionError(f"{path} is a folder; name a file in it") from error
    except OSError as error:
        raise OptionError(f"cannot read {path}: {error.strerror}") from error
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise FormatError(f"{path}: damaged gzip file ({error}); fetch it again") from error


def _check_utf8(path: Path, data: bytes) -> None:
    if data.isascii():
        return
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        raise FormatError(
            f"{path}, line {line}, byte {column}: 0x{data[error.start]:02x} is not UTF-8; save the "
            "file as UTF-8 (it may be in Latin-1)"
        ) from error
