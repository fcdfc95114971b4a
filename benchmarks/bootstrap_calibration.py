"""Calibration of bootstrap strengths: how many arcs of a strength the true CPDAG has.

Tables are drawn from a network, and each is bootstrapped. For each arc, in each direction, the
strength (reversible arcs count by half) is compared with its truth: 1 for a compelled arc of the
true CPDAG, a half for each direction of an undirected edge, 0 for others; for each pair, the
strength of the edge with the true skeleton.

Run: python -m benchmarks.bootstrap_calibration asia --rows 500 --tables 20 --replicates 100
"""

import argparse
from functools import partial
from time import process_time

import numpy as np

import exactlearn as el
from exactlearn.evaluation.learners import learn_exact

EDGES = (0.0, 0.05, 0.2, 0.5, 0.8, 0.9, 0.95, 1.0)
"""Ends of the bins of strengths; the last ones hold their right end."""


def measure(
    name: str, rows: int, tables: int, replicates: int, hide: str | None, ess: float | None
) -> None:
    """Print the calibration over some tables."""
    network = el.read_bif(name)
    own = el.cpdag(network.parents)
    true = np.zeros((2, network.n_variables, network.n_variables))
    for a, b in own.directed:
        true[0, a, b] = 1.0
    for a, b in own.undirected:
        true[0, a, b] = true[0, b, a] = 0.5
    true[1] = true[0] + true[0].T
    begun, counts = process_time(), np.zeros((2, len(EDGES) - 1, 3))
    right = np.zeros(3)
    for seed in range(tables):
        table = network.sample(rows, np.random.default_rng(seed))
        if hide is not None:
            table = el.hide(table, hide, np.random.default_rng((seed, 1)))
        learner = "exact" if ess is None else partial(learn_exact, ess=ess)
        found = el.bootstrap(table, replicates, learner=learner, seed=seed)
        pairs = np.triu_indices(network.n_variables, 1)
        off = ~np.eye(network.n_variables, dtype=bool)
        for k, values in enumerate((found.strengths[off], found.edges[pairs])):
            truth = true[k][off] if k == 0 else true[k][pairs]
            place = np.clip(np.searchsorted(EDGES, values, side="right") - 1, 0, len(EDGES) - 2)
            np.add.at(counts[k], place, np.column_stack([np.ones(len(values)), values, truth]))
        chosen = found.edges[pairs] > found.threshold
        right += chosen.sum(), true[1][pairs][chosen].sum(), true[1][pairs].sum()
    print(f"{name}, {rows} rows, {tables} tables, {replicates} samples, hidden {hide}, ess {ess}")
    for title, own_counts in zip(("arcs", "edges"), counts, strict=True):
        print(f"  {title}: strength from, to, number, mean strength, share in the true CPDAG")
        for low, high, (n, strength, share) in zip(EDGES, EDGES[1:], own_counts, strict=False):
            if n:
                print(f"  {low:.2f} {high:.2f} {n:7.0f} {strength / n:.3f} {share / n:.3f}")
    print(f"  significant edges {right[0]:.0f}, of them true {right[1]:.0f} of {right[2]:.0f}")
    print(f"  CPU seconds {process_time() - begun:.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--hide", default=None)
    parser.add_argument("--ess", type=float, default=None)
    measure(**vars(parser.parse_args()))
