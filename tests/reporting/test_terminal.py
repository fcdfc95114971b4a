"""Descriptions in a terminal: no line is longer than it, and nothing is cut."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactlearn.formats.bif import write_bif
from exactlearn.reporting.terminal import show
from tests.command_line import run
from tests.network_oracle import random_network

COMMANDS = (
    "query large.bif --best 3",
    "query large.bif --evidence x3=s0 --independences",
    "graph large.bif --to cpdag",
    "solve cancer-mcar-complete --best 5 --max-parents 1",
    "solve cancer-mcar-complete --bootstrap 2 --max-parents 1",
    "missingness cancer-mcar",
    "compare cancer-mcar --methods mode --hide mcar:0.1 --repeat 2",
    "evaluate cancer cancer-mcar-complete --class Cancer --reference cancer",
    "augment cancer-mcar --method mode",
)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """Records of commands; the network has as many variables as ALARM."""
    folder = tmp_path_factory.mktemp("large")
    write_bif(
        random_network(np.random.default_rng(1), 37, most_states=3),
        folder / "large.bif",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return {line: json.loads(run(*line.split(), "--json")) for line in COMMANDS}


def printed(record, width, capsys):
    """Return what is printed on a terminal of a width, or into a pipe."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS", raising=False)
        if width is not None:
            patch.setenv("COLUMNS", str(width))
        capsys.readouterr()
        show(record)
    return capsys.readouterr().out


def words(text):
    return set(re.split(r"[\s=,.:;]+", text))


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("line", COMMANDS)
def test_lines_fit_the_terminal_and_keep_all_words(line, width, records, capsys):
    whole = printed(records[line], None, capsys)
    narrow = printed(records[line], width, capsys)
    assert max(map(len, narrow.splitlines())) <= width
    assert {word for word in words(whole) if len(word) < width // 2} <= words(narrow)


def test_explanations_of_many_variables_repeat_no_states(records, capsys):
    text = printed(records[COMMANDS[0]], 80, capsys).partition("Explanations\n")[2]
    assert text.startswith("In all rows: ")
    assert [len(re.findall(rf"\bx{v}\b", text)) for v in range(37)] == 37 * [1]
    states = [record["states"] for record in records[COMMANDS[0]]["explanations"]]
    differing = [name for name in states[0] if len({own[name] for own in states}) > 1]
    head = next(line for line in text.splitlines() if "log probability" in line)
    assert head.split()[: len(differing)] == differing


def test_a_pipe_has_a_line_for_each_row(records, capsys):
    lines = printed(records[COMMANDS[0]], None, capsys).splitlines()
    head, *rows = lines[lines.index("Explanations") + 1 :]
    assert len(rows) == 3
    assert {f"x{v}" for v in range(37)} <= words(head)


def test_a_wide_table_of_methods_is_transposed(capsys):
    rows = [
        {"method": name, **{f"measure{k}": f"{name}{k}" for k in range(12)}}
        for name in "ab"
    ]
    lines = printed({"rows": rows}, 40, capsys).splitlines()
    assert lines[0].split() == ["method", "a", "b"]
    assert lines[1].split() == ["measure0", "a0", "b0"]


TEXTS = st.text("ab ", max_size=12).map(str.strip)


@given(
    st.integers(1, 9).flatmap(
        lambda n: st.lists(
            st.lists(TEXTS, min_size=n, max_size=n), min_size=1, max_size=6
        )
    ),
    st.integers(30, 90),
)
def test_any_table_fits_without_loss(rows, width):
    record = {
        "rows": [{f"column{k}": text for k, text in enumerate(row)} for row in rows]
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        with pytest.MonkeyPatch.context() as inner:
            lines = []
            inner.setattr("sys.stdout", _Lines(lines))
            show(record)
    text = "".join(lines)
    assert max(map(len, text.splitlines()), default=0) <= width
    expected = {word for row in rows for cell in row for word in cell.split()}
    assert expected <= words(text)


class _Lines:
    """A text file that is no terminal."""

    encoding = "utf-8"

    def __init__(self, lines):
        self.write = lines.append

    def flush(self):
        """Keep all."""

    def isatty(self):
        return False


def test_units_are_those_of_keys_and_not_of_their_letters(capsys):
    record = {"gap": 3.0, "gap_rows": 3.0, "share": 0.5, "market_share": 0.5}
    lines = printed(record, None, capsys).splitlines()
    assert dict(line.rsplit(maxsplit=1) for line in lines if "%" not in line) == {
        "gap": "3.0000",
        "gap rows": "3",
        "market share": "0.5",
    }
    assert "share         50.00 %" in lines
