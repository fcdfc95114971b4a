"""The command line ``exactlearn``: a group of commands that are imported when called."""

import atexit
import errno
import gc
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from io import TextIOWrapper
from typing import Any, NoReturn

import click

from exactlearn import __version__
from exactlearn._runtime.control import terminated_as_interrupted
from exactlearn.commands import COMMANDS, line_of
from exactlearn.errors import (
    ExactlearnError,
    ExitStatus,
    OptionError,
    did_you_mean,
    parameters_written,
    printable,
    shortened,
)

MAX_FOREIGN = 1000
"""Most characters of a message of another package."""


class LazyGroup(click.Group):
    """Read a command's options without importing what it does; print errors in one line."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the command line; all of it ends by SIGTERM as by Ctrl-C."""
        standalone = extra.pop("standalone_mode", True)
        words: Sequence[str] = (args[0] if args else extra.get("args")) or sys.argv[1:]
        # records hold the words
        extra |= {"standalone_mode": False, "obj": tuple(words)}
        read: Callable[[], Any] = partial(super().main, *args, **extra)
        if sys.stdout is None and "--json" in words:
            read = _refuse_closed_output
        _open_streams()
        # imports make many objects, and hardly any garbage
        gc.set_threshold(100_000, 50, 50)
        # no last search for cycles among the objects of all modules
        atexit.register(gc.freeze)
        with terminated_as_interrupted(), parameters_written(as_option):
            status = _exit_status(read, "--debug" in words)
        if not standalone:
            return status
        _drop_unwritten()
        sys.exit(status)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the overview."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return one command, made from the class of its options."""
        if cmd_name not in COMMANDS:
            return None
        from exactlearn.commands.click_options import command

        return command(cmd_name)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the overview without importing what the commands do."""
        width = max(map(len, COMMANDS))  # that of the names is the same in all groups
        groups: dict[str, list[tuple[str, str]]] = {}
        for name, entry in COMMANDS.items():
            row = (f"{name:{width}}", line_of(name))
            groups.setdefault(entry.group, []).append(row)
        for group, rows in groups.items():
            with formatter.section(group):
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest the one that was meant."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            ctx.fail(f"no command '{args[0]}'{did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)


def as_option(parameter: str, value: Any = None) -> str:
    """Return a parameter of the library and its value as they are written on the command line.

    Examples
    --------
    >>> as_option("drop", ["id"]), as_option("states", {"age": ["young", "old"]})
    ("--drop 'id'", "--states 'age=young,old'")
    >>> as_option("states", {"year": "*", "month": "*"})
    "--categorical 'year,month'"
    >>> as_option("header", False), as_option("score", "bdeu"), as_option("time_limit")
    ('--no-header', '--score bdeu', '--time-limit')
    """
    flag = f"--{parameter.replace('_', '-')}"
    match value:
        case None | True:
            return flag
        case False:
            return f"--no-{parameter}"
        case Mapping() if parameter == "states" and all(
            x == "*" for x in value.values()
        ):
            return f"--categorical {','.join(value)!r}"
        case Mapping():
            entries = []
            for name, states in value.items():
                text = states if isinstance(states, str) else ",".join(states)
                entries.append(f"{name}={text}")
            return as_option(parameter, entries)
        case list() | tuple():
            return " ".join(f"{flag} {entry!r}" for entry in value)
    return f"{flag} {value}"


def _exit_status(read: Callable[[], Any], debug: bool) -> int:
    """Read the command line, run its command and return the exit status, whatever happens.

    Click only reads, and returns what is to be run: it runs below this function.
    """
    try:
        try:
            called = read()
            if callable(called):
                called = called()
            return called or ExitStatus.DONE
        except BrokenPipeError:
            raise
        except (Exception, KeyboardInterrupt) as error:
            return _status_of(error, debug)
    # click and rich turn a broken pipe into an exit
    except (BrokenPipeError, SystemExit) as ended:
        # Click ends by 0 when it has answered what the shell asked for completion.
        return ExitStatus.DONE if getattr(ended, "code", 1) == 0 else ExitStatus.UNREAD
    except OSError as error:
        with suppress(OSError):
            click.echo(f"Error: {_message(error)[0]}", err=True)
        return ExitStatus.MISTAKE


def _status_of(error: BaseException, debug: bool) -> int:
    """Print an error in one line, unless it is the command's way to end, and return its status."""
    match error:
        case click.exceptions.Exit():
            return error.exit_code
        case click.ClickException():
            vars(error)["message"] = printable(shortened(error.message))
            error.show()
            return error.exit_code
        case click.Abort() | KeyboardInterrupt():
            click.echo("Interrupted.", err=True)
            # Python ends by the signal when the interrupt came while it ran a text, as definitions
            # of data classes do, even where it was caught; until it has run another one.
            exec("")
            return ExitStatus.INTERRUPTED
    if debug:
        traceback.print_exception(error)
    message, status = _message(error)
    click.echo(f"Error: {printable(shortened(message))}", err=True)
    return status


