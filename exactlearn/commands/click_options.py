"""The command line made from classes of options: a parameter of click for each field.

A command's module is imported once its options are read, and is run by the caller.
"""

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import MISSING, Field
from functools import partial
from inspect import getdoc
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import click

from exactlearn._runtime.compilation_notice import COMPILATIONS
from exactlearn._runtime.control import ENGINE
from exactlearn.commands import LOG, body_of, declare, options_of
from exactlearn.commands.output import Answer, Output
from exactlearn.commands.provenance import Provenance, running
from exactlearn.errors import ColumnWarning, StateWarning

D = TypeVar("D", bound=declare.Declared)

GROUPS = (
    "Options",
    "Score",
    "Search",
    "Several networks",
    "Constraints",
    "Parameters",
    "Table",
    "Output",
)
"""Titles of the groups of options that come last in a help, in their order."""

ALIASES = {"criterion": "score", "require": "required", "forbid": "forbidden"}
"""Earlier names of options, which still work."""

_NETWORK = "A network (.bif, .xmlbif, .bifxml, .xml, .net)"
_OTHERS = "a decision graph (.pdg.json) or a naive Bayes model (.nb.json)"
_NAMED = "to read, also the name of a bundled network."

FILES = {
    "NETWORK": f"{_NETWORK}; {_NAMED}",
    "MODEL": f"{_NETWORK}, {_OTHERS}; {_NAMED}",
}
"""Words for files in helps, with the formats that they stand for."""


