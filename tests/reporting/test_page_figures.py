"""The page of records that have no section of their own."""

import pytest

from exactlearn.commands.report import report
from tests.command_line import run

COMMANDS = {
    "compare cancer-mcar --learners chow-liu,independent --folds 2": ("chow-liu", "independent"),
    "compare cancer-mcar --methods mode --hide mcar:2": ("accuracy", "mode"),
    "evaluate cancer cancer-mcar": ("log likelihood per row",),
    "missingness cancer-mcar": ("Recommendation", "verdict", "p value"),
    "graph cancer": ("v structures", "class size"),
}


@pytest.mark.parametrize("words", COMMANDS)
def test_the_results_of_a_command_are_on_its_page(words, tmp_path):
    (tmp_path / "record.json").write_text(run(*words.split(), "--json"))
    report(tmp_path / "record.json", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    results = text.split('id="results"')[1].split("</section>")[0]
    for expected in COMMANDS[words]:
        assert expected in results


def test_what_other_sections_show_is_not_repeated(tmp_path):
    run("solve", "cancer-mcar-complete", "-o", tmp_path / "record.json")
    report(tmp_path / "record.json", tmp_path / "page.html")
    assert 'id="results"' not in (tmp_path / "page.html").read_text()
