"""The public tables that experiments begin with, and the cells hidden in them.

`SETS` and `NETWORKS` are the sets that imputers are compared on. Each is of one of two halves: what
methods are chosen on (``development``), and what they are judged on (``test``).

Tables of THESIS are prepared as in its section 5.3: numeric columns are cut into five bins of equal
frequency, by all rows. Where the data come with rows for training and for testing these are used;
otherwise nine tenths of the rows, drawn, are for training. Rows of Adult with missing cells are
left out; a missing cell of Mushroom is a state.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness import hide
from exactlearn.errors import BinningWarning, OptionError
from exactlearn.formats.models import read_network
from exactlearn.formats.table import read_dataset
from exactlearn.reproduce.experiment import Draw

if TYPE_CHECKING:
    import pandas as pd

Source = Callable[[Path | None, np.random.Generator], Dataset]
"""Returns a complete table, from the folder of public data or drawn."""

Hide = Callable[[Dataset, np.random.Generator], Dataset]
"""Hides cells of a table."""


def bundled(name: str) -> BayesianNetwork:
    """Return a network that comes with the package."""
    return read_network(name)


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
    identifier
        A column that names the rows, which is left out.
    header
        Whether the first line names the columns.
    folder
        The folder of the files.
    """

    files: tuple[str, ...]
    separator: str = ","
    numeric: tuple[int, ...] = ()
    skipped: int = 0
    identifier: int | None = None
    header: bool = False
    folder: str = "uci"

    def frame(self, folder: Path | None) -> "tuple[pd.DataFrame, int]":
        """Return all rows as text, with the columns ``X0``, ``X1``, ..., and how many train.

        Raises
        ------
        OptionError
            If there is no folder of public data.
        """
        import pandas as pd  # takes long to import

        rows = public_data(folder, self.folder)
        frames = [
            pd.read_csv(
                rows / file,
                sep=self.separator,
                header=None,
                dtype=str,
                keep_default_na=False,
                skiprows=self.skipped if k else int(self.header),
                skipinitialspace=True,
            )
            for k, file in enumerate(self.files)
        ]
        frame = pd.concat(frames, ignore_index=True)
        frame = frame.apply(lambda column: column.str.strip().str.rstrip("."))
        frame.columns = [f"X{k}" for k in range(frame.shape[1])]
        if self.identifier is not None:
            frame = frame.drop(columns=f"X{self.identifier}")
        return frame, len(frames[0])


SETS: dict[str, UciTable] = {
    "abalone": UciTable(("abalone.data.gz",), numeric=tuple(range(1, 9))),
    "adult": UciTable(("adult.data.gz", "adult.test.gz"), ",", (0, 2, 4, 10, 11, 12), skipped=1),
    "balance-scale": UciTable(("balance-scale.data",)),
    "breast-cancer-wisconsin": UciTable(
        ("breast-cancer-wisconsin.data",), numeric=tuple(range(1, 10)), identifier=0
    ),
    "bridges": UciTable(("bridges.data.version2",), numeric=(2,), identifier=0),
    "car": UciTable(("car.data",)),
    "cmc": UciTable(("cmc.data",), numeric=(0, 3)),
    "crx": UciTable(("crx.data",), numeric=(1, 2, 7, 10, 13, 14)),
    "dermatology": UciTable(("dermatology.data",), numeric=(33,)),
    "hayes-roth": UciTable(("hayes-roth.data",), identifier=0),
    "krkopt": UciTable(("krkopt.data.gz",)),
    "letter": UciTable(("letter-recognition.data.gz",), numeric=tuple(range(1, 17))),
    "lucas": UciTable(("lucas0_train.csv",), header=True, folder="lucas"),
    "mushroom": UciTable(("agaricus-lepiota.data.gz",)),
    "nursery": UciTable(("nursery.data.gz",)),
    "page-blocks": UciTable(("page-blocks.data.gz",), r"\s+", tuple(range(10))),
    "post-operative": UciTable(("post-operative.data",)),
    "sat": UciTable(("sat.trn.gz", "sat.tst.gz"), r"\s+", tuple(range(36))),
    "soybean-large": UciTable(("soybean-large.data",)),
    "SPECT": UciTable(("SPECT.train", "SPECT.test")),
    "votes": UciTable(("house-votes-84.data",)),
}
"""Public tables, in the order of their names without regard to capitals."""

