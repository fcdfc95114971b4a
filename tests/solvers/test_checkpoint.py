"""What a search keeps of finished parts is taken up by the same search, and by no other."""

from contextlib import suppress
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import exactlearn as el
from exactlearn._runtime.checkpoint import Checkpoint, digest
from exactlearn.errors import FormatError, OptionError
from exactlearn.solvers import Problem, root, solve, strategy


def random_problem(seed, n, most_parents=2):
    """Return a problem with a gap between its linear relaxation and its optimum."""
    rng = np.random.default_rng(seed)
    tables = []
    for child in range(n):
        others = [v for v in range(n) if v != child]
        sets = [s for k in range(most_parents + 1) for s in combinations(others, k)]
        tables.append({s: float(5 * rng.random() * len(s) ** 0.7) - 10 for s in sets})
    return Problem.from_candidates([f"x{i}" for i in range(n)], tables)


def test_a_long_relaxation_is_saved_before_the_search(tmp_path, monkeypatch):
    monkeypatch.setattr(root, "LONG", 0.0)
    monkeypatch.setattr(
        strategy.order_graph, "_Sweeps", None
    )  # fails as the search begins
    with pytest.raises(TypeError):
        solve(random_problem(3, 16), solver="order-graph", checkpoint=tmp_path)
    assert list(tmp_path.glob("relaxation-*"))


def test_what_was_proven_is_not_proven_again(tmp_path, monkeypatch):
    monkeypatch.setattr(strategy, "LONG", 0.0)
    problem = random_problem(3, 13)
    first = solve(problem, solver="order-graph", checkpoint=tmp_path)
    assert [file.name.split("-")[0] for file in tmp_path.iterdir()] == ["proof"]
    again = solve(problem, solver="order-graph", checkpoint=tmp_path)
    assert (again.status, again.score, again.parents) == (
        "optimal",
        first.score,
        first.parents,
    )
    assert again.nodes < first.nodes
    assert "went on" in again.message


def test_a_limit_keeps_the_state(tmp_path):
    problem = random_problem(11, 30)
    first = solve(problem, solver="order-graph", time_limit=0.5, checkpoint=tmp_path)
    assert first.status == "feasible"
    assert list(tmp_path.glob("relaxation-*"))
    again = solve(problem, solver="order-graph", time_limit=0.5, checkpoint=tmp_path)
    assert "went on" in again.message


def table_of(codes, states):
    return el.Dataset(codes, tuple("abcd"), states)


CODES = np.random.default_rng(5).integers(0, 2, (40, 4)).astype(np.int8)
TABLE = table_of(CODES, (("no", "yes"),) * 4)
WIDER = table_of(CODES, (("no", "yes", "other"), *TABLE.states[1:]))
CHANGES = {
    "declared states": lambda: candidates(WIDER, el.BDeu(5.0)),
    "score": lambda: candidates(TABLE, el.BIC()),
    "parameter of the score": lambda: candidates(TABLE, el.BDeu(4.0)),
    "rows": lambda: candidates(TABLE.part(slice(39)), el.BDeu(5.0)),
    "required arc": lambda: replace(BASE(), required={(0, 1)}),
    "forbidden arc": lambda: replace(BASE(), forbidden={(0, 1)}),
    "limit on parents": lambda: candidates(TABLE, el.BDeu(5.0), 1),
}


def candidates(table, score, most=2):
    return el.candidate_parent_sets(table, score, max_parents=most, prune=False)


def BASE():  # noqa: N802
    return candidates(TABLE, el.BDeu(5.0))


@pytest.fixture
def taken_up(monkeypatch):
    """Keep every result, however quick, and note those that a search takes up."""
    monkeypatch.setattr(strategy, "LONG", 0.0)
    noted, load = [], Checkpoint.load

    def noting(self, key):
        found = load(self, key)
        noted.extend([key] * bool(found))
        return found

    monkeypatch.setattr(Checkpoint, "load", noting)
    return noted


@pytest.mark.parametrize("change", CHANGES)
def test_a_search_of_something_else_is_a_fresh_one(change, tmp_path, taken_up):
    solve(BASE(), solver="scip", checkpoint=tmp_path)
    changed = CHANGES[change]()
    fresh = solve(changed, solver="scip")
    found = solve(changed, solver="scip", checkpoint=tmp_path)
    assert (found.parents, found.score, taken_up) == (fresh.parents, fresh.score, [])
    solve(BASE(), solver="scip", checkpoint=tmp_path)
    assert taken_up


def test_a_search_of_another_version_is_a_fresh_one(tmp_path, taken_up, monkeypatch):
    solve(BASE(), solver="scip", checkpoint=tmp_path)
    monkeypatch.setattr(el, "__version__", "9.9")
    solve(BASE(), solver="scip", checkpoint=tmp_path)
    assert not taken_up


STATE = {"chosen": list(range(40)), "kept": [[True] * 5] * 3}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    states = Checkpoint(tmp_path_factory.mktemp("state"))
    states.save("part", STATE)
    (path,) = states.folder.iterdir()
    return states, path, path.read_bytes()


@given(data=st.data())
def test_no_damage_changes_a_state(saved, data):
    states, path, whole = saved
    place = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        damaged = whole[:place]
    else:
        flipped = whole[place] ^ data.draw(st.integers(1, 255))
        damaged = whole[:place] + bytes([flipped]) + whole[place + 1 :]
    path.write_bytes(damaged)
    with suppress(
        FormatError
    ):  # what does not say so is harmless, as of the time in a header
        assert {
            key: array.tolist() for key, array in states.load("part").items()
        } == STATE


def test_damage_says_what_to_do(saved):
    states, path, whole = saved
    path.write_bytes(whole[:-1])
    with pytest.raises(FormatError, match=r"part-.*\.gz: .*remove the file"):
        states.load("part")


def test_a_state_that_is_a_folder_says_what_to_do(tmp_path):
    states = Checkpoint(tmp_path)
    states.save("part", {"n": 3})
    (path,) = tmp_path.iterdir()
    path.unlink()
    path.mkdir()
    with pytest.raises(FormatError, match="remove the file"):
        states.load("part")


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="name another place"):
        Checkpoint(tmp_path / "file")


def test_a_state_is_saved_whole_and_dropped(tmp_path):
    states = Checkpoint(tmp_path)
    assert states.load("search") == {}
    states.save("search", {"n": 3})
    assert int(states.load("search")["n"]) == 3
    states.drop("search")
    assert list(tmp_path.iterdir()) == []


def test_digests_tell_types_shapes_and_values_apart():
    arrays = [[1, 2], [[1, 2]], [1.0, 2.0], [2, 1], [1, 2, 0]]
    assert len({digest(array) for array in arrays}) == len(arrays)
