"""Each choice that a help lists runs."""

from collections.abc import Iterator
from typing import Any

import click
import pytest

import exactlearn as el
from exactlearn.__main__ import main
from exactlearn.commands import COMMANDS
from exactlearn.commands.click_options import _NumberOrWord
from tests.command_line import fails, invoke, run_json

LINES = {
    "augment": "part.csv --max-parents 1",
    "compare": "part.csv --methods mode --truth full.csv --max-parents 1 --time-limit 1",
    "convert": "full.csv -o scores.jkl --max-parents 1",
    "fit": "cancer part.csv",
    "graph": "cancer",
    "impute": "part.csv --max-parents 1 --time-limit 1",
    "learn-pdg": "full.csv --time-limit 0.2",
    "solve": "full.csv --max-parents 1 --time-limit 1",
    "run": "cancer",
    "compile": "cancer",
    "evaluate": "cancer full.csv",
    "learn-nb": "full.csv --components 2",
    "missingness": "part.csv",
    "posterior": "full.csv --max-parents 2",
}
"""The command lines that a choice is added to."""

BESIDE = {
    "--score penalised": "--size-weight 0.3",
    "compile --decimal ,": "--data full.csv",
    "learn-pdg --parameters available": "--method em",
    "learn-pdg --parameters complete": "--method em",
    # fewer completions
    "posterior --counts auto": "--drop Pollution --drop Xray",
    "posterior --counts average": "--drop Pollution --drop Xray",
}

DONE = (0, 3)
"""Exit statuses of a command that did its work, with a limit reached or not."""


def choices() -> Iterator[Any]:
    """Yield command, option and choice of all that helps list."""
    context = click.Context(main)
    for name in COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        for parameter in command.params:
            words = ()
            if isinstance(parameter.type, click.Choice | _NumberOrWord):
                words = getattr(parameter.type, "choices", None) or parameter.type.words
            for word in words:
                yield pytest.param(
                    name,
                    parameter.opts[0],
                    word,
                    id=f"{name} {parameter.opts[0]} {word}",
                )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a folder with a small table, complete and with missing cells."""
    folder = tmp_path_factory.mktemp("choices")
    hidden = (
        "--hide",
        "mcar:0.1",
        "-o",
        folder / "part.csv",
        "--complete",
        folder / "full.csv",
    )
    invoke("simulate", "cancer", "--rows", 40, "--seed", 4, *hidden)
    for file in ("part", "full"):
        text = (folder / f"{file}.csv").read_text()
        (folder / f"{file}-semicolons.csv").write_text(text.replace(",", ";"))
    return folder


@pytest.mark.parametrize(("name", "option", "word"), list(choices()))
def test_each_choice_that_a_help_lists_runs(
    name: str, option: str, word: str, folder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    line = LINES[name]
    if (option, word) == ("--method", "mode"):
        line = line.partition(" ")[
            0
        ]  # nothing is learned, so that no option of learning is taken
    beside = BESIDE.get(f"{option} {word}", "") or BESIDE.get(
        f"{name} {option} {word}", ""
    )
    line = f"{line} {beside}"
    learns_from_missing_cells = option == "--counts" or (
        name == "learn-pdg" and (word == "em" or option == "--parameters")
    )
    if learns_from_missing_cells:
        line = line.replace("full.csv", "part.csv")
    if (option, word) == ("--decimal", ","):
        line = line.replace(".csv", "-semicolons.csv")
    invoke(name, *line.split(), option, word, status=DONE)


def test_the_size_weight_is_that_of_the_penalised_score(
    folder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    line = ("solve", "full.csv", "--criterion", "penalised")
    score = el.PenalisedLikelihood(size_weight=0.3)
    table = el.read_dataset("full.csv")
    learned = el.learn(table, score=score)
    record = run_json(*line, "--size-weight", 0.3, "--json")
    assert record["score"] == pytest.approx(learned.score, abs=1e-9)
    network = el.fit_complete(table, learned.parents, smoothing=0.0)
    penalty = 0.3 * sum(states.size - states[..., 0].size for states in network.tables)
    assert learned.score == pytest.approx(
        0.7 * network.log_likelihood(table) - penalty, abs=1e-9
    )
    assert "give --size-weight 0.1" in fails(*line)
    assert "--size-weight is for --score penalised" in fails(
        "solve", "full.csv", "--size-weight", 0.3
    )
    assert "not in the range" in fails(*line, "--size-weight", 2)
