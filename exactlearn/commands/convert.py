"""``exactlearn convert``: a model, a table or scores in another format."""

from typing import Any

import click

from exactlearn._runtime.interrupts import ended_by_signal
from exactlearn.commands.options import (
    criterion_options,
    output_options,
    reading_options,
    solver_options,
)


@click.command("convert")
@click.argument("source", metavar="FILE")
@output_options
@reading_options
@criterion_options
@solver_options
@ended_by_signal()
def command(**options: Any) -> None:
    """Write a file in the format of the suffix of -o.

    A network (.bif) as .bif, .pdg.json or a figure (.svg, .png, .pdf, .dot); a decision graph
    (.pdg.json) as .pdg.json or a figure, which as .dot shows the forest of variables, too; a
    table (.csv, .tsv, .parquet, ...) as a table or as its local scores (.jkl, .scores); scores
    (.jkl, .scores, .parquet) as scores. '.gz' may follow a text's suffix.
    """
    from exactlearn.commands import _convert

    _convert.run(**options)
