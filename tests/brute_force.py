"""Oracles for tiny problems: every selection, every acyclic one."""

from itertools import product
from math import inf

from exactlearn.solvers import Problem


def is_acyclic(parents: tuple[tuple[int, ...], ...]) -> bool:
    left = set(range(len(parents)))
    while left:
        sources = {v for v in left if not left & set(parents[v])}
        if not sources:
            return False
        left -= sources
    return True


def respects(problem: Problem, parents: tuple[tuple[int, ...], ...]) -> bool:
    has = {(p, child) for child, ps in enumerate(parents) for p in ps}
    return problem.required <= has and not problem.forbidden & has


def best_selection(problem: Problem) -> float:
    """Return the best total score over all selections of candidates; -inf when there is none."""
    best = -inf
    ranges = [
        range(problem.first[i], problem.first[i + 1])
        for i in range(problem.n_variables)
    ]
    for chosen in product(*ranges):
        score = sum(float(problem.scores[c]) for c in chosen)
        if score <= best:
            continue
        parents = tuple(problem.parent_set(c) for c in chosen)
        if respects(problem, parents) and is_acyclic(parents):
            best = score
    return best
