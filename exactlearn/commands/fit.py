"""``exactlearn fit``: the parameters of a network or a decision graph with a given structure."""

from typing import Any

import click

from exactlearn.commands.options import output_options, reading_options
from exactlearn.commands.runs import MOST_SMOOTHING, GraphParameters, NetworkParameters

NETWORK_ITERATIONS = 1000
"""Most iterations of EM for a network, as in :mod:`exactlearn.bayesnet.em`."""


@click.command("fit")
@click.argument("source", metavar="MODEL.bif|MODEL.pdg.json")
@click.argument("table", metavar="DATA.csv")
@output_options
@reading_options
@click.option(
    "--method",
    type=click.Choice(["complete", "em"]),
    help="complete: a network by counting, each family (a variable and its parents) in the rows "
    "that observe all of it (available cases), whose numbers are told; em: a network or a decision "
    "graph from all observed cells.  [default: complete for a network and a table without missing "
    "cells, else em]",
)
@click.option(
    "--iterations",
    type=click.IntRange(0),
    help=f"em: most iterations.  [default: {GraphParameters.iterations} for a decision graph, "
    f"{NETWORK_ITERATIONS} for a network]",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0),
    help="em: least gain of the smoothed log-likelihood per row to go on.  "
    f"[default: {GraphParameters.tolerance:g}]",
)
@click.option(
    "--smoothing",
    type=click.FloatRange(0, MOST_SMOOTHING),
    help="Pseudo-counts for each parameter: equal ones for a network, which is estimated from "
    "the rows alone; rows of the graph as it was for a decision graph.  [default: "
    f"{NetworkParameters.smoothing:g}]",
)
def command(**options: Any) -> None:
    """Estimate the parameters of a model with a given structure.

    A network's own parameters do not count. -o writes the model with its new ones, in the format
    that it had. Ctrl-C ends EM with the parameters of its last iteration (exit status 130).
    """
    from exactlearn.commands import _fit

    _fit.run(**options)
