"""Missingness mechanisms, written in a line such as ``mcar:0.1``, ``mar:0.1`` or ``mnar:2``.

Each has a missingness graph (:mod:`exactlearn.data.missingness_graph`), which
:func:`simulate_missingness` returns. Mechanisms with probabilities are a graph and its tables: the
probability that a cell is missing, for each configuration of the causes of its indicator.
Indicators are drawn in topological order, each row by itself (:func:`hide_by_graph`). The other
mechanisms hide a number of cells.
``mcar:P:M`` and ``random-mar`` are the generators of Van den Broeck, Mohan, Choi and Pearl 2015,
"Efficient algorithms for Bayesian network parameter learning from incomplete data" (appendix C;
section 4 and appendix B), ``self-masking`` is that of the lecture of Freiburg on EM (figure 6).

An amount P is a share with a decimal point or exponent (``0.1``, ``1e-2``), strictly between
0 and 1; an amount K is a whole number of cells. Cells missing before stay so, and a share counts
observed cells only. States of hidden cells stay declared.

``mcar:P``
    Every cell is hidden with probability P, independently of everything.
``mcar:P:M``
    The same in a share M of the variables, drawn at random, alone: ``mcar:0.7:0.3`` is Table 3 of
    the deletion paper.
``mcar:K``
    K cells of every variable, drawn without replacement. The augmentation paper's "MAR" data.
``mar:P`` or ``mar:P:NAME``
    A driver, NAME or else the first variable without missing cells, stays complete. Every cell of
    the other variables is hidden with a probability set by the driver's state in its row: linear
    in the state's index, three times as high for the last state as for the first, and P on the
    average over the rows.
``random-mar:M:K:A:B`` or ``random-mar:M:K:A:B:S``
    A share M of the variables, drawn at random, has missing cells; these depend on K variables
    without missing cells, the neighbours in the network before all others, and the probability
    for each of their configurations is drawn from the Beta distribution with shape parameters A
    and B. With S, all causes come from S variables drawn before. ``random-mar:0.9:2:0.5:0.5`` is
    the second setting of the deletion paper, ``random-mar:0.9:2:0.5:0.5:3`` that of its Table 2.
``self-masking:NAME:P,P,...``
    A cell of one variable is hidden with a probability that its own state sets, one for each of
    its states.
``mnar:K:S``
    Adel & de Campos' protocol: K cells of every variable, all of them of state index S.
``mnar:K``
    The same, each variable with its own state, drawn among those with more than K cells.
``mnar:P:S``
    A share P of all the cells, of any variables, all of state index S (their SPECT experiment).
``mnar:P``
    The same, with one state index for the whole table drawn among those that have enough cells.
``mnar-states:P``
    Every cell is hidden with a probability that its own state sets, P on the average over the rows
    of each variable: the log-odds of the states of a variable are drawn from the standard normal
    distribution, and shifted by what gives P.

No mechanism hides a whole column. ``mnar`` also leaves a cell of the hidden state in every variable
that had one: of a state with K cells or fewer in a variable, ``mnar:K:S`` hides all but one.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import ParentsLike, checked_arguments, instance_of
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset, DatasetLike, check_complete
from exactlearn.data.missingness_graph import MissingnessGraph, as_missingness_graph
from exactlearn.errors import DataError, OptionError, did_you_mean
from exactlearn.graphs.dag import topological_order

_STEEPNESS = 3.0
"""How many times likelier MAR hides a cell at the driver's last state than at its first."""

_FORMS = (
    *("mcar:P", "mcar:P:M", "mcar:K", "mar:P", "mar:P:NAME"),
    *("mnar:K", "mnar:K:S", "mnar:P", "mnar:P:S", "mnar-states:P"),
    *("random-mar:M:K:A:B", "random-mar:M:K:A:B:S", "self-masking:NAME:P,P,..."),
)
"""The specifications: a mechanism, and the names of its parts."""

_SHARE, _COUNT = r"(?:\d*\.\d+(?:e-?\d+)?|\d+e-\d+)", r"\d+"
_NUMBER = f"(?:{_SHARE}|{_COUNT})"
_PARTS = {
    "P": _SHARE,
    "M": _SHARE,
    "K": _COUNT,
    "S": _COUNT,
    "A": _NUMBER,
    "B": _NUMBER,
    "NAME": ".+",
    "P,P,...": f"{_NUMBER}(?:,{_NUMBER})*",
}