UCI: dict[str, str] = {
    "Page-blocks": "page-blocks",
    "Letter Recognition": "letter",
    "Landsat": "sat",
    "Adult": "adult",
    "King, Rook vs. King": "krkopt",
    "Abalone": "abalone",
    "Poisonous Mushroom": "mushroom",
}
"""The tables of THESIS, Table 5.5, by their names there."""

Half = Literal["development", "test"]

NETWORKS: dict[str, Half] = {
    "alarm": "development",
    "asia": "development",
    "child": "development",
    "hailfinder": "test",
    "hepar2": "development",
    "insurance": "test",
    "mildew": "test",
    "sachs": "development",
    "water": "test",
    "win95pts": "test",
}
"""Networks that rows are drawn from, and the half that each was put into."""

BUNDLED = ("asia",)
"""Networks among these that come with the package, and need no public data."""

HALVES: dict[str, Half] = {
    **{name: "test" if place % 2 else "development" for place, name in enumerate(SETS)},
    **NETWORKS,
}
"""For each set its half: what methods and their settings are chosen on, or what they are judged on.

The tables alternate in the order of their names; of the networks see `NETWORKS`."""

SLOW = ("mildew",)
"""Sets that a half has only where they are named: Mildew has variables of up to 100 states for 500
rows, of which gradient boosting learns thousands of trees, and a table takes many minutes."""

ROWS = 500
"""Rows of a set: so many are drawn of a table that has more, anew for each repetition."""

MISSING = "?"
"""Symbol of a missing cell in the files."""


def public_set(
    name: str, folder: Path | None, rng: np.random.Generator, rows: int = ROWS
) -> Dataset:
    """Return a table of `SETS` or rows of a network of `NETWORKS`.

    Numeric columns are cut into bins by the rows that are returned, and constant columns left out.
    What is missing in the file is missing in the table.

    Parameters
    ----------
    name
        Name of the set.
    folder
        Folder of the public data.
    rng
        Draws the rows.
    rows
        Number of rows; a table that has fewer is returned whole.

    Raises
    ------
    OptionError
        If there is no folder of public data.
    """
    import pandas as pd  # takes long to import

    if name in NETWORKS:
        network = _network(name, folder)
        codes = network.sample(rows, rng).codes.T
        columns = zip(network.names, network.states, codes, strict=True)
        frame = pd.DataFrame({column: np.array(states)[own] for column, states, own in columns})
        return _prepared(frame, (), ())
    frame, _ = _frame(name, folder)
    if len(frame) > rows:
        frame = frame.iloc[np.sort(rng.choice(len(frame), rows, replace=False))]
    return _prepared(frame, SETS[name].numeric, (MISSING,))


def _prepared(frame: "pd.DataFrame", numeric: Sequence[int], missing: Sequence[str]) -> Dataset:
    """Return rows as a table, numeric columns cut into bins, without constant columns."""
    known = frame.where(~frame.isin(list(missing)))
    frame = frame.loc[:, known.nunique() > 1]
    rules = {name: BINS for k in numeric if (name := f"X{k}") in frame}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BinningWarning)  # the protocol has these bins
        return Dataset.from_frame(frame, missing=missing, discretise=rules)


@cache
def _frame(name: str, folder: Path | None) -> "tuple[pd.DataFrame, int]":
    return SETS[name].frame(folder)


@cache
def _network(name: str, folder: Path | None) -> BayesianNetwork:
    if name in BUNDLED:
        return bundled(name)
    return read_network(public_data(folder, "bif") / f"{name}.bif.gz")


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
    source = SETS[UCI[name]]
    frame, first = source.frame(folder)
    if name == "Adult":
        kept = ~(frame == MISSING).any(axis=1)
        first, frame = int(kept[:first].sum()), frame[kept]
    training = np.arange(len(frame)) < first
    if len(source.files) == 1:
        training = np.random.default_rng(seed).random(len(frame)) < 0.9
    data = _prepared(frame, source.numeric, ())
    return Split(data.part(training), data.part(~training))
