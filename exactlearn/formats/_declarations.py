"""The variables and probabilities that a file of a network declares, checked and made a network.

Each declaration comes with what raises an error at its place in the file, so that a fault that is
seen only when all is read, such as a row of counts, names the line.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.network import ROW_TOLERANCE, BayesianNetwork, row_fault
from exactlearn.data.codes import repeated
from exactlearn.errors import (
    DataError,
    FormatError,
    OptionError,
    as_written,
    did_you_mean,
)
from exactlearn.formats._interchange import STATES_KEY, VARIABLE_KEY

ROUNDED = 1e-3
"""How far from one a row may sum that a program rounded to a few digits; it is rescaled."""

Fault = Callable[[str], FormatError]
"""Returns the error for a message, at the place of a declaration."""

Floats = NDArray[np.float64]


class Declarations:
    """The variables and probabilities that a file declares, in any order.

    Parameters
    ----------
    source
        What errors call the file.
    normalise
        Whether each row is divided by its sum, so that it may hold counts or percentages.

    Attributes
    ----------
    states, properties
        Words for the states of each variable, and its properties by their keys.
    parents, numbers
        Words for the parents of each variable, and its probabilities: its own states counted
        through fastest and its first parent slowest.
    faults
        Raises an error at the place of a variable's probabilities; before these are declared, at
        that of its states.
    """

    def __init__(self, source: object, *, normalise: bool = False) -> None:
        self.source = source
        self.normalise = normalise
        self.states: dict[str, Sequence[str]] = {}
        self.properties: dict[str, Mapping[str, str]] = {}
        self.parents: dict[str, Sequence[str]] = {}
        self.numbers: dict[str, Sequence[str] | Floats] = {}
        self.faults: dict[str, Fault] = {}

    def add(
        self,
        name: str,
        states: Sequence[str],
        properties: Mapping[str, str],
        fault: Fault,
    ) -> None:
        """Add a variable."""
        _require_new(name, self.states, fault)
        self.states[name] = states
        self.properties[name] = properties
        self.faults.setdefault(name, fault)

    def add_table(
        self,
        name: str,
        parents: Sequence[str],
        numbers: Sequence[str] | Floats,
        fault: Fault,
    ) -> None:
        """Add the probabilities of a variable."""
        _require_new(name, self.parents, fault)
        self.parents[name] = parents
        self.numbers[name] = numbers
        self.faults[name] = fault

    def network(self) -> BayesianNetwork:
        """Return the network.

        Raises
        ------
        FormatError
            When a variable is unknown, numbers are missing or no probabilities, names stand twice,
            or arcs form a cycle.
        """
        if not self.states:
            raise FormatError(
                f"{self.source}: expected at least one variable, found none"
            )
        for name in self.parents:
            self._check_family(name)
        # Words stand for the names that a property keeps.
        index = {name: v for v, name in enumerate(self.states)}
        names: list[str] = []
        states = []
        parents = []
        tables = []
        for name, words in self.states.items():
            names += self._true_names(name, VARIABLE_KEY, [name])
            states.append(self._true_names(name, STATES_KEY, words))
            parents.append(tuple(index[p] for p in self.parents.get(name, ())))
            tables.append(self._table(name))
        # A row that is no distribution is refused at its place in the file.
        for v, name in enumerate(index):
            if message := row_fault(v, names, states, parents[v], tables[v]):
                raise self.faults[name](f"{message}: {self._cure(tables[v])}")
        try:
            return BayesianNetwork(
                tuple(names), tuple(states), tuple(parents), tuple(tables)
            )
        except (DataError, OptionError) as error:
            raise FormatError(f"{self.source}: {error}") from error

    def _check_family(self, name: str) -> None:
        """Raise an error unless a variable and its parents are declared, and all different."""
        family = (name, *self.parents[name])
        for variable in family:
            if variable not in self.states:
                raise self.faults[name](
                    f"probabilities of {name!r}: variable {variable!r} is not declared"
                    f"{did_you_mean(variable, self.states)}"
                )
        if twice := repeated(family):
            raise self.faults[name](
                f"{twice[0]!r} stands twice in the family of {name!r}: remove one"
            )

    def _table(self, name: str) -> Floats:
        """Return the table of a variable, parents' axes first."""
        # One axis for each parent, the last one for the variable itself.
        family = (*self.parents.get(name, ()), name)
        shape = [len(self.states[variable]) for variable in family]
        numbers = self.numbers.get(name, ())
        if len(numbers) != math.prod(shape):
            raise self.faults[name](
                f"variable {name!r}: expected {math.prod(shape)} probabilities, one for each state "
                f"and combination of its parents' states, found {len(numbers)}: give them all"
            )
        try:
            table = np.array(numbers, np.float64).reshape(shape)
        except ValueError as error:
            raise self.faults[name](
                f"variable {name!r}: expected probabilities ({error}): write numbers"
            ) from None
        return probabilities(table, normalise=self.normalise)

    def _cure(self, table: Floats) -> str:
        """Return the advice for a table with a row that is no distribution."""
        # Counts and percentages have sums that can divide them.
        can_divide = (table >= 0).all() and _have_scale(_sums(table)).all()
        if self.normalise or not can_divide:
            return "correct the row"
        return (
            "correct the row, or read counts and percentages with each row divided by its sum "
            f"({as_written('normalise', True)})"
        )

    def _true_names(self, name: str, key: str, words: Sequence[str]) -> tuple[str, ...]:
        """Return the names that a property of a variable holds, else the words.

        Raises
        ------
        FormatError
            When it holds other than so many different names.
        """
        text = self.properties[name].get(key)
        if text is None:
            return tuple(words)
        parts = text.strip().split("|")
        try:
            names = [unquote(part, errors="surrogatepass") for part in parts]
        except UnicodeDecodeError:
            names = []
        if len(names) != len(words) or repeated(names):
            raise self.faults[name](
                f"expected {len(words)} different names in the property {key!r} of {name!r}, "
                f"found {text[:60]!r}: correct or remove it"
            )
        return tuple(names)