_LEGEND = (
    "P is a share of cells as in 0.1, M one of variables, K a number of cells of each variable (or "
    "of causes) as in 2, S a state index as in 0 (or a number of variables that causes come from), "
    "A and B the shape of a Beta distribution"
)


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
    mechanism, _, rest = text.partition(":")
    forms = [form for form in _FORMS if form.startswith(f"{mechanism}:")]
    if not forms:
        known = dict.fromkeys(form.partition(":")[0] for form in _FORMS)
        raise OptionError(
            f"missingness {text!r}: unknown mechanism {mechanism!r}{did_you_mean(mechanism, known)}"
        )
    for form in forms:
        names = form.split(":")[1:]
        if found := re.fullmatch(":".join(f"({_PARTS[name]})" for name in names), rest):
            parts = dict(zip(names, found.groups(), strict=True))
            break
    else:
        *others, last = forms
        expected = f"{', '.join(others)} or {last}" if others else last
        raise OptionError(f"missingness {text!r}: expected {expected}; {_LEGEND}")
    if not 0 < float(parts.get("P", 0.5)) < 1:
        share = f"the share {parts['P']} is not between 0 and 1"
        raise OptionError(f"missingness {text!r}: {share}; {_LEGEND}")
    if parts.get("K", "1").strip("0") == "" and mechanism != "random-mar":
        raise OptionError(f"missingness {text!r}: nothing to hide; {_LEGEND}")
    return mechanism, parts


_as_spec = instance_of(str, "a specification of missingness", "pass 'mcar:0.1', say")


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


