"""Search over equivalence classes, against all members of the classes and all single arcs."""

import functools
import itertools
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exactlearn as el
from exactlearn._runtime import control
from exactlearn.graphs.boundary import inclusion_boundary, inclusion_boundary_size
from exactlearn.graphs.equivalence import cpdag
from exactlearn.scoring.properties import Domain, is_equivalent
from exactlearn.scoring.scores import score_family
from exactlearn.scoring.set_values import SetValues
from exactlearn.structure import equivalence_search as equivalence
from exactlearn.structure.class_moves import (
    ASKED,
    EITHER,
    MISSING,
    Rules,
    find_moves,
    keep_valid,
    new_state,
    take,
)
from exactlearn.structure.equivalence_search import equivalence_search
from tests.brute_force import is_acyclic
from tests.interrupts import press_ctrl_c
from tests.own_scores import K2
from tests.scoring_oracle import dependent_data
from tests.strategies import datasets

SCORES = [el.BDeu(2.0), el.BIC(), el.AIC(), el.PenalisedLikelihood(0.3)]


def network_score(data, parents, score):
    return sum(score_family(data, v, tuple(family), score) for v, family in enumerate(parents))


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


def boundary(state, values, stack):
    """Let the kernels list all moves; return those of different classes."""
    rules = Rules(EITHER, 1.0, values.n, -inf, 1)
    while find_moves(state, values.known, rules) == MISSING:
        stack = values.add(state.asked[: state.numbers[ASKED]].copy(), stack)
    return state.valid[: keep_valid(state)].copy(), stack


def parents_of(state):
    return [tuple(np.flatnonzero(column).tolist()) for column in state.dag.T]


@settings(max_examples=25)
@given(data=datasets(variables=(1, 5), rows=(3, 30)), seed=st.integers(0, 99), which=st.data())
def test_moves_lead_to_the_inclusion_boundary_and_gain_what_the_scores_say(data, seed, which):
    score, rng = which.draw(st.sampled_from(SCORES)), np.random.default_rng(seed)
    values = SetValues(data, score)
    state, stack = new_state(data.n_variables, 1, 64), values.new_stack(2)
    for _ in range(6):
        moves, stack = boundary(state, values, stack)
        parents = parents_of(state)
        before, expected = network_score(data, parents, score), neighbours(parents)
        found = {}
        for m in moves:
            there = type(state)(*(array.copy() for array in state))
            take(there, m)
            assert is_acyclic(tuple(parents_of(there)))
            reached = cpdag(parents_of(there))
            assert reached not in found
            found[reached] = state.gains[m]
            marked = {(int(a), int(b)) for a, b in np.argwhere(there.graph)}
            assert {arc for arc in marked if arc[::-1] not in marked} == reached.directed
            assert {(a, b) for a, b in marked if a < b and (b, a) in marked} == reached.undirected
        assert found.keys() == expected.keys()
        for reached, member in expected.items():
            gain = network_score(data, member, score) - before
            assert found[reached] == pytest.approx(gain, abs=1e-7)
        if len(moves) == 0:
            return
        take(state, rng.choice(moves))


def test_moves_are_those_of_the_readable_operators_on_larger_graphs():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 2, (20, 9))
    data = el.Dataset(codes, tuple(f"v{v}" for v in range(9)), (("n", "y"),) * 9)
    values = SetValues(data, el.BIC())
    state, stack = new_state(9, 1, 4096), values.new_stack()
    for _ in range(30):
        moves, stack = boundary(state, values, stack)
        parents, added = parents_of(state), 0
        found = {cpdag(member) for member in inclusion_boundary(parents)}
        for m in moves:
            there = type(state)(*(array.copy() for array in state))
            take(there, m)
            found.discard(cpdag(parents_of(there)))
            added += there.dag.sum() > state.dag.sum()
        assert not found
        assert (added, len(moves) - added) == inclusion_boundary_size(parents)
        inserts = [m for m in moves if not state.graph[tuple(sorted(state.ends[m]))]]
        take(state, rng.choice(inserts if len(inserts) and rng.random() < 0.6 else moves))


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
def test_two_phases_on_more_variables_end_where_the_readable_operators_do(seed):
    data, score = dependent_data(seed, n=7), el.AIC()
    known = functools.cache(lambda child, family: score_family(data, child, family, score))
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
def test_kes_ends_in_local_optima_that_no_exact_optimum_falls_below(greediness):
    data = dependent_data(3, n=5)
    score = el.BIC()
    found = equivalence_search(data, score, method="kes", greediness=greediness, restarts=30)
    best = el.solve(el.candidate_parent_sets(data, score, max_parents=None))
    assert sum(optimum.starts for optimum in found.optima) == len(found.scores) == 30
    assert max(found.scores) == found.score <= best.score + 1e-9
    for optimum in found.optima:
        assert optimum.score == pytest.approx(network_score(data, optimum.parents, score))
        beyond = best_of_boundary(data, score, lambda change: True, optimum.parents)[0]
        assert beyond <= optimum.score + 1e-6


