"""Cross-validation against models that are learnt and judged fold by fold by hand."""

from math import inf, log

import numpy as np
import pytest

import exactlearn as el
from exactlearn.bayesnet.smoothing_choice import divided
from exactlearn.errors import DataError, OptionError
from exactlearn.evaluation.cross_validation import (
    CrossValidation,
    cross_validate,
    learn_exact,
    learn_independent,
)
from exactlearn.evaluation.metrics import Mean
from exactlearn.instances import locate
from tests.command_line import fails, run, run_json

TABLE = el.read_dataset(locate("cancer-mcar-complete", ".csv"))


def independent(dataset: el.Dataset) -> el.BayesianNetwork:
    return learn_independent(dataset)


def shares(train: el.Dataset, v: int) -> np.ndarray:
    """Frequencies with the package's pseudo-counts, recomputed from a fitted network."""
    return el.fit_complete(train, ((),) * train.n_variables).tables[v].reshape(-1)


def test_figures_are_those_of_the_definition() -> None:
    found = cross_validate(TABLE, {"alone": independent}, 4, class_="Smoker", seed=2)
    parts = divided(TABLE.row_weights, 4, 2)
    smoker = TABLE.names.index("Smoker")
    means, losses, right = [], [], []
    for k in range(4):
        train = TABLE.part(
            np.isin(np.arange(TABLE.n_rows), parts.rows[parts.fold != k])
        )
        test = TABLE.codes[parts.rows[parts.fold == k]]
        tables = [shares(train, v) for v in range(TABLE.n_variables)]
        rows = [
            sum(log(t[code]) for t, code in zip(tables, row, strict=True))
            for row in test
        ]
        means.append(np.mean(rows))
        losses.append(-np.mean([log(tables[smoker][row[smoker]]) for row in test]))
        right.append(np.mean([row[smoker] == tables[smoker].argmax() for row in test]))
    assert found.found["alone"]["log_likelihood"] == pytest.approx(means)
    assert found.found["alone"]["log_loss"] == pytest.approx(losses)
    assert found.found["alone"]["accuracy"] == pytest.approx(right)
    mean = found.mean("alone")
    assert mean.value == pytest.approx(np.mean(means))
    assert mean.error == pytest.approx(np.std(means, ddof=1) / 2)


def test_differences_are_taken_fold_by_fold() -> None:
    found = CrossValidation(
        ("a", "b", "c"),
        3,
        {
            "a": {"log_likelihood": (-1.0, -2.0, -3.0), "seconds": (1.0,) * 3},
            "b": {"log_likelihood": (-1.5, -2.5, -3.5), "seconds": (1.0,) * 3},
            "c": {"log_likelihood": (-1.0, -inf, np.nan), "seconds": (1.0,) * 3},
        },
    )
    assert found.best == "a"
    assert found.difference("b", "a") == Mean(-0.5, 0.0)
    assert found.mean("c").value == found.difference("c", "a").value == -inf
    with pytest.raises(
        OptionError, match="no 'accuracy' of 'a': expected one of log_likelihood"
    ):
        found.mean("a", "accuracy")


def test_a_learner_that_failed_comes_after_all_others() -> None:
    failed = {"log_likelihood": (np.nan, np.nan), "seconds": (np.nan,) * 2}
    infinite = {"log_likelihood": (-inf, -1.0), "seconds": (1.0,) * 2}
    for names in (("failed", "infinite"), ("infinite", "failed")):
        found = {"failed": failed, "infinite": infinite}
        assert CrossValidation(names, 2, found).best == "infinite"
    assert CrossValidation(("failed",), 2, {"failed": failed}).best == "failed"


