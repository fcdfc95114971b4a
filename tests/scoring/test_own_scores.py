"""A score of a user's own is one small subclass: the cases that every score passes."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn import Score, augment, candidate_parent_sets, learn, solve
from exactlearn.augmentation import FamilyRules
from exactlearn.data.blocks import merge_rows
from exactlearn.errors import DataError, OptionError
from exactlearn.scoring.candidate_search import Budget
from exactlearn.scoring.properties import Domain, is_convex, properties
from exactlearn.scoring.scores import AIC, BIC, BDeu, PenalisedLikelihood, score_family
from exactlearn.scoring.terms import Form, TermTables, value
from tests.augmentation_oracle import all_dags, best_per_completion, random_table
from tests.own_scores import FNML, K2, OWN, Concave, Jeffreys
from tests.scoring_oracle import dependent_data, enumerated, make, tables, undominated

ALL = [BDeu(1), BDeu(0.01), BIC(), AIC(), PenalisedLikelihood(0.3), *OWN]


def _named(score):
    return f"{score.name}{getattr(score, 'ess', '')}"


every_score = pytest.mark.parametrize("score", ALL, ids=_named)
own_score = pytest.mark.parametrize("score", OWN, ids=lambda s: s.name)
few = settings(max_examples=15)
kinds_of_weights = st.sampled_from(["", "whole", "real"])


@own_score
@few
@given(seed=st.integers(0, 2**32), k=st.integers(0, 4), weighted=kinds_of_weights)
def test_all_families_equal_their_own_count(score, seed, k, weighted):
    data = dependent_data(seed, weighted=weighted)
    problem = candidate_parent_sets(data, score, max_parents=k, prune=False)
    expected = enumerated(data, score, min(k, data.n_variables - 1))
    for found, wanted in zip(tables(problem), expected, strict=True):
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@own_score
@few
@given(seed=st.integers(0, 2**32), k=st.sampled_from([1, 3, None]))
def test_pruning_drops_the_dominated_sets_and_nothing_else(score, seed, k):
    data = dependent_data(seed)
    full = candidate_parent_sets(data, score, max_parents=k, prune=False)
    kept = candidate_parent_sets(data, score, max_parents=k)
    assert tables(kept) == [undominated(table) for table in tables(full)]


@own_score
@few
@given(seed=st.integers(0, 2**32), weighted=kinds_of_weights)
def test_a_search_to_its_end_finds_what_enumeration_finds(score, seed, weighted):
    data = dependent_data(seed, weighted=weighted)
    found = candidate_parent_sets(
        data, score, max_parents=3, budget=Budget(tables=10**6)
    )
    wanted = candidate_parent_sets(data, score, max_parents=3)
    assert found.complete
    for a, b in zip(tables(found), tables(wanted), strict=True):
        assert max(a.values()) == pytest.approx(max(b.values()), rel=1e-9, abs=1e-9)


@every_score
def test_solve_finds_the_best_of_all_dags(score):
    data = dependent_data(11, n=4)
    best = max(
        sum(
            score_family(data, child, parents, score)
            for child, parents in enumerate(dag)
        )
        for dag in all_dags(4)
    )
    found = solve(candidate_parent_sets(data, score, max_parents=None))
    assert found.status == "optimal"
    assert found.score == pytest.approx(best)


BEST: dict[tuple[int, int], float] = {}
"""The best score of a table by brute force, for each score and seed of the table."""


@every_score
@pytest.mark.parametrize("method", ["branching", "exact", "gadget", "t-local"])
@pytest.mark.parametrize("seed", [0])
def test_augmentation_finds_the_best_solution(score, method, seed):
    data = random_table(np.random.default_rng(seed), 3, 10, 4)
    known = properties(score, Domain.of(data.cardinalities, data.row_weights))
    if method == "branching" and not known.rises:
        with pytest.raises(
            OptionError, match=f"'{score.name}' lacks .* 'gadget' or 't-local'"
        ):
            augment(data, score, method=method)
        return
    found = augment(data, score, method=method, t=4)
    if (id(score), seed) not in BEST:
        BEST[id(score), seed] = max(
            best_per_completion(data, score, FamilyRules(3)).values()
        )
    assert found.score == pytest.approx(BEST[id(score), seed], rel=1e-9, abs=1e-9)
    found.check_score(data, score, FamilyRules(3))


@every_score
def test_weighted_rows_are_augmented(score):
    data = random_table(np.random.default_rng(5), 3, 10, 4)
    weights = np.random.default_rng(0).random(10) + 0.5
    data = make(data.codes, data.cardinalities, weights)
    found = augment(data, score, method="t-local", t=4)
    best = max(best_per_completion(data, score, FamilyRules(3)).values())
    assert found.score == pytest.approx(best, rel=1e-9, abs=1e-9)


class Root(Score):
    """Equal rows score more apart: the score is concave."""

    name = "root"

    def cell(self, counts, r, q):
        return np.sqrt(counts)

    def configuration(self, counts, r, q):
        return np.zeros_like(counts)


@pytest.mark.parametrize("method", ["exact", "gadget"])
def test_rows_that_were_merged_are_not_called_optimal(method):
    data = make([[0, -1]] * 3 + [[1, 0]] * 2 + [[0, 1]], (2, 2))
    merged = merge_rows([data])
    best = max(best_per_completion(data, Root(), FamilyRules(1)).values())
    assert augment(data, Root(), method=method, max_parents=1).score == pytest.approx(
        best
    )
    with pytest.raises(
        DataError, match=r"row 1 .*weight 3, and the score 'root' is not convex"
    ):
        augment(merged, Root(), method=method, max_parents=1)
    again = augment(merged.written_out(), Root(), method=method, max_parents=1)
    assert again.score == pytest.approx(best)
    climbed = augment(merged, Root(), method="t-local", t=5, max_parents=1)
    assert climbed.score < best - 0.01
    assert climbed.status == "t-local"
    assert "those they stand for may score more" in climbed.message
    convex = augment(merged, BDeu(1), method=method, max_parents=1)
    assert convex.score == pytest.approx(augment(data, BDeu(1), max_parents=1).score)
    assert convex.status == "optimal"
    assert (
        learn(merged, score=Root(), missing="augment", max_parents=1).status
        == "t-local"
    )


def test_what_is_known_of_scores():
    """Bounds hold for K2 and FNML as for BDeu; entropy bounds for likelihoods only."""
    domain = Domain.of(np.array([2, 3, 5]), np.ones(200))
    for score in (BDeu(1), BDeu(100), K2()):
        known = properties(score, domain)
        assert known.falls
        assert known.rises
        assert not known.has_entropy
        assert is_convex(score, domain)
        assert known.rates == pytest.approx({r: -math.log(r) for r in (2, 3, 5)})
    for score in (BIC(), AIC(), PenalisedLikelihood(0.3)):
        known = properties(score, domain)
        assert known.has_entropy
        assert known.rates == {2: 0.0, 3: 0.0, 5: 0.0}
        assert is_convex(score, domain)
    assert max(properties(FNML(), domain).rates.values()) < 0
    known = properties(Concave(), domain)
    assert not known.falls
    assert not known.rises
    assert not is_convex(Concave(), domain)
    assert known.rates == dict.fromkeys((2, 3, 5), math.inf)


@every_score
@pytest.mark.parametrize(
    "weights", [[50.0] * 3, [3e4, 2e6, 7.0], [0.3, 1e4, 2.7]], ids=str
)
def test_tabulated_functions_equal_the_score(score, weights):
    """At whole counts in and beyond the table, and between them where weights ask for it."""
    states, weights = np.array([2, 3, 4]), np.array(weights)
    found = TermTables(score, states, weights)
    terms = found.covering([1.0, 2.0, 12.0, 24.0, 2.0**60])
    counts = weights.sum() * np.array([1e-5, 1e-3, 0.1, 0.3, 0.77, 1.0])
    counts = (
        counts
        if not found.domain.is_whole
        else np.unique(np.maximum(1.0, np.floor(counts)))
    )
    for r in states.tolist():
        for form, number in (
            (Form(True, r), terms.cell[r]),
            (Form(False, r), terms.configuration[r]),
        ):
            for i, size in enumerate(terms.sizes.tolist()):
                if form.fits(size):
                    wanted = form(score, counts, size)
                    row = int(terms.function[i, number])
                    values = [value(terms.functions, row, float(n)) for n in counts]
                    np.testing.assert_allclose(values, wanted, rtol=1e-12, atol=1e-11)


def test_scores_that_are_not_numbers_or_not_smooth_are_refused():
    class Infinite(K2):
        name = "infinite"

        def cell(self, counts, r, q):
            with np.errstate(divide="ignore"):
                return np.log(counts)

    class Stepped(K2):
        name = "stepped"

        def cell(self, counts, r, q):
            return super().cell(np.floor(counts), r, q)

    data = dependent_data(3)
    with pytest.raises(OptionError, match=r"'infinite': cell\(counts, r=.* not finite"):
        score_family(data, 0, (), Infinite())
    with pytest.raises(OptionError, match=r"'infinite': cell\(counts, r=.* not finite"):
        candidate_parent_sets(data, Infinite())
    assert candidate_parent_sets(data, Stepped()).n_candidates
    halves = make(data.codes, data.cardinalities, np.full(data.n_rows, 0.5))
    with pytest.raises(OptionError, match=r"'stepped': cell.* is not smooth"):
        candidate_parent_sets(halves, Stepped())


def test_what_is_no_score_is_refused():
    class NoScore:
        name = "none"

    with pytest.raises(TypeError, match="subclass of Score"):
        candidate_parent_sets(dependent_data(3), NoScore())
    with pytest.raises(TypeError, match="abstract"):
        Score()


def test_a_score_that_may_change_is_looked_at_anew():
    """A dataclass that is not frozen has no hash."""

    @dataclass
    class Penalised(Jeffreys):
        weight: float = 0.0

        def penalty(self, r, q, rows):
            return super().penalty(r, q, rows) + self.weight * q

    data = random_table(np.random.default_rng(1), 4, 40, 0)
    score = Penalised()
    for weight in (0.0, 5.0):
        score.weight = weight
        problem = candidate_parent_sets(data, score, max_parents=2)
        for v in range(4):
            for parents, found in problem.candidates(v):
                assert found == pytest.approx(score_family(data, v, parents, score))
