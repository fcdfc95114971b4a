"""Missing cells drawn by a missingness graph.

Every simulation returns the incomplete table, the graph, and the tables of the mechanisms: the
probability that a cell is missing, for each configuration of the causes of its indicator. The
indicators are drawn in topological order, each row by itself.

A variable whose cells would all be missing keeps one of them, drawn at random.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset, DatasetLike, check_complete
from exactlearn.data.missingness_graph import MissingnessGraph, as_missingness_graph
from exactlearn.errors import OptionError
from exactlearn.graphs.dag import topological_order

Tables = Mapping[str, NDArray[np.float64]]
"""For each variable with missing cells the probability that its cell is missing: one axis for each
variable among the causes, then one of two entries (observed, missing) for each indicator."""


class SimulatedMissingness(NamedTuple):
    """A table with missing cells, and what they were drawn by.

    Parameters
    ----------
    dataset
        The table with its hidden cells missing.
    graph
        What each indicator depends on.
    tables
        The probability that a cell is missing, for each variable of the graph.
    """

    dataset: Dataset
    graph: MissingnessGraph
    tables: Tables


@checked_arguments(graph=as_missingness_graph)
def hide_by_graph(
    dataset: DatasetLike,
    graph: MissingnessGraph,
    tables: Tables,
    rng: np.random.Generator,
    uniform: NDArray[np.float64] | None = None,
) -> Dataset:
    """Hide cells of a table by a missingness graph with the tables of its mechanisms.

    Parameters
    ----------
    dataset
        Table whose columns of causes have no missing cells, for mechanisms depend on true values;
        a column that is a cause of its own missing cells only may have some. Cells missing before
        stay so.
    graph
        What each indicator depends on.
    tables
        For each variable of the graph the probability that its cell is missing, in [0, 1]: one axis
        for each variable among its causes, in their order, then one axis of two entries (observed,
        missing) for each indicator among them.
    rng
        Source of randomness; the same state hides the same cells.
    uniform
        A number from 0 to 1 for each cell, below whose probability it is hidden; drawn for each
        variable of the graph when left out.

    Raises
    ------
    OptionError
        When the graph has a variable that the table lacks, or a table does not fit the graph.
    DataError
        When the column of a cause has missing cells.

    Examples
    --------
    >>> full = Dataset(np.array([[0], [1], [1], [0]]), ("income",), (("low", "high"),))
    >>> graph = MissingnessGraph.parse("income <- income")
    >>> tables = {"income": np.array([0.0, 0.6])}
    >>> hide_by_graph(full, graph, tables, np.random.default_rng(1)).codes.ravel().tolist()
    [0, 1, -1, 0]
    """
    names, n = dataset.names, dataset.n_variables
    parents = graph.parents(names)
    columns = [names.index(name) for name in graph.variables]
    # A cell that is missing itself is not hidden again, whatever its value.
    needed = sorted(
        {u for v, own in zip(columns, parents, strict=True) for u in own if u < n and u != v}
    )
    check_complete(
        dataset.codes[:, needed],
        [names[u] for u in needed],
        "but a mechanism depends on its value: simulate missing cells of a complete table",
    )
    codes = dataset.codes.copy()
    order = topological_order([*((),) * n, *parents])
    for k in (v - n for v in order if v >= n):
        column, table = (
            columns[k],
            _checked(tables, graph.variables[k], _shape(dataset, parents[k])),
        )
        configuration = np.zeros(dataset.n_rows, np.int64)
        for u, size in zip(parents[k], table.shape, strict=True):
            configuration *= size
            configuration += (
                dataset.codes[:, u].clip(min=0) if u < n else codes[:, columns[u - n]] == MISSING
            )
        drawn = rng.random(dataset.n_rows) if uniform is None else uniform[:, column]
        observed = np.flatnonzero(codes[:, column] != MISSING)
        hidden = observed[(drawn < table.ravel()[configuration])[observed]]
        if len(observed) and len(hidden) == len(observed):
            hidden = np.setdiff1d(hidden, rng.choice(observed))
        codes[hidden, column] = MISSING
    return replace(dataset, codes=codes)


@checked_arguments(graph=as_missingness_graph)
def draw_tables(
    dataset: DatasetLike,
    graph: MissingnessGraph,
    rng: np.random.Generator,
    *,
    beta: tuple[float, float] = (1.0, 1.0),
) -> dict[str, NDArray[np.float64]]:
    """Draw the probability that a cell is missing for each configuration of its causes.

    Parameters
    ----------
    dataset
        Table with the variables of the graph, for their states.
    graph
        What each indicator depends on.
    rng
        Source of randomness.
    beta
        Shape parameters a and b of the Beta distribution that each probability is drawn from; its
        mean is a / (a + b).

    Raises
    ------
    OptionError
        When the graph has a variable that the table lacks, or a shape parameter is not positive.
    """
    if not all(np.isfinite(beta)) or min(beta) <= 0:
        raise OptionError(
            f"Beta distribution of missingness: expected shape parameters above 0, found "
            f"{beta[0]:g} and {beta[1]:g}"
        )
    return {
        name: rng.beta(*beta, size=_shape(dataset, family))
        for name, family in zip(graph.variables, graph.parents(dataset.names), strict=True)
    }


@checked_arguments(graph=as_missingness_graph)
def simulate_graph(
    dataset: DatasetLike, graph: MissingnessGraph, rng: np.random.Generator
) -> SimulatedMissingness:
    """Hide cells by any missingness graph, the tables of its mechanisms drawn at random.

    Parameters
    ----------
    dataset, graph, rng
        As for :func:`hide_by_graph`.

    Raises
    ------
    OptionError, DataError
        As these functions do.
    """
    tables = draw_tables(dataset, graph, rng)
    return SimulatedMissingness(hide_by_graph(dataset, graph, tables, rng), graph, tables)


def _shape(dataset: Dataset, family: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of the table of an indicator with some parents."""
    n = dataset.n_variables
    return tuple(int(dataset.cardinalities[u]) if u < n else 2 for u in family)


def _checked(tables: Tables, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return a mechanism's table, if it has the right shape and holds probabilities."""
    if name not in tables:
        raise OptionError(f"missingness of {name!r}: no table of its mechanism is given")
    table = np.asarray(tables[name], np.float64)
    if table.shape != shape:
        raise OptionError(
            f"missingness of {name!r}: expected a table of shape {shape}, one axis for each cause, "
            f"found {table.shape}"
        )
    if not ((table >= 0) & (table <= 1)).all():
        raise OptionError(f"missingness of {name!r}: a number of its table is no probability")
    return table
