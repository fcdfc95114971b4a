"""Public tables and networks, prepared: numeric columns are cut into bins of equal frequency.

`SETS` and `NETWORKS` are what imputers and structures are compared on. Each is of one of two halves
(`HALVES`): what methods are chosen on, and what they are judged on. Tables of THESIS are prepared
as in its section 5.3: bins are cut by all rows. Where the data come with rows for training and for
testing these are used; otherwise nine tenths of the rows, drawn, are for training. Rows of Adult
with missing cells are left out; a missing cell of Mushroom is a state.
"""

import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from exactlearn import BayesianNetwork, Dataset, read_dataset, read_network
from exactlearn.errors import ColumnWarning

BUNDLED = ("asia", "cancer", "earthquake", "lucas", "survey")
"""Networks that come with the package."""

ROWS = 500
"""Most rows of a set: so many are drawn of a table that has more, anew for each repetition."""


def public(folder: str, part: str, name: str) -> Path:
    """Return a file of the folder of public data."""
    path = Path(folder) / part / name
    if not folder or not path.exists():
        raise FileNotFoundError(
            f"expected {part}/{name} in the folder of public data {folder or '(none is given)'}: "
            "give --data-dir FOLDER, or set EXACTLEARN_DATA"
        )
    return path


@lru_cache(8)
def network(name: str, folder: str) -> BayesianNetwork:
    """Return a network by its name, from the package or the folder of public data."""
    if name in BUNDLED:
        return read_network(name)
    return read_network(public(folder, "bif", f"{name}.bif.gz"))


def table(name: str, folder: str) -> Dataset:
    """Return all rows of LUCAS, of SPECT Heart (both parts), or of a file without a header."""
    if name == "lucas":
        return read_dataset(public(folder, "lucas", "lucas0_train.csv"))
    files = ("SPECT.train", "SPECT.test") if name == "SPECT" else (f"{name}.data",)
    parts = [read_dataset(public(folder, "uci", file), header=False) for file in files]
    return Dataset(
        np.concatenate([p.codes for p in parts]), parts[0].names, parts[0].states
    )


class Source(NamedTuple):
    """The files of a public set, and how they are read.

    Attributes
    ----------
    files
        With rows for training, and for testing if there are two.
    numeric
        Columns to cut into bins.
    separator
        Of the fields: a character, or white space.
    skipped
        First lines of each file that are no rows.
    identifier
        A column that names the rows, which is left out.
    folder
        The folder of the files.
    """

    files: tuple[str, ...]
    numeric: Sequence[int] = ()
    separator: str = ","
    skipped: tuple[int, ...] = (0, 0)
    identifier: int | None = None
    folder: str = "uci"


SETS: dict[str, Source] = {
    "abalone": Source(("abalone.data.gz",), range(1, 9)),
    "adult": Source(
        ("adult.data.gz", "adult.test.gz"), (0, 2, 4, 10, 11, 12), skipped=(0, 1)
    ),
    "balance-scale": Source(("balance-scale.data",)),
    "breast-cancer-wisconsin": Source(
        ("breast-cancer-wisconsin.data",), range(1, 10), identifier=0
    ),
    "bridges": Source(("bridges.data.version2",), (2,), identifier=0),
    "car": Source(("car.data",)),
    "cmc": Source(("cmc.data",), (0, 3)),
    "crx": Source(("crx.data",), (1, 2, 7, 10, 13, 14)),
    "dermatology": Source(("dermatology.data",), (33,)),
    "hayes-roth": Source(("hayes-roth.data",), identifier=0),
    "krkopt": Source(("krkopt.data.gz",)),
    "letter": Source(("letter-recognition.data.gz",), range(1, 17)),
    "lucas": Source(("lucas0_train.csv",), skipped=(1, 0), folder="lucas"),
    "mushroom": Source(("agaricus-lepiota.data.gz",)),
    "nursery": Source(("nursery.data.gz",)),
    "page-blocks": Source(("page-blocks.data.gz",), range(10), r"\s+"),
    "post-operative": Source(("post-operative.data",)),
    "sat": Source(("sat.trn.gz", "sat.tst.gz"), range(36), r"\s+"),
    "soybean-large": Source(("soybean-large.data",)),
    "SPECT": Source(("SPECT.train", "SPECT.test")),
    "votes": Source(("house-votes-84.data",)),
}
"""Public tables, in the order of their names without regard to capitals."""

