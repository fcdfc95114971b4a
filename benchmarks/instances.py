"""Instances of local scores with what is known of them.

The published seconds are those of the algorithm selection scenario BNSL-2016 (A*, CPBayes, GOBNILP
1.4.1, GOBNILP 1.6.2; older machines, limit 7200 s). They are context, no comparison in one run.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from exactlearn.formats.bif import read_bif
from exactlearn.formats.scores import read_jkl
from exactlearn.instances import locate
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.scores import BDeu
from exactlearn.solvers import Problem

PUBLISHED = ("A*", "CPBayes", "GOBNILP 1.4.1", "GOBNILP 1.6.2")
"""Whose seconds :attr:`Known.seconds` gives."""


class Known(NamedTuple):
    """What is known of an instance.

    Attributes
    ----------
    optimum
        ``None`` where it is open.
    seconds
        Published seconds in the order of :data:`PUBLISHED`; ``None`` for not solved. Empty where
        nothing is published.
    """

    optimum: float | None
    seconds: tuple[float | None, ...] = ()

    @property
    def published(self) -> str:
        """The published seconds in one cell of a table; TO: not solved."""
        return " / ".join("TO" if s is None else f"{s:g}" for s in self.seconds) or "-"

    def verdict(self, score: float) -> str:
        """Compare a score with the known optimum."""
        if self.optimum is None:
            return "open"
        off = score - self.optimum
        return "yes" if abs(off) <= 1e-6 * abs(self.optimum) else f"off by {off:.3g}"


INSTANCES = {
    "survey-5000.jkl.gz": Known(-19710.916),
    "asia_10000_bdeu-1-3.jkl.gz": Known(-22466.396546),
    "abalone_BIC.txt.gz": Known(-16171.192325),
    "wine.BIC.3.jkl.gz": Known(-1258.445909),
    "zoo_BIC.txt.gz": Known(-773.486072),
    "child-5000.jkl.gz": Known(-62059.5035),
    "insurance-5000.jkl.gz": Known(-68053.1412),
    "insurance_1000_bdeu-10-3.jkl.gz": Known(-13746.496184, (27, 84, 11, 6.6)),
    "insurance_1000_bdeu-100-2.jkl.gz": Known(-14812.018606, (15, 75, 44, 42)),
    "insurance_1000_bdeu-100-3.jkl.gz": Known(-14365.628776, (38, 161, 1740, 4346)),
    "mildew_1000_bdeu-100-2.jkl.gz": Known(-49391.576705, (115, 33, 1.2, 1.2)),
    "alarm_1000_bic.jkl.gz": Known(-11783.052412, (18, 367, 2.2, 3.5)),
    "alarm_1000_bdeu-1-3.jkl.gz": Known(-11240.347093, (23, 737, 5.8, 5.1)),
    "alarm_10000_bdeu-1-2.jkl.gz": Known(-105486.499123, (191, 1623, 48, 39)),
    "alarm_1000_bdeu-10-3.jkl.gz": Known(-11165.098321, (86, None, 209, 99)),
    "alarm_10000_bdeu-1-3.jkl.gz": Known(-105226.511917, (516, 639, 621, 147)),
    "alarm_10000_bdeu-10-3.jkl.gz": Known(None, (None, None, None, 1415)),
    "alarm_1000_bdeu-100-2.jkl.gz": Known(None, (28, None, 855, 2374)),
    "barley-5000.jkl.gz": Known(-294944.9522),
    "hailfinder-5000.jkl.gz": Known(-252358.1055),
    "hailfinder_100_bdeu-1-4.jkl.gz": Known(-5802.373903, (None, None, 22, 17)),
    "hailfinder_100_bdeu-100-2.jkl.gz": Known(None, (None, None, 450, 869)),
    "pathfinder-5000.jkl.gz": Known(None),
    "munin1-5000.jkl.gz": Known(-230117.88),
    "diabetes-5000.jkl.gz": Known(None),
    "pigs-5000.jkl.gz": Known(None),
    "link-5000.jkl.gz": Known(None),
}
"""File name of each instance, easy ones first."""


def instances(
    folder: Path, beginnings: tuple[str, ...]
) -> Iterator[tuple[str, Problem, Known]]:
    """Yield name, problem and what is known, of those whose names begin as asked for.

    Before the files of the folder comes one that is small enough for every peer.
    """
    if not beginnings or SMALL.startswith(beginnings):
        yield SMALL, small(), Known(None)
    for name, known in INSTANCES.items():
        if not beginnings or name.startswith(beginnings):
            yield name.split(".")[0], read_jkl(folder / name), known


SMALL = "earthquake-500"


def small() -> Problem:
    """Return all parent sets of 500 rows sampled from the EARTHQUAKE network, five variables."""
    rows = read_bif(locate("earthquake", ".bif")).sample(500, np.random.default_rng(1))
    return candidate_parent_sets(rows, BDeu(), max_parents=4, prune=False)
