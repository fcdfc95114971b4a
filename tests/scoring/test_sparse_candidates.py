"""Parent sets among the variables of highest mutual information, of tables in blocks or not."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from exactlearn import (
    BIC,
    BDeu,
    Dataset,
    candidate_parent_sets,
    read_blocks,
    score_family,
    solve,
)
from exactlearn._runtime.control import SearchControl
from exactlearn.errors import DataError, InfeasibleError, OptionError, SolverError
from exactlearn.formats.table import write_dataset
from exactlearn.scoring import sparse_candidates as module
from exactlearn.scoring.sparse_candidates import sparse_candidates
from tests.scoring.test_candidates_on_a_cluster import same, table


def information(data):
    return np.array(
        [[mutual_info_score(a, b) for b in data.codes.T] for a in data.codes.T]
    )


def outside(data, k, required=(), forbidden=()):
    """Return the arcs from all but the k allowed variables of highest information."""
    arcs = set(forbidden)
    for child, row in enumerate(information(data)):
        wanted = [p for p, c in required if c == child]
        allowed = [
            v for v in range(len(row)) if v != child and (v, child) not in forbidden
        ]
        best = sorted((v for v in allowed if v not in wanted), key=lambda v: -row[v])
        arcs |= {(p, child) for p in best[k - len(wanted) :]}
    return arcs


@pytest.fixture
def blocks(tmp_path):
    pytest.importorskip("pyarrow")
    data = table()
    for k in range(3):
        write_dataset(
            data.part(np.arange(data.n_rows) // 100 == k), tmp_path / f"{k}.parquet"
        )
    return read_blocks(tmp_path)


def close(one, other):
    assert one.members.tolist() == other.members.tolist()
    np.testing.assert_allclose(one.scores, other.scores, rtol=1e-12)


@pytest.mark.parametrize("score", [BDeu(), BIC()])
@pytest.mark.parametrize("k", [1, 3, 8, 50])
def test_they_are_the_candidates_without_the_other_arcs(blocks, score, k, monkeypatch):
    data = table()
    kept = candidate_parent_sets(data, score, forbidden=outside(data, k))
    close(sparse_candidates(data, score, candidate_parents=k), kept)
    found = sparse_candidates(blocks, score, candidate_parents=k)
    close(found, kept)
    assert found.complete == (k >= 8)
    monkeypatch.setattr(module, "BATCH_BYTES", 1)
    monkeypatch.setattr(module, "CHUNK", 7)
    same(sparse_candidates(blocks, score, candidate_parents=k), found)


def test_constraints_and_weights_are_kept(tmp_path):
    data = table()
    data = Dataset(
        data.codes, data.names, data.states, np.arange(data.n_rows) % 4 + 0.0
    )
    weighted = np.repeat(np.arange(data.n_rows), data.weights.astype(int))
    plain = Dataset(data.codes[weighted], data.names, data.states)
    required, forbidden = [(0, 5), (7, 5)], {(4, 5), (1, 2)}
    found = sparse_candidates(
        data, BDeu(), candidate_parents=3, required=required, forbidden=forbidden
    )
    barred = outside(plain, 3, required, forbidden)
    close(
        found, candidate_parent_sets(plain, BDeu(), required=required, forbidden=barred)
    )
    assert (found.required, found.forbidden) == (
        frozenset(required),
        frozenset(forbidden),
    )


def test_a_cluster_gives_the_same(blocks, client):
    alone = sparse_candidates(blocks, BDeu(), candidate_parents=4)
    same(sparse_candidates(blocks, BDeu(), candidate_parents=4, cluster=client), alone)


def test_what_is_refused(blocks):
    data = table()
    with pytest.raises(OptionError, match="expected a whole number from 1, found 0"):
        sparse_candidates(data, BDeu(), candidate_parents=0)
    with pytest.raises(
        InfeasibleError, match="'v5' is required to have 2 parents, more than"
    ):
        sparse_candidates(data, BDeu(), candidate_parents=1, required=[(0, 5), (1, 5)])
    codes = data.codes.copy()
    codes[3, 2] = -1
    with pytest.raises(DataError, match="missing"):
        sparse_candidates(Dataset(codes, data.names, data.states), BDeu())
    control = SearchControl()
    control.stop()
    with control.running(), pytest.raises(SolverError, match="over before the states"):
        sparse_candidates(blocks, BDeu())
    with pytest.raises(SolverError, match="give it more time"):
        sparse_candidates(blocks.with_states(), BDeu(), time_limit=0)
    with pytest.raises(SolverError, match="over before all pairs"):
        sparse_candidates(data, BDeu(), time_limit=0)


@pytest.mark.parametrize(
    ("batch_bytes", "stop_after", "n_scored"), [(1, 3, 2), (2**31, 1, 0)]
)
def test_what_is_scored_when_the_search_ends_is_kept(
    blocks, monkeypatch, batch_bytes, stop_after, n_scored
):
    data, required = table(), [(0, 5), (7, 5)]
    how = {"candidate_parents": 4, "required": required}
    whole = sparse_candidates(blocks, BDeu(), **how)
    monkeypatch.setattr(module, "BATCH_BYTES", batch_bytes)
    control, rows = SearchControl(), []

    def stop_in_a_later_pass(count: int) -> None:
        rows.append(count)
        if sum(rows) > stop_after * data.n_rows:
            control.stop()

    with control.running():
        found = sparse_candidates(
            replace(blocks, on_rows=stop_in_a_later_pass), BDeu(), **how
        )
    n = data.n_variables
    assert (
        found.stopped == f"the parent sets of {n_scored} of {n} variables were scored"
    )
    assert not found.complete
    for v in range(n):
        smallest = (0, 7) if v == 5 else ()
        least = [
            (
                smallest,
                pytest.approx(score_family(data, v, smallest, BDeu()), rel=1e-12),
            )
        ]
        assert [*found.candidates(v)] == (
            [*whole.candidates(v)] if v < n_scored else least
        )


def test_a_time_limit_cuts_the_scoring_of_a_variable_short(monkeypatch):
    data = table()
    control = SearchControl()
    score = candidate_parent_sets

    def stopped_in_the_third(*arguments, **options):
        calls.append(1)
        if len(calls) == 3:
            control.stop()
        return score(*arguments, **options)

    calls: list[int] = []
    monkeypatch.setattr(module, "candidate_parent_sets", stopped_in_the_third)
    with control.running():
        found = sparse_candidates(data, "bic")
    assert found.stopped.startswith("the parent sets of 2 of ")
    assert solve(found).parents is not None
