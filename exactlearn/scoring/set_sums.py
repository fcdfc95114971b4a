"""The functions of a score, summed over the tables of sets of variables: the one counting kernel.

The score of child ``x`` with parents ``P`` is ``F(P + x) - G(P) - penalty``, with sums ``F`` and
``G`` over the cells of a table each (:mod:`exactlearn.scoring.terms`). The kernel fills in such
sums for a batch of sets. One table serves all families of a set; what closes families are the
theorems *Penalty*, *Entropy* and *Distinct cells* of docs/theory/scoring.md. Comparisons with a
bound leave slack for rounding, so pruning changes nothing but the time.

A score that is the same for all members of a Markov equivalence class
(:func:`exactlearn.scoring.properties.is_equivalent`) has one form of function, and its penalty does
not depend on the order in which the variables of a set are added. Then the score is
``V(P + x) - V(P)`` with ``V(S)``, the value of a set, the sum over the table of ``S`` less the
penalties of its variables one after the other (theorem *Set values* of docs/theory/equivalence.md).
One table serves all families of a set, and adding the arc ``x -> y`` to parents ``P`` of ``y``
gains ``V(P + x + y) - V(P + x) - V(P + y) + V(P)``.
"""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel
from exactlearn._runtime.offsets import offsets, places_within
from exactlearn.data.counts import distinct_weighted
from exactlearn.data.dataset import Dataset, require_complete
from exactlearn.scoring.candidate_enumeration import Joined, Level, Scored, less_one
from exactlearn.scoring.scores import Score
from exactlearn.scoring.set_tables import (
    Entries,
    Rows,
    Space,
    Stack,
    count_set,
    counting_space,
    index_rows,
    set_sizes,
    set_states,
    take_counts,
)
from exactlearn.scoring.terms import Functions, Terms, TermTables, value
from exactlearn.solvers.problem import Arc

DEEP = 5
"""Few sets of more variables are scored."""
BLOCK_ROWS = 2**24
"""Rows visited at most in one block, about."""
BLOCK_SETS = 2**6, 2**16
"""Least and most sets of a block."""

Floats = NDArray[np.float64]


