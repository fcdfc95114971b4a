"""The memory that is free for a computation."""

from pathlib import Path

_GROUP = Path("/sys/fs/cgroup")
"""Where Linux says what a control group, as of a container, may take."""


def available_memory() -> int | None:
    """Return the bytes of memory that are free, where the system tells.

    Examples
    --------
    >>> free = available_memory()
    >>> free is None or free > 0
    True
    """
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(1024 * int(x.split()[1]) for x in lines if x.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return None
    try:
        limit, taken = (int((_GROUP / f"memory.{x}").read_text()) for x in ("max", "current"))
    except (OSError, ValueError):  # no group, or one without a limit: "max"
        return free
    return max(1, min(free, limit - taken))
