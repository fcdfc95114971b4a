"""--checkpoint: a command goes on with the results that an earlier one kept."""

from tests.command_line import fails, run_json, write_hard_scores


def test_a_command_goes_on_after_its_time_limit(tmp_path):
    scores, state = tmp_path / "hard.jkl", tmp_path / "state"
    write_hard_scores(scores)
    options = ("solve", scores, "--time-limit", 1, "--checkpoint", state, "--json")
    first = run_json(*options, status=3)
    assert list(state.iterdir())
    again = run_json(*options, status=3)
    assert again["bound"] <= first["bound"] + 1e-6
    assert again["score"] >= first["score"]


def test_a_search_of_classes_keeps_no_state(tmp_path):
    options = ("solve", "asia-mnar-complete", "--solver", "ges", "--checkpoint", tmp_path / "state")
    assert "--checkpoint" in fails(*options)