class SetSums:
    """Sums the functions of a score over sets of variables.

    Parameters
    ----------
    score
        The score.
    order, rows
        Variables in an order that suits counting, and the distinct rows by variables in that
        order. Sets hold places in the order.
    depth
        Most variables of a set, about.
    """

    def __init__(
        self,
        score: Score,
        order: NDArray[np.int32],
        rows: Rows,
        depth: int,
    ) -> None:
        self.order = order
        self.rows = rows
        is_expected = rows.missing is not None
        states = rows.cardinalities
        # At most so many products of up to that many numbers of states.
        kinds = len(np.unique(states))
        sizes = range(1, min(depth, DEEP) + 1)
        n_sizes = sum(math.comb(kinds + size - 1, size) for size in sizes)
        self.tables = TermTables(
            score,
            states,
            rows.weights,
            n_sizes=n_sizes,
            is_expected=is_expected,
        )

    @classmethod
    def of(cls, dataset: Dataset, score: Score, depth: int) -> "SetSums":
        """Return those of complete data.

        The variables with the fewest rows off their common state come first, where sets end.

        Raises
        ------
        DataError
            When a cell is missing.
        """
        codes, weights = distinct_rows(dataset)
        common = [np.bincount(column, weights, minlength=1).max() for column in codes]
        order = np.argsort(-np.array(common), kind="stable").astype(np.int32)
        columns = np.ascontiguousarray(codes[order])
        rows = index_rows(columns, weights, dataset.cardinalities[order])
        return cls(score, order, rows, depth)

    @property
    def block(self) -> int:
        """Sets to count at a time."""
        n_sets = BLOCK_ROWS // max(1, len(self.rows.weights))
        return int(np.clip(n_sets, *BLOCK_SETS))

    @property
    def slack(self) -> float:
        """By how much rounding may change a score, generously."""
        return 1e-11 * (1 + self.rows.total * math.log1p(self.rows.total))

    def space(self, depth: int) -> Space:
        """Return space for one thread to count sets of up to so many variables."""
        depth = min(depth, len(self.order))
        return counting_space(self.rows, max(1, depth))

    def sums(
        self,
        sets: NDArray[np.int32],
        terms: Terms,
        space: Space,
    ) -> tuple[Floats, Floats]:
        """Sum every form of function over the tables of some sets.

        Parameters
        ----------
        sets
            Increasing places, filled up with -1, shape (sets, elements). Sets that differ in their
            first elements only are counted fastest one after the other.
        terms
            The score, tabulated for their sizes.
        space
            Space of this thread.

        Returns
        -------
        sums, cells
            The sums, shape (sets, forms), and the number of observed configurations, where one that
            weighs less than one row counts by its weight, shape (sets,).
        """
        sizes = set_sizes(self.rows.cardinalities, sets)
        numbers = terms.function[terms.places(sizes)]
        return self._fill(
            sets,
            numbers,
            parents_sums=np.empty(0),
            parents_numbers=np.empty(0, np.int64),
            terms=terms,
            space=space,
        )

    def family_sums(
        self,
        sets: NDArray[np.int32],
        terms: Terms,
        space: Space,
    ) -> tuple[Floats, Floats, Floats]:
        """Sum what the families of one child are made of: the first element of each set.

        Parameters
        ----------
        sets, terms, space
            As for :meth:`sums`, but that elements may stand in any order.

        Returns
        -------
        sums, parents_sums, cells
            The sums over each set and over the set of its parents, and the number of observed
            configurations of the set, shape (sets,) each.
        """
        r = self.rows.cardinalities[sets[:, 0]]
        sizes = set_sizes(self.rows.cardinalities, sets)
        # F of the cells of the set, G of the configurations of the parents.
        place = terms.places(sizes)
        numbers = terms.function[place, terms.cell[r]]
        parents_place = terms.places(sizes / r)
        parents_numbers = terms.function[parents_place, terms.configuration[r]]
        parents_sums = np.empty(len(sets))
        sums, cells = self._fill(
            sets,
            numbers[:, None],
            parents_sums,
            parents_numbers,
            terms,
            space,
        )
        return sums[:, 0], parents_sums, cells

    def _fill(
        self,
        sets: NDArray[np.int32],
        numbers: NDArray[np.int64],
        parents_sums: Floats,
        parents_numbers: NDArray[np.int64],
        terms: Terms,
        space: Space,
    ) -> tuple[Floats, Floats]:
        """Return sums over sets and their numbers of cells, and fill in those over parents."""
        sums = np.empty(numbers.shape)
        cells = np.empty(len(sets))
        _sum_sets(
            sets,
            (sets >= 0).sum(axis=1),
            self.rows,
            *space,
            terms.functions,
            numbers,
            parents_numbers,
            sums,
            parents_sums,
            cells,
        )
        return sums, cells


@in_place_kernel
def _sum_counts(
    functions: Functions,
    i: int,
    counts: Floats,
    n_counts: int,
) -> float:
    """Return the sum of a function over the first ones of some counts.

    Rounding errors are added up by themselves, so that the sum does not depend on the order.
    """
    total = 0.0
    error = 0.0
    for c in range(n_counts):
        if counts[c] > 0:
            # TwoSum (Knuth): the rounding error of each addition, exactly.
            term = value(functions, i, counts[c])
            new = total + term
            taken = new - total
            error += (total - (new - taken)) + (term - taken)
            total = new
    return total + error


