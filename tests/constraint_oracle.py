"""Oracles of constraints on tiny problems: every network, and each constraint by its definition."""

from itertools import chain, combinations, product
from math import inf

import numpy as np

from exactlearn.solvers import Problem
from exactlearn.solvers.constraints import (
    Constraint,
    ForbiddenAdjacency,
    ForbiddenAncestor,
    Independence,
    MaxParents,
    RequiredAdjacency,
    RequiredAncestor,
    Tiers,
)
from tests.brute_force import is_acyclic, respects

Parents = tuple[tuple[int, ...], ...]


def networks(problem: Problem) -> list[tuple[float, Parents]]:
    """Return all networks that the candidates and constraints allow, the best first."""
    best: dict[Parents, float] = {}
    for chosen in product(
        *(list(problem.candidates(v)) for v in range(problem.n_variables))
    ):
        parents = tuple(family for family, _ in chosen)
        score = sum(s for _, s in chosen)
        if (
            is_acyclic(parents)
            and respects(problem, parents)
            and all(holds(c, parents) for c in problem.constraints)
        ):
            best[parents] = max(score, best.get(parents, -inf))
    return sorted(
        ((s, p) for p, s in best.items()), key=lambda found: (-found[0], found[1])
    )


def holds(constraint: Constraint, parents: Parents) -> bool:
    """Tell whether a network satisfies a constraint, from its definition."""
    arcs = {(p, c) for c, family in enumerate(parents) for p in family}
    match constraint:
        case RequiredAdjacency(a, b):
            return (a, b) in arcs or (b, a) in arcs
        case ForbiddenAdjacency(a, b):
            return (a, b) not in arcs and (b, a) not in arcs
        case Tiers(groups):
            tier = {v: k for k, group in enumerate(groups) for v in group}
            return all(tier[p] <= tier[c] for p, c in arcs if p in tier and c in tier)
        case MaxParents(v, most):
            return len(parents[v]) <= most
        case RequiredAncestor(a, b):
            return reaches(parents)[a, b]
        case ForbiddenAncestor(a, b):
            return not reaches(parents)[a, b]
        case Independence(left, right, given):
            return separated(parents, left, right, given)
    raise AssertionError(constraint)


def reaches(parents: Parents) -> np.ndarray:
    """Return which variables have a directed path of at least one arc to which."""
    n = len(parents)
    arcs = np.zeros((n, n), np.bool_)
    for child, family in enumerate(parents):
        arcs[list(family), child] = True
    reached = arcs.copy()
    for _ in range(n):
        reached |= reached @ arcs
    return reached


def separated(
    parents: Parents, left: frozenset[int], right: frozenset[int], given: frozenset[int]
) -> bool:
    """Tell d-separation by moralising the graph of the ancestors (Lauritzen et al. 1990)."""
    reached = reaches(parents)
    asked = [*left, *right, *given]
    kept = [v for v in range(len(parents)) if v in asked or reached[v, asked].any()]
    linked = {
        frozenset(pair)
        for v in kept
        for pair in combinations((v, *parents[v]), 2)
        if v in kept
    }
    found, waiting = set(left), list(left)
    while waiting:
        v = waiting.pop()
        for u in kept:
            if frozenset({u, v}) in linked and u not in found and u not in given:
                found.add(u)
                waiting.append(u)
    return not found & right


def random_constraint(rng: np.random.Generator, n: int, kind: int) -> Constraint:
    """Draw a constraint of one of seven kinds over n variables."""
    a, b, *others = (int(v) for v in rng.permutation(n))
    match kind % 7:
        case 0:
            return RequiredAdjacency(a, b)
        case 1:
            return ForbiddenAdjacency(a, b)
        case 2:
            groups = np.array_split(
                rng.permutation(n)[: int(rng.integers(2, n + 1))], 2
            )
            return Tiers(tuple(tuple(int(v) for v in group) for group in groups))
        case 3:
            return MaxParents(a, int(rng.integers(0, 2)))
        case 4:
            return RequiredAncestor(a, b)
        case 5:
            return ForbiddenAncestor(a, b)
    cut = int(rng.integers(len(others) + 1))
    return Independence(frozenset({a}), frozenset({b}), frozenset(others[:cut]))


def subsets(items: list) -> chain:
    return chain.from_iterable(combinations(items, k) for k in range(len(items) + 1))


def condition_holds(condition, family) -> bool:
    """Return whether a parent set satisfies a condition."""
    parents, members = condition.parents, frozenset(family)
    return {
        "all": parents <= members,
        "not all": not parents <= members,
        "any": bool(parents & members),
        "none": not parents & members,
        "same": parents == members,
        "other": parents != members,
    }[condition.kind]
