"""``exactlearn impute``: the missing cells of a table filled by a network."""

from collections.abc import Mapping
from typing import Any

import click

from exactlearn.commands.options import (
    incomplete_options,
    learner_option,
    missingness_option,
    networks_option,
    output_options,
    reading_options,
)

MODES = ("augmentation", "posterior", "mpe", "averaged", "multiple", "mode")
"""Modes of :class:`exactlearn.Imputer`."""

LEARNING_DEFAULTS: Mapping[str, Any] = {
    "ess": 10.0,
    "max_parents": 2,
    "starts": 1,
    "smoothing": 0.3,
}
"""Defaults of options that differ from other commands': those of :class:`exactlearn.Learning`."""


@click.command("impute", context_settings={"default_map": LEARNING_DEFAULTS})
@click.argument("source", metavar="DATA.csv")
@output_options
@reading_options
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default="posterior",
    show_default=True,
    help="posterior: each cell's most probable state; averaged: the same by the mean over several "
    "networks; mpe: each row's most probable completion; "
    "augmentation: the completion that scores best with its network; multiple: several tables "
    "drawn from the posterior; mode: the most frequent states.",
)
@click.option("--network", metavar="NETWORK.bif", help="Network to use in place of learning one.")
@click.option("--train", metavar="TRAIN.csv", help="Table to learn from, if not from DATA itself.")
@click.option(
    "--draws",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="multiple: tables to draw.",
)
@learner_option
@networks_option
@missingness_option
@incomplete_options
def command(**options: Any) -> None:
    """Fill the missing cells of a table by a network that is learned from it, or given.

    Tells the probability of each value. -o writes the completed table (.csv, .tsv), the record
    (.json), the network (.bif), or all of them into a folder; several drawn tables need a folder.

    Of the constraints, arcs, --forbid-adjacent and --tiers can be honoured while cells are missing;
    the others, and --scoring-time, are for complete tables ('exactlearn solve').
    """
    from exactlearn.commands import _impute

    _impute.run(**options)
