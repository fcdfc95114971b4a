"""The command line made from classes of options: a parameter of click for each field.

A command's module is imported once its options are read, and is run by the caller.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import MISSING, Field, fields
from functools import partial
from inspect import get_annotations, getdoc
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import click

from exactlearn._runtime.compilation_notice import COMPILATIONS
from exactlearn.commands import LOG, body_of, declare, options_of
from exactlearn.commands.output import Answer, Output
from exactlearn.commands.provenance import Provenance, running
from exactlearn.errors import ColumnWarning, StateWarning

D = TypeVar("D", bound=declare.Declared)

GROUPS = (
    *("Options", "Score", "Search", "Several networks", "Constraints", "Parameters"),
    *("Table", "Output"),
)
"""Titles of the groups of options that come last in a help, in their order."""


class GroupedCommand(click.Command):
    """A command whose help has its options by subject, and examples at the end.

    Parameters
    ----------
    groups
        The title of each option's group, in the order that options have in their groups.
    examples
        Command lines.
    """

    def __init__(
        self, *args: Any, groups: Mapping[str, str], examples: str, **more: Any
    ) -> None:
        super().__init__(*args, **more)
        self.groups, self.examples = groups, examples

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the options, below the titles of their groups."""
        known = {
            one.name: one
            for one in self.get_params(ctx)
            if isinstance(one, click.Option)
        }
        found: dict[str, list[tuple[str, str]]] = {}
        others = dict.fromkeys(known.keys() - self.groups.keys(), "Output")
        for name, title in {**self.groups, **others}.items():
            if name in known and (line := known[name].get_help_record(ctx)):
                found.setdefault(title, []).append(line)
        words = [self.help or "", *(one.metavar or "" for one in self.get_params(ctx))]
        if files := [
            (k, text) for k, text in FILES.items() if any(k in one for one in words)
        ]:
            with formatter.section("Files"):
                formatter.write_dl(files)
        for title in sorted(
            found, key=lambda t: GROUPS.index(t) if t in GROUPS else -1
        ):
            with formatter.section(title):
                formatter.write_dl(found[title])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples.splitlines():
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")


def command(name: str) -> click.Command:
    """Return a command of the command line; called, it returns what runs it."""
    declared: type[declare.Declared] = options_of(name)

    def call(**values: Any) -> Callable[[], int]:
        output = declared_from(Output, values)
        options = declared_from(declared, values)
        COMPILATIONS.announce = output.note
        words: Sequence[str] = click.get_current_context().find_root().obj or (name,)
        return partial(_run, body_of(name), options, output, words)

    text, _, examples = (getdoc(declared) or "").partition(declare.EXAMPLES)
    return GroupedCommand(
        name,
        callback=call,
        params=[*parameters(declared), *parameters(Output)],
        help=text.partition(declare.PARAMETERS)[0],
        groups={
            one.name: declare.group_of(kind, one.name) or "Options"
            for kind in (Output, declared)  # what all commands share comes first
            for one in fields(kind)  # type: ignore[arg-type]
        },
        examples=examples,
    )


def _run(
    body: Callable[[Any, Output], Answer],
    options: declare.Declared,
    output: Output,
    words: Sequence[str],
) -> int:
    from exactlearn.commands.places import require_places  # of no use to a help

    with ExitStack() as around:
        around.enter_context(running(Provenance(options, words, output=output.path)))
        around.enter_context(warnings.catch_warnings())
        for category in (ColumnWarning, StateWarning):
            warnings.simplefilter("default", category)
        warnings.showwarning = lambda message, *_: output.note(str(message))
        require_places(options, output)
        status = output.answer(body(options, output))
        LOG.info("Done, exit status %d", status)
        return status


def parameters(declared: type[declare.Declared]) -> list[click.Parameter]:
    """Return the parameters of the command line for a class: its own fields first."""
    hints, order = get_type_hints(declared), declared.__mro__
    known = [
        one for one in declared.known().values() if not declare.about_of(one).in_files
    ]
    known.sort(
        key=lambda f: max(
            k for k, c in enumerate(order) if f.name in get_annotations(c)
        )
    )
    return [_parameter(one, _without_none(hints[one.name])) for one in known]


def declared_from(declared: type[D], values: Mapping[str, Any]) -> D:
    """Return the options that the command line holds, as click hands them over.

    Raises
    ------
    OptionError
        When one does not follow its form, or is out of range.
    """
    found: dict[str, Any] = {}
    for one in fields(declared):  # type: ignore[arg-type]
        value, about = values.get(one.name), declare.about_of(one)
        if one.default is True:
            found[one.name] = not value
        elif value is not None and value != ():
            flag = declare.flags_of(one)[0]
            found[one.name] = about.read(value, flag) if about.read else value
    options = declared(**found)
    options.refuse_unused()
    return options


class _NumberOrWord(click.ParamType[Any]):
    """A number, or one of some words."""

    def __init__(self, number: click.ParamType[Any], words: tuple[str, ...]) -> None:
        self.number, self.words = number, words
        self.name = f"number or {' or '.join(map(repr, words))}"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Return the number or the word."""
        if value in self.words:
            return value
        try:
            float(value)
        except ValueError:
            self.fail(f"{value!r} is not a {self.name}", param, ctx)
        return self.number.convert(value, param, ctx)


def _without_none(hint: Any) -> Any:
    if get_origin(hint) not in (Union, UnionType):
        return hint
    return Union[tuple(kind for kind in get_args(hint) if kind is not NoneType)]  # noqa: UP007


def _parameter(one: Field[Any], kind: Any) -> click.Parameter:
    about = declare.about_of(one)
    required = one.default is MISSING and one.default_factory is MISSING
    if about.positional:
        return click.Argument(
            [one.name],
            metavar=about.metavar,
            type=_click_type(kind, about),
            required=required,
            nargs=-1 if get_origin(kind) is tuple else 1,
        )
    several = get_origin(kind) in (tuple, Mapping) and not about.once
    default = (
        None if several or about.read or one.default in (MISSING, None) else one.default
    )
    flag = kind is bool
    return click.Option(
        [*declare.flags_of(one), one.name],
        required=required,
        type=None if flag else _click_type(kind, about),
        is_flag=flag,
        hidden=about.hidden,
        multiple=several,
        default=None if one.default is None else False if flag else default,
        show_default=not flag and default is not None,
        metavar=about.metavar,
        help=about.help,
    )


_NETWORK = "A network (.bif, .xmlbif, .bifxml, .xml, .net)"
_OTHERS = "a decision graph (.pdg.json) or a naive Bayes model (.nb.json)"
_NAMED = "to read, also the name of a bundled network."

FILES = {
    "NETWORK": f"{_NETWORK}; {_NAMED}",
    "MODEL": f"{_NETWORK}, {_OTHERS}; {_NAMED}",
}
"""What names of files in helps stand for."""


def _click_type(kind: Any, about: declare.About) -> Any:
    if get_origin(kind) is tuple and about.read is None:
        kind = get_args(kind)[0]
    if get_origin(kind) is Literal or about.choices:
        return click.Choice(about.choices() if about.choices else get_args(kind))
    if get_origin(kind) in (Union, UnionType):
        number, word = get_args(kind)
        return _NumberOrWord(_click_type(number, about), get_args(word))
    if kind is Path:
        return click.Path(path_type=Path)
    if about.read is not None:
        return click.STRING
    if kind not in (int, float) or about.least is None:
        return {int: click.INT, float: click.FLOAT}.get(kind, click.STRING)
    ranged: Any = click.IntRange if kind is int else click.FloatRange
    return ranged(about.least, about.most)
