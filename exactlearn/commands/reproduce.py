"""``exactlearn reproduce``: the tables of a paper, ours beside the published figures, or of all."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from csv import DictWriter
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from time import monotonic
from typing import Any

from exactlearn._runtime.control import Budget, SearchControl
from exactlearn._runtime.files import atomic_write
from exactlearn.commands.declarations import Reproduce
from exactlearn.commands.output import Output, write_json
from exactlearn.commands.reproduce_completions import completion_tables
from exactlearn.commands.reproduce_deletion import deletion_tables
from exactlearn.commands.reproduce_equivalence import class_tables
from exactlearn.commands.reproduce_imputers import imputer_tables
from exactlearn.commands.reproduce_pdg import graph_tables
from exactlearn.commands.reproduce_structure import structure_tables
from exactlearn.commands.search import leave
from exactlearn.errors import ExactlearnError, MissingExtraError, OptionError
from exactlearn.reporting.report import number, plain_table, printed
from exactlearn.reproduce.runner import Record, Setup, Shown, Tables

ALL = "all"

MOST_LEFT = 20
"""Experiments printed of those that a budget left out; all are recorded."""


@dataclass(frozen=True)
class Reproduced:
    """A paper that can be repeated.

    Parameters
    ----------
    tables
        Returns what repeats and shows its tables.
    repetitions
        Of each experiment, where none are asked for.
    unused
        Options that have no meaning.
    """

    tables: Callable[[Reproduce, Setup], Tables]
    repetitions: int
    unused: tuple[str, ...]


PAPERS: Mapping[str, Reproduced] = {
    "augmentation": Reproduced(completion_tables, 100, ("--full",)),
    "imputers": Reproduced(imputer_tables, 1, ("--full", "--starts")),
    "pdg": Reproduced(graph_tables, 2, ("--methods", "--starts")),
    "deletion": Reproduced(deletion_tables, 2, ("--starts",)),
    "equivalence": Reproduced(class_tables, 1, ("--starts", "--methods", "--full", "--only")),
    "structural-em": Reproduced(structure_tables, 2, ("--starts",)),
}
"""The papers' experiments; random graphs have 50 repetitions in the paper, deletion 32 or 64."""


def run(options: Reproduce, output: Output) -> None:
    """Run the command; what is done at an interrupt, or in the budget, is kept and shown."""
    _refuse_unused(options)
    control = Budget(options.budget)
    with control.running():
        record, tables = (_all if options.paper == ALL else _one)(options, output, control)
    interrupted = control.is_stopped and not control.has_run_out
    if interrupted:
        output.note("Interrupted: the figures are those of what is done")
    output.answer(record, *tables)
    left = "feasible" if record["not_run"] else "finished"
    leave("interrupted" if interrupted else left)


def _refuse_unused(options: Reproduce) -> None:
    """Refuse options that the paper would not heed."""
    values = {
        "--methods": options.methods,
        "--starts": options.starts,
        "--full": options.full or None,
        "--tables": options.tables,
        "--only": options.only,
        "--hide": options.hide or None,
        "--rows": options.rows,
        "--cluster": options.cluster,
    }
    of_imputers = () if options.paper == "imputers" else ("--hide", "--rows", "--cluster")
    every = ("--methods", "--starts", "--tables", "--only")
    for name in (*(every if options.paper == ALL else PAPERS[options.paper].unused), *of_imputers):
        if values[name] is not None:
            raise OptionError(
                f"{name}: 'reproduce {options.paper}' has no such option; leave it out"
            )
    if options.paper == ALL and options.repetitions is None and options.budget is None:
        raise OptionError("--budget: say how long 'reproduce all' may take, such as 2h")


