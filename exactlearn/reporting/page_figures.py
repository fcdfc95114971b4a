"""The page's section on records without a section of their own: comparisons, tests, sweeps."""

from collections.abc import Mapping, Sequence
from typing import Any

from exactlearn.reporting.markup import MOST_ROWS, Markup, facts, table, tag
from exactlearn.reporting.page_content import PageContent

OWN_SECTIONS = {"status", "parents", "completion", "posterior", "queries", "effective_size"}
"""Keys of the records that other sections show."""


def figures_section(found: PageContent) -> Any:
    """Return all of a record that no other section shows, but for how it was made."""
    record = {key: value for key, value in found.record.items() if key != "made_by"}
    return _figures(record) if record and not OWN_SECTIONS & record.keys() else None


def _figures(record: Mapping[str, Any]) -> list[Markup]:
    parts = [facts(**{key: text for key, value in record.items() if (text := _text(value))})]
    for key, value in record.items():
        rows = _rows(value)
        inner = [_table(rows)] if rows else _figures(value) if isinstance(value, dict) else []
        if any(inner):
            parts += [tag("h3", key.replace("_", " ").capitalize()), *inner]
    return parts


def _rows(value: Any) -> list[Mapping[str, Any]]:
    """Return the rows of a list of objects, or of an object of objects or numbers."""
    if isinstance(value, list):
        return value if all(isinstance(one, dict) for one in value) else []
    if isinstance(value, dict) and all(isinstance(one, dict) for one in value.values()):
        return [{"name": key, **one} for key, one in value.items()]
    if isinstance(value, dict) and all(isinstance(one, int | float) for one in value.values()):
        return [{"name": key, "value": one} for key, one in value.items()]
    return []


def _table(rows: Sequence[Mapping[str, Any]]) -> Markup:
    columns = list(dict.fromkeys(key for row in rows for key, value in row.items() if _text(value)))
    numbers = [c for c in columns if all(not isinstance(row.get(c), str | list) for row in rows)]
    if columns == ["name"]:
        return Markup("")
    cells = [[_text(row.get(column)) for column in columns] for row in rows[:MOST_ROWS]]
    heads = {column: column.replace("_", " ") for column in columns}
    right = [heads[column] for column in numbers]
    return table(list(heads.values()), cells, right=right, total=len(rows), class_="sortable")


def _text(value: Any) -> str:
    """Return a value in a few letters; nothing for objects and lists of them."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list) and not any(isinstance(one, dict) for one in value):
        is_nested = any(isinstance(one, list) for one in value)
        return ("; " if is_nested else ", ").join(map(_text, value))
    return "" if value is None or isinstance(value, dict | list) else str(value)