def test_a_constant_column_with_two_declared_states_is_learned() -> None:
    codes = np.array([[0, -1, 0, 0], [0, -1, 0, 1], [0, -1, 0, 0]] * 4)
    states = (("n",), ("n", "y"), ("n", "y"), ("n", "y"))
    table = el.Dataset(codes, tuple("abcd"), states)
    assert learn_exact(table).names == ("c", "d")
    failures = cross_validate(table, ["exact"], 2).failures["exact"]
    assert failures[0].startswith("the model lacks a, b: a learner may leave out")
    assert "one declared state" in failures[0]


def test_missing_cells_are_summed_out_and_weights_count_as_rows() -> None:
    incomplete = el.read_dataset(locate("cancer-mcar", ".csv"))
    found = cross_validate(incomplete, ["chow-liu", "exact"], 2, class_="Cancer")
    assert all(
        np.isfinite(list(own["log_likelihood"])).all() for own in found.found.values()
    )
    twice = el.Dataset(
        TABLE.codes, TABLE.names, TABLE.states, np.full(TABLE.n_rows, 2.0)
    )
    weighted = cross_validate(twice, {"alone": independent}, 3)
    once = cross_validate(TABLE, {"alone": independent}, 3)
    assert weighted.mean("alone").value == pytest.approx(
        once.mean("alone").value, abs=0.02
    )


def test_folders_processes_and_failures(tmp_path) -> None:
    begun: list[str] = []
    kwargs = {"folder": tmp_path, "on_begin": begun.append}
    one = cross_validate(TABLE, ["independent"], 3, **kwargs)
    two = cross_validate(TABLE, ["independent", "chow-liu"], 3, jobs=2, **kwargs)
    assert len(begun) == 6
    assert one.found["independent"] == two.found["independent"]

    def fails_sometimes(dataset: el.Dataset) -> el.BayesianNetwork:
        raise OptionError("no luck")

    found = cross_validate(TABLE, {"bad": fails_sometimes, "good": independent}, 2)
    assert found.failures == {"bad": ("no luck",)}
    assert found.best == "good"
    assert found.to_frame().set_index("learner").folds.to_dict() == {
        "bad": 0,
        "good": 2,
    }

    def without_one(dataset: el.Dataset) -> el.BayesianNetwork:
        names, states = dataset.names[1:], dataset.states[1:]
        return learn_independent(el.Dataset(dataset.codes[:, 1:], names, states))

    assert (
        "the model lacks"
        in cross_validate(TABLE, {"x": without_one}, 2).failures["x"][0]
    )
    with pytest.raises(OptionError, match="no learner 'exakt'"):
        cross_validate(TABLE, ["exakt"])
    with pytest.raises(OptionError, match="no learner: give the names"):
        cross_validate(TABLE, [])
    with pytest.raises(
        OptionError, match="'folds': expected a whole number from 2, found 1"
    ):
        cross_validate(TABLE, ["exact"], 1)
    with pytest.raises(DataError, match=r"found 1 .*: take a longer table"):
        cross_validate(TABLE.part(slice(1)), ["exact"])


def test_the_command_prints_and_keeps_them(tmp_path) -> None:
    words = (
        "compare",
        "cancer-mcar-complete",
        "--learners",
        "exact,independent",
        "--folds",
        3,
    )
    record = run_json(*words, "--class", "Cancer", "-o", tmp_path / "out")
    found = cross_validate(TABLE, ["exact", "independent"], 3, class_="Cancer")
    for row, expected in zip(record["rows"], found.to_records(), strict=True):
        assert row["log_likelihood"] == pytest.approx(expected["log_likelihood"])
        assert row["accuracy_difference"] == pytest.approx(
            expected["accuracy_difference"]
        )
    assert record["best"] == found.best
    assert (tmp_path / "out" / "compare.json").exists()
    printed = run(*words)
    assert "log likelihood difference" in printed
    assert "--learners and --methods exclude each other" in fails(
        *words, "--methods", "mode"
    )
    assert "expected a table" in fails("compare", "--learners", "exact")
    assert "no learner 'exat'" in fails(
        "compare", "cancer-mcar-complete", "--learners", "exat"
    )
