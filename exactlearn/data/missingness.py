"""Missingness mechanisms, written in a line such as ``mcar:0.1``, ``mar:0.1`` or ``mnar:2``.

Each has a missingness graph (:mod:`exactlearn.data.missingness_graph`), which
:func:`simulate_missingness` returns. Mechanisms with probabilities are a graph and its tables: the
probability that a cell is missing, for each configuration of the causes of its indicator; any graph
with any tables may be given instead. Indicators are drawn in topological order, each row by itself
(:func:`hide_by_graph`). The other mechanisms hide a number of cells.

An amount P is a share with a decimal point or exponent (``0.1``, ``1e-2``), strictly between
0 and 1; an amount K is a whole number of cells. Cells missing before stay so, and a share counts
observed cells only. States of hidden cells stay declared.

``mcar:P``
    Every cell is hidden with probability P, independently of everything.
``mcar:K``
    K cells of every variable, drawn without replacement. The augmentation paper's "MAR" data.
``mar:P`` or ``mar:P:NAME``
    A driver, NAME or else the first variable without missing cells, stays complete. Every cell of
    the other variables is hidden with a probability set by the driver's state in its row: linear
    in the state's index, three times as high for the last state as for the first, and P on the
    average over the rows, by their weights.
``mnar:K:S``
    Adel & de Campos' protocol: K cells of every variable, all of them of state index S.
``mnar:K``
    The same, each variable with its own state, drawn among those with more than K cells.

Where rows stand for several by whole weights, a number of cells (K) cannot be hidden.

No mechanism hides a whole column. ``mnar`` also leaves a cell of the hidden state in every variable
that had one: of a state with K cells or fewer in a variable, ``mnar:K:S`` hides all but one.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactlearn._runtime.argument_kinds import instance_of
from exactlearn._runtime.arguments import checked_arguments
from exactlearn.data.codes import MISSING
from exactlearn.data.counts import weighted_mean
from exactlearn.data.dataset import (
    Dataset,
    DatasetLike,
    require_complete,
    require_weight,
)
from exactlearn.data.missingness_graph import MissingnessGraph, as_missingness_graph
from exactlearn.errors import DataError, OptionError
from exactlearn.graphs.dag import topological_order

_STEEPNESS = 3.0
"""How many times likelier MAR hides a cell at the driver's last state than at its first."""

_FORMS = ("mcar:P", "mcar:K", "mar:P", "mar:P:NAME", "mnar:K", "mnar:K:S")
"""The specifications: a mechanism, and the names of its parts."""

_PARTS = {
    "P": r"(?:\d*\.\d+(?:e-?\d+)?|\d+e-\d+)",
    "K": r"\d+",
    "S": r"\d+",
    "NAME": ".+",
}


def parse_spec(text: str) -> tuple[str, dict[str, str]]:
    """Return the mechanism that a text names, and its parts by the letters of their form.

    Raises
    ------
    OptionError
        When it does not follow the grammar, or an amount is out of range.

    Examples
    --------
    >>> parse_spec("mnar:2:1")
    ('mnar', {'K': '2', 'S': '1'})
    """
    for form in _FORMS:
        mechanism, *names = form.split(":")
        groups = [f"({_PARTS[name]})" for name in names]
        pattern = ":".join([mechanism, *groups])
        if match := re.fullmatch(pattern, text):
            parts = dict(zip(names, match.groups(), strict=True))
            if 0 < float(parts.get("P", 0.5)) < 1 and int(parts.get("K", 1)) > 0:
                return mechanism, parts
    raise OptionError(
        f"missingness {text!r}: expected one of {', '.join(_FORMS)}, where P is a share of the "
        "cells between 0 and 1 as in 0.1, K a number of cells of each variable as in 2, S a state "
        "index as in 0, and NAME a variable; or a missingness graph, as 'income <- age'"
    )


_is_spec = instance_of(
    (str, MissingnessGraph),
    "a specification or a graph of missingness",
    "pass 'mcar:0.1', say",
)

Tables = Mapping[str, ArrayLike]
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


