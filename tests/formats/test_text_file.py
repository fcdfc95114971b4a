import gzip
from pathlib import Path

import pytest

from exactlearn._runtime import files
from exactlearn.errors import FormatError

LARGE = b"a,b\n" * 2**19 + b"a"


def test_a_file_above_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LARGEST", len(LARGE))
    monkeypatch.setattr(files, "LARGEST_UNPACKED", len(LARGE) - 1)
    path = tmp_path / "large"
    path.write_bytes(LARGE)
    assert files.read_lines(path) == LARGE
    path.write_bytes(gzip.compress(LARGE, mtime=0))
    with pytest.raises(
        FormatError, match="at most 2 MiB when unpacked, found more; unpack"
    ):
        files.read_text(path)
    path.write_bytes(LARGE + b"a")
    with pytest.raises(FormatError, match="at most 2 MiB, found more; split"):
        files.read_text(path)


@pytest.mark.skipif(
    not Path("/dev/zero").exists(), reason="there is no file without an end"
)
def test_a_file_without_an_end_is_refused(monkeypatch):
    monkeypatch.setattr(files, "LARGEST", 2**20)
    with pytest.raises(FormatError, match="/dev/zero, line 1: a zero byte"):
        files.read_text(Path("/dev/zero"))