def probabilities(table: Floats, *, normalise: bool) -> Floats:
    """Return the rows of a table as the probabilities that they stand for.

    Entries that are negative by no more than 1e-6, which programs leave by rounding, are zero. A
    row that was rounded to a few digits, and no other one, is divided by its sum; so is each row
    that has a positive sum where all are to be normalised. Anything else stays for the checks.

    Examples
    --------
    >>> probabilities(np.array([[40.0, 60.0], [0.0, 0.0]]), normalise=True).tolist()
    [[0.4, 0.6], [0.0, 0.0]]
    >>> probabilities(np.array([[0.333, 0.667, -1e-7], [2.0, 1.0, 1.0]]), normalise=False).tolist()
    [[0.333, 0.667, 0.0], [2.0, 1.0, 1.0]]
    """
    # Entries slightly below zero, by the scale of their row, are zero.
    if (table < 0).any():
        scale = np.maximum(_sums(table), 1.0) if normalise else 1.0
        table = np.where((table < 0) & (table >= -ROW_TOLERANCE * scale), 0.0, table)
    # Counts are divided by their sums, and so are rows that were rounded.
    sums = _sums(table)
    if normalise:
        is_divided = _have_scale(sums)
    else:
        distance = abs(sums - 1)
        is_divided = (distance > ROW_TOLERANCE) & (distance <= ROUNDED)
    return np.divide(table, sums, out=table.copy(), where=is_divided)


def _sums(table: Floats) -> Floats:
    """Return the sums of the rows of a table, which may be infinite."""
    with np.errstate(invalid="ignore", over="ignore"):
        sums: Floats = table.sum(axis=-1, keepdims=True)
    return sums


def _have_scale(sums: Floats) -> NDArray[np.bool_]:
    """Return whether each sum of a row can divide it."""
    return np.isfinite(sums) & (sums > 0)


def _require_new(name: str, declared: Mapping[str, object], fault: Fault) -> None:
    """Raise an error for a second declaration of the same."""
    if name in declared:
        raise fault(f"the variable {name!r} stands twice; rename or remove one")
