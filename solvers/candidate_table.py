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

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.offsets import offsets, owners
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
    ruled_out_arcs,
)
from .problem import Arc, Problem

Parents = tuple[tuple[int, ...], ...]

Relation = NDArray[np.bool_]
"""Which variables are in relation to which, shape (k, k)."""


class Row(NamedTuple):
    """A linear inequality: the values of some candidates times their weights are at least so much.

    Attributes
    ----------
    candidates, weights
        Candidates in it, and their coefficients, shape (k,).
    lower
        What the sum must reach at least.
    """

    candidates: NDArray[np.int64]
    weights: NDArray[np.float64]
    lower: float


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
        # members follow their candidates, each set in increasing order
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
        return bit_sets(
            self.problem.member_first, self.problem.members, rows, local, words
        )

    def rows(self, variable: int) -> slice:
        """Return where the candidates of a variable stand."""
        first = self.problem.first
        return slice(int(first[variable]), int(first[variable + 1]))

    def holds(self, condition: Condition) -> NDArray[np.bool_]:
        """Return whether each candidate of the condition's variable satisfies it."""
        rows = self.rows(condition.variable)
        bits = self.bits[rows]
        parents = self.bit_set(condition.parents)
        if condition.kind == "all":
            fits = ((bits & parents) == parents).all(axis=1)
        elif condition.kind == "any":
            fits = ((bits & parents) != 0).any(axis=1)
        elif condition.kind == "same":
            fits = (bits == parents).all(axis=1)
        else:
            fits = ~self.holds(condition.opposite)
        return np.asarray(fits)

    def row(self, cases: Sequence[Condition | ForbiddenAdjacency]) -> Row:
        """Return the inequality that one case holds at least."""
        weights = np.zeros(self.problem.n_candidates)
        lower = 1.0
        for case in cases:
            if isinstance(case, Condition):
                weights[self.rows(case.variable)] += self.holds(case)
                continue
            lower -= 1.0  # no arc, less the arcs in both directions
            for parent, child in ((case.a, case.b), (case.b, case.a)):
                arc = Condition(child, "all", frozenset({parent}))
                weights[self.rows(child)] -= self.holds(arc)
        used = np.flatnonzero(weights)
        return Row(used, weights[used], lower)

    def bit_set(self, members: frozenset[int]) -> NDArray[np.uint64]:
        """Return a set of variables as a bit set, shape (words,)."""
        words = np.zeros(self.bits.shape[1], np.uint64)
        for v in members:
            words[v // WORD] |= np.uint64(1) << np.uint64(v % WORD)
        return words

    def acyclic_changes(self, parents: Parents) -> NDArray[np.bool_]:
        """Return whether each candidate, as its variable's, closes no cycle in a network."""
        descendants = np.zeros((len(parents), self.bits.shape[1]), np.uint64)
        offspring = children(parents)
        # each variable's descendants and itself, children before their parents
        for v in reversed(topological_order(parents)):
            descendants[v] = self.bit_set(frozenset({v}))
            for c in offspring[v]:
                descendants[v] |= descendants[c]
        closes = (self.bits & descendants[self.problem.child]).any(axis=1)
        return np.logical_not(closes)


def neighbours(
    table: CandidateTable, parents: Parents, floor: float, limit: int
) -> Iterator[tuple[Parents, float]]:
    """Yield neighbours of a network that score more than ``floor``, the best first.

    Parameters
    ----------
    table
        The candidates.
    parents
        The network; its parent sets are candidates.
    floor
        Score to exceed.
    limit
        How many at most.
    """
    problem = table.problem
    scores = problem.scores
    bits = table.bits
    current = problem.selection(parents)[problem.child]
    # a candidate in place of the current one, where that is another and closes no cycle
    reached = problem.total(parents) + (scores - scores[current])
    differs = (bits != bits[current]).any(axis=1)
    rows = np.flatnonzero(differs & (reached > floor) & table.acyclic_changes(parents))
    for row in rows[np.argsort(-reached[rows], kind="stable")[:limit]].tolist():
        v = int(problem.child[row])
        changed = problem.parent_set(row)
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
    problem = table.problem
    current = problem.selection(parents)
    is_acyclic = table.acyclic_changes(parents)
    changes: list[tuple[float, int, int]] = []
    for condition in clause:
        v = condition.variable
        rows = table.rows(v)
        scores = problem.scores[rows]
        fits = table.holds(condition) & is_acyclic[rows]
        # only subsets of the current parents, to end a circle of steps
        smaller = fits & ~(table.bits[rows] & ~table.bits[current[v]]).any(axis=1)
        fits = smaller if shrink and smaller.any() else fits
        if fits.any():
            row = int(np.argmax(np.where(fits, scores, -np.inf)))
            loss = float(problem.scores[current[v]] - scores[row])
            changes.append((loss, v, rows.start + row))
    if not changes:
        return None
    _, v, row = min(changes)
    return v, problem.parent_set(row)


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
    implied = Precedence(problem).implied_arcs()
    if implied is None:
        return None
    problem = replace(problem, forbidden=problem.forbidden | implied)
    return problem if problem.is_feasible else None


def simple_network(problem: Problem) -> Parents | None:
    """Return a network that satisfies all constraints, if one with arcs for ancestors is found."""
    # required ancestors become parents
    overall = problem.overall_constraints
    direct = {
        (c.ancestor, c.descendant) for c in overall if isinstance(c, RequiredAncestor)
    }
    adjacent = [(c.a, c.b) for c in overall if isinstance(c, RequiredAdjacency)]
    implied = with_implied_arcs(replace(problem, required=problem.required | direct))
    if implied is None:
        return None
    # required adjacencies become arcs in a direction that is left
    directed = set()
    for a, b in adjacent:
        directed.add((b, a) if (a, b) in implied.forbidden else (a, b))
    implied = replace(implied, required=implied.required | directed)
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
    # candidates with all parents earlier in the order
    owner = owners(problem.member_first)
    late = position[problem.members] > position[child[owner]]
    rows = problem.allowed & (
        np.bincount(owner[late], minlength=problem.n_candidates) == 0
    )
    # of these the smallest or largest of each variable
    rank = np.lexsort((preferred * sizes, child))
    rank = rank[rows[rank]]
    best = rank[np.searchsorted(child[rank], np.arange(problem.n_variables))]
    return problem.parent_sets(best)


class Precedence:
    """Relations that the constraints force, or rule out, between the variables they name.

    Attributes
    ----------
    forced
        Arcs, and pairs of an ancestor and its descendant, of every satisfying network.
    separate
        Pairs of which the first is no ancestor of the second.
    marginal
        Pairs that are independent given nothing.
    adjacent
        Pairs with an arc in either direction.
    forbidden
        Arcs that single constraints rule out.
    variables, place
        Variables in any of these pairs, and the place of each in the relations.
    """

    def __init__(self, problem: Problem) -> None:
        overall = problem.overall_constraints
        self.forced = set(problem.required)
        self.separate: list[Arc] = []
        self.marginal: list[Arc] = []
        self.adjacent: list[Arc] = []
        for c in overall:
            if isinstance(c, RequiredAncestor):
                self.forced.add((c.ancestor, c.descendant))
            elif isinstance(c, ForbiddenAncestor):
                self.separate.append((c.ancestor, c.descendant))
            elif isinstance(c, RequiredAdjacency):
                self.adjacent.append((c.a, c.b))
            elif isinstance(c, Independence) and not c.given:
                self.marginal += product(c.left, c.right)
        self.separate += self.marginal + [(b, a) for a, b in self.marginal]
        self.forbidden = ruled_out_arcs(problem.forbidden, problem.constraints)
        pairs = [*self.forced, *self.separate, *self.adjacent]
        self.variables = sorted({v for pair in pairs for v in pair})
        self.place = {v: k for k, v in enumerate(self.variables)}

    def implied_arcs(self) -> frozenset[Arc] | None:
        """Return the arcs against what is forced, or ``None`` when that contradicts itself.

        A required adjacency with one direction left is forced, so that the closure grows.
        """
        while True:
            before = self._closure()
            # forced relations, and the arcs against them
            against = self._against(before)
            if self._contradicts(before, against):
                return None
            variables = self.variables
            implied = frozenset(
                (variables[u], variables[v]) for u, v in np.argwhere(against).tolist()
            )
            # adjacencies with one direction left become arcs
            ruled_out = self.forbidden | implied
            is_out = [
                (arc in ruled_out, arc[::-1] in ruled_out) for arc in self.adjacent
            ]
            if (True, True) in is_out:
                return None
            directed = {
                *(arc for arc in self.adjacent if arc[::-1] in ruled_out),
                *(arc[::-1] for arc in self.adjacent if arc in ruled_out),
            }
            if directed <= self.forced:
                return implied
            self.forced |= directed

    def _closure(self) -> Relation:
        """Return who is a forced ancestor of whom: the transitive closure (Warshall)."""
        before = np.zeros((len(self.variables), len(self.variables)), np.bool_)
        for a, b in self._places(self.forced):
            before[a, b] = True
        for k in range(len(before)):
            before |= before[:, k, None] & before[k]
        return before

    def _against(self, before: Relation) -> Relation:
        """Return the arcs [parent, child] that close a cycle or make a forbidden ancestor one."""
        against = before.T.copy()
        itself = before | np.eye(len(before), dtype=np.bool_)
        for x, y in self._places(self.separate):
            against |= itself[x][:, None] & itself[:, y]
        return against

    def _contradicts(self, before: Relation, against: Relation) -> bool:
        """Return whether the forced relations have a cycle or hold what is ruled out."""
        itself = before | np.eye(len(before), dtype=np.bool_)
        common = [
            (itself[:, a] & itself[:, b]).any() for a, b in self._places(self.marginal)
        ]
        return bool(before.diagonal().any() or (against & before).any() or any(common))

    def _places(self, pairs: Iterable[Arc]) -> list[Arc]:
        """Return pairs of variables by their places in the relations."""
        return [(self.place[a], self.place[b]) for a, b in pairs]
