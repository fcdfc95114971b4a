"""How much the score loses by each other value of a missing cell: how sure a completion is."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.augment import augment
from exactlearn.augmentation.result import Augmentation, AugmentationStatus
from exactlearn.data import Dataset
from exactlearn.errors import OptionError
from exactlearn.scores import Score
from exactlearn.solvers.problem import Arc
from exactlearn.solvers.result import OnEvent


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The best scores with each missing cell held at each of its states.

    Parameters
    ----------
    best
        The best pair without holding any cell.
    scores, bounds
        Best score found, and bound on what any pair scores, shapes (cells, most states); not a
        number for states a variable does not have.
    status
        ``optimal`` when all are proven, else the weakest claim of a method, ``feasible`` after a
        limit and ``interrupted`` after Ctrl-C.
    seconds
        Wall time without the search for the best pair.
    """

    best: Augmentation
    scores: NDArray[np.float64]
    bounds: NDArray[np.float64]
    status: AugmentationStatus
    seconds: float

    @property
    def loss(self) -> NDArray[np.float64]:
        """What each state loses at most, shape (cells, most states); ``inf`` if not reached."""
        return self.best.score - self.scores

    @property
    def least_loss(self) -> NDArray[np.float64]:
        """What each state loses at least, by the bounds; the same as ``loss`` where proven."""
        return np.maximum(0.0, self.best.score - self.bounds)


def profile(
    dataset: Dataset,
    score: Score,
    best: Augmentation,
    *,
    max_parents: int = 3,
    t: int = 1,
    solver: str = "auto",
    time_limit: float | None = None,
    seed: int = 0,
    required: Iterable[Arc] = (),
    forbidden: Iterable[Arc] = (),
    on_event: OnEvent | None = None,
) -> Profile:
    """Hold each missing cell at each other state in turn, and augment the rest anew.

    Parameters
    ----------
    dataset, score, max_parents, t, solver, seed, required, forbidden
        As they were for the best pair.
    best
        The best pair: its method augments the rest, beginning with its completion.
    time_limit
        Seconds for all; what is left is shared out evenly before each search.
    on_event
        Called with the improvements of each search.

    Raises
    ------
    OptionError
        When there is no best pair, or its method is ``mode``, which never changes its mind.

    Examples
    --------
    >>> from exactlearn.scores import BDeu
    >>> table = Dataset(np.array([[0, 0], [1, 1], [1, -1]]), ("a", "b"), (("no", "yes"),) * 2)
    >>> best = augment(table, BDeu(1.0), method="branching")
    >>> profile(table, BDeu(1.0), best).loss.round(3).tolist()
    [[1.204, 0.0]]
    """
    if best.parents is None or best.method == "mode":
        raise OptionError(
            "a profile needs a pair that a search has found: use the method 'branching', or "
            "'t-local' on large tables"
        )
    begun = monotonic()
    states = dataset.cardinalities[dataset.missing_cells[:, 1]]
    shape = (len(states), int(states.max(initial=0)))
    within = np.arange(shape[1]) < states[:, None]
    scores, bounds = np.where(within, -inf, np.nan), np.where(within, inf, np.nan)
    own = np.arange(len(states)), best.values
    scores[own], bounds[own] = best.score, min(best.bound, inf)
    claims: list[AugmentationStatus] = [best.status]
    others = [(c, s) for c, r in enumerate(states) for s in range(r) if s != best.values[c]]
    for done, (cell, state) in enumerate(others):
        left = None if time_limit is None else time_limit - (monotonic() - begun)
        if left is not None and left <= 0.0:
            claims.append("feasible")
            break
        found = augment(
            _held(dataset, cell, state),
            score,
            method=best.method,
            max_parents=max_parents,
            t=t,
            starts=1,
            solver=solver,
            time_limit=None if left is None else left / (len(others) - done),
            seed=seed,
            required=required,
            forbidden=forbidden,
            start=np.delete(best.values, cell),
            on_event=on_event,
        )
        scores[cell, state], bounds[cell, state] = found.score, found.bound
        claims.append(found.status)
        if found.status == "interrupted":
            break
    return Profile(
        best=best,
        scores=scores,
        bounds=bounds,
        status=max(claims, key=_WEAKER.index),
        seconds=monotonic() - begun,
    )


_WEAKER: tuple[AugmentationStatus, ...] = (
    "optimal",
    "t-local",
    "heuristic",
    "feasible",
    "interrupted",
)


def _held(dataset: Dataset, cell: int, state: int) -> Dataset:
    """Return the table with one missing cell filled."""
    row, variable = dataset.missing_cells[cell]
    codes = dataset.codes.copy()
    codes[row, variable] = state
    return replace(dataset, codes=codes)
