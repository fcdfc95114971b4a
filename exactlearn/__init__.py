"""Exact and hybrid learning of Bayesian networks and probabilistic decision graphs.

The public names stand in ``__init__.pyi``, which type checkers and editors read; they are loaded on
first use, so that ``import exactlearn`` and ``exactlearn --help`` cost nothing. Packages with more
names for one subject do the same: ``exactlearn.graphs`` and ``exactlearn.queries``.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def loaded_on_use(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package, by its stub."""

    # the stub is parsed when the first name is used
    @cache
    def homes() -> dict[str, str]:
        from ast import ImportFrom, parse, walk
        from importlib.resources import files

        stub = parse((files(package) / "__init__.pyi").read_text(encoding="utf-8"))
        imports = [node for node in walk(stub) if isinstance(node, ImportFrom)]
        return {
            alias.name: str(node.module)
            for node in imports
            if str(node.module).startswith(__name__)
            for alias in node.names
        }

    def get(name: str) -> Any:
        if name == "__all__":
            return sorted(key for key, home in homes().items() if home != package)
        # Python asks for names such as __path__, for which the stub is not read
        if name.startswith("_") or name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes()[name]
        # a module of the package, or a name in one
        if home == package:
            return import_module(f"{home}.{name}")
        return getattr(import_module(home), name)

    return get, lambda: sorted(homes())


__getattr__, __dir__ = loaded_on_use(__name__)
