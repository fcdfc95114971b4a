"""HTML from Python: the only place where a page's text is escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from exactlearn.reporting.report import number

MOST_ROWS = 200
"""Most rows of a table of a page."""

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
    told = "".join(
        f" {key.rstrip('_').replace('_', '-')}"
        + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    end = "" if name in VOID else f"{''.join(_texts(content))}</{name}>"
    return Markup(f"<{name}{told}>{end}")


def _texts(content: Iterable[Any]) -> Iterable[str]:
    for part in content:
        if isinstance(part, Markup):
            yield part
        elif isinstance(part, (list, tuple)):
            yield from _texts(part)
        elif part is not None:
            yield escape(str(part))


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    right: Sequence[str] = (),
    total: int | None = None,
    sortable: bool = False,
) -> Markup:
    """Return a table that scrolls sideways where it is too wide.

    Parameters
    ----------
    columns, rows
        The head and the cells.
    right
        Columns of numbers.
    total
        Number of rows that there are, if not all are given.
    sortable
        Whether the page's script lets the reader sort and filter it.
    """
    shown = [
        tag(
            "tr",
            [
                tag("td", cell, class_="n" if column in right else None)
                for column, cell in zip(columns, row, strict=True)
            ],
        )
        for row in rows
    ]
    head = tag(
        "tr", [tag("th", c, scope="col", class_="n" if c in right else None) for c in columns]
    )
    more = None
    if total is not None and total > len(shown):
        more = tag("p", f"First {len(shown)} of {total}.", class_="quiet")
    body = tag(
        "table", tag("thead", head), tag("tbody", shown), class_="sortable" if sortable else None
    )
    return Markup(tag("div", body, class_="wide", tabindex=0) + (more or ""))


def facts(**entries: Any) -> Markup:
    """Return a list of facts; empty ones are left out."""
    told = [
        tag("div", tag("dt", key.strip("_").replace("_", " ")), tag("dd", value))
        for key, value in entries.items()
        if value not in (None, "")
    ]
    return tag("dl", told, class_="facts") if told else Markup("")


def bar(share: float, text: str) -> Markup:
    """Return a share as a bar with its text."""
    inner = tag("i", style=f"width:{100 * min(1.0, max(0.0, share)):.1f}%")
    return tag("span", tag("span", inner, class_="bar", aria_hidden="true"), text, class_="share")


def decimals(value: Any, digits: int = 4) -> str:
    """Return a number with so many decimals; nothing for what is no finite number."""
    return number(float(value), digits) if isinstance(value, float | int) else ""


def count(weight: float) -> str:
    """Return a number of rows, which may be a weight."""
    return f"{weight:.6g}"


def probability(p: float) -> str:
    """Return a probability: three decimals, more digits near 0 and 1."""
    return f"{p:.3f}" if 0.0005 <= p < 0.9995 else f"{p:.3g}"
