"""``exactlearn compile``: a network as a probabilistic decision graph."""

from pathlib import Path
from typing import Any

import click

from exactlearn.commands.options import output_options, reading_options, seed_option

MAX_SIZE = 100_000_000
"""Most cells of a graph before merging, as in :mod:`exactlearn.pdg.compile.compile`."""


@click.command("compile")
@click.argument("source", metavar="NETWORK.bif")
@output_options
@reading_options
@click.option("--root", metavar="NAME", help="Variable that becomes a root; else many are tried.")
@click.option(
    "--time-limit",
    type=click.FloatRange(0),
    help="Seconds to search for a smaller graph.  [default: a short search that does not depend "
    "on the machine]",
)
@click.option(
    "--max-size",
    type=click.IntRange(1),
    default=MAX_SIZE,
    show_default=True,
    help="Refuse graphs of more cells before merging, about 40 bytes each.",
)
@click.option(
    "--exact",
    is_flag=True,
    help="Compute the graph in fractions, for small networks; they stand in the record (.json).",
)
@click.option(
    "--merge-budget",
    type=click.FloatRange(0),
    help="Merge nodes that are nearly alike, up to this divergence from the network in nats; with "
    "--data, up to this loss of log-likelihood per row.",
)
@click.option(
    "--lambda",
    "lambda_",
    type=click.FloatRange(0, 1),
    help="Merge while (1-lambda) loss < lambda cells saved.",
)
@click.option(
    "--data",
    metavar="DATA.csv",
    help="Collapse the nodes that no row reaches, fit the others to the rows, and merge by them.",
)
@click.option(
    "--frontier",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write sizes and losses of the whole sequence of merges (.csv, .json, .svg, .png, .pdf).",
)
@seed_option
def command(**options: Any) -> None:
    """Compile a network to the smallest decision graph found, and compare the two.

    The network is a BIF file or the name of a bundled one. -o writes the graph (.pdg.json), its
    record (.json) or its figure (.svg, .png, .pdf, .dot). Ctrl-C ends the search with the smallest
    graph so far (exit status 130), or with one of the first forests.

    max_error is the largest |q - p| / p of the probabilities p and q that the network and the
    graph give to one row, over 1000 rows drawn from the network and 1000 drawn uniformly: 0.1 is
    10 %. It judges the rarest rows. With a limit of merging, loss is what merging lost in all: the
    Kullback-Leibler divergence of the graph from the network in nats, or with --data the
    log-likelihood per row in nats.
    """
    from exactlearn.commands import _compile

    _compile.run(**options)
