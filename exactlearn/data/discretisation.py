"""Cutting numeric columns into bins: of equal frequency or width, or by what they tell of a class.

Bins are open below and closed above, so a value that equals an edge lies in the lower bin. The
inner edges are kept, so that new rows can be coded alike.
"""

import re
from decimal import ROUND_CEILING, Context
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.data.codes import as_array, checked_weights, row_place
from exactlearn.errors import DataError, OptionError, did_you_mean

Method = Literal["frequency", "width"]

METHODS: tuple[Method, ...] = get_args(Method)
_BIN = re.compile(r"([(\[\]])([^,;]+)[,;]([^,;]+)([)\]\[])|([<>]=?)([^,;=]+)")
WHOLE_NUMBERS = 100
"""More different whole numbers than this may be weights or numbers of rows."""

_GRAMMAR = "expected METHOD:BINS, as in 'frequency:5' or 'width:5'"


def parse_rule(rule: str) -> tuple[Method, int]:
    """Read ``METHOD:BINS``.

    Raises
    ------
    OptionError
        When the method is unknown or the number of bins is not 2 or more.

    Examples
    --------
    >>> parse_rule("frequency:5")
    ('frequency', 5)
    """
    method, _, bins = rule.partition(":") if isinstance(rule, str) else (rule, "", "")
    if not bins.isdecimal() or len(bins) > 9:
        raise OptionError(f"discretisation {rule!r}: {_GRAMMAR}")
    return _checked(method, int(bins))


@checked_arguments()
def discretise(
    values: ArrayLike, method: str, bins: int, *, weights: ArrayLike | None = None
) -> tuple[NDArray[np.int16], tuple[float, ...], tuple[str, ...]]:
    """Cut numbers into bins.

    ``frequency`` cuts between distinct values, as near as can be to ``bins`` bins of equal count;
    equal values are never parted, so that ties give fewer bins, each holding at least one value.
    An edge is the largest value of its bin. ``width`` cuts the range into equal parts; some may
    hold no value.

    Parameters
    ----------
    values
        Numbers, shape (rows,); NaN for a missing value.
    method
        ``"frequency"`` or ``"width"``.
    bins
        Number of bins, at least 2.
    weights
        How often each value counts, shape (rows,); once where left out.

    Returns
    -------
    codes
        Bin of each value, shape (rows,); -1 where the value is missing.
    edges
        Increasing inner edges, one less than the bins.
    names
        Names of the bins in order, such as ``<=2.5``, ``(2.5, 4.1]``, ``>4.1``. Their ends are the
        edges, rounded to six digits where every value still lies in the bin of its code.

    Raises
    ------
    OptionError
        When the method is unknown, or ``bins`` is less than 2.
    DataError
        When a value is infinite, or there are fewer than two different values.

    Examples
    --------
    >>> codes, edges, names = discretise([1, 2, 2.5, 4, np.nan, 9, 9], "frequency", 2)
    >>> codes.tolist(), edges, names
    ([0, 0, 0, 1, -1, 1, 1], (2.5,), ('<=2.5', '>2.5'))
    """
    known, bins = _checked(method, bins)
    numbers = as_array(values, np.float64, "values")
    if np.isinf(numbers).any():
        where = row_place(int(np.flatnonzero(np.isinf(numbers))[0]))
        raise DataError(f"{where}: cannot bin an infinite value")
    known_cells = ~np.isnan(numbers)
    distinct, place = np.unique(numbers[known_cells], return_inverse=True)
    own = None
    if weights is not None:
        own = checked_weights(as_array(weights, np.float64, "weights"), len(numbers))[known_cells]
    counts = np.bincount(place, own, minlength=len(distinct))
    if len(distinct) < 2:
        raise DataError(f"cannot bin: {len(distinct)} different values, expected at least 2")
    cut = _equal_frequency if known == "frequency" else _equal_width
    edges = cut(distinct, counts, bins)
    rounded = tuple(e if e.is_integer() else _rounded(e, distinct) for e in edges)
    shown = rounded if len(set(rounded)) == len(edges) else edges
    return bin_codes(numbers, edges), edges, interval_names(shown)


