import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactlearn._runtime.files import read_json
from exactlearn.errors import FormatError


@pytest.fixture
def read(tmp_path):
    path = tmp_path / "a.json"

    def reading(text: str | bytes):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_json(path)

    return reading


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "brackets are nested too deep"),
        ('{"a":' * 100_000, "brackets are nested too deep"),
        ('["1", ' + "1" * 5000 + "]", "thousands of digits"),
        ('["\\ud83d\\ude00 \\\\ud800",\n "\\udc00"]', r"'\\udc00' is half a letter"),
        ('{"a":\n oops}', "line 2, column 2: not JSON"),
        ('"' + '\\"' * 60_000, r"not JSON: Unterminated .*cut off"),
    ],
    ids=["lists", "objects", "digits", "surrogate", "word", "string"],
)
def test_what_no_parser_takes_is_refused_with_its_place(read, text, message):
    with pytest.raises(FormatError, match=message):
        read(text)


def test_escapes_of_whole_letters_are_read(read):
    assert read('["\\ud83d\\ude00", "\\\\ud800", "\\u0061"]') == ["😀", "\\ud800", "a"]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(value=values, cut=st.integers(0, 100), noise=st.binary(max_size=3))
def test_any_text_is_read_or_refused(tmp_path_factory, value, cut, noise):
    path = tmp_path_factory.getbasetemp() / "any.json"
    text = json.dumps(value).encode()
    path.write_bytes(text)
    assert read_json(path) == value
    path.write_bytes(text[:cut] + noise + text[cut:])
    with suppress(FormatError):
        read_json(path)
