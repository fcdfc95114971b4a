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
        Does the work, given the options and the output; ``None`` for that of the module with the
        command's name.
    group
        The title in the overview that it stands below.
    """

    line: str
    options: str | type[Any]
    run: Callable[[Any, Any], None] | None = None
    group: str = "Files and help"


def options_of(name: str) -> type[Any]:
    """Return the class of a command's options."""
    options = COMMANDS[name].options
    if isinstance(options, str):
        module, _, known_as = options.partition(".")
        options = getattr(import_module(f"{__name__}.{module}"), known_as)
    return options


def body_of(name: str) -> Callable[[Any, Any], None]:
    """Return the function that does a command's work, for which the package is imported."""
    own = COMMANDS[name].run
    body: Callable[[Any, Any], None] = (
        own or import_module(f"{__name__}.{name.replace('-', '_')}").run
    )
    return body


COMMANDS = {
    "run": Command(
        "Run a declared pipeline: data, network, decision graph, queries.",
        "declarations.RunOptions",
        group="Learn",
    ),
    "solve": Command(
        "Learn the optimal network of a table or of given scores.",
        "declarations.Solve",
        group="Learn",
    ),
    "fit": Command(
        "Estimate the parameters of a model by a table.", "declarations.Fit", group="Learn"
    ),
    "learn-nb": Command(
        "Learn a naive Bayes model with a latent component from a table.",
        "declarations.LearnNb",
        group="Learn",
    ),
    "augment": Command(
        "Learn network and completion of incomplete data together.",
        "declarations.Augment",
        group="Missing cells",
    ),
    "impute": Command(
        "Fill missing cells by a network, learned or given.",
        "declarations.Impute",
        group="Missing cells",
    ),
    "missingness": Command(
        "Diagnose missing cells, and recommend an estimator.",
        "declarations.Missingness",
        group="Missing cells",
    ),
    "compile": Command(
        "Compile a network to a probabilistic decision graph.",
        "declarations.Compile",
        group="Decision graphs",
    ),
    "learn-pdg": Command(
        "Learn a probabilistic decision graph from a table.",
        "declarations.LearnPdg",
        group="Decision graphs",
    ),
    "query": Command("Answer posterior queries on a model.", "declarations.Query", group="Ask"),
    "graph": Command(
        "Show a network's structure, its equivalence class and its independences.",
        "declarations.Graph",
        group="Ask",
    ),
    "compare": Command(
        "Compare ways of completing missing cells, or languages of models.",
        "declarations.Compare",
        group="Judge",
    ),
    "evaluate": Command(
        "Judge a model by the rows of a table, or by a reference.",
        "declarations.Evaluate",
        group="Judge",
    ),
    "verify": Command(
        "Check the proof of an optimum, with exact numbers.", "declarations.Verify", group="Judge"
    ),
    "report": Command(
        "Write one HTML page on the results in a folder.", "declarations.Report", group="Judge"
    ),
    "reproduce": Command(
        "Repeat the experiments of a paper.", "declarations.Reproduce", group="Judge"
    ),
    "simulate": Command("Draw rows from a model and hide cells.", "declarations.Simulate"),
    "convert": Command(
        "Convert a model, a table or scores to another format.", "declarations.Convert"
    ),
    "rerun": Command(
        "Repeat the command that made a record, and compare the answers.", "declarations.Rerun"
    ),
    "instances": Command("List, show or copy the bundled instances.", "declarations.Instances"),
    "doctor": Command("Show what is installed, and whether it works.", "declarations.Doctor"),
    "warm-up": Command(
        "Compile the kernels of all commands, so that first runs are fast.", "declarations.WarmUp"
    ),
    "completion": Command("Print a script for completion by the shell.", "declarations.Completion"),
}
"""Each command with its line in the overview and the class of its options."""
