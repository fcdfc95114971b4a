"""Bounds of families over all completions, Lagrange multipliers, and the search built on them."""

import signal
from math import inf

import numpy as np
import pytest

from exactlearn._runtime.checkpoint import Checkpoint
from exactlearn.augmentation import FamilyRules, augment, branching, lagrangian_dual
from exactlearn.augmentation.family_bounds import WORK, best_placement, bound_families
from exactlearn.augmentation.lagrangian_dual import solve_dual, subgradient_method
from exactlearn.augmentation.node_relaxation import NodeRelaxation
from exactlearn.augmentation.restricted_master import RestrictedMaster
from exactlearn.augmentation.task import Task, merge_rows
from exactlearn.data.dataset import Dataset
from exactlearn.errors import TooLargeError
from exactlearn.formats.table import read_dataset
from exactlearn.scoring.scores import BIC, BDeu
from exactlearn.solvers.multipliers import Multipliers
from tests.augmentation_oracle import (
    allowed_dags,
    best_per_completion,
    completions,
    family_scores,
    random_table,
)
from tests.interrupts import Looks

SCORES = [BDeu(1.0), BIC(), BDeu(8.0)]


def random_task(seed, most_parents=2):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    data = random_table(rng, n, int(rng.integers(5, 14)), int(rng.integers(1, 7)), 3)
    merged = merge_rows(data, incomplete=True)[0]
    return Task(merged, SCORES[seed % 3], FamilyRules.of(most_parents)), rng


def multiplied(cells, rng, scale):
    return cells._replace(multipliers=random_prices(cells, rng, scale))


def random_prices(cells, rng, scale):
    return scale * rng.random(cells.multipliers.shape)


