"""Imputers on public sets: which cells are hidden, and what is compared with ``impute``.

The method under test is what ``exactlearn impute DATA`` does with no options; every other name is
what ``exactlearn impute DATA --mode NAME`` does. The sets and their halves are those of
:mod:`exactlearn.reproduce.sources`; methods and settings are chosen on the half ``development``,
and the half ``test`` is looked at once a release.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from zlib import crc32

import numpy as np

from exactlearn.data.missingness import hide
from exactlearn.evaluation.imputation_study import Condition, Pair
from exactlearn.reproduce.sources import public_set

DEFAULT = "impute"
"""The method under test: the command without options."""

BASELINES = ("mode", "knn", "iterative", "logistic", "mice", "forest", "boosted")
"""What it is compared with."""

CLOCK = "logistic"
"""The baseline whose CPU time is the measure of the others'."""

MECHANISMS = ("mcar", "mar", "mnar", "mnar-states")
"""What hides cells: see :mod:`exactlearn.data.missingness`."""

SHARES = (0.05, 0.1, 0.2, 0.4)
"""Shares of hidden cells that all together are the protocol."""

HIDDEN = tuple(f"{mechanism}:0.2" for mechanism in MECHANISMS)
"""What is hidden where nothing else is asked for."""


def conditions(
    names: Sequence[str], hidden: Sequence[str], folder: Path | None, rows: int
) -> Iterator[Condition]:
    """Yield the conditions of some sets, each with cells hidden by some specifications.

    Parameters
    ----------
    names
        Sets of :mod:`exactlearn.reproduce.sources`.
    hidden
        Specifications of missingness.
    folder
        Folder of the public data.
    rows
        Most rows of a table.
    """
    for name in names:
        for spec in hidden:
            draw = partial(hidden_cells, name, spec, folder, rows)
            yield Condition(table=name, hidden=spec, draw=draw)


def hidden_cells(name: str, spec: str, folder: Path | None, rows: int, seed: int) -> Pair:
    """Return a set with hidden cells, and the set.

    The rows of a seed are the same whatever hides their cells.

    Raises
    ------
    OptionError
        When there is no folder of public data, or the set has too few cells to hide.
    """
    full = public_set(name, folder, np.random.default_rng((seed, crc32(name.encode()))), rows)
    rng = np.random.default_rng((seed, crc32(f"{name} {spec}".encode())))
    return hide(full, spec, rng), full