class GroupedOption(click.Option):
    """An option with the title in the help that it stands below."""

    def __init__(self, *args: Any, group: str, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.group = group


class GroupedCommand(click.Command):
    """A command whose help has its options by subject, and examples at the end.

    Parameters
    ----------
    examples
        Command lines.
    """

    def __init__(self, *args: Any, examples: str, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.examples = examples

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the options, below the titles of their groups."""
        parameters = self.get_params(ctx)

        # Formats of files, if the help names a word for them.
        text = " ".join([self.help or "", *(p.metavar or "" for p in parameters)])
        formats = [(word, meaning) for word, meaning in FILES.items() if word in text]
        if formats:
            with formatter.section("Files"):
                formatter.write_dl(formats)

        # Options; the titles that only this command has come first.
        lines: dict[str, list[tuple[str, str]]] = {}
        for parameter in parameters:
            if line := parameter.get_help_record(ctx):
                title = getattr(parameter, "group", "Output")
                lines.setdefault(title, []).append(line)
        order = [title for title in lines if title not in GROUPS] + [*GROUPS]
        for title in sorted(lines, key=order.index):
            with formatter.section(title):
                formatter.write_dl(lines[title])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples.splitlines():
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")

    def show_all(self) -> None:
        """Let the help have all options, also those that few tables need."""
        for parameter in self.params:
            if isinstance(parameter, click.Option):
                parameter.hidden = False


def command(name: str) -> click.Command:
    """Return a command of the command line; called, it returns the function that runs it."""
    declared: type[declare.Declared] = options_of(name)

    def call(**values: Any) -> Callable[[], int]:
        output = declared_from(Output, values)
        options = declared_from(declared, values)
        COMPILATIONS.announce = output.note
        words: Sequence[str] = click.get_current_context().find_root().obj or (name,)
        return partial(_run, body_of(name), options, output, words)

    text, _, examples = (getdoc(declared) or "").partition(declare.EXAMPLES)
    help_all = GroupedOption(
        ["--help-all"],
        group="Output",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_all,
        help="Show the options that few tables need, too.",
    )
    return GroupedCommand(
        name,
        callback=call,
        # The options that all commands share come first in their groups.
        params=[*parameters(Output), *parameters(declared), help_all],
        help=text.partition(declare.PARAMETERS)[0],
        examples=examples,
        context_settings={"token_normalize_func": lambda word: ALIASES.get(word, word)},
    )


def _show_all(ctx: click.Context, option: click.Parameter, is_asked: bool) -> None:
    """Print the help with all options, and end."""
    if is_asked:
        assert isinstance(ctx.command, GroupedCommand)
        ctx.command.show_all()
        click.echo(ctx.get_help())
        ctx.exit()


def _run(
    body: Callable[[Any, Output], Answer],
    options: declare.Declared,
    output: Output,
    words: Sequence[str],
) -> int:
    """Run a command whose options are read, print its answer and return the exit status."""
    from exactlearn.commands.places import require_places  # of no use to a help

    with ExitStack() as around:
        around.enter_context(running(Provenance(options, words, output=output.path)))
        around.enter_context(warnings.catch_warnings())
        for category in (ColumnWarning, StateWarning):
            warnings.simplefilter("default", category)
        warnings.showwarning = lambda message, *_: output.note(str(message))
        if output.verbose > 1:
            around.enter_context(_engine_told(output))
        require_places(options, output)
        status = output.answer(output.written(body(options, output)))
        LOG.info("Done, exit status %d", status)
        return status


@contextmanager
def _engine_told(output: Output) -> Iterator[None]:
    """Print the rounds of the engine on standard error."""
    handler = logging.Handler()
    handler.emit = lambda record: output.detail(record.getMessage())  # type: ignore[method-assign]
    level = ENGINE.level
    ENGINE.addHandler(handler)
    ENGINE.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        ENGINE.removeHandler(handler)
        ENGINE.setLevel(level)


def parameters(declared: type[declare.Declared]) -> list[click.Parameter]:
    """Return the parameters of the command line for a class of options."""
    hints = get_type_hints(declared)
    return [
        _parameter(declared, option, _without_none(hints[option.name]))
        for option in declared.known().values()
        if not declare.about_of(option).in_files
    ]


def declared_from(declared: type[D], values: Mapping[str, Any]) -> D:
    """Return the options that the command line holds, as click hands them over.

    Raises
    ------
    OptionError
        When one does not follow its form, or is out of range.
    """
    given: dict[str, Any] = {}
    for name, option in declared.known().items():
        value = values.get(name)
        read = declare.about_of(option).read
        if option.default is True:
            given[name] = not value
        elif value is not None and value != ():
            given[name] = read(value, declare.flags_of(option)[0]) if read else value
    options = declared(**given)
    options.refuse_unused()
    return options


class _NumberOrWord(click.ParamType[Any]):
    """A number, or one of some words."""

    def __init__(self, number: click.ParamType[Any], words: tuple[str, ...]) -> None:
        self.number = number
        self.words = words
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
    """Return an annotation without the ``None`` that stands for an option left out."""
    if get_origin(hint) not in (Union, UnionType):
        return hint
    return Union[tuple(kind for kind in get_args(hint) if kind is not NoneType)]  # noqa: UP007


def _parameter(
    declared: type[declare.Declared], option: Field[Any], kind: Any
) -> click.Parameter:
    """Return the argument or the option of a field whose values are of a kind."""
    about = declare.about_of(option)
    is_required = (option.default, option.default_factory) == (MISSING, MISSING)
    if about.positional:
        return click.Argument(
            [option.name],
            metavar=about.metavar,
            type=_click_type(kind, about),
            required=is_required,
            nargs=-1 if get_origin(kind) is tuple else 1,
        )
    is_flag = kind is bool
    is_repeatable = get_origin(kind) in (tuple, Mapping) and not about.once
    # The default of a list, or of a text that is read, is told by the help's own words.
    default = None if is_repeatable or about.read else _default(option, is_flag)
    return GroupedOption(
        [*declare.flags_of(option), option.name],
        group=about.group or "Options",
        required=is_required,
        type=None if is_flag or about.counted else _click_type(kind, about),
        is_flag=is_flag,
        count=about.counted,
        hidden=about.hidden,
        multiple=is_repeatable,
        default=default,
        show_default=default is not None and not (is_flag or about.counted),
        metavar=about.metavar,
        help=declare.help_of(declared, option.name),
    )


def _default(option: Field[Any], is_flag: bool) -> Any:
    """Return the default of an option as click shows it, or ``None``."""
    if option.default in (MISSING, None):
        return None
    # That of --no-header, which is true where it is left out, too.
    return False if is_flag else option.default


def _click_type(kind: Any, about: declare.About) -> Any:
    """Return the type of click for values of a kind."""
    if get_origin(kind) is tuple and about.read is None:
        kind = get_args(kind)[0]
    if about.choices:
        return click.Choice(about.choices())
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if get_origin(kind) in (Union, UnionType):
        number, word = get_args(kind)
        return _NumberOrWord(_click_type(number, about), get_args(word))
    if kind is Path:
        return click.Path(path_type=Path)
    if about.read is not None or kind not in (int, float):
        return click.STRING
    if about.least is None:
        return click.INT if kind is int else click.FLOAT
    number_in_range: Any = click.IntRange if kind is int else click.FloatRange
    return number_in_range(about.least, about.most)
