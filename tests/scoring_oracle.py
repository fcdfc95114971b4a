"""Small data that are hard to score, and the plain twins of enumerating and pruning."""

import itertools

import numpy as np

from exactlearn.data.dataset import Dataset
from exactlearn.scoring.scores import score_family


def make(codes, cardinalities, weights=None):
    """Return a table of codes, its variables and states numbered."""
    names = tuple(f"v{i}" for i in range(len(cardinalities)))
    states = tuple(tuple(f"s{k}" for k in range(r)) for r in cardinalities)
    return Dataset(np.asarray(codes), names, states, weights)


def dependent_data(seed, n=None, weighted=None):
    """Skewed columns, some nearly copies of others, some states unseen, some columns constant."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7)) if n is None else n
    rows = int(rng.integers(1, 80))
    r = rng.integers(1, 6, n)
    codes = np.minimum(rng.integers(0, r, (rows, n)), rng.integers(0, r, (rows, n)))
    for i in range(1, n):
        copied = rng.random(rows) < rng.choice([0, 0.8, 1])
        codes[copied, i] = codes[copied, i - 1] % r[i]
    drawn = {
        "whole": rng.integers(0, 4, rows).astype(float),
        "real": 3 * rng.random(rows),
    }
    weights = drawn.get(weighted)
    if weights is not None:
        weights[0] += 1
    return make(codes, r, weights)


def tables(problem):
    """Return the candidates of each variable as a mapping of parent set to score."""
    return [dict(problem.candidates(v)) for v in range(problem.n_variables)]


def enumerated(data, score, k, required=(), forbidden=()):
    """Score every allowed parent set by its own count of the data."""
    found = []
    for child in range(data.n_variables):
        others = [
            p
            for p in range(data.n_variables)
            if p != child and (p, child) not in forbidden
        ]
        needed = {p for p, c in required if c == child}
        sets = (s for m in range(k + 1) for s in itertools.combinations(others, m))
        found.append(
            {s: score_family(data, child, s, score) for s in sets if needed <= set(s)}
        )
    return found


def undominated(table):
    """Keep the sets that score more than each of their proper subsets in the table."""
    return {
        s: score
        for s, score in table.items()
        if not any(set(other) < set(s) and table[other] >= score for other in table)
    }


def random_arcs(seed, n):
    """Return a few arcs of two kinds that do not contradict each other."""
    arcs = [(a, b) for a in range(n) for b in range(n) if a != b]
    order = np.random.default_rng(seed).permutation(len(arcs))
    chosen = [arcs[i] for i in order]
    cut = seed % 3
    return chosen[:cut], chosen[cut : cut + seed // 3 % 3]
