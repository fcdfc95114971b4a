"""Values of sets of variables, whose differences are the scores of families; counted on demand.

A score that is the same for all members of a Markov equivalence class
(:func:`exactlearn.scoring.properties.is_equivalent`) has one form of function, and its penalty does
not depend on the order in which the variables of a set are added. Then the score of child ``x``
with parents ``P`` is ``V(P + x) - V(P)`` with ``V(S)`` the sum over the table of ``S`` less the
penalties of its variables one after the other (theorem *Set values* of docs/theory/equivalence.md).
One table serves all families of a set, and adding the arc ``x -> y`` to parents ``P`` of ``y``
gains ``V(P + x + y) - V(P + x) - V(P + y) + V(P)``.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel
from exactlearn.data.dataset import Dataset
from exactlearn.scoring.candidate_enumeration import DEEP, in_counting_order, term_tables
from exactlearn.scoring.scores import Score
from exactlearn.scoring.set_scores import count_set, sum_counts
from exactlearn.scoring.set_tables import Rows, Stack, new_stack
from exactlearn.scoring.terms import Terms, find, value


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
        self._order, self._rows = in_counting_order(dataset)
        self._tables = term_tables(score, self._rows, DEEP)
        self._stack = self._new_stack(DEEP)
        self.known: dict[int, float] = {}

    def _new_stack(self, depth: int) -> Stack:
        """Return scratch space for sets of up to so many variables."""
        return new_stack(self._rows, min(depth, max(1, self.n)))

    def count(self, sets: Iterable[int]) -> None:
        """Count sets that are not known yet."""
        new = [*{*sets} - self.known.keys()]
        if not new:
            return
        size = max(1, -(-self.n // 8))
        keys = np.frombuffer(b"".join(each.to_bytes(size, "little") for each in new), np.uint8)
        bits = np.unpackbits(keys.reshape(-1, size), axis=1, bitorder="little")[:, self._order]
        by_prefix = np.lexsort(bits.T)
        bits = bits[by_prefix]
        lengths = bits.sum(axis=1, dtype=np.int64)
        if lengths.max() > len(self._stack.variables):
            self._stack = self._new_stack(2 * int(lengths.max()))
        members = np.zeros((len(new), max(1, lengths.max())), np.int64)
        owner, variable = np.nonzero(bits)
        members[owner, np.arange(len(owner)) - (np.cumsum(lengths) - lengths)[owner]] = variable
        states = np.where(
            np.arange(members.shape[1]) < lengths[:, None], self._rows.cardinalities[members], 1
        )
        sizes = np.cumprod(states.astype(np.float64), axis=1)
        terms = self._tables.covering(np.append(1.0, sizes))
        values = np.empty(len(new))
        _count(members, lengths, self._rows, self._stack, terms, values)
        self.known.update(zip((new[k] for k in by_prefix), values.tolist(), strict=True))


@in_place_kernel
def _count(
    members: NDArray[np.int64],
    lengths: NDArray[np.int64],
    rows: Rows,
    stack: Stack,
    terms: Terms,
    values: NDArray[np.float64],
) -> None:
    """Fill in the values of sets, each by its members' places in the order of counting."""
    functions = terms.functions
    for s in range(len(members)):
        length, size, penalty = lengths[s], 1.0, 0.0
        for t in range(length):
            r = rows.cardinalities[members[s, t]]
            size *= r
            penalty += terms.penalty[find(terms.sizes, size), r]
        number = terms.function[find(terms.sizes, size), 0]
        if length == 0:
            values[s] = value(functions, number, rows.total)
        else:
            found, _ = count_set(members[s, :length], rows, stack)
            values[s] = sum_counts(functions, number, stack.counts, found) - penalty
