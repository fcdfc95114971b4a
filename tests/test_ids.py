"""Test ids can be read, and typed after ``pytest -k``."""

import re
from pathlib import Path

from tests.conftest import pytest_make_parametrize_id

READABLE = re.compile(r"[ -~]{1,240}")
TEST_NAME = re.compile(r"^ *def (test_\w+)", re.MULTILINE)
MAX_LENGTH = 60


def test_every_id_is_short_plain_text(request):
    ids = [item.nodeid for item in request.session.items]
    assert [i for i in ids if "\\" in i or not READABLE.fullmatch(i)] == []


def test_no_name_of_a_test_is_longer_than_sixty_characters():
    """What the name leaves out is said by the first line of the docstring."""
    files = Path(__file__).parent.rglob("test_*.py")
    too_long = {
        f"{file.name}::{name}"
        for file in files
        for name in TEST_NAME.findall(file.read_text("utf-8"))
        if len(name) > MAX_LENGTH
    }
    assert too_long == set()


def test_a_text_that_is_not_plain_is_named_by_its_words():
    assert pytest_make_parametrize_id(0.5) is None
    assert pytest_make_parametrize_id("a plain text") == "a plain text"
    assert pytest_make_parametrize_id("1\na 1\n") == "1 a 1~a90b5520"
    first, second = (
        pytest_make_parametrize_id(b"\x1f\x8b words" * 99 + e) for e in (b"a", b"b")
    )
    assert first != second
