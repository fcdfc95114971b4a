"""Sums over all DAGs, and samples from them, against enumeration in rationals."""

from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import comb, exp, log
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.errors import OptionError, TooLargeError
from exactlearn.solvers import Problem, solve
from exactlearn.solvers.constraints import MaxParents, RequiredAdjacency, Tiers
from exactlearn.solvers.dag_samples import sample_selections
from exactlearn.solvers.posterior import posterior_of_selections
from exactlearn.solvers.sums import (
    ordered_partitions,
    split_weights,
    sum_over_dags,
)
from tests.brute_force import is_acyclic, respects


@st.composite
def problems(draw, most=4, spreads=(0.0, 3.0, 50.0, 2000.0)):
    """Problems with some parent sets left out, whose weights differ by up to exp(2000)."""
    n = draw(st.integers(1, most))
    spread = draw(st.sampled_from(spreads))
    random = draw(st.randoms(use_true_random=False))
    tables = []
    for child in range(n):
        others = [v for v in range(n) if v != child]
        sets = [s for k in range(n) for s in combinations(others, k)]
        kept = [s for s in sets if not s or random.random() < 0.7]
        tables.append({s: -100.0 * child - spread * random.random() for s in kept})
    arcs = [(a, b) for a in range(n) for b in range(n) if a != b]
    forbidden = [arc for arc in arcs if random.random() < 0.1]
    return Problem.from_candidates(
        [f"v{i}" for i in range(n)], tables, forbidden=forbidden
    )


def enumerated(problem):
    """Return the selections that are DAGs, with the exact rational probability of each."""
    ranges = [
        range(problem.first[v], problem.first[v + 1])
        for v in range(problem.n_variables)
    ]
    dags = []
    for selection in product(*ranges):
        parents = tuple(problem.parent_set(c) for c in selection)
        if respects(problem, parents) and is_acyclic(parents):
            dags.append((selection, parents, sum(problem.scores[list(selection)])))
    largest = max(score for *_, score in dags)
    weights = [Fraction(exp(score - largest)) for *_, score in dags]
    total = sum(weights)
    probable = [
        (selection, parents, weight / total)
        for (selection, parents, _), weight in zip(dags, weights, strict=True)
    ]
    return probable, largest + log(total)


def ancestor_pairs(parents):
    """Return all pairs (ancestor, descendant)."""
    pairs = {(p, child) for child, family in enumerate(parents) for p in family}
    while True:
        longer = {(a, d) for a, b in pairs for c, d in pairs if b == c} | pairs
        if longer == pairs:
            return pairs
        pairs = longer


@settings(max_examples=50, deadline=None)
@given(problems())
def test_sums_are_those_of_the_enumeration(problem):
    posterior = posterior_of_selections(problem)
    dags, log_sum = enumerated(problem)
    n = problem.n_variables
    candidates = np.zeros(problem.n_candidates)
    arcs = np.zeros((n, n))
    ancestors = np.zeros((n, n))
    for selection, parents, probability in dags:
        candidates[list(selection)] += float(probability)
        for child, family in enumerate(parents):
            arcs[list(family), child] += float(probability)
        for pair in ancestor_pairs(parents):
            ancestors[pair] += float(probability)
    assert posterior.log_sum == pytest.approx(log_sum, abs=1e-9)
    assert posterior.error < 1e-9
    np.testing.assert_allclose(posterior.candidates, candidates, rtol=0, atol=1e-11)
    np.testing.assert_allclose(posterior.arcs, arcs, rtol=0, atol=1e-11)
    same_part = ~np.isnan(posterior.ancestors)
    np.testing.assert_allclose(
        posterior.ancestors[same_part], ancestors[same_part], rtol=0, atol=1e-11
    )


def everything(n, weight=lambda child, parents: 0.0):
    tables = [
        {
            s: weight(child, s)
            for k in range(n)
            for s in combinations([v for v in range(n) if v != child], k)
        }
        for child in range(n)
    ]
    return Problem.from_candidates([f"v{i}" for i in range(n)], tables)


