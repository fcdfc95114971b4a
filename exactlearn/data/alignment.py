"""The codes of a table's rows in a model's order of variables and states."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from exactlearn.data.codes import Column, NamedVariables
from exactlearn.data.coding import state_codes
from exactlearn.data.dataset import Dataset
from exactlearn.data.unseen import Unseen, cure_of_unseen, report_unseen
from exactlearn.errors import DataError, did_you_mean


def aligned_codes(
    dataset: Dataset,
    names: Sequence[str],
    states: Sequence[Sequence[str]],
    unseen: Unseen | None = None,
) -> NDArray[np.int16]:
    """Return the codes that the rows of a table have for a model.

    Columns that the model lacks are left out, and so are states that no row has.

    Parameters
    ----------
    dataset
        Table with at least the model's variables; may have missing cells.
    names, states
        The model's variables and the states of each.
    unseen
        Whether a state that the model does not know counts as missing; nothing where the caller has
        no such option.

    Returns
    -------
    codes
        Shape (rows, variables of the model), C-contiguous; -1 for a missing cell.

    Raises
    ------
    DataError
        When a variable is absent, or a row has a state that the model does not know.

    Warns
    -----
    StateWarning
        Once, when such states count as missing.
    """
    unseen_cells: dict[str, dict[str, float]] = {}
    aligned = np.empty((dataset.n_rows, len(names)), np.int16)
    for i, (name, of_model) in enumerate(zip(names, states, strict=True)):
        if name not in dataset.names:
            raise DataError(
                f"the table has no column {name!r}, which the model needs"
                f"{did_you_mean(name, dataset.names)}"
            )
        v = dataset.names.index(name)
        labels = dataset.states[v]
        codes = dataset.codes[:, v]
        aligned[:, i] = state_codes(Column(name, labels, codes), of_model)
        # Observed cells without a code have a state that the model lacks.
        is_unseen = (aligned[:, i] < 0) & (codes >= 0)
        if not is_unseen.any():
            continue
        if unseen != "missing":
            row = int(np.argmax(is_unseen))
            state = labels[codes[row]]
            cure = f"; correct it, or {cure_of_unseen()}" if unseen == "refuse" else ""
            raise DataError(
                f"column {name!r}, {dataset.row_place(row)}: the model knows no state {state!r}"
                f"{did_you_mean(state, of_model)}{cure}"
            )
        # They count as missing, and one warning lists them with their weights.
        unseen_codes = codes[is_unseen]
        cells = np.bincount(unseen_codes, dataset.row_weights[is_unseen])
        unseen_cells[name] = {
            labels[code]: float(cells[code]) for code in np.unique(unseen_codes)
        }
    report_unseen(unseen_cells, "missing")
    return aligned


def aligned_table(dataset: Dataset, model: NamedVariables) -> Dataset:
    """Return a table with the variables and states of a model alone, in the model's order.

    Raises
    ------
    DataError
        As :func:`aligned_codes`.

    Examples
    --------
    >>> table = Dataset([[0, 1]], ("a", "b"), (("no", "yes"), ("low", "high")))
    >>> aligned_table(table, Dataset([[0]], ("b",), (("high", "low"),))).codes.tolist()
    [[0]]
    """
    if (dataset.names, dataset.states) == (model.names, model.states):
        return dataset
    codes = aligned_codes(dataset, model.names, model.states)
    return replace(
        dataset,
        codes=codes,
        names=model.names,
        states=model.states,
    )
