"""Options written once: a field of a dataclass is a key of a run file and an option of a command.

A class of options derives from :class:`Declared`; its fields have plain defaults, or are made by
:func:`option` and :func:`argument`. The docstring of the class is the help of its command, with
that of each option among its parameters. Types, ranges and defaults of the fields are those of key
and option.
"""

import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from inspect import get_annotations, getdoc
from math import inf
from typing import Any, ClassVar, dataclass_transform, get_origin

from exactlearn._runtime.number_arguments import (
    MAX_FINITE,
    MAX_WHOLE,
    NUMBERS,
    NumberKind,
)
from exactlearn.errors import OptionError


@dataclass(kw_only=True)
class About:
    """An option beside the type and the default of its field.

    Parameters
    ----------
    help
        Its text, where the docstring of the class has none.
    flags
        Names on the command line, where they are not the field's with two dashes.
    metavar
        What stands for the value.
    least, most
        Range of the numbers.
    read
        Makes the field's value of what the command line holds, given the name of the option.
    choices
        Returns the words that a text may be.
    once
        Whether the command line takes a list or a table in one text, not entry by entry.
    positional
        Whether it is an argument without a name.
    reads, writes
        Whether it names a file that the command reads, or writes.
    words
        Values of such an option that name no file.
    in_run
        What it is in a step of a run file that does not say: a key of ``[data]``, or a file that
        the run has written.
    unless
        Keys of a step in whose presence that does not hold.
    only
        The option that it goes with, or ``option=value|value`` with the values that it goes with.
    excludes
        Options that cannot be given beside it.
    group
        The title in the help that it stands below; empty where its class has none.
    in_files
        Whether only files have it as a key, and the command line has no option.
    hidden
        Whether only ``--help-all`` shows it: few tables need it.
    counted
        Whether the value is how often the option is given, without a word of its own.
    """

    help: str = ""
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    least: int | None = None
    most: float | None = None
    read: Callable[[Any, str], Any] | None = None
    choices: Callable[[], tuple[str, ...]] | None = None
    once: bool = False
    positional: bool = False
    reads: bool = False
    writes: bool = False
    words: tuple[str, ...] = ()
    in_run: str | None = None
    unless: tuple[str, ...] = ()
    only: str = ""
    excludes: tuple[str, ...] = ()
    group: str = ""
    in_files: bool = False
    hidden: bool = False
    counted: bool = False

    @property
    def bundled(self) -> tuple[str, ...]:
        """The suffixes of the bundled files that its value may name, by the metavar."""
        from exactlearn.instances import SUFFIXES

        suffixes = re.sub("NETWORK|MODEL", ".bif", self.metavar or "")
        return tuple(suffix for suffix in SUFFIXES if suffix in suffixes)

    def is_file(self, value: Any) -> bool:
        """Return whether a value of the option names a file."""
        names_files = self.reads or self.writes
        return names_files and value is not None and value not in self.words

    def take_range(self, kind: NumberKind) -> None:
        """Take the range of a kind of number, where the option has none of its own."""
        if self.least is not None or kind.is_open:
            return  # an open range is checked by the score
        self.least = int(kind.minimum)
        if kind.maximum not in (MAX_WHOLE, MAX_FINITE, inf):
            self.most = kind.maximum

    def check(self, key: str, value: Any) -> None:
        """Refuse numbers out of range.

        Raises
        ------
        OptionError
            With the key that holds one.
        """
        if isinstance(value, Mapping):
            for name, entry in value.items():
                self.check(f"{key}.{name}", entry)
        elif self.least is not None and isinstance(value, int | float):
            maximum = sys.float_info.max if self.most is None else self.most
            if not self.least <= value <= maximum:
                at_least = f"at least {self.least}"
                expected = f"{self.least} to {maximum:g}" if self.most else at_least
                raise OptionError(f"{key}: expected {expected}, found {value}")


PARAMETERS = "\nParameters\n----------\n"
EXAMPLES = "\nExamples\n--------\n"

