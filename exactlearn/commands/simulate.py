"""``exactlearn simulate``: rows drawn from a network, with cells hidden by a mechanism."""

import numpy as np

from exactlearn._runtime.control import ended_by_signal
from exactlearn.commands.declarations import Simulate
from exactlearn.commands.output import Output, require_suffix
from exactlearn.data.missingness import hide
from exactlearn.errors import OptionError
from exactlearn.formats.models import read_network
from exactlearn.formats.table import FORMATS as TABLES
from exactlearn.formats.table import write_dataset
from exactlearn.instances import locate
from exactlearn.reporting.report import facts


@ended_by_signal()
def run(options: Simulate, output: Output) -> None:
    """Run the command."""
    if output.path is None:
        raise OptionError("simulate: expected the table to write, as in '-o data.csv'")
    for path in (output.path, options.complete):
        require_suffix(path, tuple(TABLES))
    rng = np.random.default_rng(options.seed)
    full = read_network(locate(options.source, ".bif")).sample(options.rows, rng)
    data = hide(full, options.hide, rng) if options.hide else full
    if options.complete is not None:
        write_dataset(full, options.complete)
        output.wrote(options.complete)
    write_dataset(data, output.path)
    output.wrote(output.path)
    record = {
        "rows": data.n_rows,
        "variables": data.n_variables,
        "missing_cells": len(data.missing_cells),
    }
    output.answer(record, facts(**{key: str(value) for key, value in record.items()}))
