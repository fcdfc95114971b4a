"""What a proof of t-local optimality leaves open when it is stopped."""

from dataclasses import dataclass
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.solution import Pair


@dataclass(frozen=True)
class Unproven:
    """Changes of cells after which a better pair is not excluded.

    Parameters
    ----------
    changes
        How many; changes that lead to the same table but for the order of its rows count once.
    of
        How many there are up to the distance asked for.
    dag
        Whether the DAG is not proven the best one for the completion as it is, either.
    gain
        No pair after any of them, nor with another DAG alone, scores more than this above the pair;
        ``inf`` while some are not bounded.
    """

    changes: int
    of: int
    dag: bool
    gain: float

    @property
    def is_nothing(self) -> bool:
        """Whether the pair is proven to be t-local optimal."""
        return not self.changes and not self.dag

    @property
    def told(self) -> str:
        """The same in words."""
        if self.is_nothing:
            return f"the best pair is t-local optimal, all of its {self.of} changes being excluded"
        left = f"{self.changes} of {self.of} changes"
        left += " and the DAG are unproven" if self.dag else " are unproven"
        if not isfinite(self.gain):
            return f"{left}, and not all are bounded yet"
        return f"{left}; none of them can gain more than {self.gain:.4g} nats"


class Ledger:
    """The changes around a pair that are open at the moment.

    Attributes
    ----------
    left
        What pairs after those that have been bounded score at most, in pieces.
    unseen
        How many have not been bounded.
    dag
        What the pair's own completion allows at most; the pair's score once its DAG is proven.

    Parameters
    ----------
    pair
        The pair.
    total
        How many changes there are.
    """

    def __init__(self, pair: Pair, total: int) -> None:
        self.pair, self.total = pair, total
        self.left: list[NDArray[np.float64]] = []
        self.unseen = total
        self.dag = inf

    @property
    def unproven(self) -> Unproven:
        """What is open now."""
        is_dag_open = self.dag > self.pair.target
        bounds = np.concatenate([np.zeros(0), *self.left])
        open_bounds = [*bounds.tolist(), *([self.dag] if is_dag_open else [])]
        highest = inf if self.unseen else max(open_bounds, default=self.pair.score)
        return Unproven(
            changes=len(bounds) + self.unseen,
            of=self.total,
            dag=is_dag_open,
            gain=max(0.0, highest - self.pair.score),
        )
