"""What all benchmarks share: the machine's name and the least time of some runs."""

import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np


def machine() -> str:
    """Name the processor and the versions that matter."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        named = [
            line
            for line in info.read_text().splitlines()
            if line.startswith("model name")
        ]
        model = named[0].split(":", 1)[1].strip() if named else model
    return f"{model}, Python {platform.python_version()}, numpy {np.__version__}"


def least_seconds(
    call: Callable[[], object],
    repeat: int = 5,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Return the least time of some runs, of the wall unless another clock is given."""
    times = []
    for _ in range(repeat):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)
