"""The commands of the command line.

A command is one line of :data:`COMMANDS`: a class of options (see :mod:`.declare`), and the module
with the command's name, ``_`` for ``-``, whose function ``run(options, output)`` does the work. A
new command has both in one file.
"""

from typing import NamedTuple


class Command(NamedTuple):
    """A command: its line in the overview, and the place of its options' class."""

    line: str
    options: str


COMMANDS = {
    "run": Command(
        "Run a declared pipeline: data, network, decision graph, queries.",
        "declarations.RunOptions",
    ),
    "solve": Command(
        "Learn the optimal network of complete data or of given scores.", "declarations.Solve"
    ),
    "augment": Command(
        "Learn network and completion of incomplete data together.", "declarations.Augment"
    ),
    "impute": Command("Fill missing cells by a network, learned or given.", "declarations.Impute"),
    "compare": Command(
        "Compare ways of completing one incomplete data set.", "declarations.Compare"
    ),
    "fit": Command(
        "Estimate the parameters of a network or of a decision graph.", "declarations.Fit"
    ),
    "compile": Command(
        "Compile a network to a probabilistic decision graph.", "declarations.Compile"
    ),
    "learn-pdg": Command(
        "Learn a probabilistic decision graph from a table.", "declarations.LearnPdg"
    ),
    "query": Command(
        "Answer posterior queries on a network or a decision graph.", "declarations.Query"
    ),
    "simulate": Command("Draw rows from a network and hide cells.", "declarations.Simulate"),
    "convert": Command(
        "Convert a model, a table or scores to another format.", "declarations.Convert"
    ),
    "verify": Command("Check the proof of an optimum, with exact numbers.", "declarations.Verify"),
    "reproduce": Command("Repeat the experiments of a paper.", "declarations.Reproduce"),
    "instances": Command("List, show or copy the bundled instances.", "declarations.Instances"),
}
"""Each command with its line in the overview and the class of its options."""
