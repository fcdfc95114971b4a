"""Columns that are no variables as they stand: cut into bins, left out, or refused all at once.

Numbers are cut into bins of equal frequency or width. Bins are open below and closed above, so a
value that equals an edge lies in the lower bin. Their names hold the edges, so that new rows can be
coded alike.

A column without a name, one with the same value in every row, one that numbers or names the rows
and numbers with many values say little of other columns, or nothing. The coding of files, frames
and arrays finds them by :func:`unusable`; with ``tidy`` they are left out, or cut into bins where
they are numbers, with one warning (:func:`warn_of_columns`), else one error names all of them
(:func:`refusal_of`). A coded :class:`~exactlearn.data.dataset.Dataset` is taken as it is.
"""

import re
import sys
import warnings
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, Context
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.data import MANY
from exactlearn.data.codes import (
    LARGEST,
    MISSING,
    Column,
    LabelledRows,
    as_array,
    checked_weights,
    ordered,
    row_place,
)
from exactlearn.errors import ColumnWarning, DataError, OptionError, as_written, did_you_mean

Method = Literal["frequency", "width"]

METHODS: tuple[Method, ...] = get_args(Method)

RULE = "frequency:5"
"""How numbers with many values are cut where no rule is given."""

EMPTY = "all cells are missing"
"""Why a column without any observed cell is left out."""

_INDEX = re.compile(r"Unnamed: \d+|__index_level_\d+__")  # by pandas, of a column without a name

_MISSING_TEXTS = {
    *("nan", "-nan", "null", "n/a", "#n/a", "#n/a n/a", "#na", "<na>", "nat"),
    *("1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"),
}

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
    if method not in METHODS:
        raise OptionError(
            f"unknown discretisation {method!r}{did_you_mean(method, METHODS)}; {_GRAMMAR}"
        )
    if not 2 <= int(bins) <= np.iinfo(np.int16).max:
        raise OptionError(f"{bins} bins for {method!r}: expected 2 or more, up to 32767")
    return method, int(bins)


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
    known, bins = parse_rule(f"{method}:{bins}")
    numbers = as_array(values, np.float64, "values")
    if np.isinf(numbers).any():
        where = row_place(int(np.flatnonzero(np.isinf(numbers))[0]))
        raise DataError(f"{where}: cannot bin an infinite value")
    own = np.ones(len(numbers)) if weights is None else checked_weights(weights, len(numbers))
    seen = ~np.isnan(numbers)
    distinct, place = np.unique(numbers[seen], return_inverse=True)
    if len(distinct) < 2:
        raise DataError(f"cannot bin: {len(distinct)} different values, expected at least 2")
    counts = np.bincount(place, own[seen])
    cut = _equal_frequency if known == "frequency" else _equal_width
    edges = cut(distinct, counts, bins)
    rounded = tuple(e if e.is_integer() else _rounded(e, distinct) for e in edges)
    shown = rounded if len(set(rounded)) == len(edges) else edges
    codes = np.searchsorted(np.array(edges), numbers, side="left").astype(np.int16)
    return np.where(seen, codes, MISSING).astype(np.int16), edges, interval_names(shown)


def drop_hint(name: str) -> str:
    """Return the advice to leave a column out."""
    return f"drop it ({as_written('drop', [name])})"


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


class Unusable(NamedTuple):
    """A column that is no variable as it stands.

    Parameters
    ----------
    name
        Its name.
    why
        The reason.
    is_cut
        Whether bins make a variable of it.
    """

    name: str
    why: str
    is_cut: bool = False


def constant_reason(labels: Sequence[str], is_complete: bool) -> str:
    """Return in words why a column with fewer than two labels is no variable."""
    if not labels:
        return EMPTY
    return f"constant, every {'' if is_complete else 'observed '}cell is {labels[0]!r}"


