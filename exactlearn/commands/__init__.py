"""The commands of the command line.

A command is one entry of :data:`COMMANDS`: a class of options (see :mod:`.declare`) and a function
``run(options, output)``, which a new command has in one file. Here they are named by their places,
so that ``--help`` imports nothing: by default the function is that of the module with the command's
name, ``_`` for ``-``.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple


class Command(NamedTuple):
    """A command: its line in the overview, its options and what it does.

    Parameters
    ----------
    line
        One sentence.
    options
        The class of its options, or where it is in this package.
    run
        Does the work, given the options and the output, and returns an
        :class:`~exactlearn.commands.answer.Answer`; ``None`` for that of the module with the
        command's name.
    group
        The title in the overview that it stands below.
    """

    line: str
    options: str | type[Any]
    run: Callable[[Any, Any], Any] | None = None
    group: str = "Files"


def options_of(name: str) -> type[Any]:
    """Return the class of a command's options."""
    options = COMMANDS[name].options
    if isinstance(options, str):
        module, _, known_as = options.partition(".")
        options = getattr(import_module(f"{__name__}.{module}"), known_as)
    return options


def body_of(name: str) -> Callable[[Any, Any], Any]:
    """Return the function that does a command's work, for which the package is imported."""
    own = COMMANDS[name].run
    body: Callable[[Any, Any], Any] = (
        own or import_module(f"{__name__}.{name.replace('-', '_')}").run
    )
    return body


_OVERVIEW = {
    "Learn": {
        "run": "Run a declared pipeline, or repeat the command that made a record.",
        "solve": "Learn the optimal network of a table or of given scores.",
        "fit": "Estimate the parameters of a model by a table.",
        "learn-nb": "Learn a naive Bayes model with a latent component from a table.",
    },
    "Missing cells": {
        "augment": "Learn network and completion of incomplete data together.",
        "impute": "Fill missing cells by a network, learned or given.",
        "missingness": "Diagnose missing cells, and recommend an estimator.",
    },
    "Decision graphs": {
        "compile": "Compile a network to a probabilistic decision graph.",
        "learn-pdg": "Learn a probabilistic decision graph from a table.",
    },
    "Ask": {
        "query": "Answer posterior queries on a model.",
        "graph": "Show a network's structure, its equivalence class and its independences.",
    },
    "Judge": {
        "compare": "Compare ways of completing missing cells, or learners.",
        "evaluate": "Judge a model by the rows of a table, or by a reference.",
        "verify": "Check the proof of an optimum, with exact numbers.",
        "report": "Write one HTML page on the results in a folder.",
    },
    "Files": {
        "simulate": "Draw rows from a model and hide cells.",
        "convert": "Convert a model, a table or scores to another format.",
        "instances": "List, show or copy the bundled instances.",
    },
}
"""Titles in the overview, each with its commands and their lines."""

COMMANDS = {
    name: Command(line, f"declarations.{name.title().replace('-', '')}", group=group)
    for group, lines in _OVERVIEW.items()
    for name, line in lines.items()
}
"""Each command with its line in the overview and the class of its options."""
