r"""Tables in ARFF, the format of Weka: attributes with their states first, then one row a line.

::

    @relation asia
    @attribute smoke {no, yes}
    @attribute age numeric
    @data
    yes, 42
    ?, 17

Names and values with blanks or marks stand in single or double quotes, in which a backslash guards
the next character; ``%`` begins a comment line, ``?`` is a missing cell. The states of a nominal
attribute are kept in their order; numbers and strings become labels as in other tables. Sparse
rows, rows with weights, dates and relational attributes are refused.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from exactlearn._runtime.files import atomic_write, read_lines
from exactlearn.data.codes import repeated
from exactlearn.data.coding import tidy
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, FormatError, as_written
from exactlearn.formats.delimited import coded_columns, written_rows
from exactlearn.formats.raw_table import RawTable, TableFormat

_QUOTED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
_ATTRIBUTE = re.compile(
    rf"@attribute\s+({_QUOTED}|[^\s{{,'\"]+)\s*(?:\{{(.*)\}}|(\w+).*)\s*", re.IGNORECASE
)
_FIELD = re.compile(rf"\s*+(?:({_QUOTED})\s*+|([^,]*+))(?:,|\Z)")
_PLAIN = re.compile(r"[^\s,{}%?'\"\\\x00-\x1f][^\s,{}%'\"\\\x00-\x1f]*")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_ESCAPED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "'": "\\'", "\\": "\\\\"}
_MISSING = "?"


def read_arff(path: Path, header: bool = True, separator: str | None = None) -> RawTable:
    """Read a table; header and separator are as the format has them.

    Raises
    ------
    FormatError
        When the file does not follow the format, or is sparse; names the line.
    OptionError
        When the file cannot be read.
    """
    lines = enumerate(read_lines(path).decode().split("\n"), 1)
    content = ((k, line.strip()) for k, line in lines if line.strip()[:1] not in ("", "%"))
    names: list[str] = []
    states: dict[str, Sequence[str]] = {}
    for k, line in content:
        keyword = line.split(None, 1)[0].lower()
        if keyword == "@data":
            break
        if keyword != "@relation":
            name, listed = _attribute(path, k, line)
            names.append(name)
            if listed is not None:
                states[name] = listed
    if not names:
        raise FormatError(f"{path}: expected lines '@attribute NAME {{A, B}}', found none")
    numbers: list[int] = []
    columns = coded_columns(_rows(path, content, len(names), numbers), len(names))
    seen = tuple(tidy(column, (_MISSING,)) for column in columns)
    return RawTable(path, tuple(names), seen, np.array(numbers), states=states)


def write_arff(dataset: Dataset, names: Sequence[str], path: Path, missing: str) -> None:
    """Write a table in one step: nominal attributes, ``?`` for missing cells.

    Weights become a numeric attribute, the last one.

    Raises
    ------
    OptionError
        When the file cannot be written.
    DataError
        When ``?`` is a state.
    """
    for name, own in zip(names, dataset.states, strict=False):
        if _MISSING in own:
            raise DataError(f"{name!r} has the state '?', a missing cell in ARFF; rename it")
    states = [list(map(_quoted, own)) for own in dataset.states]
    kinds = [f"{{{','.join(own)}}}" for own in states] + ["numeric"]
    declared = zip(map(_quoted, names), kinds, strict=False)
    lines = ["@relation table", "", *(f"@attribute {name} {kind}" for name, kind in declared)]
    rows = written_rows(dataset, states, _MISSING, ",")
    atomic_write(path, "\n".join([*lines, "", "@data", *rows, ""]))


def _attribute(path: Path, k: int, line: str) -> tuple[str, list[str] | None]:
    """Return the name and the states, if any, that a line declares."""
    found = _ATTRIBUTE.fullmatch(line)
    if found is None:
        raise FormatError(
            f"{path}, line {k}: expected '@attribute NAME {{A, B}}' or '@attribute NAME numeric', "
            f"found {line[:60]!r}"
        )
    name, listed, kind = _unquoted(found[1]), found[2], (found[3] or "").lower()
    if listed is not None:
        own = [label.strip() for label in _fields(listed)]
        if twice := repeated(own):
            raise FormatError(f"{path}, line {k}: {name!r} lists the state {twice[0]!r} twice")
        return name, own
    if kind not in ("numeric", "real", "integer", "string"):
        raise FormatError(
            f"{path}, line {k}: expected nominal, numeric or string attributes, found {kind!r} of "
            f"{name!r}; convert the attribute in Weka"
        )
    return name, None


def _rows(
    path: Path, content: Iterator[tuple[int, str]], width: int, numbers: list[int]
) -> Iterator[list[str]]:
    """Yield the fields of each row, and note its line."""
    for k, line in content:
        if line[0] == "{":
            raise FormatError(
                f"{path}, line {k}: a sparse row; expected a value of each attribute: apply Weka's "
                "filter SparseToNonSparse"
            )
        fields = _fields(line)
        if len(fields) == 1 < width:
            fields = line.split()
        if len(fields) == width + 1 and fields[-1][:1] == "{":
            raise FormatError(
                f"{path}, line {k}: a row with the weight {fields[-1]}; make it an attribute, and "
                f"name that with {as_written('weights')}"
            )
        if len(fields) != width:
            raise FormatError(
                f"{path}, line {k}: {len(fields)} fields for {width} attributes; a value with "
                "blanks or commas needs quotes"
            )
        numbers.append(k)
        yield fields
    if not numbers:
        raise FormatError(f"{path}: expected rows after '@data', found none")


def _fields(text: str) -> list[str]:
    """Return the values that commas part."""
    if "'" not in text and '"' not in text:
        return [field.strip() for field in text.split(",")]
    text = text.strip()
    fields = [_unquoted(found[1] or found[2].strip()) for found in _FIELD.finditer(text)]
    # The pattern also matches the empty text behind the last field.
    return fields if text.endswith(",") else fields[:-1]


def _unquoted(text: str) -> str:
    if text[:1] not in ("'", '"'):
        return text
    return re.sub(
        r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text[1:-1], flags=re.DOTALL
    )


def _quoted(label: str) -> str:
    if _PLAIN.fullmatch(label):
        return label
    return "'" + "".join(_ESCAPED.get(sign, sign) for sign in label) + "'"


ARFF = TableFormat(read_arff, write_arff)
