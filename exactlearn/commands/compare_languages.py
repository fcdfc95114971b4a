"""``exactlearn compare --languages``: model languages side by side, by their SL-curves."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.files import atomic_write, suffix_of
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands.declarations import Compare
from exactlearn.commands.output import PICTURES, Output, require_suffix, write_json
from exactlearn.commands.pipeline import load, load_test
from exactlearn.commands.search import leave
from exactlearn.errors import DataError, OptionError
from exactlearn.evaluation.language_study import (
    CHOSEN_BY,
    LanguageStudy,
    StudyTable,
    chosen_rows,
    verdict,
)
from exactlearn.evaluation.sl_curves import SLCurves, SLPoint
from exactlearn.evaluation.study import Record, Study
from exactlearn.formats.models import write_model
from exactlearn.reporting.curves import CurvesFigure
from exactlearn.reporting.plot import require_matplotlib
from exactlearn.reporting.report import number, plain_table
from exactlearn.reporting.sl_figure import sl_curves_figure

REPETITIONS = 3
"""Divisions of each table."""

_HEAD = (
    "data", "language", "chosen by", "size", "train", "test", "log P(q|e)", "µs", "models", "CPU s"
)  # fmt: skip

_SUFFIXES = {BayesianNetwork: ".bif", NaiveBayes: ".nb.json"}

_IN_WORDS = {"train": "training", "test": "test"}


def run(options: Compare, output: Output) -> None:
    """Run the command; what is done when a limit or an interrupt comes is kept and shown."""
    tables = _tables(options)
    folder = output.folder
    if folder is None:
        require_suffix(output.path, (".json", *PICTURES))
    if output.path is not None and suffix_of(output.path) in PICTURES:
        require_matplotlib("'.json'")
        if len(tables) > 1:
            raise OptionError(
                f"--output {output.path}: a figure shows one table, found {len(tables)}; name a "
                "folder"
            )
    if folder is not None:
        (folder / "models").mkdir(parents=True, exist_ok=True)
    control = SearchControl(options.time_limit)
    is_alone = options.jobs == 1 and options.cluster is None
    with output.progress_display("languages") as display:
        repeat = REPETITIONS if options.repeat is None else options.repeat
        study = LanguageStudy(
            tables=tables,
            languages=list(dict.fromkeys(options.languages or ())),
            size_weights=options.size_weights or None,
            n_queries=options.queries,
            seeds=range(options.seed, options.seed + repeat),
            keep=None if folder is None else partial(write_chosen, folder / "models"),
            on_model=(lambda point: display.show(_in_line(point))) if is_alone else None,
        )
        record = Record.in_folder(folder, "repetitions.json", display.stage, control)
        runs = Study(list(study.runs()), record, options.jobs, cluster=options.cluster)
        runs.run()
    failures = [f"{planned.title}: {error}" for planned, error in runs.failures()]
    curves = {table.name: list(study.curves(record, table)) for table in tables}
    _answer({name: found for name, found in curves.items() if found}, failures, output, folder)
    ended = "done" if all(map(runs.is_done, runs.runs)) else "feasible"
    leave("interrupted" if control.is_stopped else ended, failures)


def _tables(options: Compare) -> list[StudyTable]:
    """Read the tables."""
    assert options.source is not None
    sources = [options.source, *options.more]
    if options.test is not None and len(sources) > 1:
        raise OptionError(f"--test {options.test}: it goes with one table, found {len(sources)}")
    names = [_name(source) for source in sources]
    twice = {name for name, count in Counter(names).items() if count > 1}
    tables = []
    for source, name in zip(sources, names, strict=True):
        rows = load(source, options)
        if rows.n_variables < 2:
            raise DataError(f"{source}: a single variable; expected two or more to model together")
        test = None if options.test is None else load_test(options.test, options, rows)
        tables.append(StudyTable(source if name in twice else name, rows, test))
        tables[-1].divided(options.seed)
    return tables


def _name(source: str) -> str:
    name = Path(source).name
    return name.removesuffix(suffix_of(Path(source))) or name


def write_chosen(folder: Path, table: str, curves: SLCurves) -> None:
    """Write the models of one language that the criteria choose."""
    (language,) = curves.languages
    for criterion in CHOSEN_BY:
        model = curves.model(curves.selected(language, criterion)).model
        suffix = _SUFFIXES.get(type(model), ".pdg.json")
        name = f"{table}-{language}-{criterion.lower()}{suffix}".replace("/", "_")
        write_model(model, folder / name)


def _in_line(point: SLPoint) -> str:
    return f"size {point.effective_size:,}  test {point.test:.4f}"


def _answer(
    curves: Mapping[str, Sequence[SLCurves]],
    failures: Sequence[str],
    output: Output,
    folder: Path | None,
) -> None:
    """Write and print the models chosen, who wins, and what failed."""
    rows = [row for name, found in curves.items() for row in chosen_rows(name, found)]
    verdicts = [v for name, found in curves.items() if (v := verdict(name, found)) is not None]
    record = {
        "rows": rows,
        "verdicts": verdicts,
        "curves": {name: [one.to_dict() for one in found] for name, found in curves.items()},
        "failures": list(failures),
    }
    if folder is not None:
        write_json(record, folder / "compare.json")
        for name, found in curves.items():
            _write_figures(name, found[0], folder, len(curves) > 1, output)
        output.wrote(folder)
    elif output.path is not None:
        if suffix_of(output.path) in PICTURES:
            for found in curves.values():
                atomic_write(output.path, sl_curves_figure(found[0], suffix_of(output.path)))
        else:
            write_json(record, output.path)
        output.wrote(output.path)
    table = _table(rows)
    output.answer(record, table, "", *_sentences(verdicts, curves), *failures)


def _write_figures(
    name: str, curves: SLCurves, folder: Path, several: bool, output: Output
) -> None:
    """Draw a table's curves, if that is possible here."""
    try:
        require_matplotlib("'.json'")
    except OptionError as error:
        output.note(str(error))
        return
    suffix = f"-{name}.svg".replace("/", "_") if several else ".svg"
    atomic_write(folder / f"sl_curve{suffix}", sl_curves_figure(curves, ".svg"))
    queried = {
        language: [
            (p.effective_size, p.query_accuracy)
            for p in curves.of(language)
            if isfinite(p.query_accuracy)
        ]
        for language in curves.languages
    }
    if any(queried.values()):
        figure = CurvesFigure(curves=queried, across="size", up="log P(Q | E), nats")
        atomic_write(folder / f"queries{suffix}", figure.drawn(".svg"))