@in_place_kernel
def _sum_sets(
    sets: NDArray[np.int32],
    lengths: NDArray[np.int64],
    rows: Rows,
    stack: Stack,
    entries: Entries | None,
    functions: Functions,
    numbers: NDArray[np.int64],
    parents_numbers: NDArray[np.int64],
    sums: Floats,
    parents_sums: Floats,
    cells: Floats,
) -> None:
    """Sum functions over the tables of sets, and optionally of each set less its first element.

    Parameters
    ----------
    sets, lengths
        The sets, and how many elements each has.
    rows, stack, entries
        The data, and scratch space.
    functions, numbers, parents_numbers
        The functions of counts, those to sum over each set, shape (sets, forms), and the one to sum
        over each set less its first element, shape (sets,).
    sums, parents_sums, cells
        Receive the sums, those over each set less its first element unless empty, and the numbers
        of observed configurations.
    """
    for i in range(len(sets)):
        depth = lengths[i] - 1
        if depth < 0:  # the table of the empty set has one cell
            cells[i] = 1.0
            for form in range(numbers.shape[1]):
                sums[i, form] = value(functions, numbers[i, form], rows.total)
            continue
        # The first element is counted into the table; the others are the prefix.
        count_set(
            sets[i, : depth + 1],
            rows,
            stack,
            entries,
        )
        n_counts = take_counts(
            rows,
            stack,
            entries,
            depth,
            sets[i, 0],
        )
        cells[i] = 0.0
        # A cell of expected weight below one row counts by its weight.
        for c in range(n_counts):
            cells[i] += min(stack.counts[c], 1.0)
        for form in range(numbers.shape[1]):
            sums[i, form] = _sum_counts(
                functions,
                numbers[i, form],
                stack.counts,
                n_counts,
            )
        # The prefix of the set, without its first element, is the parents.
        if len(parents_sums) > 0:
            totals = stack.totals[depth]
            size = stack.sizes[depth]
            parents_sums[i] = _sum_counts(functions, parents_numbers[i], totals, size)


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
        self.sums = sums
        self.prune = prune
        self.order = sums.order
        self.is_free = ~np.isin(sums.order, [child for _, child in required])
        self.block = sums.block
        self.space = sums.space

    @property
    def of_empty_set(self) -> Floats:
        """The sums over the table of the empty set: one cell with all rows."""
        terms = self.sums.tables.covering([1.0])
        empty_set = np.zeros((1, 0), np.int32)
        sums, _ = self.sums.sums(empty_set, terms, self.space(1))
        return sums.reshape(-1)

    def score(
        self,
        joined: Joined,
        level: Level,
        is_scored: NDArray[np.bool_],
        space: Space,
    ) -> Scored:
        """Score the families ``is_scored``, and close those that bounds close."""
        sets = joined.sets
        nodes = joined.nodes
        best = joined.best
        states = set_states(self.sums.rows.cardinalities, sets)
        sizes = states.prod(axis=1)
        parents_sizes = sizes[:, None] / states
        terms = self.sums.tables.covering(np.append(parents_sizes, sizes))
        r = states.astype(np.int64)
        places = terms.places(sizes)[:, None]
        slack = self.sums.slack
        penalty = terms.penalty[places, r]
        rate = terms.rate[r]
        # Families that the bounds of their subsets close are not counted.
        if self.prune:
            subset_cells = level.cells[nodes].max(axis=1, keepdims=True)
            is_closed = ceiling(rate, penalty, subset_cells) + slack <= best
            if terms.has_entropy:
                lacks_entropy = level.entropy[nodes] <= penalty
                is_closed |= is_scored & self.is_free[sets] & lacks_entropy
            best[is_closed] = np.nan
            is_scored = is_scored & ~np.isnan(best)
        # The score F(P + x) - G(P) - penalty of the families that are left.
        parents_sums = self._parents_sums(joined, level, is_scored, r, terms, space)
        is_counted = is_scored.any(axis=1)
        sums = np.full((len(sets), terms.function.shape[1]), np.nan)
        cells = np.zeros(len(sets))
        counted = self.sums.sums(sets[is_counted], terms, space)
        sums[is_counted], cells[is_counted] = counted
        totals = np.take_along_axis(sums, terms.cell[r], axis=1)
        # Bounds on the supersets (theorems *Distinct cells* and *Entropy*).
        ceilings = np.full(sets.shape, np.inf)
        entropy = np.full(len(sets), np.inf)
        if self.prune:
            least_penalty = terms.least_penalty[places, r]
            bounds = ceiling(rate, least_penalty, cells[:, None]) + slack
            ceilings = np.where(is_scored, bounds, np.inf)
            if terms.has_entropy:
                gains = level.sums[nodes, 0] - sums[:, :1] + slack
                penalties = largest_penalty(gains, states)
                entropy = np.fmin.reduce(penalties, axis=1, initial=np.inf)
        scores = totals - parents_sums - penalty
        return Scored(
            scores=np.where(is_scored, scores, np.nan),
            ceilings=ceilings,
            sums=sums,
            cells=cells,
            entropy=entropy,
        )

    def _parents_sums(
        self,
        joined: Joined,
        level: Level,
        is_scored: NDArray[np.bool_],
        r: NDArray[np.int64],
        terms: Terms,
        space: Space,
    ) -> Floats:
        """Return the sums over the tables of parents; those that are not known are counted."""
        form = terms.configuration[r]
        sums = level.sums[joined.nodes, form]
        # Each set of parents once, whichever of its families lacks it.
        row, t = np.nonzero(is_scored & np.isnan(sums))
        _, first, number = np.unique(
            joined.without[row, t],
            return_index=True,
            return_inverse=True,
        )
        parents = less_one(joined.sets, row[first], t[first])
        counted, _ = self.sums.sums(parents, terms, space)
        sums[row, t] = counted[number, form[row, t]]
        return sums


