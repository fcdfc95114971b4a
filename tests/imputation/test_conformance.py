"""What every method of completing a table keeps: the registry, name by name, on the same tables."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError
from exactlearn.imputation import Imputed, Learning
from exactlearn.imputation.methods import METHODS, Method
from exactlearn.scoring.scores import BDeu
from tests.command_line import run_json

QUICK = Learning(score=BDeu(1.0), max_parents=2, starts=1, networks=2, seed=3)
NEEDS_LIBRARY = pytest.mark.skipif(
    find_spec("sklearn") is None, reason="scikit-learn is missing"
)
each_method = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[NEEDS_LIBRARY] if method.needs_scikit_learn else [])
        for name, method in METHODS.items()
    ],
)


def copies(rows: int = 60, hidden: float = 0.2) -> tuple[Dataset, Dataset]:
    """Return a table whose second column repeats the first, with cells of it hidden, and whole.

    A third column is noise, with one state more.
    """
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, rows)
    codes = np.column_stack([first, first, rng.integers(0, 3, rows)])
    states = (("no", "yes"), ("no", "yes"), ("a", "b", "c"))
    full = Dataset(codes, ("cause", "copy", "noise"), states)
    holed = codes.copy()
    holed[rng.random(rows) < hidden, 1] = -1
    return replace(full, codes=holed), full


def awkward() -> dict[str, Dataset]:
    """Return tables with little in them; in each only one variable has missing cells."""
    names, states = ("a", "b"), (("x", "y"), ("x", "y", "z"))
    return {
        "one row": Dataset(np.array([[0, -1], [1, 0]]), names, states),
        "a state never seen": Dataset(
            np.array([[0, 1], [1, 1], [1, -1]]), names, states
        ),
        "all but one": Dataset(
            np.array([[0, -1], [1, -1], [1, 2], [0, -1]]), names, states
        ),
        "one state": Dataset(np.array([[0, 0], [0, -1]]), names, (("x",), ("x",))),
        "one column": Dataset(np.array([[0], [-1], [1]]), ("a",), (("x", "y"),)),
    }


def require_answer(found: Imputed, table: Dataset) -> None:
    cells = table.missing_cells
    cardinalities = table.cardinalities[cells[:, 1]]
    assert found.values is not None
    assert found.values.shape == (len(cells),)
    assert ((found.values >= 0) & (found.values < cardinalities)).all()
    assert found.status in ("optimal", "t-local", "heuristic", "feasible")
    if found.probabilities is not None:
        states = np.arange(found.probabilities.shape[1])
        assert (found.probabilities >= 0).all()
        assert (found.probabilities[states >= cardinalities[:, None]] == 0).all()
        assert found.probabilities.sum(axis=1) == pytest.approx(1.0)
    assert found.score <= found.bound + 1e-9 or np.isnan(found.score)


@each_method
@pytest.mark.parametrize("table", awkward().values(), ids=awkward())
def test_every_missing_cell_gets_a_state_of_its_variable(name, table):
    require_answer(METHODS[name](table, QUICK), table)


@each_method
def test_a_copied_column_is_found_again(name):
    table, full = copies(
        200 if name == "boosted" else 60
    )  # whose leaves have twenty rows
    found = METHODS[name](table, QUICK)
    require_answer(found, table)
    truth = full.codes[tuple(table.missing_cells.T)]
    right = float(np.mean(found.values == truth))
    assert right == 1.0 if name != "mode" else right < 1.0


@each_method
def test_the_same_seed_gives_the_same_values(name):
    table, _ = copies()
    first, again = (METHODS[name](table, QUICK) for _ in range(2))
    assert np.array_equal(first.values, again.values)
    assert (first.probabilities is None) == (again.probabilities is None)
    if first.probabilities is not None:
        np.testing.assert_array_equal(first.probabilities, again.probabilities)


@each_method
def test_row_weights_are_used_or_refused(name):
    table, full = copies()
    weighted = replace(table, weights=np.full(len(table.codes), 2.0))
    if METHODS[name].needs_scikit_learn:
        with pytest.raises(DataError, match="the rows have weights"):
            METHODS[name](weighted, QUICK)
        return
    found = METHODS[name](weighted, QUICK)
    require_answer(found, weighted)
    if name != "mode":
        truth = full.codes[tuple(table.missing_cells.T)]
        assert np.array_equal(found.values, truth)


@each_method
def test_no_time_at_all_is_obeyed(name):
    """A method has no answer then, or a whole one, and says that a limit came."""
    table, _ = copies(40 if name in ("exact", "gadget") else 400)
    found = METHODS[name](table, replace(QUICK, time_limit=0.0))
    assert found.status == "feasible" or name == "mode"
    if found.values is not None:
        require_answer(found, table)


@each_method
def test_a_complete_table_has_nothing_to_complete(name):
    _, full = copies()
    assert len(METHODS[name](full, QUICK).values) == 0


def test_a_method_is_one_entry_and_compare_takes_it(monkeypatch, tmp_path):
    def last_state(dataset: Dataset, how: Learning) -> Imputed:
        return Imputed(values=dataset.cardinalities[dataset.missing_cells[:, 1]] - 1)

    monkeypatch.setitem(METHODS, "last", Method(last_state))
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "x,x\ny,y\n" * 5 + "x,?\ny,?\n")
    truth = tmp_path / "truth.csv"
    truth.write_text("a,b\n" + "x,x\ny,y\n" * 5 + "x,y\ny,y\n")
    report = run_json("compare", path, "--methods", "last,mode", "--truth", truth)
    by_name = {row["method"]: row for row in report["rows"]}
    assert by_name["last"]["accuracy"] == 1.0
