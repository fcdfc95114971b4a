"""Fixtures that all tests share."""

import os
import re
import signal
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from zlib import crc32

import pytest
from hypothesis import settings

# No example has a deadline: a kernel may have to be compiled for it, on a busy machine.
settings.register_profile("exactlearn", deadline=None)
settings.load_profile("exactlearn")

ROOT = Path(__file__).parents[1]

LONGEST_TEXT = 60
"""Characters of a parameter that a test's id shows."""


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a parameter that is bytes, long or not plain text by its words and a checksum."""
    if not isinstance(val, str | bytes):
        return None
    text = val if isinstance(val, str) else val.decode("latin-1")
    shown = " ".join(re.findall(r"[!-\[\]-~]+", text))[:LONGEST_TEXT]
    if text == shown:
        return text
    return f"{shown.rstrip()}~{crc32(text.encode()):08x}"


@pytest.fixture(scope="session", autouse=True)
def ctrl_c() -> Iterator[None]:
    """Let Ctrl-C be heard also where the tests run in the background of a script."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of public data sets; skip the test where there is none."""
    folder = Path(os.environ.get("EXACTLEARN_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no public data in {folder}: set EXACTLEARN_DATA")
    return folder


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """Return the client of a Dask cluster of two processes."""
    pytest.importorskip("distributed", reason="needs Dask: exactlearn[scale]")
    with import_module("exactlearn._runtime.executors").running("local:2") as found:
        yield found


@pytest.fixture(scope="session")
def pyagrum() -> ModuleType:
    """Return the peer library.

    Its import warns, and crashes the interpreter where warnings are errors.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module("pyagrum")
