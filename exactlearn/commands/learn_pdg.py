"""``exactlearn learn-pdg``: a decision graph learnt from a table."""

from pathlib import Path
from typing import Any

import click

from exactlearn.commands.options import output_options, reading_options, seed_option
from exactlearn.commands.runs import MOST_SMOOTHING

SIZES = ("effective", "representational")
"""Sizes of a decision graph, as in :mod:`exactlearn.pdg.model.structure_score`."""

LEARNT = "learnt"
"""In place of a network's file."""

METHODS = ("direct", "hybrid", "em", "available", "complete")
"""How graphs are learnt; the last three are structural EM and its stand-ins."""


@click.command("learn-pdg")
@click.argument("source", metavar="DATA.csv")
@output_options
@reading_options
@click.option(
    "--method",
    type=click.Choice(METHODS),
    help="direct: forests by tests, then splits, merges and redirections, of a complete table; "
    "hybrid: compile a network and merge; em: structural EM, with missing cells, from a tree and "
    "from networks; available, complete: the same by available or complete cases, from a tree.  "
    "[default: direct for a complete table, "
    "else em]",
)
@click.option(
    "--network",
    metavar="NETWORK.bif|learnt",
    help="Network whose graph the search starts from: direct beside its own starts, em and others "
    "in place of them. 'learnt' learns one from the table, as hybrid does without this option.",
)
@click.option(
    "--lambda",
    "lambdas",
    type=click.FloatRange(0, 1),
    multiple=True,
    help="Weight of the size in (1-lambda) log-likelihood - lambda size; repeatable with "
    "--validation.  [default: that of BIC]",
)
@click.option(
    "--validation",
    metavar="DATA.csv",
    help="Write the model under which this table is most probable.",
)
@click.option(
    "--size",
    type=click.Choice(SIZES),
    default="effective",
    show_default=True,
    help="What size is: states x nodes x children, or free parameters.",
)
@click.option(
    "--significance",
    "significances",
    type=click.FloatRange(0, 1),
    multiple=True,
    help="direct: level of the tests, a forest for each; repeatable.  [default: five levels]",
)
@click.option("--tree", is_flag=True, help="em: one tree of variables, not a forest.")
@click.option(
    "--smoothing",
    type=click.FloatRange(0, MOST_SMOOTHING),
    help="Pseudo-count of every parameter.  [default: by cross-validation; 1 with missing cells]",
)
@click.option(
    "--frontier",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="hybrid: write sizes and losses of all merges (.csv, .json, .svg, .png, .pdf).",
)
@seed_option
def command(**options: Any) -> None:
    """Learn a probabilistic decision graph from a table.

    The table is a file or the name of a bundled one. -o writes the graph (.pdg.json), the record
    (.json) or its figure (.svg, .png, .pdf, .dot). Ctrl-C ends the search with the best graph so
    far, if there is one (exit status 130).
    """
    from exactlearn.commands import _learn_pdg

    _learn_pdg.run(**options)