def _refuse_closed_output() -> NoReturn:
    """Refuse, before any work, to print where nobody can read."""
    raise OptionError(
        "--json: standard output is closed; open it, or write the record with '-o FILE.json'"
    )


def _open_streams() -> None:
    """Let each standard stream that is closed lead nowhere, and output take every character.

    Python has no object for one that is closed, and the next file would get its number, to which
    libraries write.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    if isinstance(sys.stdout, TextIOWrapper):
        # names that its encoding lacks are written escaped
        sys.stdout.reconfigure(errors="backslashreplace")


def _drop_unwritten() -> None:
    """Drop what a stream that is full or closed still holds: Python would complain at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _message(error: BaseException) -> tuple[str, ExitStatus]:
    """Return the message and the exit status of an error."""
    match error:
        case ExactlearnError():
            return str(error), error.exit_status
        case OSError():
            is_full = (
                error.errno == errno.ENOSPC
            )  # of a file that is full, writing names it
            place = error.filename or ("standard output" if is_full else "")
            message = f"{place}{': ' if place else ''}{error.strerror or error}"
            return shortened(message, MAX_FOREIGN), ExitStatus.MISTAKE
        case MemoryError():
            reason = f" ({error})" if str(error) else ""
            advice = "take fewer rows, variables or parents"
            return f"not enough memory{reason}: {advice}", ExitStatus.MISTAKE
    return (
        f"unexpected {type(error).__name__}: {shortened(str(error), MAX_FOREIGN)}. This is a fault "
        "of exactlearn, not of your input; run again with --debug and report the traceback.",
        ExitStatus.UNEXPECTED,
    )


def _show_version(ctx: click.Context, option: click.Parameter, is_given: bool) -> None:
    """Print the version; when verbose also those of libraries, and where compiled code lies."""
    if not is_given:
        return
    click.echo(f"exactlearn {__version__}")
    if ctx.params["verbose"]:
        from importlib.metadata import version
        from platform import platform, python_version

        from exactlearn._runtime.kernel import cache_folder

        click.echo(f"Python {python_version()} ({sys.executable})\n{platform()}")
        for name in ("highspy", "numba", "numpy", "pandas", "pyscipopt", "scipy"):
            click.echo(f"{name} {version(name)}")
        click.echo(f"{os.cpu_count()} cores; compiled code lies in {cache_folder()}")
    ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-v", "--verbose", is_flag=True, is_eager=True, hidden=True)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version; with -v also of the libraries, and where compiled code lies.",
)
def main(verbose: bool) -> None:
    """Learn Bayesian networks and decision graphs exactly, also where cells are missing.

    Start with 'exactlearn run asia'; 'exactlearn COMMAND --help' lists a command's options.
    """


if __name__ == "__main__":
    main(prog_name="exactlearn")
