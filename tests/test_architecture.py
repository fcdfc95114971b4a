"""The picture of the packages in ARCHITECTURE.md, against the imports of the code."""

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]

Graph = dict[str, set[str]]


def imports() -> Graph:
    """Return the packages that each package imports; that of the bundled files is none of them."""
    found: Graph = defaultdict(set)
    files = [
        *(ROOT / "exactlearn").glob("*/**/*.py"),
        *(ROOT / "solvers").rglob("*.py"),
    ]
    for file in files:
        inside = file.relative_to(ROOT).parts
        package = inside[1] if inside[0] == "exactlearn" else inside[0]
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                project, *rest = node.module.split(".")
                if project == "exactlearn" and rest:
                    found[package].add(rest[0])
    packages = (set(found) | {"_runtime"}) - {"instances"}
    return {package: (found[package] & packages) - {package} for package in packages}


def reached(graph: Graph, start: str) -> set[str]:
    """Return the packages that a package stands on, directly or not."""
    below: set[str] = set()
    left = [start]
    while left:
        new = graph[left.pop()] - below
        below |= new
        left.extend(new)
    return below


def test_the_diagram_shows_the_transitive_reduction_of_imports():
    graph = imports()
    needed = {
        (package, other)
        for package in graph
        for other in graph[package]
        if not any(other in reached(graph, third) for third in graph[package] - {other})
    }
    text = (ROOT / "ARCHITECTURE.md").read_text()
    picture = re.search(r"```mermaid\n(.*?)```", text, re.DOTALL)
    assert picture is not None
    arrows = re.findall(r"^ +(\w+) --> (.+)$", picture[1], re.MULTILINE)
    shown = {
        (package, other) for package, others in arrows for other in others.split(" & ")
    }
    assert shown == needed
