"""Fixtures that all tests share."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of public data sets; skip the test where there is none."""
    folder = Path(os.environ.get("EXACTLEARN_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no public data in {folder}: set EXACTLEARN_DATA")
    return folder
