"""The page of results: whole, escaped, bounded, and used in a browser as a reader would."""

import json
import os
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import exactlearn as el
from exactlearn import BayesianNetwork, Dataset
from exactlearn.errors import FormatError, OptionError
from exactlearn.reporting.page import PageContent, page
from tests.command_line import run, run_json

EVIL = "<script>alert('1')</script>\"&"


class _Outline(HTMLParser):
    """Elements that are left open, ids, section titles and all text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.titles, self.text, self.tags = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for key, value in attrs if key == "id"]
        if tag not in ("meta", "link", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)
        if self.open[-1:] == ["h2"]:
            self.titles.append(data)


def outline(text):
    found = _Outline(text)
    assert found.open == []
    assert len(set(found.ids)) == len(found.ids)
    return found


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Results of some commands, by name."""
    at = tmp_path_factory.mktemp("results")
    run("run", "cancer", "-o", at / "run")
    run("solve", "asia-mnar-complete", "--best", 4, "-o", at / "solve")
    run("augment", "cancer-mcar", "--best", 2, "-o", at / "augment")
    run("impute", "cancer-mcar", "-o", at / "impute")
    for name in ("solve", "augment", "impute"):
        run("report", at / name)
    return at


def test_a_run_writes_its_page_with_every_section_it_has(folders):
    text = (folders / "run" / "report.html").read_text(encoding="utf-8")
    assert outline(text).titles == [
        *(
            "Network",
            "Summary",
            "Data",
            "Completed cells",
            "Decision graph",
            "Refinement",
        ),
        *("Step 1: query", "Search", "How it was made"),
    ]
    record = json.loads((folders / "run" / "result.json").read_text())
    for told in (
        record["made_by"]["inputs"][-1]["sha256"],
        "exactlearn run cancer",
        "300 rows",
    ):
        assert told in text
    cells = text[text.index('id="completed-cells"') :]
    rows = re.findall(r"<tr>(<td.*?)</tr>", cells, re.DOTALL)
    for cell, row in zip(record["completion"], rows, strict=False):
        assert re.findall(">([^<>]+)</td>", row) == [
            *(str(cell["row"] + 1), str(cell["line"]), cell["variable"], cell["value"]),
            *(
                f"{cell['posterior']:.6g}",
                cell["next_best"],
                f"{cell['loss_of_next_best']:.4f}",
            ),
        ]


@pytest.mark.parametrize(
    ("name", "there", "lacking"),
    [
        ("solve", {"Data", "Network", "Best networks", "Search"}, {"Completed cells"}),
        (
            "augment",
            {"Data", "Network", "Best solutions", "Completed cells"},
            {"Decision graph"},
        ),
        ("impute", {"Data", "Completed cells"}, {"Network", "Search"}),
    ],
)
def test_sections_are_those_of_the_folder(folders, name, there, lacking):
    titles = set(
        outline((folders / name / "report.html").read_text(encoding="utf-8")).titles
    )
    assert there <= titles
    assert not lacking & titles


def test_the_support_of_arcs_is_in_picture_and_table(folders):
    text = (folders / "solve" / "report.html").read_text(encoding="utf-8")
    record = json.loads((folders / "solve" / "result.json").read_text())
    assert "Width: probability of the edge, over all networks." in text
    assert f"{record['support'][0]['adjacency_probability']:.6g}" in text
    for key in ("probability", "class_probability", "mass"):
        assert f"{record[key]:.6g}" in text
    assert "exactly this network among all that the options allow" in text
    assert "strength 1.00</title>" in text


def test_strengths_of_a_bootstrap_are_widths(tmp_path):
    run("solve", "cancer-mcar", "--ess", 1, "--bootstrap", 5, "-o", tmp_path / "own")
    record = json.loads((tmp_path / "own" / "result.json").read_text())
    text = (tmp_path / run_json("report", tmp_path / "own")["page"]).read_text(
        encoding="utf-8"
    )
    assert {"Bootstrap", "Averaged network"} <= set(outline(text).titles)
    assert "Width: share of bootstrap samples with the edge." in text
    shares = {
        frozenset((arc["parent"], arc["child"])): arc["edge_strength"]
        for arc in record["bootstrap"]["arcs"]
    }
    for v, family in record["parents"].items():
        for p in family:
            if (share := shares.get(frozenset((p, v)))) is not None:
                assert f"<title>{p} → {v}, strength {share:.2f}" in text


