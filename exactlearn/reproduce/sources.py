"""The public tables that experiments begin with, and the cells hidden in them.

Tables of THESIS are prepared as in its section 5.3: numeric columns are cut into five bins of equal
frequency, by all rows. Where the data come with rows for training and for testing these are used;
otherwise nine tenths of the rows, drawn, are for training. Rows of Adult with missing cells are
left out; a missing cell of Mushroom is a state.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness import hide
from exactlearn.errors import OptionError
from exactlearn.formats.models import read_network
from exactlearn.formats.table import read_dataset
from exactlearn.instances import locate
from exactlearn.reproduce.experiment import Draw

Source = Callable[[Path | None, np.random.Generator], Dataset]
"""Returns a complete table, from the folder of public data or drawn."""

Hide = Callable[[Dataset, np.random.Generator], Dataset]
"""Hides cells of a table."""


def bundled(name: str) -> BayesianNetwork:
    """Return a network that comes with the package."""
    return read_network(locate(name, ".bif"))


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
    return table.part(table.complete_rows)


def draw_of(source: Source, hidden: Hide) -> Draw:
    """Return a function that draws a table and hides cells of it."""

    def draw(folder: Path | None, rng: np.random.Generator) -> tuple[Dataset, Dataset]:
        full = source(folder, rng)
        return hidden(full, rng), full

    return draw


def spread(spec: str) -> Hide:
    """Return a function that hides cells as :func:`~exactlearn.data.missingness.hide` does."""
    return lambda table, rng: hide(table, spec, rng)


def labels(variable: str, count: int, state: str | None) -> Hide:
    """Return a function that hides some cells of one variable."""
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
        The folder, as the command line gives it.
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


BINS = "frequency:5"


@dataclass(frozen=True)
class UciTable:
    """The files of a table and how they are prepared.

    Parameters
    ----------
    files
        With rows for training, and for testing if there are two.
    separator
        Of the fields: a character, or white space.
    numeric
        Columns to cut into bins.
    skipped
        First lines of the second file that are no rows.
    missing
        Symbol of a missing cell whose row is left out.
    """

    files: tuple[str, ...]
    separator: str = ","
    numeric: tuple[int, ...] = ()
    skipped: int = 0
    missing: str | None = None


UCI: dict[str, UciTable] = {
    "Page-blocks": UciTable(("page-blocks.data.gz",), r"\s+", tuple(range(10))),
    "Letter Recognition": UciTable(("letter-recognition.data.gz",), numeric=tuple(range(1, 17))),
    "Landsat": UciTable(("sat.trn.gz", "sat.tst.gz"), r"\s+", tuple(range(36))),
    "Adult": UciTable(
        ("adult.data.gz", "adult.test.gz"), ",", (0, 2, 4, 10, 11, 12), skipped=1, missing="?"
    ),
    "King, Rook vs. King": UciTable(("krkopt.data.gz",)),
    "Abalone": UciTable(("abalone.data.gz",), numeric=tuple(range(1, 9))),
    "Poisonous Mushroom": UciTable(("agaricus-lepiota.data.gz",)),
}
"""The tables of THESIS, Table 5.5."""


@dataclass(frozen=True)
class Split:
    """Rows for training and for testing, with the same states."""

    train: Dataset
    test: Dataset


def uci_split(folder: Path | None, name: str, seed: int) -> Split:
    """Return a table of `UCI`, prepared and divided.

    Raises
    ------
    OptionError
        If there is no folder of public data.
    """
    import pandas as pd  # takes long to import

    source, rows = UCI[name], public_data(folder, "uci")
    frames = [
        pd.read_csv(
            rows / file,
            sep=source.separator,
            header=None,
            dtype=str,
            keep_default_na=False,
            skiprows=source.skipped if k else 0,
            skipinitialspace=True,
        )
        for k, file in enumerate(source.files)
    ]
    first = len(frames[0])
    frame = pd.concat(frames, ignore_index=True)
    frame = frame.apply(lambda column: column.str.strip().str.rstrip("."))
    kept = np.ones(len(frame), np.bool_)
    if source.missing is not None:
        kept = ~(frame == source.missing).any(axis=1).to_numpy()
    training = np.arange(len(frame)) < first
    if len(frames) == 1:
        training = np.random.default_rng(seed).random(len(frame)) < 0.9
    frame.columns = [f"X{k}" for k in range(frame.shape[1])]
    frame = frame.loc[:, frame.nunique() > 1]
    rules = {f"X{k}": BINS for k in source.numeric}
    data = Dataset.from_frame(frame[kept], missing=(), discretise=rules)
    return Split(data.part(training[kept]), data.part(~training[kept]))
