"""Text files, read and checked before they are parsed, and written whole or not at all.

Files are read whole, compressed or not. The content to write goes to a temporary file in the same
folder, reaches the disk, and then takes the place of the old file in one step: a reader, or a run
that is killed, never meets half a file. JSON is parsed, or refused with the place of the fault.
"""

import gzip
import io
import json
import os
import re
import secrets
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any

from exactlearn._runtime.control import UNFINISHED
from exactlearn.errors import DataError, FormatError, OptionError, shown

_HALF_LETTER = re.compile("[\ud800-\udfff]")
"""A lone surrogate: in a file name it stands for a byte that is not UTF-8."""

LARGEST = 2**30
"""Most bytes of a file that is read whole."""

LARGEST_UNPACKED = 2**27
"""Most bytes that are unpacked from a gzip file, which holds a thousand times fewer.

A line of a file that is read in blocks is no longer, either.
"""

_CHUNK = 2**20
"""Bytes that are read at a time, and looked through before there are more."""

Content = io.BufferedReader | gzip.GzipFile
"""The content of a file, read from the beginning."""

_REASONS: dict[type[OSError], str] = {
    FileNotFoundError: "there is no file of that name",
    IsADirectoryError: "it is a folder; name a file in it",
}
"""Why a file cannot be read, and what to do, where the system's words are too short."""

_AS_CSV = "save its sheet as CSV in UTF-8"
_AS_TEXT = "write the table as CSV or Parquet"
_UTF_16 = ("UTF-16", "save it as UTF-8")
_UNPACKED = "unpack it first"

_SIGNATURES = {
    b"PK\x03\x04": ("a zip or Excel file", _AS_CSV),
    b"\xd0\xcf\x11\xe0": ("an old Excel or Word file", _AS_CSV),
    b"PAR1\x15": ("a Parquet file", "let its name end in .parquet"),
    b"\xff\xfe": _UTF_16,
    b"\xfe\xff": _UTF_16,
    b"%PDF-": ("a PDF document", _AS_TEXT),
    b"ARROW1\0": ("a Feather file", _AS_TEXT),
    b"\x89HDF": ("an HDF5 file", _AS_TEXT),
    b"\x93NUMPY": ("an array of NumPy", _AS_TEXT),
    b"\x80\x04\x95": ("a pickled object of Python", _AS_TEXT),
    b"RDX3\n": ("data of R", _AS_TEXT),
    b"SQLite format 3\0": ("a database of SQLite", _AS_TEXT),
    b"\x28\xb5\x2f\xfd": ("a file packed by zstd", _UNPACKED),
    b"\xfd7zXZ\0": ("a file packed by xz", _UNPACKED),
    b"BZh91AY&SY": ("a file packed by bzip2", _UNPACKED),
}
"""What the first bytes of a file that is no text in UTF-8 say of it, and what to do."""


def binary_kind(head: bytes) -> tuple[str, str] | None:
    """Return the kind of a file that is no text in UTF-8, by its first bytes, and what to do.

    Examples
    --------
    >>> binary_kind("a,b".encode("utf-16-le"))
    ('UTF-16', 'save it as UTF-8')
    """
    # UTF-16 without a mark: of two letters of Latin, one byte each is zero.
    if b"\0\0" in (head[:4:2], head[1:4:2]) and head[:4].count(b"\0") == 2:
        return _UTF_16
    kinds = (kind for sign, kind in _SIGNATURES.items() if head.startswith(sign))
    return next(kinds, None)


def suffix_of(path: Path) -> str:
    """Return the suffix that decides the format: in small letters, without ``.gz``.

    Examples
    --------
    >>> suffix_of(Path("a/full.CSV.gz")), suffix_of(Path("model.pdg.json"))
    ('.csv', '.pdg.json')
    """
    name = path.name.lower().removesuffix(".gz")
    for suffix in (".pdg.json", ".nb.json"):
        if name.endswith(suffix):
            return suffix
    return Path(name).suffix


def read_text(path: Path) -> str:
    """Return the text of a file as it stands there, but for a byte order mark.

    Parameters
    ----------
    path
        The file, in UTF-8; gzip is recognised by its content.

    Raises
    ------
    OptionError
        When the file does not exist or cannot be read.
    FormatError
        When it is no text in UTF-8, has a zero byte, or is damaged, or larger than
        :data:`LARGEST`, or unpacked from gzip than :data:`LARGEST_UNPACKED`; names line and byte.
    """
    return _utf8(path, read_bytes(path, is_text=True)).decode()


