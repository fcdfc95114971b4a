"""Hiding cells of a table by a known mechanism: MCAR, MAR and MNAR.

:mod:`exactlearn.data.missingness_spec` defines the mechanisms and how they are told.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import as_spec, checked_arguments
from exactlearn._runtime.did_you_mean import suggestion
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_spec import Mechanism, Spec, parse_spec
from exactlearn.errors import DataError, OptionError

_STEEPNESS = 3.0
"""How many times likelier MAR hides a cell at the driver's last state than at its first."""


@checked_arguments(spec=as_spec)
def hide(dataset: Dataset, spec: str | Spec, rng: np.random.Generator) -> Dataset:
    """Hide cells of a table; :mod:`exactlearn.data.missingness_spec` explains the mechanisms.

    Parameters
    ----------
    dataset
        Complete or not.
    spec
        Such as ``"mcar:0.1"``, ``"mar:0.1"``, ``"mnar:2"``, ``"mnar:0.03:1"``.
    rng
        The only source of randomness: the same state hides the same cells.

    Raises
    ------
    OptionError
        When the specification is wrong, or asks for more cells than the table has.
    DataError
        When MAR finds no complete variable, or the driver is not complete.

    Examples
    --------
    >>> table = Dataset(np.array([[0], [1], [1], [1]]), ("smoke",), (("no", "yes"),))
    >>> hide(table, "mnar:2:1", np.random.default_rng(0)).codes.ravel().tolist().count(-1)
    2
    """
    told = parse_spec(spec) if isinstance(spec, str) else spec
    hidden = _MECHANISMS[told.mechanism](dataset, told, rng)
    codes = dataset.codes.copy()
    codes[hidden] = MISSING
    return replace(dataset, codes=codes)


def _mcar(dataset: Dataset, spec: Spec, rng: np.random.Generator) -> NDArray[np.bool_]:
    observed = _observed(dataset)
    if spec.share is not None:
        return _leave_one(observed, observed & (rng.random(observed.shape) < spec.share), rng)
    count = cast(int, spec.count)
    hidden = np.zeros_like(observed)
    for variable, name in enumerate(dataset.names):
        rows = np.flatnonzero(observed[:, variable])
        if len(rows) <= count:
            raise OptionError(
                f"mcar:{count} of variable {name!r}: it has {len(rows)} observed cells, and "
                "one must stay; hide fewer"
            )
        hidden[rng.choice(rows, count, replace=False), variable] = True
    return hidden


def _mar(dataset: Dataset, spec: Spec, rng: np.random.Generator) -> NDArray[np.bool_]:
    observed = _observed(dataset)
    driver = _driver(dataset, spec, observed)
    probability = _row_probabilities(dataset, driver, cast(float, spec.share))
    hidden = observed & (rng.random(observed.shape) < probability[:, np.newaxis])
    hidden[:, driver] = False
    return _leave_one(observed, hidden, rng)


def _driver(dataset: Dataset, spec: Spec, observed: NDArray[np.bool_]) -> int:
    if dataset.n_variables < 2:
        raise DataError("mar needs two variables, one to depend on and one to hide")
    complete = np.flatnonzero(observed.all(axis=0))
    if spec.driver is None:
        if not len(complete):
            raise DataError("mar needs a variable without missing cells, and there is none")
        return int(complete[0])
    if spec.driver not in dataset.names:
        raise OptionError(
            f"mar depends on {spec.driver!r}, which is no variable"
            f"{suggestion(spec.driver, dataset.names)}"
        )
    driver = dataset.names.index(spec.driver)
    if driver not in complete:
        raise DataError(
            f"mar depends on {spec.driver!r}, which has missing cells; name a complete variable"
        )
    return driver


