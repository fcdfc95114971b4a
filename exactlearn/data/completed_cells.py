"""The values of a table's missing cells as columns, for frames and records."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from exactlearn.data.dataset import Dataset


def completed_cells(
    dataset: "Dataset",
    values: Sequence[int] | NDArray[np.integer],
    probabilities: NDArray[np.float64] | None = None,
    losses: NDArray[np.float64] | None = None,
) -> dict[str, Any]:
    """Return the columns of :meth:`Dataset.completion_frame`, rows counted from 0."""
    rows, variables = dataset.missing_cells.T
    states = np.asarray(values, np.int64)
    cells = zip(variables, states, strict=True)
    columns: dict[str, Any] = {
        "row": rows,
        "variable": [dataset.names[v] for v in variables],
        "value": [dataset.states[v][state] for v, state in cells],
    }
    if probabilities is not None:
        columns["probability"] = probabilities[np.arange(len(states)), states]
    if losses is not None:
        best, loss = dataset.next_best(states, losses)
        columns["next_best"] = best
        columns["loss_of_next_best"] = loss
    return columns
