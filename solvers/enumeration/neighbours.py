"""Networks that differ from a given one in the parents of one variable, and steps along them."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn.graphs.dag import children, topological_order

from ..candidate_table import CandidateTable
from ..constraints import Clause

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


def total(table: CandidateTable, parents: Parents) -> float:
    """Return the score of a network of candidates."""
    scores = 0.0
    for v, family in enumerate(parents):
        rows = table.rows(v)
        same = (table.bits[rows] == table.bit_set(frozenset(family))).all(axis=1)
        scores += float(table.problem.scores[rows].max(where=same, initial=-np.inf))
    return scores


def repaired(
    table: CandidateTable,
    parents: Parents,
    clause_of: Callable[[Parents], Clause | None],
    steps: int,
) -> Parents | None:
    """Change one parent set after the other until a network satisfies all constraints.

    Each step satisfies one condition of the clause of a violated constraint, the one that costs
    least. In the second half of the steps parents are only taken away, where that will do.

    Parameters
    ----------
    table
        The candidates.
    parents
        A network of candidates.
    clause_of
        Returns what a network lacks, or ``None``.
    steps
        How many steps at most.
    """
    for step in range(steps):
        clause = clause_of(parents)
        if clause is None:
            return parents
        change = _cheapest(table, parents, clause, shrink=2 * step >= steps)
        if change is None:
            return None
        v, family = change
        parents = (*parents[:v], family, *parents[v + 1 :])
    return None


def _cheapest(
    table: CandidateTable, parents: Parents, clause: Clause, *, shrink: bool
) -> tuple[int, tuple[int, ...]] | None:
    """Return the variable and the parents that satisfy a condition at the lowest loss."""
    descendants = _descendants(parents, table.bits.shape[1])
    found: list[tuple[float, int, int]] = []
    for condition in clause:
        v = condition.variable
        rows = table.rows(v)
        bits, scores = table.bits[rows], table.problem.scores[rows]
        family = table.bit_set(frozenset(parents[v]))
        own = scores.max(where=(bits == family).all(axis=1), initial=-np.inf)
        fits = table.holds(condition) & ~(bits & descendants[v]).any(axis=1)
        smaller = fits & ~(bits & ~family).any(axis=1)
        fits = smaller if shrink and smaller.any() else fits
        if fits.any():
            row = int(np.argmax(np.where(fits, scores, -np.inf)))
            found.append((float(own - scores[row]), v, rows.start + row))
    if not found:
        return None
    _, v, row = min(found)
    return v, table.problem.parent_set(row)


def _descendants(parents: Sequence[Sequence[int]], words: int) -> NDArray[np.uint64]:
    """Return each variable's descendants and itself as bit sets, shape (n, words)."""
    found = np.zeros((len(parents), words), np.uint64)
    offspring = children(parents)
    for v in reversed(topological_order(parents)):
        found[v, v // 64] |= np.uint64(1) << np.uint64(v % 64)
        for c in offspring[v]:
            found[v] |= found[c]
    return found
