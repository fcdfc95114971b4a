"""``exactlearn report``: one HTML page on the results in a folder, a record or a model."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import exactlearn as el
from exactlearn._runtime.argument_kinds import refusal
from exactlearn._runtime.files import atomic_write, read_json, suffix_of
from exactlearn.commands.declarations import Report
from exactlearn.commands.outcome import read_trace
from exactlearn.commands.output import Answer, Output, require_suffix
from exactlearn.commands.provenance import files_read, record_in, sha256
from exactlearn.commands.repeat import made_with
from exactlearn.commands.sections import Reading
from exactlearn.commands.steps import declared, read_runs
from exactlearn.commands.tables import load
from exactlearn.errors import FormatError, OptionError
from exactlearn.formats.content import RECORD, expecting
from exactlearn.formats.models import FORMATS, NETWORKS
from exactlearn.queries.posteriors import Model
from exactlearn.reporting.page import PageContent, page
from exactlearn.structure.learning import LearnedNetwork

PAGE = "report.html"
"""Name of a folder's page."""


def run(options: Report, output: Output) -> Answer:
    """Run the command."""
    source = options.source
    if (
        output.path is None
        and source.exists()
        and not source.is_dir()
        and not source.is_file()
    ):
        raise OptionError(
            f"{source}: no page lies beside a pipe or a device; name one with -o"
        )
    beside = source / PAGE if source.is_dir() else source.parent / f"{source.stem}.html"
    path = output.path or beside
    if options.normalise and not (source.is_file() and suffix_of(source) in NETWORKS):
        raise OptionError(
            f"--normalise is for the file of a network, found {source}; leave it out"
        )
    found = _write(source, path, normalise=options.normalise)
    output.wrote(path)
    return Answer(record={"page": str(path), "notes": list(found.notes)})


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
        What :func:`exactlearn.learn` returned, a model, or the folder, record or model file that a
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
    require_suffix(path, (".html",))
    found = page_content(result, normalise=normalise)
    try:
        text = page(found)
    except DAMAGES:
        if not isinstance(result, Path) or not (key := _damaged_key(found)):
            raise
        record = record_in(result) if result.is_dir() else result
        raise FormatError(
            f"{record}, key '{key}': expected a record as a command's -o writes it, found another "
            "value there; remove the key, or run the command again"
        ) from None
    atomic_write(path, text.encode(errors="backslashreplace"))  # of names of files
    return found


DAMAGES = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What a record that was changed by hand makes of the code that describes it."""


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
    """Return what a result, a model, or a folder, a record or a model file holds.

    Raises
    ------
    ArgumentError
        When it is none of these.
    OptionError
        When there is no such file or folder.
    FormatError
        When a record or model does not follow its format.
    """
    if isinstance(source, LearnedNetwork):
        return PageContent(
            "Learned network", source.to_dict(), source.dataset, source.network
        )
    if isinstance(source, el.BayesianNetwork | el.DecisionGraph):
        return PageContent("Model", **_shown(source))
    if not isinstance(source, Path):
        expected = (
            "a learned network, a model, or the path of a folder, record or model"
        )
        raise refusal(
            "result", expected, source, "learn from a table with learn(table)"
        )
    if not source.exists():
        raise OptionError(
            f"{source}: no such file or folder; give what a command wrote with -o"
        )
    if source.is_file() and suffix_of(source) in FORMATS:
        return PageContent(
            source.name, **_shown(el.read_model(source, normalise=normalise))
        )
    record, run = record_in(source) if source.is_dir() else source, source / "run.toml"
    if source.is_dir() and not record.is_file() and not run.is_file():
        raise OptionError(
            f"{source}: expected {record.name} in it, as commands write it into a folder with "
            "--output FOLDER; name the record or the model itself"
        )
    notes = list[str]()
    found: dict[str, Any] = {"title": source.name}
    if record.exists():
        found = _of_record(record, notes)
    for name in (*(f"network{suffix}" for suffix in NETWORKS), "model.pdg.json"):
        if (source / name).is_file():
            found |= _shown(el.read_model(source / name))
    if (source / "trace.csv").is_file():
        found["trace"] = read_trace(source / "trace.csv")
    if run.is_file():
        with _noting(notes):
            ((_, table),) = read_runs(run)
            own = declared(table)
            found["title"] = own.title or found["title"]
            if own.pipeline:
                found["data"] = load(own.data.file, own.data)
    return PageContent(**found, notes=tuple(notes))


def _of_record(path: Path, notes: list[str]) -> dict[str, Any]:
    """Return what a record tells, with the table or the model that it names, if unchanged."""
    with expecting(path, RECORD):
        record = read_json(path)
    if not isinstance(record, dict):
        raise FormatError(
            f"{path}: expected the record of a command, an object, found a list"
        )
    found: dict[str, Any] = {"title": path.stem, "record": record}
    if not (made_by := record.get("made_by")):
        notes.append(
            "The record does not say how it was made: an older version wrote it."
        )
        return found
    has_answer = isinstance(record.get("posterior"), dict)
    with _noting(notes):
        made = made_with(made_by, path)
        found["title"] = shlex.join(made.command[:3])
        for read in made.inputs:
            if read.option not in ("data", "source") or has_answer == (
                read.rows is not None
            ):
                continue
            file = files_read(made.declared).get(read.option)
            if file is None or sha256([file]) != read.sha256:
                raise OptionError(f"{read.name} is not there any more, or has changed.")
            if has_answer:
                is_normalised = getattr(made.declared, "normalise", False)
                found |= _shown(el.read_model(file, normalise=is_normalised))
            elif isinstance(made.declared, Reading):
                found["data"] = load(file, made.declared)
    return found


@contextmanager
def _noting(notes: list[str]) -> Iterator[None]:
    """Note why a table cannot be shown."""
    try:
        yield
    except el.ExactlearnError as error:
        notes.append(f"Not all is shown: {error}")


def _shown(model: Model) -> dict[str, Any]:
    return {"graph" if isinstance(model, el.DecisionGraph) else "network": model}
