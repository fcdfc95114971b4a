"""Blocked Gibbs sampling of DAGs against enumeration, and against exact sums."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from exactlearn._runtime.control import SearchControl
from exactlearn.errors import OptionError
from exactlearn.solvers import Problem, solve
from exactlearn.solvers.gibbs import blocked_gibbs, sample_networks
from exactlearn.solvers.posterior import posterior_of_selections
from tests.solvers.test_posterior import enumerated


def random_problem(n, spread, seed, required=()):
    rng = np.random.default_rng(seed)
    tables = []
    for child in range(n):
        others = [v for v in range(n) if v != child]
        sets = [s for size in range(3) for s in combinations(others, size)]
        tables.append({s: spread * rng.normal() for s in sets})
    names = [f"v{i}" for i in range(n)]
    return Problem.from_candidates(names, tables, required=required)


@pytest.mark.parametrize("spread", [2.0, 300.0])
def test_each_move_is_in_detailed_balance(spread):
    problem = random_problem(3, spread, seed=1)
    # nothing negligible is left out, to be compared with everything
    problem = Problem.from_candidates(
        problem.names,
        [
            {s: max(score, problem.scores.min()) for s, score in problem.candidates(v)}
            for v in range(3)
        ],
    )
    sampler = blocked_gibbs(problem, block_size=2)
    dags, _ = enumerated(sampler.problem)
    selections = np.array([selection for selection, *_ in dags])
    stationary = np.array([float(p) for *_, p in dags])
    scores = sampler.problem.relative.scores
    for order in ([0, 1, 2], [1, 2, 0], [2, 0, 1]):
        block = order[:2]
        outside = order[2]
        transition = np.zeros((len(dags), len(dags)))
        for row, selection in enumerate(selections):
            state = sampler.init(selection, np.random.default_rng(0))
            draw = sampler.resample(state, np.array(order))
            reachable = selections[:, outside] == selection[outside]
            weights = np.exp(scores[selections[:, block]].sum(axis=1) - draw.log_sum)
            transition[row] = np.where(reachable, weights, 0.0)
            # the probabilities of all candidates of the block, given the others
            expected = np.zeros(sampler.problem.n_candidates)
            for target, probability in zip(selections, transition[row], strict=True):
                expected[target[block]] += probability
            np.testing.assert_allclose(state.probabilities, expected, atol=1e-9)
        np.testing.assert_allclose(transition.sum(axis=1), 1.0, atol=1e-9)
        flow = stationary[:, None] * transition
        np.testing.assert_allclose(flow, flow.T, atol=1e-9)


def test_the_chain_visits_dags_by_their_probability():
    problem = random_problem(3, 2.0, seed=2, required=[(0, 1)])
    sampler = blocked_gibbs(problem, block_size=2)
    start = solve(problem).parents
    state = sampler.init(sampler.problem.selection(start), np.random.default_rng(3))
    control = SearchControl()
    while len(state.draws) < 1500:
        sampler.sweep(state, control)
    drawn = [tuple(draw.selection.tolist()) for draw in state.draws]
    dags, _ = enumerated(sampler.problem)
    assert set(drawn) <= {selection for selection, *_ in dags}
    for selection, _, probability in dags:
        share = drawn.count(selection) / len(drawn)
        assert share == pytest.approx(
            float(probability), abs=5 * np.sqrt(float(probability) / 700) + 2e-3
        )


@pytest.mark.parametrize("seed", [0, 1])
def test_estimates_are_within_their_errors_of_exact_sums(seed):
    problem = random_problem(7, 2.0, seed)
    exact = posterior_of_selections(problem)
    sampled = sample_networks(problem, solve(problem).parents, seed=seed, block_size=4)
    assert sampled.status == "sampled"
    assert sampled.error <= 0.01
    # within five standard errors, which are known from few batches
    estimate = sampled.estimate
    for truth, mean, error in zip(
        (exact.arcs, exact.ancestors), estimate.probability, estimate.error, strict=True
    ):
        assert (np.abs(mean - truth) <= 5 * error + 1e-3).all()
    for v in range(7):
        by_parents = sampled.parent_sets(v)
        assert sum(by_parents.values()) == pytest.approx(1.0)


def test_the_probability_of_a_network():
    problem = random_problem(7, 4.0, 2)
    exact = posterior_of_selections(problem)
    best = solve(problem)
    sampled = sample_networks(problem, best.parents, block_size=4)
    expected = np.exp(best.score - exact.log_sum)
    assert expected > 0.1
    assert sampled.probability(best.parents) == pytest.approx(expected, abs=0.04)
    # three parents are none of its candidates
    assert sampled.probability([(1, 2, 3), *[()] * 6]) == 0.0


def test_networks_far_from_all_draws_have_probability_zero():
    problem = random_problem(7, 4.0, 2)
    sampled = sample_networks(problem, solve(problem).parents, block_size=4)
    # the worst parents among the variables before
    worst = []
    for v in range(7):
        before = [
            (score, family)
            for family, score in problem.candidates(v)
            if all(parent < v for parent in family)
        ]
        worst.append(min(before)[1])
    log_sum = np.full_like(sampled.draws.log_sum, -1e4)
    far = replace(sampled, draws=sampled.draws._replace(log_sum=log_sum))
    assert far.probability(worst) == 0.0


def ring(n, log_weight):
    """Return a problem in which each variable may have the next one as its parent."""
    tables = [{(): 0.0, ((v + 1) % n,): log_weight} for v in range(n)]
    return Problem.from_candidates([f"v{i}" for i in range(n)], tables)


def test_a_ring_of_many_variables():
    # all sets of arcs but the whole ring: Z = (1 + w)^n - w^n
    n = 24
    weight = 30.0
    sampled = sample_networks(ring(n, np.log(weight)), [()] * n, seed=1)
    total = (1 + weight) ** n - weight**n
    arc = (weight * (1 + weight) ** (n - 1) - weight**n) / total
    probabilities = np.array([sampled.arcs[(v + 1) % n, v] for v in range(n)])
    errors = np.array([sampled.arc_errors[(v + 1) % n, v] for v in range(n)])
    assert (np.abs(probabilities - arc) <= 5 * errors + 2e-3).all()
    assert sampled.error <= 0.01


def test_equal_seeds_give_equal_estimates_on_any_threads():
    problem = random_problem(6, 2.0, 5)
    runs = [
        sample_networks(problem, [()] * 6, seed=7, threads=threads, block_size=3)
        for threads in (1, 2)
    ]
    np.testing.assert_array_equal(runs[0].arcs, runs[1].arcs)
    rngs = [np.random.default_rng(1) for _ in runs]
    assert runs[0].draw(5, rngs[0]) == runs[1].draw(5, rngs[1])


def test_chains_need_a_parent_set_in_all_others():
    tables = [{(1,): 0.0, (2,): 0.0}, {(): 0.0, (0,): 0.0}, {(): 0.0}]
    problem = Problem.from_candidates("abc", tables)
    with pytest.raises(OptionError, match="variable 'a': none of its parent sets"):
        sample_networks(problem, [(1,), (), ()])


def test_without_time_there_is_no_estimate():
    problem = random_problem(5, 2.0, 5)
    assert sample_networks(problem, [()] * 5, control=SearchControl(0.0)) is None


def test_stopped_chains_keep_what_they_sampled():
    problem = random_problem(6, 2.0, 5)
    control = SearchControl()
    sampled = sample_networks(
        problem, [()] * 6, control=control, on_progress=lambda done: control.stop()
    )
    assert sampled.status == "interrupted"
    assert np.isfinite(sampled.arc_errors).all()
