"""Searches for violated clusters, with counts and without, against all clusters of a few."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.solvers import Problem
from exactlearn.solvers.clusters import (
    MIN_VIOLATION,
    Counted,
    Support,
    disjoint_clusters,
    first_of_each,
    violations,
)
from exactlearn.solvers.dual_bounds import greedy_multipliers
from exactlearn.solvers.satisfied_clusters import satisfied
from exactlearn.solvers.separation import (
    counted_clusters,
    family_seeds,
    violated_clusters,
)
from tests.brute_force import best_selection


@st.composite
def fractional(draw, n=5):
    """Return a problem and values of its candidates that sum to one for each variable."""
    tables, values = [], []
    for child in range(n):
        others = [v for v in range(n) if v != child]
        sets = [s for k in range(1, 4) for s in combinations(others, k)]
        kept = [(), *draw(st.lists(st.sampled_from(sets), unique=True, max_size=4))]
        weights = np.array(
            draw(st.lists(st.integers(0, 4), min_size=len(kept), max_size=len(kept)))
        )
        weights = weights if weights.any() else weights + 1
        tables.append({s: float(draw(st.integers(-30, 0))) for s in kept})
        values.append(weights / weights.sum())
    return Problem.from_candidates([f"x{i}" for i in range(n)], tables), np.concatenate(
        values
    )


def every_cluster(n, count):
    members = [
        c for size in range(count + 1, n + 1) for c in combinations(range(n), size)
    ]
    clusters = np.zeros((len(members), n), np.bool_)
    for row, inside in zip(clusters, members, strict=True):
        row[list(inside)] = True
    return Counted.of(clusters, count)


def violation_by_rows(problem, x, counted):
    """Return violations from the inequality itself: k less what the candidates that help sum to."""
    return counted.counts - satisfied(problem, counted.clusters, counted.counts) @ x


@settings(max_examples=100)
@given(fractional())
def test_violations_are_those_of_the_inequalities(pair):
    problem, x = pair
    support = Support.of(problem, x)
    for count in (1, 2, 3):
        counted = every_cluster(5, count)
        told = violations(support, counted.clusters, counted.counts)
        assert told == pytest.approx(violation_by_rows(problem, x, counted), abs=1e-5)


@settings(max_examples=100)
@given(fractional())
def test_what_is_found_is_violated_and_what_is_violated_is_found(pair):
    problem, x = pair
    support = Support.of(problem, x)
    found = violated_clusters(support, 5, 50, np.random.default_rng(0))
    found = Counted.join(found, counted_clusters(support, 5, 50))
    assert (violation_by_rows(problem, x, found) > MIN_VIOLATION / 2).all()
    plain = every_cluster(5, 1)
    if violation_by_rows(problem, x, plain).max() > 0.05:
        assert (found.counts == 1).any()
    triples = every_cluster(5, 2).take(every_cluster(5, 2).clusters.sum(axis=1) == 3)
    violated = violation_by_rows(problem, x, triples) > MIN_VIOLATION * 2
    if (violated & has_fractional_reader(problem, x, triples)).any():
        assert (found.counts == 2).any()
    elif (
        violated.any()
    ):  # whole candidates alone: two variables are each other's parents
        assert (found.counts == 1).any()


def has_fractional_reader(problem, x, counted):
    """Tell in which clusters a fractional candidate has as many parents as the count."""
    reads = counted.clusters[:, problem.child] & ~satisfied(
        problem, counted.clusters, counted.counts
    )
    return reads[:, (x > 1e-6) & (x < 1 - 2 * MIN_VIOLATION)].any(axis=1)


def test_a_whole_circuit_is_found_as_a_plain_cluster():
    problem = Problem.from_candidates(
        list("abcde"),
        [{(): 0, (1, 2, 3): 0}, {(): 0, (0, 2): 0}, {(): 0}, {(): 0}, {(): 0}],
    )
    x = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    chosen = {problem.parent_set(c) for c in np.flatnonzero(x)}
    assert chosen == {(1, 2, 3), (0, 2), ()}
    found = violated_clusters(Support.of(problem, x), 5, 50, np.random.default_rng(0))
    assert [True, True, False, False, False] in found.clusters.tolist()


@settings(max_examples=100)
@given(fractional(), st.randoms(use_true_random=False))
def test_minimal_clusters_let_nobody_leave_and_do_not_overlap(pair, random):
    problem, _ = pair
    keep = np.array([random.random() < 0.6 for _ in range(problem.n_candidates)])
    f = Support.of(problem, np.ones(problem.n_candidates))
    listed = np.flatnonzero(keep)
    order = np.array(random.sample(range(5), 5))
    clusters = disjoint_clusters(listed, f.child, f.member_first, f.members, order)
    assert (clusters.sum(axis=0) <= 1).all()

    def blocked(cluster):
        return not satisfied(problem, cluster[None], np.ones(1))[0][listed].any()

    for cluster in clusters:
        assert blocked(cluster)
        members = np.flatnonzero(cluster)
        assert all(np.isin(members, f.child[listed]))
        for size in range(1, len(members)):
            for part in combinations(members, size):
                smaller = np.isin(np.arange(5), part)
                assert not blocked(smaller)
    loose = every_cluster(5, 1).clusters
    has = np.isin(np.arange(5), f.child[listed])
    expected = any(blocked(c) for c in loose if has[c].all())
    assert bool(len(clusters)) == expected


@settings(max_examples=50)
@given(fractional(4))
def test_dual_ascent_bounds_from_above_and_ends_acyclic(pair):
    """The acyclic selection at its end has reduced cost 0."""
    problem, _ = pair
    multipliers = greedy_multipliers(problem)
    assert (multipliers.values > 0).all()
    bound = multipliers.bound(problem)
    assert best_selection(problem) <= bound
    best = np.maximum.reduceat(problem.scores, problem.first[:-1]).sum()
    assert bound == pytest.approx(best - multipliers.total)


def test_rows_are_joined_once_and_seeds_are_child_with_parents():
    rows = np.array([[1, 0], [0, 1], [1, 0], [1, 1]], np.bool_)
    assert first_of_each(rows).tolist() == [0, 1, 3]
    joined = Counted.join(
        Counted.of(rows), Counted.of(rows[3:], 2), Counted.of(rows[3:])
    )
    assert joined.counts.tolist() == [1, 1, 1, 2]
    problem = Problem.from_candidates(
        "abcd", [{(1, 2, 3): 0.0, (): 0.0}, *[{(): 0.0}] * 3]
    )
    support = Support.of(problem, np.array([0.5, 0.5, 1.0, 1.0, 1.0]))
    seeds = family_seeds(support, 4, 2, 10)
    assert seeds.astype(int).tolist() == [[1, 1, 1, 0], [1, 1, 0, 1], [1, 0, 1, 1]]
    assert len(family_seeds(support, 4, 2, 2)) == 2
