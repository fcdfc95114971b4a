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
from collections import defaultdict
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
from exactlearn.data.labels import label_of, warn_by_kind
from exactlearn.errors import (
    ColumnWarning,
    DataError,
    OptionError,
    as_written,
)

Method = Literal["frequency", "width"]

METHODS: tuple[Method, ...] = get_args(Method)

RULE = "frequency:5"
"""How numbers with many values are cut where no rule is given."""

EMPTY = "all cells are missing"
"""Why a column without any observed cell is left out."""

_INDEX = re.compile(r"Unnamed: \d+|__index_level_\d+__")
"""Names that pandas gives to a column without one."""

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
    match = re.fullmatch(r"(\w+):(\d{1,5})", rule) if isinstance(rule, str) else None
    if match is None or match[1] not in METHODS or not 2 <= int(match[2]) <= LARGEST:
        expected = f"{' or '.join(METHODS)}, and 2 to {LARGEST} bins"
        raise OptionError(
            f"discretisation {rule!r}: expected METHOD:BINS, as in {RULE!r}, with {expected}"
        )
    return cast(Method, match[1]), int(match[2])


@checked_arguments(method=one_of(METHODS))
def discretise(
    values: ArrayLike,
    method: str,
    bins: int,
    *,
    weights: ArrayLike | None = None,
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
    method, bins = parse_rule(f"{method}:{bins}")
    numbers = as_array(values, np.float64, "values")
    for row in np.flatnonzero(np.isinf(numbers))[:1].tolist():
        raise DataError(f"{row_place(row)}: cannot bin an infinite value")
    if weights is None:
        weights = np.ones(len(numbers))
    row_weights = checked_weights(weights, len(numbers))
    # The distinct values and how often each counts.
    observed = ~np.isnan(numbers)
    distinct, places = np.unique(numbers[observed], return_inverse=True)
    if len(distinct) < 2:
        raise DataError(
            f"cannot bin: {len(distinct)} different values, expected at least 2"
        )
    counts = np.bincount(places, row_weights[observed])
    cut = _equal_frequency if method == "frequency" else _equal_width
    edges = cut(distinct, counts, bins)
    codes = np.searchsorted(edges, numbers, side="left")
    codes[~observed] = MISSING
    # Names have short edges where these stay apart.
    short_edges = tuple(_rounded(edge, distinct) for edge in edges)
    are_apart = len(set(short_edges)) == len(edges)
    names = interval_names(short_edges if are_apart else edges)
    return codes.astype(np.int16), edges, names


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
    ends = [*map(label_of, edges)]
    return (
        f"<={ends[0]}",
        *(f"({low}, {high}]" for low, high in pairwise(ends)),
        f">{ends[-1]}",
    )


def _equal_frequency(
    distinct: NDArray[np.float64],
    counts: NDArray[Any],
    bins: int,
) -> tuple[float, ...]:
    """Return the cuts between distinct values nearest to the quantiles, the lower at a tie.

    Parameters
    ----------
    distinct
        Increasing values, shape (values,).
    counts
        Weight of each value, shape (values,).
    bins
        Number of bins that are wanted.
    """
    # Weight up to each possible cut, and up to each quantile.
    below = np.cumsum(counts)[:-1]
    targets = np.arange(1, bins) * (counts.sum() / bins)
    # The nearer one of the two cuts beside each quantile.
    first_above = np.searchsorted(below, targets)
    right = np.minimum(first_above, len(below) - 1)
    left = np.maximum(right - 1, 0)
    is_left_nearer = targets - below[left] <= below[right] - targets
    nearest = np.where(is_left_nearer, left, right)
    edges = distinct[np.unique(nearest)]
    return tuple(edges.tolist())


def _equal_width(
    distinct: NDArray[np.float64],
    counts: NDArray[Any],
    bins: int,
) -> tuple[float, ...]:
    """Return the cuts of the range into equal parts; at least one."""
    low = distinct[0]
    high = distinct[-1]
    fractions = np.arange(1, bins) / bins
    edges = np.unique(low * (1 - fractions) + high * fractions)
    # Rounding must leave a value on either side of every edge.
    is_inside = (edges >= low) & (edges < high)
    return tuple(edges[is_inside].tolist()) or (float(low),)


def _rounded(edge: float, distinct: NDArray[np.float64]) -> float:
    """Return an edge of six digits between the same two values, or the edge itself.

    Parameters
    ----------
    edge
        An edge; a whole number stays.
    distinct
        Increasing values, shape (values,).
    """
    if edge.is_integer():
        return edge
    above = np.searchsorted(distinct, edge, side="right")
    # Rounded to the nearest, else up: the bin is closed above.
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
    rows: LabelledRows,
    column: Column,
    is_categorical: bool = False,
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
        why = "a column without a name, as the index that DataFrame.to_csv writes"
        return Unusable(name, why)
    if not count:
        return Unusable(name, EMPTY)
    if count == 1:
        why = f"constant, every observed cell is {column.labels[0]!r}"
        return Unusable(name, why)
    is_many = count > MANY
    if is_categorical or not (is_many or _INDEX.fullmatch(name)):
        return None
    # Numbers: those of rows, and many.
    numbers = column.numbers[:-1]
    is_whole = bool((numbers % 1 == 0).all())
    if is_whole and count == cells:
        why = f"all {count} whole numbers are different, as numbers of rows are"
        return Unusable(name, why)
    if not is_many:
        return None
    if not len(column.texts):
        why = f"{count} different numbers, too many for states"
        return Unusable(name, why, is_cut=True, is_whole=is_whole)
    # Texts: those that name the rows.
    _refuse_texts_among_numbers(rows, column)
    if count > min(cells // 2, LARGEST):
        why = (
            f"{count} different texts in {cells} cells, so it names rows rather than "
            "groups them"
        )
        return Unusable(name, why)
    return None


def _refuse_texts_among_numbers(rows: LabelledRows, column: Column) -> None:
    """Refuse many numbers with a decimal comma, and few texts among many numbers.

    Raises
    ------
    DataError
        When more than half of the labels are such numbers, or at most a tenth are texts.
    """
    # A column of numbers with a decimal comma.
    count = len(column.labels)
    with_comma = [*filter(has_decimal_comma, column.labels)]
    if len(with_comma) > count // 2:
        raise DataError(
            f"{rows.place(column, with_comma[0])}: {with_comma[0]!r} and {len(with_comma) - 1} "
            "other texts are numbers with a decimal comma; say so "
            f"({as_written('decimal', ',')}), or write them with a point; without the comma, if it "
            "groups thousands"
        )
    # A few texts among many numbers: most often a symbol for missing cells.
    texts = column.texts
    if len(texts) <= count // 10:
        label = column.labels[texts[0]]
        raise DataError(
            f"{rows.place(column, label)}: {label!r} stands among "
            f"{count - len(texts)} different numbers; if it means missing, say so "
            f"({as_written('missing', [label])}) and discretise the column; or "
            f"{drop_hint(column.name)}"
        )


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
    # Columns of one reason are named together.
    by_reason: defaultdict[str, list[str]] = defaultdict(list)
    for column in columns:
        by_reason[column.why].append(repr(column.name))
    reasons = []
    for why, quoted in sorted(by_reason.items()):
        reasons.append(f"column {', '.join(quoted)}: {why}")
    # What helps all of them, then numbers.
    names = [column.name for column in columns]
    cures = [
        "let columns be left out, or cut into bins where they hold numbers "
        f"({as_written('tidy', True)}); or drop them ({as_written('drop', names)})"
    ]
    if numbers := [column.name for column in columns if column.is_cut]:
        if len(numbers) > 3:
            numbers = ["*"]
        rules = dict.fromkeys(numbers, RULE)
        cures.append(f"cut numbers into bins ({as_written('discretise', rules)})")
    if whole := {column.name: "*" for column in columns if column.is_whole}:
        cures.append(f"keep each number as a state ({as_written('states', whole)})")
    # One example stands for the declaration of all.
    states = {names[0]: ["A", "B"]}
    cures.append(f"declare their states ({as_written('states', states)})")
    return DataError(f"{where}{'; '.join(reasons)}; {', or '.join(cures)}")


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
    left_out: list[str] = []
    cut: list[str] = []
    for column in columns:
        kind = cut if column.is_cut else left_out
        kind.append(f"{column.name!r} ({column.why})")
    kinds = {
        "left out": left_out,
        f"cut into bins by {rule!r}": cut,
    }
    warn_by_kind(kinds, ColumnWarning)


def check_texts(
    columns: Iterable[Column],
    where: str,
    missing: Sequence[str],
) -> None:
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
    symbols: set[str] = set()
    states: dict[str, list[str]] = {}
    for column in columns:
        counts = dict(zip(column.labels, column.counts, strict=False))
        texts = sorted(filter(_is_missing_text, counts))
        if texts:
            with_counts = [f"{text!r}: {counts[text]}" for text in texts]
            listed.append(f"{column.name!r} ({', '.join(with_counts)})")
            symbols.update(texts)
            states[column.name] = [*texts, "..."]
    if listed:
        raise DataError(
            f"{where}texts that other programs write for missing or infinite numbers: "
            f"{', '.join(listed)}; if the cells are missing, name all symbols "
            f"({as_written('missing', [*missing, *sorted(symbols)])}); if these are states, "
            f"declare all states of the columns ({as_written('states', states)})"
        )


def _is_missing_text(label: str) -> bool:
    """Return whether other programs write a label for a missing or an infinite number."""
    return label == "None" or label.lower() in _MISSING_TEXTS
