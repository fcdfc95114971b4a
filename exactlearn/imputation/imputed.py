"""What a method of imputation answers with."""

from dataclasses import dataclass
from math import inf, isfinite, nan

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.imputation.one_hot import likeliest


@dataclass(frozen=True, kw_only=True, eq=False)
class Imputed:
    """The values of a table's missing cells, with what the method knows about them.

    Parameters
    ----------
    values
        State of each missing cell, in the order of ``Dataset.missing_cells``; ``None`` when a limit
        came before there were any.
    probabilities
        Distribution of each missing cell, shape (cells, most states of a variable), where the
        method has one.
    parents
        Parents of each variable in the network that was learned, where one was.
    network
        That network with its parameters, where they were estimated.
    score, bound
        Score of the completed table with the learned network, and its proven bound; NaN and ``inf``
        for methods without.
    status
        How the search ended, as for :class:`~exactlearn.augmentation.Augmentation`.
    """

    values: NDArray[np.int64] | None
    probabilities: NDArray[np.float64] | None = None
    parents: tuple[tuple[int, ...], ...] | None = None
    network: BayesianNetwork | None = None
    score: float = nan
    bound: float = inf
    status: str = "heuristic"

    @classmethod
    def of(cls, probabilities: NDArray[np.float64]) -> "Imputed":
        """Give each cell its most probable state, the first of several."""
        return cls(values=likeliest(probabilities), probabilities=probabilities)

    @property
    def ended(self) -> str:
        """The status of what is made of this by a network: no longer one that is proven."""
        return self.status if self.status in ("feasible", "interrupted") else "heuristic"

    @property
    def gap(self) -> float:
        """Relative gap ``(bound - score) / |score|``; infinite without score or bound."""
        if not isfinite(self.score):
            return inf
        return max(0.0, self.bound - self.score) / max(abs(self.score), 1e-9)