@checked_arguments(spec=_is_spec)
def hide(
    dataset: DatasetLike,
    spec: str | MissingnessGraph,
    rng: np.random.Generator,
) -> Dataset:
    """Hide cells of a table; the module explains the mechanisms.

    Parameters
    ----------
    dataset
        Complete or not.
    spec
        Such as ``"mcar:0.1"``, ``"mar:0.1"``, ``"mnar:2"``, ``"mnar:2:1"``; or a missingness
        graph or its text, as ``"income <- age"``, whose probabilities are drawn at random.
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
    return simulate_missingness(dataset, spec, rng).dataset


@checked_arguments(spec=_is_spec)
def simulate_missingness(
    dataset: DatasetLike,
    spec: str | MissingnessGraph,
    rng: np.random.Generator,
    tables: Tables | None = None,
) -> SimulatedMissingness:
    """Hide cells of a table, and return the missingness graph by which that was done.

    Parameters
    ----------
    dataset, spec, rng
        As for :func:`hide`, which hides the same cells.
    tables
        The probabilities of a missingness graph, as for :func:`hide_by_graph`; drawn uniformly when
        left out.

    Returns
    -------
    SimulatedMissingness
        Table, graph, and the tables of the mechanisms; none where a given number of cells is
        hidden.

    Raises
    ------
    OptionError, DataError
        As :func:`hide` and :func:`hide_by_graph`.
    FormatError
        When the text of a graph does not follow its grammar.

    Examples
    --------
    >>> table = Dataset(np.array([[0], [1], [1], [1]]), ("smoke",), (("no", "yes"),))
    >>> str(simulate_missingness(table, "mnar:2:1", np.random.default_rng(0)).graph)
    'smoke <- smoke'
    >>> masking = {"smoke": [0.0, 1.0]}
    >>> found = simulate_missingness(table, "smoke <- smoke", np.random.default_rng(0), masking)
    >>> found.dataset.codes.ravel().tolist()
    [0, -1, -1, -1]
    """
    uniform = None
    if isinstance(spec, MissingnessGraph) or "<-" in spec:
        graph = as_missingness_graph(spec)
        if tables is None:
            tables = {}
            for name, shape in _shapes(dataset, graph).items():
                tables[name] = rng.beta(1.0, 1.0, size=shape)
    elif tables is not None:
        raise OptionError(
            f"tables: {spec!r} has its own probabilities; give a missingness graph"
        )
    else:
        mechanism, parts = parse_spec(spec)
        if "K" in parts:
            return _with_a_number_hidden(
                dataset,
                mechanism == "mnar",
                parts,
                rng,
            )
        # The shares of cells that mcar and mar hide, by a graph.
        graph, tables = _mechanism(dataset, mechanism, parts)
        uniform = rng.random(dataset.codes.shape)
    hidden = hide_by_graph(dataset, graph, tables, rng, uniform)
    return SimulatedMissingness(hidden, graph, tables)


def _mechanism(
    dataset: Dataset,
    mechanism: str,
    parts: Mapping[str, str],
) -> tuple[MissingnessGraph, Tables]:
    """Return the graph and the tables of ``mcar:P`` and ``mar:P``."""
    proportion = float(parts["P"])
    probabilities = np.array(proportion)
    causes: tuple[str, ...] = ()
    if mechanism == "mar":
        driver, probabilities = _driver(dataset, proportion, parts.get("NAME"))
        causes = (driver,)
    hidden = [name for name in dataset.names if name not in causes]
    graph = MissingnessGraph(dict.fromkeys(hidden, causes))
    return graph, dict.fromkeys(hidden, probabilities)


def hide_by_graph(
    dataset: Dataset,
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
    names = dataset.names
    n = dataset.n_variables
    parents = graph.parents(names)
    columns = [names.index(name) for name in graph.variables]
    # A cell that is missing itself is not hidden again, whatever its value.
    causes: set[int] = set()
    for column, family in zip(columns, parents, strict=True):
        causes.update(cause for cause in family if cause != column)
    require_complete(
        dataset,
        "the causes of missing cells need",
        "hide cells in a complete table",
        [names[u] for u in sorted(causes) if u < n],
    )
    shapes = _shapes(dataset, graph)
    codes = dataset.codes.copy()
    # Values of the causes: states of variables, then indicators.
    is_missing = codes[:, columns] == MISSING
    values = np.column_stack([codes.clip(min=0), is_missing])
    for k in topological_order([*((),) * n, *parents]):
        if k < n:
            continue
        name = graph.variables[k - n]
        column = columns[k - n]
        table = _checked(tables, name, shapes[name])
        family = parents[k - n]
        probability = table[tuple(values[:, family].T)]
        drawn = rng.random(dataset.n_rows) if uniform is None else uniform[:, column]
        # No mechanism hides a whole column: one cell is drawn to stay.
        observed = np.flatnonzero(codes[:, column] != MISSING)
        hidden = observed[(drawn < probability)[observed]]
        if len(observed) and len(hidden) == len(observed):
            hidden = np.setdiff1d(hidden, rng.choice(observed))
        codes[hidden, column] = MISSING
        values[hidden, k] = 1
    return replace(dataset, codes=codes)


def _shapes(dataset: Dataset, graph: MissingnessGraph) -> dict[str, tuple[int, ...]]:
    """Return the shape of the table of each indicator."""
    sizes = [*dataset.cardinalities.tolist(), *[2] * len(graph.variables)]
    families = graph.parents(dataset.names)
    shapes = [tuple(map(sizes.__getitem__, family)) for family in families]
    return dict(zip(graph.variables, shapes, strict=True))


def _checked(
    tables: Tables,
    name: str,
    shape: tuple[int, ...],
) -> NDArray[np.float64]:
    """Return a mechanism's table, if it has the right shape and holds probabilities."""
    table = np.asarray(tables.get(name, np.nan), np.float64)
    if table.shape != shape or not ((table >= 0) & (table <= 1)).all():
        raise OptionError(
            f"missingness of {name!r}: expected a table of probabilities of shape {shape}, one "
            f"axis for each cause, found {tables.get(name)}"
        )
    return table


