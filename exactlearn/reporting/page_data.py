"""The page's section on the data: types, states, rare states and missing cells."""

from typing import Any

import numpy as np

from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_patterns import missingness_patterns
from exactlearn.reporting.markup import MOST_ROWS, Markup, bar, quiet, table, tag
from exactlearn.reporting.page_content import PageContent

MOST_STATES, MOST_PATTERNS, MOST_COLUMNS = 6, 20, 40
"""Most states of a variable, most patterns of missing cells, and variables of their picture."""


def data_section(found: PageContent) -> Any:
    """Return types, states, rare states and missing cells of the table."""
    data = found.data
    if data is None:
        return None
    return [variables_table(data), None if data.complete_rows.all() else _patterns(data)]


def variables_table(data: Dataset, most: int = MOST_ROWS) -> Markup:
    """Return the table of the first variables: states, shares, the rarest state, missing cells."""
    columns = ("variable", "type", "states", "shares", "rarest", "missing")
    rows = [_variable_row(data, v) for v in range(min(data.n_variables, most))]
    return table(columns, rows, right=("states",), total=data.n_variables, class_="sortable")


def _variable_row(data: Dataset, v: int) -> list[Any]:
    states = data.states[v]
    weights = np.bincount(data.codes[:, v] + 1, data.row_weights, len(states) + 1)
    counts = weights[1:]  # code -1 is missing
    missing = float(weights[0] / max(weights.sum(), 1e-300))
    shares = (counts / max(counts.sum(), 1e-300))[:MOST_STATES].tolist()
    listed = [f"{state} {p:.3g}" for state, p in zip(states, shares, strict=False)]
    listed += [f"{len(states) - MOST_STATES} more"] * (len(states) > MOST_STATES)
    least = int(np.argmin(counts))
    rare = f"{states[least]}: {counts[least]:.6g}"
    kind = "bins of a number" if data.names[v] in data.edges else "states"
    return [
        data.names[v],
        "constant" if len(states) < 2 else kind,
        len(states),
        ", ".join(listed),
        tag("span", rare, class_="warn") if counts[least] < 5 else rare,
        bar(missing, f"{100 * missing:.3g} %") if missing else "none",
    ]


def _patterns(data: Dataset) -> list[Markup]:
    """Return the picture of the most frequent patterns of missing cells."""
    found = missingness_patterns(data)
    shown = np.sort(np.argsort(-found.rates, kind="stable")[:MOST_COLUMNS])
    missing, weights = found.missing[:MOST_PATTERNS][:, shown], found.weights[:MOST_PATTERNS]
    names = [tag("span", found.names[v]) for v in shown]
    cells = [tag("td", class_="there", title="observed"), tag("td", class_="gone", title="missing")]
    rows = [
        [*(cells[gone] for gone in row), bar(share, f"{weight:.6g} ({100 * share:.3g} %)")]
        for row, weight in zip(missing.tolist(), weights.tolist(), strict=True)
        for share in [weight / found.total]
    ]
    text = (
        f"{len(found.weights)} patterns of missing cells; {found.complete:.6g} of "
        f"{found.total:.6g} rows are complete. Filled: missing."
    )
    if len(found.weights) > len(rows) or len(found.names) > len(names):
        text += f" Shown: the {len(rows)} most frequent, {len(names)} variables."
    grid = table([*names, "rows"], rows, class_="patterns")
    return [tag("h3", "Which cells are missing together"), quiet(text), grid]
