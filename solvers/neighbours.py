"""Networks that differ from a given one in the parents of one variable."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn.graph import children, topological_order
from exactlearn.solvers.candidate_table import CandidateTable

Parents = tuple[tuple[int, ...], ...]


def neighbours(
    table: CandidateTable, parents: Parents, score: float, least: float, most: int
) -> Iterator[tuple[Parents, float]]:
    """Yield neighbours of a network that score more than ``least``, the best first.

    Parameters
    ----------
    table
        The candidates.
    parents, score
        The network; its parent sets are candidates.
    least
        Score to exceed.
    most
        How many at most.
    """
    bits, child = table.bits, table.problem.child
    descendants = _descendants(parents, bits.shape[1])
    family = np.array([table.bit_set(frozenset(ps)) for ps in parents])
    same = (bits == family[child]).all(axis=1)
    own = np.full(len(parents), -np.inf)
    np.maximum.at(own, child[same], table.problem.scores[same])
    reached = score + table.problem.scores - own[child]
    fits = ~same & (reached > least) & ~(bits & descendants[child]).any(axis=1)
    rows = np.flatnonzero(fits)
    for row in rows[np.argsort(-reached[rows], kind="stable")[:most]].tolist():
        v = int(child[row])
        changed = table.problem.parent_set(row)
        yield (*parents[:v], changed, *parents[v + 1 :]), float(reached[row])


def _descendants(parents: Sequence[Sequence[int]], words: int) -> NDArray[np.uint64]:
    """Return each variable's descendants and itself as bit sets, shape (n, words)."""
    found = np.zeros((len(parents), words), np.uint64)
    offspring = children(parents)
    for v in reversed(topological_order(parents)):
        found[v, v // 64] |= np.uint64(1) << np.uint64(v % 64)
        for c in offspring[v]:
            found[v] |= found[c]
    return found
