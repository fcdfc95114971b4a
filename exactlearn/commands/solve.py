"""``exactlearn solve``: the optimal network of complete data, or of given local scores."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from exactlearn.commands.options import (
    F,
    criterion_options,
    option_group,
    output_options,
    reading_options,
    smoothing_option,
    solver_options,
    trace_option,
)
from exactlearn.commands.output import require_parent, require_records
from exactlearn.errors import OptionError

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?))?b?", re.IGNORECASE)
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4}


@dataclass(frozen=True, kw_only=True)
class SolveSettings:
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


@dataclass(frozen=True, kw_only=True)
class KBest:
    """Which networks are listed.

    Parameters
    ----------
    best, best_classes
        How many networks, or equivalence classes.
    within
        Factor of the best one's probability within which all are listed.
    support
        File for the support of the arcs.
    """

    best: int | None = None
    best_classes: int | None = None
    within: float | None = None
    support: Path | None = None

    def __post_init__(self) -> None:
        """Refuse what contradicts itself, or cannot be written."""
        if self.best is not None and self.best_classes is not None:
            raise OptionError("--best and --best-classes exclude each other; give one of them")
        require_records(self.support, "--support")
        if self.support is not None and not self.wanted:
            raise OptionError(
                "--support tells how many of several networks have an arc: say which with "
                "--best K, --best-classes K or --within FACTOR"
            )

    @property
    def wanted(self) -> bool:
        """Whether more than the best network is asked for."""
        return not self.best is self.best_classes is self.within is None


def settings_options(command: F) -> F:
    """Add options of ``solve`` alone; hands over ``settings``, a :class:`SolveSettings`."""

    def build(
        start: str | None,
        gap: float,
        memory_limit: str | None,
        threads: int | None,
        certificate: Path | None,
        trace: Path | None,
    ) -> SolveSettings:
        return SolveSettings(
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
        "settings",
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


def k_best_options(command: F) -> F:
    """Add options for several networks; hands over ``k_best``, a :class:`KBest`."""

    def build(
        best: int | None, best_classes: int | None, within: float | None, support: Path | None
    ) -> KBest:
        return KBest(best=best, best_classes=best_classes, within=within, support=support)

    return option_group(
        command,
        "k_best",
        build,
        click.option(
            "--best", type=click.IntRange(1), metavar="K", help="List the K best networks."
        ),
        click.option(
            "--best-classes",
            type=click.IntRange(1),
            metavar="K",
            help="List the K best Markov equivalence classes.",
        ),
        click.option(
            "--within",
            type=click.FloatRange(1),
            metavar="FACTOR",
            help="List all networks whose probability is at least the best one's divided by this; "
            "1 lists those that tie.",
        ),
        click.option(
            "--support",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Write in how many of the listed networks each arc is (.csv, .json), or draw it "
            "(.svg, .png, .pdf).",
        ),
    )


@click.command("solve")
@click.argument("source", metavar="DATA.csv|SCORES.jkl")
@output_options
@reading_options
@criterion_options
@solver_options
@settings_options
@k_best_options
@smoothing_option
def command(**options: Any) -> None:
    """Learn the network that maximises the score of complete data, with a proof or a bound.

    The input is a table, the name of a bundled one, or a file of local scores (.jkl, .scores,
    .parquet). -o writes the network (.bif), the record (.json), the scores (.jkl, .scores,
    .parquet), a figure (.svg, .png, .pdf, .dot), or all of them into a folder, with the trace.
    With --best, --best-classes or --within more than one network is listed, with their arcs.

    Ctrl-C and SIGTERM end the search with the best network so far (exit status 130); so do the
    limits (3).
    """
    from exactlearn.commands import _solve

    _solve.run(**options)


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
