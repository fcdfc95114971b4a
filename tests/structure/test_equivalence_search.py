"""Search over equivalence classes, against all members of the classes and all single arcs."""

import copy
import functools
import itertools
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import exactlearn as el
from exactlearn._runtime import control
from exactlearn.graphs.boundary import (
    ClassLinks,
    inclusion_boundary,
    operators,
)
from exactlearn.graphs.equivalence import consistent_extension, cpdag
from exactlearn.scoring.properties import Domain, is_equivalent
from exactlearn.scoring.scores import score_family
from exactlearn.scoring.set_sums import SetValues
from exactlearn.structure import equivalence_search as search_module
from exactlearn.structure.equivalence_search import (
    ClassClimb,
    Rules,
    equivalence_search,
)
from tests.brute_force import is_acyclic
from tests.interrupts import press_ctrl_c
from tests.own_scores import K2
from tests.scoring_oracle import dependent_data
from tests.strategies import datasets

SCORES = [el.BDeu(2.0), el.BIC(), el.AIC(), el.PenalisedLikelihood(0.3)]


def network_score(data, parents, score):
    return sum(
        score_family(data, v, tuple(family), score) for v, family in enumerate(parents)
    )


def neighbours(parents):
    """Return a member of each class of the inclusion boundary: of all members, all single arcs."""
    found = {}
    for member in cpdag(parents).members():
        for child, family in enumerate(member):
            for p in range(len(member)):
                if p != child:
                    changed = list(member)
                    changed[child] = tuple(sorted(set(family) ^ {p}))
                    if is_acyclic(tuple(changed)):
                        found.setdefault(cpdag(changed), tuple(changed))
    return found


@pytest.fixture
def any_gain(monkeypatch):
    """Let moves gain anything."""
    monkeypatch.setattr(search_module, "MIN_GAIN", -inf)


def boundary(climb):
    """Return a move to each class of the boundary."""
    assert climb.find_moves(
        Rules(True, True, 1.0, len(climb.parents)), control.UNLIMITED
    )
    return list(climb.classes())


@pytest.mark.usefixtures("any_gain")
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=datasets(variables=(1, 5), rows=(3, 30)),
    seed=st.integers(0, 99),
    which=st.data(),
)
def test_moves_reach_the_inclusion_boundary_with_exact_gains(data, seed, which):
    score, rng = which.draw(st.sampled_from(SCORES)), np.random.default_rng(seed)
    climb = ClassClimb(SetValues(data, score), data.n_rows)
    for _ in range(6):
        moves, parents = boundary(climb), climb.parents
        before, expected = network_score(data, parents, score), neighbours(parents)
        found = {}
        for move in moves:
            there = copy.copy(climb)
            there.apply(move)
            assert is_acyclic(there.parents)
            assert there.graph == cpdag(there.parents)
            assert there.graph not in found
            found[there.graph] = move.gain
        assert found.keys() == expected.keys()
        for reached, member in expected.items():
            gain = network_score(data, member, score) - before
            assert found[reached] == pytest.approx(gain, abs=1e-7)
        if not moves:
            return
        climb.apply(moves[rng.integers(len(moves))])


@pytest.mark.usefixtures("any_gain")
def test_moves_are_the_inclusion_boundary_on_larger_graphs():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 2, (20, 9))
    data = el.Dataset(codes, tuple(f"v{v}" for v in range(9)), (("n", "y"),) * 9)
    climb = ClassClimb(SetValues(data, el.BIC()), 20)
    for _ in range(30):
        moves = boundary(climb)
        inserts = [move for move in moves if move.operator.inserts]
        assert {move.operator for move in moves} == {
            *operators(ClassLinks(climb.graph))
        }
        chosen = inserts if len(inserts) and rng.random() < 0.6 else moves
        climb.apply(chosen[rng.integers(len(chosen))])


def best_of_boundary(data, score, wanted, parents):
    """Return the neighbour that scores most, of those with more or fewer arcs as wanted."""
    arcs = sum(map(len, parents))
    better = [
        (network_score(data, member, score), member)
        for member in neighbours(parents).values()
        if wanted(sum(map(len, member)) - arcs)
    ]
    return max(better, default=(-inf, parents))


def climbed(data, score, *phases):
    """Return the score where GES ends, by brute force."""
    parents = [()] * data.n_variables
    now = network_score(data, parents, score)
    for wanted in phases:
        while (best := best_of_boundary(data, score, wanted, parents))[0] > now + 1e-6:
            now, parents = best
    return now


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("score", [el.BDeu(1.0), el.BIC()], ids=["bdeu", "bic"])
def test_ges_ends_where_the_plain_one_does(seed, score):
    data = dependent_data(seed, n=4, weighted=(None, "whole", "real")[seed % 3])
    two, one = (equivalence_search(data, score, phases=phases) for phases in (2, 1))
    assert two.score == pytest.approx(
        climbed(data, score, lambda change: change > 0, lambda change: change < 0)
    )
    assert one.score == pytest.approx(climbed(data, score, lambda change: True))
    kes = equivalence_search(data, score, method="kes", greediness=1.0, restarts=2)
    assert kes.scores == (one.score, one.score)


