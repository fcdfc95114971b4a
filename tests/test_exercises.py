"""The exercises of ARCHITECTURE.md run as they stand, one after the other in one folder."""

import re
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import pytest

from exactlearn.commands import COMMANDS
from exactlearn.formats import table
from exactlearn.imputation import methods
from exactlearn.scoring.scores import CRITERIA
from exactlearn.solvers.strategy import COMPONENT_SOLVERS
from tests.test_documentation import run_command

TEXT = (Path(__file__).parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
EXERCISES = {
    title: re.findall(r"^```(\w+)\n(.*?)^```$", body, re.MULTILINE | re.DOTALL)
    for title, body in re.findall(
        r"^### (.*?)\n(.*?)(?=^##|\Z)",
        TEXT.partition("## Exercises")[2],
        re.MULTILINE | re.DOTALL,
    )
}
REGISTRIES = (COMMANDS, CRITERIA, COMPONENT_SOLVERS, table.FORMATS, methods.METHODS)


@pytest.fixture
def _registries_are_restored():
    with ExitStack() as stack:
        for registry in REGISTRIES:
            stack.enter_context(patch.dict(registry))
        yield


@pytest.mark.usefixtures("_registries_are_restored")
@pytest.mark.parametrize("title", EXERCISES)
def test_an_exercise_runs(title, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sizes = [len(registry) for registry in REGISTRIES]
    languages = []
    for language, text in EXERCISES[title]:
        if language == "python":
            exec(compile(text, f"exercise: {title}", "exec"), {"__name__": title})
        else:
            for line in text.strip().splitlines():
                run_command(line)
        languages.append(language)
    assert languages[0] == "python"
    assert [len(registry) for registry in REGISTRIES] != sizes
