"""Fixtures that all tests share."""

import os
import re
import signal
import warnings
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import settings

from exactlearn._runtime import kernel as kernels

# No example has a deadline: a kernel may have to be compiled for it, on a busy machine.
settings.register_profile("exactlearn", deadline=None)
settings.load_profile("exactlearn")

os.environ.pop(
    "COLUMNS", None
)  # that of the terminal of who starts the tests, not of a command's

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


CHECKS, LARGEST = 3, 3000
"""First calls of each kernel that its plain function repeats, and the size of their arguments."""


@pytest.fixture(scope="session", autouse=True)
def machine_code() -> Iterator[None]:
    """Compile each kernel at once, and compare it with its plain function, bit by bit."""
    plain, checked = kernels._Kernel.__call__, Counter[Any]()

    def call(kernel: Any, *arguments: Any) -> Any:
        size, adds = kernels._size(arguments), "sum" in kernel.py_func.__code__.co_names
        if checked[kernel] == CHECKS or size > LARGEST or adds:
            return plain(kernel, *arguments)
        checked[kernel] += 1
        copies = deepcopy(arguments)
        with np.errstate(all="ignore"):
            other = kernel.twin(*copies)
        found = plain(kernel, *arguments)
        assert bits((found, arguments)) == bits((other, copies)), kernel
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(kernels, "MOST_INTERPRETED", -1.0)
        patched.setattr(kernels._Kernel, "__call__", call)
        yield


def bits(value: Any) -> Any:
    """Return what tells values of kernels apart, bit by bit."""
    if isinstance(value, tuple | list):
        return [*map(bits, value)]
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    array = np.asarray(value)
    return (
        (array.shape, array.dtype, array.tobytes())
        if array.ndim
        else repr(array.item())
    )


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
