"""How much the score loses by each other value of a missing cell: how sure a completion is.

One search is for one state of one cell, and every outcome makes the later ones easier. *If no
solution in which a cell has another state than in the best solution scores more than L, every
solution that scores more than L has that state in it* (theorem *Profiles*,
docs/theory/augmentation.md). So the states that lose most come first, and the search for a state
that is known to lose less has all those cells filled already: the last ones have few left. Equal
rows have the same losses.
"""

from dataclasses import dataclass, replace
from math import inf
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import ArcsLike, checked_arguments
from exactlearn._runtime.control import OnEvent, SearchControl
from exactlearn._runtime.display import ByValue
from exactlearn.augmentation.augment import augment
from exactlearn.augmentation.families import FamilyRules
from exactlearn.augmentation.incumbent import TOLERANCE, Incumbent
from exactlearn.augmentation.local_search.hill_climber import best_climb
from exactlearn.augmentation.result import Augmentation, AugmentationStatus
from exactlearn.augmentation.task import Task
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import OptionError
from exactlearn.scoring.scores import Score, ScoreLike


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Profile(ByValue, shown="status cells=scores seconds"):
    """The best scores with each missing cell held at each of its states.

    Parameters
    ----------
    best
        The best solution without holding any cell.
    scores, bounds
        Best score found, and bound on what any solution scores, shapes (cells, most states); not a
        number for states a variable does not have.
    status
        ``optimal`` when all are proven, else the weakest claim of a method, ``feasible`` after a
        limit and ``interrupted`` after Ctrl-C.
    seconds
        Wall time without the search for the best solution.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("cancer-mcar").part(slice(10))
    >>> best = el.augment(table, "bdeu", max_parents=1)
    >>> found = el.profile(table, "bdeu", best, max_parents=1)
    >>> found.loss.round(3).tolist(), bool((found.least_loss <= found.loss).all())
    ([[0.0, 0.619], [0.0, 1.98]], True)
    """

    best: Augmentation
    scores: NDArray[np.float64]
    bounds: NDArray[np.float64]
    status: AugmentationStatus
    seconds: float

    @property
    def loss(self) -> NDArray[np.float64]:
        """Loss of each state at most, shape (cells, most states); ``inf`` if not reached."""
        return self.best.score - self.scores

    @property
    def least_loss(self) -> NDArray[np.float64]:
        """Loss of each state at least, by the bounds; the same as ``loss`` where proven."""
        return np.maximum(0.0, self.best.score - self.bounds)


@checked_arguments()
def profile(
    dataset: DatasetLike,
    score: ScoreLike,
    best: Augmentation,
    *,
    max_parents: int = 3,
    t: int = 1,
    solver: str = "auto",
    time_limit: float | None = None,
    seed: int = 0,
    required: ArcsLike = (),
    forbidden: ArcsLike = (),
    on_event: OnEvent | None = None,
) -> Profile:
    """Hold each missing cell at each other state in turn, and augment the rest.

    Parameters
    ----------
    dataset, score, max_parents, t, solver, seed, required, forbidden
        As they were for the best solution.
    best
        The best solution: its method augments the rest, beginning with its completion.
    time_limit
        Seconds for all; what is left is shared out evenly before each search.
    on_event
        Called with the improvements of each search.

    Raises
    ------
    OptionError
        When there is no best solution, it belongs to another table, or its method is ``mode``,
        which never changes its mind.

    Examples
    --------
    >>> from exactlearn.scoring.scores import BDeu
    >>> table = Dataset(np.array([[0, 0], [1, 1], [1, -1]]), ("a", "b"), (("no", "yes"),) * 2)
    >>> best = augment(table, BDeu(1.0), method="branching")
    >>> profile(table, BDeu(1.0), best).loss.round(3).tolist()
    [[1.204, 0.0]]
    """
    if best.parents is None or best.method == "mode":
        raise OptionError(
            "a profile needs a solution that a search has found: use the method 'branching', or "
            "'t-local' on large tables"
        )
    if len(best.values) != len(dataset.missing_cells):
        raise OptionError(
            f"the best solution fills {len(best.values)} cells, but "
            f"{len(dataset.missing_cells)} are missing: pass the table that it was found for"
        )
    options = {
        "method": best.method,
        "max_parents": max_parents,
        "t": t,
        "starts": 1,
        "solver": solver,
        "seed": seed,
        "required": required,
        "forbidden": forbidden,
        "on_event": on_event,
    }
    known = Known.without_search(dataset, best)
    claims: list[AugmentationStatus] = [best.status]
    with SearchControl(time_limit).running() as control:
        if best.bound < inf:
            rules = FamilyRules.of(max_parents, required, forbidden)
            known.climb(score, rules, solver, control)
        while known.is_open.any() and claims[-1] != "interrupted":
            if control.is_over:
                claims.append(control.status)
                break
            share = control.part(1 / int(known.is_open.sum())).remaining
            claims.append(known.search(score, {**options, "time_limit": share}))
    return Profile(
        best=best,
        scores=known.scores,
        bounds=known.bounds,
        status=max(claims, key=_WEAKER.index),
        seconds=control.seconds,
    )