def number_of_dags(n):
    """Robinson (1973), "Counting labeled acyclic digraphs"."""
    counts = [1]
    for m in range(1, n + 1):
        counts.append(
            sum(
                (-1) ** (k + 1) * comb(m, k) * 2 ** (k * (m - k)) * counts[m - k]
                for k in range(1, m + 1)
            )
        )
    return counts[n]


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_equal_weights_count_all_dags(n):
    posterior = posterior_of_selections(everything(n))
    assert posterior.log_sum == pytest.approx(log(number_of_dags(n)), abs=1e-12)


def test_a_proven_error_covers_what_cancels():
    # almost all weight on the empty graph, which is counted once for each ordered partition
    n = 12
    tables = [
        {(): 0.0, **{(v,): -34.0 for v in range(n) if v != child}} for child in range(n)
    ]
    posterior = posterior_of_selections(
        Problem.from_candidates([f"v{i}" for i in range(n)], tables)
    )
    # to the first order in exp(-34): each arc on its own
    assert posterior.error < 1e-11
    expected = exp(-34.0) * (1 - np.eye(n))
    np.testing.assert_allclose(
        posterior.arcs, expected, rtol=1e-6, atol=posterior.error
    )
    assert ordered_partitions(12) == 28091567595


def test_sums_hold_for_weights_in_rationals():
    # the alternating sums of the module, with weights that have no common exponent
    rng = np.random.default_rng(5)
    n = 6
    log_weights = rng.uniform(-900, 0, (n, 1 << (n - 1)))
    mantissa, exponent = split_weights(log_weights)
    from exactlearn.solvers.sums import sum_parent_sets

    child = np.repeat(np.arange(n), 1 << (n - 1))
    squeezed = np.tile(np.arange(1 << (n - 1)), n)
    low = (1 << child) - 1
    parents = (squeezed & low) | ((squeezed & ~low) << 1)
    sums = sum_parent_sets(n, child, parents, mantissa.ravel(), exponent.ravel())
    answer = sum_over_dags(sums, np.full(n, 1 << (n - 1)))
    weight = {
        (int(i), int(p)): Fraction(float(m)) * Fraction(2) ** int(e)
        for i, p, m, e in zip(
            child, parents, mantissa.ravel(), exponent.ravel(), strict=True
        )
    }
    inside = {
        (i, s): sum(
            weight[i, p] for p in range(1 << n) if not p >> i & 1 and not p & ~s
        )
        for i in range(n)
        for s in range(1 << n)
        if not s >> i & 1
    }
    inner = {0: Fraction(1)}
    for union in range(1, 1 << n):
        inner[union] = Fraction(0)
        last = union
        while last:
            size = bin(last).count("1")
            term = inner[union ^ last] * (-1) ** (size + 1)
            for i in range(n):
                if last >> i & 1:
                    term *= inside[i, union ^ last]
            inner[union] += term
            last = (last - 1) & union
    total = inner[(1 << n) - 1]
    scale = max(exponent.max(), 0)
    assert scale == 0
    logarithm = log(total.numerator) - log(total.denominator)
    assert answer.log_sum == pytest.approx(logarithm, abs=1e-11)


