"""Results as JSON records."""

from collections.abc import Collection, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exactlearn.graphs.dag import named_parents
from exactlearn.graphs.equivalence import Arc, PartiallyDirectedGraph, cpdag
from exactlearn.graphs.orientation import reversible_arcs

if TYPE_CHECKING:
    from exactlearn.data.dataset import Dataset
    from exactlearn.pdg.compile.compile import Compilation
    from exactlearn.reporting.trace import Learned

SIZES = ("effective_size", "representational_size", "nodes", "clique_tree_size")
"""Sizes of a decision graph in a record."""


def learning_record(
    names: Sequence[str], learned: "Learned", known: Collection[Arc] = ()
) -> dict[str, Any]:
    """Return the JSON record of a learned network; ``parents`` is ``None`` when there is none.

    Parameters
    ----------
    names
        Variable names.
    learned
        The result.
    known
        Directions that the constraints leave, see :func:`known_directions`.
    """
    parents = learned.parents
    return {
        **{key: getattr(learned, key) for key in ("status", "score", "bound", "gap", "seconds")},
        "parents": parents and named_parents(names, parents),
        **({} if parents is None else equivalence_record(names, parents, known)),
    }


def equivalence_record(
    names: Sequence[str], parents: Sequence[Sequence[int]], known: Collection[Arc] = ()
) -> dict[str, Any]:
    """Return a network's CPDAG by name, and its arcs that equivalent networks reverse.

    The CPDAG is that of the Markov equivalence class; with known directions, an arc is reversible
    where a network of the class that has these, too, reverses it.
    """
    return {
        "reversible": named_arcs(names, reversible_arcs(parents, known)),
        "cpdag": cpdag_record(names, cpdag(parents)),
    }


def cpdag_record(names: Sequence[str], found: PartiallyDirectedGraph) -> dict[str, Any]:
    """Return the arcs and the undirected edges of a CPDAG by name."""
    return {key: named_arcs(names, getattr(found, key)) for key in ("directed", "undirected")}


def named_arcs(names: Sequence[str], arcs: Collection[Arc]) -> list[list[str]]:
    """Return arcs by name, in the order of the variables."""
    return [[names[a], names[b]] for a, b in sorted(arcs)]


def completion_record(
    dataset: "Dataset",
    values: Sequence[int] | NDArray[Any],
    *,
    losses: NDArray[np.float64] | None = None,
    probabilities: NDArray[np.float64] | None = None,
    probability: str = "posterior",
) -> list[dict[str, Any]]:
    """Return the value of each missing cell by name, in row-major order.

    Rows count from 0; the line of a row in its file counts from 1, where it is known.

    Parameters
    ----------
    dataset, values
        The table, and the state of each missing cell.
    losses, probabilities
        What each state loses, and its probability, shape (cells, most states).
    probability
        What the probability of the value is called.
    """
    cells: list[dict[str, Any]] = [
        {
            "row": int(row),
            **({} if dataset.lines is None else {"line": int(dataset.lines[row])}),
            "variable": dataset.names[v],
            "value": dataset.states[v][int(value)],
        }
        for (row, v), value in zip(dataset.missing_cells, values, strict=True)
    ]
    if probabilities is not None:
        likely = probabilities[range(len(cells)), np.asarray(values, np.int64)].tolist()
        for cell, p in zip(cells, likely, strict=True):
            cell[probability] = p
    if losses is not None:
        for cell, name, loss in zip(cells, *dataset.next_best(values, losses), strict=True):
            cell["next_best"] = name
            cell["loss_of_next_best"] = float(loss) if isfinite(loss) else None
    return cells


def compilation_record(compiled: "Compilation") -> dict[str, Any]:
    """Return the JSON record of a compiled network."""
    return {key: getattr(compiled, key) for key in (*SIZES, "max_error")}


def size_in_words(dataset: "Dataset") -> str:
    """Return the size of a table in words."""
    missing = len(dataset.missing_cells)
    return f"{dataset.n_rows} rows, {dataset.n_variables} variables, {missing} missing cells"
