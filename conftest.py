"""The examples in docstrings run in an empty folder, where those that write files may do so."""

import pytest


@pytest.fixture(autouse=True)
def empty_folder(request: pytest.FixtureRequest) -> None:
    """Change to an empty folder for an example."""
    if isinstance(request.node, pytest.DoctestItem):
        request.getfixturevalue("monkeypatch").chdir(
            request.getfixturevalue("tmp_path")
        )