def test_results_depend_on_the_seed_only():
    data = el.read_network(el_bif("asia")).sample(300, np.random.default_rng(0))
    keywords = {"method": "kes", "greediness": 0.3, "restarts": 24}
    one = equivalence_search(data, el.BDeu(), threads=1, seed=5, **keywords)
    two = equivalence_search(data, el.BDeu(), threads=2, seed=5, **keywords)
    other = equivalence_search(data, el.BDeu(), seed=6, **keywords)
    assert one.scores == two.scores != other.scores
    assert [o.parents for o in one.optima] == [o.parents for o in two.optima]


def el_bif(name):
    from importlib.resources import files

    return files("exactlearn") / "instances" / f"{name}.bif"


def test_ges_finds_the_class_of_a_distribution_with_many_rows():
    network = el.read_network(el_bif("survey"))
    data = network.sample(200_000, np.random.default_rng(1))
    assert equivalence_search(data, el.BIC()).cpdag.graph == cpdag(network.parents)


def test_more_variables_than_a_word_has_bits_and_families_larger_than_the_first_stack():
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
    with pytest.raises(el.ExactlearnError, match="tells Markov equivalent networks apart"):
        equivalence_search(data, K2())
    domain = Domain.of(data.cardinalities, data.row_weights)
    assert all(is_equivalent(score, domain) for score in SCORES)


def test_bad_input_is_refused():
    data = dependent_data(1, n=3)
    gone = el.Dataset(np.where(data.codes == 0, -1, data.codes), data.names, data.states)
    with pytest.raises(el.ExactlearnError, match=r"cells are missing.*augment"):
        equivalence_search(gone, el.BIC())
    for wrong in ({"method": "pc"}, {"phases": 3}, {"greediness": 2.0}, {"restarts": 0}):
        with pytest.raises(el.ExactlearnError, match="expected"):
            equivalence_search(data, el.BIC(), **wrong)


def test_the_time_limit_keeps_the_best_so_far():
    data = dependent_data(2, n=5)
    found = equivalence_search(data, el.BIC(), method="kes", restarts=10**6, time_limit=0.5)
    assert found.status == "feasible"
    assert found.parents is not None
    assert "starts were done" in found.message
    none = equivalence_search(data, el.BIC(), time_limit=0.0)
    assert none.status == "feasible"
    assert none.parents == ((),) * 5


def test_an_interrupt_keeps_the_best_so_far():
    data = dependent_data(2, n=5)
    found = equivalence_search(data, el.BIC(), method="kes", restarts=10**6, on_event=press_ctrl_c)
    assert found.status == "interrupted"
    assert found.parents is not None


def test_a_long_start_reports_the_network_it_has_reached(monkeypatch):
    monkeypatch.setattr(control, "STEADY", 0.0)
    data, events = dependent_data(2, n=6), []
    monkeypatch.setattr(equivalence, "STEPS_TO_LOOK", 1)
    found = equivalence_search(data, el.BIC(), on_event=events.append)
    assert [event.score for event in events] == sorted(event.score for event in events)
    assert len({event.score for event in events}) == found.steps[0] + 1
    for event in events:
        assert event.score == pytest.approx(network_score(data, event.parents, el.BIC()))


def test_a_result_that_disagrees_with_the_table_does_not_pass_its_check():
    data = dependent_data(2, n=4)
    found = equivalence_search(data, el.BIC())
    with pytest.raises(el.ExactlearnError, match="the score of the network is"):
        replace(found, score=found.score + 1).check(data, el.BIC())