def _table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return the models chosen as a table, without columns that hold nothing or all the same."""
    cells = [_cells(row) for row in rows]
    several = len({row["data"] for row in rows}) > 1
    kept = [k for k in range(len(_HEAD)) if any(line[k] for line in cells) and (k > 0 or several)]
    head = [_HEAD[k] for k in kept]
    return plain_table(head, [[line[k] for k in kept] for line in cells], right=_HEAD[3:])


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    def mean(key: str, digits: int) -> str:
        error = number(row[f"{key}_error"], digits)
        return number(row[key], digits) + (f" ± {error}" if error else "")

    return (
        row["data"],
        row["language"],
        row["chosen_by"],
        number(row["effective_size"], 0),
        mean("train", 3),
        mean("test", 3),
        mean("query_accuracy", 3),
        number(1e6 * row["query_seconds"], 1),
        number(row["models"], 0),
        number(row["seconds"], 1),
    )


def _sentences(
    verdicts: Sequence[Mapping[str, Any]], curves: Mapping[str, Sequence[SLCurves]]
) -> Iterator[str]:
    """Say who wins, who dominates whom, and what overfits."""
    for found in verdicts:
        name = found["data"]
        yield (
            f"{name}: of the models chosen by validation, '{found['winner']}' predicts the test "
            f"best, by {found['ahead']:.4f} nats per row before '{found['second']}'"
            f"{_tested(found)}; '{found['smallest']}' is smallest."
        )
        for rows, pairs in found["dominates"].items():
            said = ", ".join(f"'{a}' dominates '{b}'" for a, b in pairs)
            yield (
                f"{name}, {_IN_WORDS[rows]} rows: "
                + (f"at all sizes {said}." if said else "no language dominates another.")
            )
    most = max((len(found) for found in curves.values()), default=0)
    if most > 1:
        yield f"± is the standard error over {most} divisions of the rows."
    for name, repetitions in curves.items():
        short = sorted({key for one in repetitions for key in one.unfinished})
        if short:
            yield f"{name}: the time limit or an interrupt has cut short: {', '.join(short)}."
        share = {
            key: sum(c.overfits(p) for c in repetitions for p in c.of(key))
            / max(1, sum(len(c.of(key)) for c in repetitions))
            for key in repetitions[0].languages
        }
        said = ", ".join(f"'{key}' {100 * value:.0f} %" for key, value in share.items())
        yield f"{name}: models that overfit (THESIS, Definition 4.1): {said}."


def _tested(found: Mapping[str, Any]) -> str:
    """Return how sure it is who wins, where there are two repetitions."""
    if not isfinite(found["p_value"]):
        return ""
    kind = "significant" if found["significant"] else "not significant"
    return f" ({found['repetitions']} repetitions, p {found['p_value']:.3f}: {kind})"
