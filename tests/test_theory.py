"""The pages of theorems name tests and modules that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs" / "theory").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_names_exists(page: Path) -> None:
    named = re.findall(
        r"`((?:tests|solvers|exactlearn)/[\w/]+\.py)(?:::([\w.]+))?`", page.read_text()
    )
    assert named
    for file, name in named:
        text = (ROOT / file).read_text()
        assert re.search(rf"(def|class) {name.split('.')[-1]}\b", text), (
            f"{file}: {name}"
        )
