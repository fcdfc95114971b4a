"""Missingness mechanisms, written in a line such as ``mcar:0.1``, ``mar:0.1`` or ``mnar:2``.

Each has a missingness graph (:mod:`exactlearn.data.missingness_graph`), which
:func:`simulate_missingness` returns. Mechanisms with probabilities are a graph and its tables, by
which :mod:`exactlearn.data.missingness_simulation` hides cells; the others hide a number of cells.
``mcar:P:M`` and ``random-mar`` are the generators of Van den Broeck, Mohan, Choi and Pearl 2015,
"Efficient algorithms for Bayesian network parameter learning from incomplete data" (appendix C;
section 4 and appendix B), ``self-masking`` is that of the lecture of Freiburg on EM (figure 6).

A cell's amount P is a share with a decimal point or exponent (``0.1``, ``1e-2``), strictly between
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
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import ParentsLike, checked_arguments, instance_of
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.data.missingness_simulation import (
    SimulatedMissingness,
    Tables,
    draw_tables,
    hide_by_graph,
)
from exactlearn.errors import DataError, OptionError, did_you_mean

_STEEPNESS = 3.0
"""How many times likelier MAR hides a cell at the driver's last state than at its first."""

_SHARE, _COUNT = r"(?:\d*\.\d+(?:e-?\d+)?|\d+e-\d+)", r"\d+"
_NUMBER = f"(?:{_SHARE}|{_COUNT})"

_FORMS = {
    "mcar": (
        f"(?P<share>{_SHARE})(:(?P<variables>{_SHARE}))?|(?P<count>{_COUNT})",
        "mcar:P, mcar:P:M or mcar:K",
    ),
    "mar": (f"(?P<share>{_SHARE})(:(?P<driver>.+))?", "mar:P or mar:P:NAME"),
    "mnar": (
        f"((?P<share>{_SHARE})|(?P<count>{_COUNT}))(:(?P<state>{_COUNT}))?",
        "mnar:K, mnar:K:S, mnar:P or mnar:P:S",
    ),
    "mnar-states": (f"(?P<share>{_SHARE})", "mnar-states:P"),
    "random-mar": (
        f"(?P<variables>{_NUMBER}):(?P<causes>{_COUNT}):(?P<a>{_NUMBER}):(?P<b>{_NUMBER})"
        f"(:(?P<separators>{_COUNT}))?",
        "random-mar:M:K:A:B or random-mar:M:K:A:B:S with K causes of each cell from S variables, "
        "and shape parameters A and B of a Beta distribution",
    ),
    "self-masking": (
        f"(?P<driver>.+):(?P<probabilities>{_NUMBER}(,{_NUMBER})*)",
        "self-masking:NAME:P,P,... with a probability for each state",
    ),
}
"""What follows each mechanism's name and colon, and the forms in words."""

_LEGEND = (
    "P is a share of cells as in 0.1, M one of variables, K a number of cells of each variable as "
    "in 2, S a state index as in 0"
)


class Spec(NamedTuple):
    """What to hide.

    Attributes
    ----------
    mechanism
        ``"mcar"``, ``"mar"``, ``"mnar"``, ``"mnar-states"``, ``"random-mar"`` or
        ``"self-masking"``.
    parts
        What the specification names, by the names in :data:`_FORMS`.
    """

    mechanism: str
    parts: dict[str, str]

    @property
    def share(self) -> float:
        """The share of the cells."""
        return float(self.parts["share"])


def parse_spec(text: str) -> Spec:
    """Return the specification that a text writes, in the grammar of this module.

    Raises
    ------
    OptionError
        When it does not follow the grammar, or an amount is out of range.

    Examples
    --------
    >>> parse_spec("mnar:2:1")
    Spec(mechanism='mnar', parts={'count': '2', 'state': '1'})
    """
    mechanism, _, rest = text.partition(":")
    if mechanism not in _FORMS:
        raise OptionError(
            f"missingness {text!r}: unknown mechanism {mechanism!r}"
            f"{did_you_mean(mechanism, _FORMS)}"
        )
    form, in_words = _FORMS[mechanism]
    found = re.fullmatch(form, rest)
    if found is None:
        raise OptionError(f"missingness {text!r}: expected {in_words}; {_LEGEND}")
    parts = {name: part for name, part in found.groupdict().items() if part is not None}
    if parts.get("count", "1").strip("0") == "":
        raise OptionError(f"missingness {text!r}: nothing to hide; {_LEGEND}")
    if not 0 < float(parts.get("share", 0.5)) < 1:
        raise OptionError(
            f"missingness {text!r}: the share {parts['share']} is not between 0 and 1; {_LEGEND}"
        )
    return Spec(mechanism, parts)


_as_spec = instance_of((str, Spec), "a specification of missingness", "pass 'mcar:0.1', say")


