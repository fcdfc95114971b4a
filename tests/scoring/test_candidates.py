import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exactlearn._runtime.control import SearchControl
from exactlearn.errors import DataError, InfeasibleError, OptionError, TooLargeError
from exactlearn.scoring import candidate_enumeration, set_sums
from exactlearn.scoring.candidate_enumeration import Enumeration
from exactlearn.scoring.candidate_search import Budget
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.scores import AIC, BIC, BDeu, PenalisedLikelihood, score_family
from exactlearn.scoring.set_sums import SetSums, TableScorer, ceiling, largest_penalty
from exactlearn.scoring.terms import TermTables
from tests.scoring_oracle import (
    dependent_data,
    enumerated,
    make,
    random_arcs,
    tables,
    undominated,
)

SCORES = [
    BDeu(1),
    BDeu(0.01),
    BDeu(10),
    BDeu(100),
    BIC(),
    AIC(),
    PenalisedLikelihood(0),
    PenalisedLikelihood(0.3),
    PenalisedLikelihood(1),
]

slow = settings(max_examples=25, suppress_health_check=[HealthCheck.data_too_large])


@pytest.mark.parametrize("score", SCORES, ids=str)
@slow
@given(
    seed=st.integers(0, 2**32),
    k=st.integers(0, 5),
    weighted=st.sampled_from(["", "whole"]),
)
def test_all_families_equal_their_own_count(score, seed, k, weighted):
    data = dependent_data(seed, weighted=weighted)
    problem = candidate_parent_sets(data, score, max_parents=k, prune=False)
    expected = enumerated(data, score, min(k, data.n_variables - 1))
    for found, wanted in zip(tables(problem), expected, strict=True):
        assert found.keys() == wanted.keys()
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("score", SCORES, ids=str)
@slow
@given(seed=st.integers(0, 2**32), k=st.sampled_from([0, 1, 2, 3, 4, None]))
def test_pruning_drops_the_dominated_sets_and_nothing_else(score, seed, k):
    """Bounds must not change the outcome: no tolerance here."""
    data = dependent_data(seed)
    full = candidate_parent_sets(data, score, max_parents=k, prune=False)
    kept = candidate_parent_sets(data, score, max_parents=k)
    assert tables(kept) == [undominated(table) for table in tables(full)]


@pytest.mark.parametrize("score", [BDeu(1), BIC(), PenalisedLikelihood(0)], ids=str)
@slow
@given(seed=st.integers(0, 2**32), k=st.sampled_from([2, 3, None]))
def test_only_allowed_sets_are_kept_and_dominate(score, seed, k):
    data = dependent_data(seed, n=5)
    required, forbidden = random_arcs(seed, 5)
    arcs = {"required": required, "forbidden": forbidden}
    problem = candidate_parent_sets(data, score, max_parents=k, **arcs)
    full = candidate_parent_sets(data, score, max_parents=k, prune=False, **arcs)
    assert tables(problem) == [undominated(table) for table in tables(full)]
    expected = enumerated(data, score, 4 if k is None else k, required, forbidden)
    assert [t.keys() for t in tables(full)] == [t.keys() for t in expected]
    assert problem.allowed.all()
    assert (problem.required, problem.forbidden) == (
        frozenset(required),
        frozenset(forbidden),
    )


@pytest.mark.parametrize("score", [BDeu(10), BIC()], ids=str)
@slow
@given(seed=st.integers(0, 2**32))
def test_real_weights(score, seed):
    data = dependent_data(seed, weighted="real")
    if data.weights.sum() < 1:
        return
    expected = [undominated(t) for t in enumerated(data, score, data.n_variables - 1)]
    full = tables(candidate_parent_sets(data, score, max_parents=None, prune=False))
    for found, wanted in zip(full, expected, strict=True):
        assert {s: found[s] for s in wanted} == pytest.approx(
            wanted, rel=1e-9, abs=1e-9
        )
    pruned = tables(candidate_parent_sets(data, score, max_parents=None))
    assert pruned == [undominated(table) for table in full]


@pytest.mark.parametrize("score", [BDeu(1), BIC()], ids=str)
@slow
@given(seed=st.integers(0, 2**32))
def test_order_and_merging_of_rows_change_no_bit(score, seed):
    rng = np.random.default_rng(seed)
    data = dependent_data(seed, n=4)
    expected = tables(candidate_parent_sets(data, score))
    permuted = make(rng.permutation(data.codes), data.cardinalities)
    assert tables(candidate_parent_sets(permuted, score)) == expected
    rows, weights = np.unique(data.codes, axis=0, return_counts=True)
    merged = make(rows, data.cardinalities, weights.astype(float))
    assert tables(candidate_parent_sets(merged, score)) == expected


