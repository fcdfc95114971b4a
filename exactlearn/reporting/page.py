"""One HTML page on what was found: data, network, decision graph, search and how it was made.

The page is one file: styles, script and pictures are in it, and it asks nothing of a network.
Without its script everything is there but the conditional tables on hover, zoom and sorting.
"""

from collections.abc import Callable
from typing import Any

from exactlearn.reporting.markup import asset, tag
from exactlearn.reporting.page_content import PageContent
from exactlearn.reporting.page_data import data_section
from exactlearn.reporting.page_figures import figures_section
from exactlearn.reporting.page_models import decision_graph_section, network_section
from exactlearn.reporting.page_results import (
    alternatives_section,
    answers_section,
    cells_section,
    held_out_section,
    made_section,
    proof_section,
    search_section,
    summary_section,
)

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
"""The browser's own guard that the page loads nothing."""

SECTIONS: dict[str, Callable[[PageContent], Any]] = {
    "Summary": summary_section,
    "Results": figures_section,
    "Data": data_section,
    "Network": network_section,
    "Decision graph": decision_graph_section,
    "Answers": answers_section,
    "Completed cells": cells_section,
    "Alternatives": alternatives_section,
    "Search": search_section,
    "Proof": proof_section,
    "Rows not learned from": held_out_section,
    "How it was made": made_section,
}
"""The sections of a page, in order, by title: elements, or nothing where there is none."""


def page(found: PageContent) -> str:
    """Return the page.

    Examples
    --------
    >>> text = page(PageContent("Two <b>", record={"status": "optimal", "reason": "<b>"}))
    >>> text.count("&lt;b&gt;"), "<b>" in text
    (3, False)
    """
    made = [(title, own) for title, section in SECTIONS.items() if (own := section(found))]
    ids = {title: title.lower().replace(" ", "-") for title, _ in made}
    links = [tag("a", title, href=f"#{ids[title]}") for title, _ in made]
    parts = [
        tag("section", tag("h2", title), body, id=ids[title], tabindex=-1) for title, body in made
    ]
    notes = [tag("p", note, class_="note") for note in found.notes]
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("link", rel="icon", href="data:,"),
        tag("title", f"{found.title} - exactlearn"),
        tag("style", asset("tables.css"), asset("page.css")),
    ]
    content = [
        tag("a", "Skip to the results", href="#main", class_="skip"),
        tag("header", tag("h1", found.title), notes),
        tag("nav", links, aria_label="Sections"),
        tag("main", parts, id="main"),
        tag("script", asset("page.js")),
    ]
    body = tag("body", content, class_="exactlearn")
    return f'<!doctype html>\n<html lang="en">{tag("head", head)}\n{body}</html>\n'