def test_the_averaged_network_is_drawn_with_strengths_as_widths(tmp_path):
    run("solve", "asia-mnar-complete", "--bootstrap", 5, "-o", tmp_path / "strengths")
    bootstrap = json.loads((tmp_path / "strengths" / "result.json").read_text())[
        "bootstrap"
    ]
    run("report", tmp_path / "strengths")
    text = (tmp_path / "strengths" / "report.html").read_text(encoding="utf-8")
    picture = text[text.index('id="averaged-network"') :]
    edges = {
        frozenset((arc["parent"], arc["child"])): arc["edge_strength"]
        for arc in bootstrap["arcs"]
    }
    arcs = [(p, v) for v, family in bootstrap["averaged"].items() for p in family]
    assert len(arcs) > 0
    for arc in arcs:
        title = f"<title>{' → '.join(arc)}, strength {edges[frozenset(arc)]:.2f}"
        assert title in picture
    assert picture.count('class="arc"') == len(arcs)
    assert "Width: share of bootstrap samples with the edge." in picture


def test_states_that_are_numbers_do_not_look_like_proportions():
    data = Dataset(
        np.array([[0, 1], [1, 1], [1, 0], [1, 1]]), ("a", "b"), (("0", "1"),) * 2
    )
    network = el.fit_complete(data, [(), (0,)])
    text = page(PageContent("numbers", {}, data, network, el.compile_network(network)))
    assert "0: 25\N{NO-BREAK SPACE}%, 1: 75\N{NO-BREAK SPACE}%" in text
    assert "0: 1 row<" in text
    assert ">0: 0.278</tspan>" in text  # (1 + 1 / 4) / 4.5, by the pseudo-counts
    assert '<td class="given">1</td>' in text


def test_a_posterior_is_drawn_in_the_network_that_was_asked(tmp_path):
    (tmp_path / "own.json").write_text(
        run("query", "asia", "--evidence", "smoke=yes", "--json")
    )
    text = Path(run_json("report", tmp_path / "own.json")["page"]).read_text(
        encoding="utf-8"
    )
    answers = text[text.index('id="posterior"') :]
    posterior = el.query(el.read_network("asia"), {"smoke": "yes"}).posterior
    assert answers.count('class="share" x=') == 1 + sum(map(len, posterior.values()))
    assert "Yellow: observed or set." in answers


def test_a_lone_record_and_models_give_what_they_hold(folders, tmp_path):
    shutil.copy(folders / "run" / "model.pdg.json", tmp_path / "model.pdg.json")
    shutil.copy(folders / "run" / "network.bif", tmp_path / "network.bif")
    shutil.copy(folders / "solve" / "result.json", tmp_path / "own.json")
    found = {}
    for name in ("model.pdg.json", "network.bif", "own.json"):
        path = run_json("report", tmp_path / name)["page"]
        found[name] = outline(Path(path).read_text(encoding="utf-8")).titles
    assert found["model.pdg.json"] == ["Decision graph"]
    assert found["network.bif"] == ["Network"]
    network = (tmp_path / "network.html").read_text(encoding="utf-8")
    reversible = json.loads((folders / "run" / "result.json").read_text())["reversible"]
    assert len(reversible) > 0
    assert network.count('stroke-dasharray="5 3"') == len(reversible)
    assert found["own.json"][:3] == ["Network", "Summary", "Data"]


COMMANDS = {
    "solve cancer-mcar-complete --solver ges": ("Classes", "Cancer - Dyspnoea"),
    "query asia --evidence smoke=yes": ("probability of evidence", "bronc"),
    "query asia --best 2": ("Explanations",),
    "compile asia": ("effective size", "clique tree size"),
    "compare cancer-mcar --learners chow-liu,independent --folds 2": (
        "chow-liu",
        "independent",
    ),
    "compare cancer-mcar --methods mode --hide mcar:2": ("accuracy", "mode", " ± "),
    "evaluate cancer cancer-mcar": ("log likelihood per row",),
    "missingness cancer-mcar": ("Recommendation", "Verdict", "p value"),
    "graph cancer": ("v structures", "class size", "Smoker → Cancer"),
}


@pytest.mark.parametrize("words", COMMANDS)
def test_records_of_all_kinds_are_told(words, tmp_path):
    record = tmp_path / "own.json"
    record.write_text(run(*words.split(), "--json"))
    text = (tmp_path / run_json("report", record)["page"]).read_text(encoding="utf-8")
    assert "How it was made" in outline(text).titles
    for told in COMMANDS[words]:
        assert told in text


