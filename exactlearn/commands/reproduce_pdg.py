"""``exactlearn reproduce pdg``: learning of decision graphs, beside the published figures."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from math import isnan
from typing import Any

from exactlearn.commands.declarations import Reproduce
from exactlearn.errors import OptionError
from exactlearn.reporting.curves import CurvesFigure
from exactlearn.reporting.report import number, plain_table
from exactlearn.reproduce.dense_network import dense
from exactlearn.reproduce.incomplete import table1
from exactlearn.reproduce.random_tables import random
from exactlearn.reproduce.rows import LANGUAGES, Match, NamedFigure, Row, matches, published
from exactlearn.reproduce.runner import Setup, Shown, Tables, check_names
from exactlearn.reproduce.thesis import data, logic, models
from exactlearn.reproduce.thesis_hybrid import hybrid, smoothing, sweeps, synthetic
from exactlearn.reproduce.thesis_languages import languages, languages_synthetic

Rows = Callable[[Setup], Iterator[Row | NamedFigure]]
"""Yields the rows of a table, or of several, and figures."""

STUDIES: Mapping[str, Rows] = {
    "logic": logic,
    "models": models,
    "data": data,
    "smoothing": smoothing,
    "languages": languages,
    "languages-synthetic": languages_synthetic,
    "hybrid": hybrid,
    "synthetic": synthetic,
    "table1": table1,
    "dense": dense,
    "sweeps": sweeps,
    "random": random,
}
"""THESIS, Tables 4.3, 5.1 to 5.11 and A.1 to A.13; PDG-SEM, Table 1 and section 6."""

_THESIS, _PDG_SEM = published("thesis")["notes"], published("pdg_sem")["notes"]

NOTES: Mapping[str, str] = {
    **{table: f"{note} {_THESIS['bits']}" for table, note in _THESIS.items() if table in STUDIES},
    **_PDG_SEM,
}
"""What a reader must know beside each table."""

_COLUMNS: Mapping[str, tuple[str, int]] = {
    "n": ("repetitions", 0),
    "train": ("train_log_likelihood", 3),
    "paper\ntrain": ("published_train", 3),
    "test": ("log_likelihood", 3),
    "±": ("deviation", 3),
    "paper\ntest": ("published", 3),
    "size": ("size", 0),
    "paper\nsize": ("published_size", 0),
    "p": ("p_value", 4),
    "paper\np": ("published_p", 4),
    "µs": ("microseconds", 1),
    "paper\nµs": ("published_microseconds", 0),
    "CPU s": ("seconds", 1),
}
"""Columns of numbers: what they hold, and digits after the point (of p: in all)."""


def graph_tables(options: Reproduce, setup: Setup) -> Tables:
    """Return what repeats the chosen tables, and what shows our figures beside the published."""
    chosen = _chosen(options.tables)
    rows: list[Row] = []
    figures: dict[str, CurvesFigure] = {}

    def repeat() -> None:
        for table in chosen:
            for found in STUDIES[table](setup):
                if isinstance(found, NamedFigure):
                    figures[found.name] = found.figure
                else:
                    rows.append(found)
        if not (rows or setup.record.left):
            raise OptionError(
                f"--only: no experiment of {', '.join(chosen)} has {options.only!r} in its name"
            )

    def shown() -> Shown:
        notes = [f"{table}: {NOTES[table]}" for table in chosen]
        found = list(matches(rows))
        record = {
            "rows": [asdict(row) for row in rows],
            "comparison": [_match_record(match) for match in found],
            "notes": notes,
        }
        return Shown(record, [*_tables(rows), *_comparison(found), *notes], figures)

    return Tables(repeat, shown)


def _match_record(match: Match) -> dict[str, Any]:
    return {
        "table": match.table,
        "experiment": match.experiment,
        "methods": {language: row.method for language, row in match.best.items()},
        "winner": match.winner,
        "ahead": match.ahead,
        "smallest": match.smallest,
    }


def _comparison(found: Sequence[Match]) -> Iterator[Any]:
    """Print the log-likelihood of rows not learnt from, and the sizes."""
    if not found:
        return
    won = {language: sum(m.winner == language for m in found) for language in LANGUAGES}
    yield (
        f"Who wins: decision graphs are most likely on rows not learnt from in {won['PDG']} of "
        f"{len(found)} comparisons, networks in {won['BN']}, naive Bayes in {won['NB']}; decision "
        f"graphs are smallest in {sum(m.smallest == 'PDG' for m in found)}. Of several kinds of "
        "decision graphs the most likely one is shown."
    )
    for table in dict.fromkeys(match.table for match in found):
        yield _matches_table(table, [match for match in found if match.table == table])
        yield ""


def _matches_table(table: str, found: Sequence[Match]) -> Any:
    """Return a table with a line for each comparison, likelihood and size of each language."""
    shown = [language for language in LANGUAGES if any(language in m.best for m in found)]
    numbers = [head for language in shown for head in (language, "size")]
    cells = []
    for match in found:
        rows = [match.best.get(language) for language in shown]
        pairs = [
            (number(row.log_likelihood, 3), number(row.size, 0)) if row else ("", "")
            for row in rows
        ]
        ends = (match.winner, number(match.ahead, 3), match.smallest)
        cells.append((match.experiment, *(cell for pair in pairs for cell in pair), *ends))
    head = (table, *numbers, "most likely", "by", "smallest")
    return plain_table(head, cells, right=(*numbers, "by"))


def _chosen(tables: Sequence[str] | None) -> Sequence[str]:
    chosen = tables or list(STUDIES)
    check_names("--tables", "table", chosen, STUDIES)
    return chosen


def _tables(rows: Sequence[Row]) -> Iterator[Any]:
    """Print each table with the columns that it has figures in."""
    for table in dict.fromkeys(row.table for row in rows):
        own = [row for row in rows if row.table == table]
        yield _side_by_side(table, own) if own[0].column else _one_by_one(table, own)
        yield ""


def _one_by_one(table: str, rows: Sequence[Row]) -> Any:
    """Return a table with a line for each row."""
    numbers = {
        head: (key, digits)
        for head, (key, digits) in _COLUMNS.items()
        if any(_tells(key, getattr(row, key)) for row in rows)
    }
    texts = ("verdict",) if any(row.verdict for row in rows) else ()
    cells = (
        (
            row.experiment,
            row.method,
            *(_figure(key, getattr(row, key), digits) for key, digits in numbers.values()),
            *(getattr(row, text) for text in texts),
        )
        for row in rows
    )
    return plain_table((table, "method", *numbers, *texts), cells, right=tuple(numbers))


def _tells(key: str, value: float | None) -> bool:
    """Return whether a figure says anything: it is known, and more than one repetition."""
    return value is not None and not isnan(value) and (key, value) != ("repetitions", 1)


def _figure(key: str, value: float | None, digits: int) -> str:
    """Return a figure; of a probability its first digits, however small it is."""
    probability = value is not None and key in ("p_value", "published_p")
    return f"{value:.{digits}g}" if probability else number(value, digits)


def _side_by_side(table: str, rows: Sequence[Row]) -> Any:
    """Return a table with a line for each experiment and method, its settings side by side."""
    columns = tuple(dict.fromkeys(row.column for row in rows))
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        deviation = number(row.deviation, 2)
        text = number(row.log_likelihood, 3) + (f"±{deviation}" if deviation else "")
        lines.setdefault((row.experiment, row.method), {})[row.column] = text
    cells = (
        (*line, *(settings.get(column, "") for column in columns))
        for line, settings in lines.items()
    )
    return plain_table((table, "method", *columns), cells, right=columns)
