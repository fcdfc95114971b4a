"""Columns that are no variables as they stand: refused all at once, or tidied away.

A column without a name, one with the same value in every row, one that numbers or names the rows
and numbers with many values say little of other columns, or nothing. The coding of files, frames
and arrays finds them by :func:`unusable`; with ``tidy`` they are left out, or cut into bins where
they are numbers, with one warning (:func:`warn_of_columns`), else one error names all of them
(:func:`refusal_of`). A coded :class:`~exactlearn.data.dataset.Dataset` is taken as it is.
"""

import re
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from exactlearn.data import MANY
from exactlearn.data.codes import LARGEST
from exactlearn.data.labels import Values, drop_hint
from exactlearn.errors import ColumnWarning, DataError, as_written

RULE = "frequency:5"
"""How numbers with many values are cut where no rule is given."""

EMPTY = "all cells are missing"
"""Why a column without any observed cell is left out."""

_INDEX = re.compile(r"Unnamed: \d+|__index_level_\d+__")  # by pandas, of a column without a name

_MISSING_TEXTS = {
    *("nan", "-nan", "null", "n/a", "#n/a", "#n/a n/a", "#na", "<na>", "nat"),
    *("1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"),
}


@dataclass(frozen=True)
class Unusable:
    """A column that is no variable as it stands.

    Parameters
    ----------
    name
        Its name.
    reason
        Why; of several columns the same where they are told together.
    detail
        What is its own of the reason.
    is_cut
        Whether bins make a variable of it.
    """

    name: str
    reason: str
    detail: str = ""
    is_cut: bool = False

    @property
    def why(self) -> str:
        """The whole reason."""
        return f"{self.detail} {self.reason}" if self.detail else self.reason


def constant_reason(labels: Sequence[str], is_complete: bool) -> str:
    """Return in words why a column with fewer than two labels is no variable."""
    if not labels:
        return EMPTY
    return f"constant, every {'' if is_complete else 'observed '}cell is {labels[0]!r}"


def unusable(values: Values) -> Unusable | None:
    """Return why a column is no variable as it stands; nothing where it is one.

    Parameters
    ----------
    values
        Its labels but the missing symbols.

    Raises
    ------
    DataError
        When a text stands among many numbers.

    Examples
    --------
    >>> labels = tuple(map(str, range(40)))
    >>> unusable(Values("id", labels, np.ones(40, np.int64), True, str)).why
    'all 40 whole numbers are different, as numbers of rows are'
    """
    name, count, rows = values.name, len(values.labels), int(values.counts.sum())
    if not name:
        return Unusable(name, "a column without a name, as the index that DataFrame.to_csv writes")
    if count < 2:
        return Unusable(name, constant_reason(values.labels, values.is_complete))
    if count <= MANY and not _INDEX.fullmatch(name):
        return None
    numbers = values.numbers()
    texts = np.flatnonzero(np.isnan(numbers))
    if not len(texts) and count == rows and (numbers % 1 == 0).all():
        whole = f"all {count} whole numbers are different, as numbers of rows are"
        return Unusable(name, whole)
    if count <= MANY:
        return None
    if not len(texts):
        return Unusable(name, "different numbers, too many for states", str(count), is_cut=True)
    if len(texts) <= count // 10:
        label = values.labels[int(texts[0])]
        raise DataError(
            f"{values.place(label)}: {label!r} stands among "
            f"{count - len(texts)} different numbers; if it means missing, say so "
            f"({as_written('missing', [label])}) and discretise the column; or {drop_hint(name)}"
        )
    if count > rows // 2 or count > LARGEST:
        named = f"different texts in {rows} cells, so it names rows rather than groups them"
        return Unusable(name, named, str(count))
    return None