def test_a_table_that_has_changed_is_not_shown(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a,b\n0,1\n1,0\n1,1\n")
    run("solve", table, "-o", tmp_path / "own")
    table.write_text("a,b\n0,1\n")
    notes = run_json("report", tmp_path / "own")["notes"]
    assert notes == [
        "Not all is shown: table.csv is not there any more, or has changed."
    ]
    assert notes[0] in (tmp_path / "own" / "report.html").read_text(encoding="utf-8")


def test_what_cannot_be_told_is_refused(tmp_path):
    network = tmp_path / "network.bif"
    el.write_model(
        el.fit_complete(Dataset(np.zeros((1, 1), int), ["a"], ["xy"]), [()]), network
    )
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "changed.json").write_text('{"parents": {"a": 3}, "made_by": "me"}')
    faults = ("none", OptionError), (".", OptionError)
    for source, error in (
        *faults,
        ("list.json", FormatError),
        ("changed.json", FormatError),
    ):
        with pytest.raises(error):
            el.report(tmp_path / source, tmp_path / "page.html")
    with pytest.raises(OptionError, match=r"\.html"):
        el.report(network, tmp_path / "page.pdf")


def test_a_learned_network_has_a_page(tmp_path):
    data = Dataset(
        np.array([[0, 0], [1, 1], [1, -1], [0, 0]]), ("a", "b"), (("no", "yes"),) * 2
    )
    el.report(el.learn(data), tmp_path / "page.html")
    titles = outline((tmp_path / "page.html").read_text(encoding="utf-8")).titles
    assert titles[:3] == ["Network", "Summary", "Data"]


def evil_content():
    """Every text that comes from outside is hostile."""
    names, states = (EVIL, "b"), ((EVIL, "x"), ("y", EVIL))
    data = Dataset(np.array([[0, 0], [1, -1], [0, 1]]), names, states)
    network = BayesianNetwork(
        names, states, ((), (0,)), (np.full(2, 0.5), np.full((2, 2), 0.5))
    )
    parents = {EVIL: [], "b": [EVIL]}
    record = {
        "status": EVIL, "reason": EVIL, "score": -1.0, "bound": -1.0, "parents": parents,
        "reversible": [[EVIL, "b"]], "bayes_factor": EVIL, "certificate": EVIL,
        "support": [{"parent": EVIL, "child": "b", "support": 1.0, "adjacency_weight": 1.0}],
        "completion": [{"row": 1, "variable": EVIL, "value": EVIL, "probability": 0.5}],
        "networks": [{"score": -1.0, "parents": parents}, {"score": -2.0, "parents": {"b": []}}],
        "steps": [{"command": "query", "evidence": {EVIL: EVIL}, "posterior": {EVIL: {EVIL: 1.0}}}],
        "held_out": {EVIL: {"rows": 1, "log_likelihood_per_row": -1.0, "impossible_rows": []}},
        "made_by": {"command": [EVIL], "version": EVIL, "options": {EVIL: EVIL},
                    "data": [{"name": EVIL, "sha256": EVIL}]},
    }  # fmt: skip
    graph = el.compile_network(network)
    return PageContent(
        EVIL,
        record,
        data,
        network,
        graph,
        [(0.1, -2.0, -1.0), (0.2, -1.0, -1.0)],
        [EVIL],
    )


def test_names_and_states_are_escaped_everywhere():
    text = page(evil_content())
    found = outline(text)
    assert "<script>alert" not in text
    compared = page(
        PageContent("x", {EVIL: EVIL, "rows": [{EVIL: EVIL}], "each": {EVIL: 1}})
    )
    assert {"Rows", "Each"} <= set(outline(compared).titles)
    assert "<script>alert" not in compared
    assert found.tags.count("script") == 1  # the page's own
    assert sum(EVIL in part for part in found.text) > 20


def test_large_tables_and_networks_keep_the_page_small():
    n, rows = 300, 2000
    draws = np.random.default_rng(0)
    codes = draws.integers(-1, 4, (rows, n))
    names = tuple(f"variable {v}" for v in range(n))
    states = tuple(tuple(f"state {s}" for s in range(4)) for _ in range(n))
    data = Dataset(codes, names, states)
    parents = tuple(tuple(range(max(0, v - 4), v)) for v in range(n))
    tables = tuple(np.full((4,) * (len(family) + 1), 0.25) for family in parents)
    network = BayesianNetwork(names, states, parents, tables)
    completion = [
        {"row": int(row), "variable": names[v], "value": "state 0"}
        for row, v in data.missing_cells
    ]
    text = page(PageContent("large", {"completion": completion}, data, network))
    assert len(text) < 3_000_000
    assert f"First 200 of {n}." in text
    assert f"First 500 of {len(completion)}." in text
    assert "First 48 of 256 rows, 4 of 4 states." in text


