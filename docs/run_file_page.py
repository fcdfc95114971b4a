"""The keys of run files as a page of tables, which is written when the guide is built."""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from exactlearn.commands import COMMANDS, line_of, options_of
from exactlearn.commands.declare import about_of, help_of
from exactlearn.commands.sections import (
    Criterion,
    GraphParameters,
    NetworkParameters,
    Search,
)
from exactlearn.commands.steps import Data, is_step
from exactlearn.formats.run_file import literal

HEAD = """# Run files

Every key of every section, made from the classes that the options of the command line are made
from. At the top stand `title`, a text, and `pipeline`: with `false` only the steps are taken. Files
are looked for beside the run file.

A section `[sweep]` has lists of values in place of one: `score.ess = [1, 4, 16]` varies the key
`ess` of `[score]`, `impute.draws = [3, 5]` that of each step `[impute]`. Each combination of the
values is a run. `exactlearn run
RUN.toml` does them all (`--jobs`, `--cluster`), each in a folder of its own, and writes
`sweep.json` and `sweep.csv` with a row for each. A run that is done is not repeated while its keys
and files stay the same.
"""
STEPS = """## Steps

A section with the name of a command is a step; `[[impute]]`, twice, is two. Its keys are the
options of the command, and `output`, a file or folder in the folder of the run (the command's
`-o`). What a step does not say is what `[data]`, `[score]`, `[search]` and `[network]` say about
the same option; then the default holds. A file is one that the run or an earlier step has written,
else one beside the run file, else a bundled one.
"""
HEADS, RULE = ("key", "type", "default", "meaning"), ("---",) * 4
SECTIONS = {
    "[data]": Data,
    "[score]": Criterion,
    "[search]": Search,
    "[network]": NetworkParameters,
    "[decision_graph]": GraphParameters,
}


def page() -> str:
    """Return the page."""
    texts = [HEAD]
    for name, section in SECTIONS.items():
        texts.append(f"## `{name}`\n\n{_table(section, [])}")
    texts.append(STEPS)
    known = [one for section in SECTIONS.values() for one in fields(section)]
    for name in filter(is_step, COMMANDS):
        texts.append(
            f"### `[{name}]`\n\n{line_of(name)}\n\n{_table(options_of(name), known)}"
        )
    return "\n".join(texts)


def _table(section: type[Any], known: list[Field[Any]]) -> str:
    """Return the keys of a section; those that mean what is known by their names alone."""
    hints = get_type_hints(section)
    alike = [
        one for one in fields(section) if any(_is_alike(one, other) for other in known)
    ]
    rows = [
        (
            f"`{_key(one)}`",
            _words(choices())
            if (choices := about_of(one).choices)
            else _kind(hints[one.name]),
            _default(one),
            help_of(section, one.name).split("  [")[0],
        )
        for one in fields(section)
        if one not in alike
    ]
    lines = [
        " | ".join(cell.replace("|", "\\|") for cell in row)
        for row in (HEADS, RULE, *rows)
    ]
    text = "".join(f"| {line} |\n" for line in lines)
    if not alike:
        return text
    return f"{text}\nAs in the sections above: {', '.join(f'`{_key(one)}`' for one in alike)}.\n"


def _is_alike(one: Field[Any], other: Field[Any]) -> bool:
    return about_of(one) is about_of(other) and one.default == other.default


def _key(one: Field[Any]) -> str:
    return one.name.rstrip("_")


def _default(one: Field[Any]) -> str:
    if one.default is MISSING:
        place = about_of(one).in_run
        demanded = (
            f"`[data]` `{place}`"
            if place == "file"
            else f"`{place}`"
            if place
            else "needed"
        )
        return demanded if one.default_factory is MISSING else "empty"
    if one.default in (None, ()):
        return "" if one.default is None else "empty"
    return f"`{literal(one.default)}`"


def _kind(hint: Any) -> str:
    origin, kinds = get_origin(hint), [k for k in get_args(hint) if k is not NoneType]
    if origin is Literal:
        return _words(get_args(hint))
    if origin is tuple:
        return f"list of {_kind(kinds[0])}"
    if origin is Mapping:
        return f"table of {_kind(kinds[1])}"
    if origin is not None:
        return " or ".join(map(_kind, kinds))
    return {bool: "truth value", int: "whole number", float: "number"}.get(hint, "text")


def _words(words: Iterable[str]) -> str:
    return ", ".join(f"`{literal(word)}`" for word in words)
