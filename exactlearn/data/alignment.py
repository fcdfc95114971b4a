"""A table's codes in a model's order of variables and states, matched by name."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.did_you_mean import suggestion
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset
from exactlearn.data.lookup import find_states
from exactlearn.errors import DataError

_UNKNOWN = np.iinfo(np.int16).min


def aligned_codes(
    dataset: Dataset, names: Sequence[str], states: Sequence[Sequence[str]]
) -> NDArray[np.int16]:
    """Return the codes that the rows of a table have for a model.

    Columns that the model lacks are left out, and so are states that no row has.

    Parameters
    ----------
    dataset
        Table with at least the model's variables; may have missing cells.
    names, states
        The model's variables and the states of each.

    Returns
    -------
    codes
        Shape (rows, variables of the model), C-contiguous; -1 for a missing cell.

    Raises
    ------
    DataError
        When a variable is absent, or a row has a state that the model does not know.
    """
    column = {name: j for j, name in enumerate(dataset.names)}
    codes = np.empty((dataset.n_rows, len(names)), np.int16)
    for i, name in enumerate(names):
        if name not in column:
            raise DataError(
                f"the table has no column {name!r}, which the model needs"
                f"{suggestion(name, dataset.names)}"
            )
        j = column[name]
        codes[:, i] = _translate(dataset.codes[:, j], name, dataset.states[j], states[i])
    return codes


def refuse_missing(codes: NDArray[np.integer], names: Sequence[str], instead: str) -> None:
    """Raise when a cell is missing.

    Parameters
    ----------
    codes
        Shape (rows, variables).
    names
        The variables.
    instead
        What the message ends with: why rows must be complete and what to do.

    Raises
    ------
    DataError
        When a code is -1; names the first such cell and how many there are.
    """
    holes = np.argwhere(codes == MISSING)
    if len(holes):
        row, variable = (int(k) for k in holes[0])
        raise DataError(
            f"column {names[variable]!r}, row {row}: the cell is missing "
            f"({len(holes)} missing cells in all), {instead}"
        )


def _translate(
    codes: NDArray[np.integer], name: str, states: Sequence[str], known: Sequence[str]
) -> NDArray[np.int16]:
    """Return one column's codes for the states of ``known``, numbers by the bins that hold them."""
    places = find_states(states, known)
    # The code -1 reads the extra last entry: missing stays missing.
    table = np.array([*(_UNKNOWN if k is None else k for k in places), MISSING], np.int16)
    translated: NDArray[np.int16] = table[codes]
    strange = np.flatnonzero(translated == _UNKNOWN)
    if len(strange):
        row = int(strange[0])
        state = states[codes[row]]
        raise DataError(
            f"column {name!r}, row {row}: the model knows no state {state!r}"
            f"{suggestion(state, known)}"
        )
    return translated