@pytest.mark.parametrize(
    ("bounds", "top", "is_cut"),
    [((-10.0, -98.0, -98.5), "-96.25", True), ((-97.0, -98.0, -98.5), "-97", False)],
)
def test_first_bounds_do_not_flatten_the_picture_of_a_search(bounds, top, is_cut):
    trace = list(zip((1.0, 2.0, 3.0), (-100.0, -99.0, -98.5), bounds, strict=True))
    text = page(PageContent("search", {"seconds": 4.0}, trace=trace))
    assert f">{top}</text>" in text
    assert ("the bound begins at -10<" in text) == is_cut
    heights = [float(y) for y in re.findall(r"V([\d.]+)", text)]
    assert min(heights) >= 16.0


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium: that of CHROMIUM, or the one on the path."""
    playwright = pytest.importorskip(
        "playwright.sync_api",
        reason="playwright drives the browser: pip install playwright",
    )
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("CHROMIUM") or next(
        filter(None, map(shutil.which, names)), None
    )
    if found is None:
        pytest.skip(
            f"no browser: none of {', '.join(names)} is installed, and CHROMIUM is not set"
        )
    quiet = ("background-networking", "component-update", "sync")
    arguments = [
        "--no-sandbox",
        "--headless",
        "--disable-gpu",
        *(f"--disable-{one}" for one in quiet),
    ]
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=found, args=arguments)
        yield launched
        launched.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a page; at the end nothing was complained about, and nothing was loaded."""
    complaints, loaded = [], []

    def open_page(text, width=1280, **options):
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        view = browser.new_page(viewport={"width": width, "height": 900}, **options)
        view.on("console", lambda message: complaints.append(message.text))
        view.on("pageerror", lambda error: complaints.append(str(error)))
        view.on("dialog", lambda dialog: complaints.append(dialog.message))
        view.on("request", lambda request: loaded.append(request.url))
        view.goto(path.as_uri())
        return view

    yield open_page
    assert complaints == []
    assert len(loaded) == 1


def the_run(folders):
    return (folders / "run" / "report.html").read_text(encoding="utf-8")


def test_a_variable_shows_its_table_on_hover_focus_and_tap(opened, folders):
    view = opened(the_run(folders))
    panel, box = view.locator("#network .panel"), view.locator("#network .box")
    assert panel.is_hidden()
    box.filter(has_text="Xray").hover()
    assert panel.locator("h4").inner_text() == "P(Xray | Cancer)"
    box.filter(has_text="Pollution").focus()
    assert panel.locator("h4").inner_text() == "P(Pollution)"
    assert view.locator("#network .arc.on").count() == 0
    box.filter(has_text="Cancer").click()
    assert panel.locator("h4").inner_text().startswith("P(Cancer")
    assert view.locator("#network .arc.on").count() == 3
    view.keyboard.press("Escape")
    assert panel.is_hidden()


def test_zoom_find_sort_and_filter(opened, folders):
    view = opened(the_run(folders))
    svg = view.locator("#network svg")
    width = float(svg.get_attribute("width"))
    view.locator("#network").get_by_label("Zoom in").click()
    assert float(svg.get_attribute("width")) == pytest.approx(1.25 * width)
    view.locator("#network").get_by_text("Fit").click()
    view.locator("#network .find").fill("smoker")
    view.locator("#network .find").press("Enter")
    assert view.locator("#network .panel h4").inner_text().startswith("P(Smoker")
    cells = view.locator("#completed-cells")
    cells.get_by_role("button", name="variable").click()
    column = cells.locator("tbody td:nth-child(3)").all_inner_texts()
    assert column == sorted(column)
    cells.get_by_role("button", name="variable").click()
    assert (
        cells.locator("tbody td:nth-child(3)").all_inner_texts() == sorted(column)[::-1]
    )
    cells.get_by_label("Filter rows").fill("xray")
    assert set(cells.locator("tbody tr:visible td:nth-child(3)").all_inner_texts()) == {
        "Xray"
    }


