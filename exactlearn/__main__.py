"""The command line ``exactlearn``: a group of commands that are imported when called."""

import errno
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import Any

import click

from exactlearn import __version__
from exactlearn._runtime.interrupts import terminated_as_interrupted
from exactlearn.errors import ExactlearnError, ExitStatus, did_you_mean, shortened

COMMANDS = {
    "run": "Run a declared pipeline: data, network, decision graph, queries.",
    "solve": "Learn the optimal network of complete data or of given scores.",
    "augment": "Learn network and completion of incomplete data together.",
    "impute": "Fill missing cells by a network, learned or given.",
    "compare": "Compare ways of completing one incomplete data set.",
    "fit": "Estimate the parameters of a network or of a decision graph.",
    "compile": "Compile a network to a probabilistic decision graph.",
    "learn-pdg": "Learn a probabilistic decision graph from a table.",
    "query": "Answer posterior queries on a network or a decision graph.",
    "simulate": "Draw rows from a network and hide cells.",
    "convert": "Convert a model, a table or scores to another format.",
    "verify": "Check the proof of an optimum, with exact numbers.",
    "reproduce": "Repeat the experiments of a paper.",
    "instances": "List, show or copy the bundled instances.",
}
"""Each command with its line in the overview; its module in ``exactlearn.commands`` has its name,
with ``_`` for ``-``."""


class LazyGroup(click.Group):
    """Import a command's module only when the command is called, and tell errors in one line."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the command line; all of it ends by SIGTERM as by Ctrl-C."""
        with terminated_as_interrupted():
            standalone = extra.pop("standalone_mode", True)
            run: Callable[..., Any] = super().main
            if not standalone:
                return run(*args, standalone_mode=False, **extra)
            _open_streams()
            status = _exit_status(lambda: run(*args, standalone_mode=False, **extra))
            _drop_unwritten()
            sys.exit(status)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the overview."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"exactlearn.commands.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview without importing the commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest the one that was meant."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            ctx.fail(f"no command '{args[0]}'{did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; every error on purpose becomes a line and an exit status."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            raise click.exceptions.Exit(ExitStatus.INTERRUPTED) from None
        except Exception as error:
            if ctx.meta.get("exactlearn.debug"):
                traceback.print_exc()
            message, exit_status = _told(error)
            click.echo(f"Error: {shortened(message)}", err=True)
            raise click.exceptions.Exit(exit_status) from error


def _exit_status(run: Callable[[], Any]) -> int:
    """Run the command line and return its exit status, whatever becomes of its streams."""
    try:
        try:
            return run() or ExitStatus.DONE
        except click.ClickException as error:
            vars(error)["message"] = shortened(error.message)
            error.show()
            return error.exit_code
        except (click.Abort, KeyboardInterrupt):
            click.echo("Interrupted.", err=True)
            return ExitStatus.INTERRUPTED
    except (BrokenPipeError, SystemExit):  # into which click and rich turn a broken pipe
        return ExitStatus.UNREAD
    except OSError as error:
        with suppress(OSError):
            click.echo(f"Error: {_told(error)[0]}", err=True)
        return ExitStatus.MISTAKE


def _open_streams() -> None:
    """Let each standard stream that is closed lead nowhere, and output take every character.

    Python has no object for one that is closed, and the next file would get its number, to which
    libraries write.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    if isinstance(sys.stdout, TextIOWrapper):  # names that its encoding lacks are written escaped
        sys.stdout.reconfigure(errors="backslashreplace")


def _drop_unwritten() -> None:
    """Drop what a stream that is full or closed still holds: Python would complain at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _told(error: Exception) -> tuple[str, ExitStatus]:
    """Return the message and the exit status of an error."""
    if isinstance(error, ExactlearnError):
        return str(error), error.exit_status
    if isinstance(error, OSError):
        full = error.errno == errno.ENOSPC  # of a file that is full, writing tells the name
        place = error.filename or ("standard output" if full else "")
        return f"{place}{': ' if place else ''}{error.strerror or error}", ExitStatus.MISTAKE
    if isinstance(error, MemoryError):
        return f"not enough memory for so much: {error}; ask for less", ExitStatus.MISTAKE
    return (
        f"unexpected {type(error).__name__}: {error}. This is a fault of exactlearn, not of your "
        "input; run again with --debug and report the traceback.",
        ExitStatus.UNEXPECTED,
    )


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Learn Bayesian networks and decision graphs exactly, also where cells are missing.

    Start with 'exactlearn run asia'; 'exactlearn COMMAND --help' tells a command's options.
    """


if __name__ == "__main__":
    main(prog_name="exactlearn")