def _driver(
    dataset: Dataset,
    proportion: float,
    name: str | None,
) -> tuple[str, NDArray[np.float64]]:
    """Return the variable that MAR depends on, and the probability for each of its states.

    Parameters
    ----------
    dataset
        The table.
    proportion
        Mean probability that a cell is hidden.
    name
        The variable; the first complete one when left out.
    """
    complete = (dataset.codes != MISSING).all(axis=0)
    if name is None and not complete.any():
        raise DataError("mar needs a variable without missing cells, and there is none")
    driver = int(complete.argmax()) if name is None else dataset.index(name)
    name = dataset.names[driver]
    if not complete[driver]:
        raise DataError(
            f"mar depends on {name!r}, which has missing cells; name a complete one"
        )
    require_weight(dataset, "hide cells in")
    # Probabilities are linear in the state, with the given mean over the rows by weight.
    odds = np.linspace(1, _STEEPNESS, dataset.cardinalities[driver])
    of_rows = odds[dataset.codes[:, driver]]
    mean = weighted_mean(of_rows, dataset.row_weights)
    largest = of_rows.max()
    if proportion * largest > mean:
        raise OptionError(
            f"mar:{proportion:g} driven by {name!r} would hide some cells with a probability above "
            f"1; hide a share of at most {mean / largest:.3g}"
        )
    return name, np.minimum(proportion * odds / mean, 1.0)


def _with_a_number_hidden(
    dataset: Dataset,
    is_mnar: bool,
    parts: Mapping[str, str],
    rng: np.random.Generator,
) -> SimulatedMissingness:
    """Hide K cells of each variable: of one state, of which one stays, or of any."""
    weights = dataset.row_weights
    for row in np.flatnonzero(weights != 1)[:1].tolist():
        if (weights % 1 == 0).all():
            raise DataError(
                f"{dataset.row_place(row)} has the weight {weights[row]:g} and stands for as many "
                "rows, but a number of cells is to be hidden: hide a share, as in 'mcar:0.1', or "
                "write the rows out with Dataset.written_out()"
            )
    codes = dataset.codes.copy()
    count = int(parts["K"])
    for name, column, size in zip(
        dataset.names,
        codes.T,
        dataset.cardinalities.tolist(),
        strict=True,
    ):
        # Cells that were missing before stay so.
        rows = np.flatnonzero(column != MISSING)
        n_hidden = count
        if is_mnar:
            # A cell of each state stays.
            counts = np.bincount(column[rows], minlength=size)
            room = np.maximum(counts - 1, 0)
            enough = np.flatnonzero(room >= count)
            if "S" in parts:
                state = int(parts["S"])
            elif len(enough):
                state = int(rng.choice(enough))
            else:
                state = int(room.argmax())
            if state >= size:
                raise OptionError(
                    f"mnar of state index {state}: variable {name!r} has only the indices "
                    f"0 to {size - 1}"
                )
            rows = np.flatnonzero(column == state)
            n_hidden = min(count, int(room[state]))
        elif len(rows) <= count:
            raise OptionError(
                f"mcar:{count} of variable {name!r}: it has {len(rows)} observed "
                "cells, and one must stay; hide fewer"
            )
        column[rng.choice(rows, n_hidden, replace=False)] = MISSING
    causes = {name: (name,) * is_mnar for name in dataset.names}
    hidden = replace(dataset, codes=codes)
    return SimulatedMissingness(hidden, MissingnessGraph(causes), {})
