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
from math import inf, isfinite, isnan, nan, nextafter

import numpy as np

from exactlearn.errors import warn_caller

DIGITS = 15
"""Significant digits by which fractions are compared (DBL_DIG of C)."""

_NEAR = 10.0 ** (2 - DIGITS)
"""Numbers with equal first digits differ by less than this share."""

_LARGEST_EXACT = 2**53
"""From this number on, not every whole number is a float."""

MAX_LISTED = 12
"""Most labels of a state, or values of a column, that a message lists."""

_TRUTH = {"true": "True", "false": "False"}
"""Standard texts of truth values."""

_TRUTH_NUMBERS = {"true": "1", "false": "0"}
"""Numbers of truth values, as in NumPy."""

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


def is_number(label: str) -> bool:
    """Return whether a label writes a number."""
    return not isnan(number(label))


def value_of(label: str) -> str:
    """Return the value that a label denotes, by its standard text.

    Examples
    --------
    >>> value_of("1.0"), value_of("1e3"), value_of("-0"), value_of("0.30000000000000004")
    ('1', '1000', '0', '0.3')
    >>> value_of("TRUE"), value_of("007"), value_of("yes")
    ('True', '007', 'yes')
    """
    text = label if _CODE.match(label) else _number_text(label)
    return _TRUTH.get(label.lower(), text)


def number_value_of(label: str) -> str:
    """Return the number that a label may stand for where a variable has one state of that number.

    A code stands for its number, and a truth value for 1 or 0, as in NumPy.

    Examples
    --------
    >>> number_value_of("007"), number_value_of("true"), number_value_of("7.0")
    ('7', '1', '7')
    """
    return _TRUTH_NUMBERS.get(label.lower(), _number_text(label))


def _number_text(label: str) -> str:
    """Return the standard text of the number that a label writes, else the label."""
    value = number(label)
    if isnan(value):
        return label
    # Fractions are equal when their first digits are, whole numbers when all are.
    if not value.is_integer():
        return f"{value:.{DIGITS}g}"
    if abs(value) < _LARGEST_EXACT:
        return str(int(value))
    return str(int(Decimal(label)))


def equal_to_any(symbols: Sequence[str]) -> Callable[[str], bool]:
    """Return the function that says whether a label is one of these, by its text or its number.

    Examples
    --------
    >>> is_missing = equal_to_any(["?", "-9"])
    >>> is_missing("?"), is_missing("-9.0"), is_missing("9")
    (True, True, False)
    """
    texts = {symbol.strip() for symbol in symbols}
    numbers = {value_of(text) for text in texts if is_number(text)}
    if not numbers:
        return texts.__contains__

    def is_symbol(label: str) -> bool:
        return label in texts or value_of(label) in numbers

    return is_symbol


def has_other_forms(label: str) -> bool:
    """Return whether labels with another text may denote the value of a label.

    Examples
    --------
    >>> has_other_forms("1"), has_other_forms("TRUE"), has_other_forms("yes")
    (True, True, False)
    """
    return is_number(label) or label.lower() in _TRUTH


