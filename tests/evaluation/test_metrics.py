"""Imputation accuracy against counting by hand, and means with their errors."""

from math import inf, isnan, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError
from exactlearn.evaluation.metrics import Mean, imputation_accuracy

NAMES, STATES = ("a", "b"), (("no", "yes"), ("x", "y", "z"))


def table(rows, names=NAMES, states=STATES, **more):
    return Dataset(np.array(rows, np.int8).reshape(len(rows), len(names)), names, states, **more)


@st.composite
def completed_tables(draw):
    """Draw a true table, one with holes in it, and values for the holes."""
    n = draw(st.integers(1, 6))
    cells = st.tuples(st.integers(0, 1), st.integers(0, 2))
    truth = np.array(draw(st.lists(cells, min_size=n, max_size=n)), np.int8)
    hidden = np.array(
        draw(st.lists(st.lists(st.booleans(), min_size=2, max_size=2), min_size=n, max_size=n))
    )
    holes = np.where(hidden, -1, truth).astype(np.int8)
    values = [draw(st.integers(0, 1 + v)) for _, v in np.argwhere(hidden)]
    return truth, holes, values


@settings(deadline=None)
@given(completed_tables(), st.permutations([0, 1]), st.permutations([0, 1, 2]))
def test_accuracy_is_the_share_of_right_cells_whatever_the_order_of_names(case, order, coding):
    truth, holes, values = case
    incomplete = table(holes)
    filled = incomplete.complete(values).codes if values else incomplete.codes
    hidden = holes < 0
    # The true table names the same states, in another order of columns and states.
    recoded = truth.copy()
    recoded[:, 1] = np.argsort(coding)[truth[:, 1]]
    states = (STATES[0], tuple(STATES[1][k] for k in coding))
    known = table(
        recoded[:, order], tuple(NAMES[j] for j in order), tuple(states[j] for j in order)
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
        (table([[0, 0], [0, 1]]), r"row 2 \(index 1\), column 'b': the true table differs"),
        (table([[0, -1], [0, 0]]), r"row 1 \(index 0\), column 'b': the true table differs"),
        (table([[0], [0]], ("b",), (("x",),)), "has no column 'a'"),
        (table([[0, 0], [0, 0]], edges={"a": (1.0,)}), "other bins"),
    ],
)
def test_another_table_is_refused(truth, message):
    incomplete = table([[-1, 0], [0, 0]], edges={"a": (2.0,)} if truth.edges else {})
    with pytest.raises(DataError, match=message):
        imputation_accuracy(incomplete, [0], truth)


def test_means_leave_out_what_is_not_known():
    assert Mean.of([2.0, 4.0, nan, inf]) == Mean(3.0, 1.0)
    assert isnan(Mean.of([2.0]).error)
    assert isnan(Mean.of([]).value)