class _Paper:
    """A paper, its record, and its folder.

    Parameters
    ----------
    name
        A key of `PAPERS`.
    options
        What is asked for.
    output
        Where progress is reported.
    folder
        Where its runs are kept and its results written; nowhere without one.
    """

    def __init__(self, name: str, options: Reproduce, output: Output, folder: Path | None) -> None:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        file = None if folder is None else folder / "repetitions.json"
        self.name, self.folder = name, folder
        self.options, self.output = replace(options, paper=name), output  # type: ignore[arg-type]
        self.record = Record.open(file, output.detail)
        self.most = options.repetitions or PAPERS[name].repetitions
        self.seconds, self.refused = 0.0, ""

    def repeat(self, control: SearchControl, repetitions: int) -> Tables:
        """Do the runs of some repetitions that are left, until the control is over."""
        self.record.control = control
        self.record.left.clear()
        setup = Setup(
            record=self.record,
            data=self.options.data_dir,
            seed=self.options.seed,
            repetitions=repetitions,
            full=self.options.full,
            only=self.options.only or "",
        )
        tables = PAPERS[self.name].tables(self.options, setup)
        tables.repeat()
        return tables

    def result(self, tables: Tables) -> tuple[dict[str, Any], list[Any]]:
        """Return and write what is shown of the runs that are done, and which are not."""
        shown = tables.shown()
        left = Counter(experiment for experiment, _, _ in self.record.left)
        figures = {name: figure.curves for name, figure in shown.figures.items()}
        record = {**shown.record, "figures": figures, "not_run": dict(left)}
        lines = [*shown.tables, *_declared(left)]
        if self.folder is not None:
            write_json(record, self.folder / "tables.json")
            atomic_write(self.folder / "tables.txt", printed(lines))
            for name, rows in shown.listings.items():
                atomic_write(self.folder / f"{name}.csv", _listed(rows))
            self._draw(shown)
            self.output.wrote(self.folder)
        return record, lines

    def row(self) -> dict[str, Any]:
        """Return how many runs are done and left, and why none could be done."""
        done = sum(len(runs) for parts in self.record.done.values() for runs in parts.values())
        return {
            "paper": self.name,
            "done": done,
            "left": len(self.record.left),
            "seconds": self.seconds,
            "refused": self.refused,
        }

    def _draw(self, shown: Shown) -> None:
        """Draw the figures, where Matplotlib is installed."""
        assert self.folder is not None
        try:
            for name, figure in shown.figures.items():
                atomic_write(self.folder / f"{name}.svg", figure.drawn(".svg"))
        except MissingExtraError as error:
            self.output.note(f"No figures: {error}")


def _listed(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as comma-separated text."""
    text = StringIO()
    writer = DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _declared(left: Mapping[str, int]) -> list[str]:
    """Say which experiments are not run, or not as often as asked for."""
    if not left:
        return []
    lines = [f"{experiment}: {count}" for experiment, count in left.items()]
    more = len(lines) - MOST_LEFT
    tail = [f"and {more} more experiments"] if more > 0 else []
    head = f"Not run: {sum(left.values())} runs of {len(left)} experiments (their number)"
    return ["", head, *lines[:MOST_LEFT], *tail]


def _one(options: Reproduce, output: Output, control: Budget) -> tuple[dict[str, Any], list[Any]]:
    """Repeat the experiments of a paper."""
    paper = _Paper(options.paper, options, output, output.path)
    return paper.result(paper.repeat(control, paper.most))


def _all(options: Reproduce, output: Output, control: Budget) -> tuple[dict[str, Any], list[Any]]:
    """Repeat the experiments of all papers, each in its folder."""
    if output.path is None:
        raise OptionError("--output: name a folder, in which each paper gets one of its own")
    papers = [_Paper(name, options, output, output.path / name) for name in PAPERS]
    due = dict.fromkeys(papers, 1)
    while due and not control.is_over:
        for k, paper in enumerate(round_ := list(due)):
            repetitions = due[paper]
            done = _share(paper, control.part(1 / (len(round_) - k)), repetitions)
            due[paper] = min(2 * repetitions, paper.most) if done else repetitions
            if paper.refused or (done and repetitions >= paper.most):
                del due[paper]
    over, left = SearchControl(0.0), Counter[str]()
    for paper in papers:
        # Of a paper that was refused in the middle, such as without data, this shows what is done.
        tables = _tried(paper, over, paper.most)
        if tables is not None:
            record, _ = paper.result(tables)
            left.update({f"{paper.name}, {key}": n for key, n in record["not_run"].items()})
    rows = [paper.row() for paper in papers]
    head = ("paper", "runs", "not run", "seconds", "refused")
    cells = [(r["paper"], str(r["done"]), str(r["left"]), number(r["seconds"], 0), r["refused"])
             for r in rows]  # fmt: skip
    record = {"papers": rows, "not_run": dict(left)}
    where = ["", "What is not run is listed in each paper's tables.txt"] if left else []
    return record, [plain_table(head, cells, right=head[1:4]), *where]


def _share(paper: _Paper, control: Budget, repetitions: int) -> bool:
    """Repeat a paper in its share of the time; return whether nothing was left."""
    begun = monotonic()
    with control.running():
        _tried(paper, control, repetitions)
    paper.seconds += monotonic() - begun
    return not paper.record.left


def _tried(paper: _Paper, control: SearchControl, repetitions: int) -> Tables | None:
    """Repeat a paper, and keep why it cannot be, such as data that are not there."""
    try:
        return paper.repeat(control, repetitions)
    except ExactlearnError as error:
        paper.refused = str(error)
        return None
