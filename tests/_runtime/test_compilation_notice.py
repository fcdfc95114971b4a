"""Who calls the library from Python hears once why the first call takes a while."""

import io
import logging
import sys
import types

import pytest

from exactlearn._runtime.compilation_notice import NOTE, Compilations
from exactlearn._runtime.control import SearchControl


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def level():
    logger = logging.getLogger("exactlearn")
    before = logger.level
    yield logger.setLevel
    logger.setLevel(before)


def said_by_two(monkeypatch, stream):
    monkeypatch.setattr("sys.stderr", stream)
    compilations = Compilations()
    for change in (
        compilations.begin,
        compilations.begin,
        compilations.end,
        compilations.end,
    ):
        change()
    compilations.begin()
    return stream.getvalue().splitlines()


def test_a_terminal_and_a_notebook_show_one_line(monkeypatch):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    assert said_by_two(monkeypatch, Terminal()) == [NOTE]
    assert said_by_two(monkeypatch, io.StringIO()) == []
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    assert said_by_two(monkeypatch, io.StringIO()) == [NOTE]


def test_a_process_of_a_pool_leaves_it_to_the_first(monkeypatch):
    monkeypatch.setattr("multiprocessing.parent_process", lambda: "first")
    assert said_by_two(monkeypatch, Terminal()) == []


def test_the_level_of_the_logger_decides(monkeypatch, level, caplog):
    level("ERROR")
    assert said_by_two(monkeypatch, Terminal()) == []
    level("INFO")
    assert said_by_two(monkeypatch, Terminal()) == []
    assert caplog.messages == [NOTE]


def test_compiling_kernels_does_not_count_towards_time_limits(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(
        "exactlearn._runtime.compilation_notice.monotonic", lambda: now[0]
    )
    compilations = Compilations(announce=str)
    monkeypatch.setattr("exactlearn._runtime.control.clock", compilations.clock)
    control = SearchControl(10.0)
    for change in (compilations.begin, compilations.begin, compilations.end):
        change()
        now[0] += 20.0
        assert not control.is_over
        assert control.left == 10.0
    compilations.end()
    now[0] += 9.0
    assert (control.left, control.seconds) == (1.0, 9.0)
    now[0] += 1.0
    assert control.is_over
