"""Names that options of commands take; tests compare them with those of the library."""

from typing import Literal

METHODS = (
    "stacked",
    "averaged",
    "posterior",
    "mpe",
    "multiple",
    "augmentation",
    "mode",
)
"""Methods of an imputer, as in :mod:`exactlearn.imputation.methods`."""

IMPUTERS = (
    *("branching", "exact", "gadget", "t-local"),
    *("structural-em", "structural-em-hard", "posterior-average"),
    *("knn", "iterative", "logistic", "mice", "forest", "boosted"),
)
"""The other methods of completing a table there."""

FitMethod = Literal[
    "complete",
    "em",
    "cca",
    "aca",
    "d-mcar",
    "f-mcar",
    "d-mar",
    "f-mar",
    "id-mar",
    "if-mar",
]
PosteriorCountsName = Literal[
    "auto",
    "average",
    "expected",
    "d-mcar",
    "f-mcar",
    "d-mar",
    "f-mar",
    "id-mar",
    "if-mar",
]
CountsName = Literal[
    "expected", "d-mcar", "f-mcar", "d-mar", "f-mar", "id-mar", "if-mar", "node-average"
]
KindName = Literal["dag", "pattern", "cpdag"]

PRIORS = ("uniform", "fair")
"""Names of priors over networks, as in :mod:`exactlearn.scoring.prior`."""
