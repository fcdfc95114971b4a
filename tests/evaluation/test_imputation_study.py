"""The protocol of imputers: paired cells, the level of its test, and what is kept."""

from functools import partial
from itertools import product
from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError
from exactlearn.evaluation.metrics import ClusteredTest, JudgedCells
from exactlearn.evaluation.study import (
    Condition,
    ImputationStudy,
    Study,
    ahead,
    method_rows,
)
from exactlearn.imputation.learning import Imputed

ROWS = 60


def drawn(seed):
    """Return a table of two equal columns, with cells of the second hidden, and the whole."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, ROWS)
    full = Dataset(np.column_stack([first, first]), ("a", "b"), (("no", "yes"),) * 2)
    codes = full.codes.copy()
    codes[rng.random(ROWS) < 0.4, 1] = -1
    codes[0, 1] = -1
    return Dataset(codes, full.names, full.states), full


def complete(rightly, table, seed):
    """Copy the first column with some probability of the right state, or its opposite."""
    rng = np.random.default_rng(seed)
    right = table.codes[table.missing_cells[:, 0], 0]
    values = np.where(rng.random(len(right)) < rightly, right, 1 - right)
    likely = np.full((len(values), 2), 1 - max(rightly, 0.6))
    likely[np.arange(len(values)), values] = max(rightly, 0.6)
    return Imputed(values=values, probabilities=likely)


def refuse(table, seed):
    raise OptionError("not this table")


def study(seeds=(0, 1), is_redrawn=False, **methods):
    condition = Condition(
        table="copy", hidden="some", draw=drawn, is_redrawn=is_redrawn
    )
    return ImputationStudy(conditions=[condition], methods=methods, seeds=seeds)


def done(one, jobs=1, path=None):
    runs = Study(one.runs(), path, jobs)
    runs.run()
    return one.repetitions(runs, one.conditions[0])


GOOD, FAIR, BAD = (partial(complete, rightly) for rightly in (0.95, 0.8, 0.3))


@pytest.mark.parametrize("jobs", [1, 2])
def test_all_methods_complete_the_same_cells(tmp_path, jobs):
    one = study(good=GOOD, bad=BAD)
    runs = done(one, jobs, tmp_path / "record.json")
    assert len(runs) == 2
    for seed, run in enumerate(runs):
        incomplete, truth = drawn(seed)
        for method, work in (("good", GOOD), ("bad", BAD)):
            found = work(incomplete, seed)
            cells = JudgedCells.of(incomplete, found.values, truth, found.probabilities)
            assert run[method]["cells"] == len(incomplete.missing_cells)
            assert run[method]["accuracy"] == cells.accuracy
            assert run[method]["log_loss"] == pytest.approx(cells.log_loss)
            right, losses = (np.array(run[method][key]) for key in ("right", "losses"))
            assert len(right) == len(losses) == ROWS
            assert right.sum() == cells.right.sum()
            assert losses.sum() / len(cells.rows) == pytest.approx(
                cells.log_loss, rel=1e-3
            )


def test_a_failed_method_has_no_figures():
    """A table that no method completes does not count."""
    runs = done(study(wrong=refuse, good=GOOD))
    (condition,) = study().conditions
    rows = list(method_rows(condition, runs))
    assert [isnan(row["accuracy"]) for row in rows] == [True, False]
    assert done(study(wrong=refuse)) == []


def test_a_repetition_that_is_not_whole_does_not_count():
    one = study(good=GOOD, fair=FAIR)
    runs = Study(one.runs()[1:])  # without the first method's first repetition
    runs.run()
    assert len(one.repetitions(runs, one.conditions[0])) == 1
    runs.done[runs.runs[-1].title]["unfinished"] = True
    assert one.repetitions(runs, one.conditions[0]) == []


def test_the_better_method_is_ahead():
    runs = done(study(good=GOOD, fair=FAIR, bad=BAD))
    (condition,) = study().conditions
    rows = list(method_rows(condition, runs))
    assert [row["method"] for row in rows] == ["good", "fair", "bad"]
    assert rows[0]["p_value"] == rows[0]["loss_p_value"] == 1
    assert ahead(runs, "bad", "good", "log_loss").difference < 0
    assert rows[2]["difference"] < 0 < rows[2]["loss_difference"]
    assert rows[2]["significant"]


def test_redrawn_rows_are_not_repetitions_of_a_row():
    """Of 60 rows that both repetitions have, or of 120."""
    for is_redrawn in (False, True):
        runs = done(study(is_redrawn=is_redrawn, good=GOOD, fair=FAIR))
        own = [np.subtract(run["good"]["right"], run["fair"]["right"]) for run in runs]
        sums = np.concatenate(own) if is_redrawn else np.sum(own, axis=0)
        expected = compared([sums], sum(run["good"]["cells"] for run in runs))
        assert ahead(runs, "good", "fair", "accuracy") == expected


def test_a_cell_that_the_truth_misses_is_not_judged():
    names, states = ("a",), (("x", "y"),)
    holes = Dataset(np.array([[-1], [-1], [0]]), names, states)
    truth = Dataset(np.array([[1], [-1], [0]]), names, states)
    found = JudgedCells.of(holes, [1, 0], truth, np.array([[0.2, 0.8], [1.0, 0.0]]))
    assert (found.rows.tolist(), found.right.tolist()) == ([0], [True])
    assert found.log_loss == pytest.approx(-np.log(0.8))


def compared(differences, cells, units=None):
    """Compare methods on the same rows in all repetitions, if these are not named."""
    same = [range(len(own)) for own in differences]
    return ClusteredTest.of(differences, cells, same if units is None else units)


class TestClusteredTest:
    @given(st.lists(st.integers(-3, 3), min_size=1, max_size=8))
    def test_few_rows_have_all_signs_enumerated(self, sums):
        found = compared([np.array(sums, float)], 10)
        signed = [sum(s * d for s, d in zip(signs, sums, strict=True))
                  for signs in product((-1, 1), repeat=len(sums))]  # fmt: skip
        assert found.p_value == pytest.approx(
            np.mean([abs(x) >= abs(sum(sums)) for x in signed])
        )
        assert found.difference == sum(sums) / 10

    def test_repetitions_of_a_row_are_one_unit(self):
        rng = np.random.default_rng(0)
        first, second = rng.normal(size=(2, 40))
        both = compared([first, second], 80)
        assert both == compared([first + second], 80)
        assert compared([first, -first], 80) == ClusteredTest(0.0, 1.0)

    def test_rows_of_different_names_are_different_units(self):
        """The second repetition drew row 0 again, at position 1, and two new rows."""
        first, second = np.array([2.0, -1.0]), np.array([1.0, 3.0, 1.0])
        found = compared([first, second], 5, units=[[0, 1], [7, 0, 8]])
        assert found == compared([np.array([5.0, -1.0, 1.0, 1.0])], 5)

    def test_without_cells_nothing_is_known(self):
        found = ClusteredTest.of([], 0, [])
        assert isnan(found.p_value)
        assert not found.significant

    @pytest.mark.parametrize("rows", [25, 300])
    def test_its_level_is_right_where_cells_of_a_row_go_together(self, rows):
        """In each row one of the methods is better, in both repetitions; a test by cells is wrong.

        Of 2,000 tables 5 % are rejected, within four standard errors.
        """
        rng, rejected, by_cells = np.random.default_rng(1), 0, 0
        for _ in range(2000):
            better = rng.choice((-1, 1), rows)
            cells = rng.binomial(4, 0.5, (2, rows)).astype(float)
            found = compared(list(cells * better), int(cells.sum()))
            rejected += found.significant
            by_cells += abs((cells * better).sum()) > 1.96 * np.sqrt(cells.sum())
        assert rejected / 2000 == pytest.approx(0.05, abs=0.02)
        assert by_cells / 2000 > 0.2