@checked_arguments(spec=_as_spec)
def hide(dataset: DatasetLike, spec: str | Spec, rng: np.random.Generator) -> Dataset:
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
    spec: str | Spec,
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
    parsed = parse_spec(spec) if isinstance(spec, str) else spec
    if parsed.mechanism == "mnar" or "count" in parsed.parts:
        causes = {name: (name,) * (parsed.mechanism == "mnar") for name in dataset.names}
        codes = dataset.codes.copy()
        codes[_chosen_cells(dataset, parsed, rng)] = MISSING
        return SimulatedMissingness(replace(dataset, codes=codes), MissingnessGraph(causes), {})
    if parsed.mechanism == "random-mar":
        mechanism = _random_mar(dataset, parsed, rng, parents or [()] * dataset.n_variables)
    else:
        mechanism = _MECHANISMS[parsed.mechanism](dataset, parsed, rng)
    hidden = hide_by_graph(dataset, mechanism.graph, mechanism.tables, rng, mechanism.uniform)
    return SimulatedMissingness(hidden, mechanism.graph, mechanism.tables)


class _Mechanism(NamedTuple):
    """What cells are hidden by: as for :func:`hide_by_graph`."""

    graph: MissingnessGraph
    tables: Tables
    uniform: NDArray[np.float64] | None = None


def _mcar(dataset: Dataset, spec: Spec, rng: np.random.Generator) -> _Mechanism:
    names, uniform = dataset.names, None
    if "variables" in spec.parts:
        names = _partially_observed(names, float(spec.parts["variables"]), rng)
    else:
        uniform = rng.random(dataset.codes.shape)
    tables = dict.fromkeys(names, np.array(spec.share))
    return _Mechanism(MissingnessGraph(dict.fromkeys(names, ())), tables, uniform)


def _mar(dataset: Dataset, spec: Spec, rng: np.random.Generator) -> _Mechanism:
    driver = _driver(dataset, spec)
    others = [name for v, name in enumerate(dataset.names) if v != driver]
    graph = MissingnessGraph(dict.fromkeys(others, (dataset.names[driver],)))
    tables = dict.fromkeys(others, _state_probabilities(dataset, driver, spec.share))
    return _Mechanism(graph, tables, rng.random(dataset.codes.shape))


def _driver(dataset: Dataset, spec: Spec) -> int:
    name = spec.parts.get("driver")
    if dataset.n_variables < 2:
        raise DataError("mar needs two variables, one to depend on and one to hide")
    complete = np.flatnonzero((dataset.codes != MISSING).all(axis=0))
    if name is None:
        if not len(complete):
            raise DataError("mar needs a variable without missing cells, and there is none")
        return int(complete[0])
    if name not in dataset.names:
        raise OptionError(
            f"mar depends on {name!r}, which is no variable{did_you_mean(name, dataset.names)}"
        )
    driver = dataset.names.index(name)
    if driver not in complete:
        raise DataError(f"mar depends on {name!r}, which has missing cells; name a complete one")
    return driver


def _state_probabilities(dataset: Dataset, driver: int, share: float) -> NDArray[np.float64]:
    """Return the probability of hiding for each state of the driver, ``share`` over the rows."""
    states = int(dataset.cardinalities[driver])
    odds = 1 + (_STEEPNESS - 1) * np.arange(states) / max(1, states - 1)
    codes = dataset.codes[:, driver]
    probability: NDArray[np.float64] = share * odds / odds[codes].mean()
    if (probability[np.unique(codes)] > 1).any():
        most = odds[codes].mean() / odds[codes].max()
        raise OptionError(
            f"mar:{share:g} driven by {dataset.names[driver]!r} would hide some cells with a "
            f"probability above 1; hide a share of at most {most:.3g}"
        )
    return np.minimum(probability, 1.0)


def _random_mar(
    dataset: Dataset, spec: Spec, rng: np.random.Generator, parents: Sequence[Sequence[int]]
) -> _Mechanism:
    names, n, among = dataset.names, dataset.n_variables, list(dataset.names)
    n_causes, n_separators = int(spec.parts["causes"]), int(spec.parts.get("separators", n))
    if n_separators > n:
        raise OptionError(
            f"random-mar: {n_separators} variables that causes are drawn from; the table has {n}"
        )
    kept: Sequence[str] = ()
    if "separators" in spec.parts:
        kept = among = [names[v] for v in sorted(rng.choice(n, n_separators, replace=False))]
    chosen = _partially_observed(names, float(spec.parts["variables"]), rng, kept)
    observed = [name for name in among if name not in chosen]
    if n_causes > len(observed):
        raise OptionError(
            f"{n_causes} causes of each mechanism: only {len(observed)} variables without missing "
            "cells can be causes; take fewer causes or a smaller share of incomplete variables"
        )
    arcs = {(names[u], name) for name, family in zip(names, parents, strict=True) for u in family}
    causes = {}
    for name in chosen:
        shuffled = [observed[k] for k in rng.permutation(len(observed))]
        shuffled.sort(key=lambda other: not arcs & {(other, name), (name, other)})
        causes[name] = tuple(sorted(shuffled[:n_causes], key=names.index))
    graph, beta = MissingnessGraph(causes), (float(spec.parts["a"]), float(spec.parts["b"]))
    return _Mechanism(graph, draw_tables(dataset, graph, rng, beta=beta))


