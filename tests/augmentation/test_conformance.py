"""What every augmentation method keeps: the registry, name by name, against brute force."""

from dataclasses import replace

import numpy as np
import pytest

from exactlearn.augmentation import METHODS, FamilyRules, augment
from exactlearn.augmentation.solutions import Augmentation, Incumbent
from exactlearn.augmentation.task import Task
from exactlearn.data.dataset import Dataset
from exactlearn.errors import InfeasibleError
from exactlearn.scoring.scores import BIC, BDeu
from tests.augmentation_oracle import best_per_completion, random_table

EXACT = ("branching", "exact", "gadget")

TABLES = {
    "two states": random_table(np.random.default_rng(0), 3, 12, 4, 2),
    "three states": random_table(np.random.default_rng(1), 3, 10, 3, 3),
    "a variable of one state": Dataset(
        np.array([[0, 0, 1], [1, -1, 0], [0, 0, -1], [1, 0, 1]]),
        ("a", "b", "c"),
        (("x", "y"), ("x",), ("x", "y")),
    ),
    "an empty row": Dataset(
        np.array([[0, 0], [-1, -1], [1, 1]]), ("a", "b"), (("x", "y"), ("x", "y"))
    ),
    "a column without a value": Dataset(
        np.array([[0, -1], [1, -1], [1, -1]]), ("a", "b"), (("x", "y"), ("x", "y", "z"))
    ),
    "one variable": Dataset(np.array([[0], [-1], [1]]), ("a",), (("x", "y"),)),
    "complete": random_table(np.random.default_rng(2), 3, 10, 0, 2),
}
each_method = pytest.mark.parametrize("method", METHODS)
each_table = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


@each_method
@each_table
@pytest.mark.parametrize("score", [BDeu(1.0), BIC()], ids=str)
def test_a_method_finds_what_it_claims(method, table, score):
    rules = FamilyRules.of(2)
    best = max(best_per_completion(table, score, rules).values())
    found = augment(table, score, method=method, max_parents=2, starts=2)
    found.check_score(table, score, rules)
    assert found.score <= best + 1e-7
    assert found.bound >= best - 1e-7
    if method in EXACT or found.status == "optimal":
        assert found.status == "optimal"
        assert found.score == pytest.approx(best, abs=1e-7)


@each_method
def test_equal_rows_may_be_one_row_with_a_weight(method):
    table = TABLES["two states"]
    doubled = replace(table, codes=np.concatenate([table.codes, table.codes[:1]]))
    weighted = replace(table, weights=np.array([2.0] + [1.0] * (len(table.codes) - 1)))
    score = BDeu(1.0)
    if (table.codes[0] < 0).any():
        pytest.skip("the rows would be completed apart")
    one, other = (
        augment(d, score, method=method, max_parents=2) for d in (doubled, weighted)
    )
    assert one.score == pytest.approx(other.score, abs=1e-9)


@each_method
def test_arcs_are_kept_and_a_contradiction_is_refused(method):
    table = TABLES["two states"]
    found = augment(
        table,
        BIC(),
        method=method,
        max_parents=2,
        required=[(0, 1)],
        forbidden=[(2, 0), (2, 1)],
    )
    assert 0 in found.parents[1]
    assert 2 not in (*found.parents[0], *found.parents[1])
    with pytest.raises(InfeasibleError):
        augment(table, BIC(), method=method, required=[(0, 1), (1, 2), (2, 0)])


@each_method
def test_the_same_seed_gives_the_same_answer(method):
    table = TABLES["three states"]
    one, other = (
        augment(table, BDeu(1.0), method=method, starts=3, seed=7) for _ in range(2)
    )
    assert (one.parents, one.score, one.values.tolist()) == (
        other.parents,
        other.score,
        other.values.tolist(),
    )


def test_a_method_is_one_entry(monkeypatch):
    """The emptiest network with a completion drawn at random."""

    def at_random(task: Task, incumbent: Incumbent) -> Augmentation:
        rng = np.random.default_rng(task.seed)
        columns = task.dataset.missing_cells[:, 1]
        incumbent.offer(
            task.sparsest(rng.integers(task.dataset.cardinalities[columns]))
        )
        return Augmentation.of(incumbent, "heuristic", "at-random")

    monkeypatch.setitem(METHODS, "at-random", at_random)
    found = augment(
        TABLES["two states"], BDeu(1.0), method="at-random", required=[(0, 1)]
    )
    assert found.parents == ((), (0,), ())
    assert (found.status, found.method) == ("heuristic", "at-random")
