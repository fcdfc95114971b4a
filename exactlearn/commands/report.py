"""``exactlearn report``: one HTML page on the results in a folder, a record or a model."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import exactlearn as el
from exactlearn._runtime.argument_kinds import refusal
from exactlearn._runtime.files import atomic_write, suffix_of
from exactlearn.commands.declarations import Report
from exactlearn.commands.outcome import read_trace
from exactlearn.commands.output import Answer, Output, require_suffix
from exactlearn.commands.provenance import files_read, record_in, sha256
from exactlearn.commands.repeat import made_with, read_record
from exactlearn.commands.sections import Reading
from exactlearn.commands.steps import declared, read_runs
from exactlearn.commands.tables import load
from exactlearn.errors import FormatError, OptionError
from exactlearn.formats.models import FORMATS, NETWORKS
from exactlearn.queries.model_graphs import Model
from exactlearn.reporting.page import PageContent, page
from exactlearn.structure.learned_network import LearnedNetwork

PAGE = "report.html"
"""Name of a folder's page."""


def run(options: Report, output: Output) -> Answer:
    """Run the command."""
    source = options.source
    is_file = source.is_file()
    if output.path is None and source.exists() and not source.is_dir() and not is_file:
        raise OptionError(
            f"{source}: no page lies beside a pipe or a device; name one with -o"
        )
    # The page lies in the folder, or beside the file, unless it is named.
    beside = source / PAGE if source.is_dir() else source.parent / f"{source.stem}.html"
    path = output.path or beside
    if options.normalise and suffix_of(source) not in NETWORKS:
        raise OptionError(
            f"--normalise is for the file of a network, found {source}; leave it out"
        )
    content = _write(source, path, normalise=options.normalise)
    output.wrote(path)
    return Answer(record={"page": str(path), "notes": list(content.notes)})


def report(
    result: LearnedNetwork | el.BayesianNetwork | el.DecisionGraph | Path | str,
    path: Path | str,
    *,
    normalise: bool = False,
) -> None:
    """Write one HTML page on a result.

    Parameters
    ----------
    result
        The result of :func:`exactlearn.learn`, a model, or the folder, record or model file that a
        command wrote.
    path
        The page to write, ``.html``.
    normalise
        Divide each row of the tables in a network's file by its sum.

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
    source = Path(result) if isinstance(result, str) else result
    _write(source, Path(path), normalise=normalise)


def write_page(folder: Path, output: Output) -> None:
    """Write the page of a folder's results into it."""
    _write(folder, folder / PAGE)
    output.detail(f"Wrote {folder / PAGE}")


def _write(result: Any, path: Path, *, normalise: bool = False) -> PageContent:
    """Write the page of a result; return its content."""
    require_suffix(path, (".html",))
    content = page_content(result, normalise=normalise)
    # a record that a hand has changed may break its description anywhere
    try:
        text = page(content)
    except DAMAGES:
        if not isinstance(result, Path) or not (key := _damaged_key(content)):
            raise
        record = record_in(result) if result.is_dir() else result
        raise FormatError(
            f"{record}, key '{key}': expected a record as a command's -o writes it, found another "
            "value there; remove the key, or run the command again"
        ) from None
    # a name of a file may have bytes that are no text
    atomic_write(path, text.encode(errors="backslashreplace"))
    return content


