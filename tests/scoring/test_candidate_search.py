"""The best-first search for candidates, and enumeration on several threads."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exactlearn._runtime.executors import in_order, n_threads
from exactlearn.errors import OptionError
from exactlearn.formats.bif import read_bif
from exactlearn.instances import locate
from exactlearn.scoring import candidate_search, parent_set_tree
from exactlearn.scoring.candidate_search import Budget, CandidateSearch
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.scores import AIC, BIC, BDeu, PenalisedLikelihood, score_family
from exactlearn.scoring.set_sums import SetSums
from exactlearn.solvers import solve
from tests.scoring_oracle import dependent_data, make, random_arcs, tables

SCORES = [BDeu(1), BDeu(50), BIC(), AIC(), PenalisedLikelihood(0.3)]
PLENTY = Budget(tables=10**6)

few = settings(max_examples=20, suppress_health_check=[HealthCheck.data_too_large])


def sample(name, rows):
    return read_bif(locate(name, ".bif")).sample(rows, np.random.default_rng(0))


@pytest.mark.parametrize("score", SCORES, ids=str)
@few
@given(
    seed=st.integers(0, 2**32),
    k=st.sampled_from([0, 1, 2, None]),
    weighted=st.sampled_from(["", "whole", "real"]),
)
def test_an_exhausted_search_finds_what_enumeration_keeps(score, seed, k, weighted):
    """Bounds, the tree of parent sets and its order must lose nothing."""
    data = dependent_data(seed, weighted=weighted)
    required, forbidden = random_arcs(seed, data.n_variables) if seed % 2 else ((), ())
    if k is not None and any(sum(c == v for _, c in required) > k for v in range(6)):
        required = ()
    arcs = {"required": required, "forbidden": forbidden, "max_parents": k}
    expected = candidate_parent_sets(data, score, **arcs)
    found = candidate_parent_sets(data, score, budget=PLENTY, **arcs)
    assert found.complete
    for child, (mine, wanted) in enumerate(
        zip(tables(found), tables(expected), strict=True)
    ):
        for parents, value in mine.items():
            assert value == pytest.approx(
                score_family(data, child, parents, score), abs=1e-8
            )
        # Rounding may decide between a set and its equally good subset.
        for parents in mine.keys() ^ wanted.keys():
            best = max(v for s, v in (wanted | mine).items() if set(s) < set(parents))
            assert (wanted | mine)[parents] == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("score", [BDeu(1), BIC()], ids=str)
def test_a_small_budget_gives_exact_but_incomplete_scores(score):
    data = sample("lucas", 300)
    before = -np.inf
    for effort in (1, 30, 200, 2000):
        problem = candidate_parent_sets(
            data, score, max_parents=None, budget=Budget(tables=effort), threads=1
        )
        for child in range(data.n_variables):
            table = dict(problem.candidates(child))
            assert () in table
            for parents, value in table.items():
                assert value == pytest.approx(
                    score_family(data, child, parents, score), abs=1e-8
                )
        assert effort > 30 or not problem.complete
        optimum = solve(problem).score
        assert optimum >= before - 1e-9
        before = optimum
    enumerated = solve(candidate_parent_sets(data, score, max_parents=None)).score
    assert before == pytest.approx(enumerated, abs=1e-6)


def test_a_time_budget_ends_with_candidates_of_every_variable():
    data = sample("asia", 100)
    problem = candidate_parent_sets(
        data, BDeu(1), max_parents=None, budget=Budget(seconds=0.2)
    )
    assert (np.diff(problem.first) > 0).all()
    assert problem.select(problem.allowed).complete == problem.complete


def test_limited_time_scores_single_parents_first():
    """A search of 15 s among 1,000 variables ended below the best tree, which takes one second."""
    rng = np.random.default_rng(5)
    data = make(rng.integers(0, 2, (60, 150)), [2] * 150)
    tree = solve(candidate_parent_sets(data, BDeu(1), max_parents=1))
    problem = candidate_parent_sets(
        data, BDeu(1), max_parents=1, budget=Budget(seconds=30)
    )
    assert problem.complete
    assert solve(problem).score == tree.score
    short = candidate_parent_sets(
        data, BDeu(1), max_parents=3, budget=Budget(seconds=2)
    )
    pairs = [
        (child, parents)
        for child in range(150)
        for parents, _ in short.candidates(child)
    ]
    assert len(pairs) == len(set(pairs))
    singles = candidate_parent_sets(data, BDeu(1), max_parents=1)
    for found, expected in zip(tables(short), tables(singles), strict=True):
        assert found.keys() >= expected.keys()


def test_a_full_queue_gives_up_its_worse_half(monkeypatch):
    monkeypatch.setattr(parent_set_tree, "QUEUE_ROOM", 16)
    data = make(np.random.default_rng(3).integers(0, 2, (300, 14)), [2] * 14)
    problem = candidate_parent_sets(data, BDeu(1), max_parents=None, budget=PLENTY)
    everything = candidate_parent_sets(data, BDeu(1), max_parents=3)
    assert not problem.complete
    for found, wanted in zip(tables(problem), tables(everything), strict=True):
        assert found.keys() >= {s for s in wanted if len(s) < 3}


def test_sets_beyond_the_deepest_are_missing(monkeypatch):
    monkeypatch.setattr(candidate_search, "DEEPEST", 1)
    data = sample("asia", 200)
    problem = candidate_parent_sets(data, BIC(), max_parents=None, budget=PLENTY)
    assert not problem.complete
    assert max(len(s) for table in tables(problem) for s in table) == 1


@pytest.mark.parametrize("score", [BDeu(1), BIC()], ids=str)
@pytest.mark.parametrize("budget", [None, Budget(tables=300)], ids=["all", "budget"])
def test_threads_change_no_bit(score, budget, monkeypatch):
    """Also where blocks are small and the parents' tables are counted twice."""
    monkeypatch.setattr("exactlearn.scoring.set_sums.BLOCK_SETS", (64, 64))
    data = sample("lucas", 500)
    outcomes = []
    for threads in (1, 2, 3, 7):
        problem = candidate_parent_sets(
            data, score, max_parents=4, budget=budget, threads=threads
        )
        arrays = (problem.first, problem.scores, problem.member_first, problem.members)
        outcomes.append([array.tobytes() for array in arrays])
    assert outcomes[1:] == outcomes[:-1]


