"""The candidates of a problem as bit sets: what conditions they satisfy, and networks of them.

The table turns a clause into a linear inequality (:class:`Row`), yields the networks that differ
from a given one in the parents of one variable, and changes parent sets until a network satisfies
all constraints.

Arcs that constraints on the whole network rule out are found without a search. Required arcs and
required ancestors say who must come before whom; their transitive closure must not have a cycle,
and rules out every arc against it. A required adjacency with one direction left is a required arc.
With x a forced ancestor of u (or u itself), and v one of y, the arc u -> v would make x an ancestor
of y, which may be forbidden. Variables that are to be independent given nothing are not ancestors
of each other, and have no forced ancestor in common: from there an active trail would lead to both.
What is left must still order all variables. All of this is polynomial; that nothing contradicts it
does not prove that a network exists. Often a simple one does, with an arc from each required
ancestor to its descendant.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.graphs.dag import children, topological_order

from .components import WORD, bit_sets
from .constraints import (
    Clause,
    Condition,
    ForbiddenAdjacency,
    ForbiddenAncestor,
    Independence,
    RequiredAdjacency,
    RequiredAncestor,
)
from .problem import Arc, Problem, offsets

Parents = tuple[tuple[int, ...], ...]

Relation = NDArray[np.bool_]
"""Which variables are in relation to which, shape (k, k)."""


class Row(NamedTuple):
    """A linear inequality: the values of some candidates times their weights are at least so much.

    Attributes
    ----------
    candidates, weights
        Candidates in it, and their coefficients, shape (k,).
    least
        What the sum must reach.
    """

    candidates: NDArray[np.int64]
    weights: NDArray[np.float64]
    least: float


@dataclass(frozen=True, eq=False)
class CandidateTable:
    """The candidates of a problem.

    Parameters
    ----------
    problem
        A problem all of whose candidates are allowed.
    """

    problem: Problem

    @classmethod
    def by_score(cls, problem: Problem) -> "CandidateTable":
        """Return the allowed candidates, those of a variable by falling score."""
        kept = problem.select(problem.allowed).constrained_by(())
        order = np.lexsort((-kept.scores, kept.child))
        sizes = np.diff(kept.member_first)
        rank = np.argsort(order)
        members = kept.members[np.argsort(np.repeat(rank, sizes), kind="stable")]
        ordered = replace(
            kept,
            scores=kept.scores[order],
            member_first=offsets(sizes[order]),
            members=members,
        )
        return cls(ordered)

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
        bits = self.bits[rows]
        wanted = self.bit_set(condition.parents)
        if condition.kind == "all":
            return np.asarray(((bits & wanted) == wanted).all(axis=1))
        if condition.kind == "any":
            return np.asarray(((bits & wanted) != 0).any(axis=1))
        if condition.kind == "same":
            return np.asarray((bits == wanted).all(axis=1))
        return ~self.holds(condition.opposite)

    def row(self, cases: Sequence[Condition | ForbiddenAdjacency]) -> Row:
        """Return the inequality that one case holds at least."""
        weights = np.zeros(self.problem.n_candidates)
        least = 1.0
        for case in cases:
            if isinstance(case, Condition):
                weights[self.rows(case.variable)] += self.holds(case)
                continue
            least -= 1.0
            for parent, child in ((case.a, case.b), (case.b, case.a)):
                arc = Condition(child, "all", frozenset({parent}))
                weights[self.rows(child)] -= self.holds(arc)
        used = np.flatnonzero(weights)
        return Row(used, weights[used], least)

    def bit_set(self, members: frozenset[int]) -> NDArray[np.uint64]:
        """Return a set of variables as a bit set, shape (words,)."""
        wanted = np.zeros(self.bits.shape[1], np.uint64)
        for v in members:
            wanted[v // WORD] |= np.uint64(1) << np.uint64(v % WORD)
        return wanted

    def parents(self, chosen: NDArray[np.int64]) -> Parents:
        """Return the network of one candidate for each variable."""
        return tuple(map(self.problem.parent_set, chosen.tolist()))

    def chosen(self, parents: Parents) -> NDArray[np.int64]:
        """Return the best candidate of each variable that has these parents, shape (n,)."""
        own = [Condition(v, "same", frozenset(family)) for v, family in enumerate(parents)]
        scores = self.problem.scores
        best = [
            np.argmax(np.where(self.holds(c), scores[self.rows(c.variable)], -np.inf)) for c in own
        ]
        return self.problem.first[:-1] + np.array(best, np.int64)

    def total(self, parents: Parents) -> float:
        """Return the score of a network of candidates."""
        return fsum(self.problem.scores[self.chosen(parents)].tolist())


def neighbours(
    table: CandidateTable, parents: Parents, least: float, most: int
) -> Iterator[tuple[Parents, float]]:
    """Yield neighbours of a network that score more than ``least``, the best first.

    Parameters
    ----------
    table
        The candidates.
    parents
        The network; its parent sets are candidates.
    least
        Score to exceed.
    most
        How many at most.
    """
    scores = table.problem.scores
    bits = table.bits
    child = table.problem.child
    own = table.chosen(parents)
    descendants = _descendants(parents, bits.shape[1])
    reached = fsum(scores[own].tolist()) + (scores - scores[own][child])
    fits = (bits != bits[own][child]).any(axis=1) & (reached > least)
    rows = np.flatnonzero(fits & ~(bits & descendants[child]).any(axis=1))
    for row in rows[np.argsort(-reached[rows], kind="stable")[:most]].tolist():
        v = int(child[row])
        changed = table.problem.parent_set(row)
        yield (*parents[:v], changed, *parents[v + 1 :]), float(reached[row])


def repaired(
    table: CandidateTable,
    parents: Parents,
    clause_of: Callable[[Parents], Clause | None],
    steps: int,
) -> Parents | None:
    """Change one parent set after the other until a network satisfies all constraints.

    Each step satisfies one condition of the clause of a violated constraint, the one that costs
    least. When the steps go round in a circle, parents are only taken away, where that will do.

    Parameters
    ----------
    table
        The candidates.
    parents
        A network of candidates.
    clause_of
        Returns what a network lacks, or ``None``.
    steps
        How many steps at most of either kind.
    """
    for shrink in (False, True):
        met = set[Parents]()
        while parents not in met and len(met) < steps:
            met.add(parents)
            clause = clause_of(parents)
            if clause is None:
                return parents
            change = _cheapest(table, parents, clause, shrink=shrink)
            if change is None:
                return None
            v, family = change
            parents = (*parents[:v], family, *parents[v + 1 :])
    return None


def _cheapest(
    table: CandidateTable, parents: Parents, clause: Clause, *, shrink: bool
) -> tuple[int, tuple[int, ...]] | None:
    """Return the variable and the parents that satisfy a condition at the lowest loss."""
    own = table.chosen(parents)
    descendants = _descendants(parents, table.bits.shape[1])
    found: list[tuple[float, int, int]] = []
    for condition in clause:
        v = condition.variable
        rows = table.rows(v)
        bits = table.bits[rows]
        scores = table.problem.scores[rows]
        fits = table.holds(condition) & ~(bits & descendants[v]).any(axis=1)
        smaller = fits & ~(bits & ~table.bits[own[v]]).any(axis=1)
        fits = smaller if shrink and smaller.any() else fits
        if fits.any():
            row = int(np.argmax(np.where(fits, scores, -np.inf)))
            found.append((float(table.problem.scores[own[v]] - scores[row]), v, rows.start + row))
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


def with_implied_arcs(problem: Problem) -> Problem | None:
    """Return the problem with more arcs forbidden, none of which is in a satisfying network.

    Returns
    -------
    Problem or None
        ``None`` when the constraints contradict each other.
    """
    overall = problem.overall_constraints
    if not overall:
        return problem if problem.is_feasible else None
    implied = _implied(problem)
    if implied is None:
        return None
    problem = replace(problem, forbidden=problem.forbidden | implied)
    return problem if problem.is_feasible else None


def simple_network(problem: Problem) -> Parents | None:
    """Return a network that satisfies all constraints, if one with arcs for ancestors is found."""
    overall = problem.overall_constraints
    direct = {(c.ancestor, c.descendant) for c in overall if isinstance(c, RequiredAncestor)}
    adjacent = [(c.a, c.b) for c in overall if isinstance(c, RequiredAdjacency)]
    implied = with_implied_arcs(replace(problem, required=problem.required | direct))
    if implied is None:
        return None
    chosen = {(b, a) if (a, b) in implied.forbidden else (a, b) for a, b in adjacent}
    implied = replace(implied, required=implied.required | chosen)
    order = implied.placing_order()
    if order is None:
        return None
    position = np.argsort(order)
    for preferred in (1, -1):  # few arcs, then many
        parents = _along(implied, position, preferred)
        if not problem.violations(parents):
            return parents
    return None


def _along(problem: Problem, position: NDArray[np.int64], preferred: int) -> Parents:
    """Return the smallest, or largest, allowed parent set of each variable along an order."""
    sizes = np.diff(problem.member_first)
    child = problem.child
    owner = np.repeat(np.arange(problem.n_candidates), sizes)
    late = position[problem.members] > position[child[owner]]
    rows = problem.allowed & (np.bincount(owner[late], minlength=problem.n_candidates) == 0)
    rank = np.lexsort((preferred * sizes, child))
    rank = rank[rows[rank]]
    best = rank[np.searchsorted(child[rank], np.arange(problem.n_variables))]
    return tuple(map(problem.parent_set, best.tolist()))


def _implied(problem: Problem) -> frozenset[Arc] | None:
    """Return the arcs against what is forced, or ``None`` when that contradicts itself."""
    overall = problem.overall_constraints
    forced = set(problem.required)
    forced |= {(c.ancestor, c.descendant) for c in overall if isinstance(c, RequiredAncestor)}
    separate = [(c.ancestor, c.descendant) for c in overall if isinstance(c, ForbiddenAncestor)]
    marginal = [
        pair
        for c in overall
        if isinstance(c, Independence) and not c.given
        for pair in product(c.left, c.right)
    ]
    separate += [pair for a, b in marginal for pair in ((a, b), (b, a))]
    adjacent = [(c.a, c.b) for c in overall if isinstance(c, RequiredAdjacency)]
    forbidden = problem.forbidden.union(*(c.forbidden_arcs for c in problem.constraints))
    named = sorted({v for pair in [*forced, *separate, *adjacent] for v in pair})
    while True:
        before = _closure(forced, named)
        if before.diagonal().any():
            return None
        itself = before | np.eye(len(before), dtype=np.bool_)
        if any((itself[:, named.index(a)] & itself[:, named.index(b)]).any() for a, b in marginal):
            return None
        out = _against(before, [(named.index(x), named.index(y)) for x, y in separate])
        if (out & before).any():
            return None
        implied = frozenset((named[u], named[v]) for u, v in np.argwhere(out).tolist())
        gone = forbidden | implied
        if any((a, b) in gone and (b, a) in gone for a, b in adjacent):
            return None
        further = {(a, b) for a, b in adjacent if (b, a) in gone}
        further |= {(b, a) for a, b in adjacent if (a, b) in gone}
        if further <= forced:
            return implied
        forced |= further


def _closure(arcs: set[Arc], named: list[int]) -> Relation:
    """Return who is a forced ancestor of whom, among the variables named."""
    place = {v: k for k, v in enumerate(named)}
    before = np.zeros((len(named), len(named)), np.bool_)
    for a, b in arcs:
        before[place[a], place[b]] = True
    for k in range(len(named)):
        before |= before[:, k, None] & before[k]
    return before


def _against(before: Relation, separate: list[Arc]) -> Relation:
    """Return the arcs [parent, child] that close a cycle or make a forbidden ancestor one."""
    out = before.T.copy()
    itself = before | np.eye(len(before), dtype=np.bool_)
    for x, y in separate:
        out |= itself[x][:, None] & itself[:, y]
    return out
