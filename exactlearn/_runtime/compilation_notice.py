"""Tell a person, once, that kernels are being compiled: a first call may take minutes for it."""

from collections.abc import Callable

_tell: Callable[[], None] | None = None


def on_compilation(tell: Callable[[], None] | None) -> None:
    """Let a function be called when the next kernel is compiled, once; none for ``None``."""
    global _tell
    _tell = tell


def compilation_begins() -> None:
    """Call the function that waits for a compilation, if there is one."""
    if _tell is not None:
        tell = _tell
        on_compilation(None)
        tell()