_WEAKER: tuple[AugmentationStatus, ...] = (
    "optimal",
    "t-local",
    "heuristic",
    "feasible",
    "interrupted",
)


@dataclass(eq=False)
class Known:
    """Bounds and scores of the best solutions with each state of each missing cell.

    Parameters
    ----------
    dataset, best
        The table, and its best solution.
    scores, bounds
        As for :class:`Profile`.
    is_open
        Which states no search has decided, shape (cells, most states).
    completions
        The best completion known with each state, shape (cells, most states, cells).
    equal
        For each cell, a number that equal cells of equal rows share, shape (cells,).
    """

    dataset: Dataset
    best: Augmentation
    scores: NDArray[np.float64]
    bounds: NDArray[np.float64]
    is_open: NDArray[np.bool_]
    completions: NDArray[np.int64]
    equal: NDArray[np.int64]

    @classmethod
    def without_search(cls, dataset: Dataset, best: Augmentation) -> Self:
        """Return the scores and bounds that follow from the best solution alone."""
        rows, variables = dataset.missing_cells.T
        states, n_cells = dataset.cardinalities[variables], len(rows)
        within = np.arange(int(states.max(initial=0))) < states[:, None]
        own = np.arange(n_cells), best.values
        scores, bounds = np.where(within, -inf, np.nan), np.where(within, inf, np.nan)
        scores[own], bounds[own] = best.score, min(best.bound, inf)
        is_open = within.copy()
        is_open[own] = False
        completions = np.broadcast_to(best.values, (*within.shape, n_cells)).copy()
        row_keys = np.column_stack([dataset.codes[rows], dataset.row_weights[rows], variables])
        equal = np.unique(row_keys, axis=0, return_inverse=True)[1].reshape(-1)
        return cls(dataset, best, scores, bounds, is_open, completions, equal)

    def climb(self, score: Score, rules: FamilyRules, solver: str, control: SearchControl) -> None:
        """Climb once with each missing cell at each state, to order the searches."""
        for cell, state in np.argwhere(self.is_open):
            held = np.arange(len(self.equal)) == cell
            values = np.where(held, state, self.best.values)
            table = _filled(self.dataset, held, values)
            task = Task(table, score, rules, solver, start=values[~held])
            with Incumbent(control.remaining).running() as incumbent:
                solution = best_climb(task, incumbent, 1, None)
            if solution is None:
                return
            values[~held] = solution.values
            self._take(values, solution.score)

    def search(self, score: Score, options: dict[str, Any]) -> AugmentationStatus:
        """Search for the best solution with the open state that loses most."""
        lowest = np.where(self.is_open, self.scores, inf).argmin()
        cell, state = np.unravel_index(int(lowest), self.scores.shape)
        floor = self.scores[cell, state]
        other = np.arange(self.scores.shape[1]) != self.best.values[:, None]
        may_differ = self.bounds > floor + TOLERANCE * max(1.0, abs(self.best.score))
        held = ~(other & may_differ).any(axis=1)
        values = np.where(held, self.best.values, self.completions[cell, state])
        held[cell], values[cell] = True, state
        table = _filled(self.dataset, held, values)
        found = augment(table, score, start=values[~held], **options)
        if found.parents is not None:
            values[~held] = found.values
            self._take(values, found.score)
        same = (self.equal == self.equal[cell]) & self.is_open[:, state]
        self.scores[same, state] = self.scores[cell, state]
        self.bounds[same, state] = max(found.bound, self.scores[cell, state])
        self.is_open[same, state] = False
        return found.status

    def _take(self, values: NDArray[np.int64], score: float) -> None:
        """Keep a completion for each state in it, where none is known that scores as much."""
        at = np.arange(len(values)), values
        better = self.is_open[at] & (score > self.scores[at])
        at = at[0][better], values[better]
        self.scores[at], self.completions[at] = score, values


def _filled(dataset: Dataset, held: NDArray[np.bool_], values: NDArray[np.int64]) -> Dataset:
    """Return the table with some of its missing cells filled."""
    rows, variables = dataset.missing_cells[held].T
    codes = dataset.codes.copy()
    codes[rows, variables] = values[held]
    return replace(dataset, codes=codes)
