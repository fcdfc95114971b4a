"""Arcs that constraints on the whole network rule out, found without a search.

Required arcs and required ancestors say who must come before whom; their transitive closure must
not have a cycle, and rules out every arc against it. A required adjacency with one direction left
is a required arc. With x a forced ancestor of u (or u itself), and v one of y, the arc u -> v would
make x an ancestor of y, which may be forbidden. Variables that are to be independent given nothing
are not ancestors of each other, and have no forced ancestor in common: from there an active trail
would lead to both. What is left must still order all variables. All of this is polynomial;
that nothing contradicts it does not prove that a network exists. Often a simple one does, with an
arc from each required ancestor to its descendant.
"""

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .candidate_table import Parents
from .constraints import (
    ForbiddenAncestor,
    Independence,
    RequiredAdjacency,
    RequiredAncestor,
)
from .problem import Arc, Problem

if TYPE_CHECKING:
    pass

Relation = NDArray[np.bool_]
"""Which variables are in relation to which, shape (k, k)."""


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
    sizes, child = np.diff(problem.member_first), problem.child
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