@checked_arguments(spec=_as_spec)
def hide(dataset: DatasetLike, spec: str, rng: np.random.Generator) -> Dataset:
    """Hide cells of a table; the module explains the mechanisms.

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
    return simulate_missingness(dataset, spec, rng).dataset


@checked_arguments(spec=_as_spec)
def simulate_missingness(
    dataset: DatasetLike,
    spec: str,
    rng: np.random.Generator,
    parents: ParentsLike | None = None,
) -> SimulatedMissingness:
    """Hide cells of a table, and return the missingness graph by which that was done.

    Parameters
    ----------
    dataset, spec, rng
        As for :func:`hide`, which hides the same cells.
    parents
        Parents of each variable in the network that the rows come from, for ``random-mar``, which
        prefers neighbours; without them it prefers none.

    Returns
    -------
    SimulatedMissingness
        Table, graph, and the tables of the mechanisms; none where a given number of cells is
        hidden, or all of one state.

    Raises
    ------
    OptionError, DataError
        As :func:`hide`.

    Examples
    --------
    >>> table = Dataset(np.array([[0], [1], [1], [1]]), ("smoke",), (("no", "yes"),))
    >>> str(simulate_missingness(table, "mnar:2:1", np.random.default_rng(0)).graph)
    'smoke <- smoke'
    """
    name, parts = parse_spec(spec)
    how = _Mechanisms(dataset, parts, rng, parents or [()] * dataset.n_variables)
    if name == "mnar" or (name == "mcar" and "K" in parts):
        codes, causes = dataset.codes.copy(), {v: (v,) * (name == "mnar") for v in dataset.names}
        codes[how.cells_of_one_state() if name == "mnar" else how.cells()] = MISSING
        return SimulatedMissingness(replace(dataset, codes=codes), MissingnessGraph(causes), {})
    graph, tables, *uniform = {
        "mcar": how.mcar,
        "mar": how.mar,
        "mnar-states": how.mnar_by_states,
        "random-mar": how.random_mar,
        "self-masking": how.self_masking,
    }[name]()
    return SimulatedMissingness(hide_by_graph(dataset, graph, tables, rng, *uniform), graph, tables)


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
    names, n = dataset.names, dataset.n_variables
    parents, shapes = graph.parents(names), _shapes(dataset, graph)
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
    values, codes = dataset.codes.clip(min=0), dataset.codes.copy()
    for k in (v - n for v in topological_order([*((),) * n, *parents]) if v >= n):
        column, table = columns[k], _checked(tables, graph.variables[k], shapes[k])
        of_row = tuple(
            values[:, u] if u < n else (codes[:, columns[u - n]] == MISSING).astype(np.int64)
            for u in parents[k]
        )
        drawn = rng.random(dataset.n_rows) if uniform is None else uniform[:, column]
        observed = np.flatnonzero(codes[:, column] != MISSING)
        hidden = observed[(drawn < table[of_row])[observed]]
        if len(observed) and len(hidden) == len(observed):
            hidden = np.setdiff1d(hidden, rng.choice(observed))
        codes[hidden, column] = MISSING
    return replace(dataset, codes=codes)


def _shapes(dataset: Dataset, graph: MissingnessGraph) -> list[tuple[int, ...]]:
    """Return the shape of the table of each indicator."""
    sizes = [*dataset.cardinalities.tolist(), *[2] * len(graph.variables)]
    return [tuple(sizes[u] for u in family) for family in graph.parents(dataset.names)]


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


def draw_tables(
    dataset: Dataset,
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
    shapes = zip(graph.variables, _shapes(dataset, graph), strict=True)
    return {name: rng.beta(*beta, size=shape) for name, shape in shapes}


@dataclass
class _Mechanisms:
    """Mechanisms: a graph, its tables, and perhaps a number for each cell, as `hide_by_graph`."""

    dataset: Dataset
    parts: Mapping[str, str]
    rng: np.random.Generator
    parents: Sequence[Sequence[int]]

    def mcar(self) -> tuple[Any, ...]:
        names, uniform = self.dataset.names, None
        if "M" in self.parts:
            names = self._partially_observed()
        else:
            uniform = self.rng.random(self.dataset.codes.shape)
        tables = dict.fromkeys(names, np.array(float(self.parts["P"])))
        return MissingnessGraph(dict.fromkeys(names, ())), tables, uniform

    def mar(self) -> tuple[Any, ...]:
        dataset, complete = self.dataset, (self.dataset.codes != MISSING).all(axis=0)
        if "NAME" not in self.parts and not complete.any():
            raise DataError("mar needs a variable without missing cells, and there is none")
        driver = dataset.index(self.parts.get("NAME", dataset.names[int(complete.argmax())]))
        name = dataset.names[driver]
        if not complete[driver]:
            raise DataError(
                f"mar depends on {name!r}, which has missing cells; name a complete one"
            )
        others = [own for own in dataset.names if own != name]
        tables = dict.fromkeys(others, self._state_probabilities(driver))
        graph = MissingnessGraph(dict.fromkeys(others, (name,)))
        return graph, tables, self.rng.random(dataset.codes.shape)

    def _state_probabilities(self, driver: int) -> NDArray[np.float64]:
        """Return the probability of hiding for each state of the driver, P over the rows."""
        share, states = float(self.parts["P"]), int(self.dataset.cardinalities[driver])
        odds = 1 + (_STEEPNESS - 1) * np.arange(states) / max(1, states - 1)
        codes = self.dataset.codes[:, driver]
        probability: NDArray[np.float64] = share * odds / odds[codes].mean()
        if (probability[codes] > 1).any():
            raise OptionError(
                f"mar:{share:g} driven by {self.dataset.names[driver]!r} would hide some cells "
                f"with a probability above 1; hide a share of at most "
                f"{odds[codes].mean() / odds[codes].max():.3g}"
            )
        return np.minimum(probability, 1.0)

    def random_mar(self) -> tuple[Any, ...]:
        names, n, rng = self.dataset.names, self.dataset.n_variables, self.rng
        n_causes, n_separators = int(self.parts["K"]), int(self.parts.get("S", n))
        if n_separators > n:
            raise OptionError(
                f"random-mar: {n_separators} variables that causes are drawn from; the table has "
                f"{n}"
            )
        kept: Sequence[str] = ()
        if "S" in self.parts:
            kept = [names[v] for v in sorted(rng.choice(n, n_separators, replace=False))]
        chosen = self._partially_observed(kept)
        observed = [name for name in kept or names if name not in chosen]
        if n_causes > len(observed):
            raise OptionError(
                f"{n_causes} causes of each mechanism: only {len(observed)} variables without "
                "missing cells can be causes; take fewer causes or a smaller share of incomplete "
                "variables"
            )
        families = zip(names, self.parents, strict=True)
        arcs = {(names[u], name) for name, family in families for u in family}
        causes = {}
        for name in chosen:
            shuffled = [observed[k] for k in rng.permutation(len(observed))]
            shuffled.sort(key=lambda other: not arcs & {(other, name), (name, other)})
            causes[name] = tuple(sorted(shuffled[:n_causes], key=names.index))
        graph, beta = MissingnessGraph(causes), (float(self.parts["A"]), float(self.parts["B"]))
        return graph, draw_tables(self.dataset, graph, rng, beta=beta)

    def _partially_observed(self, kept: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the variables that are to have missing cells, in the order of the table."""
        share, names = float(self.parts["M"]), self.dataset.names
        if not 0 <= share <= 1:
            raise OptionError(
                f"share of partially observed variables: {share:g} is not from 0 to 1"
            )
        free, size = [name for name in names if name not in kept], round(share * len(names))
        if size > len(free):
            raise OptionError(
                f"{size} of {len(names)} variables cannot be partially observed: {len(kept)} are "
                "to stay fully observed; take a smaller share"
            )
        return tuple(free[k] for k in sorted(self.rng.choice(len(free), size, replace=False)))

    def self_masking(self) -> tuple[Any, ...]:
        name, probabilities = self.parts["NAME"], self.parts["P,P,..."].split(",")
        return MissingnessGraph({name: (name,)}), {name: np.array(probabilities, float)}

    def mnar_by_states(self) -> tuple[Any, ...]:
        """Hide every cell with the probability of its state, drawn for each variable."""
        from scipy.optimize import brentq  # takes long to import
        from scipy.special import expit

        tables, share = {}, float(self.parts["P"])
        for v, name in enumerate(self.dataset.names):
            cells = self.dataset.codes[:, v][self.dataset.codes[:, v] != MISSING]
            log_odds = self.rng.standard_normal(self.dataset.cardinalities[v])
            # The mean lies between the probabilities of the least and the largest log-odds.
            shift, reach = np.log(share / (1 - share)), np.abs(log_odds).max() + 1
            if len(cells):
                shift = brentq(
                    lambda x, odds=log_odds, own=cells: expit(odds + x)[own].mean() - share,
                    shift - reach,
                    shift + reach,
                )
            tables[name] = expit(log_odds + shift)
        return MissingnessGraph({name: (name,) for name in tables}), tables

    def cells(self) -> NDArray[np.bool_]:
        """Return which cells are hidden, K observed ones of each variable, shape of the codes."""
        hidden, count = np.zeros(self.dataset.codes.shape, np.bool_), int(self.parts["K"])
        for variable, column in enumerate(self.dataset.codes.T):
            rows = np.flatnonzero(column != MISSING)
            if len(rows) <= count:
                raise OptionError(
                    f"mcar:{count} of variable {self.dataset.names[variable]!r}: it has "
                    f"{len(rows)} observed cells, and one must stay; hide fewer"
                )
            hidden[self.rng.choice(rows, count, replace=False), variable] = True
        return hidden

    def cells_of_one_state(self) -> NDArray[np.bool_]:
        """Return which cells are hidden, of one state, one of it staying in each variable."""
        dataset, rng, hidden = self.dataset, self.rng, np.zeros(self.dataset.codes.shape, np.bool_)
        codes, state = dataset.codes, int(self.parts["S"]) if "S" in self.parts else None
        for variable in np.flatnonzero(dataset.cardinalities <= (state or 0))[:1].tolist():
            raise OptionError(
                f"mnar of state index {state}: variable {dataset.names[variable]!r} has only the "
                f"indices 0 to {dataset.cardinalities[variable] - 1}"
            )
        states = np.arange(int(dataset.cardinalities.max()))[:, None, None]
        room = np.maximum((codes == states).sum(axis=1) - 1, 0)
        if "K" in self.parts:
            for variable, free in enumerate(room.T):
                count = int(self.parts["K"])
                own = self._state(free, count) if state is None else state
                rows = np.flatnonzero(codes[:, variable] == own)
                chosen = rng.choice(rows, min(count, int(free[own])), replace=False)
                hidden[chosen, variable] = True
            return hidden
        size, of_all = round(float(self.parts["P"]) * int((codes != MISSING).sum())), room.sum(1)
        state = self._state(of_all, size) if state is None else state
        if of_all[state] < size:
            raise OptionError(
                f"mnar: {size} cells are asked for of state index {state}, but only "
                f"{of_all[state]} can be hidden, one staying in each variable; hide fewer"
            )
        free = codes == state
        for variable in np.flatnonzero(free.any(axis=0)):
            free[rng.choice(np.flatnonzero(free[:, variable])), variable] = False
        hidden.flat[rng.choice(np.flatnonzero(free), size, replace=False)] = True
        return hidden

    def _state(self, room: NDArray[np.integer], size: int) -> int:
        """Return a state of which so many cells can be hidden, or else the commonest."""
        enough = np.flatnonzero(room >= size)
        return int(self.rng.choice(enough)) if len(enough) else int(np.argmax(room))
