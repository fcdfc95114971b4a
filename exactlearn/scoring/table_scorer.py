"""Scores of families from the tables of sets, and the bounds that close families.

The score of child ``x`` with parents ``P`` is ``F(P + x) - G(P) - penalty``: one table serves all
families of a set (:mod:`exactlearn.scoring.set_sums`). What closes a family are the theorems
*Penalty*, *Entropy* and *Distinct cells* of docs/theory/scoring.md. Comparisons with a bound leave
slack for rounding, so pruning changes nothing but the time.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn.scoring.candidate_enumeration import Joined, Level, Scored, less_one
from exactlearn.scoring.set_sums import SetSums, table_sizes
from exactlearn.scoring.set_tables import Space
from exactlearn.scoring.terms import Terms
from exactlearn.solvers.problem import Arc

BLOCK_ROWS = 2**24
"""Rows visited at most in one block, about."""
BLOCK_SETS = 2**6, 2**16
"""Least and most sets of a block."""

Floats = NDArray[np.float64]


def ceiling(rate: Floats, penalty: Floats, cells: Floats) -> Floats:
    """Bound the scores of families and of all their supersets from above.

    ``rate`` is what each distinct cell adds at most, ``cells`` at most the number of observed
    configurations of the family, ``penalty`` at most what the family loses by its size.
    """
    with np.errstate(invalid="ignore"):  # a rate that is infinite, and no cells
        return cells * rate - penalty


def largest_penalty(gain: Floats, r: Floats) -> Floats:
    """Return the penalty of a family from which on a parent has too little entropy.

    ``gain`` is the entropy of a parent with ``r`` states given the others, over all rows and as the
    score weighs it.
    """
    with np.errstate(divide="ignore"):
        return gain * (r / (r - 1))


class TableScorer:
    """Scores families by counting the tables of their sets.

    Parameters
    ----------
    sums
        Counts sets.
    prune
        Whether bounds close families.
    required
        Arcs that every network must have: the entropy of a required parent closes nothing.
    """

    exhausted = True

    def __init__(self, sums: SetSums, prune: bool, required: frozenset[Arc]) -> None:
        self.sums, self.prune, self.order = sums, prune, sums.order
        self.is_free = ~np.isin(sums.order, [child for _, child in required])
        fitting = BLOCK_ROWS // max(1, len(sums.rows.weights))
        self.block = int(np.clip(fitting, *BLOCK_SETS))

    @property
    def of_empty_set(self) -> Floats:
        """The sums over the table of the empty set: one cell with all rows."""
        terms = self.sums.tables.covering([1.0])
        sums, _ = self.sums.sums(np.zeros((1, 0), np.int32), terms, self.space(1))
        return sums.reshape(-1)

    def prepare(self, size: int) -> Terms | None:
        """Tabulate the score for sets of a size and one smaller, unless these are too many."""
        sizes = [table_sizes(self.sums.rows.cardinalities, d) for d in (size - 1, size)]
        return self.sums.tables.covering(np.concatenate(sizes)) if all(map(len, sizes)) else None

    def space(self, size: int) -> Space:
        """Return scratch space of one thread for sets of a size."""
        return self.sums.space(size)

    def score(
        self,
        joined: Joined,
        level: Level,
        wanted: NDArray[np.bool_],
        prepared: Terms | None,
        space: Space,
    ) -> Scored:
        """Score the families that are wanted, and close those that bounds close."""
        sets, nodes, best = joined.sets, joined.nodes, joined.best
        states, sizes = self.sums.states(sets), self.sums.sizes(sets)
        terms = prepared or self.sums.tables.covering(
            np.unique(np.concatenate([sizes, (sizes[:, None] / states).reshape(-1)]))
        )
        r, at, slack = states.astype(np.int64), terms.places(sizes), self.sums.slack
        penalty, rate = terms.penalty[at[:, None], r], terms.rate[r]
        if self.prune:
            most = level.cells[nodes].max(axis=1)
            best[ceiling(rate, penalty, most[:, None]) + slack <= best] = np.nan
            if terms.has_entropy:
                best[wanted & self.is_free[sets] & (level.entropy[nodes] <= penalty)] = np.nan
            wanted = wanted & ~np.isnan(best)
        others, n_others = self._sums_of_others(joined, level, wanted, r, terms, space)
        is_counted = wanted.any(axis=1)
        sums = np.full((len(sets), terms.function.shape[1]), np.nan)
        cells = np.zeros(len(sets))
        sums[is_counted], cells[is_counted] = self.sums.sums(sets[is_counted], terms, space)
        totals = np.take_along_axis(sums, terms.cell[r], axis=1)
        ceilings, entropy = np.full(sets.shape, np.inf), np.full(len(sets), np.inf)
        if self.prune:
            bounds = ceiling(rate, terms.least_penalty[at[:, None], r], cells[:, None]) + slack
            ceilings = np.where(wanted, bounds, np.inf)
            if terms.has_entropy:
                gains = level.sums[nodes, 0] - sums[:, :1] + slack
                entropy = np.fmin.reduce(largest_penalty(gains, states), axis=1, initial=np.inf)
        scores = np.where(wanted, totals - others - penalty, np.nan)
        return Scored(scores, ceilings, sums, cells, entropy, int(is_counted.sum()) + n_others)

    def _sums_of_others(
        self,
        joined: Joined,
        level: Level,
        wanted: NDArray[np.bool_],
        r: NDArray[np.int64],
        terms: Terms,
        space: Space,
    ) -> tuple[Floats, int]:
        """Return the sums over the tables of parents, and how many had to be counted."""
        form = terms.configuration[r]
        sums = level.sums[joined.nodes, form]
        row, t = np.nonzero(wanted & np.isnan(sums))
        if len(row) == 0:
            return sums, 0
        _, first, number = np.unique(joined.without[row, t], return_index=True, return_inverse=True)
        parents = less_one(joined.sets, row[first], t[first])
        found, _ = self.sums.sums(parents, terms, space)
        sums[row, t] = found[number, form[row, t]]
        return sums, len(first)
