"""The commands of the command line.

A command is one entry of :data:`COMMANDS`: a class of options (see :mod:`.declare`) and a function
``run(options, output)``, which a new command has in one file. Here they are named by their places,
so that ``--help`` imports none of the latter.
"""

import logging
import re
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
    kind: type[Any] = _at(COMMANDS[name].options)
    return kind


def line_of(name: str) -> str:
    """Return the line of a command in the overview."""
    return " ".join((getdoc(options_of(name)) or "").partition("\n\n")[0].split())


def body_of(name: str) -> Callable[[Any, Any], Any]:
    """Return the function that does a command's work, for which the package is imported."""
    body: Callable[[Any, Any], Any] = _at(COMMANDS[name].run)
    return body


def _at(place: Any) -> Any:
    """Return what a place names, as ``fit.run``; anything else as it is."""
    if not isinstance(place, str):
        return place
    module, _, name = place.partition(".")
    return getattr(import_module(f"{__name__}.{module}"), name)


_GROUPS = {
    "Learn": "run.run solve.run fit.run models.run_learn_nb",
    "Missing cells": "completion.run_augment completion.run_impute completion.run_missingness",
    "Decision graphs": "models.run_compile models.run_learn_pdg",
    "Ask": "models.run_query models.run_graph",
    "Judge": "judge.run_compare judge.run_evaluate files.run_verify report.run",
    "Files": "files.run_simulate files.run_convert files.run_instances",
}
"""Titles in the overview, each with the functions of its commands."""

COMMANDS = {
    name: Command(f"declarations.{name.title().replace('-', '')}", run, group)
    for group, runs in _GROUPS.items()
    for run in runs.split()
    for name in (re.sub(r"\.run$|.*\.run_", "", run).replace("_", "-"),)
}
"""Each command with the class of its options, its function and its title."""