_ENTRY = re.compile(r"^(\w+)\n((?: .*\n?)+)", re.MULTILINE)
"""A parameter in a docstring, and its text."""


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Declared:
    """Options, each a field: a class that derives from this is a frozen dataclass by that alone.

    Attributes
    ----------
    groups
        Titles in the help, each with the names of the class's fields that stand below it; ``*``
        for all of them.
    helps
        The text of each field that the docstring of the class has among its parameters.
    written_in_run
        What a step of a run file writes where it does not say: a file, a folder or nothing.
    files_in_folder
        Names, or patterns of names, of the files that are written into a folder.
    needs
        Names of options by the condition under which these have an effect: an option, or
        ``option=value|value`` with some of its values; several conditions are joined by `` or ``,
        and ``not `` before them turns them round.
    """

    groups: ClassVar[Mapping[str, str]] = {}
    helps: ClassVar[Mapping[str, str]] = {}
    needs: ClassVar[Mapping[str, Sequence[str]]] = {}
    written_in_run: ClassVar[str] = ""
    files_in_folder: ClassVar[tuple[str, ...]] = ("result.json",)

    def __init_subclass__(cls) -> None:
        """Make the dataclass; its options have the texts of the docstring's parameters."""
        # The text of each parameter of the docstring.
        _, _, section = (getdoc(cls) or "").partition(PARAMETERS)
        entries = _ENTRY.findall(section.partition(EXAMPLES)[0])
        cls.helps = {
            name: " ".join(text.split()).replace(" [default:", "  [default:")
            for name, text in entries
        }
        # Title and range of each field; a plain default becomes a field first.
        titles = {
            name: title
            for title, names in vars(cls).get("groups", {}).items()
            for name in names.split()
        }
        for name, kind in get_annotations(cls).items():
            declared = vars(cls).get(name, MISSING)
            if declared is MISSING or ClassVar in (kind, get_origin(kind)):
                continue
            if not isinstance(declared, Field):
                declared = option(declared)
                setattr(cls, name, declared)
            about = about_of(declared)
            about.group = about.group or titles.get(name, titles.get("*", ""))
            if name in NUMBERS:
                about.take_range(NUMBERS[name])
        dataclass(frozen=True, kw_only=True)(cls)

    def __post_init__(self) -> None:
        """Refuse numbers out of range, and options that do not go together."""
        options = self.known()
        for name, option in options.items():
            about = about_of(option)
            about.check(name.rstrip("_"), getattr(self, name))
            if not self.is_given(name):
                continue
            flag = flags_of(option)[0]
            # Only a given option excludes others, or needs them: a default is no
            # choice.
            for excluded in filter(self.is_given, about.excludes):
                raise OptionError(
                    f"{flag} and {flags_of(options[excluded])[0]} exclude each other: give one"
                )
            if about.only and (reason := self._unmet(about.only)):
                raise OptionError(f"{flag} {reason}")

    def unused(self) -> dict[str, str]:
        """Return the given options that have no effect beside the others, each with the reason."""
        reasons: dict[str, str] = {}
        for condition, names in self.needs.items():
            if reason := self._unmet(condition):
                reasons |= dict.fromkeys(filter(self.is_given, names), reason)
        return reasons

    def refuse_unused(self, names: Collection[str] | None = None) -> None:
        """Refuse options that have no effect, or those of them that are among some names.

        Raises
        ------
        OptionError
            With the first one, and what it is for.
        """
        for name, reason in self.unused().items():
            if names is None or name.rstrip("_") in names:
                raise OptionError(f"{flags_of(self.known()[name])[0]} {reason}")

    def _unmet(self, condition: str) -> str:
        """Return why an option of a condition has no effect; empty where the condition holds."""
        # A condition is 'a or b', or its negation 'not a or b'.
        alternatives = condition.removeprefix("not ").split(" or ")
        holding = list(filter(self._holds, alternatives))
        if condition.startswith("not "):
            if not holding:
                return ""
            return (
                f"has no effect beside {self._shown(holding[0])}: leave one of them out"
            )
        if holding:
            return ""
        needed = " or ".join(map(self._shown, alternatives))
        return f"is for {needed}: give both, or leave it out"

    def _holds(self, condition: str) -> bool:
        """Return whether an option is given, or has one of some values."""
        name, _, values = condition.partition("=")
        if not values:
            return self.is_given(name)
        return str(getattr(self, name)) in values.split("|")

    def _shown(self, condition: str) -> str:
        """Return a condition as the command line has it."""
        name, _, values = condition.partition("=")
        option = self.known()[name]
        if about_of(option).positional:
            return str(about_of(option).metavar).strip("[]")
        words = " or ".join(value for value in values.split("|") if value != "None")
        return f"{flags_of(option)[0]} {words}".rstrip()

    @classmethod
    def known(cls) -> dict[str, Field[Any]]:
        """Return the fields by their names."""
        return {option.name: option for option in fields(cls)}  # type: ignore[arg-type]

    def is_given(self, name: str) -> bool:
        """Return whether an option has another value than its default."""
        default = self.known()[name].default
        return bool(getattr(self, name) != ({} if default is MISSING else default))

    def chosen(self, names: str) -> dict[str, Any]:
        """Return some options, named in one text, as keywords of a function."""
        return {name: getattr(self, name) for name in names.split()}

    def files(self) -> Iterator[tuple[str, Any, About]]:
        """Yield name, value and description of each option that names a file."""
        for name, option in self.known().items():
            about = about_of(option)
            value = getattr(self, name)
            if about.is_file(value):
                yield name, value, about

    @property
    def output_in_run(self) -> str:
        """The file or folder that a step writes which names none."""
        return self.written_in_run


