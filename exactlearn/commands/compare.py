"""``exactlearn compare``: methods of completing missing cells, side by side."""

from typing import Any

import click

from exactlearn.commands.options import (
    incomplete_options,
    learner_option,
    networks_option,
    output_options,
    reading_options,
)

METHODS = (
    "branching", "exact", "gadget", "t-local", "mode", "structural-em", "structural-em-hard",
    "posterior", "mpe", "averaged", "averaged-mnar", "knn", "iterative", "forest",
    "svm-linear", "svm-rbf", "svm-poly", "label-propagation", "label-spreading",
)  # fmt: skip
"""Names of the methods, as in :data:`exactlearn.imputation.methods.METHODS`."""

DEFAULT_METHODS = "branching,t-local,mode"
"""What is compared when nothing is said: the default of ``augment``, and what is quicker."""

DEFAULT_SECONDS = 60.0
"""The time limit of these: the proof of ``branching`` may take any time."""


@click.command("compare")
@click.argument("source", metavar="[DATA.csv]", required=False)
@output_options
@reading_options
@click.option(
    "--methods",
    metavar="A,B,...",
    help=f"Methods to compare, of {', '.join(METHODS)}.  [default: {DEFAULT_METHODS}, with "
    f"{DEFAULT_SECONDS:g} seconds for each and each table unless --time-limit says another limit]",
)
@click.option("--truth", metavar="COMPLETE.csv", help="The table before cells were hidden.")
@learner_option
@networks_option
@click.option("--network", metavar="NETWORK.bif", help="Draw complete tables from a network.")
@click.option(
    "--rows",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="With --network: rows of each table.",
)
@click.option(
    "--hide",
    "spec",
    metavar="MECHANISM:AMOUNT",
    help="Hide cells of complete tables, as 'simulate' does.  [default with --network: mnar:2]",
)
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="With --hide or --network: tables, with the seeds that follow --seed.",
)
@click.option(
    "--class",
    "of_class",
    metavar="NAME",
    help="With --hide or --network: hide cells of this variable only, as the svm and label "
    "methods need.",
)
@click.option(
    "--reference",
    metavar="METHOD",
    help="With --hide or --network: test whether the accuracies differ from this method's.",
)
@incomplete_options
def command(**options: Any) -> None:
    """Compare methods on an incomplete table, or on tables in which cells are hidden.

    Give an incomplete table, with --truth if it is known; or a complete one with --hide; or a
    --network to draw from. Prints for each method imputation accuracy, score, bound, gap, seconds
    and the logarithmic loss of its probabilities, where it has these; over several tables, means
    with standard errors. -o writes the rows as .json.

    Of the constraints, arcs, --forbid-adjacent and --tiers can be honoured while cells are missing;
    the others, and --scoring-time, are for complete tables ('exactlearn solve').
    """
    from exactlearn.commands import _compare

    _compare.run(**options)
