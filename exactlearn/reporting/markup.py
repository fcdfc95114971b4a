"""HTML from Python, whose texts are escaped here; those of pictures are in `svg_picture`."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from rich.table import Table

from exactlearn.reporting.report import posterior_rows, probability

MOST_ROWS = 200
"""Most rows of a table of a page."""

MOST_OPEN = 3
"""Most variables of a posterior that is drawn and listed without a click."""

VOID = ("input", "link", "meta")
"""Elements without content and end."""


class Markup(str):
    """Text that is HTML already; everything else is escaped by :func:`tag`."""

    __slots__ = ()


def tag(name: str, /, *content: Any, **attributes: Any) -> Markup:
    """Return an element; texts in it are escaped unless they are markup, ``None`` is left out.

    Parameters
    ----------
    name
        Name of the element.
    content
        Texts, elements, and sequences of them.
    attributes
        Attributes: ``class_`` is ``class``, an underscore a hyphen; ``True`` stands for one without
        a value, ``None`` and ``False`` for none.

    Examples
    --------
    >>> tag("td", "<1", tag("b", "x"), class_="right")
    '<td class="right">&lt;1<b>x</b></td>'
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}"
        + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    end = "" if name in VOID else f"{''.join(_texts(content))}</{name}>"
    return Markup(f"<{name}{written}>{end}")


def _texts(content: Iterable[Any]) -> Iterable[str]:
    for part in content:
        if isinstance(part, Markup):
            yield part
        elif isinstance(part, (list, tuple)):
            yield from _texts(part)
        elif part is not None:
            yield escape(str(part))


def table(
    columns: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    *,
    right: Sequence[str] = (),
    total: int | None = None,
    class_: str | None = None,
) -> Markup:
    """Return a table that scrolls sideways where it is too wide.

    Parameters
    ----------
    columns, rows
        The head and the cells; a cell that is an element ``td`` or ``th`` stands as it is.
    right
        Columns of numbers.
    total
        Number of rows that there are, if not all are given.
    class_
        Class of the table; the page's script lets the reader sort and filter the ``sortable``.
    """
    classes = ["n" if column in right else None for column in columns]
    head = [tag("th", c, scope="col", class_=k) for c, k in zip(columns, classes, strict=True)]
    body = [tag("tr", [_cell(c, k) for c, k in zip(row, classes, strict=True)]) for row in rows]
    whole = tag("table", tag("thead", tag("tr", head)), tag("tbody", body), class_=class_)
    more = f"First {len(body)} of {total}." if (total or 0) > len(body) else ""
    return Markup(tag("div", whole, class_="wide", tabindex=0) + quiet(more))


def printed_table(printed: Table, total: int | None = None) -> Markup:
    """Return a table of a terminal as one of the page."""
    columns = printed.columns
    right = [str(column.header) for column in columns if column.justify == "right"]
    rows = zip(*(column.cells for column in columns), strict=True)
    heads = [column.header for column in columns]
    return table(heads, rows, right=right, total=total, class_="sortable")


def _cell(content: Any, class_: str | None) -> Markup:
    if isinstance(content, Markup) and content.startswith(("<td", "<th")):
        return content
    return tag("td", content, class_=class_)


def posterior_table(posterior: Mapping[str, Mapping[str, float]], is_drawn: bool) -> Markup:
    """Return the table of posteriors, a row for each state; folded where many are drawn, too."""
    rows = [[name, state, bar(p, probability(p))] for name, state, p in posterior_rows(posterior)]
    listed = table(("variable", "state", "probability"), rows[:MOST_ROWS], total=len(rows))
    return folded("As a table", listed) if is_drawn and len(posterior) > MOST_OPEN else listed


def quiet(text: str) -> Markup:
    """Return a remark as a paragraph; nothing where there is none."""
    return tag("p", text, class_="quiet") if text else Markup("")


def folded(title: str, *content: Any) -> Markup:
    """Return content that is seen once its title is opened."""
    return tag("details", tag("summary", title), content)


def asset(name: str) -> Markup:
    """Return the text of a style sheet or a script of this package."""
    return Markup((files(__package__) / name).read_text(encoding="utf-8"))


def facts(**entries: Any) -> Markup:
    """Return a list of facts; empty ones are left out."""
    items = [
        tag("div", tag("dt", key.strip("_").replace("_", " ")), tag("dd", value))
        for key, value in entries.items()
        if value not in (None, "")
    ]
    return tag("dl", items, class_="facts") if items else Markup("")


def bar(share: float, text: str) -> Markup:
    """Return a share as a bar with its text."""
    inner = tag("i", style=f"width:{100 * min(1.0, max(0.0, share)):.1f}%")
    return tag("span", tag("span", inner, class_="bar", aria_hidden="true"), text, class_="share")
