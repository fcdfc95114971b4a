"""Configuration of Sphinx: ``sphinx-build -W docs site`` builds the guide and the API reference.

The pages of the reference are written when the build begins, so that nothing can be left out: one
of all commands, one of all public names in a line each, and one for each package that they live in.
"""

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path

import click

sys.path.append(str(Path(__file__).parent))
import run_file_page
from public_names import public_names, results

import exactlearn
import exactlearn.sklearn
from exactlearn.__main__ import main
from exactlearn.commands import COMMANDS

project = "exactlearn"
author = "the exactlearn authors"
release = version = exactlearn.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"exactlearn {release}"
html_static_path: list[str] = []
exclude_patterns = ["_build"]
autodoc_typehints = "description"
autodoc_member_order = "groupwise"
autodoc_preserve_defaults = True
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
    for name, own in (public_names() | results()).items():
        package = own.__module__.split(".")[1]
        pages[package if package in pages else "other"].append(name)
    pages["sklearn"] = [
        f"exactlearn.sklearn.{name}" for name in exactlearn.sklearn.__all__
    ]
    contents = [
        "# API reference",
        "This page lists all public names, and the classes of what they return, in a line each.",
    ]
    for package, names in pages.items():
        names.sort(key=lambda name: (name != "exactlearn.learn", _is_class(name), name))
        text = [f"# {PACKAGES[package]}", "```{eval-rst}", *map(_entry, names), "```"]
        _write(folder / f"{package}.md", "\n\n".join(text))
        lines = "\n".join(["| name | |", "|---|---|", *map(_line, names)])
        contents += [f"## {PACKAGES[package]}", lines]
    contents += ["\n".join(["```{toctree}", ":hidden:", "", *pages, "```", ""])]
    _write(folder / "index.md", "\n\n".join(contents))
    _write(folder / "commands.md", "\n\n".join(_commands()))
    _write(folder / "run-file.md", run_file_page.page())


def _commands() -> list[str]:
    """Return the parts of the page of all commands: the help of each, below the overview's titles.

    It is the text that ``exactlearn COMMAND --help-all`` prints.
    """
    parts = [
        "# Commands",
        "This page shows the help of all commands: what each does, its options.",
    ]
    for group in dict.fromkeys(known.group for known in COMMANDS.values()):
        parts.append(f"## {group}")
        for name in (name for name, known in COMMANDS.items() if known.group == group):
            command = main.get_command(click.Context(main), name)
            command.show_all()
            context = click.Context(
                command, info_name=f"exactlearn {name}", max_content_width=100
            )
            context.terminal_width = 100
            parts += [f"### {name}", f"```text\n{command.get_help(context)}\n```"]
    return parts


def _found(name: str) -> object:
    package, _, own = name.rpartition(".")
    return getattr(import_module(package), own)


def _is_class(name: str) -> bool:
    return isinstance(_found(name), type)


def _line(name: str) -> str:
    """Return the line of a public name in the list of all."""
    about = (inspect.getdoc(_found(name)) or "").partition("\n")[0].replace("|", "\\|")
    return f"| {{py:obj}}`{name.rpartition('.')[2]} <{name}>` | {about} |"


def _entry(name: str) -> str:
    if not _is_class(name):
        return f".. autofunction:: {name}"
    members = "" if name.startswith("exactlearn.sklearn") else "\n   :members:"
    return f".. autoclass:: {name}{members}"


def _has_tuning(own: object) -> bool:
    """Return whether something takes a class of tuning constants, which serves experiments only."""
    hints = [
        getattr(one, "__annotations__", {})
        for one in (own, getattr(own, "__init__", None))
    ]
    return any("Parameters" in str(hint.get("parameters")) for hint in hints)


def shown_signature(
    app: object,
    what: str,
    name: str,
    own: object,
    options: object,
    signature: str,
    returned: str,
) -> tuple[str, str] | None:
    """Show the values of named defaults, and leave tuning constants out."""
    if not signature:
        return None
    if _has_tuning(own):
        tuning = r",(?: \*,)? parameters=[^,)]*(?=\))|, parameters=[^,)]*"
        signature = re.sub(tuning, "", signature)
    module = import_module(own.__module__) if hasattr(own, "__module__") else None

    def value(named: re.Match[str]) -> str:
        known = getattr(module, named[1], None)
        return (
            f"={known!r}" if isinstance(known, int | float | str | tuple) else named[0]
        )

    return re.sub(r"=([A-Z_]+)\b", value, signature), returned


def shown_text(
    app: object, what: str, name: str, own: object, options: object, lines: list[str]
) -> None:
    """Leave tuning constants out of a docstring."""
    if _has_tuning(own):
        text = re.sub(
            r"^parameters\n(?: +.*\n)+", "", "\n".join(lines), flags=re.MULTILINE
        )
        lines[:] = text.split("\n")


def _write(path: Path, text: str) -> None:
    """Write a page, unless it says so already: Sphinx reads changed files again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def setup(app: object) -> None:
    """Let Sphinx write the reference before it reads the pages."""
    app.connect("builder-inited", write_reference)  # type: ignore[attr-defined]
    app.connect("autodoc-process-signature", shown_signature)  # type: ignore[attr-defined]
    app.connect("autodoc-process-docstring", shown_text, priority=400)  # type: ignore[attr-defined]
