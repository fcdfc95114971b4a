"""What is public: the names on top, those of packages for one subject, and classes of results."""

import inspect
from collections.abc import Iterator
from typing import Any, get_args

import exactlearn
from exactlearn import errors
from exactlearn.augmentation import gadget_problem


def public_names() -> dict[str, Any]:
    """Return what stands behind each public name, with its package."""
    found = {
        f"{package.__name__}.{name}": getattr(package, name)
        for package in (exactlearn, exactlearn.graphs, exactlearn.queries)
        for name in package.__all__
    }
    found["exactlearn.augmentation.gadget_problem"] = gadget_problem
    own = (errors.ColumnWarning, errors.StateWarning, errors.TimeLimitWarning)
    return found | {f"{one.__module__}.{one.__name__}": one for one in own}


def results() -> dict[str, type]:
    """Return the classes of what public functions return, where they are not public themselves."""
    public = public_names().values()
    functions = filter(inspect.isfunction, public)
    returned = [inspect.signature(one).return_annotation for one in functions]
    found = [
        one
        for annotation in returned
        for one in _classes(annotation)
        if one not in public
    ]
    return {f"{one.__module__}.{one.__name__}": one for one in found}


def _classes(annotation: Any) -> Iterator[type]:
    own = getattr(annotation, "__origin__", annotation)
    if isinstance(own, type) and own.__module__.startswith("exactlearn"):
        yield own
    for part in get_args(annotation):
        yield from _classes(part)
