"""Imputation accuracy against counting by hand, means with their errors, and divergences."""

from math import inf, isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, TooLargeError
from exactlearn.evaluation import metrics
from exactlearn.evaluation.metrics import JudgedCells, Mean, divergence
from exactlearn.pdg.compile.compile import compile_network
from tests.network_oracle import joint, random_network

NAMES, STATES = ("a", "b"), (("no", "yes"), ("x", "y", "z"))


def table(rows, names=NAMES, states=STATES, **more):
    return Dataset(
        np.array(rows, np.int8).reshape(len(rows), len(names)), names, states, **more
    )


def imputation_accuracy(incomplete, values, truth):
    return JudgedCells.of(incomplete, values, truth).accuracy


@st.composite
def completed_tables(draw):
    """Draw a true table, one with holes in it, and values for the holes."""
    n = draw(st.integers(1, 6))
    cells = st.tuples(st.integers(0, 1), st.integers(0, 2))
    truth = np.array(draw(st.lists(cells, min_size=n, max_size=n)), np.int8)
    hidden = np.array(
        draw(
            st.lists(
                st.lists(st.booleans(), min_size=2, max_size=2), min_size=n, max_size=n
            )
        )
    )
    holes = np.where(hidden, -1, truth).astype(np.int8)
    values = [draw(st.integers(0, 1 + v)) for _, v in np.argwhere(hidden)]
    return truth, holes, values


@given(completed_tables(), st.permutations([0, 1]), st.permutations([0, 1, 2]))
def test_accuracy_is_the_proportion_of_correct_cells(case, order, coding):
    """The order of names and of states does not matter."""
    truth, holes, values = case
    incomplete = table(holes)
    filled = incomplete.complete(values).codes if values else incomplete.codes
    hidden = holes < 0
    # The true table names the same states, in another order of columns and states.
    recoded = truth.copy()
    recoded[:, 1] = np.argsort(coding)[truth[:, 1]]
    states = (STATES[0], tuple(STATES[1][k] for k in coding))
    known = table(
        recoded[:, order],
        tuple(NAMES[j] for j in order),
        tuple(states[j] for j in order),
    )
    accuracy = imputation_accuracy(incomplete, values, known)
    if hidden.any():
        assert accuracy == pytest.approx((filled == truth)[hidden].mean())
    else:
        assert isnan(accuracy)


def test_a_true_state_that_no_observed_cell_has_counts_as_wrong():
    incomplete = table([[-1, 0], [0, 0]], states=(("no",), ("x",)))
    truth = table([[1, 0], [0, 0]], states=(("no", "yes"), ("x",)))
    assert imputation_accuracy(incomplete, [0], truth) == 0


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        (table([[0, 0]]), "has 1 rows, the incomplete one 2"),
        (
            table([[0, 0], [0, 1]]),
            r"row 2 \(index 1\), column 'b': the true table differs",
        ),
        (
            table([[0, -1], [0, 0]]),
            r"row 1 \(index 0\), column 'b': the true table differs",
        ),
        (table([[0], [0]], ("b",), (("x",),)), "has no column 'a'"),
    ],
)
def test_another_table_is_refused(truth, message):
    incomplete = table([[-1, 0], [0, 0]])
    with pytest.raises(DataError, match=message):
        imputation_accuracy(incomplete, [0], truth)


def test_means_leave_out_what_is_not_known():
    assert Mean.of([2.0, 4.0, nan, None]) == Mean(3.0, 1.0)
    assert (Mean.of([2.0, -inf]).value, isnan(Mean.of([2.0, -inf]).error)) == (
        -inf,
        True,
    )
    assert isnan(Mean.of([2.0]).error)
    assert isnan(Mean.of([]).value)


@pytest.fixture
def too_large(monkeypatch):
    def refuse(p, q):
        raise TooLargeError("too many cells")

    monkeypatch.setattr(metrics, "kl_divergence", refuse)
    monkeypatch.setattr(metrics, "SAMPLES", 500)


@pytest.mark.usefixtures("too_large")
def test_intervals_of_sampled_divergences_have_nominal_coverage():
    rng = np.random.default_rng(0)
    p = random_network(rng, 4, most_states=2)
    q = random_network(rng, 4, most_states=2)
    one, other = joint(p), joint(q)
    exact = (one * np.log(one / other)).sum()
    graph = compile_network(q, steps=0)
    for reference, model in ((p, q), (p, graph), (compile_network(p, steps=0), q)):
        found = [divergence(reference, model, seed=s) for s in range(200)]
        assert {each.method for each in found} == {"sampled"}
        covered = sum(each.interval[0] <= exact <= each.interval[1] for each in found)
        assert 175 <= covered <= 200
        assert np.mean([each.value for each in found]) == pytest.approx(exact, rel=0.05)


@pytest.mark.usefixtures("too_large")
def test_a_sampled_row_of_probability_zero_proves_infinity():
    """The divergence is infinite then, not an estimate."""
    p = random_network(np.random.default_rng(1), 3, most_states=2)
    excluding = type(p)(
        p.names, p.states, ((),) * 3, tuple(np.array([0.0, 1.0]) for _ in range(3))
    )
    found = divergence(p, excluding)
    assert (found.value, found.method, found.interval) == (inf, "sampled", (inf, inf))
