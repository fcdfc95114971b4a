"""Which candidates a condition leaves, and what is then the most that a network can score.

The bound is that of :mod:`exactlearn.solvers.lp.multipliers`; it takes a sum per variable, so that
the effect of one more condition costs a look at one variable's candidates.

Where the number of arcs is limited, a price per arc is taken off every score and paid back for the
arcs that are allowed: also a bound, by weak duality (Everett 1963, "Generalized Lagrange multiplier
method"). Each price is one more *pricing*; the lowest bound counts.

The table also yields the networks that differ from a given one in the parents of one variable.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import ROUNDING
from exactlearn.graphs.dag import children, topological_order

from .components import WORD, bit_sets
from .constraints import Clause, Condition
from .lp.multipliers import Multipliers
from .problem import Problem

SLACK = 1e-9
"""Share of a bound by which candidates at the edge are kept."""

MOST_STEPS = 30
"""Prices that are tried."""

WIDER = 4.0
"""Factor between two prices while none leads across the limit."""


class Point(NamedTuple):
    """Score and number of arcs of a network."""

    score: float
    arcs: int


BestAt = Callable[[float], Point | None]
Parents = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Pricing:
    """One Lagrangian bound.

    Parameters
    ----------
    adjusted
        Score of each candidate with all rewards and prices, shape (m,).
    constant
        What is added to the sum over variables.
    price
        What each arc costs.
    refund
        What all the arcs that are allowed cost together.
    """

    adjusted: NDArray[np.float64]
    constant: float
    price: float
    refund: float


@dataclass(frozen=True, eq=False)
class CandidateTable:
    """The candidates of a problem as bit sets, with the pricings that bound what they can score.

    Parameters
    ----------
    problem
        A problem all of whose candidates are allowed.
    pricings
        At least one.
    """

    problem: Problem
    pricings: tuple[Pricing, ...]

    @classmethod
    def of(cls, problem: Problem, multipliers: Multipliers) -> "CandidateTable":
        """Return the table with the pricing of some multipliers."""
        adjusted = multipliers.adjusted(problem)
        return cls(problem, (Pricing(adjusted, -multipliers.total, 0.0, 0.0),))

    def priced(self, multipliers: Multipliers, price: float, arcs: int) -> "CandidateTable":
        """Return the table with one more pricing: ``arcs`` of ``price`` each are allowed."""
        adjusted = multipliers.adjusted(self.problem) - price * self.sizes
        refund = price * arcs
        pricing = Pricing(adjusted, refund - multipliers.total, price, refund)
        return replace(self, pricings=(*self.pricings, pricing))

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of parents of each candidate, shape (m,)."""
        return np.diff(self.problem.member_first)

    @cached_property
    def bits(self) -> NDArray[np.uint64]:
        """Parents of each candidate as bit sets, shape (m, words)."""
        n = self.problem.n_variables
        local = np.append(np.arange(n), -1)
        rows = np.arange(self.problem.n_candidates)
        words = max(1, -(-n // WORD))
        return bit_sets(self.problem.member_first, self.problem.members, rows, local, words)

    def rows(self, variable: int) -> slice:
        """Return where the candidates of a variable stand."""
        first = self.problem.first
        return slice(int(first[variable]), int(first[variable + 1]))

    def holds(self, condition: Condition) -> NDArray[np.bool_]:
        """Return which candidates of the condition's variable satisfy it."""
        rows = self.rows(condition.variable)
        if condition.kind in ("at most", "at least"):
            found = self.sizes[rows] <= condition.size
            if condition.kind == "at least":
                found = self.sizes[rows] >= condition.size
            return found
        bits, wanted = self.bits[rows], self.bit_set(condition.parents)
        if condition.kind in ("all", "not all"):
            found = ((bits & wanted) == wanted).all(axis=1)
        elif condition.kind in ("any", "none"):
            found = ((bits & wanted) != 0).any(axis=1)
        else:
            found = (bits == wanted).all(axis=1)
        if condition.kind in ("not all", "none", "other"):
            found = ~found
        return np.asarray(found, np.bool_)

    def best(self, keep: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the best adjusted score of each variable, shape (pricings, n).

        It is ``-inf`` where a variable has no candidate left.
        """
        n, first = self.problem.n_variables, self.problem.first
        best = np.full((len(self.pricings), n), -np.inf)
        filled = np.flatnonzero(np.diff(first))
        for k, pricing in enumerate(self.pricings):
            kept = np.where(keep, pricing.adjusted, -np.inf)
            best[k, filled] = np.maximum.reduceat(kept, first[filled]) if len(filled) else 0.0
        return best

    def best_of(self, variable: int, keep: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the best adjusted scores of one variable, its kept candidates given."""
        rows = self.rows(variable)
        return np.array([p.adjusted[rows].max(where=keep, initial=-np.inf) for p in self.pricings])

    def bound(self, best: NDArray[np.float64]) -> float:
        """Return the lowest bound of the pricings for such best scores."""
        return min(float(b.sum()) + p.constant for b, p in zip(best, self.pricings, strict=True))

    def within(self, keep: NDArray[np.bool_], least: float) -> NDArray[np.bool_]:
        """Drop the candidates of which every network scores less than ``least``."""
        keep = keep.copy()
        for b, p in zip(self.best(keep), self.pricings, strict=True):
            bound = float(b.sum()) + p.constant
            slack = bound - least + SLACK * max(1.0, abs(bound))
            keep &= b[self.problem.child] - p.adjusted <= slack
        return keep

    def limited(self, keep: NDArray[np.bool_], least: int, most: int | None) -> NDArray[np.bool_]:
        """Drop the candidates that leave the other variables no way to keep the arcs' bounds."""
        if (least == 0 and most is None) or not keep.any():
            return keep
        first, child = self.problem.first, self.problem.child
        if (np.diff(first) == 0).any():
            return np.zeros_like(keep)
        if most is not None:
            fewest = np.minimum.reduceat(np.where(keep, self.sizes, most + 1), first[:-1])
            keep = keep & (self.sizes - fewest[child] <= most - fewest.sum())
        widest = np.maximum.reduceat(np.where(keep, self.sizes, 0), first[:-1])
        return np.asarray(keep & (widest[child] - self.sizes <= widest.sum() - least), np.bool_)

    def part(self, keep: NDArray[np.bool_], price: float) -> Problem:
        """Return the problem of some candidates, a price per arc taken off their scores."""
        part = self.problem.select(keep)
        if price:
            part = replace(part, scores=part.scores - price * np.diff(part.member_first))
        return part

    def loss(self, keep: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return by how much each candidate lowers the first bound, shape (m,)."""
        lost: NDArray[np.float64] = (
            self.best(keep)[0][self.problem.child] - self.pricings[0].adjusted
        )
        return lost

    def bit_set(self, members: frozenset[int]) -> NDArray[np.uint64]:
        """Return a set of variables as a bit set, shape (words,)."""
        wanted = [0] * self.bits.shape[1]
        for v in members:
            wanted[v // WORD] |= 1 << (v % WORD)
        return np.array(wanted, np.uint64)


def arc_price(
    best_at: BestAt, beyond: Point, limit: int, step: float, steepest: float = np.inf
) -> float | None:
    """Return the price per arc with the lowest bound, found by solving at few prices.

    The best networks at two prices, one on either side of the limit, are equally good at the price
    in between where their lines cross; if none is better there, that price is the best one
    (the vertex search of a concave envelope, as in Eisner and Severance 1976, "Mathematical
    techniques for efficient record segmentation in large shared databases").

    Parameters
    ----------
    best_at
        Returns score and number of arcs of the best network at a price per arc, or ``None`` when
        the problem at that price was not solved.
    beyond
        Those of the best network without a price, which has too many or too few arcs.
    limit
        The largest, or smallest, number of arcs that is allowed.
    step
        A first price to try.
    steepest
        Difference of the scores of any two networks, at most: at a higher price the number of arcs
        alone decides, so that none beyond it leads across the limit either.

    Returns
    -------
    float or None
        Negative when there are too few arcs; ``None`` when no price leads across the limit, or
        a problem was not solved.
    """
    sign = 1 if beyond.arcs > limit else -1
    price = sign * step
    within = best_at(price)
    for _ in range(MOST_STEPS):
        if within is None:
            return None
        if sign * (within.arcs - limit) <= 0:
            break
        if abs(price) > steepest:
            return None
        beyond, price = within, WIDER * price
        within = best_at(price)
    else:
        return None
    for _ in range(MOST_STEPS):
        price = (beyond.score - within.score) / (beyond.arcs - within.arcs)
        found = best_at(price)
        if found is None:
            return None
        reached = beyond.score - price * beyond.arcs
        if found.score - price * found.arcs <= reached + ROUNDING * max(1.0, abs(reached)):
            break
        if sign * (found.arcs - limit) <= 0:
            within = found
        else:
            beyond = found
    return price


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