class SetValues:
    """The values of sets of variables, counted when they are first asked for.

    Parameters
    ----------
    dataset
        Complete data.
    score
        A score that is the same for equivalent networks.

    Attributes
    ----------
    known
        What was counted so far: a set is a bit mask of its variables.
    """

    def __init__(self, dataset: Dataset, score: Score) -> None:
        self.n = dataset.n_variables
        self._sums = SetSums.of(dataset, score, DEEP)
        self._space = self._sums.space(DEEP)
        self.known: dict[int, float] = {}

    def count(self, sets: Iterable[int]) -> None:
        """Count sets that are not known yet."""
        new = [*{*sets} - self.known.keys()]
        if not new:
            return
        # A bit for each variable, shape (sets, variables).
        size = max(1, -(-self.n // 8))
        masks = b"".join(each.to_bytes(size, "little") for each in new)
        octets = np.frombuffer(masks, np.uint8).reshape(-1, size)
        bits = np.unpackbits(octets, axis=1, bitorder="little")
        # By places in the order; sets of one prefix follow each other, and end in it.
        bits = bits[:, self._sums.order]
        by_prefix = np.lexsort(bits.T)
        bits = bits[by_prefix]
        lengths = bits.sum(axis=1, dtype=np.int64)
        largest = int(lengths.max())
        if largest > len(self._space.stack.variables):
            self._space = self._sums.space(2 * largest)
        # The places in the order of each set's variables, filled up with -1.
        members = np.full((len(new), max(1, largest)), -1, np.int32)
        owner, place = np.nonzero(bits)
        members[owner, places_within(offsets(lengths))] = place
        # V(S): the sum over the table of S less the penalties of its variables one by one.
        states = set_states(self._sums.rows.cardinalities, members)
        sizes: Floats = np.multiply.accumulate(states, axis=1)
        terms = self._sums.tables.covering(np.append(1.0, sizes))
        penalties = terms.penalty[terms.places(sizes), states.astype(np.int64)]
        penalties[members < 0] = 0.0
        sums, _ = self._sums.sums(members, terms, self._space)
        values = sums[:, 0] - penalties.sum(axis=1)
        for number, set_value in zip(by_prefix, values.tolist(), strict=True):
            self.known[new[number]] = set_value


def distinct_rows(dataset: Dataset) -> tuple[NDArray[np.int16], NDArray[np.float64]]:
    """Merge equal rows of complete data into one row each, in lexicographic order.

    Returns
    -------
    tuple
        The codes, shape (variables, distinct rows), and the weight of each distinct row. Rows of
        weight 0 are left out.

    Raises
    ------
    DataError
        When a cell is missing.
    """
    require_complete(dataset)
    all_codes = dataset.codes.astype(np.int16)
    codes, weights, _ = distinct_weighted(all_codes, dataset.weights)
    order = np.lexsort(codes.T[::-1])
    return np.ascontiguousarray(codes[order].T), weights[order]
