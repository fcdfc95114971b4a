"""JSON files: parsed, or refused with the place of what no parser takes."""

import json
import re
from pathlib import Path
from typing import Any

from exactlearn.errors import FormatError
from exactlearn.formats.text_file import read_text

_STRING = r'"[^"\\]*+(?:\\[\s\S][^"\\]*+)*+"'
_BRACKET = re.compile(rf"{_STRING}|[\[\]{{}}]")
_LONG_NUMBER = re.compile(rf"{_STRING}|([0-9]{{1000,}})")
# A surrogate is half a letter; two escapes in a row may make a whole one.
_SURROGATE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F])|[\s\S])"
)

_DEEP = 100
"""Nesting of which the place is told when there is too much of it."""


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
            f"{_place(path, text, error.pos)}: not JSON: {error.msg}{_cut_off(text, error)}"
        ) from None
    except RecursionError:
        at = _too_deep(text)
        raise FormatError(
            f"{_place(path, text, at)}: brackets are nested too deep; expected less than {_DEEP}"
        ) from None
    except ValueError:
        at = next((m.start() for m in _LONG_NUMBER.finditer(text) if m[1]), 0)
        raise FormatError(
            f"{_place(path, text, at)}: expected a number, found one of thousands of digits"
        ) from None
    if "\\u" in text and (halves := [m for m in _SURROGATE.finditer(text) if m[1]]):
        raise FormatError(
            f"{_place(path, text, halves[0].start())}: '{halves[0][0]}..' is half a letter (a lone "
            "surrogate); write the text in UTF-8"
        )
    return content


def _place(path: Path, text: str, at: int) -> str:
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return f"{path}, line {line}, column {column}"


def _cut_off(text: str, error: json.JSONDecodeError) -> str:
    """Return a remark when the file seems to end too early."""
    told = text.strip()
    ends = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
    ends = ends or (told.startswith("{") and not told.endswith("}"))
    return " (the file ends too early: it was cut off, write it anew)" if ends else ""


def _too_deep(text: str) -> int:
    """Return the place of the first bracket that is nested too deep."""
    depth = 0
    for found in _BRACKET.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth > _DEEP:
            return found.start()
    return 0
