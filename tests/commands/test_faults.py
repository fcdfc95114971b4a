"""What a fault inside a search costs: a clear message, and never the answer found before it."""

import json
from dataclasses import replace
from itertools import count

import pytest

from exactlearn.commands.output import Answer, Output
from exactlearn.errors import OptionError, SolverError
from exactlearn.solvers.relaxation import LinearProgram
from exactlearn.solvers.strategy import COMPONENT_SOLVERS
from tests.command_line import fails, write_hard_scores


@pytest.fixture
def scores(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_hard_scores(tmp_path / "hard.jkl", 20)


def require_answer(path):
    """The file has a network of 20 variables and says that nothing is proven."""
    record = json.loads(path.read_text())
    assert len(record["parents"]) == 20
    assert record["status"] != "optimal"
    assert sum(map(len, record["parents"].values())) > 10


@pytest.mark.parametrize("solved", [1, 3])
def test_a_linear_program_that_fails_leaves_the_incumbent(
    solved, scores, tmp_path, monkeypatch
):
    calls, solve = count(), LinearProgram.solve

    def failing(self, *args, **kwargs):
        if next(calls) >= solved:
            raise SolverError(
                "the linear relaxation was not solved; its solver says 'no memory'"
            )
        return solve(self, *args, **kwargs)

    monkeypatch.setattr(LinearProgram, "solve", failing)
    message = fails("solve", scores, "-o", "out.json", "--time-limit", 60, status=5)
    assert (
        message
        == "Error: the linear relaxation was not solved; its solver says 'no memory'\n"
    )
    require_answer(tmp_path / "out.json")


@pytest.mark.parametrize("name", ["order-graph", "scip"])
def test_a_component_solver_without_memory_leaves_the_incumbent(
    name, scores, tmp_path, monkeypatch
):
    def failing(*_):
        raise MemoryError

    entry = replace(COMPONENT_SOLVERS[name], solve=failing)
    monkeypatch.setitem(COMPONENT_SOLVERS, name, entry)
    message = fails(
        "solve", scores, "--solver", name, "-o", "out.json", "--time-limit", 60
    )
    assert (
        message == "Error: not enough memory: take fewer rows, variables or parents\n"
    )
    require_answer(tmp_path / "out.json")


def test_an_unwritable_file_does_not_stop_other_output(capsys):
    """Every other file is written and the answer printed."""
    written = []

    def fail():
        raise OptionError("no place")

    output = Output(as_json=True)
    writers = [fail, lambda: written.append("trace"), fail]
    answer = output.written(Answer(record={"score": -1.0}, writers=writers))
    assert written == ["trace"]
    with pytest.raises(OptionError, match="no place"):
        output.answer(answer)
    assert json.loads(capsys.readouterr().out) == {"score": -1.0}
