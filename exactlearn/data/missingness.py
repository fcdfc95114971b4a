"""Missingness mechanisms, written in a line such as ``mcar:0.1``, ``mar:0.1`` or ``mnar:2``.

Each has a missingness graph (:mod:`exactlearn.data.missingness_graph`), which
:func:`simulate_missingness` returns; how cells are hidden by any graph, and what the generators of
``mcar:P:M``, ``random-mar`` and ``self-masking`` are, says
:mod:`exactlearn.data.missingness_simulation`.

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
from dataclasses import dataclass, replace
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import ParentsLike, checked_arguments, instance_of
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.data.missingness_simulation import (
    SimulatedMissingness,
    Tables,
    leave_one,
    simulate_mar,
    simulate_mcar,
    simulate_self_masking,
)
from exactlearn.errors import DataError, OptionError, did_you_mean

Mechanism = Literal["mcar", "mar", "mnar", "mnar-states", "random-mar", "self-masking"]

MECHANISMS: tuple[Mechanism, ...] = get_args(Mechanism)

GRAMMAR = (
    "expected mcar:P, mcar:K, mar:P, mar:P:NAME, mnar:K, mnar:K:S, mnar:P, mnar:P:S or "
    "mnar-states:P with a share P as in 0.1, a number of cells per variable K as in 2, a "
    "state index S as in 0; or mcar:P:M, random-mar:M:K:A:B or random-mar:M:K:A:B:S with a "
    "share M of the variables, K causes of each, shape parameters A and B of a Beta "
    "distribution and S variables that causes are drawn from; or self-masking:NAME:P,P,... "
    "with a probability for each state"
)


@dataclass(frozen=True)
class Spec:
    """What to hide.

    Parameters
    ----------
    mechanism
        ``"mcar"``, ``"mar"``, ``"mnar"``, ``"mnar-states"``, ``"random-mar"`` or
        ``"self-masking"``.
    share
        Share of the observed cells, or ``None``.
    count
        Cells per variable, or ``None``; ``mcar`` and ``mnar`` have one of the two.
    driver
        Variable that ``mar`` depends on, or ``None`` for the first complete one; of
        ``self-masking`` the variable with missing cells.
    state
        State index that ``mnar`` hides, or ``None`` for a drawn one.
    variables
        Share of the variables that have missing cells, or ``None`` for all that can have.
    causes
        Of ``random-mar`` the number of causes of each mechanism.
    beta
        Of ``random-mar`` the shape parameters.
    separators
        Of ``random-mar`` the number of variables that causes come from, or ``None`` for all.
    probabilities
        Of ``self-masking`` that of a missing cell for each state.
    """

    mechanism: Mechanism
    share: float | None = None
    count: int | None = None
    driver: str | None = None
    state: int | None = None
    variables: float | None = None
    causes: int | None = None
    beta: tuple[float, float] | None = None
    separators: int | None = None
    probabilities: tuple[float, ...] | None = None


def parse_spec(text: str) -> Spec:
    """Return the specification that a text writes, in the grammar of this module.

    Raises
    ------
    OptionError
        When it does not follow the grammar, or an amount is out of range.

    Examples
    --------
    >>> spec = parse_spec("mnar:2:1")
    >>> spec.mechanism, spec.count, spec.state
    ('mnar', 2, 1)
    """
    mechanism, amount, detail = [*text.split(":", 2), "", ""][:3]
    if mechanism in _GENERATORS:
        return _generator(text, cast(Mechanism, mechanism))
    fault = _fault(mechanism, amount, detail, text.count(":"))
    if fault:
        raise OptionError(f"missingness {text!r}: {fault}; {GRAMMAR}")
    return Spec(
        cast(Mechanism, mechanism),
        share=None if amount.isdecimal() else float(amount),
        count=int(amount) if amount.isdecimal() else None,
        driver=detail if mechanism == "mar" and detail else None,
        state=int(detail) if mechanism == "mnar" and detail else None,
        variables=float(detail) if mechanism == "mcar" and detail else None,
    )


_NUMBER = r"(?:\d+|\d*\.\d+(?:e-?\d+)?|\d+e-\d+)"

_GENERATORS = {
    "random-mar": re.compile(
        rf"(?P<m>{_NUMBER}):(?P<k>\d+):(?P<a>{_NUMBER}):(?P<b>{_NUMBER})(?::(?P<s>\d+))?"
    ),
    "self-masking": re.compile(rf"(?P<name>.+):(?P<p>{_NUMBER}(?:,{_NUMBER})*)"),
}
"""What follows the name and colon of the mechanisms that are drawn by a graph."""


def _generator(text: str, mechanism: Mechanism) -> Spec:
    """Return the specification of a mechanism that is drawn by a graph."""
    found = _GENERATORS[mechanism].fullmatch(text.partition(":")[2])
    if found is None:
        raise OptionError(f"missingness {text!r}: not the form of {mechanism}; {GRAMMAR}")
    if mechanism == "self-masking":
        probabilities = tuple(float(p) for p in found["p"].split(","))
        return Spec(mechanism, driver=found["name"], probabilities=probabilities)
    return Spec(
        mechanism,
        variables=float(found["m"]),
        causes=int(found["k"]),
        beta=(float(found["a"]), float(found["b"])),
        separators=int(found["s"]) if found["s"] else None,
    )


def _fault(mechanism: str, amount: str, detail: str, colons: int) -> str:
    """Return what is wrong with the parts of a specification, or nothing."""
    if mechanism not in MECHANISMS:
        return f"unknown mechanism {mechanism!r}{did_you_mean(mechanism, MECHANISMS)}"
    if not re.fullmatch(_NUMBER, amount):
        return f"the amount {amount!r} is no number"
    if amount.isdecimal() and mechanism in ("mar", "mnar-states"):
        return f"the amount {amount} is no share"
    if amount.isdecimal() and int(amount) < 1:
        return "nothing to hide"
    if not amount.isdecimal() and not 0 < float(amount) < 1:
        return f"the share {amount} is not between 0 and 1"
    if colons > 1 and not detail:
        return "nothing follows the last colon"
    if detail and mechanism == "mcar" and (amount.isdecimal() or not _is_share(detail)):
        return f"mcar depends on nothing, but {detail!r} follows"
    if detail and mechanism == "mnar-states":
        return f"the states' probabilities are drawn, but {detail!r} follows"
    if detail and mechanism == "mnar" and not detail.isdecimal():
        return f"{detail!r} is no state index"
    return ""


def _is_share(text: str) -> bool:
    return bool(re.fullmatch(_NUMBER, text)) and not text.isdecimal() and 0 < float(text) < 1


_STEEPNESS = 3.0
"""How many times likelier MAR hides a cell at the driver's last state than at its first."""


