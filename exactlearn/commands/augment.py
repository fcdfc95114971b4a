"""``exactlearn augment``: network and completion of incomplete data, learned together."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import click

from exactlearn.commands.options import (
    F,
    incomplete_options,
    option_group,
    output_options,
    reading_options,
    trace_option,
)
from exactlearn.commands.runs import MethodName, Search
from exactlearn.errors import OptionError


@dataclass(frozen=True)
class Alternatives:
    """What is wanted beside the best solution.

    Parameters
    ----------
    best, best_completions
        How many of the best solutions, or of the best completions, or neither.
    profile
        Whether the loss by each other value is.
    start
        File of a completed table that the search begins with.
    """

    best: int | None
    best_completions: int | None
    profile: bool
    start: Path | None

    def __post_init__(self) -> None:
        """Refuse both lists at once."""
        if self.best is not None and self.best_completions is not None:
            raise OptionError("--best and --best-completions exclude each other; give one of them")

    @property
    def k(self) -> int | None:
        """How many answers are wanted in order."""
        return self.best or self.best_completions


def alternatives_options(command: F) -> F:
    """Add what is wanted beside the best solution: hands over ``alternatives``."""

    def build(
        best: int | None, best_completions: int | None, profile: bool, start: Path | None
    ) -> Alternatives:
        return Alternatives(best, best_completions, profile, start)

    return option_group(
        command,
        "alternatives",
        build,
        click.option(
            "--best",
            type=click.IntRange(1),
            metavar="K",
            help="List the K best solutions (network and completion), proven by branching.",
        ),
        click.option(
            "--best-completions",
            type=click.IntRange(1),
            metavar="K",
            help="List the K best completions, each with its best network.",
        ),
        click.option(
            "--profile",
            is_flag=True,
            help="Tell for each missing cell what the score loses by each other value. Each of "
            "these lists takes up to --time-limit again.",
        ),
        click.option(
            "--start",
            type=click.Path(path_type=Path, exists=True, dir_okay=False),
            metavar="FILE",
            help="The same table, completed: what the search begins with.",
        ),
    )


@click.command("augment")
@click.argument("source", metavar="DATA.csv")
@output_options
@reading_options
@click.option(
    "--method",
    type=click.Choice(get_args(MethodName)),
    default=Search.method,
    show_default=True,
    help="How missing cells are completed.",
)
@trace_option
@alternatives_options
@incomplete_options
def command(**options: Any) -> None:
    """Learn the network and the values of missing cells that maximise the score together.

    -o writes the completed table (.csv, .tsv), the network (.bif), the record (.json), a figure
    (.svg, .png, .pdf, .dot), the reduction to plain parent-set selection (.jkl), or all but the
    last into a folder.

    Of the constraints, arcs, --forbid-adjacent and --tiers can be honoured while cells are missing;
    the others, and --scoring-time, are for complete tables ('exactlearn solve').
    """
    from exactlearn.commands import _augment

    _augment.run(**options)
