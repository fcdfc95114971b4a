"""``exactlearn solve --solver ges|kes``, and the same as a step of a run file."""

import json
import tomllib

import pytest

import exactlearn as el
from exactlearn.graphs.equivalence import cpdag
from exactlearn.instances import locate
from exactlearn.reporting.arc_support import class_support
from tests.command_line import fails, run, run_json

TABLE = "cancer-mcar-complete"
KES = ("solve", TABLE, "--solver", "kes", "--greediness", 0, "--restarts", 30)


def test_ges_is_that_of_the_library(tmp_path):
    found = run_json("solve", TABLE, "--solver", "ges", "--criterion", "bic", "-o", tmp_path / "x")
    data = el.read_dataset(locate(TABLE, ".csv"))
    ours = el.equivalence_search(data, el.BIC())
    assert (found["status"], found["score"], found["gap"]) == ("heuristic", ours.score, None)
    assert found["method"] == "ges"
    assert len(found["classes"]) == 1
    assert json.loads((tmp_path / "x" / "result.json").read_text())["score"] == ours.score
    assert el.read_bif(tmp_path / "x" / "network.bif").n_variables == data.n_variables


def test_kes_lists_its_classes_and_writes_how_often_it_met_each_arc(tmp_path):
    found = run_json(*KES, "--support", tmp_path / "support.csv", "--seed", 3)
    assert sum(each["starts"] for each in found["classes"]) == len(found["scores"]) == 30
    assert found["score"] == max(found["scores"]) == found["classes"][0]["score"]
    assert found["classes"] == sorted(found["classes"], key=lambda each: -each["score"])
    lines = (tmp_path / "support.csv").read_text().splitlines()
    assert len(lines) == len(found["support"]) + 1
    assert run_json(*KES, "--seed", 3)["scores"] == found["scores"]
    assert "starts" in run(*KES)


def test_support_of_classes_adds_up_arcs_and_edges():
    chain, collider = cpdag([(), (0,), (1,)]), cpdag([(), (0, 2), ()])
    found = {
        (row.parent, row.child): row
        for row in class_support([(chain, -1.0, 3), (collider, -1.0, 1)])
    }
    assert found.keys() == {(0, 1), (1, 2), (2, 1)}
    assert (found[0, 1].support, found[0, 1].adjacency_support) == (0.25, 1.0)
    assert (found[1, 2].support, found[2, 1].support) == (0.0, 0.25)
    assert (found[2, 1].weight, found[2, 1].adjacency_weight) == (0.5, 1.0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--solver", "ges", "--best", 2), "--best cannot be honoured"),
        (("--solver", "kes", "--require", "Smoker->Cancer"), "--require cannot be honoured"),
        (("--solver", "ges", "--certificate", "c.json"), "--certificate cannot be honoured"),
        (("--solver", "ges", "--restarts", 5), "--restarts is for --solver kes"),
        (("--greediness", 0.5), "--greediness is for --solver kes"),
        (("--solver", "kes", "--phases", 1), "--phases is for --solver ges"),
        (("--solver", "ges", "-o", "x.jkl"), "has no table of scores"),
        (("--solver", "ges", "--support", "s.csv"), "--solver kes"),
    ],
)
def test_options_without_meaning_are_refused(words, message):
    assert message in fails("solve", TABLE, *words)


def test_other_input_is_refused(tmp_path):
    assert "'exactlearn solve' without it" in fails("solve", "cancer-mcar", "--solver", "ges")
    assert "exactlearn solve" in fails("augment", "cancer-mcar", "--solver", "kes")
    run("solve", TABLE, "-o", tmp_path / "x.jkl")
    assert "give the table" in fails("solve", tmp_path / "x.jkl", "--solver", "ges")


def test_parents_are_unbounded_unless_the_run_file_says_otherwise(tmp_path):
    text = f'pipeline = false\n[data]\nfile = "{TABLE}"\n[solve]\nsolver = "kes"\nrestarts = 2\n'
    for more, most in (("", "none"), ("[score]\nmax_parents = 1\n", 1)):
        (tmp_path / "run.toml").write_text(text + more)
        record = run_json("run", tmp_path / "run.toml", "-o", tmp_path / "out")
        assert record["steps"][0]["method"] == "kes"
        stored = tomllib.loads((tmp_path / "out" / "run.toml").read_text())
        assert stored["solve"][0]["max_parents"] == most
