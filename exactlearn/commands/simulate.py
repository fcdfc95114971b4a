"""``exactlearn simulate``: rows drawn from a network, with cells hidden by a mechanism."""

from pathlib import Path

import click

from exactlearn._runtime.interrupts import ended_by_signal
from exactlearn.commands.options import output_options, seed_option
from exactlearn.commands.output import Output, require_suffix
from exactlearn.errors import OptionError
from exactlearn.instances import locate


@click.command("simulate")
@click.argument("source", metavar="NETWORK.bif")
@output_options
@click.option(
    "--rows", type=click.IntRange(1), default=100, show_default=True, help="Rows to draw."
)
@click.option(
    "--hide",
    "spec",
    metavar="MECHANISM:AMOUNT",
    help="Hide cells: 'mcar:0.1' and 'mar:0.1' a share of them, 'mnar:2' that many of each "
    "variable, all of one state.",
)
@click.option(
    "--complete",
    type=click.Path(path_type=Path),
    help="Also write the table before cells were hidden.",
)
@seed_option
@ended_by_signal()
def command(
    source: str, output: Output, rows: int, spec: str | None, complete: Path | None, seed: int
) -> None:
    """Draw rows from a network and hide cells; -o names the table to write.

    The network is a BIF file or the name of a bundled one. The same seed gives the same bytes.
    """
    import numpy as np

    from exactlearn.data.missingness import hide
    from exactlearn.formats.models import read_network
    from exactlearn.formats.table import FORMATS as TABLES
    from exactlearn.formats.table import write_dataset
    from exactlearn.reporting.report import facts

    if output.path is None:
        raise OptionError("simulate: expected the table to write, as in '-o data.csv'")
    for path in (output.path, complete):
        require_suffix(path, tuple(TABLES))
    rng = np.random.default_rng(seed)
    full = read_network(locate(source, ".bif")).sample(rows, rng)
    data = hide(full, spec, rng) if spec else full
    if complete is not None:
        write_dataset(full, complete)
        output.wrote(complete)
    write_dataset(data, output.path)
    output.wrote(output.path)
    record = {
        "rows": data.n_rows,
        "variables": data.n_variables,
        "missing_cells": len(data.missing_cells),
    }
    output.answer(record, facts(**{key: str(value) for key, value in record.items()}))
