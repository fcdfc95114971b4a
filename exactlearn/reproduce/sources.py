"""The tables that experiments begin with, and the cells hidden in them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness import hide
from exactlearn.errors import OptionError
from exactlearn.formats.bif import read_bif
from exactlearn.formats.table import read_dataset
from exactlearn.instances import locate
from exactlearn.reproduce.experiment import Draw

Source = Callable[[Path | None, np.random.Generator], Dataset]
"""Returns a complete table, from the folder of public data or drawn."""

Hide = Callable[[Dataset, np.random.Generator], Dataset]
"""Hides cells of a table."""


def bundled(name: str) -> BayesianNetwork:
    """Return a network that comes with the package."""
    return read_bif(locate(name, ".bif"))


def lucas_network() -> BayesianNetwork:
    """Return LUCAS with the states of its table, 0 and 1."""
    network = bundled("lucas")
    states = (("0", "1"),) * network.n_variables
    return BayesianNetwork(network.names, states, network.parents, network.tables)


def sampled(name: str, rows: int = 100) -> Source:
    """Return a source that draws rows of a bundled network."""
    return lambda _, rng: bundled(name).sample(rows, rng)


def lucas(folder: Path | None, _: np.random.Generator) -> Dataset:
    """Return the 2,000 rows of LUCAS."""
    return read_dataset(public_data(folder, "lucas") / "lucas0_train.csv")


def spect(folder: Path | None, _: np.random.Generator) -> Dataset:
    """Return the 267 rows of SPECT Heart: those for training and those for testing."""
    parts = [_uci(folder, f"SPECT.{part}") for part in ("train", "test")]
    codes = np.concatenate([part.codes for part in parts])
    return Dataset(codes, parts[0].names, parts[0].states)


def car(folder: Path | None, _: np.random.Generator) -> Dataset:
    """Return the 1,728 rows of Car Evaluation."""
    return _uci(folder, "car.data")


def votes(folder: Path | None, _: np.random.Generator) -> Dataset:
    """Return the 232 rows of Congressional Voting Records in which every vote is known."""
    table = _uci(folder, "house-votes-84.data")
    known = (table.codes >= 0).all(axis=1)
    return Dataset(table.codes[known], table.names, table.states)


def draw_of(source: Source, hidden: Hide) -> Draw:
    """Return what draws a table and hides cells of it."""

    def draw(folder: Path | None, rng: np.random.Generator) -> tuple[Dataset, Dataset]:
        full = source(folder, rng)
        return hidden(full, rng), full

    return draw


def spread(spec: str) -> Hide:
    """Return what hides cells as :func:`~exactlearn.data.missingness.hide` does."""
    return lambda table, rng: hide(table, spec, rng)


def labels(variable: str, count: int, state: str | None) -> Hide:
    """Return what hides some cells of one variable."""
    return lambda table, rng: hide_labels(table, table.names.index(variable), count, state, rng)


def hide_labels(
    table: Dataset, column: int, count: int, state: str | None, rng: np.random.Generator
) -> Dataset:
    """Hide some cells of one variable.

    Parameters
    ----------
    table
        A complete table.
    column
        The variable.
    count
        How many of its cells.
    state
        Only cells of this state; ``None``: of any.
    rng
        Draws the cells.
    """
    codes = table.codes.copy()
    rows = np.arange(table.n_rows)
    if state is not None:
        rows = np.flatnonzero(codes[:, column] == table.states[column].index(state))
    codes[rng.choice(rows, count, replace=False), column] = -1
    return Dataset(codes, table.names, table.states, table.weights)


def public_data(folder: Path | None, part: str) -> Path:
    """Return a part of the folder of public data.

    Parameters
    ----------
    folder
        What was given for it.
    part
        ``uci``, ``lucas`` or ``bif``.

    Raises
    ------
    OptionError
        If there is no such folder.
    """
    if folder is None:
        raise OptionError(
            "this experiment needs public data: give --data-dir FOLDER (or set EXACTLEARN_DATA) "
            f"with the folder '{part}' in it, or ask by --tables for those that need none"
        )
    found = folder / part
    if not found.is_dir():
        raise OptionError(f"--data-dir: expected the folder '{part}' in {folder}, found none")
    return found


def _uci(folder: Path | None, name: str) -> Dataset:
    return read_dataset(public_data(folder, "uci") / name, header=False)
