"""Labels of states, and the rule for when two labels denote the same value.

A label is the text of a cell. A number is its value, however it is written: ``1``, ``1.0``, ``+1``
and ``1e0`` denote the same number. Numbers with a fraction are equal when their first 15 digits
are, the digits that a double keeps of every decimal: ``.1 + .2`` is ``0.3``. The truth values
``True``, ``TRUE`` and ``true`` are one. A number with leading zeros, such as ``007``, is a code:
beside ``7`` in one column it is another state. Every other text denotes itself.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import compress
from math import isfinite, isnan, nan

import numpy as np

from exactlearn.errors import StateWarning, warn_caller

DIGITS = 15
"""Significant digits by which fractions are compared (DBL_DIG of C)."""

_NEAR = 10.0 ** (2 - DIGITS)
"""Numbers with equal first digits differ by less than this share."""

_LARGEST_EXACT = 2**53
"""From this number on, not every whole number is a float."""

MAX_LISTED = 12
"""Most labels of a state, or values of a column, that a message lists."""

_TRUTH = {"true": "True", "false": "False"}

_CODE = re.compile(r"[+-]?0\d")

_BIN = re.compile(r"([(\[\]])([^,;]+)[,;]([^,;]+)([)\]\[])|([<>]=?)([^,;=]+)")


def label_of(value: object) -> str:
    """Return the label of a value: 1.0 is "1", so that a missing cell does not rename a column."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def number(label: str) -> float:
    """Return the finite number that a label writes, else NaN.

    Examples
    --------
    >>> number("1e3"), number("1_000"), number("inf")
    (1000.0, nan, nan)
    """
    value = _end(label)
    return value if isfinite(value) and "_" not in label else nan


def value_of(label: str) -> str:
    """Return the value that a label denotes, by its standard text.

    Examples
    --------
    >>> value_of("1.0"), value_of("1e3"), value_of("-0"), value_of("0.30000000000000004")
    ('1', '1000', '0', '0.3')
    >>> value_of("TRUE"), value_of("007"), value_of("yes")
    ('True', '007', 'yes')
    """
    truth = _TRUTH.get(label.lower())
    if truth is not None:
        return truth
    return label if _CODE.match(label) else _number_text(label)


def number_value_of(label: str) -> str:
    """Return the number that a label may stand for where a variable has one state of that number.

    A code stands for its number, and a truth value for 1 or 0, as in NumPy.

    Examples
    --------
    >>> number_value_of("007"), number_value_of("true"), number_value_of("7.0")
    ('7', '1', '7')
    """
    truth = _TRUTH.get(label.lower())
    if truth is not None:
        return "1" if truth == "True" else "0"
    return _number_text(label)


def _number_text(label: str) -> str:
    """Return the standard text of the number that a label writes, else the label."""
    value = number(label)
    if isnan(value):
        return label
    if not value.is_integer():
        return f"{value:.{DIGITS}g}"
    is_exact = abs(value) < _LARGEST_EXACT
    return str(int(value) if is_exact else int(Decimal(label)))


def equal_to_any(symbols: Sequence[str]) -> Callable[[str], bool]:
    """Return the function that says whether a label is one of these, by its text or its number.

    Examples
    --------
    >>> is_missing = equal_to_any(["?", "-9"])
    >>> is_missing("?"), is_missing("-9.0"), is_missing("9")
    (True, True, False)
    """
    texts = {symbol.strip() for symbol in symbols}
    numbers = {value_of(text) for text in texts if not isnan(number(text))}
    if not numbers:
        return texts.__contains__
    return lambda label: label in texts or value_of(label) in numbers


def has_other_forms(label: str) -> bool:
    """Return whether labels with another text may denote the value of a label.

    Examples
    --------
    >>> has_other_forms("1"), has_other_forms("TRUE"), has_other_forms("yes")
    (True, True, False)
    """
    return not isnan(number(label)) or label.lower() in _TRUTH


