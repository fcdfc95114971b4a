"""Ctrl-C, wherever it arrives."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise :class:`KeyboardInterrupt` for a Ctrl-C that arrived as a compiled kernel returned.

    Python runs the signal's handler inside the kernel's call then, and wraps what it raises into a
    :class:`SystemError` about a result with an exception set.
    """
    try:
        yield
    except SystemError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise
