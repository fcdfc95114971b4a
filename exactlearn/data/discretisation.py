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
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, Context
from itertools import pairwise
from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactlearn._runtime.argument_kinds import one_of
from exactlearn._runtime.arguments import checked_arguments
from exactlearn.data import MANY
from exactlearn.data.codes import (
    LARGEST,
    MISSING,
    Column,
    LabelledRows,
    as_array,
    checked_weights,
    row_place,
)
from exactlearn.data.decimal_comma import has_decimal_comma
from exactlearn.data.labels import label_of
from exactlearn.errors import (
    ColumnWarning,
    DataError,
    OptionError,
    as_written,
    warn_caller,
)

Method = Literal["frequency", "width"]

METHODS: tuple[Method, ...] = get_args(Method)

RULE = "frequency:5"
"""How numbers with many values are cut where no rule is given."""

EMPTY = "all cells are missing"
"""Why a column without any observed cell is left out."""

_INDEX = re.compile(
    r"Unnamed: \d+|__index_level_\d+__"
)  # by pandas, of a column without a name

_MISSING_TEXTS = {
    *("nan", "-nan", "null", "n/a", "#n/a", "#n/a n/a", "#na", "<na>", "nat"),
    *("1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan", "inf", "-inf"),
}


def parse_rule(rule: str) -> tuple[Method, int]:
    """Read ``METHOD:BINS``.

    Raises
    ------
    OptionError
        When the method is unknown, or the number of bins is not 2 or more.

    Examples
    --------
    >>> parse_rule("frequency:5")
    ('frequency', 5)
    """
    found = re.fullmatch(r"(\w+):(\d{1,5})", rule) if isinstance(rule, str) else None
    if found is None or found[1] not in METHODS or not 2 <= int(found[2]) <= LARGEST:
        known = f"{' or '.join(METHODS)}, and 2 to {LARGEST} bins"
        raise OptionError(
            f"discretisation {rule!r}: expected METHOD:BINS, as in {RULE!r}, with {known}"
        )
    return cast(Method, found[1]), int(found[2])


@checked_arguments(method=one_of(METHODS))
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
    for row in np.flatnonzero(np.isinf(numbers))[:1].tolist():
        raise DataError(f"{row_place(row)}: cannot bin an infinite value")
    own = (
        np.ones(len(numbers))
        if weights is None
        else checked_weights(weights, len(numbers))
    )
    seen = ~np.isnan(numbers)
    distinct, place = np.unique(numbers[seen], return_inverse=True)
    if len(distinct) < 2:
        raise DataError(
            f"cannot bin: {len(distinct)} different values, expected at least 2"
        )
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
    shown = [*map(label_of, edges)]
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
    low = distinct[0]
    high = distinct[-1]
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
    is_whole
        Whether it holds whole numbers, which may be categories.
    """

    name: str
    why: str
    is_cut: bool = False
    is_whole: bool = False


def unusable(
    rows: LabelledRows, column: Column, is_categorical: bool = False
) -> Unusable | None:
    """Return why a column is no variable as it stands; nothing where it is one.

    Parameters
    ----------
    rows
        The rows, for messages.
    column
        Its labels but the missing symbols.
    is_categorical
        Whether every value is declared to be a state.

    Raises
    ------
    DataError
        When a text stands among many numbers, or these have a decimal comma.
    """
    name = column.name
    count = len(column.labels)
    cells = sum(column.counts[:-1])
    if not name:
        return Unusable(
            name, "a column without a name, as the index that DataFrame.to_csv writes"
        )
    if count < 2:
        constant = (
            f"constant, every observed cell is {column.labels[0]!r}" if count else EMPTY
        )
        return Unusable(name, constant)
    if is_categorical or (count <= MANY and not _INDEX.fullmatch(name)):
        return None
    numbers = column.numbers[:-1]
    texts = np.flatnonzero(np.isnan(numbers))
    if not len(texts) and count == cells and (numbers % 1 == 0).all():
        return Unusable(
            name, f"all {count} whole numbers are different, as numbers of rows are"
        )
    if count <= MANY:
        return None
    if not len(texts):
        is_whole = bool((numbers % 1 == 0).all())
        why = f"{count} different numbers, too many for states"
        return Unusable(name, why, is_cut=True, is_whole=is_whole)
    with_comma = [label for label in column.labels if has_decimal_comma(label)]
    if len(with_comma) > count // 2:
        raise DataError(
            f"{rows.place(column, with_comma[0])}: {with_comma[0]!r} and {len(with_comma) - 1} "
            "other texts are numbers with a decimal comma; say so "
            f"({as_written('decimal', ',')}), or write them with a point; without the comma, if it "
            "groups thousands"
        )
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
    column 'k': constant; let columns be left out
    """
    by_reason: dict[str, list[str]] = {}
    for one in columns:
        by_reason.setdefault(one.why, []).append(repr(one.name))
    listed = "; ".join(
        f"column {', '.join(own)}: {why}" for why, own in sorted(by_reason.items())
    )
    numbers = [one.name for one in columns if one.is_cut]
    whole = {one.name: "*" for one in columns if one.is_whole}
    rules = dict.fromkeys(numbers if len(numbers) <= 3 else ["*"], RULE)
    bins = (
        f", or cut numbers into bins ({as_written('discretise', rules)})"
        if numbers
        else ""
    )
    kept = ""
    if whole:
        kept = f", or keep each number as a state ({as_written('states', whole)})"
    return DataError(
        f"{where}{listed}; let columns be left out, or cut into bins where they hold numbers "
        f"({as_written('tidy', True)}); or drop them "
        f"({as_written('drop', [one.name for one in columns])}){bins}{kept}, or declare their "
        f"states ({as_written('states', {columns[0].name: ['A', 'B']})})"
    )


def warn_of_columns(columns: Iterable[Unusable], rule: str = RULE) -> None:
    """Warn once of all columns that are left out, or cut by a rule.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_columns([Unusable("k", "all cells are missing")])
    >>> print(caught[0].message)
    left out: 'k' (all cells are missing)
    """
    said = {"left out": list[str](), f"cut into bins by {rule!r}": list[str]()}
    for one in columns:
        [*said.values()][one.is_cut].append(f"{one.name!r} ({one.why})")
    lines = [f"{what}: {', '.join(names)}" for what, names in said.items() if names]
    if lines:
        warn_caller("\n".join(lines), ColumnWarning)


def check_texts(columns: Iterable[Column], where: str, missing: Sequence[str]) -> None:
    """Raise one error for all texts that other programs write for missing or infinite numbers.

    Parameters
    ----------
    columns
        The columns whose states are not declared.
    where
        As for :func:`refusal_of`.
    missing
        The missing symbols.
    """
    listed: list[str] = []
    texts: set[str] = set()
    states: dict[str, list[str]] = {}
    for column in columns:
        counts = dict(zip(column.labels, column.counts, strict=False))
        own = sorted(
            x for x in column.labels if x.lower() in _MISSING_TEXTS or x == "None"
        )
        if own:
            listed.append(
                f"{column.name!r} ({', '.join(f'{x!r}: {counts[x]}' for x in own)})"
            )
            texts.update(own)
            states[column.name] = [*own, "..."]
    if listed:
        raise DataError(
            f"{where}texts that other programs write for missing or infinite numbers: "
            f"{', '.join(listed)}; if the cells are missing, name all symbols "
            f"({as_written('missing', [*missing, *sorted(texts)])}); if these are states, declare "
            f"all states of the columns ({as_written('states', states)})"
        )
