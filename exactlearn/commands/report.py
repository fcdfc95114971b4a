"""``exactlearn report``: one HTML page on the results in a folder, a record or a model."""

import csv
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from exactlearn._runtime.arguments import refusal
from exactlearn._runtime.files import atomic_write, read_json, suffix_of
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands.declarations import Report
from exactlearn.commands.output import Answer, Output, require_suffix
from exactlearn.commands.provenance import files_read, record_in, sha256
from exactlearn.commands.repeat import made_with
from exactlearn.commands.sections import Reading
from exactlearn.commands.steps import declared, read_runs
from exactlearn.commands.tables import load
from exactlearn.errors import ExactlearnError, FormatError, OptionError
from exactlearn.formats.models import FORMATS, NETWORKS, read_model
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.reporting.page import PageContent, page
from exactlearn.structure.learning import LearnedNetwork

PAGE = "report.html"
"""Name of a folder's page."""


def run(options: Report, output: Output) -> Answer:
    """Run the command."""
    source = options.source
    if not source.exists():
        raise OptionError(f"{source}: no such file or folder; give what a command wrote with -o")
    beside = source / PAGE if source.is_dir() else source.parent / f"{source.stem}.html"
    path = output.path or beside
    require_suffix(path, (".html",))
    found = page_content(source)
    atomic_write(path, page(found))
    output.wrote(path)
    return Answer(record={"page": str(path), "notes": list(found.notes)})


def report(
    result: LearnedNetwork | BayesianNetwork | DecisionGraph | Path | str, path: Path | str
) -> None:
    """Write one HTML page on a result.

    Parameters
    ----------
    result
        What :func:`exactlearn.learn` returned, a model, or the folder, record or model file that a
        command wrote.
    path
        The page to write, ``.html``.

    Raises
    ------
    OptionError
        When there is no such file or folder, or the page cannot be written.
    FormatError
        When a record or model does not follow its format.

    Examples
    --------
    >>> import exactlearn as el
    >>> from tempfile import TemporaryDirectory
    >>> table = el.Dataset([[0, 0], [1, 1], [1, -1]], ("smoke", "lung"), (("no", "yes"),) * 2)
    >>> with TemporaryDirectory() as folder:
    ...     el.report(el.learn(table), Path(folder) / "smoke.html")
    """
    if isinstance(result, Path | str):
        run(Report(source=Path(result)), Output(path=Path(path), quiet=True))
        return
    require_suffix(Path(path), (".html",))
    atomic_write(Path(path), page(_of_object(result)))


def _of_object(result: LearnedNetwork | BayesianNetwork | DecisionGraph) -> PageContent:
    if isinstance(result, LearnedNetwork):
        return PageContent("Learned network", result.to_dict(), result.dataset, result.network)
    if not isinstance(result, BayesianNetwork | DecisionGraph):
        expected = "a learned network, a model, or the path of a folder, record or model"
        raise refusal("result", expected, result, "learn from a table with learn(table)")
    title = "Decision graph" if isinstance(result, DecisionGraph) else "Bayesian network"
    return _with_model(PageContent(title), result)


def write_page(folder: Path, output: Output) -> None:
    """Write the page of a folder's results into it, or say why there is none."""
    atomic_write(folder / PAGE, page(page_content(folder)))
    output.detail(f"Wrote {folder / PAGE}")


def page_content(source: Path) -> PageContent:
    """Return what a folder, a record or a model file holds.

    Raises
    ------
    FormatError
        When a record or model does not follow its format.
    """
    if source.is_dir():
        return _of_folder(source)
    if suffix_of(source) in FORMATS:
        return _with_model(PageContent(source.name), read_model(source))
    return _of_record(source)


def _of_folder(folder: Path) -> PageContent:
    record, run = record_in(folder), folder / "run.toml"
    if not record.is_file() and not run.is_file():
        raise OptionError(
            f"{folder}: expected {record.name} in it, as commands write it into a folder with "
            "--output FOLDER; name the record or the model itself"
        )
    found = _of_record(record) if record.is_file() else PageContent(folder.name)
    for name in (*(f"network{suffix}" for suffix in NETWORKS), "model.pdg.json"):
        if (folder / name).is_file():
            found = _with_model(found, read_model(folder / name))
    if (folder / "trace.csv").is_file():
        found = replace(found, trace=_read_trace(folder / "trace.csv"))
    return _trying(found, _with_run, run) if run.is_file() else found


def _with_run(found: PageContent, path: Path) -> PageContent:
    """Add the title and the table of a run, of which the folder has a copy."""
    ((_, table),) = read_runs(path)
    run = declared(table)
    found = replace(found, title=run.title or found.title)
    return _trying(found, _with_table, Path(run.data.file), run.data) if run.pipeline else found


def _of_record(path: Path) -> PageContent:
    """Return what a record tells, with the table that it names, where that is unchanged."""
    record = read_json(path)
    if not isinstance(record, dict):
        raise FormatError(f"{path}: expected the record of a command, an object, found a list")
    words = (record.get("made_by") or {}).get("command") or []
    if not words:
        note = "The record does not say how it was made: an older version wrote it."
        return PageContent(path.stem, record, notes=(note,))
    return _trying(PageContent(shlex.join(words[:3]), record), _with_files, path)


def _with_files(found: PageContent, path: Path) -> PageContent:
    """Add the table that was read, or the model that answered."""
    made_by = found.record["made_by"]
    options = made_with(made_by, path)[1]
    answers = isinstance(found.record.get("posterior"), dict)
    for one in made_by["inputs" if answers else "data"]:
        if one.get("option") not in ("data", "source"):
            continue
        file = files_read(options).get(one["option"])
        if file is None or sha256([file]) != one["sha256"]:
            note = f"No table is shown: {one['name']} is not there any more, or has changed."
            return _noted(found, note.replace("table", "network") if answers else note)
        if answers:
            return _with_model(found, read_model(file))
        if isinstance(options, Reading):
            return _with_table(found, file, options)
    return found


def _trying(found: PageContent, add: Callable[..., PageContent], *given: Any) -> PageContent:
    """Return the content with what is added to it, or with a note why that cannot be read."""
    try:
        return add(found, *given)
    except ExactlearnError as error:
        return _noted(found, f"No table is shown: {error}")


def _with_table(found: PageContent, path: Path, reading: Reading) -> PageContent:
    return replace(found, data=load(path, reading))


def _with_model(found: PageContent, model: Any) -> PageContent:
    return replace(found, **{"graph" if isinstance(model, DecisionGraph) else "network": model})


def _noted(found: PageContent, note: str) -> PageContent:
    return replace(found, notes=(*found.notes, note))


def _read_trace(path: Path) -> list[tuple[float, float, float]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        return [(float(r["seconds"]), float(r["score"]), float(r["bound"])) for r in rows]
