"""The commands of the command line.

A command is one entry of :data:`COMMANDS`: a class of options (see :mod:`.declare`) and a function
``run(options, output)``, which a new command has in one file. Here they are named by their places,
so that ``--help`` imports none of the latter.
"""

import logging
from collections.abc import Callable
from importlib import import_module
from inspect import getdoc
from typing import Any, NamedTuple

LOG = logging.getLogger("exactlearn.commands")
"""What a command says on standard error, quiet or not."""


class Command(NamedTuple):
    """A command: its options and what it does.

    Parameters
    ----------
    options
        The class of its options, or where it is in this package. The first sentence of its
        docstring is the command's line in the overview.
    run
        Does the work, given the options and the output, and returns an
        :class:`~exactlearn.commands.output.Answer`; or where it is in this package.
    group
        The title in the overview that it stands below.
    """

    options: str | type[Any]
    run: str | Callable[[Any, Any], Any]
    group: str = "Files"


def options_of(name: str) -> type[Any]:
    """Return the class of a command's options."""
    declared: type[Any] = _at(COMMANDS[name].options)
    return declared


def line_of(name: str) -> str:
    """Return the line of a command in the overview."""
    return " ".join((getdoc(options_of(name)) or "").partition("\n\n")[0].split())


def body_of(name: str) -> Callable[[Any, Any], Any]:
    """Return the function that does a command's work; its module is imported for it."""
    body: Callable[[Any, Any], Any] = _at(COMMANDS[name].run)
    return body


def _at(place: Any) -> Any:
    """Return the object of a place such as ``fit.run``, or the object given itself."""
    if not isinstance(place, str):
        return place
    module, _, name = place.partition(".")
    return getattr(import_module(f"{__name__}.{module}"), name)


GROUPS = {
    "Learn": {
        "run": "run.run",
        "solve": "solve.run",
        "posterior": "posterior.run",
        "fit": "fit.run",
        "learn-nb": "models.run_learn_nb",
    },
    "Missing cells": {
        "augment": "completion.run_augment",
        "impute": "completion.run_impute",
        "missingness": "completion.run_missingness",
    },
    "Decision graphs": {
        "compile": "models.run_compile",
        "learn-pdg": "models.run_learn_pdg",
    },
    "Ask": {"query": "models.run_query", "graph": "models.run_graph"},
    "Judge": {
        "compare": "judge.run_compare",
        "evaluate": "judge.run_evaluate",
        "verify": "files.run_verify",
        "report": "report.run",
    },
    "Files": {
        "simulate": "files.run_simulate",
        "convert": "files.run_convert",
        "instances": "files.run_instances",
    },
}
"""Titles in the overview, each with its commands and the functions that do their work."""

COMMANDS = {
    name: Command(f"declarations.{name.title().replace('-', '')}", run, group)
    for group, bodies in GROUPS.items()
    for name, run in bodies.items()
}
"""Each command with the class of its options, its function and its title."""
