"""The page's sections on results: summary, answers, cells, alternatives, search, proof."""

from collections.abc import Mapping, Sequence
from math import exp, isfinite
from shlex import join
from typing import Any

from exactlearn.reporting.markup import (
    MOST_ROWS,
    Markup,
    decimals,
    facts,
    folded,
    posterior_table,
    quiet,
    table,
    tag,
)
from exactlearn.reporting.page_content import PageContent
from exactlearn.reporting.report import STATUS, percent
from exactlearn.reporting.trace import shown_range

MOST_CELLS = 500
"""Most completed cells."""

CELL_KEYS = {
    "row": "row",
    "line": "line",
    "variable": "variable",
    "value": "value",
    "posterior": "posterior",
    "probability": "posterior",
    "next_best": "next best value",
    "loss_of_next_best": "its loss",
    "at_least": "at least",
}
"""Columns of the table of completed cells by the keys of a cell."""

PROOFS = {
    "optimal": "The network is proven optimal for the score and the constraints.",
    "t-local": "No change of so many cells improves the solution; a better one is not ruled out.",
    "heuristic": "Nothing is proven.",
}
"""What the status of a search proves."""


def summary_section(found: PageContent) -> Any:
    """Return how the search ended, and sizes."""
    record = found.record
    status = record.get("status")
    data = found.data
    shown = facts(
        status=status and tag("strong", STATUS.get(status, status), class_=f"status {status}"),
        score=decimals(record.get("score")),
        bound=decimals(record.get("bound")),
        gap=percent(record.get("gap")),
        seconds=decimals(record.get("seconds"), 2),
        table=data and f"{data.n_rows} rows of {data.n_variables} variables",
        missing_cells=data and len(data.missing_cells),
        completed_rightly=percent(record.get("imputation_accuracy")),
        arcs=sum(map(len, found.parents.values())) if found.parents else "",
        reversible_arcs=len(found.reversible) if found.parents else "",
    )
    reason = record.get("reason")
    return shown and [shown, tag("p", reason) if reason else None]


def answers_section(found: PageContent) -> Any:
    """Return the posteriors."""
    parts = []
    own = [found.record] if isinstance(found.record.get("posterior"), dict) else []
    for answer in found.entries("queries") or own:
        given = answer.get("evidence") or {}
        evidence = ", ".join(f"{name} = {state}" for name, state in given.items())
        parts.append(tag("h3", f"Given {evidence}" if evidence else "Marginals"))
        parts.append(posterior_table(answer["posterior"], MOST_ROWS))
    return parts


def cells_section(found: PageContent) -> Any:
    """Return the completed cells; numbered from 1, with losses and posteriors where known."""
    cells = found.entries("profile") or found.entries("completion")
    if not cells:
        return None
    shown = [_cell(cell) for cell in cells[:MOST_CELLS]]
    keys = [key for key in CELL_KEYS if any(cell.get(key) is not None for cell in shown)]
    rows = [[_told(cell.get(key)) for key in keys] for cell in shown]
    head = [CELL_KEYS[key] for key in keys]
    right = ("row", "line", "posterior", "its loss", "at least")
    listed = table(head, rows, right=right, total=len(cells), class_="sortable")
    meanings = [
        quiet(f"{CELL_KEYS[key].capitalize()}: {meaning}.")
        for key in keys
        if isinstance(meaning := found.record.get(key), str)
    ]
    return [listed, meanings]