def _partially_observed(
    names: Sequence[str], share: float, rng: np.random.Generator, kept: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the variables that are to have missing cells, in the order of the table."""
    if not 0 <= share <= 1:
        raise OptionError(f"share of partially observed variables: {share:g} is not from 0 to 1")
    free = [name for name in names if name not in kept]
    size = round(share * len(names))
    if size > len(free):
        raise OptionError(
            f"{size} of {len(names)} variables cannot be partially observed: {len(kept)} are to "
            "stay fully observed; take a smaller share"
        )
    return tuple(free[k] for k in sorted(rng.choice(len(free), size, replace=False)))


def _self_masking(dataset: Dataset, spec: Spec, rng: np.random.Generator) -> _Mechanism:
    name, probabilities = spec.parts["driver"], spec.parts["probabilities"].split(",")
    return _Mechanism(MissingnessGraph({name: (name,)}), {name: np.array(probabilities, float)})


def _mnar_by_states(dataset: Dataset, spec: Spec, rng: np.random.Generator) -> _Mechanism:
    """Hide every cell with the probability of its state, drawn for each variable."""
    columns = zip(dataset.names, dataset.cardinalities, dataset.codes.T, strict=True)
    tables = {
        name: _shifted(rng.standard_normal(size), column[column != MISSING], spec.share)
        for name, size, column in columns
    }
    return _Mechanism(MissingnessGraph({name: (name,) for name in dataset.names}), tables)


def _shifted(
    log_odds: NDArray[np.float64], cells: NDArray[np.integer], share: float
) -> NDArray[np.float64]:
    """Return probabilities of states with shifted log-odds, ``share`` on the average over cells."""
    from scipy.optimize import brentq  # takes long to import
    from scipy.special import expit

    def excess(shift: float) -> float:
        return float(expit(log_odds + shift)[cells].mean()) - share

    # The mean lies between the probabilities of the least and the largest log-odds.
    middle, reach = np.log(share / (1 - share)), float(np.abs(log_odds).max(initial=0.0)) + 1
    shift = brentq(excess, middle - reach, middle + reach) if len(cells) else middle
    probabilities: NDArray[np.float64] = expit(log_odds + shift)
    return probabilities


_MECHANISMS: dict[str, Callable[[Dataset, Spec, np.random.Generator], _Mechanism]] = {
    "mcar": _mcar,
    "mar": _mar,
    "mnar-states": _mnar_by_states,
    "self-masking": _self_masking,
}


def _chosen_cells(dataset: Dataset, spec: Spec, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which cells a mechanism with a number of cells hides, shape of the codes."""
    state = int(spec.parts["state"]) if "state" in spec.parts else None
    if state is not None and (dataset.cardinalities <= state).any():
        variable = int(np.flatnonzero(dataset.cardinalities <= state)[0])
        raise OptionError(
            f"mnar of state index {state}: variable {dataset.names[variable]!r} has only the "
            f"indices 0 to {dataset.cardinalities[variable] - 1}"
        )
    if "count" not in spec.parts:
        return _of_one_state(dataset, spec.share, state, rng)
    count, hidden = int(spec.parts["count"]), np.zeros(dataset.codes.shape, np.bool_)
    for variable, column in enumerate(dataset.codes.T):
        if spec.mechanism == "mcar":
            rows, size = np.flatnonzero(column != MISSING), count
        else:
            own = _drawn_state(column, count, rng) if state is None else state
            rows = np.flatnonzero(column == own)
            size = min(count, max(0, len(rows) - 1))
        if spec.mechanism == "mcar" and len(rows) <= count:
            raise OptionError(
                f"mcar:{count} of variable {dataset.names[variable]!r}: it has {len(rows)} "
                "observed cells, and one must stay; hide fewer"
            )
        hidden[rng.choice(rows, size, replace=False), variable] = True
    return hidden


def _drawn_state(column: NDArray[np.integer], count: int, rng: np.random.Generator) -> int:
    """Return a state with more than ``count`` cells, or the commonest when there is none."""
    cells = np.bincount(column[column != MISSING], minlength=1)
    enough = np.flatnonzero(cells > count)
    return int(rng.choice(enough)) if len(enough) else int(np.argmax(cells))


def _of_one_state(
    dataset: Dataset, share: float, state: int | None, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Choose a share of all cells, of one state; one of that state stays in each variable."""
    size = round(share * int((dataset.codes != MISSING).sum()))
    states = np.arange(int(dataset.cardinalities.max()))[:, None, None]
    room = np.maximum((dataset.codes == states).sum(axis=1) - 1, 0).sum(axis=1)
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
