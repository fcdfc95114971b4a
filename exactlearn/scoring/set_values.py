"""Values of sets of variables, whose differences are the scores of families; counted on demand.

A score that is the same for all members of a Markov equivalence class
(:func:`exactlearn.scoring.properties.is_equivalent`) has one form of function, and its penalty does
not depend on the order in which the variables of a set are added. Then the score of child ``x``
with parents ``P`` is ``V(P + x) - V(P)`` with ``V(S)`` the sum over the table of ``S`` less the
penalties of its variables one after the other (theorem *Set values* of docs/theory/equivalence.md).
One table serves all families of a set, and adding the arc ``x -> y`` to parents ``P`` of ``y``
gains ``V(P + x + y) - V(P + x) - V(P + y) + V(P)``.

The values stand in a hash table from sets to values. Threads may read it while one adds to it: a
set's slot is written after its value, in another call.
"""

from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.hash_tables import find_row, index_rows, insert_rows
from exactlearn._runtime.kernel import in_place_kernel
from exactlearn.data.dataset import Dataset
from exactlearn.scoring.candidate_enumeration import DEEP, in_counting_order, term_tables
from exactlearn.scoring.scores import Score
from exactlearn.scoring.set_scores import count_set, sum_counts
from exactlearn.scoring.set_tables import Rows, Stack, new_stack
from exactlearn.scoring.terms import Terms, find, value

WORD = 32
"""Variables of one word of a set's key."""

SetKeys = NDArray[np.uint32]
"""Sets, one a row: bit ``v % 32`` of word ``v // 32`` is set when variable ``v`` is a member."""


class KnownValues(NamedTuple):
    """The hash table as kernels read it: slots, sets and values."""

    slots: NDArray[np.int32]
    sets: SetKeys
    values: NDArray[np.float64]


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
        What was counted so far.
    """

    def __init__(self, dataset: Dataset, score: Score) -> None:
        self.n = dataset.n_variables
        self._order, self._rows = in_counting_order(dataset)
        self._tables = term_tables(score, self._rows, DEEP)
        self._lock = Lock()
        self._count = 0
        words = max(1, -(-self.n // WORD))
        self.known = KnownValues(
            np.full(2**13, -1, np.int32), np.zeros((2**12, words), np.uint32), np.zeros(2**12)
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave the lock out, for the workers of a cluster."""
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes, with a lock of its own."""
        vars(self).update(state, _lock=Lock())

    def __len__(self) -> int:
        """Return the number of sets counted."""
        return self._count

    def new_stack(self, depth: int = DEEP) -> Stack:
        """Return scratch space of one thread for sets of up to so many variables."""
        return new_stack(self._rows, min(depth, max(1, self.n)))

    def add(self, keys: SetKeys, stack: Stack) -> Stack:
        """Count sets that are not known yet; return the scratch space, which may have to grow."""
        keys = keys[index_rows(keys)[1]]
        bits = np.unpackbits(keys.view(np.uint8), axis=1, bitorder="little")[:, self._order]
        by_prefix = np.lexsort(bits.T)
        keys, bits = keys[by_prefix], bits[by_prefix]
        lengths = bits.sum(axis=1, dtype=np.int64)
        if lengths.max() > len(stack.variables):
            stack = self.new_stack(2 * int(lengths.max()))
        members = np.zeros((len(keys), max(1, lengths.max())), np.int64)
        owner, variable = np.nonzero(bits)
        members[owner, np.arange(len(owner)) - (np.cumsum(lengths) - lengths)[owner]] = variable
        states = np.where(
            np.arange(members.shape[1]) < lengths[:, None], self._rows.cardinalities[members], 1
        )
        sizes = np.cumprod(states.astype(np.float64), axis=1)
        terms = self._tables.covering(np.append(1.0, sizes))
        values = np.empty(len(keys))
        _count(members, lengths, self._rows, stack, terms, values)
        with self._lock:
            self._enter(keys, values)
        return stack

    def _enter(self, keys: SetKeys, values: NDArray[np.float64]) -> None:
        slots, sets, known = self.known
        new = np.array([find_row(slots, sets, keys, i) < 0 for i in range(len(keys))], np.bool_)
        begin, end = self._count, self._count + int(new.sum())
        if end > len(known):
            room = 2 * end
            sets = np.concatenate(
                [sets[:begin], np.zeros((room - begin, sets.shape[1]), np.uint32)]
            )
            known = np.concatenate([known[:begin], np.zeros(room - begin)])
            slots = np.full(1 << (2 * room).bit_length(), -1, np.int32)
            insert_rows(slots, sets, known, 0, sets[:begin], known[:begin])
        sets[begin:end], known[begin:end] = keys[new], values[new]
        # The sets are known from here on: they stand in the table before their slots are written.
        insert_rows(slots, sets, known, begin, sets[begin:end], known[begin:end])
        self.known, self._count = KnownValues(slots, sets, known), end


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