def remarks_on_bins(
    name: str,
    values: NDArray[np.float64],
    counts: NDArray[Any],
    n_bins: int,
    rule: str,
    advice: str,
) -> list[str]:
    """Return why a column that was cut should rather be cut otherwise, or be left out, if so.

    Parameters
    ----------
    name
        Name of the column.
    values, counts
        Its numbers, NaN for a missing value, and how many cells have each, both of one length.
    n_bins, rule
        The bins that came out, and what was asked for.
    advice
        How to leave the column out.
    """
    known = ~np.isnan(values)
    distinct, place = np.unique(values[known], return_inverse=True)
    counts = np.bincount(place, counts[known])
    number, share = distinct[counts.argmax()], counts.max() / counts.sum()
    method, _, asked = rule.partition(":")
    messages = []
    if method in METHODS and n_bins < min(int(asked), len(distinct)) and share > 1 / 2:
        messages.append(
            f"{n_bins} bins, not the {asked} of {rule!r}: {100 * share:.0f} % of its cells are "
            f"{number:g}; cut it yourself if the others matter"
        )
    is_whole = bool((distinct % 1 == 0).all())
    if is_whole and len(distinct) > max(WHOLE_NUMBERS, counts.sum() / 2):
        messages.append(
            "more than half of its whole numbers are different, as are weights and numbers of "
            f"rows; it is cut and learned from: {advice} if it is no measurement"
        )
    return [f"column {name!r}: {message}" for message in messages]


def entropy_edges(
    values: ArrayLike, classes: NDArray[np.integer], weights: ArrayLike | None = None
) -> tuple[float, ...]:
    """Cut numbers where they tell most about a class; none where they tell too little.

    The range is cut where the entropy of the class within the two parts is least, and so is each
    part, as long as the gain pays for the description of the cut (Fayyad and Irani 1993,
    "Multi-interval discretization of continuous-valued attributes for classification learning").

    Parameters
    ----------
    values
        Numbers, shape (rows,); NaN for a missing value, whose row does not count.
    classes
        Class of each row, 0 or more, shape (rows,).
    weights
        How often each row counts, shape (rows,); once where left out.

    Returns
    -------
    edges
        Increasing inner edges, half way between two values.

    Examples
    --------
    >>> entropy_edges([1, 2, 3, 4, 7, 8, 9, 10], np.repeat([0, 1], 4))
    (5.5,)
    """
    numbers = np.asarray(values, np.float64)
    known = ~np.isnan(numbers)
    own = np.ones(len(numbers)) if weights is None else np.asarray(weights, np.float64)
    distinct, place = np.unique(numbers[known], return_inverse=True)
    counts = np.zeros((len(distinct) + 1, int(classes.max(initial=0)) + 1))
    np.add.at(counts, (place + 1, classes[known]), own[known])
    below = counts.cumsum(axis=0)  # of the values before each one
    edges = []
    parts = [(0, len(distinct))]
    while parts:
        first, last = parts.pop()
        cut = _entropy_cut(below[first : last + 1] - below[first])
        if cut:
            edges.append(float(distinct[first + cut - 1] / 2 + distinct[first + cut] / 2))
            parts += [(first, first + cut), (first + cut, last)]
    return tuple(sorted(edges))


def _entropy_cut(below: NDArray[np.float64]) -> int:
    """Return how many values lie below the best cut; 0 if it does not pay.

    Parameters
    ----------
    below
        Weight of each class among the values before each one, shape (values + 1, classes).
    """
    if len(below) < 3:
        return 0
    whole = below[-1]
    parts = np.stack((below[1:-1], whole - below[1:-1]))
    sizes, total = parts.sum(axis=2), whole.sum()
    within = (sizes * _entropies(parts)).sum(axis=0) / total
    cut = int(within.argmin())
    present = [np.count_nonzero(part[cut]) for part in parts]
    whole_entropy, k = float(_entropies(whole)), np.count_nonzero(whole)
    delta = k * np.log2(3) + np.log2(1 - 2 * 3.0**-k) - k * whole_entropy
    delta += sum(n * float(_entropies(part[cut])) for n, part in zip(present, parts, strict=True))
    pays = whole_entropy - within[cut] > (np.log2(max(total - 1, 1)) + delta) / total
    return cut + 1 if pays else 0


