"""The page that walks through the engine names what exists."""

import re
from importlib import import_module

import pytest

from tests.command_line import ROOT

PAGE = (ROOT / "docs" / "engine.md").read_text()
NAMES = sorted(set(re.findall(r"`([a-z_]+(?:\.[A-Za-z_]+)+)`", PAGE)) - {"el.solve"})


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_the_page_exists(name):
    module, *attributes = name.split(".")
    if attributes == ["py"]:
        return
    found = import_module(f"exactlearn.solvers.{module}")
    for attribute in attributes:
        found = getattr(found, attribute)
