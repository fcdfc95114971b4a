"""--checkpoint: a command that was killed goes on where its state was kept."""

import pytest

from tests.command_line import fails, run_json, write_hard_scores
from tests.killing import KilledError, killing


def test_a_command_goes_on_after_its_time_limit(tmp_path):
    scores, state = tmp_path / "hard.jkl", tmp_path / "state"
    write_hard_scores(scores)
    options = ("solve", scores, "--time-limit", 1, "--checkpoint", state, "--json")
    first = run_json(*options, status=3)
    assert list(state.iterdir())
    again = run_json(*options, status=3)
    assert again["bound"] <= first["bound"] + 1e-6
    assert again["score"] >= first["score"]


def test_augment_goes_on_after_a_kill(tmp_path, monkeypatch):
    expected = run_json("augment", "asia-mnar", "--max-parents", 2, "--json")
    kills = killing(monkeypatch)
    kills |= {"search": "branching", "left": 3, "most": 1}
    state = tmp_path / "state"
    options = ("augment", "asia-mnar", "--max-parents", 2, "--checkpoint", state, "--json")
    with pytest.raises(KilledError):
        run_json(*options)
    assert list(state.glob("branching-*"))
    again = run_json(*options)
    assert (again["status"], again["parents"]) == ("optimal", expected["parents"])
    assert again["score"] == pytest.approx(expected["score"], abs=1e-9)


def test_a_search_of_classes_keeps_no_state(tmp_path):
    options = ("solve", "asia-mnar-complete", "--solver", "ges", "--checkpoint", tmp_path / "state")
    assert "--checkpoint" in fails(*options)