def synonyms(labels: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the labels of each value that several labels denote, by the value's standard text.

    Examples
    --------
    >>> synonyms(["1.0", "0", "1", "TRUE", "007", "7"])
    {'1': ('1', '1.0')}
    """
    # Equal numbers are neighbours in order: most columns of numbers have no near ones.
    numbers = np.sort([*map(number, labels)])
    tolerances = np.abs(numbers[1:]) * _NEAR
    with np.errstate(over="ignore"):
        are_near = np.diff(numbers) <= tolerances
    # Truth values, too, are written in several forms.
    if are_near.any() or any(label.lower() in _TRUTH for label in labels):
        return _groups(labels, value_of)
    return {}


def codes_beside_numbers(labels: Sequence[str]) -> list[tuple[str, ...]]:
    """Return labels that write one number and are several states, as some have leading zeros.

    Examples
    --------
    >>> codes_beside_numbers(["1", "1.0", "007", "7"])
    [('007', '7')]
    """
    groups = _groups(labels, _number_text).values()
    return [group for group in groups if any(map(_CODE.match, group))]


def _groups(
    labels: Sequence[str],
    key: Callable[[str], str],
) -> dict[str, tuple[str, ...]]:
    """Return the sorted labels of each key that several labels have."""
    groups = defaultdict[str, list[str]](list)
    for label in labels:
        groups[key(label)].append(label)
    several = {}
    for name, group in groups.items():
        if len(group) > 1:
            several[name] = tuple(sorted(group))
    return several


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


def first_listed(texts: Sequence[str], noun: str = "") -> str:
    """Return texts, the first twelve of more and how many there are besides.

    Examples
    --------
    >>> first_listed(["a", "b"]), first_listed(["a"] * 14, " values")[-21:]
    ('a, b', ', a and 2 more values')
    """
    listed = ", ".join(texts[:MAX_LISTED])
    n_more = len(texts) - MAX_LISTED
    if n_more > 0:
        return f"{listed} and {n_more} more{noun}"
    return listed


def listed_labels(labels: Sequence[str]) -> str:
    """Return labels in quotes, the first twelve of more."""
    quoted = [*map(repr, labels[:MAX_LISTED])]
    if len(labels) > MAX_LISTED:
        quoted.append("...")
    return ", ".join(quoted)


def warn_by_kind(
    kinds: Mapping[str, Sequence[str]],
    category: type[Warning],
    where: str = "",
) -> None:
    """Warn once of several kinds of things, in a line each; of none where all are empty.

    Parameters
    ----------
    kinds
        What there is of each kind, by the description of the kind.
    category
        The warning's class.
    where
        What each line begins with.
    """
    lines = []
    for kind, texts in kinds.items():
        if texts:
            lines.append(f"{where}{kind}: {', '.join(texts)}")
    if lines:
        warn_caller("\n".join(lines), category)


def joined_labels(state: str, labels: Sequence[str]) -> str:
    """Return the message that labels are one state; equal ones are values of several types.

    Examples
    --------
    >>> joined_labels("1", ("1", "1.0")), joined_labels("1", ("1", "1"))
    ("'1', '1.0' are '1'", "'1' as a number and as a text are '1'")
    """
    if len(set(labels)) == 1:
        return f"{labels[0]!r} as a number and as a text are {state!r}"
    return f"{listed_labels(labels)} are {state!r}"


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
    match = _BIN.fullmatch(name)
    if match is None:
        return nan, nan
    # An end with the other inequality moves to the next number below.
    left, low_text, high_text, right, sign, end = match.groups()
    low = -inf
    high = inf
    if not sign:
        low = _end(low_text, below=left == "[")
        high = _end(high_text, below=right != "]")
    elif sign[0] == "<":
        high = _end(end, below=sign == "<")
    else:
        low = _end(end, below=sign == ">=")
    return (low, high) if low < high else (nan, nan)


def are_bins(states: Sequence[str]) -> bool:
    """Return whether all states are bins of a number."""
    for state in states:
        low, _ = interval(state)
        if isnan(low):
            return False
    return True


def _end(text: str, below: bool = False) -> float:
    """Return the number that a text writes, or the next one below it; NaN for other texts."""
    try:
        value = float(text)
    except ValueError:
        return nan
    return nextafter(value, -inf) if below else value


def ordered(labels: Sequence[str]) -> list[str]:
    """Return labels in the order of states: as numbers or bins if all are such, else as text.

    Examples
    --------
    >>> ordered(["10", "9"]), ordered(["yes", "no", "10"]), ordered([">4", "<=2", "(2, 4]"])
    (['9', '10'], ['10', 'no', 'yes'], ['<=2', '(2, 4]', '>4'])
    """
    numbers = [*map(number, labels)]
    lows = [interval(label)[0] for label in labels]
    for keys in (numbers, lows):
        if not any(map(isnan, keys)):
            # Equal keys are ordered by their labels.
            pairs = zip(keys, labels, strict=True)
            return [label for _, label in sorted(pairs)]
    return sorted(labels)