def refusal_of(
    columns: Sequence[Unusable], where: str = "", *, has_options: bool = True
) -> DataError:
    """Return the one error for all columns that are no variables, with what to do.

    Parameters
    ----------
    columns
        The columns, one or more.
    where
        Where they stand, such as the name of the file and a comma.
    has_options
        Whether the caller drops, cuts and declares columns, too.

    Examples
    --------
    >>> error = refusal_of([Unusable("k", "constant")], has_options=False)
    >>> print(str(error).partition(",")[0])
    column 'k': constant; tidy the table (tidy=True)
    """
    out = [one.name for one in columns if not one.is_cut]
    cut = [one.name for one in columns if one.is_cut]
    head = f"{where}column {columns[0].name!r}: {columns[0].why}; tidy"
    if len(columns) > 1:
        lines = [f"{where}{len(columns)} columns cannot be used as they are:", *_lines(columns)]
        head = "\n  ".join(lines) + "\nTidy"
    does = [f"leaves out {_quoted(out)}"] * bool(out)
    does += [f"cuts {_quoted(cut)} into bins of equal frequency"] * bool(cut)
    cures = [f"drop columns ({as_written('drop', [one.name for one in columns])})"]
    if cut:
        rules = dict.fromkeys(cut if len(cut) <= 3 else ["*"], RULE)
        cures.append(f"cut numbers into bins ({as_written('discretise', rules)})")
    first = {next((one.name for one in columns if one.name), ""): ["A", "B"]}
    cures.append(f"declare their states ({as_written('states', first)})")
    more = f"; or {', or '.join(cures)}" if has_options else ", or leave columns out yourself"
    how = as_written("tidy", True)
    return DataError(f"{head} the table ({how}), which {' and '.join(does)}{more}")


def warn_of_columns(
    columns: Iterable[Unusable], rule: str = RULE, remarks: Sequence[str] = ()
) -> None:
    """Warn once of all columns that are left out, or cut by a rule, and of what bins keep.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_columns([Unusable("k", "all cells are missing")])
    >>> print(caught[0].message)
    left out: 'k' (all cells are missing)
    """
    columns = list(columns)
    out = [f"{one.name!r} ({one.why})" for one in columns if not one.is_cut]
    cut = [f"{one.name!r} ({one.detail} different numbers)" for one in columns if one.is_cut]
    said = [f"left out: {', '.join(out)}"] * bool(out)
    said += [f"cut into bins by {rule!r}: {', '.join(cut)}"] * bool(cut)
    if said or remarks:
        level, frame = 1, sys._getframe()
        while frame.f_back and frame.f_globals.get("__name__", "").startswith("exactlearn"):
            level, frame = level + 1, frame.f_back
        warnings.warn("\n".join([*said, *remarks]), ColumnWarning, stacklevel=level)


def texts_of_missing(values: Values, declared: Sequence[str] | None) -> dict[str, int]:
    """Return how many cells have each text that other programs write for a missing cell.

    A text that is declared as a state is one.

    Examples
    --------
    >>> values = Values("x", ("a", "NaN", "None"), np.array([1, 2, 1]), True, str)
    >>> texts_of_missing(values, ["None"])
    {'NaN': 2}
    """
    return {
        label: int(count)
        for label, count in sorted(zip(values.labels, values.counts, strict=True))
        if (label.lower() in _MISSING_TEXTS or label == "None") and label not in (declared or ())
    }


def refusal_of_texts(
    found: Mapping[str, Mapping[str, int]],
    labels: Mapping[str, Sequence[str]],
    where: str,
    missing: Sequence[str] | None,
) -> DataError:
    """Return the one error for texts that may stand for missing cells, by column, with counts.

    Parameters
    ----------
    found
        What :func:`texts_of_missing` returns, by the name of the column.
    labels
        All labels of these columns, in order.
    where
        As for :func:`refusal_of`.
    missing
        The missing symbols; nothing where the caller has none to choose.
    """
    found = {name: texts for name, texts in found.items() if texts}
    texts = list(dict.fromkeys(label for counts in found.values() for label in counts))
    listed = (
        f"{name!r} ({', '.join(f'{label!r}: {count}' for label, count in counts.items())})"
        for name, counts in found.items()
    )
    head = f"{where}texts that other programs write for missing cells: {', '.join(listed)}"
    if missing is None:
        return DataError(f"{head}; make the cells None, or rename the states")
    symbols = as_written("missing", list(dict.fromkeys([*missing, *texts])))
    few = {name: [*labels[name]] for name in found if len(labels[name]) <= MANY}
    states = as_written("states", few or {name: [*found[name], "..."] for name in found})
    return DataError(
        f"{head}; if the cells are missing, name all symbols ({symbols}); if these are states, "
        f"declare the states of each column ({states})"
    )


def _lines(columns: Sequence[Unusable]) -> list[str]:
    """Return a line for each reason, with all its columns."""
    lines = []
    for reason, group in groupby(
        sorted(columns, key=lambda one: one.reason), lambda one: one.reason
    ):
        names = (f"{one.name!r}{f' ({one.detail})' if one.detail else ''}" for one in group)
        lines.append(f"{reason}: {', '.join(names)}")
    return lines


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
