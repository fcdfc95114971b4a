"""Scores of expected counts can be compared: constraints do not change the counts."""

import numpy as np
import pytest

import exactlearn as el
from exactlearn.errors import OptionError
from exactlearn.solvers.constraints import ForbiddenAdjacency
from exactlearn.structure.learned_counts import learned_counts
from tests.command_line import invoke

TABLE = el.read_dataset("asia-mnar").part(slice(60))
SCORE_TOLERANCE = 1e-9


def holed(seed: int) -> el.Dataset:
    """Return rows of a chain of four variables with a fifth of the cells missing."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 2, 80)]
    for _ in range(3):
        columns.append(columns[-1] ^ (rng.random(80) < 0.3))
    codes = np.column_stack(columns)
    codes[rng.random(codes.shape) < 0.2] = -1
    return el.Dataset(codes, tuple("abcd"), (("no", "yes"),) * 4)


@pytest.mark.parametrize("seed", range(4))
def test_no_constraint_raises_the_score(seed):
    table = holed(seed)
    free = el.learn(table)
    limits = [{"forbidden": [arc]} for arc in free.arcs]
    limits += [
        {"required": [("d", "a")]},
        {"tiers": [["d", "c"], ["b", "a"]]},
        {"constraints": [ForbiddenAdjacency(0, 1)]},
    ]
    for limit in limits:
        assert el.learn(table, **limit).score <= free.score + SCORE_TOLERANCE


def test_forbidding_an_absent_arc_keeps_the_score():
    free = el.learn(TABLE, max_parents=2)
    absent = ("asia", "dysp")
    assert absent not in free.arcs
    again = el.learn(TABLE, max_parents=2, forbidden=[absent])
    assert again.score == pytest.approx(free.score, abs=SCORE_TOLERANCE)
    assert again.counts_network == free.counts_network


def test_counts_of_an_earlier_result_are_taken_again():
    earlier = el.learn(TABLE, max_parents=1)
    later = el.learn(TABLE, max_parents=2, counts=earlier)
    assert later.counts_network == earlier.counts_network
    assert later.score >= earlier.score - SCORE_TOLERANCE
    by_network = el.learn(TABLE, max_parents=2, counts=earlier.counts_network)
    assert by_network.score == pytest.approx(later.score, abs=SCORE_TOLERANCE)


def test_counts_that_cannot_be_compared_are_refused():
    earlier = el.learn(TABLE, max_parents=1)
    with pytest.raises(
        OptionError, match=r"counts: expected a result .* the same table"
    ):
        el.learn(TABLE.part(slice(50)), counts=earlier)
    with pytest.raises(
        OptionError, match="counts: for missing='expected', found 'f-mar'"
    ):
        el.learn(TABLE, counts=earlier, missing="f-mar")
    deleted = el.learn(TABLE, max_parents=1, missing="f-mar")
    with pytest.raises(
        OptionError, match=r"counts: expected a result .* found one with 'f-mar'"
    ):
        el.learn(TABLE, counts=deleted)


def test_the_status_says_what_it_is_for():
    assert "status='optimal for expected counts'" in repr(
        el.learn(TABLE, max_parents=1)
    )
    deleted = el.learn(TABLE, max_parents=1, missing="f-mar")
    assert "status='optimal for counts by f-mar'" in repr(deleted)
    assert deleted.status == "optimal"
    complete = TABLE.part(TABLE.complete_rows)
    assert "status='optimal'," in repr(el.learn(complete, max_parents=1))
    assert "optimal (proven) for expected counts" in invoke("solve", "asia-mnar").stdout
    assert "for expected" not in invoke("solve", "asia-mnar-complete").stdout


@pytest.mark.parametrize(
    "limits", [{"forbidden": [(0, 1), (1, 0)]}, {"required": [(3, 0)]}]
)
def test_without_time_the_families_satisfy_the_constraints(limits):
    table = holed(0)
    learned = learned_counts(table)
    problem = learned.problem(table, el.BDeu(), **limits)
    network = el.solve(problem).parents
    arcs = {
        (parent, child) for child, family in enumerate(network) for parent in family
    }
    assert arcs.issuperset(limits.get("required", ()))
    assert arcs.isdisjoint(limits.get("forbidden", ()))
