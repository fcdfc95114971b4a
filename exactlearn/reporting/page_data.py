"""The page's section on the data: types, states, rare states and missing cells."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_patterns import missingness_patterns
from exactlearn.reporting.markup import MOST_ROWS, Markup, bar, count, quiet, table, tag
from exactlearn.reporting.page_content import PageContent

MOST_PATTERNS, MOST_COLUMNS = 20, 40
"""Most patterns of missing cells, and most variables of their picture."""


def data_section(found: PageContent) -> Any:
    """Return types, states, rare states and missing cells of the table."""
    data = found.data
    if data is None:
        return None
    rows = [_variable_row(data, v) for v in range(min(data.n_variables, MOST_ROWS))]
    columns = ("variable", "type", "states", "most frequent", "rarest", "missing")
    variables = table(columns, rows, right=("states",), total=data.n_variables, class_="sortable")
    return [variables, None if data.complete_rows.all() else _patterns(data)]


def state_counts(data: Dataset, v: int) -> tuple[NDArray[np.float64], float]:
    """Return the weight of the rows with each state of a variable, and the share of the missing."""
    counts: NDArray[Any] = np.bincount(
        data.codes[:, v] + 1, data.row_weights, len(data.states[v]) + 1
    )
    return counts[1:], float(counts[0] / max(counts.sum(), 1e-300))  # code -1 is missing


def _variable_row(data: Dataset, v: int) -> list[Any]:
    """Return name, type, number of states, the most frequent and the rarest state, missing."""
    states, (counts, missing) = data.states[v], state_counts(data, v)
    total = max(float(counts.sum()), 1e-300)
    most, least = int(np.argmax(counts)), int(np.argmin(counts))
    kind = "bins of a number" if data.names[v] in data.edges else "states"
    rare = f"{states[least]}: {count(counts[least])}"
    return [
        data.names[v],
        "constant" if len(states) < 2 else kind,
        len(states),
        bar(counts[most] / total, f"{states[most]}: {100 * counts[most] / total:.3g} %"),
        tag("span", rare, class_="warn") if counts[least] < 5 else rare,
        bar(missing, f"{100 * missing:.3g} %") if missing else "none",
    ]


def _patterns(data: Dataset) -> list[Markup]:
    """Return the picture of the most frequent patterns of missing cells."""
    found = missingness_patterns(data)
    shown = np.sort(np.argsort(-found.rates, kind="stable")[:MOST_COLUMNS])
    missing, weights = found.missing[:MOST_PATTERNS][:, shown], found.weights[:MOST_PATTERNS]
    names = [tag("span", found.names[v]) for v in shown]
    cells = [
        tag("td", class_="there", title="observed"),
        tag("td", class_="gone", title="missing"),
    ]
    rows = [
        [
            *(cells[gone] for gone in row),
            bar(weight / found.total, f"{count(weight)} ({100 * weight / found.total:.3g} %)"),
        ]
        for row, weight in zip(missing.tolist(), weights.tolist(), strict=True)
    ]
    text = (
        f"{len(found.weights)} patterns of missing cells; {count(found.complete)} of "
        f"{count(found.total)} rows are complete. Filled: missing."
    )
    if len(found.weights) > len(rows) or len(found.names) > len(names):
        text += f" Shown: the {len(rows)} most frequent, {len(names)} variables."
    grid = table([*names, "rows"], rows, class_="patterns")
    return [tag("h3", "Which cells are missing together"), quiet(text), grid]
