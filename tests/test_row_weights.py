"""A table whose equal rows are one row with a weight gives the figures of the rows written out."""

from collections.abc import Callable

import numpy as np
import pytest

import exactlearn as el
from exactlearn.data.blocks import merge_rows
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness import simulate_missingness
from exactlearn.errors import DataError
from exactlearn.evaluation.metrics import ClusteredTest, JudgedCells
from exactlearn.evaluation.study import Condition, ahead, completed
from exactlearn.imputation.learning import Imputed

NAMES = ("a", "b", "c")
STATES = (("no", "yes"),) * 3


def table_of(seed: int) -> Dataset:
    """Return rows with missing cells of the last two variables, many of them equal."""
    rng = np.random.default_rng(seed)
    codes = rng.binomial(1, 0.2, (40, 3))
    codes[:, 1:] = np.where(rng.random((40, 2)) < 0.2, -1, codes[:, 1:])
    return Dataset(codes, NAMES, STATES)


def truth_of(table: Dataset) -> Dataset:
    """Return the table completed by a function of each row, so that equal rows stay equal."""
    return table.complete(table.codes[table.missing_cells[:, 0], 0])


def by_proportions(table: Dataset, _: int) -> Imputed:
    return Imputed.of(np.tile([0.8, 0.2], (len(table.missing_cells), 1)))


def by_second_state(table: Dataset, _: int) -> Imputed:
    return Imputed.of(np.tile([0.4, 0.6], (len(table.missing_cells), 1)))


def classification(table: Dataset) -> list[float]:
    model = el.fit_complete(truth_of(table_of(0)), [(), (0,), (1,)], smoothing=1.0)
    judged = el.classify(model, table, "b")
    return [judged.accuracy, judged.log_loss]


def judged_cells(table: Dataset) -> list[float]:
    imputed = by_proportions(table, 0)
    cells = JudgedCells.of(
        table, imputed.values, truth_of(table), imputed.probabilities
    )
    return [cells.accuracy, cells.log_loss]


def comparison(table: Dataset) -> list[float]:
    """Return the test of two methods by the rows of a table."""
    pair = (table, truth_of(table))
    condition = Condition(table="table", hidden="", draw=lambda seed: pair)
    methods = {"first": by_proportions, "second": by_second_state}
    runs = {
        name: completed(condition, method, name, 0) for name, method in methods.items()
    }
    accuracy = ahead([runs], "first", "second", "accuracy")
    loss = ahead([runs], "first", "second", "log_loss")
    cells = runs["first"]["cells"]
    return [cells, accuracy.difference, accuracy.p_value, loss.difference, loss.p_value]


def masking(table: Dataset) -> list[float]:
    """Return the probabilities by which a driver hides cells."""
    found = simulate_missingness(truth_of(table), "mar:0.2", np.random.default_rng(0))
    return found.tables["b"].tolist()


@pytest.mark.parametrize("figures", [classification, judged_cells, comparison, masking])
@pytest.mark.parametrize("seed", range(3))
def test_merged_rows_count_by_their_weights(
    figures: Callable[[Dataset], list[float]], seed
):
    table = table_of(seed)
    merged = merge_rows([table])
    assert merged.n_rows < table.n_rows
    assert figures(merged) == pytest.approx(figures(table), abs=1e-9)


def test_rows_of_no_weight_count_nowhere():
    """A row that the model excludes has an infinite loss."""
    rows = Dataset([[0, 0], [1, 1]], NAMES[:2], STATES[:2])
    model = el.fit_complete(rows, [(), (0,)], smoothing=0.0)
    table = Dataset([[0, 0], [0, 1]], NAMES[:2], STATES[:2], np.array([2.0, 0.0]))
    judged = el.classify(model, table, "b")
    assert (judged.accuracy, judged.log_loss) == (1.0, 0.0)
    empty = el.classify(model, table.part(slice(1, 2)), "b")
    assert np.isnan([empty.accuracy, empty.log_loss]).all()


def test_few_rows_with_weights_are_tested_by_all_signs():
    weighted = ClusteredTest.of(
        [np.array([1.0, -1.0])], 4, [["u", "v"]], [np.array([3.0, 1.0])]
    )
    units = [["u1", "u2", "u3", "v"]]
    assert weighted == ClusteredTest.of([np.array([1.0, 1.0, 1.0, -1.0])], 4, units)


def test_a_number_of_cells_is_not_hidden_in_merged_rows():
    merged = merge_rows([truth_of(table_of(0))])
    with pytest.raises(DataError, match=r"row 1 .* has the weight .*written_out\(\)"):
        el.hide(merged, "mnar:2", np.random.default_rng(0))
    hidden = el.hide(merged.written_out(), "mnar:2", np.random.default_rng(0))
    assert (hidden.codes < 0).sum(axis=0).tolist() == [2, 2, 2]


def test_written_out_rows_are_those_that_were_merged():
    table = table_of(1)
    rows = merge_rows([table]).written_out()
    assert rows.weights is None
    assert sorted(rows.codes.tolist()) == sorted(table.codes.tolist())
    half = Dataset([[0], [1]], ("a",), STATES[:1], np.array([1.0, 0.5]))
    with pytest.raises(DataError, match=r"row 2 .*weight 0.5, expected whole numbers"):
        half.written_out()


WEIGHTLESS = {
    "rows of weight 0": Dataset([[0, 0], [1, 1]], NAMES[:2], STATES[:2], np.zeros(2)),
    "no rows": Dataset(np.empty((0, 2), np.int8), NAMES[:2], STATES[:2]),
}
LEARNERS: dict[str, Callable[[Dataset], object]] = {
    "candidate_parent_sets": lambda table: el.candidate_parent_sets(table, el.BDeu()),
    "augment": el.augment,
    "best_solutions": lambda table: el.best_solutions(table, el.BDeu(), 2),
    "equivalence_search": lambda table: el.equivalence_search(table, el.BDeu()),
    "structural_em": lambda table: el.structural_em(table, el.BDeu()),
    "impute": lambda table: el.impute(table, method="mode"),
    "fit_em": lambda table: el.fit_em(table, [(), (0,)]),
    "learn_pdg": el.learn_pdg,
    "sl_curves": lambda table: el.sl_curves(table, table, languages=["bn"]),
    "hide": lambda table: el.hide(table, "mar:0.1", np.random.default_rng(0)),
}


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
@pytest.mark.parametrize("table", WEIGHTLESS.values(), ids=WEIGHTLESS)
def test_a_table_without_weight_is_refused(
    table: Dataset, learner: Callable[[Dataset], object]
):
    with pytest.raises(DataError, match="no rows of positive weight: nothing to"):
        learner(table)


def test_a_column_of_weights_that_are_all_zero_is_named(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b,w\nno,yes,0\nyes,no,0.0\n")
    with pytest.raises(
        DataError, match="column 'w': no rows of positive weight, as all 2 weights"
    ):
        el.read_dataset(path, weights="w")


@pytest.mark.parametrize("weight", ["-1", "nan", "inf", "1e308", "heavy"])
def test_what_is_no_weight_is_named_with_its_place(tmp_path, weight):
    path = tmp_path / "table.csv"
    path.write_text(f"a,b,w\nno,yes,1\nyes,no,{weight}\n")
    with pytest.raises(DataError, match=r"line 3"):
        el.read_dataset(path, weights="w")