@slow
@given(seed=st.integers(0, 2**32))
def test_variable_order_changes_names_only(seed):
    data = dependent_data(seed, n=5)
    order = np.random.default_rng(seed).permutation(5)
    place = np.argsort(order)
    moved = candidate_parent_sets(
        make(data.codes[:, order], data.cardinalities[order]),
        BIC(),
        max_parents=4,
        prune=False,
    )
    for child, table in enumerate(
        tables(candidate_parent_sets(data, BIC(), prune=False))
    ):
        found = dict(moved.candidates(int(place[child])))
        for parents, score in table.items():
            same = tuple(sorted(int(place[p]) for p in parents))
            assert found[same] == pytest.approx(score, rel=1e-12, abs=1e-9)


def test_candidates_fall_in_score_then_size_then_order():
    data = dependent_data(3, n=6)
    problem = candidate_parent_sets(data, BDeu(1), max_parents=3, prune=False)
    for child in range(6):
        keys = [
            (-score, len(parents), parents)
            for parents, score in problem.candidates(child)
        ]
        assert keys == sorted(keys)


@pytest.mark.parametrize("score", [BIC(), AIC(), BDeu(1)], ids=str)
def test_bounds_skip_tables(score, monkeypatch):
    """Deep branches are closed unseen, and the outcome is that of counting everything."""
    rng = np.random.default_rng(2)
    codes = np.repeat(rng.integers(0, 2, (40, 2)), [5, 6], axis=1)
    data = make(codes, [2] * 11)
    counted, sums = [], SetSums.sums

    def counting(self, sets, *arguments):
        counted[-1] += len(sets)
        return sums(self, sets, *arguments)

    monkeypatch.setattr(SetSums, "sums", counting)
    for prune in (True, False):
        counted.append(0)
        scorer = TableScorer(SetSums.of(data, score, 11), prune, frozenset())
        list(Enumeration(scorer, 10, frozenset(), frozenset(), prune).run(None))
    assert counted[1] == 2**11
    assert counted[0] < 2**11 * 0.7
    full = candidate_parent_sets(data, score, max_parents=None, prune=False)
    kept = candidate_parent_sets(data, score, max_parents=None)
    assert tables(kept) == [undominated(table) for table in tables(full)]


@pytest.mark.parametrize("score", SCORES, ids=str)
@slow
@given(seed=st.integers(0, 2**32), weighted=st.sampled_from(["", "whole", "real"]))
def test_no_superset_exceeds_the_ceiling(score, seed, weighted):
    """The penalty bound and the bound by distinct cells, against all supersets."""
    data = dependent_data(seed, n=4, weighted=weighted)
    weights = np.ones(data.n_rows) if data.weights is None else data.weights
    if weights.sum() < 1:
        return
    terms_of = TermTables(score, data.cardinalities, weights)
    for child, table in enumerate(enumerated(data, score, 3)):
        r = int(data.cardinalities[child])
        for parents in table:
            cell = np.unique(
                data.codes[:, [child, *parents]], axis=0, return_inverse=True
            )[1]
            cells = np.minimum(np.bincount(cell.reshape(-1), weights), 1).sum()
            q = float(np.prod(data.cardinalities[list(parents)]))
            terms = terms_of.covering([q * r])
            penalty = terms.penalty[np.searchsorted(terms.sizes, q * r), r]
            bound = ceiling(terms.rate[r], penalty, cells)
            above = [table[s] for s in table if set(s) >= set(parents)]
            assert max(above) <= bound + 1e-8


@pytest.mark.parametrize("score", [BIC(), AIC(), PenalisedLikelihood(0.3)], ids=str)
@slow
@given(seed=st.integers(0, 2**32))
def test_supersets_with_a_low_entropy_parent_are_dominated(score, seed):
    """The entropy bound on its own: that parent is better left out of each superset."""
    data = dependent_data(seed, n=4)
    a, penalty = score.cell(np.array([math.e]), 2, 1.0)[0] / math.e, score.penalty

    def entropy(subset):
        n = np.unique(data.codes[:, list(subset)], axis=0, return_counts=True)[1]
        return -a * (n * np.log(n / data.n_rows)).sum() if subset else 0.0

    for child, table in enumerate(enumerated(data, score, 3)):
        for parents, y in [(p, y) for p in table for y in p]:
            r, q = (
                data.cardinalities,
                np.prod(data.cardinalities[list(parents)], dtype=float),
            )
            gain = entropy(parents) - entropy([p for p in parents if p != y])
            cost = penalty(r[child], q, data.n_rows)
            if largest_penalty(gain + 1e-9, r[y]) <= cost:
                for above in (s for s in table if set(s) >= set(parents)):
                    assert (
                        table[tuple(p for p in above if p != y)] >= table[above] - 1e-9
                    )


def test_many_states_and_few_rows():
    """Tables of 21^4 cells are counted by their observed cells only."""
    rng = np.random.default_rng(4)
    data = make(rng.integers(0, 21, (200, 5)), [21] * 5)
    for score in (BDeu(1), BIC()):
        problem = candidate_parent_sets(data, score, prune=False)
        expected = enumerated(data, score, 3)
        for found, wanted in zip(tables(problem), expected, strict=True):
            assert found == pytest.approx(wanted, rel=1e-9)