THESIS = {
    "Page-blocks": "page-blocks",
    "Letter Recognition": "letter",
    "Landsat": "sat",
    "Adult": "adult",
    "King, Rook vs. King": "krkopt",
    "Abalone": "abalone",
    "Poisonous Mushroom": "mushroom",
}
"""The tables of THESIS, Table 5.5, by their names there."""

NETWORKS = {
    "development": ("alarm", "asia", "child", "hepar2", "sachs"),
    "test": ("hailfinder", "insurance", "mildew", "water", "win95pts"),
}
"""Networks of the two halves."""

HALVES = {
    "development": (*list(SETS)[::2], *NETWORKS["development"]),
    "test": (*list(SETS)[1::2], *NETWORKS["test"]),
}
"""What methods and their settings are chosen on, and what they are judged on: tables alternate."""


def public_set(
    name: str, folder: str, rng: np.random.Generator, rows: int = ROWS
) -> Dataset:
    """Return some rows of a table of `SETS`, or rows drawn from a network; all if there are fewer.

    Numeric columns are cut into bins by the rows that are returned, and constant columns left out.
    What is missing in the file is missing in the table.
    """
    if name not in SETS:
        model = network(name, folder)
        drawn = model.sample(rows, rng).codes.T
        columns = zip(model.names, model.states, drawn, strict=True)
        labels = {column: np.array(states)[codes] for column, states, codes in columns}
        return _prepared(pd.DataFrame(labels), (), ())
    frame, _ = _frame(name, folder)
    if len(frame) > rows:
        frame = frame.iloc[np.sort(rng.choice(len(frame), rows, replace=False))]
    return _prepared(frame, SETS[name].numeric, ("?",))


class Split(NamedTuple):
    """Rows for training and for testing, with the same states."""

    train: Dataset
    test: Dataset


def thesis_split(name: str, folder: str, seed: int) -> Split:
    """Return a table of `THESIS`, prepared and divided."""
    frame, first = _frame(THESIS[name], folder)
    if name == "Adult":
        kept = ~(frame == "?").any(axis=1)
        first = int(kept[:first].sum())
        frame = frame[kept]
    training = np.arange(len(frame)) < first
    if len(SETS[THESIS[name]].files) == 1:
        training = np.random.default_rng(seed).random(len(frame)) < 0.9
    data = _prepared(frame, SETS[THESIS[name]].numeric, ())
    return Split(data.part(training), data.part(~training))


@lru_cache(4)
def _frame(name: str, folder: str) -> tuple[pd.DataFrame, int]:
    """Return all rows as text, with the columns ``X0``, ``X1``, ..., and how many train."""
    source = SETS[name]
    read: dict[str, Any] = {"header": None, "dtype": str, "keep_default_na": False}
    frames = [
        pd.read_csv(
            public(folder, source.folder, file),
            sep=source.separator,
            skiprows=skipped,
            skipinitialspace=True,
            **read,
        )
        for file, skipped in zip(source.files, source.skipped, strict=False)
    ]
    frame = pd.concat(frames, ignore_index=True)
    frame = frame.apply(lambda column: column.str.strip().str.rstrip("."))
    frame.columns = [f"X{k}" for k in range(frame.shape[1])]
    if source.identifier is not None:
        frame = frame.drop(columns=f"X{source.identifier}")
    return frame, len(frames[0])


def _prepared(
    frame: pd.DataFrame, numeric: Sequence[int], missing: Sequence[str]
) -> Dataset:
    """Return rows as a table, numeric columns cut into bins, without constant columns."""
    frame = frame.loc[:, frame.where(~frame.isin(list(missing))).nunique() > 1]
    rules = {column: "frequency:5" for k in numeric if (column := f"X{k}") in frame}
    # Some networks have a state of the name None.
    states = {
        str(k): sorted({*own}) for k, own in frame.items() if (own == "None").any()
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)  # the protocol has these bins
        return Dataset.from_frame(
            frame, states=states, missing=missing, discretise=rules
        )