@pytest.mark.parametrize("seed", range(8))
def test_two_phases_end_where_the_plain_operators_do(seed):
    """The plain operators enumerate the inclusion boundary, here of seven variables."""
    data, score = dependent_data(seed, n=7), el.AIC()
    known = functools.cache(
        lambda child, family: score_family(data, child, family, score)
    )
    parents = ((),) * 7
    for sign in (1, -1):
        while True:
            arcs = sum(map(len, parents))
            rated = [
                (sum(itertools.starmap(known, enumerate(map(tuple, member)))), member)
                for member in [parents, *inclusion_boundary(parents)]
                if sign * (sum(map(len, member)) - arcs) >= 0
            ]
            best = max(rated)
            if best[0] <= rated[0][0] + 1e-6:
                break
            parents = best[1]
    assert equivalence_search(data, score).score == pytest.approx(rated[0][0])


@pytest.mark.parametrize("greediness", [0.0, 0.5])
def test_kes_local_optima_never_exceed_the_exact_optimum(greediness):
    data = dependent_data(3, n=5)
    score = el.BIC()
    found = equivalence_search(
        data, score, method="kes", greediness=greediness, restarts=30
    )
    best = el.solve(el.candidate_parent_sets(data, score, max_parents=None))
    assert sum(starts for _, _, starts in found.classes) == len(found.scores) == 30
    assert max(found.scores) == found.score <= best.score + 1e-9
    for graph, optimum, _ in found.classes:
        parents = consistent_extension(graph)
        assert optimum == pytest.approx(network_score(data, parents, score))
        assert (
            best_of_boundary(data, score, lambda change: True, parents)[0]
            <= optimum + 1e-6
        )


def test_results_depend_on_the_seed_only():
    data = el.read_network(el_bif("asia")).sample(300, np.random.default_rng(0))
    keywords = {"method": "kes", "greediness": 0.3, "restarts": 24}
    one = equivalence_search(data, el.BDeu(), seed=5, **keywords)
    two = equivalence_search(data, el.BDeu(), seed=5, **keywords)
    other = equivalence_search(data, el.BDeu(), seed=6, **keywords)
    assert one.scores == two.scores != other.scores
    assert one.classes == two.classes


def el_bif(name):
    from importlib.resources import files

    return files("exactlearn") / "instances" / f"{name}.bif"


def test_ges_finds_the_class_of_a_distribution_with_many_rows():
    network = el.read_network(el_bif("survey"))
    data = network.sample(200_000, np.random.default_rng(1))
    assert equivalence_search(data, el.BIC()).cpdag.graph == cpdag(network.parents)


def test_many_variables_and_large_families_are_searched():
    """More than a word has bits, and families larger than the first stack."""
    rng = np.random.default_rng(2)
    causes = rng.integers(0, 2, (400, 8))
    noise = rng.integers(0, 2, (400, 31))
    codes = np.column_stack([causes, noise, causes.sum(axis=1) > 4])
    data = el.Dataset(codes, tuple(f"v{v}" for v in range(40)), (("n", "y"),) * 40)
    score = el.PenalisedLikelihood(0.05)
    found = equivalence_search(data, score)
    assert max(map(len, found.parents)) > 5
    few = equivalence_search(data, score, max_parents=1)
    assert few.score < found.score


def test_a_score_that_tells_members_of_a_class_apart_is_refused():
    data = dependent_data(1, n=3)
    with pytest.raises(
        el.ExactlearnError, match="tells Markov equivalent networks apart"
    ):
        equivalence_search(data, K2())
    domain = Domain.of(data.cardinalities, data.row_weights)
    assert all(is_equivalent(score, domain) for score in SCORES)


def test_bad_input_is_refused():
    data = dependent_data(1, n=3)
    gone = el.Dataset(
        np.where(data.codes == 0, -1, data.codes), data.names, data.states
    )
    with pytest.raises(el.ExactlearnError, match=r"cell is missing.*augment"):
        equivalence_search(gone, el.BIC())
    for wrong in (
        {"method": "pc"},
        {"phases": 3},
        {"greediness": 2.0},
        {"restarts": 0},
    ):
        with pytest.raises(el.ExactlearnError, match="expected"):
            equivalence_search(data, el.BIC(), **wrong)


def test_the_time_limit_keeps_the_best_so_far():
    data = dependent_data(2, n=5)
    found = equivalence_search(
        data, el.BIC(), method="kes", restarts=10**6, time_limit=0.5
    )
    assert found.status == "feasible"
    assert found.parents is not None
    assert "starts were done" in found.message
    none = equivalence_search(data, el.BIC(), time_limit=0.0)
    assert none.status == "feasible"
    assert none.parents == ((),) * 5


def test_an_interrupt_keeps_the_best_so_far():
    data = dependent_data(2, n=5)
    found = equivalence_search(
        data, el.BIC(), method="kes", restarts=10**6, on_event=press_ctrl_c
    )
    assert found.status == "interrupted"
    assert found.parents is not None


def test_a_long_start_reports_the_network_it_has_reached(monkeypatch):
    monkeypatch.setattr(control, "STEADY", 0.0)
    data, events = dependent_data(2, n=6), []
    found = equivalence_search(data, el.BIC(), on_event=events.append)
    assert [event.score for event in events] == sorted(event.score for event in events)
    assert len({event.score for event in events}) == found.steps[0] + 1
    for event in events:
        assert event.score == pytest.approx(
            network_score(data, event.parents, el.BIC())
        )


def test_a_result_that_disagrees_with_its_table_is_refused():
    data = dependent_data(2, n=4)
    found = equivalence_search(data, el.BIC())
    with pytest.raises(el.ExactlearnError, match="the score of the network is"):
        replace(found, score=found.score + 1).check(data, el.BIC())