@checked_arguments(
    spec=instance_of((str, Spec), "a specification of missingness", "pass 'mcar:0.1', say")
)
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


@checked_arguments(
    spec=instance_of((str, Spec), "a specification of missingness", "pass 'mcar:0.1', say")
)
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
    if parsed.mechanism == "random-mar":
        return _random_mar(dataset, parsed, rng, parents or [()] * dataset.n_variables)
    if parsed.mechanism == "self-masking":
        masked = {cast(str, parsed.driver): cast(tuple[float, ...], parsed.probabilities)}
        return simulate_self_masking(dataset, masked, rng)
    if parsed.mechanism == "mnar-states":
        return _mnar_by_states(dataset, cast(float, parsed.share), rng)
    if parsed.variables is not None:
        probability = cast(float, parsed.share)
        return simulate_mcar(dataset, rng, share=parsed.variables, probability=probability)
    codes = dataset.codes.copy()
    codes[_MECHANISMS[parsed.mechanism](dataset, parsed, rng)] = MISSING
    graph, tables = _stated(dataset, parsed)
    return SimulatedMissingness(replace(dataset, codes=codes), graph, tables)


def _mnar_by_states(
    dataset: Dataset, share: float, rng: np.random.Generator
) -> SimulatedMissingness:
    """Hide every cell with the probability of its state, drawn for each variable."""
    probabilities: dict[str, Sequence[float]] = {
        name: _shifted(rng.standard_normal(size), column[column != MISSING], share).tolist()
        for name, size, column in zip(
            dataset.names, dataset.cardinalities, dataset.codes.T, strict=True
        )
    }
    return simulate_self_masking(dataset, probabilities, rng)


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


def _random_mar(
    dataset: Dataset, spec: Spec, rng: np.random.Generator, parents: Sequence[Sequence[int]]
) -> SimulatedMissingness:
    among = None
    if spec.separators is not None:
        if spec.separators > dataset.n_variables:
            raise OptionError(
                f"random-mar: {spec.separators} variables that causes are drawn from, but the "
                f"table has {dataset.n_variables}"
            )
        among = [
            dataset.names[v]
            for v in sorted(rng.choice(dataset.n_variables, spec.separators, replace=False))
        ]
    return simulate_mar(
        dataset,
        parents,
        rng,
        share=cast(float, spec.variables),
        n_causes=cast(int, spec.causes),
        beta=cast(tuple[float, float], spec.beta),
        among=among,
    )


def _stated(dataset: Dataset, spec: Spec) -> tuple[MissingnessGraph, Tables]:
    """Return the graph that a specification of one mechanism for all variables means."""
    names = dataset.names
    if spec.mechanism == "mnar":
        return MissingnessGraph({name: (name,) for name in names}), {}
    if spec.mechanism == "mcar":
        graph = MissingnessGraph(dict.fromkeys(names, ()))
        return graph, {} if spec.share is None else dict.fromkeys(names, np.array(spec.share))
    driver = _driver(dataset, spec, _observed(dataset))
    others = [name for v, name in enumerate(names) if v != driver]
    table = _state_probabilities(dataset, driver, cast(float, spec.share))
    return MissingnessGraph(dict.fromkeys(others, (names[driver],))), dict.fromkeys(others, table)


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
    table = _state_probabilities(dataset, driver, cast(float, spec.share))
    probability = table[dataset.codes[:, driver]]
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
            f"{did_you_mean(spec.driver, dataset.names)}"
        )
    driver = dataset.names.index(spec.driver)
    if driver not in complete:
        raise DataError(
            f"mar depends on {spec.driver!r}, which has missing cells; name a complete variable"
        )
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
    for variable in range(observed.shape[1]):
        leave_one(observed[:, variable], hidden[:, variable], rng)
    return hidden


_MECHANISMS: dict[str, Callable[[Dataset, Spec, np.random.Generator], NDArray[np.bool_]]] = {
    "mcar": _mcar,
    "mar": _mar,
    "mnar": _mnar,
}
