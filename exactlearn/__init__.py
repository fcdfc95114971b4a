"""Exact and hybrid learning of Bayesian networks and probabilistic decision graphs.

The public names stand in ``__init__.pyi``, which type checkers and editors read; they are loaded on
first use, so that ``import exactlearn`` and ``exactlearn --help`` cost nothing. Beside them stand
packages with more names for one subject, such as ``exactlearn.graphs``.
"""

from functools import cache
from importlib import import_module
from typing import Any

__version__ = "0.1.0"


@cache
def _homes() -> dict[str, str]:
    """Return the module that each public name lives in, and for a package the empty text."""
    from ast import ImportFrom, parse, walk
    from importlib.resources import files

    stub = parse((files(__name__) / "__init__.pyi").read_text(encoding="utf-8"))
    found = [node for node in walk(stub) if isinstance(node, ImportFrom) and node.module]
    own = [node for node in found if str(node.module).startswith(__name__)]
    homes = {one.name: str(node.module) for node in own for one in node.names}
    return {name: "" if home == __name__ else home for name, home in homes.items()}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(name for name, home in _homes().items() if home)
    if name.startswith("_") or name not in _homes():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _homes()[name]
    return getattr(import_module(home), name) if home else import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_homes()])
