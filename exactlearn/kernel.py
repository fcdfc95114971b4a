"""The one decorator for compiled kernels: numba, cached on disk, free of the interpreter lock."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a function of arrays and scalars on first call and keep the machine code on disk.

    The plain Python function stays reachable as ``.py_func``: tests run it as the kernel's twin.
    """
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
