"""Naive Bayes models by their full joint distribution."""

from itertools import product

import numpy as np

from exactlearn.bayesnet.naive_bayes import NaiveBayes


def random_naive_bayes(rng, n: int, components: int, zeros: float = 0.1) -> NaiveBayes:
    """Return a model of variables with two or three states, some of which are impossible."""
    states = tuple(tuple("abc"[: rng.integers(2, 4)]) for _ in range(n))
    parts = []
    for own in states:
        part = rng.dirichlet(np.ones(len(own)), components).T
        part[0, rng.random(components) < zeros] = 0.0
        parts.append(part / part.sum(axis=0))
    prior = rng.dirichlet(np.ones(components))
    return NaiveBayes(tuple(f"X{v}" for v in range(n)), states, prior, np.vstack(parts))


def full_joint(model: NaiveBayes) -> np.ndarray:
    """Return the probability of every row, one axis a variable: sums of products (3.55)."""
    table = np.zeros(model.cardinalities)
    for row in product(*(range(len(s)) for s in model.states)):
        for c in range(model.n_components):
            value, start = model.prior[c], 0
            for v, state in enumerate(row):
                value *= model.parameters[start + state, c]
                start += len(model.states[v])
            table[row] += value
    return table
