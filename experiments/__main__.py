"""``python -m experiments TABLE``: run a table of a paper, ours beside the published figures."""

import argparse
import os
import sys
from functools import partial
from pathlib import Path
from time import monotonic

from experiments.extras import without_extras
from experiments.record import Record, Row
from experiments.report import figures_of, frame_of, printed, tables, write
from experiments.runner import Grid, Run, grids, work

UNITS = {"s": 1, "m": 60, "h": 3600}


def seconds_of(text: str) -> float:
    """Return the seconds of ``90``, ``90s``, ``10m`` or ``2h``."""
    unit = UNITS.get(text[-1:])
    return float(text) if unit is None else float(text[:-1]) * unit


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    add = parser.add_argument
    add("table", nargs="*", help="tables of --list, or papers: all tables of each")
    add("--list", action="store_true", help="name all tables and figures")
    add(
        "--repetitions",
        type=int,
        metavar="N",
        help="of each case (default: the grid's)",
    )
    add("--seed", type=int, default=0, help="seed of the first repetition")
    add("--budget", type=seconds_of, metavar="TIME", help="such as 90s, 10m or 2h")
    add("--jobs", type=int, default=1, metavar="N", help="number of processes")
    add("--only", default="", metavar="TEXT", help="cases with this in their names")
    add("--methods", default="", metavar="A,B", help="these methods only")
    add("--full", action="store_true", help="cases that take long, too")
    add(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help="where runs are kept, and resumed",
    )
    data = os.environ.get("EXACTLEARN_DATA", "")
    text = "public data: folders uci, bif and lucas (or set EXACTLEARN_DATA)"
    add("--data-dir", default=data, metavar="FOLDER", help=text)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return 0 once all runs are done, 3 when the budget left some out."""
    parser = _parser()
    options = parser.parse_args(arguments)
    known = grids()
    if options.list:
        for grid in known:
            print(f"{grid.name:24}{grid.content['shows']}")
        return 0
    for name in options.table:
        if name not in {part for grid in known for part in (grid.name, grid.module)}:
            parser.error(f"no table {name!r}; --list names them")
    selected = [grid for grid in known if {grid.name, grid.module} & set(options.table)]
    if not selected:
        parser.error("name a table; --list names them")
    plans = [(grid, _runs(grid, options)) for grid in selected]
    left_out, lines = without_extras(plans, draws=options.output is not None)
    for line in lines:
        print(line, file=sys.stderr)
    deadline = None if options.budget is None else monotonic() + options.budget
    left = 0
    for k, (grid, runs) in enumerate(plans):
        seconds = None
        if deadline is not None:
            seconds = max(0.0, deadline - monotonic()) / (len(plans) - k)
        try:
            left += _table(grid, runs, left_out, options, seconds)
        except FileNotFoundError as error:
            parser.error(str(error))
        except KeyboardInterrupt:
            return 130
    return 3 if left else 0


def _runs(grid: Grid, options: argparse.Namespace) -> list[Run]:
    """Return the runs of a table that the options ask for."""
    count = options.repetitions or grid.content["repetitions"]
    runs = list(
        grid.runs(
            options.data_dir,
            seeds=range(options.seed, options.seed + count),
            only=options.only,
            methods=list(filter(None, options.methods.split(","))),
            full=options.full,
        )
    )
    if not runs:
        raise SystemExit(
            f"{grid.name}: no case has {options.only!r} in its name, or no method fits"
        )
    return runs


def _table(
    grid: Grid,
    runs: list[Run],
    left_out: list[Run],
    options: argparse.Namespace,
    seconds: float | None,
) -> int:
    """Run and print a table; return how many runs are not done."""
    folder: Path | None = options.output
    record = Record(None if folder is None else folder / f"{grid.name}.jsonl")
    possible = [run for run in runs if run not in left_out]
    on_done = partial(_print_run, grid)
    try:
        work(possible, record, jobs=options.jobs, seconds=seconds, on_done=on_done)
    finally:
        _print_table(grid, runs, record, folder)
    left = record.left(runs)
    if left:
        print(
            f"{grid.name}: {len(left)} of {len(runs)} runs are not done",
            file=sys.stderr,
        )
    for run in left:
        if run.key in record.cut:
            print(
                f"{run.title} was cut short after {record.cut[run.key]:.0f} s; a larger --budget "
                "lets it end"
                + ("" if folder is None else ", from the parts that it finished"),
                file=sys.stderr,
            )
    return len(left)


def _print_run(grid: Grid, run: Run, rows: list[Row]) -> None:
    """Print the figures of a run that is done; of several rows those of the first one."""
    figures = figures_of(grid, rows[0]) if rows else "nothing to measure"
    more = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
    print(f"{run.title}: {figures}{more}", file=sys.stderr, flush=True)


def _print_table(
    grid: Grid, runs: list[Run], record: Record, folder: Path | None
) -> None:
    """Print what is done, and write it."""
    frame = frame_of(grid, runs, record)
    if frame.empty:
        return
    found = tables(grid, frame)
    parts = [
        f"{title}\n{printed(grid, table)}".lstrip("\n")
        for title, table in found.items()
    ]
    text = "\n\n".join(
        [
            f"{grid.name}: {grid.content['shows']}",
            *parts,
            *grid.content.get("notes", ()),
        ]
    )
    print(text)
    if folder is not None:
        write(folder, grid, text + "\n", found, frame)


if __name__ == "__main__":
    sys.exit(main())
