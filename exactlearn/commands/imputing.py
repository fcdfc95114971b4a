"""How the network behind an imputation is learned, and its cells told; shared by commands."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import click

from exactlearn.commands.pipeline import incomplete_options
from exactlearn.commands.runs import Criterion, Search
from exactlearn.data.dataset import Dataset
from exactlearn.imputation.learning import ESS, Learner, Learning, Missingness
from exactlearn.solvers.result import OnEvent

SHOWN_CELLS = 40
"""Most completed cells that a printed table shows."""

LEARNING_DEFAULTS: Mapping[str, Any] = {
    "ess": ESS,
    "max_parents": Learning.max_parents,
    "starts": Learning.starts,
    "smoothing": Learning.alpha,
}
"""What `impute` takes where an option is left out: the defaults of `Learning`."""

learner_option = click.option(
    "--learner",
    type=click.Choice(get_args(Learner)),
    help="How posterior, mpe, averaged and multiple learn networks, and impute's 'augmentation' "
    "finds its completion.  [default: structural-em; t-local for augmentation]",
)

missingness_option = click.option(
    "--missingness",
    type=click.Choice(get_args(Missingness)),
    default=Learning.missingness,
    show_default=True,
    help="posterior, averaged, mpe and multiple: learn, or not, whether cells are missing because "
    "of their own value or another variable's.",
)

networks_option = click.option(
    "--networks",
    type=click.IntRange(1),
    default=Learning.networks,
    show_default=True,
    help="averaged: networks to learn, each from a bootstrap sample of the rows.",
)


def learning(
    dataset: Dataset,
    criterion: Criterion,
    search: Search,
    learner: Learner | None,
    networks: int,
    smoothing: float,
    on_event: OnEvent,
    missingness: Missingness = "ignored",
) -> Learning:
    """Return what is declared as an imputer takes it.

    Raises
    ------
    OptionError, InfeasibleError
        As :func:`~exactlearn.commands.pipeline.incomplete_options`.
    """
    options = incomplete_options(dataset, criterion, search)
    return Learning(
        learner=learner,
        networks=networks,
        alpha=smoothing,
        missingness=missingness,
        on_event=on_event,
        **options,
    )


def shown(cells: Sequence[Any]) -> tuple[Sequence[Any], list[str]]:
    """Return the cells of a completion to print, and what is told of those left out."""
    left = len(cells) - SHOWN_CELLS
    return cells[:SHOWN_CELLS], [f"... and {left} more cells; -o or --json has all"] * (left > 0)