def synonyms(labels: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the labels of each value that several labels denote, by the value's standard text.

    Examples
    --------
    >>> synonyms(["1.0", "0", "1", "TRUE", "007", "7"])
    {'1': ('1', '1.0')}
    """
    numbers = np.array([*map(number, labels)], np.float64)
    # Equal numbers are neighbours in order, so that of many labels few need their standard texts.
    order = np.argsort(numbers)
    ordered_numbers = numbers[order]
    with np.errstate(over="ignore"):
        is_near = np.diff(ordered_numbers) <= np.abs(ordered_numbers[1:]) * _NEAR
    candidates = np.zeros(len(labels), np.bool_)
    candidates[order[1:][is_near]] = True
    candidates[order[:-1][is_near]] = True
    for k in np.flatnonzero(np.isnan(numbers)).tolist():
        candidates[k] = labels[k].lower() in _TRUTH
    return _groups([*compress(labels, candidates)], value_of)


def codes_beside_numbers(labels: Sequence[str]) -> list[tuple[str, ...]]:
    """Return labels that write one number and are several states, as some have leading zeros.

    Examples
    --------
    >>> codes_beside_numbers(["1", "1.0", "007", "7"])
    [('007', '7')]
    """
    if not any(map(_CODE.match, labels)):
        return []
    groups = _groups(labels, _number_text).values()
    return [group for group in groups if any(map(_CODE.match, group))]


def _groups(
    labels: Sequence[str], key: Callable[[str], str]
) -> dict[str, tuple[str, ...]]:
    """Return the sorted labels of each key that several labels have."""
    groups = defaultdict[str, list[str]](list)
    for label in labels:
        groups[key(label)].append(label)
    return {
        name: tuple(sorted(group)) for name, group in groups.items() if len(group) > 1
    }


def unique_places(states: Sequence[str], key: Callable[[str], str]) -> dict[str, int]:
    """Return the code of the only state that has each key; a key of several states has none.

    Examples
    --------
    >>> unique_places(("0", "1", "1.0"), value_of)
    {'0': 0}
    """
    keys = [key(state) for state in states]
    counts = Counter(keys)
    return {key: code for code, key in enumerate(keys) if counts[key] == 1}


def warn_of_synonyms(
    joined: Mapping[str, Mapping[str, Sequence[str]]],
    codes: Mapping[str, Sequence[Sequence[str]]],
    where: str,
) -> None:
    """Warn once of all labels that are one state, and of codes beside the numbers they write.

    Parameters
    ----------
    joined
        For each column the labels of each state that has several.
    codes
        For each column the labels that write one number and stay apart.
    where
        The file and a comma; nothing for a frame.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_synonyms({"a": {"1": ("1", "1.0")}}, {"b": [("007", "7")]}, "")
    >>> print(caught[0].message)
    labels that denote one value are one state: column 'a': '1', '1.0' are '1'
    labels with leading zeros are codes, other states than their numbers: column 'b': '007', '7'
    """
    lines = []
    if joined:
        columns = [
            f"column {name!r}: {'; '.join(map(_joined_text, groups, groups.values()))}"
            for name, groups in joined.items()
        ]
        lines.append(
            f"labels that denote one value are one state: {', '.join(columns)}"
        )
    if codes:
        columns = [
            f"column {name!r}: {'; '.join(map(_listed, groups))}"
            for name, groups in codes.items()
        ]
        lines.append(
            "labels with leading zeros are codes, other states than their numbers: "
            f"{', '.join(columns)}"
        )
    if lines:
        warn_caller("\n".join(where + line for line in lines), StateWarning)


def _listed(labels: Sequence[str]) -> str:
    """Return labels in quotes, the first twelve of more."""
    quoted = ", ".join(map(repr, labels[:MAX_LISTED]))
    return f"{quoted}, ..." if len(labels) > MAX_LISTED else quoted


def _joined_text(state: str, labels: Sequence[str]) -> str:
    """Return which labels are one state; equal ones are values of several types, as 1 and "1"."""
    if len(set(labels)) == 1:
        return f"{labels[0]!r} as a number and as a text are {state!r}"
    return f"{_listed(labels)} are {state!r}"


def interval(name: str) -> tuple[float, float]:
    """Return the ends of a bin from its name; NaN when it does not name a bin.

    Besides the names of :func:`~exactlearn.data.discretisation.interval_names` these are ``<2``,
    ``>=2`` and the intervals of pandas, R and pyAgrum, such as ``[1, 2)``, ``(1,2]`` and ``[1;2[``.

    Returns
    -------
    low, high
        A number x lies in the bin when ``low < x <= high``. The outer bins may have no end; an end
        with the other inequality is moved to the next number below.

    Examples
    --------
    >>> interval("<=2.5"), interval("(2.5, 4.1]"), interval(">4.1"), interval("no")
    ((-inf, 2.5), (2.5, 4.1), (4.1, inf), (nan, nan))
    >>> low, high = interval("[1, 2)")
    >>> low < 1 <= high, low < 2 <= high
    (True, False)
    """
    found = _BIN.fullmatch(name)
    if found is None:
        return np.nan, np.nan
    left, low, high, right, sign, end = found.groups()
    if sign:
        outer = _end(end, below=sign in ("<", ">="))
        low, high = (-np.inf, outer) if sign[0] == "<" else (outer, np.inf)
    else:
        low = _end(low, below=left == "[")
        high = _end(high, below=right != "]")
    return (low, high) if low < high else (np.nan, np.nan)


def are_bins(states: Sequence[str]) -> bool:
    """Return whether all states are bins of a number."""
    return not np.isnan([interval(state)[0] for state in states]).any()


def _end(text: str, below: bool = False) -> float:
    """Return the number that a text writes, or the next one below it; NaN for other texts."""
    try:
        value = float(text)
    except ValueError:
        return np.nan
    return float(np.nextafter(value, -np.inf)) if below else value


def ordered(labels: Sequence[str]) -> list[str]:
    """Return labels in the order of states: as numbers or bins if all are such, else as text.

    Examples
    --------
    >>> ordered(["10", "9"]), ordered(["yes", "no", "10"]), ordered([">4", "<=2", "(2, 4]"])
    (['9', '10'], ['10', 'no', 'yes'], ['<=2', '(2, 4]', '>4'])
    """
    for keys in ([*map(number, labels)], [interval(label)[0] for label in labels]):
        if not np.isnan(keys).any():
            return [label for _, label in sorted(zip(keys, labels, strict=True))]
    return sorted(labels)
