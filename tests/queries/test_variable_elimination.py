"""The joint posterior of a few variables without a clique tree, beside the full joint."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exactlearn as el
from exactlearn.bayesnet.variable_elimination import (
    eliminate_to_joint,
    plan_elimination,
)
from tests.network_oracle import joint, random_network


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(0, 3))
@settings(max_examples=60)
def test_the_joint_of_targets_is_that_of_the_full_joint(seed, n, n_targets):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n)
    row = np.where(rng.random(n) < 0.4, network.sample(1, rng).codes[0], -1).astype(
        np.int16
    )
    unobserved = np.flatnonzero(row < 0)
    targets = rng.permutation(unobserved)[:n_targets].tolist()
    plan = plan_elimination(network, row, targets)
    posterior, log_probability = eliminate_to_joint(network, row, targets, plan)

    consistent = joint(network)[
        tuple(slice(None) if c < 0 else slice(c, c + 1) for c in row)
    ]
    summed = consistent.sum(axis=tuple(v for v in range(n) if v not in targets))
    expected = summed.transpose([sorted(targets).index(v) for v in targets])
    assert log_probability == pytest.approx(np.log(consistent.sum()), abs=1e-12)
    assert posterior == pytest.approx(expected / consistent.sum(), abs=1e-12)


def grid(n, rng):
    """Return a network of binary variables on a grid, each with parents above and to the left."""
    names, parents, tables = [], [], []
    for i in range(n):
        for j in range(n):
            above = [(i - 1) * n + j] * (i > 0)
            left = [i * n + j - 1] * (j > 0)
            names.append(f"x{i}_{j}")
            parents.append((*above, *left))
            tables.append(rng.dirichlet(np.ones(2), size=[2] * len(parents[-1])))
    states = (("0", "1"),) * len(names)
    return el.BayesianNetwork(tuple(names), states, tuple(parents), tuple(tables))


def forward(network, n, observed):
    """Return the unnormalised probability of the last variable, row by row of a grid.

    The table has an axis for each column: the state of the lowest variable placed there.
    """
    table = np.ones([1] * n)
    for i in range(n):
        for j in range(n):
            conditional = network.tables[i * n + j]
            shape = [1] * (n + 1)
            if i > 0:
                shape[j] = 2
            if j > 0:
                shape[j - 1] = 2
            if i > 0 and j > 0:
                conditional = conditional.swapaxes(0, 1)  # axes: left, above, own
            conditional = conditional.reshape([*shape[:n], 2])
            table = (table[..., None] * conditional).sum(axis=j, keepdims=True)
            table = np.moveaxis(table, -1, j).squeeze(j + 1)
            if i * n + j in observed:
                seen = np.arange(2) == observed[i * n + j]
                table = table * seen.reshape([2 if k == j else 1 for k in range(n)])
    return table.sum(axis=tuple(range(n - 1))).ravel()


def test_a_marginal_of_a_wide_grid_needs_no_clique_tree():
    """A grid of 16 by 16 took 5.6 GB and half a minute, compiled for one marginal."""
    n = 16
    network = grid(n, np.random.default_rng(0))
    expected = forward(network, n, {0: 1})
    answer = el.query(network, {"x0_0": "1"}, "x15_15")
    assert answer.probability_of_evidence == pytest.approx(expected.sum())
    assert answer.posterior["x15_15"]["1"] == pytest.approx(
        expected[1] / expected.sum()
    )
    joint_of_two = el.queries.joint_posterior(
        network, {"x0_0": "1"}, ["x15_15", "x0_0"]
    )
    assert joint_of_two[:, 1] == pytest.approx(expected / expected.sum())
    assert joint_of_two[:, 0].tolist() == [0, 0]


def test_impossible_evidence_on_a_wide_grid_is_refused():
    network = grid(16, np.random.default_rng(0))
    first = np.array([1.0, 0.0])
    network = el.BayesianNetwork(
        network.names, network.states, network.parents, (first, *network.tables[1:])
    )
    for ask in (el.query, el.queries.joint_posterior):
        with pytest.raises(el.ExactlearnError, match="x0_0=1 has probability zero"):
            ask(network, {"x0_0": "1"}, "x15_15")