def test_large_counts_exceed_the_tabulated_terms():
    """Rounding grows as N log N, as that of ``n log n`` and of lgamma does."""
    data = make([[0, 0], [0, 1], [1, 1]], (2, 2), np.array([3e6, 2e9, 7.0]))
    for score in (BDeu(1), BIC()):
        found = tables(candidate_parent_sets(data, score, prune=False))
        for table, wanted in zip(found, enumerated(data, score, 1), strict=True):
            assert table == pytest.approx(wanted, abs=1e-4)


def test_sparse_and_dense_networks_of_one_variable():
    problem = candidate_parent_sets(make([[0], [1]], (2,)), AIC(), max_parents=None)
    assert tables(problem) == [{(): pytest.approx(2 * math.log(0.5) - 1)}]


def test_progress_ends_at_the_total():
    seen = []
    data = make(np.random.default_rng(0).integers(0, 2, (50, 8)), [2] * 8)
    for score in (BIC(), BDeu(1)):
        candidate_parent_sets(
            data,
            score,
            max_parents=3,
            on_progress=lambda done, total: seen.append((done, total)),
        )
        assert seen[-1] == (162, 162)
        assert [done for done, _ in seen] == sorted(done for done, _ in seen)
        seen.clear()


def test_an_interruption_in_progress_comes_through():
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        candidate_parent_sets(dependent_data(1, n=4), BIC(), on_progress=stop)


@pytest.mark.parametrize("prune", [True, False])
@pytest.mark.parametrize("aim", [1, 3])
def test_blocks_of_any_size_find_the_same(monkeypatch, aim, prune):
    """A block may hold a part of the unions of sets that differ in their first element."""
    data = dependent_data(3, n=6)
    whole = candidate_parent_sets(data, BDeu(1), max_parents=4, prune=prune)
    starts, sizes = candidate_enumeration._starts, []

    def small_blocks(*arguments):
        found = starts(*arguments)
        sizes.append(len(found))
        return found

    monkeypatch.setattr(candidate_enumeration, "_starts", small_blocks)
    monkeypatch.setattr(set_sums, "BLOCK_SETS", (aim, aim))
    parted = candidate_parent_sets(data, BDeu(1), max_parents=4, prune=prune)
    assert max(sizes) > 4
    assert tables(parted) == tables(whole)


@pytest.mark.parametrize("budget", [None, Budget(tables=50)])
def test_scoring_ends_at_a_limit_with_a_set_for_each_variable(budget):
    data = dependent_data(3, n=5)
    problem = candidate_parent_sets(
        data, BIC(), required=[(0, 4), (1, 4)], budget=budget, time_limit=0
    )
    assert not problem.complete
    assert "were s" in problem.stopped
    found = tables(problem)
    assert [list(table) for table in found] == [[()], [()], [()], [()], [(0, 1)]]
    assert found[4][0, 1] == pytest.approx(score_family(data, 4, (0, 1), BIC()))
    assert problem.is_feasible


def test_a_stop_ends_scoring_with_the_candidates_so_far():
    def stop(done, total):
        if done > 5:
            control.stop()

    control = SearchControl()
    data = dependent_data(3, n=5)
    problem = candidate_parent_sets(data, BIC(), on_progress=stop, control=control)
    assert problem.stopped
    assert all(() in table for table in tables(problem))


def test_too_large_enumerations_are_refused(monkeypatch):
    wide = make(np.random.default_rng(0).integers(0, 2, (4, 800)), [2] * 800)
    with pytest.raises(
        TooLargeError, match=r"68,011,520,000 .* limit of .* max_parents to at most 2"
    ):
        candidate_parent_sets(wide, BIC(), max_parents=3)
    with pytest.raises(
        TooLargeError, match=r"set max_parents to at most 1, or let dominated"
    ):
        candidate_parent_sets(wide, BIC(), max_parents=2, prune=False)
    monkeypatch.setattr(candidate_enumeration, "HELD_LIMIT", 100)
    data = make(np.random.default_rng(0).integers(0, 2, (90, 9)), [2] * 9)
    with pytest.raises(
        TooLargeError,
        match=r"100 families with 2 parents .* set max_parents to at most 2",
    ):
        candidate_parent_sets(data, BDeu(1), max_parents=None)
    assert candidate_parent_sets(data, BDeu(1), max_parents=2).n_candidates


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_parents": -1}, OptionError, "number from 0 or None, found -1"),
        ({"required": [(0, 0)]}, OptionError, "0 -> 0"),
        ({"forbidden": [(0, 9)]}, OptionError, "no variable 9"),
        ({"required": [(0, 1)], "forbidden": [(0, 1)]}, InfeasibleError, "v0 -> v1"),
        (
            {"required": [(0, 2), (1, 2)], "max_parents": 1},
            InfeasibleError,
            r"v0, v1.*at most 1",
        ),
    ],
)
def test_wrong_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        candidate_parent_sets(dependent_data(0, n=3), BIC(), **options)


def test_incomplete_data_are_refused():
    with pytest.raises(DataError, match="augment"):
        candidate_parent_sets(make([[0, -1], [1, 0]], (2, 2)), BIC())