def option(default: Any = MISSING, **about: Any) -> Any:
    """Return a field with a default, and the entries of its :class:`About`."""
    metadata = {"about": About(**about), "choices": about.get("choices")}
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def names_option(**about: Any) -> Any:
    """Return a field for a list of names in one text; none by default."""
    return option(None, metavar="A,B,...", read=names_by_commas, once=True, **about)


def argument(metavar: str, default: Any = MISSING, **about: Any) -> Any:
    """Return a field that the command line takes without a name."""
    return option(default, metavar=metavar, positional=True, **about)


def with_default(declared: type[Declared], name: str, default: Any) -> Any:
    """Return a field of another class with another default."""
    return field(default=default, metadata=declared.known()[name].metadata)


def about_of(option: Field[Any]) -> About:
    """Return the description of a field's option."""
    about: About = option.metadata.get("about", About())
    return about


def flags_of(option: Field[Any]) -> tuple[str, ...]:
    """Return the names of an option on the command line, the long one first."""
    dashed = option.name.rstrip("_").replace("_", "-")
    return about_of(option).flags or (f"--{dashed}",)


def help_of(declared: type[Declared], name: str) -> str:
    """Return the text of an option, by the nearest class whose docstring has it."""
    texts = (vars(cls).get("helps", {}).get(name) for cls in declared.__mro__)
    return next(filter(None, texts), about_of(declared.known()[name]).help)


def pairs(entries: tuple[str, ...], flag: str) -> dict[str, str]:
    """Split ``NAME=VALUE`` entries at their first equals sign.

    Raises
    ------
    OptionError
        When an entry has no equals sign, or a name comes twice.
    """
    table: dict[str, str] = {}
    for entry in entries:
        name, equals, value = entry.partition("=")
        if not equals or not name:
            raise OptionError(f"{flag} {entry!r}: expected NAME=VALUE")
        if name in table:
            raise OptionError(
                f"{flag} {entry!r}: {name!r} was given before; give it once"
            )
        table[name] = value
    return table


def names_by_commas(text: str, flag: str) -> tuple[str, ...]:
    """Split ``A,B`` into names without the spaces around them."""
    return tuple(name.strip() for name in text.split(","))


def registered(registry: str, *names: str) -> Callable[[], tuple[str, ...]]:
    """Return a function that lists names, and what else a registry has once it is imported.

    So ``--help`` imports nothing of what is registered.

    Parameters
    ----------
    registry
        Module of the package, and name of a dictionary there.
    names
        Its keys, and the names that stand before them.

    Examples
    --------
    >>> registered("augmentation.augment.METHODS", "branching", "exact")()[:2]
    ('branching', 'exact')
    """
    module, _, name = registry.rpartition(".")

    def listed() -> tuple[str, ...]:
        loaded = sys.modules.get(f"exactlearn.{module}")
        return tuple(dict.fromkeys((*names, *getattr(loaded, name, ()))))

    return listed