def _entropies(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the entropy in bits of the distributions along the last axis."""
    shares = counts / np.maximum(counts.sum(axis=-1, keepdims=True), np.finfo(float).tiny)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms: NDArray[np.float64] = np.where(shares > 0, shares * np.log2(shares), 0.0)
    entropies: NDArray[np.float64] = -terms.sum(axis=-1)
    return entropies


def bin_codes(values: ArrayLike, edges: tuple[float, ...]) -> NDArray[np.int16]:
    """Return the bin of each value under given edges, -1 for NaN; shape (rows,)."""
    numbers = np.asarray(values, np.float64)
    codes = np.searchsorted(np.array(edges, np.float64), numbers, side="left").astype(np.int16)
    codes[np.isnan(numbers)] = -1
    return codes


def interval_names(edges: tuple[float, ...]) -> tuple[str, ...]:
    """Return the names of the bins between increasing inner edges.

    Examples
    --------
    >>> interval_names((2.5, 4.1))
    ('<=2.5', '(2.5, 4.1]', '>4.1')
    """
    shown = [_short(edge) for edge in edges]
    inner = (f"({low}, {high}]" for low, high in pairwise(shown))
    return (f"<={shown[0]}", *inner, f">{shown[-1]}")


def interval_start(name: str) -> float:
    """Return the lower end of a bin from its name; NaN when it does not name a bin.

    Examples
    --------
    >>> interval_start("<=2.5"), interval_start("(2.5, 4.1]"), interval_start("no")
    (-inf, 2.5, nan)
    """
    return interval(name)[0]


def interval(name: str) -> tuple[float, float]:
    """Return the ends of a bin from its name; NaN when it does not name a bin.

    Besides the names of :func:`interval_names` these are ``<2``, ``>=2`` and the intervals of
    pandas, R and pyAgrum, such as ``[1, 2)``, ``(1,2]`` and ``[1;2[``.

    Returns
    -------
    low, high
        A number x lies in the bin when ``low < x <= high``. The outer bins may have no end; an end
        with the other inequality is moved to the next number below.

    Examples
    --------
    >>> interval("<=2.5"), interval("(2.5, 4.1]"), interval(">4.1")
    ((-inf, 2.5), (2.5, 4.1), (4.1, inf))
    >>> low, high = interval("[1, 2)")
    >>> low < 1 <= high, low < 2 <= high
    (True, False)
    """
    found = _BIN.fullmatch(name)
    if found is None:
        return np.nan, np.nan
    left, low, high, right, sign, end = found.groups()
    if sign:
        outer = _number(end) if sign in ("<=", ">") else _below(_number(end))
        low, high = (-np.inf, outer) if sign[0] == "<" else (outer, np.inf)
    else:
        low = _below(_number(low)) if left == "[" else _number(low)
        high = _number(high) if right == "]" else _below(_number(high))
    return (low, high) if low < high else (np.nan, np.nan)


def _below(end: float) -> float:
    return float(np.nextafter(end, -np.inf))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def _checked(method: str, bins: int) -> tuple[Method, int]:
    if method not in METHODS:
        raise OptionError(
            f"unknown discretisation {method!r}{did_you_mean(method, METHODS)}; {_GRAMMAR}"
        )
    if not 2 <= bins <= np.iinfo(np.int16).max:
        raise OptionError(f"{bins} bins for {method!r}: expected 2 or more, up to 32767")
    return method, bins


def _equal_frequency(
    distinct: NDArray[np.float64], counts: NDArray[Any], bins: int
) -> tuple[float, ...]:
    """Return the cuts between distinct values nearest to the quantiles, the lower at a tie."""
    below = np.cumsum(counts)[:-1]
    targets = np.arange(1, bins) * (counts.sum() / bins)
    right = np.clip(np.searchsorted(below, targets), 0, len(below) - 1)
    left = np.maximum(right - 1, 0)
    nearest = np.where(targets - below[left] <= below[right] - targets, left, right)
    return tuple(distinct[np.unique(nearest)].tolist())


def _equal_width(
    distinct: NDArray[np.float64], counts: NDArray[Any], bins: int
) -> tuple[float, ...]:
    low, high = distinct[0], distinct[-1]
    share = np.arange(1, bins) / bins
    edges = np.unique(low * (1 - share) + high * share)
    # Rounding must leave a value on either side of every edge.
    return tuple(edges[(edges >= low) & (edges < high)].tolist()) or (float(low),)


def _rounded(edge: float, distinct: NDArray[np.float64]) -> float:
    """Return an edge of six digits between the same two values, or the edge where there is none."""
    above = np.searchsorted(distinct, edge, side="right")
    up = Context(prec=6, rounding=ROUND_CEILING).create_decimal_from_float(edge)
    for candidate in (float(f"{edge:.6g}"), float(up)):
        if distinct[above - 1] <= candidate < distinct[above]:
            return candidate
    return edge


def _short(edge: float) -> str:
    """Return an edge in full, with no more than six digits where these are enough."""
    if edge.is_integer() and abs(edge) < 1e15:
        return str(int(edge))
    return f"{edge:.6g}" if float(f"{edge:.6g}") == edge else repr(edge)
