"""The page's sections on results: summary, answers, cells, alternatives, search, proof."""

from collections.abc import Mapping, Sequence
from math import exp, isfinite
from shlex import join
from typing import Any

from exactlearn.reporting.drawing import with_posteriors
from exactlearn.reporting.markup import (
    MOST_ROWS,
    Markup,
    facts,
    folded,
    posterior_table,
    printed_table,
    quiet,
    table,
    tag,
)
from exactlearn.reporting.page_content import PageContent
from exactlearn.reporting.page_models import drawing_of, legend, picture
from exactlearn.reporting.report import (
    STATUS,
    completion_table,
    held_out_table,
    number,
    percent,
    profile_table,
)
from exactlearn.reporting.trace import shown_range

MOST_CELLS = 500
"""Most completed cells."""

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
        score=number(record.get("score")),
        bound=number(record.get("bound")),
        gap=percent(record.get("gap")),
        seconds=number(record.get("seconds"), 2),
        table=data and f"{data.n_rows} rows of {data.n_variables} variables",
        missing_cells=data and len(data.missing_cells),
        completed_rightly=percent(record.get("imputation_accuracy")),
        arcs=sum(map(len, found.parents.values())) if found.parents else "",
        reversible_arcs=len(found.reversible) if found.parents else "",
    )
    reason = record.get("reason")
    return shown and [shown, tag("p", reason) if reason else None]


def answers_section(found: PageContent) -> Any:
    """Return the posteriors, in the picture of the network where there is one."""
    parts = []
    options = (found.record.get("made_by") or {}).get("options") or {}
    known = {**(options.get("evidence") or {}), **(options.get("soft") or {})}
    own = {"evidence": known, "posterior": found.record.get("posterior")}
    asked = [own] if isinstance(own["posterior"], dict) else []
    for k, answer in enumerate(found.entries("queries") or asked, 1):
        given, posterior = answer.get("evidence") or {}, answer["posterior"]
        evidence = ", ".join(f"{name} = {state}" for name, state in given.items())
        parts.append(tag("h3", f"Given {evidence}" if evidence else "Marginals"))
        if found.parents:
            observed = {name: {str(state): 1.0} for name, state in given.items()}
            plain = drawing_of(found, found.parents)
            drawing = with_posteriors(plain, posterior, observed)
            parts.append(picture(drawing, f"posterior {k}", legend(drawing)))
        parts.append(posterior_table(posterior, bool(found.parents)))
    return parts


def cells_section(found: PageContent) -> Any:
    """Return the completed cells; numbered from 1, with losses and posteriors where known."""
    profile, cells = found.entries("profile"), found.entries("completion")
    if not profile and not cells:
        return None
    shown = profile_table(profile[:MOST_CELLS]) if profile else completion_table(cells[:MOST_CELLS])
    meanings = [
        quiet(f"{key.replace('_', ' ').capitalize()}: {meaning}.")
        for key in ("posterior", "probability", "loss_of_next_best")
        if isinstance(meaning := found.record.get(key), str)
    ]
    return [printed_table(shown, total=len(profile or cells)), meanings]


def alternatives_section(found: PageContent) -> Any:
    """Return the best networks and the averaged one, and how each differs from the first."""
    listed = found.entries("networks") or found.entries("best")
    if second := found.record.get("runner_up"):
        listed = [{"score": found.record["score"], "parents": found.record["parents"]}, second]
    parts = []
    if len(listed) > 1:
        note = found.record.get("bayes_factor")
        scored = [(one["score"], _arcs(one.get("parents", {}))) for one in listed]
        parts = [quiet(f"Difference: {note}." if note else ""), networks_table(scored)]
    return [*parts, *_averaged(found)]


def networks_table(listed: Sequence[tuple[float, set[tuple[str, str]]]]) -> Markup:
    """Return the table of networks, given by scores and arcs, beside the first one."""
    best, arcs = listed[0] if listed else (0.0, set())
    rows = [
        [
            rank,
            number(score),
            number(score - best),
            f"{exp(min(0.0, score - best)):.3g}",
            _listed(own - arcs),
            _listed(arcs - own),
        ]
        for rank, (score, own) in enumerate(listed[:MOST_ROWS], 1)
    ]
    head = ("rank", "score", "difference", "relative weight", "arcs more", "arcs fewer")
    return table(head, rows, right=head[:4], total=len(listed), class_="sortable")


def _averaged(found: PageContent) -> list[Markup]:
    """Return the averaged network of bootstrap samples, and how it differs from the best one."""
    bootstrap = found.record.get("bootstrap")
    if not bootstrap or not found.parents:
        return []
    own, best = _arcs(bootstrap["averaged"]), _arcs(found.parents)
    text = (
        f"Averaged network of {bootstrap['replicates']} bootstrap samples (edges of strength above "
        f"{number(bootstrap['threshold'])}): arcs more: {_listed(own - best) or 'none'}; "
        f"arcs fewer: {_listed(best - own) or 'none'}."
    )
    drawing = drawing_of(found, bootstrap["averaged"], bootstrap.get("reversible", ()))
    return [
        tag("h3", "Averaged network"),
        tag("p", text),
        picture(drawing, "averaged network", legend(drawing, found.strength_key)),
    ]


def _arcs(parents: Mapping[str, Sequence[str]]) -> set[tuple[str, str]]:
    return {(p, v) for v, family in parents.items() for p in family}


def _listed(arcs: set[tuple[str, str]]) -> str:
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
    rows = [[number(t, 2), number(score), number(bound)] for t, score, bound in points[:MOST_ROWS]]
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
    text = PROOFS.get(str(record.get("status")), "Nothing is proven but the bound.")
    if gap := record.get("gap"):
        text += f" No network scores more than the bound; the gap is {percent(gap)}."
    if counts := record.get("counts"):
        text += f" Cells are missing: score and bound are those of {counts} counts."
    written = record.get("certificate") or (made_by.get("options") or {}).get("certificate")
    if written:
        check = tag("code", f"exactlearn verify {written} SCORES")
        return [
            tag("p", text),
            tag("p", f"Certificate: {written}. ", check, " checks it with exact numbers."),
        ]
    if list(made_by.get("command", ()))[1:2] != ["solve"]:
        return tag("p", text)  # no other search writes certificates
    command = tag("code", "exactlearn solve --certificate FILE")
    return [tag("p", text), tag("p", "No certificate was written; ", command, " writes one.")]


def held_out_section(found: PageContent) -> Any:
    """Return the log-likelihood of rows that the models were not learned from."""
    record = found.record.get("held_out")
    return record and printed_table(held_out_table(record))


def made_section(found: PageContent) -> Any:
    """Return version, command, options and files that the result was made by."""
    made_by = found.record.get("made_by")
    if not made_by:
        return None
    shown = facts(
        version=f"exactlearn {made_by.get('version')}",
        **{key: made_by.get(key) for key in ("seed", "time", "python", "platform")},
    )
    inputs = [
        [one["name"], one.get("rows"), one.get("columns"), tag("code", hash_[:16], title=hash_)]
        for one in (*made_by.get("data", ()), *made_by.get("inputs", ()))
        for hash_ in [one.get("sha256") or ""]
    ]
    options = [[key, tag("code", str(value))] for key, value in made_by.get("options", {}).items()]
    rerun = tag("code", "exactlearn rerun")
    return [
        tag("pre", tag("code", join(made_by.get("command", ())))),
        shown,
        table(("file", "rows", "columns", "SHA-256"), inputs) if inputs else None,
        folded("All options", table(("option", "value"), options)),
        tag("p", "The command ", rerun, " repeats it and compares the answers.", class_="quiet"),
    ]