@cache
def all_dags(n):
    """All DAGs over n variables: the parents of each as bits, and the ancestors of each."""
    dags = np.zeros((1, n), np.int64)
    for child in range(n):
        # all parent sets of one more variable, and what is reached then
        sets = np.array([s for s in range(1 << n) if not s >> child & 1])
        dags = np.repeat(dags, len(sets), axis=0)
        dags[:, child] = np.tile(sets, len(dags) // len(sets))
        reached = dags.copy()
        for middle, v in product(range(n), repeat=2):  # Warshall's closure
            passes = reached[:, v] >> middle & 1
            reached[:, v] |= passes * reached[:, middle]
        acyclic = (reached >> np.arange(n) & 1 == 0).all(axis=1)
        dags = dags[acyclic]
    return dags, reached[acyclic]


@pytest.mark.parametrize("digits", [0, 2, 20, 200])
@pytest.mark.parametrize("n", [3, 5])
def test_sums_are_those_of_all_dags_with_whole_weights(n, digits):
    """Weights are whole numbers of up to so many digits, and sums of them exact."""
    random = Random(digits)
    parents, ancestors = all_dags(n)
    weights = np.zeros((n, 1 << n), object)
    tables = [{} for _ in range(n)]
    for child, bits in product(range(n), range(1 << n)):
        if not bits >> child & 1 and (not bits or random.random() < 0.8):
            weights[child, bits] = int(10 ** random.uniform(0, digits))
            members = tuple(v for v in range(n) if bits >> v & 1)
            tables[child][members] = log(weights[child, bits])
    weight = np.prod([weights[v, parents[:, v]] for v in range(n)], axis=0)
    total = int(weight.sum())

    def probability(holds):
        return float(Fraction(int(weight[holds].sum()), total))

    posterior = posterior_of_selections(
        Problem.from_candidates([f"v{i}" for i in range(n)], tables)
    )
    assert len(parents) == number_of_dags(n)
    assert posterior.log_sum == pytest.approx(log(total), rel=1e-14, abs=1e-12)
    # logarithms of weights are off by half a unit of some hundreds
    off = posterior.error + 1e-16 * n * log(10) * (digits + 1)
    for child in range(n):
        for c in np.flatnonzero(posterior.problem.child == child):
            bits = sum(1 << v for v in posterior.problem.parent_set(c))
            expected = probability(parents[:, child] == bits)
            assert abs(posterior.candidates[c] - expected) <= off
        for v in range(n):
            arc = probability(parents[:, child] >> v & 1 == 1)
            assert abs(posterior.arcs[v, child] - arc) <= off
            if v != child and not np.isnan(posterior.ancestors[v, child]):
                ancestor = probability(ancestors[:, child] >> v & 1 == 1)
                assert abs(posterior.ancestors[v, child] - ancestor) <= off


@settings(max_examples=30, deadline=None)
@given(problems(most=5, spreads=(4.0,)), st.randoms(use_true_random=False))
def test_permuted_variables_permute_the_answer(problem, random):
    n = problem.n_variables
    order = random.sample(range(n), n)
    tables = [{} for _ in range(n)]
    for child in range(n):
        for parents, score in problem.candidates(child):
            tables[order[child]][tuple(order[p] for p in parents)] = score + 7.0
    forbidden = [(order[a], order[b]) for a, b in problem.forbidden]
    permuted = Problem.from_candidates(problem.names, tables, forbidden=forbidden)
    first = posterior_of_selections(problem)
    second = posterior_of_selections(permuted)
    # a constant for each variable changes the sum only
    assert second.log_sum == pytest.approx(first.log_sum + 7.0 * n, abs=1e-9)
    np.testing.assert_allclose(
        second.arcs[np.ix_(order, order)], first.arcs, rtol=0, atol=1e-12
    )


@settings(max_examples=10, deadline=None)
@given(problems(most=5, spreads=(30.0,)))
def test_cold_weights_concentrate_on_the_optimum(problem):
    cold = Problem.from_candidates(
        problem.names,
        [
            {s: 1000.0 * score for s, score in problem.candidates(v)}
            for v in range(problem.n_variables)
        ],
        forbidden=problem.forbidden,
    )
    best = solve(cold)
    posterior = posterior_of_selections(cold)
    runner_up = sorted(
        (sum(problem.scores[list(s)]) for s, *_ in enumerated(problem)[0]), reverse=True
    )
    if len(runner_up) > 1 and runner_up[0] - runner_up[1] > 0.05:
        assert best.score == pytest.approx(posterior.log_sum, abs=1e-6)
        for child, parents in enumerate(best.parents):
            for c, members in enumerate(cold.candidates(child), cold.first[child]):
                mass = posterior.candidates[c]
                assert mass == pytest.approx(float(members[0] == parents), abs=1e-6)


def test_parts_are_summed_one_by_one():
    # forty variables in ten tiers of four: parts cannot form cycles together
    n = 40
    rng = np.random.default_rng(2)
    tables = [
        {(): 0.0, **{(int(p),): rng.normal() for p in range(n) if p != child}}
        for child in range(n)
    ]
    names = [f"v{i}" for i in range(n)]
    tiers = Tiers(tuple(tuple(range(k, k + 4)) for k in range(0, n, 4)))
    posterior = posterior_of_selections(
        Problem.from_candidates(names, tables, constraints=[tiers])
    )
    assert len(posterior.parts) == 10
    by_child = np.add.reduceat(posterior.candidates, posterior.problem.first[:-1])
    np.testing.assert_allclose(by_child, 1.0, rtol=0, atol=1e-12)
    # a first tier of four alone
    alone = [
        {s: x for s, x in table.items() if not s or s[0] < 4} for table in tables[:4]
    ]
    first = posterior_of_selections(Problem.from_candidates(names[:4], alone))
    np.testing.assert_allclose(posterior.arcs[:4, :4], first.arcs, rtol=0, atol=1e-12)


def test_constraints_of_single_candidates_are_zero_weights():
    problem = everything(4, lambda child, parents: 0.3 * child * len(parents))
    constrained = Problem.from_candidates(
        problem.names,
        [dict(problem.candidates(v)) for v in range(4)],
        required=[(0, 1)],
        constraints=[MaxParents(2, 1)],
    )
    dags, log_sum = enumerated(problem)
    kept = [
        (parents, p)
        for _, parents, p in dags
        if 0 in parents[1] and len(parents[2]) <= 1
    ]
    total = sum(p for _, p in kept)
    posterior = posterior_of_selections(constrained)
    assert posterior.log_sum == pytest.approx(log_sum + log(total), abs=1e-10)
    arc = sum(p for parents, p in kept if 3 in parents[2]) / total
    assert posterior.arcs[3, 2] == pytest.approx(float(arc), abs=1e-12)
    assert posterior.arcs[0, 1] == pytest.approx(1.0, abs=1e-12)


def test_other_constraints_and_large_parts_are_refused():
    problem = everything(3)
    with pytest.raises(OptionError, match="concerns the whole network"):
        posterior_of_selections(
            Problem.from_candidates(
                problem.names,
                [dict(problem.candidates(v)) for v in range(3)],
                constraints=[RequiredAdjacency(0, 1)],
            )
        )
    n = 21
    tables = [{(): 0.0, ((v + 1) % n,): 0.0} for v in range(n)]
    with pytest.raises(TooLargeError, match="limit is 20 variables"):
        posterior_of_selections(
            Problem.from_candidates([f"v{i}" for i in range(n)], tables)
        )


@pytest.mark.parametrize("seed", [0, 1])
def test_samples_follow_the_posterior(seed):
    rng = np.random.default_rng(seed)
    tables = [
        {s: 4.0 * rng.normal() for k in range(4) for s in combinations(others, k)}
        for others in ([v for v in range(4) if v != child] for child in range(4))
    ]
    problem = Problem.from_candidates("abcd", tables)
    posterior = posterior_of_selections(problem)
    n_samples = 4000
    drawn = sample_selections(posterior, n_samples, np.random.default_rng(seed))
    dags, _ = enumerated(problem)
    expected = {selection: float(p) for selection, _, p in dags}
    counts = {}
    for row in drawn.tolist():
        counts[tuple(row)] = counts.get(tuple(row), 0) + 1
    assert set(counts) <= set(expected)  # no cycles
    # every DAG that is likely, within five standard errors
    for selection, probability in expected.items():
        deviation = abs(counts.get(selection, 0) / n_samples - probability)
        assert deviation <= 5 * np.sqrt(probability / n_samples) + 2 / n_samples


def test_sums_are_those_of_another_program():
    aps = pytest.importorskip("sumu.aps").aps
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(2, 8))
        problem = everything(n, lambda child, parents: 5.0 * rng.normal())
        weights = np.full((n, 1 << (n - 1)), -np.inf)
        places = []
        for c in range(problem.n_candidates):
            v = int(problem.child[c])
            bits = sum(1 << (p if p < v else p - 1) for p in problem.parent_set(c))
            weights[v, bits] = problem.scores[c]
            places.append((v, bits))
        theirs = aps(weights, as_dict=False, normalize=True)
        ours = posterior_of_selections(problem).candidates
        expected = np.exp([theirs[place] for place in places])
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-9)


def test_fubini_numbers_count_ordered_partitions():
    for n in range(6):
        surjections = sum(
            sum((-1) ** (k - j) * comb(k, j) * j**n for j in range(k + 1))
            for k in range(n + 1)
        )
        assert ordered_partitions(n) == surjections
