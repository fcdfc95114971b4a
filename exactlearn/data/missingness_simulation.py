"""Missing cells drawn by a missingness graph, and random graphs to draw them by.

Every simulation returns the incomplete table, the graph, and the tables of the mechanisms: the
probability that a cell is missing, for each configuration of the causes of its indicator. The
indicators are drawn in topological order, each row by itself.

The generators are those of Van den Broeck, Mohan, Choi and Pearl 2015, "Efficient algorithms for
Bayesian network parameter learning from incomplete data" (section 4 and appendix B for MAR data,
appendix C for MCAR data), and self-masking as in the lecture of Freiburg on EM (figure 6).

A variable whose cells would all be missing keeps one of them, drawn at random.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import ParentsLike, checked_arguments
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset, DatasetLike, check_complete
from exactlearn.data.missingness_graph import MissingnessGraph, as_missingness_graph
from exactlearn.errors import OptionError, did_you_mean
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
    dataset: DatasetLike, graph: MissingnessGraph, tables: Tables, rng: np.random.Generator
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
    for k in _order(parents, n):
        table = _checked(tables, graph.variables[k], _shape(dataset, parents[k]))
        configuration = np.zeros(dataset.n_rows, np.int64)
        for u, size in zip(parents[k], table.shape, strict=True):
            configuration *= size
            configuration += (
                dataset.codes[:, u].clip(min=0) if u < n else codes[:, columns[u - n]] == MISSING
            )
        observed = codes[:, columns[k]] != MISSING
        drawn = observed & (rng.random(dataset.n_rows) < table.ravel()[configuration])
        codes[leave_one(observed, drawn, rng), columns[k]] = MISSING
    return replace(dataset, codes=codes)


def leave_one(
    observed: NDArray[np.bool_], hidden: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Uncover one random cell of a column that would lose all; both of shape (rows,)."""
    if observed.any() and (hidden == observed).all():
        hidden[rng.choice(np.flatnonzero(observed))] = False
    return hidden


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
    dataset: DatasetLike,
    graph: MissingnessGraph,
    rng: np.random.Generator,
    *,
    beta: tuple[float, float] = (1.0, 1.0),
) -> SimulatedMissingness:
    """Hide cells by any missingness graph, the tables of its mechanisms drawn at random.

    Parameters
    ----------
    dataset, graph, rng
        As for :func:`hide_by_graph`.
    beta
        As for :func:`draw_tables`.

    Raises
    ------
    OptionError, DataError
        As these functions do.
    """
    tables = draw_tables(dataset, graph, rng, beta=beta)
    return SimulatedMissingness(hide_by_graph(dataset, graph, tables, rng), graph, tables)


@checked_arguments()
def simulate_mcar(
    dataset: DatasetLike,
    rng: np.random.Generator,
    *,
    share: float = 0.3,
    probability: float = 0.7,
) -> SimulatedMissingness:
    """Hide cells of some variables completely at random (appendix C, Table 3).

    Parameters
    ----------
    dataset
        Table.
    rng
        Source of randomness.
    share
        Share of the variables that are partially observed; their number is rounded.
    probability
        Probability that a cell of these is missing.

    Raises
    ------
    OptionError
        When a share is not between 0 and 1.
    """
    _check_share(probability, "the probability of a missing cell")
    chosen = _partially_observed(dataset.names, share, rng)
    graph = MissingnessGraph(dict.fromkeys(chosen, ()))
    tables = {name: np.array(probability) for name in chosen}
    return SimulatedMissingness(hide_by_graph(dataset, graph, tables, rng), graph, tables)