@pytest.mark.parametrize(("width", "pixels"), [(1280, 1), (390, 3)])
def test_a_large_network_opens_whole(opened, width, pixels):
    """A variable that the reader searches for is shown at a legible size."""
    n = 60
    parents = tuple((v - 4,) if v >= 4 else () for v in range(n))
    states, names = ((("no", "yes"),) * n), tuple(f"variable{v}" for v in range(n))
    tables = tuple(np.full((2,) * (len(family) + 1), 0.5) for family in parents)
    text = page(
        PageContent("large", network=BayesianNetwork(names, states, parents, tables))
    )
    view = opened(text, width=width, device_scale_factor=pixels)
    fits = "c => c.scrollWidth <= c.clientWidth && c.scrollHeight <= c.clientHeight"
    assert view.locator("#network .canvas").evaluate(fits)
    letters = "b => b.getBoundingClientRect().height"
    label = view.locator("#network .box text").last
    assert label.evaluate(letters) >= 4
    view.locator("#network .find").fill(names[-1])
    view.locator("#network .find").press("Enter")
    assert label.evaluate(letters) >= 9


def test_the_keyboard_reaches_sections_and_boxes(opened, folders):
    view = opened(the_run(folders))
    view.keyboard.press("Tab")
    assert view.evaluate("document.activeElement.className") == "skip"
    view.keyboard.press("Tab")
    assert view.evaluate("document.activeElement.textContent") == "Network"
    view.keyboard.press("Enter")
    view.wait_for_url("**#network")
    for _ in range(20):
        view.keyboard.press("Tab")
        if view.evaluate("document.activeElement.matches('#network .box')"):
            break
    assert view.locator("#network .panel").is_visible()
    name = "document.activeElement.querySelector('tspan').textContent"
    seen = {view.evaluate(name)}
    for key in (
        "ArrowLeft",
        "ArrowDown",
        "ArrowRight",
        "ArrowUp",
        "ArrowDown",
        "ArrowDown",
    ):
        view.keyboard.press(key)
        seen.add(view.evaluate(name))
    assert len(seen) >= 4
    view.keyboard.press("Tab")  # all boxes are one stop
    assert not view.evaluate(
        "document.activeElement.matches('#network .canvas, #network .box')"
    )
    view.keyboard.press("Shift+Tab")
    assert view.evaluate("document.activeElement.matches('#network .box')")


def test_the_arcs_of_a_focused_box_are_as_wide_as_before(opened, folders):
    view = opened((folders / "solve" / "report.html").read_text(encoding="utf-8"))
    width = "all => all.map(one => parseFloat(getComputedStyle(one).strokeWidth))"
    arcs = view.locator("#network .arc path")
    before = arcs.evaluate_all(width)
    assert max(before) > 3
    for box in view.locator("#network .box").all():
        box.focus()
        assert arcs.evaluate_all(width) == before


def test_a_table_of_more_than_15_rows_scrolls_visibly(opened, folders):
    view = opened(the_run(folders))
    table = view.locator("#completed-cells .wide")
    cut = "t => [t.scrollHeight > t.clientHeight + 100, t.clientHeight < innerHeight / 1.5]"
    assert table.evaluate(cut) == [True, True]
    assert "linear-gradient" in table.evaluate(
        "t => getComputedStyle(t).backgroundImage"
    )
    assert view.get_by_text("30 rows: the table scrolls.").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_scrolls_down_only_and_text_has_contrast(opened, folders, scheme):
    view = opened(the_run(folders), width=390, color_scheme=scheme, has_touch=True)
    assert view.evaluate("document.documentElement.scrollWidth") <= 390
    view.locator("#network .box").nth(1).tap()
    assert view.locator("#network .panel").is_visible()
    assert view.evaluate("document.documentElement.scrollWidth") <= 390
    assert view.evaluate(CONTRASTS) >= 4.5


CONTRASTS = """() => {
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((x) => {
      const part = x / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!colour.endsWith(", 0)")) return colour;
    }
  };
  const kinds = "p, a, dt, dd, h1, h2, h3, h4, td, th, code, summary, strong";
  const texts = [...document.querySelectorAll(kinds)];
  return Math.min(...texts.filter((one) => one.checkVisibility() && one.textContent).map((one) => {
    const [a, b] = [light(getComputedStyle(one).color), light(ground(one))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  }));
}"""
"""Least ratio of contrast of texts and their grounds (WCAG 2.1, 1.4.3)."""


def test_hostile_names_do_nothing_in_a_browser(opened):
    view = opened(page(evil_content()))
    for box in view.locator(".box").all():
        box.focus()
    assert view.locator("script").count() == 1


def test_everything_is_there_without_the_script(opened, folders):
    view = opened(the_run(folders), java_script_enabled=False)
    assert view.locator("#network .box").count() == 5
    assert view.locator("#completed-cells tbody tr").count() == 30