def set_members(n):
    """Return the members of each set of one or two variables, in the order of the payers."""
    sets = np.zeros((n + n * (n - 1) // 2, n), bool)
    sets[np.arange(n), np.arange(n)] = True
    for s, (low, high) in enumerate(((b, a) for a in range(n) for b in range(a)), n):
        sets[s, [low, high]] = True
    return sets


def payers_of(child, parents, variable, n):
    """Return the child, and the sets of the variable and one or two others with this sink."""
    sets = set_members(n)
    together = sets.copy()
    together[:, variable] = True
    rest = [set(np.flatnonzero(members)) - {child} for members in together]
    return [child] + [
        n + s
        for s, others in enumerate(sets)
        if not others[variable] and together[s, child] and rest[s] <= set(parents)
    ]


def best_by_enumeration(task, child, parents, missing):
    """Return the best score of a family over all completions, less its multipliers."""
    cells = task.dataset.missing_cells
    own = [h for h, (_, v) in enumerate(cells) if v in (child, *parents)]
    payers = {
        h: payers_of(child, parents, cells[h, 1], task.dataset.n_variables) for h in own
    }
    scores, values = (
        family_scores(task.dataset, task.score, child, parents),
        completions(task.dataset),
    )
    for h, chosen in ((h, np.array(values)[:, h]) for h in own):
        scores = scores - missing.multipliers[payers[h], h][:, chosen].sum(axis=0)
    return scores.max()


@pytest.mark.parametrize("seed", range(30))
def test_rows_are_placed_as_the_best_completion_does(seed):
    task, rng = random_task(seed, most_parents=3)
    node = NodeRelaxation.of(task)
    families, cells, terms = node.families, node.cells, node.terms
    for table in (cells, multiplied(cells, rng, 1.0)):
        for i in rng.permutation(len(families))[:8]:
            child, members = int(families.child[i]), families.members[i]
            parents = tuple(int(p) for p in members if p >= 0)
            best = best_by_enumeration(task, child, parents, table)
            for most_nodes in (0, 2, 10**6):
                found = best_placement(i, table, terms, most_nodes, True)
                assert found.score <= best + 1e-9 <= found.bound + 2e-9
                bounds = bound_families(np.array([i, i]), table, terms, most_nodes)
                assert best <= min(bounds) + 1e-9
            assert bounds == pytest.approx(best, abs=1e-9)


def test_family_bounds_do_not_slow_down_with_incomplete_rows():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (3000, 3))
    codes[rng.random(codes.shape) < 0.3] = -1
    table = Dataset(codes, ("a", "b", "c"), (tuple("wxyz"),) * 3)
    task, nodes = Task(table, BDeu(1.0), FamilyRules.of(2)), 100
    node = NodeRelaxation.of(task)
    family = len(node.families) - 1, node.cells, node.terms, nodes
    completed = best_placement(*family, True)
    bounded = best_placement(*family, False)
    assert completed.work < 1.5 * WORK * nodes
    assert completed.score <= completed.bound == bounded.bound
    assert bounded.work < WORK * nodes
    assert len(completed.cells) == (codes < 0).any(axis=1).sum()


@pytest.mark.parametrize("seed", range(10))
def test_bounds_are_valid_at_any_multipliers_and_fixed_cells(seed):
    task, rng = random_task(seed)
    node = NodeRelaxation.of(task)
    families = node.families
    for _ in range(4):
        node.set_multipliers(random_prices(node.cells, rng, rng.integers(0, 3)))
        if rng.random() < 0.5 and len(node.open_cells):
            cell = int(node.open_cells[0])
            node = node.fixed(cell, int(rng.integers(node.cells.states[cell])))
        some = rng.permutation(len(families))[:5]
        exact = node.bounds(some, 10**6)
        assert (node.upper[some] >= exact - 1e-9).all()
        assert np.isclose(node.upper[some], exact)[node.fresh[some]].all()
        node.refresh(some)
        np.testing.assert_allclose(node.upper[some], exact, atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_families_left_out_are_in_no_better_network(seed):
    rng = np.random.default_rng(seed)
    rules, score = FamilyRules.of(2), SCORES[seed % 3]
    task = Task(random_table(rng, 3, 12, 3), score, rules)
    node = NodeRelaxation.of(task)
    families = node.families
    node.set_multipliers(random_prices(node.cells, rng, 0.1))
    triple = np.ones((1, 3), bool)
    adjusted = node.adjusted(Multipliers(triple, rng.random(1)))
    reached = adjusted.total - (adjusted.best[families.child] - adjusted.scores)
    chosen = networks(families, rules)
    scores = np.array(
        [family_scores(task.dataset, score, *own) for own in listed(families)]
    )
    assert (reached[chosen].min(axis=1) + 1e-9 >= scores[chosen].sum(axis=1).T).all()


@pytest.mark.parametrize("seed", range(12))
def test_bounds_of_states_hold_for_every_solution(seed):
    task, rng = random_task(seed)
    node = NodeRelaxation.of(task)
    node.set_multipliers(random_prices(node.cells, rng, 1.0))
    none = Multipliers.none(task.dataset.n_variables)
    bounds = node.state_bounds(node.adjusted(none).total)
    known = best_per_completion(task.dataset, task.score, task.rules)
    for cell, r in enumerate(node.cells.states):
        for state in range(r):
            best = max(
                score for values, score in known.items() if values[cell] == state
            )
            assert best <= bounds[cell, state] + 1e-9
    assert np.isneginf(bounds[:, 2:][node.cells.states == 2]).all()


@pytest.mark.parametrize("seed", range(12))
def test_a_childs_bound_is_never_above_its_parents(seed):
    task, rng = random_task(seed)
    parent = NodeRelaxation.of(task)
    families = parent.families
    clusters = Multipliers(np.ones((1, families.n_variables), bool), rng.random(1))
    known = best_per_completion(task.dataset, task.score, task.rules)
    chosen = networks(families, task.rules)
    for cell in rng.permutation(len(parent.cells.rows))[:2].tolist():
        parent.set_multipliers(random_prices(parent.cells, rng, rng.integers(1, 3)))
        bounds = parent.state_bounds(parent.adjusted(clusters).total)
        for state in range(parent.cells.states[cell]):
            child = parent.fixed(cell, state)
            bound, filled = child.adjusted(clusters).total, child.cells.filled
            best = max(known[z] for z in known if all((filled < 0) | (filled == z)))
            assert best - 1e-9 <= bound <= bounds[cell, state] + 1e-9
            selected = child.upper[chosen].sum(axis=1).max() + child.lagrangian_constant
            paid = (
                child.adjusted(Multipliers.none(families.n_variables))
                .scores[chosen]
                .sum(axis=1)
            )
            kept = (
                paid.max() + child.lagrangian_constant + child.fixed_multipliers.sum()
            )
            assert best - 1e-9 <= selected <= kept + 1e-9
        parent = child


def networks(families, rules):
    """Return the families of each DAG, shape (DAGs, n)."""
    dags = allowed_dags(families.n_variables, rules)
    return np.array([families.flat.selection(dag) for dag in dags])


def listed(families):
    members = families.members.tolist()
    return [
        (int(child), tuple(p for p in ps if p >= 0))
        for child, ps in zip(families.child, members, strict=True)
    ]


@pytest.mark.parametrize("steps", [0, 100])
@pytest.mark.parametrize("seed", range(15))
def test_multipliers_give_a_valid_bound_and_close_the_gap(seed, steps):
    """Much of the gap of the root relaxation is closed, not all."""
    task, _ = random_task(seed)
    best = max(best_per_completion(task.dataset, task.score, task.rules).values())
    found = augment(task.dataset, task.score, method="t-local", starts=1, max_parents=2)
    node = NodeRelaxation.of(task)
    families = node.families
    anchor = families.flat.selection(found.parents).tolist()
    master = RestrictedMaster(families, node.cells, anchor, found.values)
    none = Multipliers.none(families.n_variables)
    before = node.adjusted(none).total
    message = []
    descended = subgradient_method(master, node, none, best, message.append, steps)
    after = node.adjusted(descended).total
    assert min(message, default=before) == pytest.approx(after, abs=1e-6)
    assert best - 1e-6 <= after <= before + 1e-9
    assert (node.cells.multipliers >= 0.0).all()
    if steps and before - best > 1.0:
        assert after - best < 0.8 * (before - best)
    dual = solve_dual(master, node, descended, best, lambda _: None)
    assert best - 1e-6 <= dual.bound <= after + 1e-9
    assert dual.bound == pytest.approx(node.adjusted(dual.multipliers).total, abs=1e-6)
    if before - best > 1.0:
        assert dual.bound - best < 0.8 * (before - best)
    np.testing.assert_allclose(dual.proportions.sum(axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("looks", [1, 6, 30])
def test_no_local_completion_enters_once_the_search_is_over(looks, monkeypatch):
    task, _ = random_task(4)
    node, control = NodeRelaxation.of(task), Looks(looks)
    families = node.families
    none = Multipliers.none(families.n_variables)
    before = node.adjusted(none).total
    anchor = families.flat.selection([()] * families.n_variables).tolist()
    master = RestrictedMaster(
        families, node.cells, anchor, np.zeros(len(node.cells.rows), int)
    )
    entered = []
    monkeypatch.setattr(master, "add", lambda completion: entered.append(control.looks))
    node.control = control
    multipliers = subgradient_method(master, node, none, -inf, lambda _: None, 100)
    assert control.is_over
    assert all(left >= 0 for left in entered)
    assert node.adjusted(multipliers).total <= before + 1e-9


def test_fourteen_missing_cells_in_one_column_are_no_obstacle():
    rng = np.random.default_rng(3)
    data = random_table(rng, 8, 60, 1, 3)
    codes = data.codes.copy()
    codes[rng.permutation(60)[:14], 0] = -1
    data = Dataset(codes, data.names, data.states)
    with pytest.raises(TooLargeError):
        augment(data, BDeu(1.0), method="gadget", max_parents=1)
    result = augment(data, BDeu(1.0), method="branching", max_parents=1, time_limit=60)
    assert result.status == "optimal"
    local = augment(data, BDeu(1.0), method="t-local", starts=5, max_parents=1)
    assert result.score >= local.score - 1e-9


def test_a_limit_leaves_a_valid_bound():
    rng = np.random.default_rng(5)
    data = random_table(rng, 7, 60, 30, 3)
    result = augment(data, BDeu(1.0), method="branching", time_limit=1.0)
    assert result.status in ("feasible", "optimal")
    assert result.bound >= result.score - 1e-9
    longer = augment(data, BDeu(1.0), method="branching", time_limit=4.0)
    assert longer.score <= result.bound + 1e-6
    assert result.score <= longer.bound + 1e-6


def test_too_many_families_are_refused():
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 2, (10, 40)).astype(np.int8)
    data = Dataset(codes, tuple(f"v{i}" for i in range(40)), (("no", "yes"),) * 40)
    with pytest.raises(TooLargeError, match="families of up to 6 parents"):
        augment(data, BDeu(1.0), method="branching", max_parents=6)


def test_a_folder_of_another_search_changes_no_optimum(tmp_path, monkeypatch):
    """The same codes with other declared states, then other scores and limits, in one folder."""
    taken_up, load = [], Checkpoint.load
    monkeypatch.setattr(
        Checkpoint,
        "load",
        lambda self, key: taken_up.append(load(self, key)) or taken_up[-1],
    )
    table = read_dataset("asia-mnar").part(slice(30))
    states = tuple(
        (*s, "other") if v in (2, 5) else s for v, s in enumerate(table.states)
    )
    wider = Dataset(table.codes, table.names, states)

    def stopped(event):
        if event.nodes > 1:
            signal.raise_signal(signal.SIGINT)

    first = augment(
        table, BDeu(5.0), max_parents=2, checkpoint=tmp_path, on_event=stopped
    )
    assert first.status == "interrupted"
    for data, score, most in (
        (wider, BDeu(5.0), 2),
        (table, BDeu(5.0), 2),
        (table, BDeu(2.0), 2),
        (table, BIC(), 2),
        (table, BDeu(5.0), 1),
    ):
        fresh = augment(data, score, max_parents=most)
        found = augment(data, score, max_parents=most, checkpoint=tmp_path)
        assert found.status == fresh.status == "optimal"
        assert found.score == pytest.approx(fresh.score, abs=1e-9)
        assert not any(taken_up)


def test_every_node_counts_and_the_climb_runs_at_ever_fewer(monkeypatch):
    calls = {"solve_dual": 0, "climb": 0}

    def counted(name):
        function = getattr(branching, name)

        def call(*arguments, **options):
            calls[name] += 1
            return function(*arguments, **options)

        monkeypatch.setattr(branching, name, call)

    for name in calls:
        counted(name)
    table = random_table(np.random.default_rng(1), 4, 16, 12, 3)
    for module, name in ((branching, "MANY_CELLS"), (lagrangian_dual, "MAX_ROUNDS")):
        monkeypatch.setattr(module, name, 1)
    monkeypatch.setattr(branching, "STEPS", 0)
    found = augment(table, BDeu(1.0), max_parents=2)
    assert found.status == "optimal"
    assert found.nodes == calls["solve_dual"] - 1 > 8  # but for that of the root
    assert calls["climb"] <= found.nodes.bit_length()
