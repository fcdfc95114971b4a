import gzip
from pathlib import Path

import pytest

from exactlearn._runtime.files import LIMIT, read_lines, read_text
from exactlearn.errors import FormatError, OptionError

LARGE = b"a,b\n" * 2**19 + b"a"


@pytest.mark.parametrize(
    ("content", "what"),
    [(LARGE, "at most 2 MiB,"), (gzip.compress(LARGE, mtime=0), "at most 2 MiB when unpacked")],
    ids=["plain", "gzip"],
)
def test_a_file_above_the_limit_is_refused(tmp_path, monkeypatch, content, what):
    path = tmp_path / "large"
    path.write_bytes(content)
    monkeypatch.setenv(LIMIT, "2")
    with pytest.raises(FormatError, match=f"{what}.* found more; .* {LIMIT} to more"):
        read_text(path)
    monkeypatch.setenv(LIMIT, "3")
    assert read_lines(path) == LARGE


def test_a_gzip_file_may_hold_less_than_a_plain_one(tmp_path, monkeypatch):
    monkeypatch.setattr("exactlearn._runtime.files._LARGEST_UNPACKED", len(LARGE) - 1)
    path = tmp_path / "large"
    path.write_bytes(LARGE)
    assert read_lines(path) == LARGE
    path.write_bytes(gzip.compress(LARGE, mtime=0))
    with pytest.raises(FormatError, match="when unpacked"):
        read_lines(path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no file without an end")
def test_a_file_without_an_end_is_refused(monkeypatch):
    monkeypatch.setenv(LIMIT, "1")
    with pytest.raises(FormatError, match="/dev/zero: expected at most 1 MiB, found more"):
        read_text(Path("/dev/zero"))


@pytest.mark.parametrize("given", ["", "0", "-1", "1e3", "nan", "9" * 5000])
def test_a_limit_is_a_whole_number(tmp_path, monkeypatch, given):
    path = tmp_path / "small"
    path.write_bytes(b"a")
    monkeypatch.setenv(LIMIT, given)
    with pytest.raises(OptionError, match=rf"{LIMIT}: expected a whole number of MiB") as error:
        read_text(path)
    assert len(str(error.value)) < 200


def test_a_name_with_a_zero_byte_is_refused():
    with pytest.raises(OptionError, match="zero byte"):
        read_text(Path("a\0b"))
