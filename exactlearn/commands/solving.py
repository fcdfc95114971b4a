"""Options of ``solve`` alone: where to begin, when to stop, and what to write of the search."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from exactlearn.commands.options import option_group, trace_option
from exactlearn.commands.output import require_parent, require_records
from exactlearn.errors import OptionError
from exactlearn.formats.models import read_parents
from exactlearn.instances import locate

F = TypeVar("F", bound=Any)

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?))?b?", re.IGNORECASE)
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4}


def size(text: str) -> int:
    """Return a number of bytes, written as ``2GiB``, ``500MB`` or ``1000000``.

    Raises
    ------
    OptionError
        When the text is no size, or nothing.

    Examples
    --------
    >>> size("2GiB"), size("1.5 kB")
    (2147483648, 1500)
    """
    match = _SIZE.fullmatch(text.strip())
    found = _bytes(*match.groups()) if match else 0
    if not found:
        raise OptionError(f"{text!r} is no size in memory; expected one such as 2GiB or 500MB")
    return found


def _bytes(number: str, unit: str | None, binary: str | None) -> int:
    step = 1024 if binary else 1000
    return int(float(number) * step ** _POWERS[unit.lower()] if unit else float(number))


@dataclass(frozen=True, kw_only=True)
class Solving:
    """How a problem is solved, beyond what all learning commands share.

    Parameters
    ----------
    start
        File of a network or of an earlier result to begin with, or name of a bundled network.
    gap
        Relative gap at which a selection counts as optimal.
    memory_limit
        Most bytes that the search may take.
    threads
        Threads that the search may take.
    certificate
        File for the proof.
    trace
        File for score and bound over time.
    """

    start: str | None = None
    gap: float = 0.0
    memory_limit: int | None = None
    threads: int | None = None
    certificate: Path | None = None
    trace: Path | None = None

    def require_writable(self) -> None:
        """Refuse files that cannot be written, before any work is done.

        Raises
        ------
        OptionError
            When a suffix is unknown or a folder does not exist.
        MissingExtraError
            When a figure is wanted and Matplotlib is not installed.
        """
        require_records(self.trace, "--trace")
        if self.certificate is not None:
            if self.certificate.is_dir():
                raise OptionError(
                    f"--certificate {self.certificate}: expected a file, not a folder"
                )
            require_parent(self.certificate, "--certificate")

    def options(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the keywords of :func:`exactlearn.solvers.solve` that were asked for.

        Raises
        ------
        OptionError
            When the start cannot be read, or has other variables.
        FormatError
            When the start does not follow its format.
        """
        asked: dict[str, Any] = {"gap": self.gap}
        if self.start is not None:
            asked["start"] = read_parents(locate(self.start, ".bif"), names)
        if self.memory_limit is not None:
            asked["memory_limit"] = self.memory_limit
        if self.threads is not None:
            asked["threads"] = self.threads
        if self.certificate is not None:
            asked["certify"] = True
        return asked


def solving_options(command: F) -> F:
    """Add what only ``solve`` takes; hands over ``solving``, a :class:`Solving`."""

    def build(
        start: str | None,
        gap: float,
        memory_limit: str | None,
        threads: int | None,
        certificate: Path | None,
        trace: Path | None,
    ) -> Solving:
        return Solving(
            start=start,
            gap=gap,
            memory_limit=None if memory_limit is None else size(memory_limit),
            threads=threads,
            certificate=certificate,
            trace=trace,
        )

    file = click.Path(path_type=Path)
    return option_group(
        command,
        "solving",
        build,
        click.option(
            "--start",
            metavar="NETWORK.bif|RESULT.json",
            help="Begin with this network, or with that of an earlier result.",
        ),
        click.option(
            "--gap",
            type=click.FloatRange(0),
            default=0.0,
            metavar="REL",
            help="Stop at this relative gap, as in 0.001.  [default: 0]",
        ),
        click.option(
            "--memory-limit", metavar="SIZE", help="Most memory to take, as in 2GiB or 500MB."
        ),
        click.option("--threads", type=click.IntRange(1), help="Most threads to take."),
        click.option(
            "--certificate",
            type=file,
            metavar="FILE",
            help="Write the proof, for 'exactlearn verify'.",
        ),
        trace_option,
    )