def read_lines(path: Path) -> bytes:
    """Return the text of a file in UTF-8, a line feed at each of its line ends, whatever they were.

    Raises
    ------
    OptionError, FormatError
        As :func:`read_text`.
    """
    return _lines(path, read_bytes(path, is_text=True))


def line_blocks(path: Path, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield a text in blocks of whole lines, with the number of lines before each block.

    Parameters
    ----------
    path
        The file, in UTF-8, compressed by gzip or not, of any size.
    size
        Bytes of a block; a longer line is one block.

    Raises
    ------
    OptionError, FormatError
        As :func:`read_lines`.
    """
    line = 0
    with opened(path) as content:
        while data := content.read(size):
            if not data.endswith(b"\n"):
                data += _rest_of_line(path, content, line + data.count(b"\n") + 1)
            data = _lines(path, data, line)
            yield line, data
            line += data.count(b"\n")


def _rest_of_line(path: Path, content: Content, line: int) -> bytes:
    """Return the text up to the end of a line, or refuse what is too long for a line.

    Parameters
    ----------
    path
        The file, for messages.
    content
        Its content, read up to some place in the line.
    line
        Number of the line.
    """
    text = content.readline(LARGEST_UNPACKED + 1)
    # A zero byte is refused where the text is checked.
    if len(text) > LARGEST_UNPACKED and b"\0" not in text:
        raise FormatError(
            f"{path}, line {line}: expected at most {LARGEST_UNPACKED >> 20} MiB in a line, "
            "found more; is this a text, with line ends?"
        )
    return text


def place(source: str | os.PathLike[str], text: str, at: int) -> str:
    r"""Return the source, line and column of a position of a text.

    Examples
    --------
    >>> place("a.toml", "a = 1\nb = x", 10)
    'a.toml, line 2, column 5'
    """
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    return f"{os.fspath(source)}, line {line}, column {column}"


def _lines(path: Path, data: bytes, before: int = 0) -> bytes:
    """Return text with its line ends as line feeds, checked.

    Parameters
    ----------
    path
        The file, for messages.
    data
        Whole lines of it.
    before
        Number of lines that stand before them.
    """
    data = _utf8(path, data, before)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data


def _utf8(path: Path, data: bytes, before: int = 0) -> bytes:
    """Return text without a byte order mark, or refuse what is no UTF-8, with its line."""
    # The first block tells of other kinds of files.
    if not before:
        data = data.removeprefix(b"\xef\xbb\xbf")
        if kind := binary_kind(data):
            raise FormatError(
                f"{path}: expected text in UTF-8, found {'; '.join(kind)}"
            )
    # Zero bytes and bytes that are not UTF-8, with their lines.
    if b"\0" in data:
        line = before + data.count(b"\n", 0, data.index(b"\0")) + 1
        raise FormatError(
            f"{path}, line {line}: a zero byte, so this is no text; expected UTF-8"
        )
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = before + data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise FormatError(
            f"{path}, line {line}, byte {column}: 0x{data[error.start]:02x} is not UTF-8; save the "
            "file as UTF-8 (it may be in Latin-1)"
        ) from error
    return data


def read_bytes(path: Path, is_text: bool = False) -> bytes:
    """Return the content of a file, unpacked; raises what :func:`read_text` raises but for text.

    Parameters
    ----------
    path
        The file.
    is_text
        Whether nothing is read after a zero byte, as a text has none: a device may yield them
        without end.
    """
    data = io.BytesIO()
    with opened(path) as content:
        limit = LARGEST
        advice = ", found more; split it into several files"
        if isinstance(content, gzip.GzipFile):
            limit = LARGEST_UNPACKED
            advice = " when unpacked, found more; unpack it first"
        while chunk := content.read(_CHUNK):
            data.write(chunk)
            if is_text and b"\0" in chunk:
                break
            if data.tell() > limit:
                raise FormatError(f"{path}: expected at most {limit >> 20} MiB{advice}")
    return data.getvalue()


@contextmanager
def opened(path: Path) -> Iterator[Content]:
    """Provide the content of a file, unpacked; its errors name the file, and what to do.

    Raises
    ------
    OptionError
        When the file cannot be read.
    FormatError
        When it is a damaged gzip file.
    """
    if "\0" in str(path):
        raise OptionError(f"cannot read {str(path)!r}: no file's name has a zero byte")
    try:
        with path.open("rb") as file:
            is_packed = file.peek(2).startswith(b"\x1f\x8b")
            yield gzip.GzipFile(fileobj=file) if is_packed else file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FormatError(
            f"{path}: damaged gzip file ({error}); fetch it again"
        ) from error
    except OSError as error:
        reason = _REASONS.get(type(error), error.strerror)
        raise OptionError(f"cannot read {path}: {reason}") from error


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
    DataError
        When the text has half a letter (a lone surrogate), as a file name that is not UTF-8 has.
    """
    # A place that cannot be written is refused before the content is packed.
    target = Path(path)
    if target.is_dir():
        raise OptionError(f"cannot write {target}: it is a folder; name a file in it")
    if not target.parent.is_dir():
        raise OptionError(
            f"cannot write {target}: the folder {target.parent} does not exist; create it first"
        )
    data = _encoded(target, content) if isinstance(content, str) else content
    if target.suffix.lower() == ".gz":
        data = gzip.compress(data, mtime=0)
    try:
        _write(target, data)
    except OSError as error:
        raise OptionError(
            f"cannot write {path}: {error.strerror}; choose another file"
        ) from error


def _encoded(target: Path, text: str) -> bytes:
    """Return a text in UTF-8, or name the line that cannot be written."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        before = text[: error.end].rpartition("\n")[2]
        line = before + text[error.end :].partition("\n")[0]
        raise DataError(
            f"cannot write {target}: {shown(line.strip())} has half a letter, "
            f"{text[error.start]!r}, as a file name has that is not UTF-8; rename the file, the "
            "folder or the variable"
        ) from None


def _write(target: Path, data: bytes) -> None:
    """Write bytes to a temporary file beside the target, which then takes its place."""
    if target.exists() and not target.is_file():
        # A pipe or device, such as /dev/stdout, cannot be replaced, only written to.
        target.write_bytes(data)
        return
    target = target.resolve()
    temporary = target.with_name(f".exactlearn-{secrets.token_hex(8)}.tmp")
    UNFINISHED.add(temporary)
    try:
        with temporary.open("xb") as file:
            file.write(data)
            # Otherwise a crash of the system may leave the new name with nothing in it.
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
        UNFINISHED.discard(temporary)


def temporary_folder() -> Path:
    """Return the folder of temporary files.

    Raises
    ------
    OptionError
        When there is none that can be written.
    """
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise OptionError(
            f"{error.strerror}: set the environment variable TMPDIR to a folder that can be written"
        ) from error


def read_json(path: Path) -> Any:
    """Return the content of a JSON file, compressed by gzip or not.

    A lone surrogate that stands for a byte of a file name is kept, as :func:`json_text` writes it.

    Raises
    ------
    FormatError
        When it is not JSON, nested too deep for the parser, has a whole number with thousands of
        digits or half a letter (any other lone surrogate).
    OptionError
        When the file cannot be read.
    """
    text = read_text(path)
    content: Any
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise FormatError(
            f"{place(path, text, error.pos)}: not JSON: {error.msg}{_cut_off(text, error)}"
        ) from None
    except RecursionError:
        raise FormatError(f"{path}: not JSON: brackets are nested too deep") from None
    except ValueError:
        raise FormatError(
            f"{path}: not JSON: a number has thousands of digits"
        ) from None
    # Only an escape can stand for half a letter, as the text itself is UTF-8.
    escaped = content if "\\u" in text else None
    try:
        json.dumps(escaped, ensure_ascii=False).encode(errors="surrogateescape")
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise FormatError(
            f"{path}: {half!r} is half a letter; write the text in UTF-8"
        ) from None
    return content


def _cut_off(text: str, error: json.JSONDecodeError) -> str:
    """Return a remark when the file seems to end too early."""
    stripped = text.strip()
    is_open = stripped.startswith("{") and not stripped.endswith("}")
    is_at_end = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
    if is_open or is_at_end:
        return " (the file ends too early: it was cut off, write it anew)"
    return ""


def json_text(value: Any, indent: int | None = None) -> str:
    r"""Return a value as JSON text that UTF-8 can hold, as :func:`strict` makes it.

    Examples
    --------
    >>> print(json_text({"name": "l\udcfc.csv", "bound": float("inf")}))
    {"name": "l\udcfc.csv", "bound": null}
    """
    text = json.dumps(strict(value), ensure_ascii=False, allow_nan=False, indent=indent)
    return _HALF_LETTER.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def strict(value: Any) -> Any:
    """Return a value as JSON knows it: no infinities (``None``), arrays or paths, texts as keys."""
    if isinstance(value, Mapping):
        return {str(key): strict(entry) for key, entry in value.items()}
    if hasattr(value, "tolist"):  # an array, or a number of numpy
        return strict(value.tolist())
    if isinstance(value, list | tuple):
        return [*map(strict, value)]
    if isinstance(value, float):
        return value if isfinite(value) else None
    return str(value) if isinstance(value, Path) else value
