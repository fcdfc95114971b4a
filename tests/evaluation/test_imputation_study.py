"""The protocol of imputers: paired cells, the level of its test, verdicts, and what is kept."""

from functools import partial
from itertools import product
from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError
from exactlearn.evaluation.imputation_study import (
    Condition,
    Contender,
    ImputationStudy,
    ahead,
    method_rows,
    packed,
    summary,
    time_ratios,
    unpacked,
    verdict,
)
from exactlearn.evaluation.metrics import ClusteredTest, JudgedCells, holm
from exactlearn.evaluation.study import Record, Study
from exactlearn.imputation.imputed import Imputed

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


def without_probabilities(table, seed):
    return Imputed(values=np.zeros(len(table.missing_cells), np.int64))


def study(seeds=(0, 1), **methods):
    condition = Condition(table="copy", hidden="some", draw=drawn)
    contenders = {name: Contender(complete=work) for name, work in methods.items()}
    return ImputationStudy(conditions=[condition], contenders=contenders, seeds=seeds)


def done(one, jobs=1, path=None):
    record = Record.open(path, lambda title: None)
    Study(list(one.runs()), record, jobs).run()
    return one.repetitions(record, one.conditions[0])


GOOD, FAIR, BAD = (partial(complete, rightly) for rightly in (0.95, 0.8, 0.3))


@pytest.mark.parametrize("jobs", [1, 2])
def test_all_methods_complete_the_same_cells(tmp_path, jobs):
    one = study(good=GOOD, bad=BAD)
    runs = done(one, jobs, tmp_path / "record.json")
    assert len(runs) == 2
    for seed, run in enumerate(runs):
        incomplete, truth = drawn(seed)
        for method, work in (("good", GOOD), ("bad", BAD)):
            cells = JudgedCells.of(incomplete, work(incomplete, seed), truth)
            assert run[method]["cells"] == len(incomplete.missing_cells)
            assert run[method]["accuracy"] == cells.accuracy
            assert run[method]["log_loss"] == pytest.approx(cells.log_loss)
            right, losses = (unpacked(run[method][key]) for key in ("right", "losses"))
            assert len(right) == len(losses) == ROWS
            assert right.sum() == cells.right.sum()
            assert losses.sum() / len(cells.rows) == pytest.approx(cells.log_loss, rel=1e-3)


def test_what_a_process_does_once_is_not_timed(monkeypatch):
    """Each run calls what prepares its method, before its clock starts."""
    clock = [0.0]

    def prepare():
        clock[0] += 100

    def slow(table, seed):
        clock[0] += 3
        return complete(0.9, table, seed)

    monkeypatch.setattr(
        "exactlearn.evaluation.imputation_study.time.process_time", lambda: clock[0]
    )
    contender = Contender(complete=slow, prepare=prepare)
    (run,) = done(ImputationStudy(conditions=study().conditions, contenders={"slow": contender}))
    assert clock == [103]
    assert run["slow"]["cpu_seconds"] == 3


def test_a_method_that_fails_is_beaten_and_a_table_that_no_method_completes_does_not_count():
    runs = done(study(wrong=refuse, good=GOOD))
    (condition,) = study().conditions
    for metric in ("accuracy", "log_loss"):
        found = verdict(condition, runs, "wrong", ["good"], metric)
        assert (found["best"], found["beaten_by"]) == (False, ["good"])
    assert found["cells"] == sum(run["good"]["cells"] for run in runs) > 0
    rows = list(method_rows(condition, runs, "good"))
    assert [isnan(row["accuracy"]) for row in rows] == [True, False]
    assert isnan(time_ratios(runs, "wrong", "good")["total"])
    assert done(study(wrong=refuse)) == []


def test_a_repetition_that_is_not_whole_does_not_count():
    one = study(good=GOOD, fair=FAIR)
    record = Record(None, lambda title: None)
    Study(
        [run for run in one.runs() if run.method == "good" or run.repetition == "1"], record
    ).run()
    (condition,) = one.conditions
    assert len(one.repetitions(record, condition)) == 1
    record.done[condition.name]["1"]["good"]["unfinished"] = True
    assert one.repetitions(record, condition) == []