DAMAGES = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Errors of the code that describes a record, where a hand has changed the record."""


def _damaged_key(content: PageContent) -> str:
    """Return the first key of a record with which there is no page; empty if there is none."""
    record: dict[str, Any] = {}
    for key, value in content.record.items():
        record[key] = value
        try:
            page(replace(content, record=record))
        except DAMAGES:
            return key
    return ""


def page_content(source: Any, *, normalise: bool = False) -> PageContent:
    """Return the content of the page of a result: in memory, or in a folder or a file.

    Raises
    ------
    ArgumentError
        When it is none of these.
    OptionError
        When there is no such file or folder.
    FormatError
        When a record or model does not follow its format.
    """
    # What is in memory needs no files; whatever is left is to be a path.
    match source:
        case LearnedNetwork():
            return PageContent(
                "Learned network", source.to_dict(), source.dataset, source.network
            )
        case el.BayesianNetwork() | el.DecisionGraph():
            return PageContent("Model", **_of_model(source))
        case Path():
            pass
        case _:
            raise refusal(
                "result",
                "a learned network, a model, or the path of a folder, record or model",
                source,
                "learn from a table with learn(table)",
            )
    if not source.exists():
        raise OptionError(
            f"{source}: no such file or folder; give what a command wrote with -o"
        )
    if source.is_file() and suffix_of(source) in FORMATS:
        return PageContent(
            source.name, **_of_model(el.read_model(source, normalise=normalise))
        )
    # A folder is read artifact by artifact, a record by its JSON.
    notes: list[str] = []
    content = (_of_folder if source.is_dir() else _of_record)(source, notes)
    return PageContent(**content, notes=tuple(notes))


def _of_folder(folder: Path, notes: list[str]) -> dict[str, Any]:
    """Return the content of the page of a folder, as fields of `PageContent`."""
    record = record_in(folder)
    run = folder / "run.toml"
    if not record.is_file() and not run.is_file():
        raise OptionError(
            f"{folder}: expected {record.name} in it, as commands write it into a folder with "
            "--output FOLDER; name the record or the model itself"
        )
    content: dict[str, Any] = {"title": folder.name}
    if record.exists():
        content = _of_record(record, notes)
    # models and trace stand beside the record
    for name in (*(f"network{suffix}" for suffix in NETWORKS), "model.pdg.json"):
        if (folder / name).is_file():
            content |= _of_model(el.read_model(folder / name))
    if (folder / "trace.csv").is_file():
        content["trace"] = read_trace(folder / "trace.csv")
    if run.is_file():
        # the table of the run, and its title
        with _noting(notes):
            ((_, table),) = read_runs(run)
            sections = declared(table)
            content["title"] = sections.title or content["title"]
            if sections.pipeline:
                content["data"] = load(sections.data.file, sections.data)
    return content


def _of_record(path: Path, notes: list[str]) -> dict[str, Any]:
    """Return a record with the table or the model that it names, if that has not changed."""
    record = read_record(path)
    if not isinstance(record, dict):
        raise FormatError(
            f"{path}: expected the record of a command, an object, found a list"
        )
    content: dict[str, Any] = {"title": path.stem, "record": record}
    if not record.get("made_by"):
        notes.append(
            "The record does not say how it was made: an older version wrote it."
        )
        return content
    # with the answer to a query stands the model, else the table
    has_answer = isinstance(record.get("posterior"), dict)
    with _noting(notes):
        made, options = made_with(record, path)
        content["title"] = shlex.join(made.command[:3])
        files = files_read(options)
        for read in made.inputs:
            is_table = read.rows is not None
            if read.option not in ("data", "source") or is_table == has_answer:
                continue
            # a file that has changed is not what the record is of
            file = files.get(read.option)
            if file is None or sha256([file]) != read.sha256:
                raise OptionError(f"{read.name} is not there any more, or has changed.")
            if has_answer:
                is_normalised = getattr(options, "normalise", False)
                content |= _of_model(el.read_model(file, normalise=is_normalised))
            elif isinstance(options, Reading):
                content["data"] = load(file, options)
    return content


@contextmanager
def _noting(notes: list[str]) -> Iterator[None]:
    """Note why a table cannot be shown."""
    try:
        yield
    except el.ExactlearnError as error:
        notes.append(f"Not all is shown: {error}")


def _of_model(model: Model) -> dict[str, Any]:
    """Return a model as the field of `PageContent` for its kind."""
    return {"graph" if isinstance(model, el.DecisionGraph) else "network": model}
