"""Candidates from deletion counts, against reweighted rows and every DAG of four variables."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import xlogy

from exactlearn._runtime.control import SearchControl
from exactlearn.data.dataset import Dataset
from exactlearn.errors import (
    ArgumentError,
    DataError,
    InfeasibleError,
    OptionError,
    TooLargeError,
)
from exactlearn.scoring import candidates
from exactlearn.scoring.candidate_search import Budget
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.deletion_counts import COUNTS_METHODS, DeletionCounts
from exactlearn.scoring.scores import AIC, BIC, BDeu, PenalisedLikelihood, score_family
from exactlearn.solvers import solve
from tests.brute_force import is_acyclic
from tests.scoring_oracle import (
    dependent_data,
    enumerated,
    make,
    random_arcs,
    tables,
    undominated,
)

SCORES = [BDeu(1), BIC(), AIC()]
SEEDS = st.integers(0, 10**6)
few = settings(max_examples=20)


def hidden(seed, n=4, rows=150, full=1):
    """Return weighted rows of dependent columns; cells of all but the first ones are missing."""
    rng = np.random.default_rng(seed)
    r = rng.integers(2, 4, n)
    codes = rng.integers(0, r, (rows, n))
    for i in range(1, n):
        copied = rng.random(rows) < 0.7
        codes[copied, i] = codes[copied, i - 1] % r[i]
    missing = rng.random((rows, n)) < 0.25
    missing[:, :full] = False
    codes[missing] = -1
    return make(codes, r, rng.integers(1, 4, rows).astype(float))


def reweighted(data, family, method):
    """Return the rows that observe a family, with weights that make them stand for all rows."""
    seen = (data.codes[:, family] >= 0).all(axis=1)
    weights = data.row_weights
    full = np.flatnonzero((data.codes >= 0).all(axis=0))
    keys = data.codes[:, full if method == "d-mar" else []]
    new = np.zeros(data.n_rows)
    for key in np.unique(keys, axis=0) if keys.shape[1] else [np.zeros(0)]:
        group = (keys == key).all(axis=1)
        assert (group & seen).any(), "choose data in which each group has such a row"
        new[group & seen] = weights[group & seen] * (
            weights[group].sum() / weights[group & seen].sum()
        )
    # Other cells of these rows do not matter.
    return Dataset(np.maximum(data.codes, 0)[seen], data.names, data.states, new[seen])


def plain_scores(data, score, k, method, standard_errors=1.0):
    """Return the score of each family, by one reweighted table each."""
    total, found = data.row_weights.sum(), []
    for child in range(data.n_variables):
        others = [p for p in range(data.n_variables) if p != child]
        found.append({})
        for parents in (
            s for m in range(k + 1) for s in itertools.combinations(others, m)
        ):
            family = [*parents, child]
            m = data.row_weights[(data.codes[:, family] >= 0).all(axis=1)].sum()
            loss = standard_errors * len(parents) * math.sqrt(total * (total - m) / m)
            value = score_family(
                reweighted(data, family, method), child, parents, score
            )
            found[-1][parents] = value - loss
    return found


@pytest.mark.parametrize("method", ["d-mcar", "d-mar"])
@pytest.mark.parametrize("score", SCORES, ids=str)
@few
@given(seed=SEEDS, errors=st.sampled_from([0.0, 1.0, 2.5]))
def test_all_families_score_as_reweighted_rows(method, score, seed, errors):
    data = hidden(seed)
    how = DeletionCounts(method, errors)
    problem = candidate_parent_sets(data, score, counts=how, prune=False)
    expected = plain_scores(data, score, 3, method, errors)
    for found, wanted in zip(tables(problem), expected, strict=True):
        assert found.keys() == wanted.keys()
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("method", COUNTS_METHODS)
@few
@given(seed=SEEDS)
def test_the_network_is_the_best_of_all_dags(method, seed):
    data = hidden(seed, rows=60)
    listed = candidate_parent_sets(data, BIC(), counts=method, prune=False)
    families = [list(listed.candidates(v)) for v in range(4)]
    best = max(
        sum(score for _, score in chosen)
        for chosen in itertools.product(*families)
        if is_acyclic(tuple(parents for parents, _ in chosen))
    )
    problem = candidate_parent_sets(data, BIC(), counts=method)
    found = solve(problem)
    assert found.status == "optimal"
    assert found.score == pytest.approx(best, rel=1e-12)
    wanted = [undominated(dict(family)) for family in families]
    assert tables(problem) == wanted


@pytest.mark.parametrize("method", COUNTS_METHODS)
@few
@given(seed=SEEDS)
def test_complete_data_are_counted(method, seed):
    data = dependent_data(seed, n=4)
    problem = candidate_parent_sets(data, BDeu(1), counts=method)
    assert tables(problem) == tables(candidate_parent_sets(data, BDeu(1)))
    assert problem.complete


@few
@given(seed=SEEDS, exponent=st.sampled_from([0.25, 0.5]))
def test_node_averages_use_rows_that_observe_the_family(seed, exponent):
    data, score = hidden(seed), PenalisedLikelihood(1e-9)
    how = DeletionCounts("node-average", exponent=exponent)
    found = tables(
        candidate_parent_sets(data, score, max_parents=2, counts=how, prune=False)
    )
    total = data.row_weights.sum()
    for child, own in enumerate(found):
        for parents, value in own.items():
            family = [*parents, child]
            seen = (data.codes[:, family] >= 0).all(axis=1)
            counts = np.zeros(tuple(data.cardinalities[family]))
            np.add.at(
                counts, tuple(data.codes[seen][:, family].T), data.row_weights[seen]
            )
            given = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1e-300)
            mean = xlogy(counts, given).sum() / counts.sum()
            size = counts[..., 1:].size
            expected = total * (mean - total**-exponent * size)
            assert value == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("method", [m for m in COUNTS_METHODS if m != "node-average"])
@few
@given(seed=SEEDS)
def test_families_without_missing_cells_score_as_complete_data(method, seed):
    data = hidden(seed, full=3)
    part = Dataset(data.codes[:, :3], data.names[:3], data.states[:3], data.weights)
    found = tables(candidate_parent_sets(data, BIC(), counts=method, prune=False))
    for child, wanted in enumerate(enumerated(part, BIC(), 2)):
        assert {s: found[child][s] for s in wanted} == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("factored", ["f-mcar", "f-mar"])
@few
@given(seed=SEEDS)
def test_one_missing_member_has_no_other_factorisation(factored, seed):
    """Under MAR; under MCAR the other order uses all rows, so that counts differ there."""
    data = hidden(seed, full=3)
    direct = tables(candidate_parent_sets(data, BIC(), counts="d-mar", prune=False))
    found = tables(candidate_parent_sets(data, BIC(), counts=factored, prune=False))
    if factored == "f-mar":
        for own, wanted in zip(found, direct, strict=True):
            assert own == pytest.approx(wanted, rel=1e-9)
    else:
        assert found != direct


@few
@given(seed=SEEDS)
def test_arcs_restrict_the_families(seed):
    data, (required, forbidden) = hidden(seed), random_arcs(seed, 4)
    every = tables(candidate_parent_sets(data, BIC(), counts="f-mar", prune=False))
    found = tables(
        candidate_parent_sets(
            data,
            BIC(),
            counts="f-mar",
            required=required,
            forbidden=forbidden,
            prune=False,
        )
    )
    for child in range(4):
        needed = {p for p, c in required if c == child}
        barred = {p for p, c in forbidden if c == child}
        assert found[child] == {
            s: v
            for s, v in every[child].items()
            if needed <= set(s) and not barred & set(s)
        }


NEVER_TOGETHER = make([[0, -1, 0], [1, -1, 1], [-1, 0, 0], [-1, 1, 0]], [2, 2, 2])


def test_families_that_no_row_observes_are_no_candidates():
    problem = candidate_parent_sets(NEVER_TOGETHER, BIC(), counts="d-mcar", prune=False)
    assert not problem.complete
    assert [set(own) for own in tables(problem)] == [
        {(), (2,)},
        {(), (2,)},
        {(), (0,), (1,)},
    ]
    with pytest.raises(DataError, match="no row observes 'v1' together with 'v0'"):
        candidate_parent_sets(NEVER_TOGETHER, BIC(), counts="d-mcar", required=[(0, 1)])
    empty = make([[0, -1], [1, -1]], [2, 2])
    with pytest.raises(DataError, match=r"no row observes 'v1': .* drop the column"):
        candidate_parent_sets(empty, BIC(), counts="f-mar")


def test_a_stop_leaves_each_variable_its_smallest_set():
    control = SearchControl()
    control.stop()
    data = hidden(0)
    stopped = candidate_parent_sets(
        data, BIC(), counts="f-mar", required=[(0, 2)], control=control
    )
    assert stopped.stopped
    assert [set(own) for own in tables(stopped)] == [{()}, {()}, {(0,)}, {()}]
    limited = candidate_parent_sets(data, BIC(), counts="f-mar", time_limit=0.0)
    assert all(() in own for own in tables(limited))


def test_progress_reaches_the_number_of_sets():
    seen = []
    candidate_parent_sets(
        hidden(0), BIC(), counts="d-mar", on_progress=lambda *told: seen.append(told)
    )
    assert seen[-1] == (15, 15)


def test_bad_options(monkeypatch):
    data = hidden(0)
    with pytest.raises(OptionError, match="did you mean 'd-mar'"):
        candidate_parent_sets(data, BIC(), counts="dmar")
    with pytest.raises(
        OptionError, match="'standard_errors': expected a finite number from 0"
    ):
        DeletionCounts("d-mar", -1)
    with pytest.raises(ArgumentError, match="counts"):
        candidate_parent_sets(data, BIC(), counts=3)
    with pytest.raises(OptionError, match="leave the budget"):
        candidate_parent_sets(data, BIC(), counts="d-mar", budget=Budget(tables=5))
    with pytest.raises(InfeasibleError, match="both required and forbidden"):
        candidate_parent_sets(
            data, BIC(), counts="d-mar", required=[(0, 1)], forbidden=[(0, 1)]
        )
    monkeypatch.setattr(candidates, "ESTIMATED_LIMIT", 10)
    with pytest.raises(TooLargeError, match="set max_parents to at most 0"):
        candidate_parent_sets(data, BIC(), counts="d-mar")


def test_the_penalty_keeps_needless_parents_out():
    """Without it other rows make a parent look useful, however many there are."""
    rng = np.random.default_rng(0)
    codes = (rng.random((20_000, 5)) < 0.2).astype(int)
    codes[rng.random(codes.shape) < 0.4] = -1
    codes[:, 0] = np.maximum(codes[:, 0], 0)
    data = make(codes, [2] * 5)

    def arcs(errors):
        how = DeletionCounts("d-mcar", errors)
        return sum(
            map(len, solve(candidate_parent_sets(data, BIC(), counts=how)).parents)
        )

    assert arcs(0.0) > 3
    assert arcs(1.0) == 0
