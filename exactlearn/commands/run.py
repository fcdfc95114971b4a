"""``exactlearn run``: the declared pipeline, from a table with missing cells to answers."""

from pathlib import Path
from typing import Any

import click

from exactlearn.commands.options import output_options

RESULTS = Path("results")

Parents = tuple[tuple[int, ...], ...]
"""Parents of each variable."""


@click.command("run")
@click.argument("source", metavar="RUN.toml")
@output_options
@click.option("--seed", type=click.IntRange(0), help="Seed, in place of the run file's.")
@click.option("--time-limit", type=click.FloatRange(0), help="Seconds for the search.")
def command(**options: Any) -> None:
    """Run a run file, or a bundled one by its name, and write everything into a folder.

    The pipeline: read the table; learn the network (and the values of missing cells); fit its
    parameters to the table as it was read, by EM where cells are missing; compile it to a decision
    graph; refine that by EM; tell the log-likelihood of rows not learned from, if 'test' names
    some; answer the queries. The folder is results/NAME unless -o names another; result.json there
    holds what --json prints, run.toml the run with all its defaults, and data/, truth/ and test/
    its tables, so that the folder can be moved and 'exactlearn run FOLDER/run.toml' repeats it.
    """
    from exactlearn.commands import _run

    _run.run(**options)
