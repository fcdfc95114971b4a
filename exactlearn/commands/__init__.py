"""The commands of the command line.

A command is one entry of :data:`COMMANDS`: a class of options (see :mod:`.declare`) and a function
``run(options, output)``, which a new command has in one file. Here they are named by their places,
so that ``--help`` imports nothing.
"""

import logging
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

LOG = logging.getLogger("exactlearn.commands")
"""What a command says on standard error, quiet or not."""


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
        :class:`~exactlearn.commands.output.Answer`; or where it is in this package.
    group
        The title in the overview that it stands below.
    """

    line: str
    options: str | type[Any]
    run: str | Callable[[Any, Any], Any]
    group: str = "Files"


def options_of(name: str) -> type[Any]:
    """Return the class of a command's options."""
    kind: type[Any] = _at(COMMANDS[name].options)
    return kind


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


_OVERVIEW = {
    "Learn": {
        "run": ("run.run", "Run a declared pipeline, or repeat the command that made a record."),
        "solve": ("solve.run", "Learn the optimal network of a table or of given scores."),
        "fit": ("fit.run", "Estimate the parameters of a model by a table."),
        "learn-nb": (
            "models.run_learn_nb",
            "Learn a naive Bayes model with a latent component from a table.",
        ),
    },
    "Missing cells": {
        "augment": ("augment.run", "Learn network and completion of incomplete data together."),
        "impute": (
            "missing_cells.run_impute",
            "Fill missing cells by a network, learned or given.",
        ),
        "missingness": (
            "missing_cells.run_missingness",
            "Diagnose missing cells, and recommend an estimator.",
        ),
    },
    "Decision graphs": {
        "compile": ("models.run_compile", "Compile a network to a probabilistic decision graph."),
        "learn-pdg": ("models.run_learn_pdg", "Learn a probabilistic decision graph from a table."),
    },
    "Ask": {
        "query": ("questions.run_query", "Answer posterior queries on a model."),
        "graph": (
            "questions.run_graph",
            "Show a network's structure, its equivalence class and its independences.",
        ),
    },
    "Judge": {
        "compare": ("judge.run_compare", "Compare ways of completing missing cells, or learners."),
        "evaluate": (
            "judge.run_evaluate",
            "Judge a model by the rows of a table, or by a reference.",
        ),
        "verify": ("files.run_verify", "Check the proof of an optimum, with exact numbers."),
        "report": ("report.run", "Write one HTML page on the results in a folder."),
    },
    "Files": {
        "simulate": ("files.run_simulate", "Draw rows from a model and hide cells."),
        "convert": ("files.run_convert", "Convert a model, a table or scores to another format."),
        "instances": ("files.run_instances", "List, show or copy the bundled instances."),
    },
}
"""Titles in the overview, each with its commands: their functions and their lines."""

COMMANDS = {
    name: Command(line, f"declarations.{name.title().replace('-', '')}", run, group)
    for group, commands in _OVERVIEW.items()
    for name, (run, line) in commands.items()
}
"""Each command with its line in the overview, the class of its options and its function."""
