"""``exactlearn solve --local-models``: families with log-linear distributions."""

import pytest
from click.testing import CliRunner

from exactlearn import LocalModels, learned_counts, read_dataset
from exactlearn.__main__ import main
from exactlearn.formats.models import read_network
from exactlearn.instances import locate
from exactlearn.scoring.scores import BDeu
from exactlearn.structure import selection
from tests.command_line import fails, run_json


def test_local_models_are_chosen_by_score_and_written_as_tables(tmp_path):
    found = run_json(
        *("solve", "lucas-mcar-complete", "--local-models", "best", "-o", str(tmp_path / "n.bif"))
    )
    models = LocalModels(read_dataset(locate("lucas-mcar-complete", ".csv")), BDeu())
    names = models.dataset.names
    parents = [[names.index(p) for p in found["parents"][name]] for name in names]
    families = list(enumerate(parents))
    assert found["score"] == pytest.approx(sum(models.family(c, own) for c, own in families))
    expected = {names[c]: models.is_log_linear(c, own) for c, own in families if own}
    said = {name: model == "log-linear" for name, model in found["local_models"].items()}
    assert said == expected
    assert set(said.values()) == {True, False}
    network = read_network(tmp_path / "n.bif")
    for table, other in zip(network.tables, models.fit(network.parents).tables, strict=True):
        assert table == pytest.approx(other, abs=1e-6)


def test_log_linear_families_obey_constraints_and_their_number_of_parents():
    found = run_json(
        *("solve", "lucas-mcar-complete", "--local-models", "log-linear"),
        *("--log-linear-parents", "1", "--require-ancestor", "Anxiety->Coughing"),
        *("--require", "Allergy->Anxiety", "--forbid-adjacent", "Smoking-Yellow_Fingers"),
    )
    assert all(len(own) <= 1 for name, own in found["parents"].items() if name != "Coughing")
    assert found["parents"]["Anxiety"] == ["Allergy"]
    assert "Smoking" not in found["parents"]["Yellow_Fingers"]
    assert "Yellow_Fingers" not in found["parents"]["Smoking"]
    assert set(found["local_models"].values()) == {"log-linear"}


def test_local_models_need_a_table_its_counts_and_parent_sets(tmp_path):
    best, scores = ("--local-models", "best"), tmp_path / "two.jkl"
    scores.write_text("2\n0 1\n-1.0 0\n1 1\n-1.0 0\n")
    assert "takes expected counts" in fails("solve", "lucas-mcar", *best, "--counts", "f-mar")
    assert "is for a table" in fails("solve", str(scores), *best)
    assert "--local-models cannot be honoured" in fails(
        *("solve", "lucas-mcar-complete", *best, "--solver", "ges")
    )


def test_a_time_limit_ends_the_search_for_log_linear_families(monkeypatch):
    monkeypatch.setattr(selection, "LEAST_SCORING", 0.0)
    words = ["solve", "lucas-mcar-complete", "--local-models", "best", "--time-limit", "0"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 3
    assert "stopped the scoring" in done.stderr


def test_missing_cells_have_expected_counts(tmp_path):
    found = run_json(
        *("solve", "lucas-mcar", "--local-models", "best", "--ess", "1", "--max-parents", "2"),
        *("-o", str(tmp_path / "n.bif")),
    )
    data = read_dataset(locate("lucas-mcar", ".csv"))
    counts = learned_counts(data, max_parents=2).counts
    models = LocalModels(data, BDeu(), table_parents=2, counts=counts)
    network = read_network(tmp_path / "n.bif")
    families = list(enumerate(network.parents))
    assert found["score"] == pytest.approx(sum(models.family(c, own) for c, own in families))
    assert max(map(len, network.parents)) == 2
    for table, other in zip(network.tables, models.fit(network.parents).tables, strict=True):
        assert table == pytest.approx(other, abs=1e-6)


def test_a_proof_about_some_parent_sets_says_so():
    words = ["solve", "lucas-mcar-complete", "--local-models"]
    about_some, about_all = (
        CliRunner().invoke(main, [*words, models]).output for models in ("best", "table")
    )
    assert "Not all parent sets were scored" in about_some
    assert "Not all parent sets were scored" not in about_all
