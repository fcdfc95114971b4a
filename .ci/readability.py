"""Compare the size of the house, and how its rooms read, with .ci/readability.json.

The whole house may have so many syntax nodes. Each room's figures may fall, never rise: a change
that makes one better lowers it in the same commit, by ``python .ci/readability.py --update``.

size       nodes of expressions and statements, without docstrings and annotations
per line   nodes on a line of code
parallel   assignments of a tuple to a tuple, in percent of all assignments
nested     comprehensions that hold another one or a conditional expression, per 1,000 lines
vague      variables and parameters with a name of VAGUE, per 1,000 lines
riddles    docstrings that begin with 'Return what', 'Yield how', 'What' ..., per 1,000 lines
branchy    functions with a cyclomatic complexity above 12
long       modules of more than 350 lines of code
"""

import ast
import json
import sys
from collections import Counter
from collections.abc import Iterator
from math import ceil
from pathlib import Path

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / ".ci" / "readability.json"
MAX_COMPLEXITY = 12
MAX_LINES = 350
VAGUE = {
    *(
        "found",
        "own",
        "known",
        "how",
        "told",
        "said",
        "wanted",
        "one",
        "other",
        "others",
    ),
    *("chosen", "least", "most", "share", "shares", "also", "more", "rest"),
    *("this", "that", "these", "those"),
}
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BRANCHES = (
    *(ast.If, ast.For, ast.While, ast.ExceptHandler, ast.IfExp, ast.comprehension),
    *(ast.And, ast.Or),
)


def modules() -> Iterator[tuple[str, Path]]:
    """Yield the room of each module, and its file."""
    for top in (ROOT / "exactlearn", ROOT / "solvers"):
        for path in sorted(top.rglob("*.py")):
            inside = path.relative_to(top).parts
            if top.name == "solvers":
                yield "solvers", path
            elif inside[0] not in ("solvers", "instances"):
                yield inside[0] if len(inside) > 1 else "top", path


def is_riddle(docstring: str) -> bool:
    """Return whether a docstring begins with a question in place of the thing."""
    words = docstring.split()[:2]
    verbs = ("Return", "Yield", "Say", "Tell", "Give")
    is_indirect = (
        len(words) == 2 and words[0] in verbs and words[1] in ("what", "how", "which")
    )
    return is_indirect or (len(words) == 2 and words[0] in ("What", "How"))


def counts(text: str) -> Counter[str]:
    """Return what one module is made of."""
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    count: Counter[str] = Counter()

    # Lines of code: neither blank, nor a comment, nor within a text that stands alone.
    texts: set[int] = set()
    for node in nodes:
        is_constant = isinstance(node, ast.Expr) and isinstance(
            node.value, ast.Constant
        )
        if is_constant and isinstance(node.value.value, str):
            texts.update(range(node.lineno, (node.end_lineno or 0) + 1))
    for number, line in enumerate(text.splitlines(), 1):
        count["lines"] += number not in texts and line.strip()[:1] not in ("", "#")
    count["long"] = int(count["lines"] > MAX_LINES)

    annotations: set[int] = set()
    for node in nodes:
        for field in ("annotation", "returns"):
            if (annotation := getattr(node, field, None)) is not None:
                annotations.update(id(inner) for inner in ast.walk(annotation))
    for node in nodes:
        count["size"] += (
            isinstance(node, ast.expr | ast.stmt) and id(node) not in annotations
        )
        count["assignments"] += isinstance(
            node, ast.Assign | ast.AugAssign | ast.AnnAssign
        )
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            count["parallel"] += isinstance(node.value, ast.Tuple)
        if isinstance(node, COMPREHENSIONS):
            inner_nodes = list(ast.walk(node))[1:]
            count["nested"] += any(
                isinstance(x, (*COMPREHENSIONS, ast.IfExp)) for x in inner_nodes
            )
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            count["vague"] += node.id in VAGUE
        if isinstance(node, ast.arg):
            count["vague"] += node.arg in VAGUE
        if isinstance(node, FUNCTIONS):
            branches = sum(isinstance(inner, BRANCHES) for inner in ast.walk(node))
            count["branchy"] += 1 + branches > MAX_COMPLEXITY
        if isinstance(node, ast.Module | ast.ClassDef | FUNCTIONS[0] | FUNCTIONS[1]):
            count["riddles"] += is_riddle(ast.get_docstring(node) or "")
    return count


def figures(count: Counter[str]) -> dict[str, float]:
    """Return the figures of a room, rounded up to a tenth."""
    thousands = count["lines"] / 1000
    rates = {
        "per line": count["size"] / count["lines"],
        "parallel": 100 * count["parallel"] / max(count["assignments"], 1),
        "nested": count["nested"] / thousands,
        "vague": count["vague"] / thousands,
        "riddles": count["riddles"] / thousands,
        "branchy": count["branchy"],
        "long": count["long"],
    }
    return {name: ceil(10 * rate - 1e-9) / 10 for name, rate in rates.items()}


def main() -> None:
    """Print the figures of all rooms; fail where one is above what it was."""
    rooms: dict[str, Counter[str]] = {}
    for room, path in modules():
        rooms.setdefault(room, Counter()).update(
            counts(path.read_text(encoding="utf-8"))
        )
    size = sum(count["size"] for count in rooms.values())
    now = {room: figures(count) for room, count in sorted(rooms.items())}
    known = json.loads(FIGURES.read_text(encoding="utf-8"))

    faults = [f"{size:,} nodes, {known['size']:,} allowed"] * (size > known["size"])
    print(
        f"{'room':13}{'size':>8}"
        + "".join(f"{name:>10}" for name in figures(Counter(lines=1)))
    )
    for room, values in now.items():
        print(
            f"{room:13}{rooms[room]['size']:8,}"
            + "".join(f"{x:10.1f}" for x in values.values())
        )
        ceilings = known["rooms"].get(room, values)
        faults += [
            f"{room}: {name} {values[name]}, was {ceilings[name]}"
            for name in values
            if values[name] > ceilings[name]
        ]
    print(f"{'all':13}{size:8,} of {known['size']:,}")
    if "--update" in sys.argv:
        for room, values in known["rooms"].items():
            now[room] = {name: min(now[room][name], values[name]) for name in values}
        FIGURES.write_text(
            json.dumps({**known, "rooms": now}, indent=1) + "\n", encoding="utf-8"
        )
    if faults:
        raise SystemExit("worse than before:\n" + "\n".join(faults))


if __name__ == "__main__":
    main()
