"""The price of a cell of a network's tables, as it is given or by cross-validation.

Of the values whose networks predict held-out rows as well as any, the largest is chosen, since it
gives the smallest networks (:mod:`exactlearn.structure.held_out_choice`).
"""

from dataclasses import replace
from typing import Literal

from exactlearn.scoring.prior import priced
from exactlearn.structure.held_out_choice import HeldOutChoice, choose_within_share
from exactlearn.structure.selection import Scoring

CELL_WEIGHTS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Prices in nats that ``auto`` tries."""


class CellWeightChoice(HeldOutChoice):
    """The largest price of a cell whose networks predict held-out rows as well as any.

    Examples
    --------
    >>> choice = CellWeightChoice(0.1, {1.0: -2.4, 0.1: -2.3, 0.0: -2.29}, 10, 3)
    >>> print(choice.reason)
    cell weight 0.1: the largest of 0, 0.1, 1 whose networks predict held-out rows within one
    standard error of the best, 0
    """

    quantity = "cell weight"
    simplest = "largest"
    argument = "cell_weight"


def with_cell_weight(
    scoring: Scoring, cell_weight: float | Literal["auto"], time_limit: float | None
) -> tuple[Scoring, dict[str, HeldOutChoice]]:
    """Return the scoring with a price for each cell in its prior, and the choice of the price.

    Parameters
    ----------
    scoring
        The table and its score.
    cell_weight
        The price in nats, or ``auto``.
    time_limit
        Seconds for the choice and for what is learned with it.

    Returns
    -------
    scoring
        With the price.
    choices
        The choice under its key in records, ``cell_weight_choice``; none where the price is given.
    """
    choices: dict[str, HeldOutChoice] = {}
    cardinalities = scoring.dataset.cardinalities
    if cell_weight == "auto":
        choice = choose_within_share(
            CellWeightChoice,
            scoring.dataset,
            {
                weight: (scoring.score, priced("uniform", weight, cardinalities))
                for weight in CELL_WEIGHTS
            },
            max_parents=scoring.max_parents,
            counts=scoring.counts or "expected",
            seed=scoring.seed,
            time_limit=time_limit,
        )
        choices["cell_weight_choice"] = choice
        cell_weight = choice.value
    prior = priced(scoring.prior, cell_weight, cardinalities)
    return replace(scoring, prior=prior), choices