def test_pieces_come_in_order_from_any_number_of_threads():
    for threads in (1, 4):
        spaces = iter(range(100))
        found = list(
            in_order(lambda piece, _: piece**2, 50, lambda s=spaces: next(s), threads)
        )
        assert found == [piece**2 for piece in range(50)]
        assert next(spaces) == threads


def test_an_error_in_a_thread_comes_through():
    def work(piece, _):
        if piece == 3:
            raise ValueError("piece 3")
        return piece

    pieces = in_order(work, 50, object, 2)
    assert [next(pieces) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="piece 3"):
        next(pieces)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Budget(), "give one"),
        (lambda: Budget(tables=0), "'tables': expected a whole number from 1, found 0"),
        (lambda: Budget(seconds=0), "above 0, found 0"),
        (
            lambda: candidate_parent_sets(make([[0]], (2,)), BIC(), threads=0),
            "'threads': expected a whole number from 1",
        ),
        (
            lambda: candidate_parent_sets(
                make([[0]], (2,)), BIC(), prune=False, budget=PLENTY
            ),
            "were to be kept",
        ),
    ],
)
def test_wrong_budgets_are_refused(call, message):
    with pytest.raises(OptionError, match=message):
        call()


def test_all_cores_are_used_unless_reported():
    assert n_threads(None) >= 1
    assert n_threads(3) == 3


def test_the_search_of_one_variable_ends_with_the_outer_search():
    data, looks = sample("lucas", 300), []

    def is_over():
        looks.append(1)
        return True

    rules = frozenset(), frozenset()
    sums = SetSums.of(data, BDeu(), 4)
    searches = [CandidateSearch(sums, 3, *rules, PLENTY) for _ in range(2)]
    (whole, *_), (first, *_) = searches[0].run(), searches[1].run(is_over=is_over)
    assert looks
    assert [search.exhausted for search in searches] == [True, False]
    assert len(first.child) < len(whole.child)
