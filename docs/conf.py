"""Configuration of Sphinx: ``sphinx-build -W docs site`` builds the guide and the API reference.

The pages of the reference are written when the build begins, one for each package that public
names live in, so that no name can be left out.
"""

from importlib import import_module
from pathlib import Path

import exactlearn
import exactlearn.sklearn

project = "exactlearn"
author = "the exactlearn authors"
release = version = exactlearn.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"exactlearn {release}"
html_static_path: list[str] = []
exclude_patterns = ["_build"]
autodoc_typehints = "description"
autodoc_member_order = "groupwise"
napoleon_google_docstring = False
napoleon_use_rtype = False

PACKAGES = {
    "structure": "Learning structures",
    "solvers": "Parent-set selection",
    "scoring": "Scores and candidate parent sets",
    "augmentation": "Optimistic augmentation",
    "imputation": "Imputation",
    "bayesnet": "Networks and their parameters",
    "queries": "Queries",
    "pdg": "Probabilistic decision graphs",
    "graphs": "Graphs and equivalence classes",
    "evaluation": "Evaluation",
    "data": "Data",
    "formats": "Files",
    "sklearn": "Estimators for scikit-learn",
    "errors": "Errors and warnings",
    "other": "Reports, and results of EM",
}
"""The heading of each package's page, in the order of the table of contents."""


def write_reference(app: object) -> None:
    """Write the pages of the API reference."""
    folder = Path(__file__).parent / "reference"
    folder.mkdir(exist_ok=True)
    pages: dict[str, list[str]] = {package: [] for package in PACKAGES}
    for name in exactlearn.__all__:
        package = exactlearn._HOME[name].split(".")[1]
        pages[package if package in pages else "other"].append(f"exactlearn.{name}")
    pages["sklearn"] = [f"exactlearn.sklearn.{name}" for name in exactlearn.sklearn.__all__]
    for package, names in pages.items():
        entries = sorted(map(_entry, names), reverse=True)  # functions first
        text = [f"# {PACKAGES[package]}", "```{eval-rst}", *entries, "```"]
        _write(folder / f"{package}.md", "\n\n".join(text))
    contents = ["# API reference", "", "```{toctree}", *pages, "```", ""]
    _write(folder / "index.md", "\n".join(contents))


def _entry(name: str) -> str:
    package, _, own = name.rpartition(".")
    if not isinstance(getattr(import_module(package), own), type):
        return f".. autofunction:: {name}"
    members = "" if package.endswith("sklearn") else "\n   :members:"  # those of scikit-learn's
    return f".. autoclass:: {name}{members}"


def _write(path: Path, text: str) -> None:
    """Write a page, unless it says so already: Sphinx reads changed files again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def setup(app: object) -> None:
    """Let Sphinx write the reference before it reads the pages."""
    app.connect("builder-inited", write_reference)  # type: ignore[attr-defined]