def unusable(rows: LabelledRows, column: Column) -> Unusable | None:
    """Return why a column is no variable as it stands; nothing where it is one.

    Parameters
    ----------
    rows
        The rows, for messages.
    column
        Its labels but the missing symbols.

    Raises
    ------
    DataError
        When a text stands among many numbers.
    """
    name, count, cells = column.name, len(column.labels), sum(column.counts[:-1])
    if not name:
        return Unusable(name, "a column without a name, as the index that DataFrame.to_csv writes")
    if count < 2:
        return Unusable(name, constant_reason(column.labels, not column.counts[-1]))
    if count <= MANY and not _INDEX.fullmatch(name):
        return None
    numbers = column.numbers[:-1]
    texts = np.flatnonzero(np.isnan(numbers))
    if not len(texts) and count == cells and (numbers % 1 == 0).all():
        return Unusable(name, f"all {count} whole numbers are different, as numbers of rows are")
    if count <= MANY:
        return None
    if not len(texts):
        return Unusable(name, f"{count} different numbers, too many for states", is_cut=True)
    if len(texts) <= count // 10:
        label = column.labels[int(texts[0])]
        raise DataError(
            f"{rows.place(column, label)}: {label!r} stands among "
            f"{count - len(texts)} different numbers; if it means missing, say so "
            f"({as_written('missing', [label])}) and discretise the column; or {drop_hint(name)}"
        )
    if count > cells // 2 or count > LARGEST:
        named = f"{count} different texts in {cells} cells"
        return Unusable(name, f"{named}, so it names rows rather than groups them")
    return None


def refusal_of(columns: Sequence[Unusable], where: str) -> DataError:
    """Return the one error for all columns that are no variables, with what to do.

    Parameters
    ----------
    columns
        The columns, one or more.
    where
        Where they stand, such as the name of the file and a comma.

    Examples
    --------
    >>> print(str(refusal_of([Unusable("k", "constant")], "")).partition(",")[0])
    column 'k': constant; tidy the table (tidy=True)
    """
    names, by_reason = [one.name for one in columns], dict[str, list[str]]()
    for one in columns:
        by_reason.setdefault(one.why, []).append(one.name)
    lines = [f"column {names[0]!r}: {columns[0].why}"]
    if len(columns) > 1:
        lines = [f"{why}: {_quoted(own)}" for why, own in sorted(by_reason.items())]
        lines = [f"{len(columns)} columns cannot be used as they are:", *lines]
    out, cut = ([one.name for one in columns if one.is_cut == is_cut] for is_cut in (False, True))
    does = [f"leaves out {_quoted(out)}"] * bool(out)
    does += [f"cuts {_quoted(cut)} into bins of equal frequency"] * bool(cut)
    cures = [f"drop columns ({as_written('drop', names)})"]
    if cut:
        rules = dict.fromkeys(cut if len(cut) <= 3 else ["*"], RULE)
        cures.append(f"cut numbers into bins ({as_written('discretise', rules)})")
    first = {next(filter(None, names), ""): ["A", "B"]}
    cures.append(f"declare their states ({as_written('states', first)})")
    return DataError(
        where + "\n  ".join(lines) + f"; tidy the table ({as_written('tidy', True)}), which "
        f"{' and '.join(does)}; or {', or '.join(cures)}"
    )


def warn_of_columns(columns: Iterable[Unusable], rule: str = RULE) -> None:
    """Warn once of all columns that are left out, or cut by a rule.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_columns([Unusable("k", "all cells are missing")])
    >>> print(caught[0].message)
    left out: 'k' (all cells are missing)
    """
    said = {"left out": list[str](), f"cut into bins by {rule!r}": list[str]()}
    for name, why, is_cut in columns:
        [*said.values()][is_cut].append(f"{name!r} ({why})")
    lines = [f"{what}: {', '.join(names)}" for what, names in said.items() if names]
    if lines:
        level, frame = 1, sys._getframe()
        while frame.f_back and frame.f_globals.get("__name__", "").startswith("exactlearn"):
            level, frame = level + 1, frame.f_back
        warnings.warn("\n".join(lines), ColumnWarning, stacklevel=level)


def check_texts(columns: Iterable[Column], where: str, missing: Sequence[str]) -> None:
    """Raise one error for all texts that other programs write for a missing cell.

    Parameters
    ----------
    columns
        The columns whose states are not declared.
    where
        As for :func:`refusal_of`.
    missing
        The missing symbols.
    """
    listed, texts, states = list[str](), dict[str, None](), dict[str, list[str]]()
    for column in columns:
        own = sorted(x for x in column.labels if x.lower() in _MISSING_TEXTS or x == "None")
        if own:
            counts = (f"{x!r}: {column.counts[column.labels.index(x)]}" for x in own)
            listed.append(f"{column.name!r} ({', '.join(counts)})")
            texts |= dict.fromkeys(own)
            known = ordered(column.labels)
            states[column.name] = [*known[:MANY], *["..."] * (len(known) > MANY)]
    if listed:
        symbols = as_written("missing", [*missing, *texts])
        raise DataError(
            f"{where}texts that other programs write for missing cells: {', '.join(listed)}; if "
            f"the cells are missing, name all symbols ({symbols}); if these are states, declare "
            f"the states of each column ({as_written('states', states)})"
        )


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
