"""Public tables prepared as in THESIS, section 5.3.

Numeric columns are cut into five bins of equal frequency, by all rows. Where the data come with
rows for training and for testing these are used; otherwise nine tenths of the rows, drawn, are for
training. Rows of Adult with missing cells are left out; a missing cell of Mushroom is a state.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exactlearn.data.dataset import Dataset
from exactlearn.reproduce.sources import public_data

BINS = "frequency:5"


@dataclass(frozen=True)
class Source:
    """Where a table is, and what is done to it.

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


UCI: dict[str, Source] = {
    "Page-blocks": Source(("page-blocks.data.gz",), r"\s+", tuple(range(10))),
    "Letter Recognition": Source(("letter-recognition.data.gz",), numeric=tuple(range(1, 17))),
    "Landsat": Source(("sat.trn.gz", "sat.tst.gz"), r"\s+", tuple(range(36))),
    "Adult": Source(
        ("adult.data.gz", "adult.test.gz"), ",", (0, 2, 4, 10, 11, 12), skipped=1, missing="?"
    ),
    "King, Rook vs. King": Source(("krkopt.data.gz",)),
    "Abalone": Source(("abalone.data.gz",), numeric=tuple(range(1, 9))),
    "Poisonous Mushroom": Source(("agaricus-lepiota.data.gz",)),
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
    codes, training = data.codes, training[kept]
    return Split(
        Dataset(codes[training], data.names, data.states),
        Dataset(codes[~training], data.names, data.states),
    )
