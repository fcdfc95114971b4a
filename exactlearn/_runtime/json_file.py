"""JSON files: parsed, or refused with the place of the fault; and values as JSON knows them."""

import json
import re
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from exactlearn._runtime.files import place, read_text, too_deep
from exactlearn.errors import FormatError

_STRING = r'"[^"\\]*+(?:\\[\s\S][^"\\]*+)*+"'
_LONG_NUMBER = re.compile(rf"{_STRING}|([0-9]{{1000,}})")
# A surrogate is half a letter; two escapes in a row may make a whole one.
_SURROGATE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F])|[\s\S])"
)

_DEEP = 100
"""Depth of brackets at whose place a text nested too deep is refused."""


def read_json(path: Path) -> Any:
    """Return what a JSON file holds, compressed by gzip or not.

    Raises
    ------
    FormatError
        When it is not JSON, nested too deep for the parser, has a whole number with thousands of
        digits or half a letter (a lone surrogate); names file, line and column.
    OptionError
        When the file cannot be read.
    """
    text = read_text(path)
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise FormatError(
            f"{place(path, text, error.pos)}: not JSON: {error.msg}{_cut_off(text, error)}"
        ) from None
    except RecursionError:
        at = too_deep(text, _DEEP, _STRING)
        raise FormatError(
            f"{place(path, text, at)}: brackets are nested too deep; expected less than {_DEEP}"
        ) from None
    except ValueError:
        at = next((m.start() for m in _LONG_NUMBER.finditer(text) if m[1]), 0)
        raise FormatError(
            f"{place(path, text, at)}: expected a number, found one of thousands of digits"
        ) from None
    if "\\u" in text and (halves := [m for m in _SURROGATE.finditer(text) if m[1]]):
        raise FormatError(
            f"{place(path, text, halves[0].start())}: '{halves[0][0]}..' is half a letter (a lone "
            "surrogate); write the text in UTF-8"
        )
    return content


def _cut_off(text: str, error: json.JSONDecodeError) -> str:
    """Return a remark when the file seems to end too early."""
    stripped = text.strip()
    ends = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
    ends = ends or (stripped.startswith("{") and not stripped.endswith("}"))
    return " (the file ends too early: it was cut off, write it anew)" if ends else ""


def strict(value: Any) -> Any:
    """Return a value as JSON knows it: no infinities (``None``), arrays or paths, texts as keys."""
    if isinstance(value, Mapping):
        return {str(k): strict(v) for k, v in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return strict(value.tolist())
    if isinstance(value, list | tuple):
        return [strict(v) for v in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    return str(value) if isinstance(value, Path) else value
