"""Every augmentation method against all completions times all DAGs."""

from dataclasses import replace

import numpy as np
import pytest

from exactlearn.augmentation import (
    FamilyRules,
    augment,
    branching,
    gadget_problem,
)
from exactlearn.augmentation.hill_climber import best_climb, climb
from exactlearn.augmentation.solutions import Incumbent
from exactlearn.augmentation.task import (
    Task,
    fitted_completion,
    hard_em_completion,
    mode_completion,
    starting_completions,
)
from exactlearn.data.dataset import Dataset
from exactlearn.errors import CheckError, InfeasibleError, OptionError, TooLargeError
from exactlearn.scoring.scores import AIC, BIC, BDeu, PenalisedLikelihood, total_score
from tests.augmentation_oracle import best_per_completion, random_table

SCORES = [BDeu(1.0), BIC(), BDeu(5.0), AIC(), PenalisedLikelihood(0.7)]


def random_case(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    data = random_table(rng, n, int(rng.integers(6, 14)), int(rng.integers(1, 7)), 3)
    arcs = [(p, c) for p in range(n) for c in range(n) if p < c]
    required = [arcs[rng.integers(len(arcs))]] if rng.random() < 0.2 else []
    forbidden = [a for a in arcs if a not in required and rng.random() < 0.15]
    rules = FamilyRules.of(int(rng.integers(bool(required), 4)), required, forbidden)
    return data, SCORES[seed % len(SCORES)], rules


def run(data, score, rules, method, **options):
    return augment(
        data,
        score,
        method=method,
        max_parents=rules.max_parents,
        required=rules.required,
        forbidden=rules.forbidden,
        starts=1,
        **options,
    )


@pytest.mark.parametrize("seed", range(48))
def test_exact_methods_equal_brute_force(seed, monkeypatch):
    require_brute_force(seed, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(48, 600))
def test_exact_methods_equal_brute_force_on_many_tables(seed, monkeypatch):
    require_brute_force(seed, monkeypatch)


def require_brute_force(seed, monkeypatch):
    data, score, rules = random_case(seed)
    # every third table is solved as those with many missing cells are
    monkeypatch.setattr(branching, "MANY_CELLS", 100 if seed % 3 else 1)
    best = max(best_per_completion(data, score, rules).values())
    for method in ("exact", "branching", "gadget"):
        result = run(data, score, rules, method)
        assert result.status == "optimal"
        assert result.score == pytest.approx(best, abs=1e-7)
        assert result.bound == pytest.approx(best, abs=1e-7)
        total = total_score(result.completed(data), result.parents, score)
        assert total == pytest.approx(result.score, abs=1e-9)
        result.check_score(data, score, rules)


@pytest.mark.parametrize("seed", range(240, 260))
@pytest.mark.parametrize("solver", ["scip", "dynamic"])
def test_t_of_all_cells_is_exact(seed, solver):
    data, score, rules = random_case(seed)
    if solver == "dynamic" and len(data.missing_cells) > 4:
        data = replace(
            data, codes=np.where(data.codes < 0, 0, data.codes).astype(np.int8)
        )
        data.codes[:2, 0] = -1
        data = Dataset(data.codes, data.names, data.states)
    best = max(best_per_completion(data, score, rules).values())
    result = run(
        data, score, rules, "t-local", t=len(data.missing_cells), solver=solver
    )
    assert result.status == "optimal"
    assert result.score == pytest.approx(best, abs=1e-6 * abs(best))


def test_a_check_finds_a_wrong_score_and_a_broken_rule():
    data, score, rules = random_case(4)
    result = run(data, score, rules, "exact")
    wrong = replace(result, score=result.score + 0.1, bound=result.bound + 0.1)
    with pytest.raises(CheckError, match="the score of the completed table is"):
        wrong.check_score(data, score, rules)
    arc = next((p, c) for c, ps in enumerate(result.parents) for p in ps)
    with pytest.raises(CheckError, match="breaks a constraint"):
        result.check_score(data, score, FamilyRules.of(3, forbidden=[arc]))


def test_mode_fills_the_most_frequent_state_and_claims_nothing():
    codes = np.array([[0, 0], [1, 1], [1, -1], [-1, 1], [1, 1]], np.int8)
    data = Dataset(codes, ("a", "b"), (("0", "1"),) * 2)
    result = augment(data, BDeu(1.0), method="mode")
    assert result.values.tolist() == [1, 1]
    assert result.status == "heuristic"
    assert np.isinf(result.bound)


def test_the_gadget_has_a_variable_for_each_cell_and_state():
    data = random_table(np.random.default_rng(8), 3, 10, 4)
    score, rules = BDeu(1.0), FamilyRules(2)
    problem = gadget_problem(data, score, max_parents=2)
    cells = data.missing_cells
    artificial = int(data.cardinalities[cells[:, 1]].sum())
    assert problem.n_variables == 3 + artificial
    row, variable = cells[0]
    name = f"{data.names[variable]}[{row + 1}]={data.states[variable][0]}"
    assert problem.names[3] == name
    assert [ps for ps, _ in problem.candidates(3)] == [(0, 1, 2, 4), ()]
    from exactlearn.solvers import solve

    lost = -min(s for _, s in problem.candidates(3)) * len(cells)
    best = max(best_per_completion(data, score, rules).values())
    assert solve(problem, solver="scip").score + lost == pytest.approx(best, abs=1e-6)


def test_a_time_limit_keeps_the_incumbent_and_a_valid_bound():
    data, score, rules = random_case(11)
    best = max(best_per_completion(data, score, rules).values())
    for method in ("exact", "branching", "t-local"):
        result = run(data, score, rules, method, time_limit=1e-3)
        assert result.status in ("feasible", "optimal")
        assert result.score <= best + 1e-7
        assert result.bound >= best - 1e-7


def test_unusable_requests_are_refused():
    data = random_table(np.random.default_rng(1), 3, 10, 3)
    with pytest.raises(OptionError, match="did you mean 't-local'"):
        augment(data, BDeu(1.0), method="tlocal")
    with pytest.raises(
        OptionError, match="'t': expected a whole number from 1, found 0"
    ):
        augment(data, BDeu(1.0), method="t-local", t=0)
    with pytest.raises(InfeasibleError, match="required"):
        augment(data, BDeu(1.0), required=[(0, 1), (1, 0)])
    many = Dataset(np.full((60, 3), -1, np.int16), data.names, (("0", "1"),) * 3)
    with pytest.raises(TooLargeError, match="use the method 'branching' or 't-local'"):
        augment(many, BDeu(1.0), method="gadget")


def small_task(seed=2):
    data = random_table(np.random.default_rng(seed), 4, 20, 6, 2)
    return Task(data, BDeu(1.0), FamilyRules.of(2, (), ()), seed=seed)


def test_starts_are_where_hard_em_stays():
    task = small_task()
    begun = list(starting_completions(task, 6, fitted=True))
    assert [fitted for _, fitted in begun] == [False, True, True, True, True, True]
    for start, _ in begun[1:]:
        values = hard_em_completion(task, start, Incumbent())
        seen = {values.tobytes()}
        while (after := fitted_completion(task, values)).tobytes() not in seen:
            seen.add(after.tobytes())
            values = after
        assert np.array_equal(after, hard_em_completion(task, start, Incumbent()))
    assert (
        hard_em_completion(task, begun[2][0], Incumbent(time_limit=0.0)) is begun[2][0]
    )


def test_a_given_start_comes_first_and_complete_tables_need_one():
    task = small_task()
    given = replace(task, start=np.ones(6, np.int64))
    assert [values.tolist() for values, _ in starting_completions(given, 2)] == [
        [1] * 6,
        mode_completion(task.dataset).tolist(),
    ]
    assert len(list(starting_completions(task, 4))) == 4
    complete = replace(task, dataset=task.dataset.complete([0] * 6))
    assert len(list(starting_completions(complete, 4, fitted=True))) == 1


def test_starts_that_meet_are_climbed_once(monkeypatch):
    begun = []

    def counted(task, incumbent, values, t):
        begun.append(values.tobytes())
        return climb(task, incumbent, values, t)

    monkeypatch.setattr("exactlearn.augmentation.hill_climber.climb", counted)
    best_climb(small_task(), Incumbent(), 40, 1)
    assert len(begun) == len(set(begun)) < 40