def test_the_better_method_wins_and_the_worse_is_beaten():
    runs = done(study(good=GOOD, fair=FAIR, bad=BAD))
    (condition,) = study().conditions
    won = verdict(condition, runs, "good", ["fair", "bad"], "accuracy")
    assert (won["rival"], won["best"], won["beaten_by"]) == ("fair", True, [])
    assert won["ahead"] > 0
    lost = verdict(condition, runs, "bad", ["fair", "good"], "log_loss")
    assert (lost["rival"], lost["best"]) == ("good", False)
    assert lost["beaten_by"] == lost["beaten_unadjusted"] == ["fair", "good"]
    assert lost["ahead"] == ahead(runs, "bad", "good", "log_loss").difference < 0
    told = summary([won, lost], "accuracy")
    assert (told["conditions"], told["best"], told["not_beaten"]) == (1, 1.0, 1.0)
    told = summary([won, lost], "log_loss")
    assert (told["best"], told["not_beaten"], told["worst"]) == (0.0, 0.0, lost["ahead"])
    rows = list(method_rows(condition, runs, "good"))
    assert [row["method"] for row in rows] == ["good", "fair", "bad"]
    assert rows[0]["p_value"] == rows[0]["loss_p_value"] == 1
    assert rows[2]["difference"] < 0 < rows[2]["loss_difference"]
    assert rows[2]["significant"]


def test_without_probabilities_a_method_is_beaten_by_all_and_is_no_rival():
    runs = done(study(silent=without_probabilities, good=GOOD))
    (condition,) = study().conditions
    found = verdict(condition, runs, "silent", ["good"], "log_loss")
    assert (found["best"], found["beaten_by"]) == (False, ["good"])
    assert isnan(found["ahead"])
    assert verdict(condition, runs, "good", ["silent"], "log_loss") is None


def test_times_are_compared_in_total_and_one_by_one():
    runs = [{"a": {"cpu_seconds": s}, "b": {"cpu_seconds": t}} for s, t in ((1, 1), (9, 3), (4, 2))]
    assert time_ratios(runs, "a", "b") == {"total": 14 / 6, "median": 2, "largest": 3}
    assert all(map(isnan, time_ratios([], "a", "b").values()))


def test_a_cell_that_the_truth_misses_is_not_judged():
    names, states = ("a",), (("x", "y"),)
    holes = Dataset(np.array([[-1], [-1], [0]]), names, states)
    truth = Dataset(np.array([[1], [-1], [0]]), names, states)
    found = JudgedCells.of(holes, Imputed.of(np.array([[0.2, 0.8], [1.0, 0.0]])), truth)
    assert (found.rows.tolist(), found.right.tolist()) == ([0], [True])
    assert found.log_loss == pytest.approx(-np.log(0.8))


@settings(deadline=None)
@given(st.lists(st.floats(0, 100), max_size=9))
def test_packed_numbers_keep_three_digits(numbers):
    np.testing.assert_allclose(unpacked(packed(np.array(numbers))), numbers, 1e-3, 1e-3)


class TestClusteredTest:
    @settings(deadline=None)
    @given(st.lists(st.integers(-3, 3), min_size=1, max_size=8))
    def test_few_rows_have_all_signs_enumerated(self, sums):
        found = ClusteredTest.of([np.array(sums, float)], 10)
        signed = [sum(s * d for s, d in zip(signs, sums, strict=True))
                  for signs in product((-1, 1), repeat=len(sums))]  # fmt: skip
        assert found.p_value == pytest.approx(np.mean([abs(x) >= abs(sum(sums)) for x in signed]))
        assert found.difference == sum(sums) / 10

    def test_repetitions_of_a_row_are_one_unit(self):
        rng = np.random.default_rng(0)
        first, second = rng.normal(size=(2, 40))
        both = ClusteredTest.of([first, second], 80)
        assert both == ClusteredTest.of([first + second], 80)
        assert ClusteredTest.of([first, -first], 80) == ClusteredTest(0.0, 1.0)

    def test_without_cells_nothing_is_known(self):
        found = ClusteredTest.of([], 0)
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
            found = ClusteredTest.of(list(cells * better), int(cells.sum()))
            rejected += found.significant
            by_cells += abs((cells * better).sum()) > 1.96 * np.sqrt(cells.sum())
        assert rejected / 2000 == pytest.approx(0.05, abs=0.02)
        assert by_cells / 2000 > 0.2


def test_holm_rejects_step_by_step():
    """A p-value is rejected after adjustment where all smaller ones are, at their own levels."""
    p_values = [0.001, 0.04, 0.02, nan, 0.9]
    adjusted = holm(p_values)
    assert isnan(adjusted[3])
    for level in (0.003, 0.005, 0.05, 0.1, 0.5):
        kept = sorted(p for p in p_values if p == p)
        rejected = set()
        for k, p in enumerate(kept):
            if p > level / (len(kept) - k):
                break
            rejected.add(p)
        assert {p for p, q in zip(p_values, adjusted, strict=True) if q <= level} == rejected