@checked_arguments()
def simulate_mar(
    dataset: DatasetLike,
    parents: ParentsLike,
    rng: np.random.Generator,
    *,
    share: float = 0.3,
    n_causes: int = 2,
    beta: tuple[float, float] = (1.0, 0.5),
    among: Collection[str] | None = None,
) -> SimulatedMissingness:
    """Hide cells at random given random fully observed variables (section 4, appendix B).

    Each indicator R_X has ``n_causes`` parents drawn from the fully observed variables, the
    neighbours of X in the network before all others. The paper's first setting is the default, its
    second one is ``share=0.9, beta=(0.5, 0.5)``.

    Parameters
    ----------
    dataset
        Table.
    parents
        Parents of each variable in the network that the rows come from.
    rng
        Source of randomness.
    share
        Share m of the variables that are partially observed; their number is rounded.
    n_causes
        Parents p of each indicator.
    beta
        Shape parameters of the Beta distribution of the probabilities that a cell is missing. The
        paper does not say whether its distribution is that of missing or of observed cells.
    among
        The variables W_o that causes are drawn from, all fully observed (informed deletion, Table
        2, draws three); all fully observed ones when not given.

    Raises
    ------
    OptionError
        When the share is not between 0 and 1, or fewer variables than ``n_causes`` can be causes.

    Examples
    --------
    >>> rows = np.random.default_rng(0).integers(0, 2, (50, 4))
    >>> full = Dataset(rows, ("a", "b", "c", "d"), (("no", "yes"),) * 4)
    >>> found = simulate_mar(full, [(), (0,), (1,), (2,)], np.random.default_rng(1), n_causes=1)
    >>> str(found.graph), found.tables["b"].shape
    ('b <- a', (2,))
    """
    names = dataset.names
    for name in among or ():
        if name not in names:
            raise OptionError(f"cause {name!r} is no variable{did_you_mean(name, names)}")
    chosen = _partially_observed(names, share, rng, kept=among or ())
    observed = [name for name in (among or names) if name not in chosen]
    if not 0 <= n_causes <= len(observed):
        raise OptionError(
            f"{n_causes} causes of each mechanism: only {len(observed)} variables without missing "
            "cells can be causes; take fewer causes or a smaller share of incomplete variables"
        )
    neighbours: dict[str, set[str]] = {name: set() for name in names}
    for child, family in zip(names, parents, strict=True):
        for u in family:
            neighbours[child].add(names[u])
            neighbours[names[u]].add(child)
    causes = {}
    for name in chosen:
        shuffled = [observed[k] for k in rng.permutation(len(observed))]
        shuffled.sort(key=lambda other: other not in neighbours[name])
        causes[name] = tuple(sorted(shuffled[:n_causes], key=names.index))
    return simulate_graph(dataset, MissingnessGraph(causes), rng, beta=beta)


@checked_arguments()
def simulate_self_masking(
    dataset: DatasetLike,
    probabilities: Mapping[str, Sequence[float]],
    rng: np.random.Generator,
) -> SimulatedMissingness:
    """Hide cells depending on their own value (Freiburg slides, figure 6).

    Parameters
    ----------
    dataset
        Table.
    probabilities
        For each variable with missing cells the probability that a cell is missing, one for each
        of its states.
    rng
        Source of randomness.

    Raises
    ------
    OptionError
        When a variable is unknown, or has not one probability in [0, 1] for each state.
    """
    graph = MissingnessGraph({name: (name,) for name in probabilities})
    tables = {name: np.asarray(values, np.float64) for name, values in probabilities.items()}
    return SimulatedMissingness(hide_by_graph(dataset, graph, tables, rng), graph, tables)


def _partially_observed(
    names: Sequence[str], share: float, rng: np.random.Generator, kept: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the variables that are to have missing cells, in the order of the table."""
    _check_share(share, "the share of partially observed variables")
    free = [name for name in names if name not in kept]
    size = round(share * len(names))
    if size > len(free):
        raise OptionError(
            f"{size} of {len(names)} variables cannot be partially observed: {len(kept)} are to "
            "stay fully observed; take a smaller share"
        )
    return tuple(free[k] for k in sorted(rng.choice(len(free), size, replace=False)))


def _check_share(share: float, what: str) -> None:
    if not 0 <= share <= 1:
        raise OptionError(f"{what}: expected a number from 0 to 1, found {share:g}")


def _order(parents: Sequence[Sequence[int]], n_variables: int) -> list[int]:
    """Return the indicators with causes before effects, as indices of ``parents``."""
    whole: list[Sequence[int]] = [*((),) * n_variables, *parents]
    return [v - n_variables for v in topological_order(whole) if v >= n_variables]


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
