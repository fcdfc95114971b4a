"""Random small networks, and their joint distribution by brute force."""

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.network import BayesianNetwork

FLIP = np.array([[0.9, 0.1], [0.2, 0.8]])
CHAIN = BayesianNetwork(
    ("a", "b", "c"),
    (("n", "y"), ("n", "y"), ("l", "m", "h")),
    ((), (0,), (1,)),
    (np.array([0.3, 0.7]), FLIP, np.array([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]])),
)


def random_network(
    rng: np.random.Generator, n: int, *, most_states: int = 3, most_parents: int = 3
) -> BayesianNetwork:
    """Return a network over a random order; some probabilities are zero."""
    order = rng.permutation(n)
    sizes = rng.integers(2, most_states + 1, n)
    parents: list[tuple[int, ...]] = [()] * n
    for k, v in enumerate(order):
        count = int(rng.integers(0, min(k, most_parents) + 1))
        parents[v] = tuple(int(p) for p in rng.permutation(order[:k])[:count])
    tables = []
    for v in range(n):
        shape = [sizes[p] for p in parents[v]] + [sizes[v]]
        table = rng.exponential(size=shape) * (rng.random(shape) < 0.9) + 1e-12
        tables.append(table / table.sum(axis=-1, keepdims=True))
    return BayesianNetwork(
        tuple(f"x{v}" for v in range(n)),
        tuple(tuple(f"s{k}" for k in range(size)) for size in sizes),
        tuple(parents),
        tuple(tables),
    )


def joint(network: BayesianNetwork) -> NDArray[np.float64]:
    """Return the full joint distribution, one axis per variable, by multiplying entry by entry."""
    full = np.ones(tuple(network.cardinalities))
    for where in np.ndindex(full.shape):
        for v, (family, table) in enumerate(
            zip(network.parents, network.tables, strict=True)
        ):
            full[where] *= table[(*(where[p] for p in family), where[v])]
    return full


def assert_same(first: BayesianNetwork, second: BayesianNetwork) -> None:
    """Compare networks bit for bit."""
    assert (first.names, first.states) == (second.names, second.states)
    assert first.parents == second.parents
    for a, b in zip(first.tables, second.tables, strict=True):
        assert a.shape == b.shape
        assert a.tobytes() == b.tobytes()