def _row_probabilities(dataset: Dataset, driver: int, share: float) -> NDArray[np.float64]:
    """Return the probability of hiding in each row, ``share`` on the average, shape (rows,)."""
    last = max(1, int(dataset.cardinalities[driver]) - 1)
    odds = 1 + (_STEEPNESS - 1) * dataset.codes[:, driver] / last
    probability: NDArray[np.float64] = share * odds / odds.mean()
    if probability.max() > 1:
        most = odds.mean() / odds.max()
        raise OptionError(
            f"mar:{share:g} driven by {dataset.names[driver]!r} would hide some cells with a "
            f"probability above 1; hide a share of at most {most:.3g}"
        )
    return probability


def _mnar(dataset: Dataset, spec: Spec, rng: np.random.Generator) -> NDArray[np.bool_]:
    if spec.state is not None and (dataset.cardinalities <= spec.state).any():
        variable = int(np.flatnonzero(dataset.cardinalities <= spec.state)[0])
        raise OptionError(
            f"mnar of state index {spec.state}: variable {dataset.names[variable]!r} has only the "
            f"indices 0 to {dataset.cardinalities[variable] - 1}"
        )
    if spec.count is not None:
        return _mnar_per_variable(dataset, spec.count, spec.state, rng)
    return _mnar_overall(dataset, cast(float, spec.share), spec.state, rng)


def _mnar_per_variable(
    dataset: Dataset, count: int, state: int | None, rng: np.random.Generator
) -> NDArray[np.bool_]:
    hidden = np.zeros(dataset.codes.shape, np.bool_)
    for variable in range(dataset.n_variables):
        column = dataset.codes[:, variable]
        own = _drawn_state(column, count, rng) if state is None else state
        rows = np.flatnonzero(column == own)
        size = min(count, max(0, len(rows) - 1))
        hidden[rng.choice(rows, size, replace=False), variable] = True
    return hidden


def _drawn_state(column: NDArray[np.integer], count: int, rng: np.random.Generator) -> int:
    """Return a state with more than ``count`` cells, or the commonest when there is none."""
    cells = np.bincount(column[column != MISSING], minlength=1)
    enough = np.flatnonzero(cells > count)
    return int(rng.choice(enough)) if len(enough) else int(np.argmax(cells))


def _mnar_overall(
    dataset: Dataset, share: float, state: int | None, rng: np.random.Generator
) -> NDArray[np.bool_]:
    size = round(share * int(_observed(dataset).sum()))
    room = _room(dataset)
    if state is None:
        enough = np.flatnonzero(room >= size)
        state = int(rng.choice(enough)) if len(enough) else int(np.argmax(room))
    if room[state] < size:
        raise OptionError(
            f"mnar:{share:g} asks for {size} cells of state index {state}, but only "
            f"{room[state]} can be hidden, one staying in each variable; hide a smaller share"
        )
    free = dataset.codes == state
    for variable in np.flatnonzero(free.any(axis=0)):
        free[rng.choice(np.flatnonzero(free[:, variable])), variable] = False
    hidden = np.zeros(free.size, np.bool_)
    hidden[rng.choice(np.flatnonzero(free), size, replace=False)] = True
    return hidden.reshape(free.shape)


def _observed(dataset: Dataset) -> NDArray[np.bool_]:
    return np.asarray(dataset.codes != MISSING, np.bool_)


def _room(dataset: Dataset) -> NDArray[np.int64]:
    """Return how many cells of each state index can be hidden, one staying in each variable."""
    counts = [
        np.count_nonzero(dataset.codes == state, axis=0)
        for state in range(int(dataset.cardinalities.max()))
    ]
    return np.array([np.maximum(own - 1, 0).sum() for own in counts], np.int64)


def _leave_one(
    observed: NDArray[np.bool_], hidden: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Uncover one random cell of each column that would lose all."""
    for variable in np.flatnonzero(observed.any(axis=0) & (hidden == observed).all(axis=0)):
        hidden[rng.choice(np.flatnonzero(observed[:, variable])), variable] = False
    return hidden


_MECHANISMS: dict[Mechanism, Callable[[Dataset, Spec, np.random.Generator], NDArray[np.bool_]]] = {
    "mcar": _mcar,
    "mar": _mar,
    "mnar": _mnar,
}
