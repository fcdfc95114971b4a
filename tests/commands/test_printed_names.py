"""Names of any length and with any characters do no harm where they are printed."""

import numpy as np
import pytest

import exactlearn as el
from exactlearn.reporting.description import describe
from tests.command_line import invoke

LONG = "x" * 100_000
LONG_WITH_BLANKS = "a name " * 15_000 + "."
ESCAPE = "a\x1b[31m\x9b"


@pytest.fixture
def model(tmp_path, request):
    """Return a table and a network of two variables, one with a name of the test's."""
    name = request.param
    codes = np.repeat([[0, 0], [1, 1], [1, 0]], 8, axis=0)
    states = ("no", f"yes {name}")
    table = el.Dataset(codes, (name, "b"), (states, ("0", "1")))
    el.write_dataset(table, tmp_path / "t.parquet")
    el.write_model(el.learn(table).network, tmp_path / "t.bif")
    return tmp_path, name, states


@pytest.mark.parametrize(
    "model", [LONG, LONG_WITH_BLANKS], indirect=True, ids=["word", "blanks"]
)
def test_long_names_are_shortened(model):
    folder, name, _ = model
    for words in (
        ["solve", folder / "t.parquet"],
        ["query", folder / "t.bif", "--target", name],
        ["query", folder / "t.bif", "--target", "b", "--evidence", f"{name}=no"],
        ["graph", folder / "t.bif"],
        ["evaluate", folder / "t.bif", folder / "t.parquet"],
    ):
        done = invoke(*words)
        assert len(done.stdout) < 8_000, words
        assert len(done.stderr) < 8_000, words


@pytest.mark.parametrize("model", [ESCAPE], indirect=True, ids=["escape"])
def test_control_characters_are_escaped(model):
    folder, name, _ = model
    for words, status in (
        (["solve", folder / "t.parquet", "-v"], 0),
        (["query", folder / "t.bif", "--target", name], 0),
        (["graph", folder / "t.bif"], 0),
        (["query", folder / "t.bif", "--target", f"{name}!"], 2),
        (["solve", folder / "t.parquet", "--drop", f"{name}!"], 2),
        (["solve", folder / f"{ESCAPE}.csv"], 2),
    ):
        done = invoke(*words, status=status)
        assert not {"\x1b", "\x9b"} & {*done.stdout, *done.stderr}, words
        assert "\\x1b" in done.stdout + done.stderr


def test_two_long_names_stay_apart():
    (section,) = describe(
        {"parents": {"left" + LONG: [], "right" + LONG: ["left" + LONG]}}
    )
    (table,) = section.tables
    assert table.rows[1][1] == table.rows[0][0] != table.rows[1][0]
