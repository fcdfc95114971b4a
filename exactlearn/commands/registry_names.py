"""Names that a registry holds, for ``--help``, which is not to import what is registered."""

import ast
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class RegistryNames:
    """The names of a registry, called for; read from its source until it is imported.

    Parameters
    ----------
    module, registry
        Where in the package it is; at module level, a dictionary.
    before
        Names that stand before them; one that the registry has, too, stands there only.

    Examples
    --------
    >>> RegistryNames("augmentation.augment", "METHODS")()
    ('branching', 'exact', 'gadget', 't-local', 'mode')
    """

    module: str
    registry: str
    before: tuple[str, ...] = ()

    def __call__(self) -> tuple[str, ...]:
        """Return the names in the order of the registry."""
        place = f"{__package__.rpartition('.')[0]}.{self.module}"
        names: Iterable[str] | None = None if place in sys.modules else self._written()
        names = names or getattr(import_module(place), self.registry)
        return tuple(dict.fromkeys((*self.before, *names)))

    def _written(self) -> list[str] | None:
        """Return the names in the source; ``None`` where some are computed."""
        path = (ROOT / self.module.replace(".", "/")).with_suffix(".py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            name = getattr(node, "target", None)
            value = getattr(node, "value", None)
            if getattr(name, "id", "") == self.registry and isinstance(value, ast.Dict):
                keys: list[Any] = [getattr(key, "value", None) for key in value.keys]
                return None if None in keys else keys
        return None
