"""Fixtures that all tests share."""

import os
import warnings
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of public data sets; skip the test where there is none."""
    folder = Path(os.environ.get("EXACTLEARN_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no public data in {folder}: set EXACTLEARN_DATA")
    return folder


@pytest.fixture(scope="session")
def pyagrum() -> ModuleType:
    """Return the peer library.

    Its import warns, and crashes the interpreter where warnings are errors.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("pyagrum")