def _cell(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return a cell as the page's table has it, with the next best value of a profile."""
    own = {**cell, "row": cell["row"] + 1}
    if others := cell.get("others"):
        own |= {"next_best": others[0]["value"], "loss_of_next_best": others[0]["loss"]}
        own["at_least"] = others[0].get("at_least")
    return own


def _told(value: Any) -> str:
    return decimals(value) if isinstance(value, float) else "" if value is None else str(value)


def alternatives_section(found: PageContent) -> Any:
    """Return the best networks and the averaged one, and how each differs from the first."""
    listed = found.entries("networks") or found.entries("best")
    if second := found.record.get("runner_up"):
        listed = [{"score": found.record["score"], "parents": found.record["parents"]}, second]
    averaged = _averaged_told(found)
    if len(listed) < 2:
        return averaged
    arcs = [_arcs(one.get("parents", {})) for one in listed]
    rows = [
        [
            rank,
            decimals(one["score"]),
            decimals(one["score"] - listed[0]["score"]),
            f"{exp(min(0.0, one['score'] - listed[0]['score'])):.3g}",
            _arcs_told(own - arcs[0]),
            _arcs_told(arcs[0] - own),
        ]
        for rank, (one, own) in enumerate(zip(listed[:MOST_ROWS], arcs, strict=False), 1)
    ]
    head = ("rank", "score", "difference", "relative weight", "arcs more", "arcs fewer")
    note = found.record.get("bayes_factor")
    compared = table(head, rows, right=head[:4], total=len(listed), class_="sortable")
    return [quiet(f"Difference: {note}." if note else ""), compared, averaged]


def _averaged_told(found: PageContent) -> Markup | None:
    """Return how the averaged network of bootstrap samples differs from the one shown."""
    bootstrap = found.record.get("bootstrap")
    if not bootstrap or not found.parents:
        return None
    own, shown = _arcs(bootstrap["averaged"]), _arcs(found.parents)
    return tag(
        "p",
        f"Averaged network of {bootstrap['replicates']} bootstrap samples (edges of strength above "
        f"{decimals(bootstrap['threshold'])}): arcs more: {_arcs_told(own - shown) or 'none'}; "
        f"arcs fewer: {_arcs_told(shown - own) or 'none'}.",
    )


def _arcs(parents: Mapping[str, Sequence[str]]) -> set[tuple[str, str]]:
    return {(p, v) for v, family in parents.items() for p in family}


def _arcs_told(arcs: set[tuple[str, str]]) -> str:
    return ", ".join(f"{p} → {v}" for p, v in sorted(arcs))


def search_section(found: PageContent) -> Any:
    """Return score and bound over time."""
    points = [point for point in found.trace if isfinite(point[1]) or isfinite(point[2])]
    if not points:
        return None
    keys = [
        tag("span", "score of the best network so far", class_="key score"),
        tag("span", "proven bound", class_="key bound"),
    ]
    rows = [
        [decimals(t, 2), decimals(score), decimals(bound)] for t, score, bound in points[:MOST_ROWS]
    ]
    head = ("seconds", "score", "bound")
    listed = table(head, rows, right=head, total=len(points))
    picture = _trace_picture(points, float(found.record.get("seconds") or 0.0))
    return [picture, tag("p", keys, class_="quiet"), folded("As a table", listed)]


def _trace_picture(points: Sequence[tuple[float, float, float]], seconds: float) -> Markup:
    """Return score and bound over time as a step line each.

    The first bounds, which are far from what follows, are drawn at the upper edge.
    """
    end = max(points[-1][0], seconds)
    drawn = [*points, (end, *points[-1][1:])]
    low, high = shown_range(drawn)
    spread, last = high - low or 1.0, end or 1.0
    left, right, top, bottom = 10.0, 630.0, 16.0, 220.0

    def line(k: int) -> str:
        steps = [
            f"H{left + (right - left) * p[0] / last:.1f}"
            f"V{bottom - (bottom - top) * (min(p[k], high) - low) / spread:.1f}"
            for p in drawn
            if isfinite(p[k])
        ]
        return "".join(steps).replace("H", "M", 1).replace("V", ",", 1)

    bounds = [bound for _, _, bound in drawn if isfinite(bound)]
    texts = [
        (left, top - 4, "start", f"{high:.6g}"),
        (left, bottom + 16, "start", "0 s"),
        (right, bottom + 16, "end", f"{last:.3g} s"),
        (left, bottom - 4, "start", f"{low:.6g}"),
    ]
    if bounds and bounds[0] > high:
        texts.append((right, top - 4, "end", f"the bound begins at {bounds[0]:.6g}"))
    parts = [
        tag("path", d=f"M{left},{bottom}H{right}M{left},{top}H{right}", class_="axis"),
        tag("path", d=line(2), class_="bound"),
        tag("path", d=line(1), class_="score"),
        *(tag("text", text, x=x, y=y, text_anchor=anchor) for x, y, anchor, text in texts),
    ]
    label = f"Score and bound over {last:.3g} seconds"
    return tag("svg", parts, viewBox="0 0 640 240", class_="trace", role="img", aria_label=label)


def proof_section(found: PageContent) -> Any:
    """Return what is proven, and where the proof is."""
    record, made_by = found.record, found.record.get("made_by") or {}
    if record.get("bound") is None and "certificate" not in record:
        return None
    gap = record.get("gap")
    text = PROOFS.get(str(record.get("status")), "Nothing is proven but the bound.")
    if gap:
        text = f"{text} No network scores more than the bound; the gap is {percent(gap)}."
    if record.get("counts"):
        text = f"{text} Cells are missing: score and bound are those of {record['counts']} counts."
    written = record.get("certificate") or (made_by.get("options") or {}).get("certificate")
    if not written:
        command = tag("code", "exactlearn solve --certificate FILE")
        return [tag("p", text), tag("p", "No certificate was written; ", command, " writes one.")]
    command = tag("code", f"exactlearn verify {written} SCORES")
    checked = " checks it with exact numbers, apart from the search."
    return [tag("p", text), tag("p", f"Certificate: {written}. ", command, checked)]


def held_out_section(found: PageContent) -> Any:
    """Return the log-likelihood of rows that the models were not learned from."""
    rows = [
        [
            name.replace("_", " "),
            one["rows"],
            decimals(one["log_likelihood_per_row"]) or "minus infinity",
        ]
        for name, one in (found.record.get("held_out") or {}).items()
    ]
    head = ("model", "rows", "log-likelihood per row")
    return table(head, rows, right=head[1:]) if rows else None


def made_section(found: PageContent) -> Any:
    """Return version, command, options and files that the result was made by."""
    made_by = found.record.get("made_by")
    if not made_by:
        return None
    shown = facts(
        version=f"exactlearn {made_by.get('version')}",
        **{key: made_by.get(key) for key in ("seed", "time", "python", "platform")},
    )
    files_read = [
        [
            *(one.get(key) for key in ("name", "rows", "columns")),
            tag("code", (one.get("sha256") or "")[:16], title=one.get("sha256")),
        ]
        for one in (*made_by.get("data", ()), *made_by.get("inputs", ()))
    ]
    options = [[key, tag("code", str(value))] for key, value in made_by.get("options", {}).items()]
    rerun = tag("code", "exactlearn rerun")
    return [
        tag("pre", tag("code", join(made_by.get("command", ())))),
        shown,
        table(("file", "rows", "columns", "SHA-256"), files_read) if files_read else None,
        folded("All options", table(("option", "value"), options)),
        tag("p", "The command ", rerun, " repeats it and compares the answers.", class_="quiet"),
    ]
