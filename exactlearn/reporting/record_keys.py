"""The keys of records: units, titles and labels, and the kind of what stands under each.

A key that stands in no table is shown by its letters, and its numbers are plain.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Unit(NamedTuple):
    """The unit of numbers: a factor, the digits of what that gives, and a sign behind it."""

    factor: int
    digits: str
    sign: str = ""


PLAIN = Unit(1, ".6g")
NATS = Unit(1, ".4f")
SECONDS = Unit(1, ".2f")
PERCENT = Unit(100, ".2f", " %")

UNITS: Mapping[str, Unit] = {
    **dict.fromkeys(
        (
            "score",
            "scores",
            "objective",
            "bound",
            "next_bound",
            "gap",
            "difference",
            "log_bayes_factor",
            "log_evidence",
            "log_likelihood",
            "log_likelihood_before",
            "log_likelihood_difference",
            "log_likelihood_per_row",
            "held_out_loss",
            "loss",
            "loss_difference",
            "loss_of_next_best",
            "log_loss",
            "log_loss_difference",
        ),
        NATS,
    ),
    **dict.fromkeys(("seconds", "cpu_seconds"), SECONDS),
    **dict.fromkeys(
        (
            "accuracy",
            "accuracy_difference",
            "imputation_accuracy",
            "rates",
            "share",
            "share_complete",
            "share_missing",
        ),
        PERCENT,
    ),
}
"""The unit of the numbers of each key; `PLAIN` of others, such as those of a user's own command."""

FROM_ZERO = {"row", "impossible_rows"}
"""Keys of numbers of rows, which people count from 1."""

STATUS = {
    "optimal": "optimal (proven)",
    "t-local": "t-local optimal (proven)",
    "heuristic": "heuristic (nothing is proven)",
    "feasible": "feasible (not proven optimal)",
    "interrupted": "interrupted (the best so far)",
    "infeasible": "infeasible (no network meets the constraints)",
}
"""The status of a search in words."""

TITLES = {
    "completion": "Completed cells",
    "held_out": "Rows not learned from",
    "networks": "Best networks",
    "best": "Best solutions",
    "averaged": "Averaged network",
    "support": "Support of arcs",
    "made_by": "How it was made",
    "mcar": "Missing completely at random (MCAR)",
    "learned": "Missingness graph learned",
}
"""Titles of parts of a record, where the key does not say it."""

LABELS = {
    "max_error": "largest relative error of the probability of a row",
    "imputation_accuracy": "completed rightly",
    "log_likelihood_before": "log likelihood before EM",
}
"""Names of facts and columns, where the key does not say it."""

OF_COUNTS = {
    "status",
    "probability",
    "best_probability",
    "class_probability",
    "mass",
}
"""Keys of facts that hold for the counts of families with missing cells."""

HIDDEN = {"made_by", "cpdag", "of_folds", "probabilities", "independences", "record"}
"""Keys that other parts tell, or that are for programs."""

SPREAD = {"families", "held_out"}
"""Keys of such objects whose entries are several columns."""

SEVERAL = {"starts", "models", "networks", "best"}
"""Keys of lists whose only entry says what stands above it."""

BY_NAME = {
    "rates",
    "causes",
    "rows_per_family",
    "separators",
    "families",
    "replaced",
    "held_out",
    "options",
}
"""Keys of objects by names, of variables or models, which are columns of one table."""

MEANINGS = {
    "loss_of_next_best",
    "posterior",
    "probability",
    "bayes_factor",
    "reason",
    "verdict",
    "why",
}
"""Keys whose texts are sentences."""

SENTENCES = {"failures", "notes", "statements", "changes"}
"""Keys of lists of sentences."""

ARCS = {
    "arcs": "→",
    "directed": "→",
    "covered": "→",
    "edges": "-",
    "undirected": "-",
    "reversible": "-",
}
"""Keys of lists of arcs, and how an arc is written."""
