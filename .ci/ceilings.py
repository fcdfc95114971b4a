"""Compare each room's lines of code with its ceiling in pyproject.toml; fail where one is above.

A line of code is neither blank nor a comment nor within a docstring.
"""

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def code_lines(path: Path) -> int:
    """Return how many lines of a file are code."""
    text = path.read_text(encoding="utf-8")
    lines = {n for n, line in enumerate(text.splitlines(), 1) if line.strip()[:1] not in ("", "#")}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            lines -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def files(room: str) -> list[Path]:
    """Return the files of a room: of a folder, or at the top of one that ends in '/*'."""
    pattern = "*.py" if room.endswith("/*") else "**/*.py"
    return sorted((ROOT / room.removesuffix("/*")).glob(pattern))


ceilings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ceilings"]
folders = {f"exactlearn/{p.parent.name}" for p in (ROOT / "exactlearn").glob("*/__init__.py")}
faults = sorted(folders - set(ceilings) - {"exactlearn/solvers", "exactlearn/instances"})
for room, ceiling in ceilings.items():
    lines = sum(map(code_lines, files(room)))
    print(f"{room:24}{lines:8,}{ceiling:8,}")
    faults += [room] * (lines > ceiling)
raise SystemExit(f"above the ceiling, or without one: {', '.join(faults)}" if faults else 0)
